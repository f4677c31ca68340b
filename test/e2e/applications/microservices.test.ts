/** Users of microservices (docs/spec/microservices.md): bootstrap user, service users, settings, the journal. */
import t from 'tap';
import { Rest, TENANT, startServer } from '../../helpers/running/server.ts';
import type { RunningServer } from '../../helpers/running/server.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { MANIFEST, archiveForm, microserviceZip } from '../../helpers/zip.ts';

const root = t;
let server: RunningServer = await startServer(t);
let { rest, management } = server;
const APPS = '/application/applications';
const CURRENT = '/application/currentApplication';
interface Credentials {
  readonly tenant: string;
  readonly name: string;
  readonly password: string;
}
const as = ({ tenant, name, password }: Credentials): Rest => new Rest(server.url, `${tenant}/${name}`, password);
const subscribe = async (tenant: string, id: string): Promise<void> =>
  void (await management.create(`/tenant/tenants/${tenant}/applications`, { application: { id } }));
const unsubscribe = async (tenant: string, id: string): Promise<number> =>
  (await management.delete(`/tenant/tenants/${tenant}/applications/${id}`)).status;
const usersOf = async (bootstrap: Rest): Promise<Credentials[]> =>
  (await bootstrap.read(`${CURRENT}/subscriptions`)).users;
async function upload(id: string, manifest: object): Promise<number> {
  const { status } = await fetch(`${server.url}${APPS}/${id}/binaries`, {
    method: 'POST',
    body: archiveForm(await microserviceZip(manifest)),
    headers: { authorization: `Basic ${btoa(`${TENANT}/admin:mill-Race-7`)}` },
  });
  return status;
}

const app = await rest.create(APPS, {
  key: 'hello-key',
  name: 'hello',
  type: 'MICROSERVICE',
  requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'],
  roles: ['ROLE_HELLO_READ'],
});
await management.create('/tenant/tenants', {
  id: 'acme',
  company: 'a',
  domain: 'acme-d',
  adminName: 'ada',
  adminEmail: 'a@b',
  adminPass: 'Analytical-1',
});
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

t.test('it reaches exactly what is listed (docs/spec/microservices.md#users)', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  for (const path of [
    '/tenant/currentTenant',
    '/user/currentUser',
    CURRENT,
    `${CURRENT}/settings`,
    `${CURRENT}/subscriptions`,
    `${CURRENT}/subscription`,
  ]) {
    t.equal((await bootstrap.get(path)).status, 200, path);
  }
  t.match(await bootstrap.read(CURRENT), { id: app.id, name: 'hello' });
  t.match(await bootstrap.read('/user/currentUser'), { userName: 'servicebootstrap_hello' });
  t.match(await bootstrap.read('/tenant/currentTenant'), { name: TENANT });
  const changed = await bootstrap.put(CURRENT, { description: 'by itself' });
  t.equal(changed.status, 200);
  t.equal(changed.json.description, 'by itself');
  t.equal(
    (await bootstrap.put(CURRENT, { requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_USER_MANAGEMENT_ADMIN'] })).status,
    403,
    'no role for itself',
  );
  const { paths } = await rest.read('/openapi.json');
  let refusedCount = 0;
  for (const [path, item] of Object.entries<any>(paths)) {
    for (const method of ['get', 'put', 'post', 'delete'].filter((name) => item[name] !== undefined)) {
      const isPublic = item[method].security?.length === 0;
      const isOwn =
        path.startsWith(CURRENT) || (method === 'get' && ['/tenant/currentTenant', '/user/currentUser'].includes(path));
      if (isPublic || isOwn) continue;
      const reply = await bootstrap.request(
        method.toUpperCase(),
        path.replace(/\{\w+\}/g, '1'),
        method === 'post' || method === 'put' ? { body: {} } : {},
      );
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
  t.same(
    users.map(({ tenant, name }) => `${tenant}/${name}`).sort(),
    [`${TENANT}/service_hello`, 'acme/service_hello'].sort(),
  );
  t.same(await usersOf(bootstrap), users, 'passwords stay');
  t.same((await bootstrap.read(`${CURRENT}/subscription`)).users, users);
  const ofAcme = as(users.find(({ tenant }) => tenant === 'acme')!);
  const current = await ofAcme.read('/user/currentUser');
  t.same(
    current.effectiveRoles.map(({ id }: any) => id),
    ['ROLE_INVENTORY_ADMIN', 'ROLE_INVENTORY_READ'],
  );
  t.equal((await ofAcme.post('/inventory/managedObjects', { name: 'by the service' })).status, 201);
  t.equal((await ofAcme.get('/alarm/alarms')).status, 403, 'a role that it does not require');
  t.equal((await ofAcme.get('/tenant/tenants')).status, 403);
  t.equal((await ofAcme.get(`${CURRENT}/subscriptions`)).status, 403, 'passwords are for the bootstrap user');
  t.match(await ofAcme.read(CURRENT), { id: app.id });
  t.ok(
    (await acme.read('/user/roles?pageSize=200')).roles.some(({ id }: any) => id === 'ROLE_HELLO_READ'),
    'its own roles may be granted',
  );
  const role = { role: { self: 'x/user/roles/ROLE_HELLO_READ' } };
  const group = (await acme.create('/user/acme/groups', { name: 'Callers', roles: [] })).id;
  t.equal(
    (await acme.post(`/user/acme/groups/${group}/roles`, role)).status,
    201,
    'by the administrator, who has it not',
  );
  t.equal(
    (await acme.post('/user/acme/users', { userName: 'caller', password: 'Analytical-1', roles: ['ROLE_HELLO_READ'] }))
      .status,
    201,
  );
  t.equal(
    (
      await acme.post('/user/acme/users', {
        userName: 'clerk',
        password: 'Analytical-1',
        roles: ['ROLE_USER_MANAGEMENT_CREATE'],
      })
    ).status,
    201,
  );
  const clerk = new Rest(server.url, 'acme/clerk', 'Analytical-1');
  t.equal(
    (await clerk.post('/user/acme/users', { userName: 'sub', password: 'Analytical-1', roles: ['ROLE_HELLO_READ'] }))
      .status,
    403,
    'who may only create users',
  );
  t.equal((await acme.post('/user/acme/users/clerk/roles', role)).status, 201);
  t.equal(
    (await acme.post('/user/acme/users/clerk/roles', { role: { id: 'ROLE_OTHER_READ' } })).status,
    404,
    'of no application of the tenant',
  );
  t.equal((await acme.put('/user/acme/users/caller', { enabled: false })).status, 200);
  t.equal((await acme.delete('/user/acme/users/clerk/roles/ROLE_HELLO_READ')).status, 204);
  for (const name of ['caller', 'clerk']) t.equal((await acme.delete(`/user/acme/users/${name}`)).status, 204, name);
  const vendor = await bootstrap.request('GET', `${CURRENT}/subscriptions`, {
    headers: { accept: 'application/vnd.com.nsn.platform.applicationusercollection+json' },
  });
  t.match(vendor.headers.get('content-type'), /applicationUserCollection\+json/);
});

t.test('required roles change with the application', async (t) => {
  const user = (await usersOf(as(bootstrapCredentials))).find(({ tenant }) => tenant === 'acme')!;
  const rolesOf = async (): Promise<string[]> =>
    (await as(user).read('/user/currentUser')).effectiveRoles.map(({ id }: any) => id);
  const reference = `/tenant/tenants/acme/applications/${app.id}`;
  const shown = async (): Promise<unknown> => [
    (await acme.read(reference)).waitingRoles,
    (await acme.read('/tenant/tenants/acme/applications?pageSize=100')).references.find(
      ({ application }: any) => application.id === app.id,
    ).waitingRoles,
  ];
  t.same(await shown(), [undefined, undefined], 'what was required when it was subscribed is agreed to');
  await rest.put(`${APPS}/${app.id}`, {
    requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_EVENT_READ', 'ROLE_USER_MANAGEMENT_ADMIN'],
  });
  t.same(await rolesOf(), ['ROLE_INVENTORY_READ'], 'a role ends at once, an added one waits; with the same password');
  const ofOwner = (await usersOf(as(bootstrapCredentials))).find(({ tenant }) => tenant === TENANT)!;
  t.equal(
    (await as(ofOwner).read('/user/currentUser')).effectiveRoles.length,
    3,
    'the owner agrees by what it requires',
  );
  t.equal((await as(user).post('/inventory/managedObjects', { name: 'no more' })).status, 403);
  const waiting = ['ROLE_EVENT_READ', 'ROLE_USER_MANAGEMENT_ADMIN'];
  t.same(await shown(), [waiting, waiting]);
  const told = (await acme.read('/audit/auditRecords?type=Application&pageSize=100')).auditRecords.filter(
    ({ activity }: any) => activity === 'Application asks for roles',
  );
  t.match(told, [{ text: /hello, ROLE_EVENT_READ ROLE_USER_MANAGEMENT_ADMIN/ }]);
  // Only the tenant agrees, and only to what it is asked for.
  t.equal((await as(user).put(reference, { grantedRoles: waiting })).status, 403, 'not the service itself');
  t.equal((await acme.put(reference, { grantedRoles: ['ROLE_ALARM_READ'] })).status, 422);
  t.match(await acme.put(reference, { grantedRoles: ['ROLE_INVENTORY_READ', 'ROLE_EVENT_READ'] }), {
    status: 200,
    json: { waitingRoles: ['ROLE_USER_MANAGEMENT_ADMIN'] },
  });
  t.same(await rolesOf(), ['ROLE_EVENT_READ', 'ROLE_INVENTORY_READ']);
  await rest.put(`${APPS}/${app.id}`, { requiredRoles: ['ROLE_INVENTORY_READ'] });
  await rest.put(`${APPS}/${app.id}`, {
    requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_EVENT_READ', 'ROLE_INVENTORY_ADMIN'],
  });
  t.same(await rolesOf(), ['ROLE_INVENTORY_READ'], 'a role that was taken out waits again');
  await rest.put(`${APPS}/${app.id}`, { requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'] });
  t.equal((await acme.put(reference, { grantedRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'] })).status, 200);
  t.same(await shown(), [undefined, undefined]);
  const above = await management.create(APPS, { key: 'above', name: 'above', type: 'MICROSERVICE' });
  await subscribe('acme', above.id);
  await management.put(`${APPS}/${above.id}`, { requiredRoles: ['ROLE_ALARMS_READ'] });
  const [ofAbove] = await usersOf(as(await management.read(`${APPS}/${above.id}/bootstrapUser`)));
  t.match(
    (await as(ofAbove).read('/user/currentUser')).effectiveRoles,
    [{ id: 'ROLE_ALARM_READ' }],
    'the tenant above gives what its application requires, by either name of the role',
  );
  t.notOk('waitingRoles' in (await acme.read(`/tenant/tenants/acme/applications/${above.id}`)));
});

t.test('a service user whose password or existence was taken away is made up for', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  const user = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  t.equal((await acme.delete('/user/acme/users/service_hello')).status, 204);
  t.equal((await as(user).get('/user/currentUser')).status, 401);
  t.same(
    (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme'),
    user,
  );
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
  t.same(
    (await usersOf(bootstrap)).map(({ tenant }) => tenant),
    [TENANT],
  );
  await subscribe('acme', app.id);
  const again = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  t.equal(again.name, user.name);
  t.not(again.password, user.password, 'a new subscription, a new password');
  t.equal((await as(user).get('/user/currentUser')).status, 401);
});

t.test('asked for while subscriptions come and go: no user is left', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  let isOver = false;
  const asking = (async () => {
    while (!isOver) await bootstrap.get(`${CURRENT}/subscriptions`);
  })();
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

t.test(
  'settings: defaults of the manifest, options of the owner, those of the tenant; secrets decrypted',
  async (t) => {
    t.equal(await upload(app.id, MANIFEST), 201);
    const bootstrap = as(bootstrapCredentials);
    t.match(await rest.read(`${APPS}/${app.id}`), {
      contextPath: 'hello',
      manifest: MANIFEST,
      activeVersionId: /^\d+$/,
      requiredRoles: MANIFEST.requiredRoles,
      roles: MANIFEST.roles,
    });
    const defaults = { colour: 'red', fixed: 'f', token: 's3cret', own: 'd' };
    t.same(await bootstrap.read(`${CURRENT}/settings`), defaults);
    const ofAcme = as((await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!);
    t.same(await ofAcme.read(`${CURRENT}/settings`), defaults);
    await rest.put('/tenant/options/hello', {
      colour: 'green',
      own: 'of the owner',
      'credentials.token': 'n3w',
      more: 'm',
    });
    t.equal((await rest.put('/tenant/options/hello/fixed', { value: 'x' })).status, 403, 'not editable');
    t.equal(
      (await rest.read('/tenant/options/hello/credentials.token')).value,
      '<<Encrypted>>',
      'people do not see it',
    );
    t.same(await bootstrap.read(`${CURRENT}/settings`), {
      colour: 'green',
      fixed: 'f',
      token: 'n3w',
      own: 'of the owner',
      more: 'm',
    });
    t.same(
      await ofAcme.read(`${CURRENT}/settings`),
      { colour: 'green', fixed: 'f', token: 'n3w', own: 'd', more: 'm' },
      'inheritFromOwner: false',
    );
    await acme.put('/tenant/options/hello', { colour: 'blue', fixed: 'mine', own: 'mine', more: 'mine', extra: 'e' });
    t.same(await ofAcme.read(`${CURRENT}/settings`), {
      colour: 'blue',
      fixed: 'f',
      token: 'n3w',
      own: 'mine',
      more: 'm',
      extra: 'e',
    });
    const settings = [
      { key: 'colour', defaultValue: 'black', overwriteOnUpdate: false, editable: true },
      { key: 'fixed', defaultValue: 'g' },
    ];
    t.equal(await upload(app.id, { ...MANIFEST, settings }), 201);
    t.match(await bootstrap.read(`${CURRENT}/settings`), { colour: 'green', fixed: 'g' }, 'overwriteOnUpdate');
    t.equal(await upload(app.id, { ...MANIFEST, settings: [], settingsCategory: 'elsewhere' }), 201);
    await rest.put('/tenant/options/elsewhere', { there: 'yes' });
    t.same(await bootstrap.read(`${CURRENT}/settings`), { there: 'yes' }, 'settingsCategory');
    const bare = await rest.create(APPS, { key: 'bare', name: 'bare', type: 'MICROSERVICE' });
    await rest.put('/tenant/options/bare', { a: '1' });
    t.same(
      await as(await rest.read(`${APPS}/${bare.id}/bootstrapUser`)).read(`${CURRENT}/settings`),
      { a: '1' },
      'the name without a context path',
    );
  },
);

t.test('defaults of a manifest never take the place of what others have stored', async (t) => {
  await rest.create(`/user/${TENANT}/users`, { userName: 'deployer', password: 'Analytical-1' });
  await rest.create(`/user/${TENANT}/users/deployer/roles`, {
    role: { self: 'x/user/roles/ROLE_APPLICATION_MANAGEMENT_ADMIN' },
  });
  const deployer = new Rest(server.url, `${TENANT}/deployer`, 'Analytical-1');
  const { id } = await deployer.create(APPS, { key: 'sly', name: 'sly', type: 'MICROSERVICE' });
  const other = await deployer.create(APPS, { key: 'sly-2', name: 'sly-2', type: 'MICROSERVICE' });
  const put = (settings: object[], settingsCategory = 'fixed', app = id): Promise<any> =>
    deployer.put(`${APPS}/${app}`, { manifest: { settingsCategory, settings } });
  await rest.put('/tenant/options/fixed', { marked: 'by hand', open: 'by hand' });
  await management.put(`/tenant/options/fixed/marked/editable?tenant=${TENANT}`, { editable: 'false' });
  await management.put(`/tenant/options/fixed/empty/editable?tenant=${TENANT}`, { editable: 'false' });
  await management.put('/tenant/options/fixed/nobody/editable', { editable: 'false' });
  const all = ['marked', 'open', 'empty', 'nobody', 'mine'].map((key) => ({
    key,
    defaultValue: 'OVERWRITTEN',
    editable: true,
  }));
  t.equal((await put(all)).status, 200);
  t.same(await rest.read('/tenant/options/fixed'), { marked: 'by hand', open: 'by hand', mine: 'OVERWRITTEN' });
  t.equal((await rest.put('/tenant/options/fixed/marked', { value: 'x' })).status, 403, 'the mark is still there');
  const mine = { key: 'mine', defaultValue: 'OVERWRITTEN', editable: true };
  t.equal((await put([{ key: 'open', defaultValue: 'x' }, mine])).status, 200);
  t.equal(
    (await rest.put('/tenant/options/fixed/open', { value: 'by hand' })).status,
    200,
    'nor does a manifest mark it',
  );
  await put([{ key: 'mine', defaultValue: 'of another' }], 'fixed', other.id);
  t.equal((await rest.read('/tenant/options/fixed')).mine, 'OVERWRITTEN', 'nor what another application made');
  await put([{ key: 'mine', defaultValue: 'newer', editable: true }]);
  t.equal((await rest.read('/tenant/options/fixed')).mine, 'newer', 'its own default it changes');
  await rest.put('/tenant/options/fixed', { mine: 'set' });
  await put([{ key: 'mine', defaultValue: 'newest' }]);
  t.equal((await rest.read('/tenant/options/fixed')).mine, 'set', 'until somebody has set it');
  await put([{ key: 'kept', defaultValue: 'k', editable: true }]);
  await management.put(`/tenant/options/fixed/kept/editable?tenant=${TENANT}`, { editable: 'false' });
  await put([{ key: 'kept', defaultValue: 'l', editable: true }]);
  t.equal((await rest.read('/tenant/options/fixed')).kept, 'k', 'or the management tenant has marked it');
  await put([{ key: 'everywhere', defaultValue: 'e', editable: true }]);
  await management.put('/tenant/options/fixed/everywhere/editable', { editable: 'false' });
  await put([{ key: 'everywhere', defaultValue: 'f', editable: true }]);
  t.equal((await rest.read('/tenant/options/fixed')).everywhere, 'e', 'for all tenants');
  for (const [category, key] of [
    ['access.control', 'allow.origin'],
    ['password', 'green.min-length'],
    ['two-factor-authentication', 'strategy'],
    ['limit', 'http.requests.user'],
  ]) {
    const refused = await put([{ key, defaultValue: '1', editable: true }], category);
    t.match(refused, {
      status: 422,
      json: { message: new RegExp(`settingsCategory has the value ${category}; it takes .*belongs to the platform`) },
    });
    t.notOk(key in (await rest.read(`/tenant/options/${category}`)) && category !== 'access.control');
  }
  t.equal((await rest.read('/tenant/options/access.control/allow.origin')).value, '*');
  t.equal(
    (await deployer.put(`${APPS}/${other.id}`, { contextPath: 'configuration', manifest: { settings: [] } })).status,
    422,
    'by its context path too',
  );
  t.equal((await put([{ key: 'a\nb', defaultValue: 'x' }])).status, 422);
  const audits = (await rest.read('/audit/auditRecords?type=Option&pageSize=500')).auditRecords
    .filter(({ user }: any) => user === 'deployer')
    .map(({ text }: any) => text);
  t.same(audits.sort(), [
    'Option changed: fixed/everywhere',
    'Option changed: fixed/kept',
    'Option changed: fixed/mine',
    'Option changed: fixed/mine',
  ]);
});

t.test('settings end with the application, and with the manifest that names them', async (t) => {
  const made = (name: string, manifest: object): Promise<any> =>
    rest.create(APPS, { key: name, name, type: 'MICROSERVICE', contextPath: 'locked', manifest });
  const setting = (key: string, defaultValue: string, more: object = {}): object => ({ key, defaultValue, ...more });
  const { id } = await made('first', { settings: [setting('color', 'red'), setting('size', 'small')] });
  const path = '/tenant/options/locked/color';
  t.equal((await rest.put(path, { value: 'x' })).status, 403);
  t.equal((await rest.put(`${APPS}/${id}`, { manifest: { settings: [setting('color', 'red')] } })).status, 200);
  t.same(await rest.read('/tenant/options/locked'), { color: 'red' }, 'a newer manifest drops one');
  await rest.put('/tenant/options/locked', { own: 'by hand' });
  t.equal((await rest.delete(`${APPS}/${id}?force=true`)).status, 204);
  t.same(await rest.read('/tenant/options/locked'), { own: 'by hand' }, 'what somebody has set stays');
  const second = await made('second', { settings: [setting('color', 'green')] });
  t.match(await as(await rest.read(`${APPS}/${second.id}/bootstrapUser`)).read(`${CURRENT}/settings`), {
    color: 'green',
  });
  t.equal((await rest.delete(`${APPS}/${second.id}?force=true`)).status, 204);
  t.equal((await rest.put(path, { value: 'mine' })).status, 200, 'nobody holds it any more');
  t.equal((await rest.delete(path)).status, 204);
});

t.test('a manifest without roles leaves those of the application', async (t) => {
  const { id } = await rest.create(APPS, {
    key: 'roles',
    name: 'roles',
    type: 'MICROSERVICE',
    requiredRoles: ['ROLE_EVENT_READ'],
    roles: ['ROLE_ROLES_READ'],
  });
  const {
    requiredRoles: _,
    roles: __,
    ...manifest
  } = { ...MANIFEST, name: 'roles', contextPath: 'roles', settings: [] };
  t.equal(await upload(id, manifest), 201);
  t.match(await rest.read(`${APPS}/${id}`), { requiredRoles: ['ROLE_EVENT_READ'], roles: ['ROLE_ROLES_READ'] });
});

t.test('an upload that is refused for its settings changes nothing', async (t) => {
  const own = {
    id: 'filled',
    company: 'f',
    domain: 'filled-d',
    adminName: 'ada',
    adminEmail: 'a@b',
    adminPass: 'Analytical-1',
  };
  await management.create('/tenant/tenants', own);
  const filled = new Rest(server.url, 'filled/ada', 'Analytical-1');
  for (let start = 0; start < 9_999; start += 3_333) {
    t.equal(
      (
        await filled.put(
          '/tenant/options/c',
          Object.fromEntries(Array.from({ length: 3_333 }, (_, index) => [`k${start + index}`, ''])),
        )
      ).status,
      200,
    );
  }
  const { id } = await filled.create(APPS, {
    key: 'f',
    name: 'f',
    type: 'MICROSERVICE',
    requiredRoles: ['ROLE_EVENT_READ'],
  });
  const before = await filled.read(`${APPS}/${id}`);
  const manifest = {
    requiredRoles: ['ROLE_INVENTORY_READ'],
    settings: ['a', 'b'].map((key) => ({ key, defaultValue: '1' })),
  };
  const refused = await filled.put(`${APPS}/${id}`, {
    manifest,
    requiredRoles: ['ROLE_INVENTORY_READ'],
    description: 'new',
  });
  t.match(refused, { status: 422, json: { message: /options\/of-tenant/ } });
  t.same(await filled.read(`${APPS}/${id}`), before);
  t.equal(
    (await filled.put(`${APPS}/${id}`, { manifest: { settings: manifest.settings.slice(1) } })).status,
    200,
    'one has room',
  );
});

t.test('secret values are given to the microservice whose context path the category is', async (t) => {
  const made = (name: string, more: object = {}, by = rest): Promise<any> =>
    by.create(APPS, { key: `key-${name}`, name, type: 'MICROSERVICE', ...more });
  const owner = await made('keeper', { contextPath: 'keeper' });
  await rest.put('/tenant/options/keeper', { 'credentials.db': 'TOPSECRET', plain: 'p' });
  t.same(await as(await rest.read(`${APPS}/${owner.id}/bootstrapUser`)).read(`${CURRENT}/settings`), {
    db: 'TOPSECRET',
    plain: 'p',
  });
  const thief = await made('thief');
  const bootstrap = as(await rest.read(`${APPS}/${thief.id}/bootstrapUser`));
  for (const sent of [
    { manifest: { settingsCategory: 'keeper' } },
    { contextPath: 'keeper' },
    { contextPath: 'other' },
    { name: 'keeper' },
    { name: 'keeper-2' },
  ]) {
    const reply = await bootstrap.put(CURRENT, sent);
    t.ok([403, 409].includes(reply.status), `${JSON.stringify(sent)}: ${reply.status}`);
  }
  t.match(await bootstrap.put(CURRENT, { contextPath: 'other' }), {
    status: 403,
    json: { message: /may not change its contextPath: that takes ROLE_APPLICATION_MANAGEMENT_ADMIN/ },
  });
  t.equal(
    (await rest.put(`${APPS}/${thief.id}`, { contextPath: 'keeper' })).status,
    409,
    'a context path is there once in a tenant',
  );
  t.equal((await rest.put(`${APPS}/${thief.id}`, { manifest: { settingsCategory: 'keeper' } })).status, 200);
  t.same(
    await bootstrap.read(`${CURRENT}/settings`),
    { db: '<<Encrypted>>', plain: 'p' },
    'a shared category: plain values only',
  );
  const nameless = await made('nameless');
  await rest.put('/tenant/options/nameless', { 'credentials.db': 'TOPSECRET' });
  t.same(
    await as(await rest.read(`${APPS}/${nameless.id}/bootstrapUser`)).read(`${CURRENT}/settings`),
    { db: '<<Encrypted>>' },
    'a name is no context path',
  );
});

t.test('nor across tenants', async (t) => {
  const market = { availability: 'MARKET', type: 'MICROSERVICE' };
  const seen = async (application: any): Promise<object> =>
    as(
      (await usersOf(as(await rest.read(`${APPS}/${application.id}/bootstrapUser`)))).find(
        ({ tenant }) => tenant === 'acme',
      )!,
    ).read(`${CURRENT}/settings`);
  await acme.put('/tenant/options/mail', { 'credentials.pw': 'ACME-SECRET' });
  await acme.put('/tenant/options/vault', { 'credentials.pw': 'ACME-SECRET' });
  const honest = await rest.create(APPS, { ...market, key: 'mail', name: 'mailer', contextPath: 'mail' });
  const sly = await rest.create(APPS, { ...market, key: 'cute', name: 'cute', contextPath: 'cute' });
  await subscribe('acme', sly.id);
  await subscribe('acme', honest.id);
  t.same(await seen(honest), { pw: 'ACME-SECRET' });
  await rest.put(`${APPS}/${sly.id}`, { manifest: { settingsCategory: 'mail' } });
  t.same(await seen(sly), { pw: '<<Encrypted>>' });
  await rest.put(`${APPS}/${sly.id}`, { contextPath: 'vault', manifest: {} });
  t.same(await seen(sly), { pw: '<<Encrypted>>' }, 'a context path that it did not have when it was subscribed');
  await unsubscribe('acme', sly.id);
  await subscribe('acme', sly.id);
  t.same(await seen(sly), { pw: 'ACME-SECRET' }, 'taken with that context path');
  const own = await acme.create(APPS, { key: 'vault', name: 'vault', type: 'MICROSERVICE', contextPath: 'vault' });
  t.same(await seen(sly), { pw: '<<Encrypted>>' }, "the tenant's own microservice comes first");
  t.same(await as(await acme.read(`${APPS}/${own.id}/bootstrapUser`)).read(`${CURRENT}/settings`), {
    pw: 'ACME-SECRET',
  });
  for (const { id } of [honest, sly]) await unsubscribe('acme', id);
});

t.test('the context path of a manifest is its name unless it says another', async (t) => {
  const { contextPath: _, ...manifest } = { ...MANIFEST, name: 'zsvc', settings: [] };
  const { id } = await rest.create(APPS, { key: 'zsvc-key', name: 'zsvc-app', type: 'MICROSERVICE' });
  t.equal(await upload(id, manifest), 201);
  t.equal((await rest.read(`${APPS}/${id}`)).contextPath, 'zsvc');
  t.equal((await rest.get('/service/zsvc/health')).status, 503);
  const named = await rest.create(APPS, { key: 'zsvc-2', name: 'zsvc-2', type: 'MICROSERVICE', contextPath: 'mine' });
  t.equal(await upload(named.id, manifest), 201);
  t.equal((await rest.read(`${APPS}/${named.id}`)).contextPath, 'mine', 'one that it has stays');
});

t.test('its place answers that it is not there', async (t) => {
  const cases: [by: Rest, path: string, status: number][] = [
    [rest, '/service/hello', 503],
    [rest, '/service/hello/health', 503],
    [acme, '/service/hello/a/b/c', 503],
    [rest, '/service/nothing/a', 404],
    [management, '/service/hello/a', 404],
  ];
  for (const [by, path, status] of cases) t.equal((await by.get(path)).status, status, path);
  t.equal((await rest.get('/service/hello/health')).json.error, 'microservice/Unavailable');
  t.equal((await rest.post('/service/hello/x', { a: 1 })).status, 503);
});

t.test('everything is there after a restart', async (t) => {
  const before = await usersOf(as(bootstrapCredentials));
  t.equal(before.length, 2);
  const settings = await as(bootstrapCredentials).read(`${CURRENT}/settings`);
  await server.stop();
  server = await startServer(root, { data: server.data });
  ({ rest, management } = server);
  t.same(await usersOf(as(bootstrapCredentials)), before);
  for (const user of before) t.equal((await as(user).get('/user/currentUser')).status, 200);
  t.same(await as(bootstrapCredentials).read(`${CURRENT}/settings`), settings);
});

t.test('nobody logs in as a microservice with a password of his own', async (t) => {
  const bootstrap = as(bootstrapCredentials);
  const acme = new Rest(server.url, 'acme/ada', 'Analytical-1');
  const user = (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme')!;
  const own = '/user/acme/users/service_hello';
  const { status, json } = await acme.put(own, { password: 'Hijacked-1pw' });
  t.match([status, json.error, json.message], [403, 'users/Forbidden', /its password and rights are the server's/]);
  t.equal((await acme.put(own, { shouldResetPassword: true })).status, 403);
  t.equal(
    (await acme.put(own, { firstName: 'Hello' })).status,
    200,
    'what is neither password nor right may be changed',
  );
  t.equal((await acme.put(own, { devicePermissions: {} })).status, 200, 'as front ends send it back');
  t.equal((await rest.put(`/user/${TENANT}/users/servicebootstrap_hello`, { password: 'Hijacked-1pw' })).status, 403);
  t.equal((await as(user).get(`${CURRENT}/settings`)).status, 200);
  await acme.delete('/user/acme/users/service_hello');
  await acme.create('/user/acme/users', { userName: 'service_hello', password: 'Hijacked-1pw', email: 'x@y' });
  const impostor = new Rest(server.url, 'acme/service_hello', 'Hijacked-1pw');
  t.equal((await impostor.get('/user/currentUser')).status, 200);
  // Rights of one who had the name before.
  const object = await acme.createDevice('of-acme');
  t.equal((await acme.post('/user/acme/groups/1/users', { user: { self: `${server.url}${own}` } })).status, 201);
  t.equal(
    (
      await acme.post(`${own}/roles/inventory`, {
        managedObject: object,
        roles: [{ id: (await acme.read('/user/inventoryroles')).roles[0].id }],
      })
    ).status,
    200,
  );
  t.equal((await acme.put(own, { devicePermissions: { [object]: ['*:*:READ'] } })).status, 200);
  t.equal((await impostor.get(`${CURRENT}/settings`)).status, 403, 'the name alone is not the microservice');
  t.same(
    (await usersOf(bootstrap)).find(({ tenant }) => tenant === 'acme'),
    user,
  );
  t.equal((await impostor.get('/user/currentUser')).status, 401, 'the microservice has it back');
  t.equal((await as(user).get(`${CURRENT}/settings`)).status, 200);
  t.same((await acme.read(`${own}/groups`)).references, [], 'without what the other one had');
  t.notOk(
    (await acme.read('/user/acme/groups/1/users?pageSize=100')).references.some(
      (one: any) => one.user.userName === 'service_hello',
    ),
  );
  t.same((await acme.read(`${own}/roles/inventory`)).inventoryAssignments, []);
  t.same((await acme.read(own)).devicePermissions ?? {}, {});
  t.same((await as(user).read('/user/currentUser')).effectiveRoles.map(({ id }: any) => id).sort(), [
    'ROLE_INVENTORY_ADMIN',
    'ROLE_INVENTORY_READ',
  ]);
});

t.test('a microservice has the roles that it requires, and nobody gives it more', async (t) => {
  const acme = new Rest(server.url, 'acme/ada', 'Analytical-1');
  const own = '/user/acme/users/service_hello';
  const object = await acme.createDevice('no-more');
  const role = (await acme.read('/user/inventoryroles')).roles[0].id;
  const rows: [what: string, method: string, path: string, body?: object][] = [
    ['a group', 'POST', '/user/acme/groups/1/users', { user: { self: `${server.url}${own}` } }],
    ['a role', 'POST', `${own}/roles`, { role: { id: 'ROLE_ALARM_ADMIN' } }],
    ['less of them', 'DELETE', `${own}/roles/ROLE_INVENTORY_READ`],
    ['permissions in its record', 'PUT', own, { devicePermissions: { [object]: ['*:*:*'] } }],
    [
      'permissions for an object',
      'PUT',
      `/user/devicePermissions/${object}`,
      { users: [{ userName: 'service_hello', devicePermissions: { [object]: ['*:*:*'] } }] },
    ],
    ['an inventory role', 'POST', `${own}/roles/inventory`, { managedObject: object, roles: [{ id: role }] }],
  ];
  for (const [what, method, path, body] of rows) {
    const reply = await acme.request(method, path, body === undefined ? {} : { body });
    t.match(
      reply,
      { status: 403, json: { error: 'users/Forbidden', message: /its password and rights are the server's/ } },
      what,
    );
  }
});

t.test('when the owner of a microservice is suspended, its users in other tenants go too', async (t) => {
  await management.create('/tenant/tenants', {
    id: 'maker',
    company: 'm',
    domain: 'maker-d',
    adminName: 'eva',
    adminEmail: 'e@b',
    adminPass: 'Analytical-1',
  });
  const maker = new Rest(server.url, 'maker/eva', 'Analytical-1');
  const { id } = await maker.create(APPS, {
    key: 'made',
    name: 'made',
    type: 'MICROSERVICE',
    requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_DEVICE'],
    availability: 'MARKET',
  });
  await subscribe('acme', id);
  const [user] = await usersOf(as(await maker.read(`${APPS}/${id}/bootstrapUser`)));
  const service = as(user);
  t.equal((await service.get('/inventory/managedObjects')).status, 200);
  const form = new URLSearchParams({ grant_type: 'PASSWORD', username: 'acme/service_made', password: user.password });
  const token = (await (await fetch(`${server.url}/tenant/oauth/token`, { method: 'POST', body: form })).json()) as {
    access_token: string;
  };
  const byToken = (): Promise<number> =>
    fetch(`${server.url}/inventory/managedObjects`, {
      headers: { authorization: `Bearer ${token.access_token}` },
    }).then(({ status }) => status);
  t.equal(await byToken(), 200);
  const device = await connectDevice(t, server, 'by-service', {
    username: 'acme/service_made',
    password: user.password,
  });
  const closed = new Promise<void>((resolve) => {
    device.client.once('close', resolve);
  });
  await management.put('/tenant/tenants/maker', { status: 'SUSPENDED' });
  t.equal((await service.get('/inventory/managedObjects')).status, 401);
  t.equal(await byToken(), 401);
  await closed;
  await management.put('/tenant/tenants/maker', { status: 'ACTIVE' });
  t.equal((await service.get('/inventory/managedObjects')).status, 200);
});

t.test('deletion ends all users', async (t) => {
  const users = await usersOf(as(bootstrapCredentials));
  t.equal((await rest.delete(`${APPS}/${app.id}`)).status, 409);
  t.equal((await rest.delete(`${APPS}/${app.id}?force=true`)).status, 204);
  for (const user of [...users, bootstrapCredentials]) t.equal((await as(user).get('/user/currentUser')).status, 401);
});
