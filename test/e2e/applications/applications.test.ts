/**
 * Applications (docs/spec/applications.md): fields, uniqueness, lists by who has them, changes, deletion, clones,
 * roles.
 */
import t from 'tap';
import { Rest, TENANT, startServer } from '../../helpers/running/server.ts';
import type { Reply } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const APPS = '/application/applications';
let count = 0;
const fields = (more: object = {}): Record<string, unknown> => {
  count += 1;
  return { key: `key-${count}`, name: `name-${count}`, type: 'EXTERNAL', ...more };
};
const create = (more: object = {}, by = rest): Promise<any> => by.create(APPS, fields(more));
const ids = (reply: any): string[] => reply.applications.map(({ id }: any) => id);
const subscribe = (tenant: string, id: string): Promise<any> =>
  management.create(`/tenant/tenants/${tenant}/applications`, { application: { id } });
async function user(name: string, roles: readonly string[]): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, {
    userName: name,
    password: 'Analytical-1',
    email: `${name}@example.com`,
  });
  for (const role of roles)
    await rest.create(`/user/${TENANT}/users/${name}/roles`, { role: { self: `x/user/roles/${role}` } });
  return new Rest(server.url, `${TENANT}/${name}`, 'Analytical-1');
}
async function tenant(id: string, more: object = {}): Promise<Rest> {
  await management.create('/tenant/tenants', {
    id,
    company: id,
    domain: `${id}-d`,
    adminName: 'ada',
    adminEmail: 'a@b',
    adminPass: 'Analytical-1',
    ...more,
  });
  return new Rest(server.url, `${id}/ada`, 'Analytical-1');
}

t.test('as it is created: every field comes back', async (t) => {
  const sent = {
    key: 'full-key',
    name: 'full',
    type: 'HOSTED',
    availability: 'MARKET',
    contextPath: 'full',
    description: 'd',
    manifest: { imports: [], noAppSwitcher: true },
    roles: ['ROLE_FULL_READ'],
    requiredRoles: ['ROLE_INVENTORY_READ'],
    resourcesUrl: '/r',
    externalUrl: 'https://x',
    globalTitle: 'T',
    breadcrumbs: false,
    dynamicOptionsUrl: '/o',
    contentSecurityPolicy: "default-src 'self'",
    config: { a: [1.0] },
    custom: { x: null },
  };
  const reply = await rest.post(APPS, sent);
  t.equal(reply.status, 201);
  const { id } = reply.json;
  const self = `${server.url}${APPS}/${id}`;
  t.equal(reply.headers.get('location'), self);
  t.same(reply.json, {
    ...sent,
    id,
    self,
    owner: { self: `${server.url}/tenant/tenants/${TENANT}`, tenant: { id: TENANT } },
  });
  t.same(await rest.read(`${APPS}/${id}`), reply.json);
  t.match(reply.headers.get('content-type'), /json/);
  const vendor = await rest.request('GET', `${APPS}/${id}`, {
    headers: { accept: 'application/vnd.com.nsn.cumulocity.application+json' },
  });
  t.match(vendor.headers.get('content-type'), 'application/vnd.com.nsn.cumulocity.application+json');
});

t.test('the root of the area', async (t) => {
  t.match(await rest.read('/application'), {
    applications: { self: `${server.url}${APPS}` },
    applicationsByName: /applicationsByName\/\{name\}/,
  });
});

t.test('the smallest one', async (t) => {
  const app = await create();
  t.match(app, { availability: 'PRIVATE', type: 'EXTERNAL' });
  t.notOk('contextPath' in app);
});

t.test('mandatory fields', async (t) => {
  const reply = await rest.post(APPS, {});
  t.equal(reply.status, 422);
  t.match(reply.json, {
    error: 'undefined/validationError',
    message: 'Following mandatory fields should be included: key,name,type',
  });
  const hosted = await rest.post(APPS, fields({ type: 'HOSTED' }));
  t.equal(hosted.status, 422);
  t.match(hosted.json.message, /contextPath/);
});

/** Field, values that are taken, values that are not. */
const FIELDS: [field: string, taken: unknown[], refused: unknown[]][] = [
  ['key', ['k', 'k'.repeat(256)], ['', 'k'.repeat(257), 7, 'a\nb']],
  ['name', ['n', 'Ä name', 'n'.repeat(256)], ['', 'n'.repeat(257), 7, 'a\tb']],
  ['type', ['EXTERNAL', 'MICROSERVICE', 'APAMA_CEP_RULE'], ['', 'OTHER', 7]],
  ['availability', ['MARKET', 'PRIVATE', 'SHARED'], ['', 'PUBLIC', 7]],
  ['contextPath', ['a', 'a.b-c_d', 'a'.repeat(128)], ['', '/a', 'a/b', 'a@b', '..', '-a', 'a b', 'a'.repeat(129), 7]],
  ['roles', [[], ['ROLE_MINE_READ']], ['ROLE_MINE_READ', ['mine'], ['ROLE_INVENTORY_READ'], ['ROLE_SYSTEM'], [7]]],
  [
    'requiredRoles',
    [[], ['ROLE_INVENTORY_READ', 'ROLE_OTHER_SERVICE']],
    ['ROLE_A', ['role_a'], ['ROLE_SYSTEM'], ['ROLE_DEVICE_BOOTSTRAP'], ['ROLE_SERVICE_BOOTSTRAP']],
  ],
  ['manifest', [{}, { imports: [] }], ['x', [], 7]],
  ['description', ['', 'd'.repeat(4096)], ['d'.repeat(4097), 7]],
  ['externalUrl', ['https://x/y', 'HTTP://x', '/apps/x', ''], ['javascript:alert(1)', ' https://x', 'data:,x', 7]],
  ['contentSecurityPolicy', ["default-src 'self'"], ['a\r\nb', 'ä', 7]],
  ['config', [{}], ['x', []]],
  ['breadcrumbs', [true], ['true']],
];
for (const [field, taken, refused] of FIELDS) {
  t.test(`values of ${field}`, async (t) => {
    for (const value of refused)
      t.equal((await rest.post(APPS, fields({ [field]: value }))).status, 422, JSON.stringify(value));
    for (const value of taken) t.same((await create({ [field]: value }))[field], value);
  });
}

t.test('key, name and context path are there once in a tenant', async (t) => {
  const first = await create({ contextPath: 'once' });
  for (const field of ['key', 'name', 'contextPath']) {
    const reply = await rest.post(APPS, fields({ [field]: first[field] }));
    t.equal(reply.status, 409, field);
    t.equal(reply.json.error, 'applications/Duplicate');
    const other = await create();
    t.equal((await rest.put(`${APPS}/${other.id}`, { [field]: first[field] })).status, 409);
  }
  t.equal(
    (await management.post(APPS, { ...fields(), name: first.name, key: first.key, contextPath: first.contextPath }))
      .status,
    201,
    'another tenant may',
  );
  const many = await Promise.all(Array.from({ length: 8 }, () => rest.post(APPS, fields({ name: 'raced' }))));
  t.same(many.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
  t.equal((await rest.put(`${APPS}/${first.id}`, { name: 'renamed' })).status, 200);
  t.equal((await rest.post(APPS, fields({ name: first.name }))).status, 201, 'a name that was given up');
});

t.test('PUT: what is sent replaces, null removes, the rest stays; what the server keeps is left alone', async (t) => {
  const app = await create({ description: 'd', contextPath: 'puts', custom: 1 });
  const reply = await rest.put(`${APPS}/${app.id}`, {
    id: '1',
    owner: { tenant: { id: 'x' } },
    description: null,
    contextPath: null,
    custom: 2,
    availability: 'MARKET',
  });
  t.equal(reply.status, 200);
  const { description: _, contextPath: __, ...others } = app;
  t.same(reply.json, { ...others, custom: 2, availability: 'MARKET' });
  t.equal((await rest.put(`${APPS}/${app.id}`, { type: 'HOSTED' })).status, 422);
  t.equal((await rest.put(`${APPS}/${app.id}`, { type: 'EXTERNAL' })).status, 200, 'repeated');
  t.equal((await rest.put(`${APPS}/${app.id}`, { activeVersionId: '7' })).status, 422);
  t.equal((await rest.put(`${APPS}/999999`, {})).status, 404);
  t.match((await rest.get(`${APPS}/abc`)).json, {
    error: 'applications/Not Found',
    message: 'Could not find application by ID abc',
  });
});

t.test('changes are in the audit log, what changes nothing is not', async (t) => {
  const app = await create();
  await rest.put(`${APPS}/${app.id}`, { description: 'a' });
  await rest.put(`${APPS}/${app.id}`, { description: 'a' });
  await rest.delete(`${APPS}/${app.id}`);
  const { auditRecords } = await rest.read(`/audit/auditRecords?source=${app.id}&pageSize=100&revert=true`);
  t.same(auditRecords.map(({ activity }: any) => activity).sort(), [
    'Application created',
    'Application deleted',
    'Application updated',
  ]);
  t.match(auditRecords[0], { user: 'admin', type: 'Application' });
  t.match(auditRecords[1], {
    text: `Application updated: ${app.name}: description added`,
    changes: [{ attribute: 'description', changeType: 'ADDED', newValue: 'a' }],
  });
});

t.test('changes at once are all done: none is in conflict', async (t) => {
  const { id } = await create();
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => rest.put(`${APPS}/${id}`, { [`part${index}`]: index })),
  );
  t.same(
    replies.map(({ status }) => status),
    Array(12).fill(200),
  );
  t.match(await rest.read(`${APPS}/${id}`), Object.fromEntries(replies.map((_, index) => [`part${index}`, index])));
});

t.test('lists', async (t) => {
  const acme = await tenant('acme');
  const [own, market, secret] = [
    await create({ contextPath: 'both' }),
    await create({ availability: 'MARKET' }),
    await create(),
  ];
  const theirs = await create({ contextPath: 'both' }, acme);
  await subscribe('acme', own.id);
  await subscribe('acme', market.id);
  const page = 'pageSize=2000';
  /** Who asks, path, ids that are in, ids that are not. */
  const cases: [by: Rest, path: string, ins: string[], outs: string[]][] = [
    [rest, `${APPS}?${page}`, [own.id, market.id, secret.id], [theirs.id]],
    [acme, `${APPS}?${page}`, [own.id, market.id, theirs.id], [secret.id]],
    [management, `${APPS}?${page}`, [own.id, market.id, theirs.id, secret.id], []],
    [rest, `${APPS}?name=${own.name}`, [own.id], [market.id]],
    [rest, `${APPS}?type=HOSTED&${page}`, [], [own.id]],
    [rest, `${APPS}?type=EXTERNAL&${page}`, [own.id], []],
    [acme, `${APPS}?owner=acme&${page}`, [theirs.id], [own.id]],
    [acme, `${APPS}?owner=${TENANT}&${page}`, [own.id, market.id], [secret.id, theirs.id]],
    [acme, `${APPS}?providedFor=acme&${page}`, [own.id, market.id], [theirs.id]],
    [acme, `${APPS}?subscriber=acme&${page}`, [own.id, market.id], [theirs.id]],
    [acme, `${APPS}?tenant=acme&${page}`, [own.id, market.id, theirs.id], [secret.id]],
    [management, `${APPS}?tenant=acme&${page}`, [own.id, market.id, theirs.id], [secret.id]],
    [acme, `${APPS}?tenant=${TENANT}&${page}`, [], [own.id, market.id, secret.id]],
    [acme, `${APPS}?user=ada&${page}`, [own.id, theirs.id], [secret.id]],
    [acme, `${APPS}?user=nobody&${page}`, [], [own.id, theirs.id]],
    [rest, `${APPS}?hasVersions=true&${page}`, [], [own.id]],
    [rest, `${APPS}?hasVersions=false&${page}`, [own.id], []],
    [acme, `${APPS}?dropOverwrittenApps=true&noPaging=true`, [market.id, theirs.id], [own.id]],
    [rest, `/application/applicationsByName/${own.name}`, [own.id], [market.id]],
    [acme, `/application/applicationsByName/${secret.name}`, [], [secret.id]],
    [acme, `/application/applicationsByTenant/acme?${page}`, [own.id, market.id, theirs.id], [secret.id]],
    [management, `/application/applicationsByTenant/acme?${page}`, [own.id, market.id, theirs.id], [secret.id]],
    [acme, `/application/applicationsByTenant/${TENANT}`, [], [own.id, market.id]],
    [acme, `/application/applicationsByOwner/${TENANT}?${page}`, [own.id, market.id], [secret.id]],
    [rest, `/application/applicationsByOwner/${TENANT}?${page}`, [own.id, market.id, secret.id], [theirs.id]],
    [rest, '/application/applicationsByOwner/nobody', [], []],
    [acme, `/application/applicationsByUser/ada?${page}`, [own.id, market.id, theirs.id], [secret.id]],
  ];
  for (const [by, path, ins, outs] of cases) {
    const found = ids(await by.read(path));
    for (const id of ins) t.ok(found.includes(id), `${path}: ${id}`);
    for (const id of outs) t.notOk(found.includes(id), `${path}: not ${id}`);
  }
  const first = await rest.read(`${APPS}?pageSize=2&withTotalPages=true`);
  t.equal(first.applications.length, 2);
  t.ok(first.statistics.totalPages > 5 && first.next.includes('currentPage=2'));
  t.equal((await rest.get(`${APPS}?type=NONE`)).status, 422);
  t.equal((await acme.get(`${APPS}/${secret.id}`)).status, 404, 'private, not subscribed');
  t.equal((await acme.get(`${APPS}/${own.id}`)).status, 200);
  t.equal((await acme.put(`${APPS}/${own.id}`, {})).status, 403, 'subscribed, not the owner');
  t.equal((await acme.delete(`${APPS}/${own.id}`)).status, 403);
  t.equal((await management.put(`${APPS}/${own.id}`, { description: 'by the provider' })).status, 200);
});

t.test('SHARED ones are offered to tenants below the owner', async (t) => {
  const shared = await create({ availability: 'SHARED' }, management);
  const own = await create({ availability: 'SHARED' });
  t.equal((await rest.get(`${APPS}/${shared.id}`)).status, 200, 'the management tenant is above');
  const other = await tenant('besides');
  t.equal((await other.get(`${APPS}/${own.id}`)).status, 404);
});

t.test('roles', async (t) => {
  const app = await create();
  const reader = await user('reader', ['ROLE_APPLICATION_MANAGEMENT_READ']);
  const admin = await user('app-admin', ['ROLE_APPLICATION_MANAGEMENT_ADMIN']);
  const nobody = await user('plain', []);
  const path = `${APPS}/${app.id}`;
  const cases: [by: Rest, method: string, path: string, body: object | undefined, status: number][] = [
    [reader, 'GET', path, undefined, 200],
    [reader, 'PUT', path, {}, 403],
    [reader, 'DELETE', path, undefined, 403],
    [reader, 'POST', APPS, fields(), 403],
    [reader, 'GET', `${path}/bootstrapUser`, undefined, 403],
    [reader, 'POST', `${path}/clone`, {}, 403],
    [reader, 'GET', `${path}/binaries`, undefined, 200],
    [admin, 'GET', path, undefined, 200],
    [admin, 'PUT', path, { description: 'x' }, 200],
    [admin, 'POST', APPS, fields(), 201],
    [admin, 'POST', APPS, fields({ requiredRoles: ['ROLE_TENANT_MANAGEMENT_ADMIN'] }), 403],
    [admin, 'PUT', path, { requiredRoles: ['ROLE_INVENTORY_ADMIN'] }, 403],
    [admin, 'PUT', path, { requiredRoles: ['ROLE_APPLICATION_MANAGEMENT_ADMIN'] }, 200],
    [nobody, 'GET', APPS, undefined, 200],
    [nobody, 'GET', path, undefined, 200],
    [nobody, 'POST', APPS, fields(), 403],
    [nobody, 'GET', `${path}/binaries`, undefined, 403],
    [nobody, 'GET', '/application/applicationsByUser/plain', undefined, 200],
    [nobody, 'GET', '/application/applicationsByUser/admin', undefined, 403],
    [nobody, 'GET', `${APPS}?user=plain`, undefined, 200],
    [nobody, 'GET', `${APPS}?user=admin`, undefined, 403],
    [reader, 'GET', `${APPS}?user=admin`, undefined, 200],
    [admin, 'GET', '/application/currentApplication', undefined, 403],
    [admin, 'GET', '/application/currentApplication/subscriptions', undefined, 403],
    [admin, 'GET', '/application/currentApplication/settings', undefined, 403],
    [admin, 'PUT', '/application/currentApplication', {}, 403],
    [admin, 'DELETE', path, undefined, 204],
  ];
  for (const [by, method, where, body, status] of cases) {
    const reply: Reply = await by.request(method, where, body === undefined ? {} : { body });
    t.equal(reply.status, status, `${method} ${where}: ${reply.text}`);
  }
});

t.test('applications of a user: those assigned to the user or a group', async (t) => {
  const [one, two] = [await create(), await create()];
  const plain = await user('assigned', []);
  t.ok(
    ids(await plain.read('/application/applicationsByUser/assigned?pageSize=2000')).includes(one.id),
    'all while nothing is assigned',
  );
  t.equal((await rest.put(`/user/${TENANT}/users/assigned`, { applications: [{ id: one.id }] })).status, 200);
  t.same(ids(await plain.read('/application/applicationsByUser/assigned?pageSize=2000')), [one.id]);
  const group = await rest.create(`/user/${TENANT}/groups`, {
    name: 'appers',
    applications: [{ application: { id: two.id } }],
  });
  await rest.create(`/user/${TENANT}/groups/${group.id}/users`, { user: { self: `x/user/${TENANT}/users/assigned` } });
  t.same(
    ids(await plain.read('/application/applicationsByUser/assigned?pageSize=2000')).sort(),
    [one.id, two.id].sort(),
  );
});

t.test('deletion', async (t) => {
  const acme = new Rest(server.url, 'acme/ada', 'Analytical-1');
  const app = await create();
  await subscribe('acme', app.id);
  const refused = await rest.delete(`${APPS}/${app.id}`);
  t.equal(refused.status, 409);
  t.match(refused.json.message, /acme/);
  t.equal((await rest.delete(`${APPS}/${app.id}?force=true`)).status, 204);
  t.equal((await rest.get(`${APPS}/${app.id}`)).status, 404);
  t.same(
    (await acme.read('/tenant/tenants/acme/applications?pageSize=100')).references.filter(
      ({ application }: any) => application.id === app.id,
    ),
    [],
  );
  t.equal((await rest.delete(`${APPS}/${app.id}`)).status, 404);
  t.equal((await rest.post(APPS, { ...fields(), name: app.name, key: app.key })).status, 201, 'its names are free');
  t.equal((await management.post('/tenant/tenants/acme/applications', { application: { id: app.id } })).status, 404);
});

t.test('of several who delete a subscribed application at once one has done it', async (t) => {
  const { id } = await create({ name: 'deleted-at-once' });
  t.equal((await rest.post(`/tenant/tenants/${TENANT}/applications`, { application: { id } })).status, 201);
  const replies = await Promise.all(Array.from({ length: 8 }, () => rest.delete(`${APPS}/${id}?force=true`)));
  t.same(replies.map(({ status }) => status).sort(), [204, ...Array.from({ length: 7 }, () => 404)]);
});

t.test('clones', async (t) => {
  const app = await create({ contextPath: 'original', description: 'd' });
  const reply = await rest.request('POST', `${APPS}/${app.id}/clone`, {
    body: '',
    headers: { 'content-type': 'application/json' },
  });
  t.equal(reply.status, 201);
  t.match(reply.json, {
    key: `clone${app.key}`,
    name: `clone${app.name}`,
    contextPath: 'cloneoriginal',
    description: 'd',
    availability: 'PRIVATE',
  });
  t.equal(reply.headers.get('location'), reply.json.self);
  t.match((await rest.create(`${APPS}/${app.id}/clone`, '')).name, /^clone2/);
  t.equal((await rest.post(`${APPS}/${(await create({ type: 'MICROSERVICE' })).id}/clone`, '')).status, 422);
  t.equal((await rest.post(`${APPS}/999999/clone`, '')).status, 404);
  t.equal((await rest.post(`${APPS}/${app.id}/clone?version=1`, '')).status, 404);
});

t.test('applications of a tenant that is deleted are gone, and another of its id does not get them', async (t) => {
  const gone = await tenant('gone');
  const app = await create({ availability: 'MARKET' }, gone);
  await subscribe('acme', app.id);
  t.equal((await rest.get(`${APPS}/${app.id}`)).status, 200);
  t.equal((await management.delete('/tenant/tenants/gone')).status, 204);
  t.equal((await rest.get(`${APPS}/${app.id}`)).status, 404);
  t.notMatch(
    (await management.get('/tenant/tenants/acme/applications?pageSize=100')).text,
    app.name,
    'others are not subscribed any more',
  );
  const again = await tenant('gone', { domain: 'gone-again' });
  t.same((await again.read(APPS)).applications, []);
});
