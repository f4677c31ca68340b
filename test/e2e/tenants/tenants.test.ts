/** Tenants below tenants (docs/spec/tenants.md): fields and limits, who may do what, suspension, deletion, domains. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Reply } from '../../helpers/running/server.ts';

const server = await startServer(t, { isKilled: true });
const { rest, management } = server;
const ADMIN_PASS = 'Analytical-1';
const basics = (name: string): Record<string, unknown> => ({ company: `${name} Ltd.`, domain: name });
const withAdmin = (name: string): Record<string, unknown> => ({
  ...basics(name),
  adminName: 'ada',
  adminEmail: 'ada@example.com',
  adminPass: ADMIN_PASS,
});
const adminOf = (id: string, password = ADMIN_PASS, user = 'ada'): Rest =>
  new Rest(server.url, `${id}/${user}`, password);
const createTenant = (name: string, more: object = {}, by = management): Promise<any> =>
  by.create('/tenant/tenants', { ...withAdmin(name), id: name, ...more });

t.test('a tenant as it is created: every field comes back, the password does not', async (t) => {
  const sent = {
    ...withAdmin('acme'),
    id: 'acme',
    contactName: 'Ada L.',
    contactPhone: '+49 123',
    allowCreateTenants: true,
    storageLimitPerDevice: 1000,
    customProperties: { language: 'en', 'limit.http.requests': '100' },
  };
  const reply = await management.post('/tenant/tenants', sent);
  t.equal(reply.status, 201);
  const self = `${server.url}/tenant/tenants/acme`;
  t.equal(reply.headers.get('location'), self);
  const { adminPass: _, ...fields } = sent as Record<string, unknown>;
  t.match(reply.json, {
    ...fields,
    self,
    status: 'ACTIVE',
    parent: 'management',
    applications: { references: [] },
    ownedApplications: { references: [] },
  });
  t.match(reply.json.creationTime, /^\d{4}-\d\d-\d\dT.*Z$/);
  t.notMatch(reply.text, /adminPass|Analytical|isDomainOfTenant/);
  t.same(await management.read('/tenant/tenants/acme'), reply.json);
  const admin = adminOf('acme');
  const groups = await admin.read('/user/acme/groups?pageSize=100');
  t.ok(['admins', 'business', 'devices'].every((name) => groups.groups.some((group: any) => group.name === name)));
  const user = await admin.read('/user/currentUser');
  t.match(user, { userName: 'ada', email: 'ada@example.com' });
  t.ok(user.effectiveRoles.some(({ id }: any) => id === 'ROLE_USER_MANAGEMENT_ADMIN'));
  await admin.create('/inventory/managedObjects', { name: 'first' });
  t.match(await admin.read('/tenant/currentTenant'), {
    name: 'acme',
    domainName: 'acme',
    allowCreateTenants: true,
    customProperties: { language: 'en' },
  });
  t.equal((await admin.read('/tenant/currentTenant?withParent=true')).parent, 'management');
  for (const id of ['management', 't1'])
    t.match(
      (await management.read(`/tenant/tenants/${id}`)).creationTime,
      /^\d{4}-\d\d-\d\dT.*Z$/,
      `of the first start: ${id}`,
    );
});

t.test('an id is generated when there is none, of the form t<number>', async (t) => {
  const tenant = await management.create('/tenant/tenants', basics('generated'));
  t.match(tenant.id, /^t\d+$/);
  t.equal(tenant.adminName, 'admin', 'it has an administrator, who needs a password first');
  t.equal((await adminOf(tenant.id, '', 'admin').get('/user/currentUser')).status, 401);
  t.equal(
    (await management.put(`/tenant/tenants/${tenant.id}`, { adminPass: 'New-pass-1', adminEmail: 'new@example.com' }))
      .status,
    200,
  );
  t.match(await adminOf(tenant.id, 'New-pass-1', 'admin').read('/user/currentUser'), {
    userName: 'admin',
    email: 'new@example.com',
  });
});

/** Field, values that are taken, values that are not (docs/spec/tenants.md#fields). */
const FIELDS: [field: string, taken: unknown[], refused: unknown[]][] = [
  ['id', ['a', 'a'.repeat(32), 'a-1_b'], ['', 'a'.repeat(33), 'A', '1a', 'a b', 'a/b', 'a:b', 'ä', 7]],
  [
    'domain',
    ['ab', 'a1-b', 'a_b', 'a'.repeat(256)],
    ['', 'a', 'Ab', '1a', '-ab', 'ab-', 'a b', 'a/b', 'a..b', 'uu.dd', 'a'.repeat(257), 7],
  ],
  ['company', ['c', 'c'.repeat(256), 'Ä & Ö'], ['', 'c'.repeat(257), 7]],
  [
    'adminName',
    ['a', 'a'.repeat(50), 'ada@example.com'],
    ['', 'a'.repeat(51), 'a b', 'a/b', 'a\\b', 'a+b', 'a$b', 'a:b', 'a\tb', '..', '\ud800', 7],
  ],
  ['adminEmail', ['a@b', `${'a'.repeat(252)}@b`], [`${'a'.repeat(253)}@b`, 'nobody', '', 7]],
  ['adminPass', ['123456', 'p'.repeat(32)], ['12345', 'p'.repeat(33), '€uro-€uro', 7]],
  ['contactName', ['', 'c'.repeat(30)], ['c'.repeat(31), 7]],
  ['contactPhone', ['', '1'.repeat(20)], ['1'.repeat(21), 7]],
  ['allowCreateTenants', [true, false], ['true', 1]],
  ['storageLimitPerDevice', [0, 5_000_000_000], [-1, 1.5, '1']],
  ['sendPasswordResetEmail', [false], ['false', 0]],
  ['customProperties', [{}, { a: { b: [1] } }], ['x', [], 7]],
];
for (const [field, taken, refused] of FIELDS) {
  t.test(`values of ${field}`, async (t) => {
    const name = `f-${field.toLowerCase()}`;
    for (const value of refused) {
      const reply = await management.post('/tenant/tenants', { ...withAdmin(name), [field]: value });
      t.equal(reply.status, 422, `${JSON.stringify(value)}: ${reply.text}`);
    }
    for (const [index, value] of taken.entries()) {
      const own = field === 'domain' ? {} : { domain: `${name}-${index}x` };
      const reply = await management.post('/tenant/tenants', { ...withAdmin(name), ...own, [field]: value });
      t.equal(reply.status, 201, `${JSON.stringify(value)}: ${reply.text}`);
      if (!['adminPass', 'sendPasswordResetEmail'].includes(field)) t.same(reply.json[field], value);
    }
  });
}

t.test('what belongs together', async (t) => {
  const rows: [what: string, body: object, status: number, names?: string][] = [
    ['company and domain are required', {}, 422, 'company,domain'],
    ['company is required', { domain: 'w1-x' }, 422, 'company'],
    ['adminName alone', { ...basics('w2-x'), adminName: 'ada' }, 201],
    ['adminName with adminPass', { ...basics('w3-x'), adminName: 'ada', adminPass: ADMIN_PASS }, 201],
    ['a link wants an address', { ...basics('w7-x'), sendPasswordResetEmail: true }, 422, 'adminEmail'],
    [
      'with an address there is a link',
      { ...basics('w4-x'), adminName: 'ada', adminEmail: 'a@b.c', sendPasswordResetEmail: true },
      201,
    ],
    [
      'adminPassword is the other spelling',
      { ...basics('w5-x'), adminName: 'ada', adminEmail: 'a@b.c', adminPassword: ADMIN_PASS },
      201,
    ],
    ['company and domain alone', basics('w6-x'), 201],
  ];
  for (const [what, body, status, names] of rows) {
    const reply = await management.post('/tenant/tenants', body);
    t.equal(reply.status, status, `${what}: ${reply.text}`);
    if (names !== undefined) t.equal(reply.json.message, `Following mandatory fields should be included: ${names}`);
  }
});

t.test('an id or a domain is given once', async (t) => {
  await createTenant('once');
  const rows: [string, object][] = [
    ['id', { ...basics('once-b'), id: 'once' }],
    ['domain', basics('once')],
    ['the id of a predefined one', { ...basics('once-c'), id: 'management' }],
    ['a domain that is the id of another', basics('management')],
  ];
  for (const [what, body] of rows) {
    const reply = await management.post('/tenant/tenants', body);
    t.equal(reply.status, 409, what);
    t.equal(reply.json.error, 'tenants/Duplicate');
  }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => management.post('/tenant/tenants', basics('race'))),
  );
  t.same(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409], 'also at the same time');
  const ids = await Promise.all(
    Array.from({ length: 5 }, (_, index) => management.create('/tenant/tenants', basics(`race-${index}`))),
  );
  t.equal(new Set(ids.map(({ id }) => id)).size, 5);
});

t.test('a PUT changes what is sent', async (t) => {
  await createTenant('put', { contactName: 'Ada' });
  const change = (body: object): Promise<Reply> => management.put('/tenant/tenants/put', body);
  t.match((await change({ company: 'New', domain: 'put-new', contactPhone: '1', customProperties: { a: 1 } })).json, {
    company: 'New',
    domain: 'put-new',
    contactPhone: '1',
    contactName: 'Ada',
    customProperties: { a: 1 },
    adminName: 'ada',
  });
  t.notOk('contactPhone' in (await change({ contactPhone: null })).json, 'null removes');
  t.equal((await change({ id: 'other' })).status, 422, 'the id stays');
  t.equal((await change({ id: 'put' })).status, 200);
  t.equal((await change({ company: null })).status, 422);
  t.equal((await change({ domain: 'acme' })).status, 409);
  t.equal((await change({ domain: '-x' })).status, 422);
  t.equal((await change({ status: 'GONE' })).status, 422);
  t.equal((await change({ adminName: 'eve' })).json.adminName, 'ada', 'adminName has no effect');
  t.equal((await change({ parent: 'acme' })).json.parent, 'management');
  t.equal((await change({ adminPass: 'Another-1', adminEmail: 'a2@example.com' })).status, 200);
  t.equal((await adminOf('put').get('/user/currentUser')).status, 401, 'the old password is no more');
  t.equal((await adminOf('put', 'Another-1').read('/user/currentUser')).email, 'a2@example.com');
  t.equal((await management.put('/tenant/tenants/none', {})).status, 404);
});

t.test('a PUT that is refused changes nothing, and one that changes nothing is not in the audit log', async (t) => {
  await createTenant('refused');
  const admin = adminOf('refused');
  const path = '/tenant/tenants/refused';
  await admin.put('/tenant/options/password/strength.validity', { value: 'true' });
  const before = await management.read(path);
  const audits = async (): Promise<number> =>
    (await management.read('/audit/auditRecords?type=Tenant&pageSize=2000')).auditRecords.filter(
      ({ source }: any) => source?.id === 'refused',
    ).length;
  const count = await audits();
  t.equal(count, 1);
  t.equal((await management.put(path, { company: 'CHANGED', status: 'SUSPENDED', adminPass: 'weakpass' })).status, 422);
  t.same(await management.read(path), before);
  t.equal((await management.put(path, { adminEmail: null })).status, 200);
  t.notOk('adminEmail' in (await management.read(path)));
  t.notOk('email' in (await admin.read('/user/currentUser')), "it is the administrator's");
  t.equal((await management.put(path, { company: 'HALF', sendPasswordResetEmail: true })).status, 422);
  t.equal((await management.read(path)).company, before.company);
  t.equal(await audits(), count + 1);
  t.equal((await management.put(path, { company: before.company })).status, 200);
  t.equal(await audits(), count + 1);
  t.equal((await management.put(path, { company: 'Other' })).status, 200);
  const [latest] = (await management.read('/audit/auditRecords?type=Tenant&source=refused')).auditRecords;
  t.match(latest, {
    text: `Tenant updated: refused: company changed from ${before.company} to Other`,
    changes: [{ attribute: 'company', previousValue: before.company, newValue: 'Other' }],
  });
});

t.test('ids and domains name one tenant, whichever way', async (t) => {
  await createTenant('host-of', { domain: 'host-name' });
  const reply = await management.post('/tenant/tenants', { ...withAdmin('free-one'), id: 'host-name' });
  t.match(reply, { status: 409, json: { message: 'There is a tenant with the id host-name already' } });
  const { id } = await management.create('/tenant/tenants', basics('numbered'));
  const next = `t${Number(id.slice(1)) + 2}`;
  await createTenant('takes-next', { domain: next });
  t.equal((await management.create('/tenant/tenants', basics('numbered-too'))).id, `${next}1`, 'generated ones too');
});

t.test('many are created at once, and changed: none is in conflict', async (t) => {
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, index) => management.post('/tenant/tenants', basics(`at-once-${index}`))),
  );
  t.same(
    made.map(({ status }) => status),
    Array(12).fill(201),
  );
  const path = `/tenant/tenants/${made[0].json.id}`;
  const changed = await Promise.all(
    Array.from({ length: 12 }, (_, index) => management.put(path, { company: `c${index}` })),
  );
  t.same(
    changed.map(({ status }) => status),
    Array(12).fill(200),
  );
  for (const { json } of made) t.equal((await management.delete(`/tenant/tenants/${json.id}`)).status, 204);
});

t.test('the list: filters, pages, order', async (t) => {
  const all = await management.read('/tenant/tenants?pageSize=2000&withTotalElements=true');
  const ids = all.tenants.map(({ id }: any) => id);
  t.same(ids, [...ids].sort());
  t.equal(all.statistics.totalElements, ids.length);
  t.ok(ids.includes('acme') && ids.includes(TENANT));
  for (const [query, want] of [
    ['company=acme%20Ltd.', ['acme']],
    ['domain=acme', ['acme']],
    ['parent=acme', []],
    ['domain=none', []],
  ] as const) {
    t.same(
      (await management.read(`/tenant/tenants?${query}`)).tenants.map(({ id }: any) => id),
      want,
      query,
    );
  }
  t.notOk('applications' in (await management.read('/tenant/tenants?domain=acme&withApps=false')).tenants[0]);
  const page = await management.read('/tenant/tenants?pageSize=2&currentPage=2');
  t.same(
    page.tenants.map(({ id }: any) => id),
    ids.slice(2, 4),
  );
  t.ok(page.next && page.prev);
});

t.test('who may do what', async (t) => {
  // acme may create tenants; t1 may not.
  const acme = adminOf('acme');
  t.equal((await rest.post('/tenant/tenants', basics('by-t1'))).status, 403, 'without allowCreateTenants');
  const child = await createTenant('acme-child', {}, acme);
  t.equal(child.parent, 'acme');
  t.same(
    (await acme.read('/tenant/tenants')).tenants.map(({ id }: any) => id),
    ['acme-child'],
    'only the own ones',
  );
  const rows: [what: string, by: Rest, method: string, path: string, status: number][] = [
    ['a parent reads', acme, 'GET', '/tenant/tenants/acme-child', 200],
    ['the management tenant reads all', management, 'GET', '/tenant/tenants/acme-child', 200],
    ['the own one', acme, 'GET', '/tenant/tenants/acme', 200],
    ["somebody else's is not there", acme, 'GET', '/tenant/tenants/put', 404],
    ['nor one above', acme, 'GET', '/tenant/tenants/management', 404],
    ['a parent changes', acme, 'PUT', '/tenant/tenants/acme-child', 200],
    ['nobody changes himself', acme, 'PUT', '/tenant/tenants/acme', 403],
    ['nor others', acme, 'PUT', '/tenant/tenants/put', 404],
    ['only the management tenant deletes', acme, 'DELETE', '/tenant/tenants/acme-child', 403],
    ['not with tenants below', management, 'DELETE', '/tenant/tenants/acme', 409],
    ['not itself', management, 'DELETE', '/tenant/tenants/management', 422],
    ['nor the one of the configuration', management, 'DELETE', `/tenant/tenants/${TENANT}`, 422],
    ['nothing there', management, 'DELETE', '/tenant/tenants/none', 404],
  ];
  for (const [what, by, method, path, status] of rows) {
    t.equal(
      (await by.request(method, path, method === 'PUT' ? { body: { contactName: 'x' } } : {})).status,
      status,
      what,
    );
  }
  const nobody = await management.create('/user/management/users', { userName: 'nobody', password: ADMIN_PASS });
  t.ok(nobody);
  const other = new Rest(server.url, 'management/nobody', ADMIN_PASS);
  for (const [method, path] of [
    ['GET', '/tenant/tenants'],
    ['POST', '/tenant/tenants'],
    ['GET', '/tenant/tenants/acme'],
    ['PUT', '/tenant/tenants/acme'],
    ['DELETE', '/tenant/tenants/acme'],
    ['GET', '/tenant/tenants/acme/applications'],
    ['POST', '/tenant/tenants/acme/applications'],
    ['DELETE', '/tenant/tenants/acme/applications/1'],
    ['GET', '/tenant/tenants/acme/tfa'],
    ['PUT', '/tenant/tenants/acme/tfa'],
  ]) {
    t.equal(
      (await other.request(method, path, ['PUT', 'POST'].includes(method) ? { body: {} } : {})).status,
      403,
      `${method} ${path}`,
    );
  }
});

t.test('a role for tenants makes nobody the administrator of the management tenant', async (t) => {
  const path = '/tenant/tenants/management';
  await management.create('/user/management/users', {
    userName: 'clerk',
    password: ADMIN_PASS,
    roles: ['ROLE_TENANT_MANAGEMENT_UPDATE'],
  });
  const clerk = new Rest(server.url, 'management/clerk', ADMIN_PASS);
  const role = { role: { self: `${server.url}/user/roles/ROLE_TENANT_MANAGEMENT_UPDATE` } };
  t.ok((await management.post('/user/management/users/clerk/roles', role)).status < 300);
  for (const body of [
    { adminPass: 'Taken-over-1' },
    { adminPassword: 'Taken-over-1' },
    { adminEmail: 'clerk@example.com' },
    { sendPasswordResetEmail: true },
  ]) {
    t.equal((await clerk.put(path, body)).status, 403, JSON.stringify(body));
  }
  t.notMatch((await management.read(path)).adminEmail, 'clerk@example.com');
  t.equal((await clerk.put(path, { contactName: 'Ada' })).status, 200, 'what is not his stays open');
  t.equal(
    (await clerk.put('/tenant/tenants/acme', { adminEmail: 'ada@example.com' })).status,
    200,
    'and the administrators of tenants below',
  );
  t.equal(
    (await management.put(path, { adminEmail: 'root@example.com' })).status,
    200,
    'who has all rights of the administrator',
  );
  t.equal((await management.put(path, { adminEmail: null })).status, 200);
  t.equal((await management.get('/user/currentUser')).status, 200);
});

t.test('settings of two-factor authentication', async (t) => {
  t.match(await management.read('/tenant/tenants/acme/tfa'), { strategy: 'TOTP', enabledOnTenantLevel: false });
  const option = '/tenant/options/two-factor-authentication/strategy';
  for (const strategy of ['SMS', 'X']) {
    t.match(await management.put('/tenant/tenants/acme/tfa', { strategy }), {
      status: 422,
      json: { message: `The field strategy has the value "${strategy}"; it takes one of TOTP` },
    });
  }
  t.equal((await adminOf('acme').get(option)).status, 404, 'nothing was stored');
  t.equal((await management.put('/tenant/tenants/acme/tfa', { strategy: 'TOTP' })).json.strategy, 'TOTP');
  const changes = async (of: Rest): Promise<string[]> =>
    (await of.read('/audit/auditRecords?type=Option&pageSize=200')).auditRecords
      .map(({ text }: any) => text)
      .filter((text: string) => text === 'Option changed: two-factor-authentication/strategy');
  t.equal((await changes(management)).length, 1, 'in the log of who did it');
  await management.put(`${option}/editable?tenant=acme`, { editable: 'false' });
  for (const by of [adminOf('acme'), management]) {
    t.match(await by.put('/tenant/tenants/acme/tfa', { strategy: 'TOTP' }), {
      status: 403,
      json: { error: 'options/Forbidden' },
    });
  }
  t.equal((await adminOf('acme').put(option, { value: 'TOTP' })).status, 403, 'the mark is still there');
  await management.put(`${option}/editable?tenant=acme`, { editable: 'true' });
  t.equal((await adminOf('acme').put(option, { value: 'SMS' })).status, 200);
  t.equal((await adminOf('acme').read('/tenant/tenants/acme/tfa')).strategy, 'TOTP', 'an option sends no codes by SMS');
  t.equal((await adminOf('acme').put('/tenant/tenants/acme/tfa', { strategy: 'TOTP' })).status, 200);
  t.equal((await adminOf('acme').read(option)).value, 'TOTP');
  t.equal((await changes(adminOf('acme'))).length, 2);
});

t.test('the host name says the tenant when the user name does not', async (t) => {
  await createTenant('hosted', { domain: 'hosted-domain' });
  const authorization = (user: string): string => `Basic ${Buffer.from(`${user}:${ADMIN_PASS}`).toString('base64')}`;
  const current = async (user: string, host: string): Promise<[number, string?]> => {
    const reply = await rest.request('GET', '/tenant/currentTenant', {
      headers: { authorization: authorization(user), 'x-forwarded-host': host },
    });
    return [reply.status, reply.status === 200 ? reply.json.name : undefined];
  };
  const rows: [what: string, user: string, host: string, want: [number, string?]][] = [
    ['by the domain as subdomain', 'ada', 'hosted-domain.example.com', [200, 'hosted']],
    ['with the tenant id the host does not matter', 'hosted/ada', 'elsewhere.example.com', [200, 'hosted']],
    ['a tenant id as subdomain is refused', 'ada', 'hosted.example.com', [403, undefined]],
    ['but not with the tenant id before the name', 'hosted/ada', 'hosted.example.com', [200, 'hosted']],
    ['another host is the default tenant', 'ada', 'elsewhere.example.com', [401, undefined]],
  ];
  for (const [what, user, host, want] of rows) t.same(await current(user, host), want, what);
  await management.put('/tenant/tenants/hosted', { domain: 'moved' });
  t.same(await current('ada', 'moved.example.com'), [200, 'hosted'], 'a domain may change');
  t.same(await current('ada', 'hosted-domain.example.com'), [401, undefined]);
  await management.put('/tenant/tenants/hosted', { domain: 'hosted' });
  t.same(
    await current('ada', 'hosted.example.com'),
    [200, 'hosted'],
    'its own id as its domain: it is the domain that is called',
  );
  t.equal(
    (await management.post('/tenant/tenants', { ...withAdmin('hosted'), id: 'hosted-2' })).status,
    409,
    'nobody else gets it',
  );
  await management.put('/tenant/tenants/hosted', { domain: 'hosted-again' });
  t.same(await current('ada', 'hosted.example.com'), [403, undefined], 'no domain any more');
});

t.test('suspension ends all access at once, activation gives it back', async (t) => {
  await createTenant('paused');
  const admin = adminOf('paused');
  await admin.read('/user/currentUser');
  const device = await connectDevice(t, server, 'paused-1', { username: 'paused/ada', password: ADMIN_PASS });
  const closed = new Promise<void>((resolve) => {
    device.client.once('close', () => resolve());
  });
  const shake = await admin.post('/notification/realtime', [
    { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'] },
  ]);
  const { clientId } = shake.json[0];
  const connect = [{ channel: '/meta/connect', clientId, connectionType: 'long-polling' }];
  await admin.post('/notification/realtime', connect);
  const held = admin.post('/notification/realtime', connect);
  const token = (
    await admin.request('POST', '/tenant/oauth/token?tenant_id=paused', {
      body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'ada', password: ADMIN_PASS }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  ).json.access_token as string;
  const byToken = (): Promise<Response> =>
    fetch(`${server.url}/user/currentUser`, { headers: { authorization: `Bearer ${token}` } });
  t.equal((await byToken()).status, 200);

  const reply = await management.put('/tenant/tenants/paused', { status: 'SUSPENDED' });
  t.equal(reply.json.status, 'SUSPENDED');
  const told = { error: 'security/Unauthorized', message: 'The tenant paused is suspended' };
  const refused = await admin.get('/user/currentUser');
  t.match(refused, { status: 401, json: told }, 'passwords');
  t.match(refused.headers.get('www-authenticate'), /Basic/);
  const ofToken = await byToken();
  t.equal(ofToken.status, 401, 'tokens');
  t.match(await ofToken.json(), told);
  const logIn = (password: string): Promise<Reply> =>
    admin.request('POST', '/tenant/oauth/token?tenant_id=paused', {
      body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'ada', password }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  t.match(await logIn(ADMIN_PASS), { status: 401, json: told }, 'new tokens');
  const handshake = async (credentials: string): Promise<any> => {
    const ext = { 'com.cumulocity.authn': { token: credentials } };
    const reply = await fetch(`${server.url}/notification/realtime`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([
        { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'], ext },
      ]),
    });
    return ((await reply.json()) as any[])[0];
  };
  for (const credentials of [token, Buffer.from(`paused/ada:${ADMIN_PASS}`).toString('base64')]) {
    t.match(await handshake(credentials), { successful: false, error: `401::${told.message}` }, 'Bayeux');
  }
  const wrong = 'Invalid credentials! : Bad credentials';
  t.match(
    (await adminOf('paused', 'Guessed-12').get('/user/currentUser')).json,
    { message: wrong },
    'wrong passwords hear nothing of it',
  );
  t.match((await logIn('Guessed-12')).json, { message: wrong });
  t.match(await handshake(Buffer.from('paused/ada:Guessed-12').toString('base64')), { error: '401::Unauthorized' });
  const logout = await fetch(`${server.url}/user/logout`, {
    method: 'POST',
    headers: { cookie: `authorization=${token}; XSRF-TOKEN=x` },
  });
  t.equal(logout.status, 200, 'the page may forget its cookie');
  await closed;
  t.pass('MQTT connections');
  t.notMatch((await held).json[0], { successful: true }, 'long polls');
  await t.rejects(
    connectDevice(t, server, 'paused-1', { username: 'paused/ada', password: ADMIN_PASS }),
    'new MQTT connections',
  );

  t.equal((await management.put('/tenant/tenants/paused', { status: 'ACTIVE' })).status, 200);
  t.equal((await admin.get('/user/currentUser')).status, 200);
  await connectDevice(t, server, 'paused-1', { username: 'paused/ada', password: ADMIN_PASS });
  for (const id of ['management', TENANT])
    t.equal(
      (await management.put(`/tenant/tenants/${id}`, { status: 'SUSPENDED' })).status,
      422,
      `${id} cannot be suspended`,
    );
  const texts = (await management.read('/audit/auditRecords?pageSize=200')).auditRecords.map(({ text }: any) => text);
  for (const text of ['Tenant suspended: paused', 'Tenant activated: paused', 'Tenant created: paused'])
    t.ok(texts.includes(text), `in the audit log: ${text}`);
});

t.test('a suspended tenant mails no links and takes none', async (t) => {
  await createTenant('asleep');
  const reset = async (method: string, body: object, path = ''): Promise<Reply> =>
    management.request(
      method,
      `/user/passwordReset${path}?tenantId=asleep${path === '' ? '' : `&${new URLSearchParams({ ...body })}`}`,
      { headers: { authorization: '' }, ...(path === '' ? { body } : {}) },
    );
  const tokens = (): string[] =>
    server.complaints.flatMap((line) => /token=([\w-]+)[^"]*tenantId=asleep/.exec(line)?.[1] ?? []);
  const email = 'ada@example.com';
  t.equal((await reset('POST', { email })).status, 200);
  const [token] = await eventually('the link', () => tokens().length > 0 && tokens());
  t.equal((await reset('GET', { email, token }, '/validate')).status, 200);
  await management.put('/tenant/tenants/asleep', { status: 'SUSPENDED' });
  const validate = async (): Promise<number> => (await reset('GET', { email, token }, '/validate')).status;
  // Requests go to all nodes in turn, and others learn of it later.
  await eventually('every node knows', async () =>
    (await Promise.all(Array.from({ length: 6 }, validate))).every((status) => status === 422),
  );
  const unknown = await reset('PUT', { email: 'nobody@example.com', token, newPassword: 'Another-one-2' });
  const refused = await reset('PUT', { email, token, newPassword: 'Another-one-2' });
  t.match(refused, { status: 422, json: { error: 'users/Unprocessable Entity' } });
  t.equal(refused.text, unknown.text, 'as for an address that nobody has');
  t.equal((await reset('POST', { email })).status, 200);
  t.match(await server.metricsText(), /limit="users\/password-resets-suspended"\} [1-9]/);
  t.equal(tokens().length, 1, 'no other link');
  await management.put('/tenant/tenants/asleep', { status: 'ACTIVE' });
  t.equal((await adminOf('asleep').get('/user/currentUser')).status, 200, 'the password is as it was');
  t.equal((await adminOf('asleep', 'Another-one-2').get('/user/currentUser')).status, 401);
});

t.test('an id that a path under /user has already', async (t) => {
  for (const id of ['roles', 'inventoryroles', 'logout']) {
    t.match(
      await management.post('/tenant/tenants', { ...withAdmin(`with-${id}`), id }),
      { status: 422, json: { error: 'tenants/Invalid Data', message: /\/user\/.*inventoryroles, .*roles/ } },
      id,
    );
    t.equal((await management.get(`/tenant/tenants/${id}`)).status, 404);
  }
  await createTenant('roles2');
  t.equal((await adminOf('roles2').get('/user/roles2/users')).status, 200);
});

t.test('a deleted tenant is gone at once, its data a little later, and its id is free', async (t) => {
  await createTenant('doomed');
  const admin = adminOf('doomed');
  const device = await admin.createDevice('d');
  const time = '2024-05-02T10:00:00.000Z';
  await admin.create('/event/events', { source: { id: device }, type: 'e', text: 't', time });
  await admin.create('/measurement/measurements', { source: { id: device }, type: 'm', time, f: { s: { value: 1 } } });
  t.equal((await management.delete('/tenant/tenants/doomed')).status, 204);
  t.equal((await admin.get('/user/currentUser')).status, 401);
  t.equal((await management.get('/tenant/tenants/doomed')).status, 404);
  t.equal((await management.delete('/tenant/tenants/doomed')).status, 404);
  await createTenant('doomed');
  t.same(
    (await admin.read('/inventory/managedObjects?pageSize=100')).managedObjects,
    [],
    'a tenant of the same id has nothing of it',
  );
  t.equal((await admin.get(`/inventory/managedObjects/${device}`)).status, 404);
});

t.test('kill -9 in the middle of a deletion: the next start finishes it', async (t) => {
  await createTenant('killed');
  const admin = adminOf('killed');
  for (let index = 0; index < 20; index += 1) await admin.createDevice(`d${index}`);
  const services: { tenant: string; name: string; password: string }[] = [];
  for (let index = 0; index < 12; index += 1) {
    const { id } = await admin.create('/application/applications', {
      key: `k${index}`,
      name: `of-killed-${index}`,
      type: 'MICROSERVICE',
      availability: 'MARKET',
    });
    await management.create(`/tenant/tenants/${TENANT}/applications`, { application: { id } });
    const bootstrap = await admin.read(`/application/applications/${id}/bootstrapUser`);
    services.push(
      ...(
        await adminOf('killed', bootstrap.password, bootstrap.name).read(
          '/application/currentApplication/subscriptions',
        )
      ).users,
    );
  }
  t.equal(services.filter(({ tenant }) => tenant === TENANT).length, 12);
  // The answer may not come any more.
  const answer = management.delete('/tenant/tenants/killed').then(
    ({ status }) => status,
    () => 0,
  );
  await eventually('the tenant is gone', async () => (await management.get('/tenant/tenants/killed')).status === 404);
  const removed = async (one: typeof server): Promise<number> =>
    Number(/^millrace_tenant_documents_removed_total (\d+)/m.exec(await one.metricsText())?.[1] ?? 0);
  // A server that is quick has begun with them by now.
  const removedBefore = await removed(server);
  await server.stop('SIGKILL');
  t.comment(`answered with ${await answer}, ${removedBefore} documents removed before`);
  const again = await startServer(t, { data: server.data, isKilled: true });
  const manager = new Rest(again.url, 'management/admin', MANAGEMENT_PASSWORD);
  t.equal((await manager.get('/tenant/tenants/killed')).status, 404);
  t.equal((await new Rest(again.url, `${TENANT}/admin`, PASSWORD).get('/user/currentUser')).status, 200);
  const loggedIn = (): Promise<number[]> =>
    Promise.all(
      services.map(
        async ({ tenant, name, password }) =>
          (await new Rest(again.url, `${tenant}/${name}`, password).get('/user/currentUser')).status,
      ),
    );
  await eventually(
    'its microservices log in nowhere',
    async () => {
      const statuses = await loggedIn();
      if (!statuses.every((status) => status === 401)) throw new Error(`answers ${statuses.join(' ')}`);
      return true;
    },
    60_000,
  );
  t.notMatch((await manager.get(`/tenant/tenants/${TENANT}/applications?pageSize=100`)).text, /of-killed-/);
  await eventually('what it had is removed', async () => removedBefore + (await removed(again)) > 20, 60_000);
});
