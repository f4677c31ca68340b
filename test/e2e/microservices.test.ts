/** Users of microservices (document 1 Applications and microservices; document 4 section 6.6): bootstrap user, service users, settings, the journal. */
import t from 'tap';
import { Rest, TENANT, startServer } from '../helpers/running-server.ts';
import type { RunningServer } from '../helpers/running-server.ts';
import { MANIFEST, archiveForm, microserviceZip } from '../helpers/zip.ts';

const root = t;
let server: RunningServer = await startServer(t);
let { rest, management } = server;
const APPS = '/application/applications';
const CURRENT = '/application/currentApplication';
interface Credentials { readonly tenant: string; readonly name: string; readonly password: string }
const as = ({ tenant, name, password }: Credentials): Rest => new Rest(server.url, `${tenant}/${name}`, password);
const subscribe = async (tenant: string, id: string): Promise<void> => void await management.create(`/tenant/tenants/${tenant}/applications`, { application: { id } });
const unsubscribe = async (tenant: string, id: string): Promise<number> => (await management.delete(`/tenant/tenants/${tenant}/applications/${id}`)).status;
const usersOf = async (bootstrap: Rest): Promise<Credentials[]> => (await bootstrap.read(`${CURRENT}/subscriptions`)).users;
async function upload(id: string, manifest: object): Promise<number> {
  const { status } = await fetch(`${server.url}${APPS}/${id}/binaries`, { method: 'POST', body: archiveForm(await microserviceZip(manifest)), headers: { authorization: `Basic ${btoa(`${TENANT}/admin:mill-Race-7`)}` } });
  return status;
}

const app = await rest.create(APPS, { key: 'hello-key', name: 'hello', type: 'MICROSERVICE', requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'], roles: ['ROLE_HELLO_READ'] });
await management.create('/tenant/tenants', { id: 'acme', company: 'a', domain: 'acme-d', adminName: 'ada', adminEmail: 'a@b', adminPass: 'Analytical-1' });
const acme = new Rest(server.url, 'acme/ada', 'Analytical-1');
let bootstrapCredentials: Credentials;

t.test('the bootstrap user', async (t) => {
  bootstrapCredentials = await rest.read(`${APPS}/${app.id}/bootstrapUser`);
  t.match(bootstrapCredentials, { tenant: TENANT, name: 'servicebootstrap_hello', password: /^\S{32}$/ });
  t.same(await rest.read(`${APPS}/${app.id}/bootstrapUser`), bootstrapCredentials, 'stays the same');
  const external = await rest.create(APPS, { key: 'e', name: 'e', type: 'EXTERNAL' });
  const refused = await rest.get(`${APPS}/${external.id}/bootstrapUser`);
  t.equal(refused.status, 400);
  t.equal(refused.json.error, 'applications/Bad Request');
});

t.test('it reaches exactly what document 1 lists', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  for (const path of ['/tenant/currentTenant', '/user/currentUser', CURRENT, `${CURRENT}/settings`, `${CURRENT}/subscriptions`, `${CURRENT}/subscription`]) {
    t.equal((await bootstrap.get(path)).status, 200, path);
  }
  t.match(await bootstrap.read(CURRENT), { id: app.id, name: 'hello' });
  t.match(await bootstrap.read('/user/currentUser'), { userName: 'servicebootstrap_hello' });
  t.match(await bootstrap.read('/tenant/currentTenant'), { name: TENANT });
  const changed = await bootstrap.put(CURRENT, { description: 'by itself' });
  t.equal(changed.status, 200);
  t.equal(changed.json.description, 'by itself');
  t.equal((await bootstrap.put(CURRENT, { requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_USER_MANAGEMENT_ADMIN'] })).status, 403, 'no role for itself');
  const { paths } = await rest.read('/openapi.json');
  let refusedCount = 0;
  for (const [path, item] of Object.entries<any>(paths)) {
    for (const method of ['get', 'put', 'post', 'delete'].filter((name) => item[name] !== undefined)) {
      const isPublic = item[method].security?.length === 0;
      const isOwn = (path.startsWith(CURRENT) || (method === 'get' && ['/tenant/currentTenant', '/user/currentUser'].includes(path)));
      if (isPublic || isOwn) continue;
      const reply = await bootstrap.request(method.toUpperCase(), path.replace(/\{\w+\}/g, '1'), method === 'post' || method === 'put' ? { body: {} } : {});
      t.equal(reply.status, 403, `${method} ${path}`);
      refusedCount += 1;
    }
  }
  t.ok(refusedCount > 100);
});

t.test('a service user for each subscribed tenant, with exactly the required roles', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  t.same(await usersOf(bootstrap), []);
  await subscribe('acme', app.id);
  await subscribe(TENANT, app.id);
  const users = await usersOf(bootstrap);
  t.same(users.map(({ tenant, name }) => `${tenant}/${name}`).sort(), [`${TENANT}/service_hello`, 'acme/service_hello'].sort());
  t.same(await usersOf(bootstrap), users, 'passwords stay');
  t.same((await bootstrap.read(`${CURRENT}/subscription`)).users, users);
  const ofAcme = as(users.find(({ tenant }) => tenant === 'acme')!);
  const current = await ofAcme.read('/user/currentUser');
  t.same(current.effectiveRoles.map(({ id }: any) => id), ['ROLE_INVENTORY_ADMIN', 'ROLE_INVENTORY_READ']);
  t.equal((await ofAcme.post('/inventory/managedObjects', { name: 'by the service' })).status, 201);
  t.equal((await ofAcme.get('/alarm/alarms')).status, 200);
  t.equal((await ofAcme.get('/tenant/tenants')).status, 403);
  t.equal((await ofAcme.get(`${CURRENT}/subscriptions`)).status, 403, 'passwords are for the bootstrap user');
  t.match(await ofAcme.read(CURRENT), { id: app.id });
  t.ok((await acme.read('/user/roles?pageSize=200')).roles.some(({ id }: any) => id === 'ROLE_HELLO_READ'), 'its own roles may be granted');
  const vendor = await bootstrap.request('GET', `${CURRENT}/subscriptions`, { headers: { accept: 'application/vnd.com.nsn.platform.applicationusercollection+json' } });
  t.match(vendor.headers.get('content-type'), /applicationUserCollection\+json/);
});

t.test('required roles change with the application', async (t) => {
  const user = (await usersOf(as(bootstrapCredentials))).find(({ tenant }) => tenant === 'acme')!;
  await rest.put(`${APPS}/${app.id}`, { requiredRoles: ['ROLE_EVENT_READ'] });
  t.same((await as(user).read('/user/currentUser')).effectiveRoles.map(({ id }: any) => id), ['ROLE_EVENT_READ'], 'with the same password');
  t.equal((await as(user).post('/inventory/managedObjects', { name: 'no more' })).status, 403);
  await rest.put(`${APPS}/${app.id}`, { requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'] });
});

t.test('a service user whose password or existence was taken away is made up for', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  const user = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  t.equal((await acme.delete('/user/acme/users/service_hello')).status, 204);
  t.equal((await as(user).get('/user/currentUser')).status, 401);
  t.same((await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme'), user);
  t.equal((await as(user).get('/user/currentUser')).status, 200);
  t.equal((await acme.put('/user/acme/users/service_hello', { enabled: false })).status, 200);
  await usersOf(bootstrap);
  t.equal((await as(user).get('/user/currentUser')).status, 401, 'one that was disabled stays so');
  await acme.put('/user/acme/users/service_hello', { enabled: true });
});

t.test('a name that somebody has', async (t) => {
  const other = await rest.create(APPS, { key: 'k2', name: 'taken', type: 'MICROSERVICE' });
  await acme.create('/user/acme/users', { userName: 'service_taken', password: 'Analytical-1', email: 'x@y' });
  await subscribe('acme', other.id);
  const [user] = await usersOf(as(await rest.read(`${APPS}/${other.id}/bootstrapUser`)));
  t.equal(user.name, `service_taken_${other.id}`);
  t.equal(await unsubscribe('acme', other.id), 204);
  t.equal((await acme.get('/user/acme/users/service_taken')).status, 200, 'who was there stays');
  t.equal((await acme.get(`/user/acme/users/${user.name}`)).status, 404);
});

t.test('the end of a subscription ends the user at once', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  const user = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  t.equal((await as(user).get('/user/currentUser')).status, 200);
  t.equal(await unsubscribe('acme', app.id), 204);
  t.equal((await as(user).get('/user/currentUser')).status, 401);
  t.same((await usersOf(bootstrap)).map(({ tenant }) => tenant), [TENANT]);
  await subscribe('acme', app.id);
  const again = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  t.equal(again.name, user.name);
  t.not(again.password, user.password, 'a new subscription, a new password');
  t.equal((await as(user).get('/user/currentUser')).status, 401);
});

t.test('asked for while subscriptions come and go: no user is left', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  let isOver = false;
  const asking = (async () => { while (!isOver) await bootstrap.get(`${CURRENT}/subscriptions`); })();
  for (let round = 0; round < 10; round += 1) {
    t.equal(await unsubscribe('acme', app.id), 204);
    t.equal((await acme.get('/user/acme/users/service_hello')).status, 404);
    if (round < 9) await subscribe('acme', app.id);
  }
  isOver = true;
  await asking;
  t.equal((await acme.get('/user/acme/users/service_hello')).status, 404);
  await subscribe('acme', app.id);
});

t.test('settings: defaults of the manifest, options of the owner, those of the tenant; secrets decrypted', async (t) => {
  t.equal(await upload(app.id, MANIFEST), 201);
  const bootstrap = as(bootstrapCredentials);
  t.match(await rest.read(`${APPS}/${app.id}`), { contextPath: 'hello', manifest: MANIFEST, activeVersionId: /^\d+$/, requiredRoles: MANIFEST.requiredRoles, roles: MANIFEST.roles });
  const defaults = { colour: 'red', fixed: 'f', token: 's3cret', own: 'd' };
  t.same(await bootstrap.read(`${CURRENT}/settings`), defaults);
  const ofAcme = as((await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!);
  t.same(await ofAcme.read(`${CURRENT}/settings`), defaults);
  await rest.put('/tenant/options/hello', { colour: 'green', own: 'of the owner', 'credentials.token': 'n3w', more: 'm' });
  t.equal((await rest.put('/tenant/options/hello/fixed', { value: 'x' })).status, 403, 'not editable');
  t.equal((await rest.read('/tenant/options/hello/credentials.token')).value, '<<Encrypted>>', 'people do not see it');
  t.same(await bootstrap.read(`${CURRENT}/settings`), { colour: 'green', fixed: 'f', token: 'n3w', own: 'of the owner', more: 'm' });
  t.same(await ofAcme.read(`${CURRENT}/settings`), { colour: 'green', fixed: 'f', token: 'n3w', own: 'd', more: 'm' }, 'inheritFromOwner: false');
  await acme.put('/tenant/options/hello', { colour: 'blue', fixed: 'mine', own: 'mine' });
  t.same(await ofAcme.read(`${CURRENT}/settings`), { colour: 'blue', fixed: 'f', token: 'n3w', own: 'mine', more: 'm' });
  const settings = [{ key: 'colour', defaultValue: 'black', overwriteOnUpdate: false, editable: true }, { key: 'fixed', defaultValue: 'g' }];
  t.equal(await upload(app.id, { ...MANIFEST, settings }), 201);
  t.match(await bootstrap.read(`${CURRENT}/settings`), { colour: 'green', fixed: 'g' }, 'overwriteOnUpdate');
  t.equal(await upload(app.id, { ...MANIFEST, settings: [], settingsCategory: 'elsewhere' }), 201);
  await rest.put('/tenant/options/elsewhere', { there: 'yes' });
  t.same(await bootstrap.read(`${CURRENT}/settings`), { there: 'yes' }, 'settingsCategory');
  const bare = await rest.create(APPS, { key: 'bare', name: 'bare', type: 'MICROSERVICE' });
  await rest.put('/tenant/options/bare', { a: '1' });
  t.same(await as(await rest.read(`${APPS}/${bare.id}/bootstrapUser`)).read(`${CURRENT}/settings`), { a: '1' }, 'the name without a context path');
});

t.test('its place answers that it is not there', async (t) => {
  const cases: [by: Rest, path: string, status: number][] = [
    [rest, '/service/hello', 503], [rest, '/service/hello/health', 503], [acme, '/service/hello/a/b/c', 503], [rest, '/service/nothing/a', 404], [management, '/service/hello/a', 404],
  ];
  for (const [by, path, status] of cases) t.equal((await by.get(path)).status, status, path);
  t.equal((await rest.get('/service/hello/health')).json.error, 'microservice/Unavailable');
  t.equal((await rest.post('/service/hello/x', { a: 1 })).status, 503);
});

t.test('everything is there after kill -9', async (t) => {
  const before = await usersOf(as(bootstrapCredentials));
  t.equal(before.length, 2);
  const settings = await as(bootstrapCredentials).read(`${CURRENT}/settings`);
  await server.stop('SIGKILL');
  server = await startServer(root, { data: server.data });
  ({ rest, management } = server);
  t.same(await usersOf(as(bootstrapCredentials)), before);
  for (const user of before) t.equal((await as(user).get('/user/currentUser')).status, 200);
  t.same(await as(bootstrapCredentials).read(`${CURRENT}/settings`), settings);
});

t.test('deletion ends all users', async (t) => {
  const users = await usersOf(as(bootstrapCredentials));
  t.equal((await rest.delete(`${APPS}/${app.id}`)).status, 409);
  t.equal((await rest.delete(`${APPS}/${app.id}?force=true`)).status, 204);
  for (const user of [...users, bootstrapCredentials]) t.equal((await as(user).get('/user/currentUser')).status, 401);
});
