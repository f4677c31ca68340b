/**
 * Tenant options and system options (docs/spec/options.md), CORS by the option of the tenant
 * (docs/spec/conventions.md#cross-origin-requests).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CLUSTER_NODES, PASSWORD, Rest, TENANT, notInCluster, startServer } from '../../helpers/running/server.ts';

const FILE_BYTES_MAX = 7_000_000;
const server = await startServer(t, { flags: ['--file-max-bytes', String(FILE_BYTES_MAX)] });
const { rest, management } = server;
const USER_PASSWORD = 'Analytical-1';
async function userWith(userName: string, roles: string[]): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, {
    userName,
    password: USER_PASSWORD,
    roles: { references: roles.map((id) => ({ role: { id } })) },
  });
  return new Rest(server.url, `${TENANT}/${userName}`, USER_PASSWORD);
}
const reader = await userWith('reader', ['ROLE_OPTION_MANAGEMENT_READ']);
const nobody = await userWith('nobody', []);
const OPTION = '/tenant/options/alarm.type.mapping/temp';

t.test('an option through its life', async (t) => {
  const reply = await rest.post('/tenant/options', { category: 'alarm.type.mapping', key: 'temp', value: 'MAJOR|hot' });
  t.equal(reply.status, 200);
  const option = { self: `${server.url}${OPTION}`, category: 'alarm.type.mapping', key: 'temp', value: 'MAJOR|hot' };
  t.same(reply.json, option);
  t.same(await rest.read(OPTION), option);
  t.equal(
    (await rest.post('/tenant/options', { ...option, value: 'MINOR' })).json.value,
    'MINOR',
    'an existing key: the value is replaced',
  );
  t.equal((await rest.put(OPTION, { value: 'WARNING' })).json.value, 'WARNING');
  t.same(await rest.read('/tenant/options/alarm.type.mapping'), { temp: 'WARNING' }, 'a category is a flat map');
  t.same(
    (await rest.put('/tenant/options/alarm.type.mapping', { humid: 'a', dry: 'b' })).json,
    { temp: 'WARNING', humid: 'a', dry: 'b' },
    'PUT merges keys',
  );
  t.equal((await rest.delete(OPTION)).status, 204);
  t.equal((await rest.get(OPTION)).status, 404);
  t.equal((await rest.delete(OPTION)).status, 404);
  t.equal((await rest.put(OPTION, { value: 'x' })).status, 200, 'PUT on a missing key creates it');
  t.same(await rest.read('/tenant/options/none'), {});
});

t.test('what is sent', async (t) => {
  const rows: [what: string, body: unknown, status: number, value?: string][] = [
    ['a text', 'x', 200, 'x'],
    ['an empty one', '', 200, ''],
    ['a number as text', 12.5, 200, '12.5'],
    ['a boolean as text', true, 200, 'true'],
    ['an object', {}, 422],
    ['null', null, 422],
    ['a list', [], 422],
    ['the longest', 'v'.repeat(65_536), 200, 'v'.repeat(65_536)],
    ['one more', 'v'.repeat(65_537), 422],
  ];
  for (const [what, value, status, want] of rows) {
    const reply = await rest.post('/tenant/options', { category: 'c', key: 'k', value } as object);
    t.equal(reply.status, status, what);
    if (want !== undefined) t.equal((await rest.read('/tenant/options/c/k')).value, want);
  }
  t.equal(
    (await rest.post('/tenant/options', {})).json.message,
    'Following mandatory fields should be included: category,key,value',
  );
  for (const body of [
    { category: '', key: 'k', value: '' },
    { category: 'c', key: '', value: '' },
    { category: 'c'.repeat(257), key: 'k', value: '' },
    { category: 'c', key: 'k'.repeat(257), value: '' },
    { category: 'a\nb', key: 'k', value: '' },
    { category: 'c', key: 1, value: '' },
  ]) {
    t.equal((await rest.post('/tenant/options', body)).status, 422, JSON.stringify(body).slice(0, 60));
  }
  for (const [category, key] of [
    ['ä/b c', 'k/%2F+'],
    ['__proto__', 'constructor'],
  ]) {
    await rest.post('/tenant/options', { category, key, value: 'x' });
    t.equal(
      (await rest.read(`/tenant/options/${encodeURIComponent(category)}/${encodeURIComponent(key)}`)).value,
      'x',
      `${category} ${key}`,
    );
  }
  t.same(
    JSON.parse((await rest.put('/tenant/options/odd', '{"__proto__":"x"}')).text),
    JSON.parse('{"__proto__":"x"}'),
  );
});

t.test('categories with predefined keys take no others; their defaults hold until something else is set', async (t) => {
  t.equal((await rest.post('/tenant/options', { category: 'access.control', key: 'other', value: 'x' })).status, 422);
  t.equal((await rest.put('/tenant/options/access.control', { 'allow.origin': '*', other: 'x' })).status, 422);
  t.equal((await rest.read('/tenant/options/access.control/allow.origin')).value, '*');
  t.same(await rest.read('/tenant/options/access.control'), { 'allow.origin': '*' });
  t.equal(
    (await rest.post('/tenant/options', { category: 'alarm.type.mapping', key: 'whatever', value: 'x' })).status,
    200,
    'alarm.type.mapping takes any',
  );
});

t.test('what the tenant has set itself, and what holds without it', async (t) => {
  const path = '/tenant/options/access.control/allow.origin';
  const status = async (evaluate: string, of = path): Promise<number> =>
    (await rest.get(`${of}?evaluate=${evaluate}`)).status;
  await rest.put(path, { value: 'https://example.com' });
  t.equal((await rest.read(`${path}?evaluate=current`)).value, 'https://example.com');
  t.equal((await rest.read(`${path}?evaluate=inherited`)).value, '*');
  t.equal((await rest.read(path)).value, 'https://example.com');
  t.equal((await rest.delete(path)).status, 204);
  t.equal(await status('current'), 404);
  t.equal((await rest.read(`${path}?evaluate=inherited`)).value, '*');
  await rest.put('/tenant/options/plain/key', { value: 'x' });
  t.equal(await status('current', '/tenant/options/plain/key'), 200);
  t.equal(await status('inherited', '/tenant/options/plain/key'), 404, 'it has no default');
  t.match(await rest.get(`${path}?evaluate=other`), { status: 422, json: { message: /evaluate/ } });
});

t.test('the list', async (t) => {
  const all = await rest.read('/tenant/options?pageSize=2000&withTotalElements=true');
  const names = all.options.map(({ category, key }: any) => `${category}\n${key}`);
  t.same(names, [...names].sort());
  t.equal(all.statistics.totalElements, names.length);
  t.ok(names.includes('access.control\nallow.origin'));
  t.equal((await rest.read('/tenant/options?pageSize=2&currentPage=2')).options.length, 2);
  t.same(
    (await management.read('/tenant/options')).options.map(({ category }: any) => category),
    ['access.control'],
    'another tenant has its own',
  );
});

t.test('changes at once are all done: none is in conflict', async (t) => {
  const path = '/tenant/options/at-once/k';
  const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => rest.put(path, { value: String(index) })));
  t.same(
    replies.map(({ status }) => status),
    Array(20).fill(200),
  );
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, index) => rest.put(`${path}${index}`, { value: 'v' })),
  );
  t.same(
    others.map(({ status }) => status),
    Array(20).fill(200),
  );
  t.equal(Object.keys(await rest.read('/tenant/options/at-once')).length, 21);
});

t.test('roles', async (t) => {
  const rows: [method: string, path: string, body: object | undefined, needs: 'READ' | 'ADMIN'][] = [
    ['GET', '/tenant/options', undefined, 'READ'],
    ['GET', '/tenant/options/c', undefined, 'READ'],
    ['GET', '/tenant/options/c/k', undefined, 'READ'],
    ['POST', '/tenant/options', { category: 'c', key: 'k', value: 'x' }, 'ADMIN'],
    ['PUT', '/tenant/options/c', { k: 'x' }, 'ADMIN'],
    ['PUT', '/tenant/options/c/k', { value: 'x' }, 'ADMIN'],
    ['DELETE', '/tenant/options/c/k', undefined, 'ADMIN'],
    ['PUT', '/tenant/options/c/k/editable', { editable: 'false' }, 'ADMIN'],
  ];
  for (const [method, path, body, needs] of rows) {
    const options = body === undefined ? {} : { body };
    t.equal((await nobody.request(method, path, options)).status, 403, `${method} ${path}`);
    t.equal(
      (await reader.request(method, path, options)).status,
      needs === 'READ' ? 200 : 403,
      `${method} ${path} with READ`,
    );
  }
});

t.test('non-editable options', async (t) => {
  await rest.post('/tenant/options', { category: 'fixed', key: 'a', value: '1' });
  t.equal(
    (await rest.put('/tenant/options/fixed/a/editable', { editable: 'false' })).status,
    403,
    'only the management tenant decides',
  );
  const path = '/tenant/options/fixed/a';
  t.equal((await management.put(`${path}/editable?tenant=none`, { editable: 'false' })).status, 404);
  t.equal((await management.put(`${path}/editable`, { editable: 'maybe' })).status, 422);
  for (const [scope, where] of [
    ['of one tenant', `?tenant=${TENANT}`],
    ['of all tenants', ''],
  ]) {
    t.match((await management.put(`${path}/editable${where}`, { editable: 'false' })).json, {
      category: 'fixed',
      key: 'a',
      editable: false,
    });
    for (const [method, target, body] of [
      ['PUT', path, { value: '2' }],
      ['DELETE', path, undefined],
      ['POST', '/tenant/options', { category: 'fixed', key: 'a', value: '2' }],
      ['PUT', '/tenant/options/fixed', { b: '1', a: '2' }],
    ] as [string, string, object | undefined][]) {
      const reply = await rest.request(method, target, body === undefined ? {} : { body });
      t.equal(reply.status, 403, `${scope}: ${method} ${target}`);
    }
    t.same(await rest.read('/tenant/options/fixed'), { a: '1' }, 'nothing was changed');
    t.equal((await management.put(`${path}/editable${where}`, { editable: true })).status, 200);
    t.equal((await rest.put(path, { value: '1' })).status, 200, `${scope}: editable again`);
  }
  const editable = async (of: Rest): Promise<number> =>
    (await of.read('/audit/auditRecords?type=Option&pageSize=200')).auditRecords.filter(({ text }: any) =>
      /editable: fixed\/a/.test(text),
    ).length;
  t.equal(await editable(management), 4, 'in the log of who did it');
  t.equal(await editable(rest), 0);
});

t.test('an option without a value can be marked too', async (t) => {
  const [origin, none] = ['/tenant/options/access.control/allow.origin', '/tenant/options/fixed/none'];
  for (const path of [origin, none]) {
    const before = await rest.get(path);
    const mark = (editable: boolean, where = `?tenant=${TENANT}`): Promise<any> =>
      management.put(`${path}/editable${where}`, { editable });
    t.match(await mark(false), { status: 200, json: { editable: false } });
    t.equal((await rest.put(path, { value: 'x' })).status, 403);
    t.equal((await rest.delete(path)).status, 403);
    const after = await rest.get(path);
    t.same([after.status, after.json?.value], [before.status, before.json?.value], 'the mark is no value');
    t.same((await rest.read('/tenant/options/fixed')).none, undefined);
    t.match(await mark(true), { status: 200, json: { editable: true } });
    t.equal((await rest.put(path, { value: 'x' })).status, 200);
    t.equal((await rest.delete(path)).status, 204);
  }
  t.same(await rest.read('/tenant/options/access.control'), { 'allow.origin': '*' });
  const unknown = await management.put(`/tenant/options/access.control/other/editable?tenant=${TENANT}`, {
    editable: 'false',
  });
  t.match(unknown, {
    status: 422,
    json: { message: 'The category access.control has no key other; it takes allow.origin' },
  });
});

t.test('a mark on an exact alarm type does not hide the mapping of its prefix', async (t) => {
  await rest.put('/tenant/options/alarm.type.mapping', { 'marked*': 'CRITICAL' });
  await management.put(`/tenant/options/alarm.type.mapping/marked_one/editable?tenant=${TENANT}`, {
    editable: 'false',
  });
  const { id } = await rest.create('/inventory/managedObjects', { c8y_IsDevice: {} });
  const alarm = await rest.create('/alarm/alarms', {
    source: { id },
    type: 'marked_one',
    text: 't',
    severity: 'MINOR',
    time: '2026-01-01T00:00:00Z',
  });
  t.equal(alarm.severity, 'CRITICAL');
});

t.test('the audit log says what changed', async (t) => {
  await rest.put('/tenant/options/told', { plain: 'before', 'credentials.x': 'hidden-4711' });
  await rest.put('/tenant/options/told/plain', { value: 'after' });
  await rest.put('/tenant/options/told', { 'credentials.x': 'hidden-4712' });
  await rest.delete('/tenant/options/told/plain');
  const records = (await rest.read('/audit/auditRecords?type=Option&pageSize=200&revert=true')).auditRecords.filter(
    ({ text }: any) => text.includes('told/'),
  );
  t.same(
    records.map(({ text, changes }: any) => [text, changes]),
    [
      [
        'Option changed: told/plain, told/credentials.x',
        [
          { attribute: 'plain', type: 'String', changeType: 'ADDED', newValue: 'before' },
          { attribute: 'credentials.x', type: 'String', changeType: 'ADDED' },
        ],
      ],
      [
        'Option changed: told/plain',
        [{ attribute: 'plain', type: 'String', changeType: 'REPLACED', previousValue: 'before', newValue: 'after' }],
      ],
      ['Option changed: told/credentials.x', [{ attribute: 'credentials.x', type: 'String', changeType: 'REPLACED' }]],
      [
        'Option deleted: told/plain',
        [{ attribute: 'plain', type: 'String', changeType: 'REMOVED', previousValue: 'after' }],
      ],
    ],
  );
});

t.test('secret values are encrypted at rest and masked for people', async (t) => {
  const secret = 'very-secret-value-4711';
  const reply = await rest.post('/tenant/options', {
    category: 'my-service',
    key: 'credentials.password',
    value: secret,
  });
  t.equal(reply.json.value, '<<Encrypted>>');
  t.equal((await rest.read('/tenant/options/my-service/credentials.password')).value, '<<Encrypted>>');
  t.same(await rest.read('/tenant/options/my-service'), { 'credentials.password': '<<Encrypted>>' });
  t.equal(
    (await rest.put('/tenant/options/my-service', { 'credentials.password': '<<Encrypted>>', plain: 'p' })).status,
    200,
    'the mask sent back changes nothing',
  );
  const token = (await fetch(`${server.url}/metrics`)).status;
  t.equal(token, 200);
  for (const file of CLUSTER_NODES > 0 ? [] : ['data.mdb', 'documents/data.mdb']) {
    const path = join(server.data, file);
    try {
      t.notOk(readFileSync(path).includes(secret), `not in ${file}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  await t.test(
    'the files of the data directory',
    { skip: notInCluster('a node of a cluster has neither documents nor a key in its directory') },
    async (t) =>
      t.match(JSON.parse(readFileSync(join(server.data, 'secrets.json'), 'utf8')), { 'secret-key': /.{40,}/ }),
  );
  t.notMatch((await rest.get('/audit/auditRecords?pageSize=200')).text, secret);
});

const cors = async (
  origin: string,
  options: { method?: string; host?: string; user?: string } = {},
): Promise<[number, string | null]> => {
  const { method = 'GET', host, user = `${TENANT}/admin:${PASSWORD}` } = options;
  const response = await fetch(`${server.url}/tenant/currentTenant`, {
    method,
    headers: {
      origin,
      ...(method === 'OPTIONS'
        ? { 'access-control-request-method': 'POST' }
        : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
      ...(host === undefined ? {} : { 'x-forwarded-host': host }),
    },
  });
  await response.text();
  return [response.status, response.headers.get('access-control-allow-origin')];
};

t.test('CORS follows the option access.control/allow.origin of the tenant, at once', async (t) => {
  t.same(await cors('https://a.example.com'), [200, '*'], 'everybody by default');
  await rest.put('/tenant/options/access.control/allow.origin', {
    value: 'https://app.example.org, https://*.example.com',
  });
  const rows: [string, string | null][] = [
    ['https://a.example.com', 'https://a.example.com'],
    ['https://app.example.org', 'https://app.example.org'],
    ['https://example.com', null],
    ['https://evil.org', null],
    ['https://a.example.com.evil.org', null],
  ];
  for (const [origin, want] of rows) {
    t.same(await cors(origin), [200, want], origin);
    t.same(
      await cors(origin, { method: 'OPTIONS' }),
      [204, want],
      `preflight of ${origin}: the default tenant, nobody has logged in`,
    );
  }
  t.same(
    await cors('https://evil.org', { user: 'management/admin:mill-Race-8' }),
    [200, '*'],
    'another tenant has its own',
  );
  await management.create('/tenant/tenants', {
    company: 'c',
    domain: 'corsdomain',
    adminName: 'a',
    adminEmail: 'a@b.c',
    adminPass: USER_PASSWORD,
  });
  t.same(
    await cors('https://evil.org', { method: 'OPTIONS', host: 'corsdomain.example.com' }),
    [204, '*'],
    'preflight: the tenant of the host',
  );
  const preflight = await fetch(`${server.url}/inventory/managedObjects`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example.com' },
  });
  t.match(Object.fromEntries(preflight.headers), {
    'access-control-allow-credentials': 'true',
    'access-control-max-age': '86400',
    vary: 'Origin',
    'access-control-allow-methods': /GET, POST, PUT, DELETE, OPTIONS, HEAD/,
    'access-control-allow-headers': /Authorization.*UseXBasic.*X-XSRF-TOKEN.*Content-Range/,
  });
  for (const value of ['a.example,'.repeat(101), `https://${'*a'.repeat(200)}`]) {
    t.match(await rest.put('/tenant/options/access.control/allow.origin', { value }), {
      status: 422,
      json: { message: /at most 100 entries/ },
    });
  }
  await rest.delete('/tenant/options/access.control/allow.origin');
  t.same(await cors('https://evil.org'), [200, '*'], 'the default again');
});

/** docs/spec/options.md#system-options: category, keys, secured. */
const SYSTEM: [category: string, keys: string[], isSecured: boolean][] = [
  ['password', ['green.min-length'], true],
  ['two-factor-authentication', ['pin.validity', 'token.length', 'token.validity'], true],
  ['authentication', ['badRequestCounter'], true],
  [
    'files',
    [
      'microservice.zipped.max.size',
      'microservice.unzipped.max.size',
      'webapp.zipped.max.size',
      'webapp.unzipped.max.size',
    ],
    true,
  ],
  ['system', ['version'], false],
  ['files', ['max.size'], false],
  ['password', ['limit.validity', 'enforce.strength'], false],
  [
    'two-factor-authentication',
    [
      'enforced',
      'strategy',
      'pin.length',
      'enabled',
      'enforced.group',
      'tenant-scope-settings.enabled',
      'logout-on-browser-termination',
    ],
    false,
  ],
  ['reportMailer', ['available'], false],
  ['plugin', ['eventprocessing.enabled'], false],
  ['connectivity', ['microservice.url'], false],
  ['support-user', ['enabled'], false],
  ['ssl', ['shared-truststore.enabled'], false],
  ['support', ['url'], false],
  ['messaging', ['provider'], false],
  ['trackers', ['supported.models'], false],
  ['encoding', ['test'], false],
  ['console', ['map.tiles', 'time.zone'], false],
  ['data-broker', ['bootstrap.period'], false],
  ['device-control', ['bulkoperation.creationramp'], false],
  ['gainsight', ['api.key'], false],
  ['cep', ['deprecation.alarm'], false],
  ['remoteaccess', ['pass-through.enabled'], false],
  ['device-registration', ['security-token.policy'], false],
];
t.test('system options; secured ones need the role', async (t) => {
  const listed = async (of: Rest): Promise<string[]> =>
    (await of.read('/tenant/system/options')).options.map(({ category, key }: any) => `${category}/${key}`);
  const [all, some] = [await listed(rest), await listed(nobody)];
  for (const [category, keys, isSecured] of SYSTEM) {
    for (const key of keys) {
      const path = `/tenant/system/options/${category}/${key}`;
      t.match(await rest.read(path), { category, key, value: String, self: `${server.url}${path}` });
      t.equal((await nobody.get(path)).status, isSecured ? 403 : 200, path);
      t.ok(all.includes(`${category}/${key}`));
      t.equal(some.includes(`${category}/${key}`), !isSecured);
      t.equal(key in (await nobody.read(`/tenant/system/options/${category}`)), !isSecured);
    }
  }
  t.match(await rest.read('/tenant/system/options/system/version'), { value: /^1017\.\d+\.\d+$/ });
  t.equal(
    (await rest.read('/tenant/system/options/files/max.size')).value,
    String(FILE_BYTES_MAX),
    "the server's setting",
  );
  t.equal((await rest.read('/tenant/system/options/files'))['max.size'], String(FILE_BYTES_MAX));
  t.equal((await rest.get('/tenant/system/options/system/none')).status, 404);
  t.equal((await rest.get('/tenant/system/options/constructor/name')).status, 404);
  t.same(await rest.read('/tenant/system/options/none'), {});
});
