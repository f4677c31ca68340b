/** What is not stored has no id and no place (docs/spec/conventions.md#processing-modes); what is deleted is told. */
import { Secret, TOTP } from 'otpauth';
import t from 'tap';
import { basic, startApi } from '../helpers/api.ts';
import { NOW } from '../helpers/fake-platform.ts';

const TRANSIENT = { 'x-platform-processing-mode': 'TRANSIENT' };

t.test('TRANSIENT: no id and no Location', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { name: 'Pump' });
  const event = { source: { id: '1' }, type: 'a', text: 'b', time: '2024-05-02T10:00:00.000Z' };
  const objects = '/inventory/managedObjects';
  const posts: [string, object][] = [
    ['/event/events', event],
    [objects, { name: 'x' }],
    [`${objects}/1/childAssets`, { name: 'x' }],
  ];
  for (const [path, body] of posts) {
    const reply = await api.call('POST', path, { body, headers: TRANSIENT });
    t.match(
      reply,
      { status: 201, json: { id: null, ...(path === '/event/events' ? { source: { name: 'Pump' } } : body) } },
      path,
    );
    t.equal(reply.headers.get('location'), null);
    t.equal(reply.json.self, undefined);
    t.equal(api.fake.sent.at(-1)?.mode, 1);
    const stored = await api.call('POST', path, { body });
    t.ok(stored.headers.get('location')?.endsWith(`/${stored.json.id}`), path);
  }
  t.match(await api.call('PUT', `${objects}/1`, { body: { name: 'y' }, headers: TRANSIENT }), {
    status: 200,
    json: { id: null, name: 'y' },
  });
});

t.test('rows: a mode that is unknown and a body that is too long are rows of the answer', async (t) => {
  const api = await startApi(t, { config: { jsonBodyMaxBytes: 1_000 } });
  const rows = async (body: string, mode: string): Promise<string> => {
    const headers = { 'content-type': 'text/plain', accept: undefined, 'x-platform-processing-mode': mode };
    const reply = await api.call('POST', '/s', { body, headers });
    t.match(reply, { status: 200 });
    t.match(reply.headers.get('content-type'), /^text\/plain/);
    return reply.text;
  };
  t.match(await rows('1', 'SOMETIMES'), /^42,1,".*SOMETIMES.*PERSISTENT/);
  t.equal(await rows('1'.repeat(1_001), 'PERSISTENT'), '50,1,413');
});

t.test('a deleted measurement is told to its subscribers', async (t) => {
  const api = await startApi(t);
  const row = {
    entityId: '7',
    sourceId: '1',
    timeMs: '1',
    type: 't',
    fragment: '',
    series: '',
    value: 0,
    unit: '',
    doc: '',
  };
  api.fake.rows = [[row]];
  t.equal((await api.call('DELETE', '/measurement/measurements/7')).status, 204);
  t.match(api.fake.published, [{ tenant: 2, area: 'measurements', source: '1', action: 'DELETE' }]);
  t.equal(api.fake.published[0].text(), '"7"');
  api.fake.rows = [[row]];
  await api.call('DELETE', '/measurement/measurements/7', { headers: { 'x-platform-processing-mode': 'QUIESCENT' } });
  t.equal(api.fake.published.length, 1);
  t.equal((await api.call('DELETE', '/measurement/measurements/8')).status, 404);
  t.equal(api.fake.published.length, 1);
});

t.test('a user with more roles is not changed by one with less', async (t) => {
  const api = await startApi(t);
  const clerk = ['ROLE_USER_MANAGEMENT_ADMIN', 'ROLE_ALARM_READ'];
  api.fake.addUser('clerk', clerk);
  const user = (userName: string, roles: string[]): void =>
    api.fake.put('user', userName, JSON.stringify({ userName, password: 'x', roles, enabled: true, doc: '{}' }));
  user('clerk', clerk);
  user('boss', ['ROLE_ALARM_READ', 'ROLE_ALARM_ADMIN']);
  user('mate', ['ROLE_ALARM_READ']);
  const headers = { authorization: basic('clerk') };
  const put = async (name: string, body: object): Promise<number> =>
    (await api.call('PUT', `/user/t1/users/${name}`, { body, headers })).status;
  for (const body of [
    { password: 'new-password' },
    { enabled: false },
    { email: 'mine@example.com' },
    { firstName: 'B', password: 'new-password' },
  ]) {
    t.equal(await put('boss', body), 403, Object.keys(body).join());
    t.equal(await put('mate', body), 200, Object.keys(body).join());
    t.equal(await put('clerk', { firstName: 'C', password: 'new-password' }), 200, 'oneself');
    user('mate', ['ROLE_ALARM_READ']);
  }
  t.equal(await put('boss', { firstName: 'B' }), 200, 'a name is no right');
  t.equal((await api.call('DELETE', '/user/t1/users/boss', { headers })).status, 403);
  t.equal((await api.call('DELETE', '/user/t1/users/mate', { headers })).status, 204);
  t.ok(api.fake.get('user', 'boss'));
});

t.test('a session alone changes nothing that leads to a new password of its user', async (t) => {
  const api = await startApi(t);
  const [own, listed] = ['/user/currentUser', '/user/t1/users/admin'];
  const stored = JSON.stringify({
    userName: 'admin',
    password: 'x',
    roles: ['ROLE_USER_MANAGEMENT_ADMIN', 'ROLE_USER_MANAGEMENT_OWN_ADMIN'],
    enabled: true,
    doc: '{"email":"ada@example.com"}',
  });
  api.fake.put('user', 'admin', stored);
  const login = await api.call('POST', '/tenant/oauth/token?tenant_id=t1', {
    body: 'grant_type=PASSWORD&username=admin&password=secret',
    headers: { authorization: undefined, 'content-type': 'application/x-www-form-urlencoded' },
  });
  const session = { authorization: `Bearer ${login.json.access_token}` };
  const put = async (path: string, body: object, headers: Record<string, string> = session): Promise<number> => {
    api.fake.put('user', 'admin', stored);
    const before = api.fake.sent.length;
    const { status, json } = await api.call('PUT', path, { body, headers });
    if (status !== 422) return status;
    t.equal(api.fake.sent.length, before, 'nothing is changed');
    t.match(json.message, /currentUserPassword|not right/);
    return status;
  };
  const changes: [string, object][] = [
    [own, { password: 'Analytical-1' }],
    [own, { email: 'thief@example.com' }],
    [own, { email: null }],
    ['/user/currentUserPhone', { email: 'thief@example.com' }],
    [listed, { password: 'Analytical-1' }],
    [listed, { email: 'thief@example.com' }],
    [listed, { email: null }],
    [listed, { sendPasswordResetEmail: true }],
    [listed, { email: 'thief@example.com', sendPasswordResetEmail: true }],
  ];
  for (const [path, body] of changes) {
    const what = `${path} ${JSON.stringify(body)}`;
    t.equal(await put(path, body), 422, what);
    t.equal(await put(path, { ...body, currentUserPassword: 'wrong' }), 422, `${what}, a wrong one`);
    t.same(api.fake.mails, []);
    t.equal(await put(path, { ...body, currentUserPassword: 'secret' }), 200, `${what}, the right one`);
    api.fake.mails.length = 0;
    api.fake.collections.get('2/passwordToken')?.clear();
  }
  const shown = api.fake.confirmedFrom.length;
  for (const [path, body] of changes) {
    t.equal(await put(path, body, {}), 200, `${path} ${JSON.stringify(body)}, Basic has shown it`);
    api.fake.mails.length = 0;
    api.fake.collections.get('2/passwordToken')?.clear();
  }
  for (const path of [own, listed])
    t.equal(
      await put(path, { firstName: 'A', email: 'ada@example.com', sendPasswordResetEmail: false }),
      200,
      'as it was read',
    );
  for (const email of [null, '']) {
    api.fake.put('user', 'boss', stored.replace('admin', 'boss'));
    t.equal((await api.call('PUT', '/user/t1/users/boss', { body: { email } })).status, 200, 'another user');
  }
  api.fake.put('user', 'boss', stored.replace('admin', 'boss'));
  t.equal((await api.call('PUT', '/user/t1/users/boss', { body: { sendPasswordResetEmail: true } })).status, 200);
  t.match(api.fake.mails, [{ to: 'ada@example.com' }]);
  t.equal(api.fake.confirmedFrom.length, shown, 'none of these is asked for a password');
});

t.test("a session alone does not begin one-time codes, whose app would be the thief's", async (t) => {
  const api = await startApi(t);
  api.fake.put(
    'user',
    'admin',
    JSON.stringify({ userName: 'admin', password: 'x', roles: [], enabled: true, doc: '{}' }),
  );
  const login = await api.call('POST', '/tenant/oauth/token?tenant_id=t1', {
    body: 'grant_type=PASSWORD&username=admin&password=secret',
    headers: { authorization: undefined, 'content-type': 'application/x-www-form-urlencoded' },
  });
  const session = { authorization: `Bearer ${login.json.access_token}` };
  const path = '/user/currentUser/totpSecret';
  const verified = async (headers: Record<string, string>): Promise<void> => {
    const { rawSecret } = (await api.call('POST', path, { headers })).json;
    const code = new TOTP({ secret: Secret.fromBase32(rawSecret) }).generate({ timestamp: NOW });
    t.equal((await api.call('POST', `${path}/verify`, { body: { code }, headers })).status, 204);
  };
  const activate = async (headers: Record<string, string>, further: object = {}): Promise<number> =>
    (await api.call('POST', `${path}/activity`, { body: { isActive: true, ...further }, headers })).status;
  const isActive = async (): Promise<boolean> => (await api.call('GET', `${path}/activity`)).json.isActive;
  await verified(session);
  for (const further of [{}, { currentUserPassword: null }, { currentUserPassword: 'wrong' }]) {
    t.equal(await activate(session, further), 422, JSON.stringify(further));
    t.equal(await isActive(), false);
  }
  const told = { ...session, 'x-forwarded-for': '198.51.100.7' };
  t.equal(await activate(told, { currentUserPassword: 'secret' }), 204);
  t.equal(api.fake.confirmedFrom.pop(), '198.51.100.7', 'wrong ones count for the address of the client');
  t.equal(await isActive(), true);
  api.fake.collections.get('2/totp')?.clear();
  await verified({});
  t.equal(await activate({}), 204, 'Basic has shown it');
});

t.test('the type of an alarm has a length', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1');
  const post = (type: string): ReturnType<typeof api.call> =>
    api.call('POST', '/alarm/alarms', {
      body: { source: { id: '1' }, type, text: 'b', time: '2024-05-02T10:00:00.000Z', severity: 'MAJOR' },
    });
  t.equal((await post('ä'.repeat(500))).status, 201);
  const reply = await post(`${'ä'.repeat(500)}x`);
  t.match(reply, {
    status: 422,
    json: { error: 'alarm/Invalid Data', message: /field type has the value ä+….*1 to 1000 bytes/ },
  });
  t.ok(reply.json.message.length < 320, 'the value is cut');
});
