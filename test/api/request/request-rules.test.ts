import t from 'tap';
import { apiRoutes } from '../../../src/api/routes.ts';
import { TrustedProxies } from '../../../src/config/trusted-proxies.ts';
import { ADMIN, DEVICE, basic, startApi } from '../helpers/api.ts';
import { rawRequest } from '../helpers/raw-http.ts';

const ERROR_TYPE = 'application/vnd.com.nsn.platform.error+json;charset=UTF-8;ver=0.9';
const BRANDED = 'application/vnd.com.nsn.cumulocity.';

t.test('credentials', async (t) => {
  const api = await startApi(t);
  const call = (headers: Record<string, string | undefined>, path = '/user/currentUser'): ReturnType<typeof api.call> =>
    api.call('GET', path, { headers });
  const none = await call({ authorization: undefined });
  t.equal(none.status, 401);
  t.match(none.json, { error: 'general/internalError', message: 'No auth information found', info: /^http:/ });
  t.equal(none.headers.get('content-type'), ERROR_TYPE);
  t.equal(none.headers.get('www-authenticate'), 'Basic realm="Millrace"');
  t.match((await call({ authorization: undefined, usexbasic: 'true' })).headers.get('www-authenticate'), /^XBasic/);
  for (const authorization of [basic('t1/admin', 'wrong'), basic('t2/admin'), basic('nobody'), 'Bearer x', 'Basic ?']) {
    const wrong = await call({ authorization, usexbasic: 'true' });
    t.equal(wrong.status, 401, authorization);
    t.match(wrong.json, { error: 'security/Unauthorized', message: 'Invalid credentials! : Bad credentials' });
    t.match(wrong.headers.get('www-authenticate'), /^XBasic/);
  }
  t.equal((await call({ authorization: basic('admin') })).json.userName, 'admin', 'without tenant: the default one');
  t.equal(api.fake.loginPlace?.tenantNumber, undefined);
  t.equal(
    (await call({ authorization: basic('admin'), 'x-forwarded-host': 'acme.example.com' })).json.userName,
    'admin',
  );
  t.equal(api.fake.loginPlace?.tenantNumber, 2, 'the one whose domain was called');
  t.equal(
    (await call({ authorization: basic('admin'), 'x-forwarded-host': 't1.example.com' })).status,
    403,
    'the id of a tenant is no domain',
  );
  for (const host of ['ACME.example.com:8443', 'acme.example.com.']) {
    await call({ authorization: basic('admin'), 'x-forwarded-host': host });
    t.equal(api.fake.loginPlace?.tenantNumber, 2, host);
  }
  // A domain means its tenant as the full name below the configured suffix, nowhere else.
  for (const host of [
    'acme.other.example',
    'acme',
    'www.acme.example.com',
    'acme.example.com.evil.org',
    'acme-example.com',
    'example.com',
    '.example.com',
    't1.other.example',
  ]) {
    t.equal((await call({ authorization: basic('admin'), 'x-forwarded-host': host })).status, 200, host);
    t.equal(api.fake.loginPlace?.tenantNumber, undefined, host);
  }
  const unproxied = await startApi(t, { config: { trustedProxies: undefined } });
  t.equal(
    (
      await unproxied.call('GET', '/tenant/currentTenant', {
        headers: { authorization: basic('admin'), 'x-forwarded-host': 't1.example.com' },
      })
    ).status,
    200,
    'what a proxy tells counts only where it is set so',
  );
  t.equal((await call({ authorization: undefined }, '/nowhere')).status, 401, 'also where nothing is');
  for (const path of ['/health', '/health/ready', '/metrics', '/openapi', '/openapi.json', '/tenant/loginOptions']) {
    t.equal((await call({ authorization: undefined, accept: undefined }, path)).status, 200, path);
  }
});

t.test(
  'a login counts for the last address of X-Forwarded-For or Forwarded, in however many lines they come',
  async (t) => {
    const api = await startApi(t);
    api.fake.put(
      'user',
      'admin',
      JSON.stringify({ userName: 'admin', password: 'x', roles: [], enabled: true, doc: '{}' }),
    );
    const basicOf = { authorization: ADMIN, 'content-type': 'application/json' };
    const put = { newPassword: 'Analytical-1', currentUserPassword: 'wrong' };
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [name, invented, seen] of [
      ['x-forwarded-for', '203.0.113.9', '198.51.100.7'],
      ['forwarded', 'for=203.0.113.9', 'for=198.51.100.7'],
    ]) {
      const told = { [name]: [invented, seen] };
      const address = (): string | undefined => api.fake.loginPlace?.caller?.address.key;
      const authorization = basic('t1/admin', `guess-${name}`);
      await rawRequest(api.port, 'GET', '/tenant/currentTenant', { authorization, ...told });
      t.equal(address(), '198.51.100.7', `${name} of a request`);
      api.fake.loginPlace = undefined;
      await rawRequest(
        api.port,
        'POST',
        '/tenant/oauth/token?tenant_id=t1',
        { ...form, ...told },
        'grant_type=PASSWORD&username=admin&password=x',
      );
      t.equal(address(), '198.51.100.7', `${name} of a login`);
      for (const path of ['/user/currentUser/password', '/user/t1/users/admin/password']) {
        await rawRequest(api.port, 'PUT', path, { ...basicOf, ...told }, JSON.stringify(put));
        t.equal(api.fake.confirmedFrom.pop(), '198.51.100.7', `${name} with a current password, ${path}`);
      }
    }
  },
);

t.test("of connections that are not a trusted proxy's all that proxies tell is ignored", async (t) => {
  const told = {
    authorization: basic('t1/admin', 'guess'),
    'x-forwarded-for': ['203.0.113.9', '198.51.100.7', '192.0.2.1'],
    'x-forwarded-host': 't9.example.com',
  };
  for (const [setting, address, host] of [
    ['127.0.0.0/8,192.0.2.1', '198.51.100.7', 't9.example.com'],
    ['10.0.0.0/8', '127.0.0.1', undefined],
    ['2', '198.51.100.7', 't9.example.com'],
  ] as const) {
    const api = await startApi(t, { config: { trustedProxies: new TrustedProxies(setting) } });
    await rawRequest(api.port, 'GET', '/tenant/currentTenant', told);
    t.equal(api.fake.loginPlace?.caller?.address.key, address, setting);
    const called = JSON.parse(
      (await rawRequest(api.port, 'GET', '/tenant/loginOptions', { 'x-forwarded-host': 't9.example.com' })).text,
    ).self as string;
    t.equal(called.includes('t9.example.com'), host !== undefined, called);
  }
});

t.test('credentials are remembered until users change', async (t) => {
  const api = await startApi(t);
  for (let count = 0; count < 5; count += 1) await api.call('GET', '/tenant/currentTenant');
  t.equal(api.fake.authenticated, 1);
  api.fake.users.get('t1/admin')!.password = 'changed';
  api.fake.generation += 1;
  t.equal((await api.call('GET', '/tenant/currentTenant')).status, 401);
  const body = { name: 'x'.repeat(5000) };
  t.equal(
    (
      await api.call('POST', '/inventory/managedObjects', {
        body,
        headers: { authorization: basic('t1/admin', 'changed') },
      })
    ).status,
    201,
    'the body that came during the check is not lost',
  );
});

t.test('roles and owners', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', {}, 'admin');
  api.fake.addManagedObject('2', {}, 'device_1');
  const as = (method: string, path: string, body?: object): Promise<number> =>
    api
      .call(method, path, { ...(body === undefined ? {} : { body }), headers: { authorization: DEVICE } })
      .then((reply) => reply.status);
  const event = (id: string): object => ({ source: { id }, type: 'a', text: 'b', time: '2024-05-02T10:00:00.000Z' });
  t.equal(await as('POST', '/event/events', event('1')), 403);
  t.equal(await as('POST', '/event/events', event('2')), 201);
  t.equal(await as('POST', '/event/events', event('3')), 422, 'an unknown source is told as such');
  t.equal(await as('GET', '/inventory/managedObjects/1'), 403);
  t.equal(await as('GET', '/inventory/managedObjects/2'), 200);
  t.equal(await as('PUT', '/inventory/managedObjects/2', { owner: 'device_9', a: 1 }), 200);
  t.equal((api.fake.sent.at(-1)?.body as { mayChangeOwner: boolean }).mayChangeOwner, false);
  t.equal(await as('DELETE', '/inventory/managedObjects/1'), 403);
  t.equal(await as('POST', '/inventory/managedObjects', {}), 403);
  api.fake.addUser('creator', ['ROLE_INVENTORY_CREATE']);
  for (const [user, owner] of [
    ['admin', 'other'],
    ['creator', 'creator'],
  ]) {
    t.equal(
      (
        await api.call('POST', '/inventory/managedObjects', {
          body: { owner: 'other' },
          headers: { authorization: basic(user) },
        })
      ).status,
      201,
    );
    t.match(api.fake.sent.at(-1)?.body, { owner }, `created by ${user}`);
  }
  t.equal(await as('DELETE', '/event/events?source=2'), 403, 'collections need the role');
  t.equal(await as('GET', '/event'), 403);
  t.equal(await as('GET', '/measurement'), 200);
  t.equal(await as('GET', '/event/events'), 200, 'a list holds what he owns');
  t.match(
    api.fake.asked.at(-1)?.sql,
    /source IN \(SELECT id FROM managed_objects FINAL WHERE tenant = \{tenant:UInt32\} AND owner = /,
  );
  t.ok(Object.values(api.fake.asked.at(-1)?.params ?? {}).includes('device_1'));
  t.equal(await as('GET', '/user/t1/users'), 403);
});

t.test('who keeps a device available', async (t) => {
  const api = await startApi(t);
  const roles = ['ROLE_EVENT_ADMIN', 'ROLE_ALARM_ADMIN', 'ROLE_INVENTORY_ADMIN'];
  for (const user of ['operator', 'owner', 'device_8']) api.fake.addUser(user, roles);
  api.fake.addManagedObject('7', {}, 'owner');
  const entity = { source: { id: '7' }, type: 'a', text: 'b', severity: 'MINOR', time: '2024-05-02T10:00:00.000Z' };
  const messages: [method: string, path: string, body: object][] = [
    ['POST', '/event/events', entity],
    ['POST', '/alarm/alarms', entity],
    ['PUT', '/inventory/managedObjects/7', { a: 1 }],
    ['PUT', '/inventory/managedObjects/7', {}],
  ];
  const rows: [user: string, headers: Record<string, string>, isHeard: boolean][] = [
    ['owner', {}, true],
    ['device_8', {}, true],
    ['operator', {}, false],
    ['owner', { 'x-platform-application-key': 'a' }, false],
  ];
  for (const [user, headers, isHeard] of rows) {
    for (const [method, path, body] of messages) {
      api.fake.heard.length = 0;
      t.ok(
        (await api.call(method, path, { body, headers: { authorization: basic(`t1/${user}`), ...headers } })).status <
          300,
      );
      t.same(
        api.fake.heard.map(([, device]) => device),
        isHeard ? [7] : [],
        `${user} ${method} ${path}`,
      );
    }
  }
  api.fake.heard.length = 0;
  for (const path of ['/event/events', '/alarm/alarms']) {
    const body = { ...entity, source: { id: '9' } };
    t.equal((await api.call('POST', path, { body, headers: { authorization: basic('t1/device_8') } })).status, 422);
  }
  t.same(api.fake.heard, [], 'nobody is heard by what is refused: 9 may be a device of another tenant');
});

t.test('reserved keys have one type in all entities, and null leaves out or removes what is optional', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { com_platform_model_Agent: {} });
  const time = '2024-05-02T10:00:00.000Z';
  const bodies: Record<string, object> = {
    '/event/events': { source: { id: '1' }, type: 'a', text: 'b', time },
    '/alarm/alarms': { source: { id: '1' }, type: 'a', text: 'b', time, severity: 'MAJOR' },
    '/devicecontrol/operations': { deviceId: '1', c8y_Restart: {} },
    '/audit/auditRecords': { source: { id: '1' }, type: 'Inventory', text: 'b', time, activity: 'c' },
    '/inventory/managedObjects': {},
    '/inventory/managedObjects/1/childDevices': { c8y_IsDevice: {} },
  };
  const wrong: [string, unknown][] = [
    ['id', {}],
    ['self', 1],
    ['source', 5.5],
    ['type', 1],
    ['time', 5],
    ['text', {}],
    ['status', { a: 1 }],
    ['severity', []],
    ['count', 'x'],
    ['creationTime', 1],
    ['lastUpdated', true],
    ['owner', {}],
    ['name', 5],
  ];
  for (const [path, body] of Object.entries(bodies)) {
    for (const [name, value] of wrong) {
      const reply = await api.call('POST', path, { body: { ...body, [name]: value } });
      t.match(reply, { status: 422, json: { message: new RegExp(name) } }, `${path} ${name}`);
    }
  }
  t.strictSame(api.fake.sent, [], 'nothing of it was taken');
  const nulls = {
    status: null,
    description: null,
    user: null,
    application: null,
    name: null,
    count: null,
    severity: null,
  };
  for (const [path, body] of Object.entries(bodies)) {
    // The platform of this test writes no audit records: test/e2e/audits/audits.test.ts posts them.
    if (path !== '/audit/auditRecords')
      t.equal((await api.call('POST', path, { body: { ...nulls, ...body } })).status, 201, path);
    t.match(
      await api.call('POST', path, { body: { ...body, deviceId: null, source: null, text: null } }),
      path.startsWith('/inventory')
        ? { status: 201 }
        : { status: 422, json: { message: /^Following mandatory fields should be included: / } },
      'mandatory members are not left out',
    );
  }
  const post = async (path: string, body: object): Promise<string> => (await api.call('POST', path, { body })).json.id;
  const operation = `/devicecontrol/operations/${await post('/devicecontrol/operations', { ...bodies['/devicecontrol/operations'], description: 'd' })}`;
  t.match(await api.call('PUT', operation, { body: { status: 'SUCCESSFUL', failureReason: null } }), {
    status: 200,
    json: { status: 'SUCCESSFUL', description: 'd' },
  });
  t.strictSame(
    (await api.call('PUT', operation, { body: { status: 'FAILED', description: null } })).json.description,
    undefined,
  );
  t.equal((await api.call('PUT', operation, { body: { status: null } })).status, 422);
  const alarm = `/alarm/alarms/${await post('/alarm/alarms', bodies['/alarm/alarms'])}`;
  for (const name of ['status', 'severity', 'text'])
    t.match(await api.call('PUT', alarm, { body: { [name]: null } }), {
      status: 422,
      json: { message: new RegExp(name) },
    });
});

t.test('Accept and Content-Type', async (t) => {
  const api = await startApi(t);
  const post = (headers: Record<string, string | undefined>): ReturnType<typeof api.call> =>
    api.call('POST', '/inventory/managedObjects', { body: { name: 'é' }, headers });
  // fetch always sends Accept; a raw request does not.
  const { request } = await import('node:http');
  const bare = await new Promise<{ status: number; text: string; location: string }>((resolve) => {
    const sent = request(
      `${api.url}/inventory/managedObjects`,
      { method: 'POST', headers: { authorization: ADMIN } },
      (response) => {
        let text = '';
        response
          .on('data', (data) => {
            text += String(data);
          })
          .on('end', () =>
            resolve({ status: response.statusCode ?? 0, text, location: response.headers.location ?? '' }),
          );
      },
    );
    sent.end('{"name":"x"}');
  });
  t.match(bare, { status: 201, text: '', location: /\/inventory\/managedObjects\/\d+$/ }, 'no Accept, no body');
  const { pathname } = new URL(bare.location);
  t.match(
    await rawRequest(api.port, 'PUT', pathname, { authorization: ADMIN }, '{"name":"y"}'),
    { status: 200, text: '' },
    'nor of a PUT',
  );
  t.match(
    await rawRequest(api.port, 'GET', pathname, { authorization: ADMIN }),
    { status: 200, text: /"name":"y"/ },
    'a GET has one',
  );
  const event = JSON.stringify({
    source: { id: pathname.split('/').pop() },
    type: 'a',
    text: 'b',
    time: '2024-05-02T10:00:00.000Z',
  });
  t.match(
    await rawRequest(api.port, 'POST', '/event/events', { authorization: ADMIN }, event),
    { status: 201, text: '' },
    'for each kind of entity',
  );
  t.equal(
    (await post({ accept: '*/*' })).headers.get('content-type'),
    'application/vnd.com.nsn.platform.managedObject+json;charset=UTF-8;ver=0.9',
  );
  t.equal(
    (
      await post({
        accept: `${BRANDED}managedobject+json;ver=0.9`,
        'content-type': `${BRANDED.toUpperCase()}MANAGEDOBJECT+JSON;charset=utf-8`,
      })
    ).headers.get('content-type'),
    `${BRANDED}managedObject+json;charset=UTF-8;ver=0.9`,
  );
  const json = await post({ accept: 'application/json' });
  t.equal(json.headers.get('content-type'), 'application/json;charset=UTF-8');
  t.equal(json.json.name, 'é');
  const before = api.fake.sent.length;
  t.match(await post({ accept: 'image/png' }), { status: 406, json: { message: /image\/png/ } });
  t.match(await post({ 'content-type': 'image/gif' }), {
    status: 415,
    json: { message: 'The media type image/gif is not taken here' },
  });
  t.equal((await post({ 'content-type': 'application/x-www-form-urlencoded' })).status, 415);
  t.equal((await post({ 'content-type': 'application/json;charset=utf-16' })).status, 415);
  t.equal(api.fake.sent.length, before, 'nothing was done');
  t.equal(
    (await post({ accept: `${BRANDED}x+json`, 'content-type': 'text/xml' })).headers.get('content-type'),
    `${BRANDED}error+json;charset=UTF-8;ver=0.9`,
    'errors are spelled the same way',
  );
});

t.test('bodies that are no JSON object', async (t) => {
  const api = await startApi(t);
  const status = async (body: string): Promise<number> =>
    (await api.call('POST', '/inventory/managedObjects', { body })).status;
  for (const body of ['[]', 'null', '1', '"a"']) t.equal(await status(body), 422, body);
  for (const body of ['', '{', '{"a":}', '{"a":1}x', '['.repeat(9000), `{"a":${'['.repeat(300)}${']'.repeat(300)}}`]) {
    t.equal(await status(body), 400, body.slice(0, 20));
  }
  const invalid = await fetch(`${api.url}/inventory/managedObjects`, {
    method: 'POST',
    headers: { authorization: ADMIN },
    body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  });
  t.equal(invalid.status, 400, 'invalid UTF-8');
  for (const body of ['{"__proto__":{"a":1},"constructor":1}', '{"a":"\\ud800","n":1e999,"o":{}}'])
    t.equal(await status(body), 201, body);
  t.equal(await status('{"name":1}'), 422);
  t.equal(await status('{"a.b":1}'), 422);
  t.equal(await status('{"":1}'), 422);
  t.equal(await status('{"$a":1}'), 422);
});

t.test('an array where an object is expected, on every route', async (t) => {
  const api = await startApi(t);
  const answers = await Promise.all(
    apiRoutes()
      .filter(
        ({ body, path }) =>
          body !== undefined && (body.form ?? 'json') === 'json' && path !== '/devicecontrol/deviceCredentials',
      )
      .map(async ({ method, path }) => {
        const { status, json } = await api.call(method, path.replaceAll(/\{[^}]+\}/g, '1'), { body: '[]' });
        // Those that tell errors as a list know no 422.
        const isTold = status === 400 && Array.isArray(json.errors) && json.errors.length > 0;
        return `${method} ${path} ${isTold ? '422 undefined/validationError' : `${status} ${json.error}`}`;
      }),
  );
  t.ok(answers.length > 60);
  t.same(
    answers.filter((answer) => !answer.endsWith(' 422 undefined/validationError')),
    [],
  );
});

t.test('processing mode, links behind a proxy, base URL', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1');
  const post = (headers: Record<string, string>): ReturnType<typeof api.call> =>
    api.call('POST', '/measurement/measurements', { body: { a: 1 }, headers });
  await post({ 'x-cumulocity-processing-mode': 'transient' });
  await post({ 'x-platform-processing-mode': 'QUIESCENT' });
  t.strictSame(
    api.fake.posted.map(({ mode }) => mode),
    [1, 2],
  );
  t.equal((await post({ 'x-platform-processing-mode': 'fast' })).status, 422);
  const proxied = await api.call('GET', '/inventory/managedObjects/1', {
    headers: { 'x-forwarded-host': 'iot.example', 'x-forwarded-proto': 'https' },
  });
  t.equal(proxied.json.self, 'https://iot.example/inventory/managedObjects/1');
  api.fake.config = { ...api.fake.config, baseUrl: 'https://configured.example/base' };
  t.equal(
    (await api.call('GET', '/inventory/managedObjects/1')).json.self,
    'https://configured.example/base/inventory/managedObjects/1',
  );
});

t.test('pages', async (t) => {
  const api = await startApi(t);
  for (let id = 1; id <= 5; id += 1) api.fake.put('event', String(id), `{"id":"${id}","source":{"id":"1"}}`);
  const keys = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ entityId: String(index + 1), at: 5 - index, seen: count, edge: 5 }));
  const list = async (query: string, ...answers: unknown[][]): Promise<any> => {
    api.fake.rows = answers;
    return (await api.call('GET', `/event/events${query}`)).json;
  };
  const full = await list('?type=a%20b&type=c&currentPage=2', keys(5));
  t.equal(full.self, `${api.url}/event/events?type=a%20b&type=c&pageSize=5&currentPage=2`);
  t.equal(full.next, `${api.url}/event/events?type=a%20b&type=c&pageSize=5&currentPage=3`);
  t.equal(full.prev, `${api.url}/event/events?type=a%20b&type=c&pageSize=5&currentPage=1`);
  t.strictSame(full.statistics, { currentPage: 2, pageSize: 5 });
  t.strictSame(
    full.events.map(({ id }: any) => id),
    ['1', '2', '3', '4', '5'],
  );
  t.strictSame(
    Object.values(api.fake.asked.at(-1)?.params ?? {}),
    [2, 'a b', 1010, 5, 5],
    'rows to read, then the page',
  );
  const first = await list('', keys(5));
  t.strictSame(
    [first.self, first.prev, first.events.length],
    [`${api.url}/event/events?pageSize=5&currentPage=1`, undefined, 5],
  );
  const last = await list('?pageSize=3&currentPage=3&withTotalPages=true&withTotalElements=true', keys(2));
  t.strictSame(
    last.statistics,
    { currentPage: 3, pageSize: 3, totalPages: 3, totalElements: 8 },
    'a page that is not full is its own count',
  );
  t.strictSame([last.next, last.events.length], [undefined, 2]);
  const exactly = await list('?pageSize=4&currentPage=2&withTotalPages=true', keys(4), [{ total: '8' }]);
  t.strictSame(
    [exactly.statistics.totalPages, exactly.next],
    [2, undefined],
    'a full page that is known to be the last',
  );
  t.match(
    (await list('?pageSize=4&currentPage=2&withTotalPages=true', keys(4), [{ total: '9' }])).next,
    /currentPage=3/,
  );
  await list('?pageSize=100000', []);
  t.strictSame(Object.values(api.fake.asked.at(-1)?.params ?? {}).slice(-2), [2000, 0], 'cut to the maximum');
  const asked = api.fake.asked.length;
  const none = await list('?pageSize=3&currentPage=null');
  t.strictSame(
    [none.events, none.next, none.prev, api.fake.asked.length],
    [[], undefined, undefined, asked],
    'a page that is not there is not looked for',
  );
  t.equal((await api.call('GET', '/event/events?pageSize=null')).status, 422);
  t.equal((await api.call('GET', '/event/events?pageSize=0')).status, 422);
  t.equal((await api.call('GET', '/event/events?dateFrom=yesterday')).status, 422);
});

t.test(
  'metrics, and what readiness tells beside the names of parts, are for users of the management tenant',
  async (t) => {
    const api = await startApi(t, { config: { hasOpenMetrics: undefined } });
    const add = (tenant: string, userName: string, roles: string[]): string => {
      api.fake.users.set(`${tenant}/${userName}`, {
        password: 'secret',
        principal: { tenant, tenantNumber: tenant === 't1' ? 2 : 1, userName, roles: new Set(roles) },
      });
      return basic(`${tenant}/${userName}`);
    };
    const operator = add('management', 'prometheus', ['ROLE_TENANT_MANAGEMENT_READ']);
    const rows: [authorization: string | undefined, metrics: number, isWhole: boolean][] = [
      [undefined, 401, false],
      [add('management', 'other', ['ROLE_INVENTORY_READ']), 403, false],
      [add('t1', 'reader', ['ROLE_TENANT_MANAGEMENT_ADMIN']), 403, false],
      [ADMIN, 403, false],
      [operator, 200, true],
    ];
    for (const [authorization, status, isWhole] of rows) {
      const ask = (path: string): ReturnType<typeof api.call> => api.call('GET', path, { headers: { authorization } });
      t.equal((await ask('/metrics')).status, status, authorization ?? 'without credentials');
      const ready = await ask('/health/ready');
      t.equal(ready.status, 200);
      t.same(ready.json, {
        status: 'UP',
        ready: true,
        parts: { journal: { ready: true, ...(isWhole ? { lag: 3 } : {}) } },
      });
    }
    t.equal(
      (await api.call('GET', '/health/ready', { headers: { authorization: basic('t1/admin', 'wrong') } })).status,
      401,
    );
  },
);

t.test('query parameters that a route does not know: counted, and each named once in the log', async (t) => {
  const logged: object[] = [];
  const counted: string[] = [];
  const nothing = (): void => {};
  const log = {
    ...{ debug: nothing, warn: nothing, error: nothing, isLevelEnabled: () => true, child: () => log },
    info: (details: object) => void logged.push(details),
  };
  const api = await startApi(t, { platform: { log, onUnknownParameter: (route) => void counted.push(route) } });
  const events = '/event/events';
  for (let turn = 0; turn < 2; turn += 1)
    t.equal((await api.call('GET', `${events}?source=1&withSourceFriends=true&nocache=1&_=2`)).status, 200);
  await api.call('GET', `${events}/7?fields=a`);
  await api.call('GET', '/tenant/loginOptions?fields=a', { headers: { authorization: undefined } });
  await api.call('GET', '/apps/shop/?colour=red');
  t.same(logged, [
    { route: `GET ${events}`, parameter: 'withSourceFriends', tenant: 't1' },
    { route: `GET ${events}/{id}`, parameter: 'fields', tenant: 't1' },
  ]);
  t.same(counted, [events, events, `${events}/{id}`]);
  const many = Array.from({ length: 30 }, (_, index) => `${'x'.repeat(70)}${index}=1&y${index}=1`).join('&');
  await api.call('GET', `${events}?${many}`);
  t.equal(logged.length, 21, '20 names of a route');
  t.equal(counted.length, 63);
  t.equal(Math.max(...logged.map((line) => (line as { parameter: string }).parameter.length)), 64);
});

t.test(
  'what changes all that its query selects refuses a parameter that it does not know, and changes nothing',
  async (t) => {
    const api = await startApi(t);
    for (const [method, path] of [
      ['DELETE', '/event/events'],
      ['DELETE', '/measurement/measurements'],
      ['DELETE', '/alarm/alarms'],
      ['DELETE', '/devicecontrol/operations'],
      ['DELETE', '/notification2/subscriptions'],
      ['PUT', '/alarm/alarms'],
    ]) {
      const body = method === 'PUT' ? { body: { status: 'CLEARED' } } : {};
      const reply = await api.call(method, `${path}?tpye=y`, body);
      t.match(reply, { status: 422, json: { message: /tpye.*which would change more without it; it takes .+/ } }, path);
    }
    t.strictSame(api.fake.sent, []);
  },
);
