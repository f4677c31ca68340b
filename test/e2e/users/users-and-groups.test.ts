/** Users, groups, roles and the rights over them through HTTP (docs/spec/users.md). */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD as ADMIN_PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const USERS = `/user/${TENANT}/users`;
const GROUPS = `/user/${TENANT}/groups`;
const PASSWORD = 'Analytical-1';

const login = (name: string, password = PASSWORD): Rest => new Rest(server.url, `${TENANT}/${name}`, password);
const create = (userName: string, members: object = {}): Promise<any> =>
  rest.create(USERS, { userName, password: PASSWORD, ...members });
const roleBody = (role: string): object => ({ role: { self: `${server.url}/user/roles/${role}` } });
const userBody = (name: string): object => ({ user: { self: `${server.url}${USERS}/${name}` } });
const ids = (reply: any, name: string): string[] => reply[name].map((one: any) => one.id);
async function groupId(name: string): Promise<number> {
  return (await rest.read(`/user/${TENANT}/groupByName/${encodeURIComponent(name)}`)).id;
}
async function withRoles(name: string, roles: string[]): Promise<Rest> {
  await create(name, { roles: { references: roles.map((id) => ({ role: { id } })) } });
  return login(name);
}

t.test('3.1: every field of a user', async (t) => {
  const sent = {
    firstName: 'Ada',
    lastName: 'Lovelace',
    displayName: 'Countess',
    email: 'ada@example.com',
    phone: '+44 20',
    delegatedBy: 'admin',
    owner: 'admin',
    newsletter: true,
    customProperties: { language: 'en', nested: { a: [1] } },
    devicePermissions: { 251: ['MANAGED_OBJECT:*:READ'] },
    twoFactorAuthenticationEnabled: false,
    shouldResetPassword: true,
    applications: [{ id: '7' }],
  };
  const created = await rest.post(USERS, { userName: 'ada', password: PASSWORD, ...sent });
  t.equal(created.status, 201);
  t.equal(created.headers.get('location'), `${server.url}${USERS}/ada`);
  const fixed = {
    id: 'ada',
    userName: 'ada',
    enabled: true,
    passwordStrength: 'GREEN',
    lastPasswordChange: /^20\d\d-.*Z$/,
    self: `${server.url}${USERS}/ada`,
    groups: { self: `${server.url}${USERS}/ada/groups`, references: [] },
    roles: { self: `${server.url}${USERS}/ada/roles`, references: [] },
  };
  t.match(created.json, { ...sent, ...fixed });
  t.equal(created.json.password, undefined);
  t.equal(created.json.sendPasswordResetEmail, undefined);
  t.match(await rest.read(`${USERS}/ada`), { ...sent, ...fixed });
  t.match(await rest.read(`/user/${TENANT}/userByName/ada`), { ...sent, ...fixed });
  t.match(
    (
      await rest.put(`${USERS}/ada`, {
        firstName: 'A.',
        lastName: null,
        roles: { references: [roleBody('ROLE_ALARM_READ')] },
        groups: { references: [] },
      })
    ).json,
    { firstName: 'A.', email: 'ada@example.com', roles: { references: [] } },
  );
  t.equal((await rest.read(`${USERS}/ada`)).lastName, undefined, 'null removes');
  t.same((await create('plain')).twoFactorAuthenticationEnabled, false);
});

t.test('3.1: what is refused, by status and error', async (t) => {
  const cases: [what: string, body: object, status: number, error: string][] = [
    ['no name', { password: PASSWORD }, 422, 'undefined/validationError'],
    ['no password', { userName: 'x1' }, 422, 'undefined/validationError'],
    ['a short password', { userName: 'x1', password: '12345' }, 422, 'users/Invalid Data'],
    ['a long password', { userName: 'x1', password: 'x'.repeat(33) }, 422, 'users/Invalid Data'],
    ['a password beyond Latin-1', { userName: 'x1', password: 'пароль' }, 422, 'users/Invalid Data'],
    ['a blank in the name', { userName: 'x 1', password: PASSWORD }, 422, 'users/Invalid Data'],
    ['a slash', { userName: 'x/1', password: PASSWORD }, 422, 'users/Invalid Data'],
    ['a plus', { userName: 'x+1', password: PASSWORD }, 422, 'users/Invalid Data'],
    ['a dollar', { userName: 'x$1', password: PASSWORD }, 422, 'users/Invalid Data'],
    ['a colon', { userName: 'x:1', password: PASSWORD }, 422, 'users/Invalid Data'],
    ...['a\\b', 'a\0b', 'a\u001bb', 'a\u0085b', 'a\u007fb', '.', '..', 'a\ud800', '\udc00a'].map(
      (userName): [string, object, number, string] => [
        `the name ${JSON.stringify(userName)}`,
        { userName, password: PASSWORD },
        422,
        'users/Invalid Data',
      ],
    ),
    ['an alias with a backslash', { userName: 'x1', password: PASSWORD, alias: 'a\\b' }, 422, 'users/Invalid Data'],
    ['a name of 1001', { userName: 'x'.repeat(1001), password: PASSWORD }, 422, 'users/Invalid Data'],
    ['a name that is taken', { userName: 'admin', password: PASSWORD }, 409, 'users/Duplicate'],
    ['an unknown role', { userName: 'x1', password: PASSWORD, roles: ['ROLE_NONE'] }, 422, 'users/Invalid Data'],
    ['a link without an address', { userName: 'x1', sendPasswordResetEmail: true }, 422, 'users/Unprocessable Entity'],
    [
      'a device permission that is none',
      { userName: 'x1', password: PASSWORD, devicePermissions: { 1: ['X:*:READ'] } },
      422,
      'users/Invalid Data',
    ],
    [
      'a device permission of no id',
      { userName: 'x1', password: PASSWORD, devicePermissions: { x: ['*:*:READ'] } },
      422,
      'users/Invalid Data',
    ],
    ['an alias of a device', { userName: 'device_x', password: PASSWORD, alias: 'x' }, 422, 'users/Invalid Data'],
  ];
  for (const [what, body, status, error] of cases)
    t.match(await rest.post(USERS, body), { status, json: { error } }, what);
  t.match(
    (await rest.post(USERS, { userName: 'a\\b', password: PASSWORD })).json.message,
    /without blanks, slashes, backslashes/,
    'it names the limit',
  );
  for (const userName of ['ä.ö@example.com', '名前', '😀', 'a...', "o'neil"]) {
    t.equal((await create(userName)).userName, userName);
    t.equal((await rest.get(`${USERS}/${encodeURIComponent(userName)}`)).status, 200, userName);
  }
  t.match(
    await rest.put(`${USERS}/ada`, { userName: 'eve' }),
    { status: 422, json: { error: 'users/Invalid Data' } },
    'the name is fixed',
  );
  t.equal((await rest.put(`${USERS}/ada`, { userName: 'ada' })).status, 200);
  t.match(await rest.get(`${USERS}/nobody`), { status: 404, json: { error: 'users/Not Found' } });
  t.equal((await rest.put(`${USERS}/nobody`, { firstName: 'x' })).status, 404);
  t.equal((await rest.delete(`${USERS}/nobody`)).status, 404);
  t.equal((await rest.get('/user/management/users')).status, 403, 'another tenant');
  t.equal((await rest.delete(`${USERS}/admin`)).status, 403, 'oneself, and the administrator');
});

t.test('3.2: the filters of the list', async (t) => {
  await create('list-a', { owner: 'ada' });
  await create('list-b');
  await create('device_list');
  const group = (await rest.create(GROUPS, { name: 'Of the list' })).id;
  await rest.create(`${GROUPS}/${group}/users`, userBody('list-b'));
  const names = async (query: string): Promise<string[]> =>
    ids(await rest.read(`${USERS}?pageSize=2000&${query}`), 'users');
  t.same(await names('username=list'), ['list-a', 'list-b']);
  t.same(await names('owner=ada'), ['list-a']);
  t.same(await names(`groups=${group},999999`), ['list-b']);
  t.same(await names('onlyDevices=true'), ['device_list']);
  t.notOk((await names('')).includes('device_list'));
  t.equal((await rest.read(`${USERS}?username=ada&withSubusersCount=true`)).users[0].subusersCount, 1);
  t.equal((await rest.get(`${USERS}?groups=x`)).status, 422);
  const page = await rest.read(`${USERS}?username=list&pageSize=1&withTotalPages=true&withTotalElements=true`);
  t.match(page, {
    statistics: { currentPage: 1, pageSize: 1, totalPages: 2, totalElements: 2 },
    next: /currentPage=2/,
  });
});

t.test('3.2: passwords, two-factor, newsletter', async (t) => {
  await create('forgetful');
  const path = `${USERS}/forgetful/password`;
  t.equal((await rest.put(path, { currentUserPassword: 'wrong', newPassword: 'Another-one-2' })).status, 422);
  t.equal((await rest.put(path, { currentUserPassword: ADMIN_PASSWORD, newPassword: 'short' })).status, 422);
  t.equal((await rest.put(path, { currentUserPassword: ADMIN_PASSWORD, newPassword: 'another-one' })).status, 200);
  t.equal((await login('forgetful').get('/user/currentUser')).status, 401);
  t.equal((await login('forgetful', 'another-one').get('/user/currentUser')).status, 200);
  t.equal((await rest.read(`${USERS}/forgetful`)).passwordStrength, 'RED');
  t.match(await rest.read(`${USERS}/forgetful/tfa`), {
    tfaEnabled: false,
    tfaEnforced: false,
    strategy: 'TOTP',
    lastTfaRequestTime: null,
  });
  t.equal((await rest.get(`${USERS}/nobody/tfa`)).status, 404);
  t.match(
    (await rest.request('GET', `${USERS}/newsletterEmails`, { headers: { accept: 'text/plain' } })).text,
    'ada@example.com',
  );
});

t.test('3.1: a link for who has no address is refused before anything is changed', async (t) => {
  await create('homeless', { firstName: 'Old' });
  for (const email of [undefined, null, '']) {
    const reply = await rest.put(`${USERS}/homeless`, {
      firstName: 'New',
      sendPasswordResetEmail: true,
      ...(email === undefined ? {} : { email }),
    });
    t.match(reply, { status: 422, json: { error: 'users/Unprocessable Entity' } });
  }
  t.equal((await rest.read(`${USERS}/homeless`)).firstName, 'Old');
  t.equal(
    (await rest.put(`${USERS}/homeless`, { email: 'h@example.com', sendPasswordResetEmail: true })).status,
    200,
    'with the address beside it',
  );
  t.equal((await rest.put(`${USERS}/homeless`, { sendPasswordResetEmail: true })).status, 200);
});

t.test('no answer and no log repeats a password', async (t) => {
  const secret = 'Sec1X';
  for (const [method, path, body] of [
    ['POST', USERS, { userName: 'x1', password: secret }],
    ['POST', USERS, [{ userName: 'x1', password: secret }]],
    ['PUT', `${USERS}/ada`, { password: [secret] }],
    ['PUT', '/user/currentUser', { password: secret }],
    ['PUT', '/user/currentUser/password', { currentUserPassword: [secret], newPassword: secret }],
    ['PUT', '/user/currentUser/password', { currentUserPassword: ADMIN_PASSWORD, newPassword: secret }],
    ['POST', USERS, `{"userName":"x1","password":${secret}}`],
  ] as [string, string, object | string][]) {
    const reply = await rest.request(method, path, { body });
    t.ok(reply.status === 422 || reply.status === 400, `${method} ${path}: ${reply.status}`);
    t.notMatch(reply.text, /Sec1X/, reply.text);
  }
  for (const body of [
    { company: 'c', domain: 'secret', adminPass: [secret] },
    { company: 'c', domain: 'secret', adminPassword: { a: secret } },
  ]) {
    t.match(await server.management.post('/tenant/tenants', body), { status: 422, text: /^((?!Sec1X).)*$/ });
  }
  t.notOk(server.complaints.some((line) => line.includes(secret)));
});

t.test('3.3: the current user', async (t) => {
  const user = await withRoles('current', ['ROLE_USER_MANAGEMENT_OWN_ADMIN', 'ROLE_ALARM_READ']);
  const group = (await rest.create(GROUPS, { name: 'Current group', roles: ['ROLE_EVENT_READ'] })).id;
  await rest.create(`${GROUPS}/${group}/users`, userBody('current'));
  const current = await user.request('GET', '/user/currentUser', {
    headers: { accept: 'application/vnd.com.nsn.cumulocity.currentUser+json' },
  });
  t.match(current.headers.get('content-type'), /cumulocity\.currentuser\+json/i);
  t.same(
    ids(current.json, 'effectiveRoles'),
    ['ROLE_ALARM_READ', 'ROLE_EVENT_READ', 'ROLE_USER_MANAGEMENT_OWN_ADMIN'],
    'direct and by groups',
  );
  t.match(current.json.effectiveRoles[0], {
    id: 'ROLE_ALARM_READ',
    name: 'ROLE_ALARM_READ',
    self: `${server.url}/user/roles/ROLE_ALARM_READ`,
  });
  t.same(
    current.json.groups.references.map((one: any) => one.group.id),
    [group],
  );
  t.match(
    (
      await user.put('/user/currentUser', {
        firstName: 'C',
        lastName: 'U',
        email: 'c@example.com',
        phone: '1',
        enabled: false,
        owner: 'eve',
        roles: [],
        currentUserPassword: PASSWORD,
      })
    ).json,
    { firstName: 'C', lastName: 'U', email: 'c@example.com', phone: '1', enabled: true },
  );
  t.equal((await rest.read(`${USERS}/current`)).owner, undefined, 'only the own profile');
  t.equal(
    (await user.put('/user/currentUser/password', { currentUserPassword: 'wrong', newPassword: 'Another-one-2' }))
      .status,
    422,
  );
  t.equal(
    (await user.put('/user/currentUser/password', { currentUserPassword: PASSWORD, newPassword: 'Another-one-2' }))
      .status,
    200,
  );
  t.equal((await user.get('/user/currentUser')).status, 401, 'the old one is refused at once');
  const big = 'x'.repeat(110_000);
  const changed = login('current', 'Another-one-2');
  for (const body of [
    { customProperties: 'x' },
    { newsletter: 'maybe' },
    { customProperties: { big } },
    { displayName: big },
  ]) {
    for (const [by, path] of [
      [changed, '/user/currentUser'],
      [rest, `${USERS}/current`],
    ] as [Rest, string][]) {
      t.match(
        await by.put(path, body),
        { status: 422, json: { error: 'users/Invalid Data' } },
        `${path} ${JSON.stringify(body).slice(0, 40)}`,
      );
    }
  }
  const half = 'x'.repeat(60_000);
  t.match((await changed.put('/user/currentUser', { newsletter: true, customProperties: { half } })).json, {
    newsletter: true,
    customProperties: { half },
  });
  t.match(
    await changed.put('/user/currentUser', { displayName: half }),
    { status: 422, json: { message: /at most 100000 bytes/ } },
    'all of it together',
  );
  t.equal((await changed.put('/user/currentUser', { newsletter: null, customProperties: null })).status, 200);
  await create('no-own-admin');
  t.equal((await login('no-own-admin').put('/user/currentUser', { firstName: 'x' })).status, 403);
});

t.test('3.4: predefined groups', async (t) => {
  const { groups } = await rest.read(`${GROUPS}?pageSize=100`);
  const names = groups.map((group: any) => group.name);
  for (const name of [
    'admins',
    'devices',
    'business',
    'readers',
    'Device Management User',
    'Cockpit User',
    'CEP Manager',
    'Global Manager',
    'Global Reader',
    'Global User Manager',
    'Shared User Manager',
    'Tenant Manager',
  ])
    t.ok(names.includes(name), name);
  t.ok(
    (await rest.read(`${GROUPS}/${await groupId('admins')}/users`)).references.some(
      (one: any) => one.user.userName === 'admin',
    ),
    'the first user is an administrator',
  );
  const devices = (await rest.read(`${GROUPS}/${await groupId('devices')}/roles?pageSize=100`)).references.map(
    (one: any) => one.role.id,
  );
  t.ok(devices.includes('ROLE_DEVICE') && devices.includes('ROLE_INVENTORY_CREATE'));
  t.equal((await rest.delete(`${GROUPS}/${await groupId('admins')}`)).status, 403);
});

t.test('3.4: groups, their users and roles', async (t) => {
  const body = {
    name: 'Operators of pumps/1',
    description: 'd',
    customProperties: { a: 1 },
    devicePermissions: { 251: ['*:*:READ'] },
    applications: [{ id: '1' }],
  };
  const created = await rest.post(GROUPS, { ...body, roles: { references: [roleBody('ROLE_ALARM_READ')] } });
  t.equal(created.status, 201);
  const { id } = created.json;
  t.equal(typeof id, 'number');
  t.match(created.json, {
    ...body,
    self: `${server.url}${GROUPS}/${id}`,
    roles: { references: [{ role: { id: 'ROLE_ALARM_READ' } }] },
  });
  t.match(await rest.post(GROUPS, body), { status: 409, json: { error: 'groups/Duplicate' } });
  t.match(await rest.post(GROUPS, {}), { status: 422, json: { message: /name/ } });
  t.match(await rest.read(`/user/${TENANT}/groupByName/${encodeURIComponent(body.name)}`), { id, ...body });
  t.match((await rest.put(`${GROUPS}/${id}`, { name: 'Operators', description: null, roles: [] })).json, {
    name: 'Operators',
    roles: { references: [{}] },
  });
  t.equal(
    (await rest.get(`/user/${TENANT}/groupByName/${encodeURIComponent(body.name)}`)).status,
    404,
    'the old name is free',
  );
  t.equal((await rest.put(`${GROUPS}/${id}`, { name: 'admins' })).status, 409);
  for (const path of [`${GROUPS}/99`, `${GROUPS}/x`, `/user/${TENANT}/groupByName/none`])
    t.match(await rest.get(path), { status: 404, json: { error: 'groups/Not Found' } });

  await create('member');
  const added = await rest.post(`${GROUPS}/${id}/users`, userBody('member'));
  t.match(added, {
    status: 201,
    json: { user: { userName: 'member' }, self: `${server.url}${GROUPS}/${id}/users/member` },
  });
  t.equal((await rest.post(`${GROUPS}/${id}/users`, { user: { id: 'member' } })).status, 201, 'again, by id');
  t.match((await rest.read(`${GROUPS}/${id}/users`)).references, [{ user: { userName: 'member' } }]);
  t.match((await rest.read(`${USERS}/member/groups`)).references, [{ group: { id, name: 'Operators' } }]);
  t.equal((await rest.post(`${GROUPS}/${id}/users`, userBody('nobody'))).status, 404);
  t.equal((await rest.post(`${GROUPS}/${id}/users`, { user: {} })).status, 422);
  t.equal((await rest.post(`${GROUPS}/${id}/users`, {})).status, 422);
  t.equal((await rest.post(`${GROUPS}/99/users`, userBody('member'))).status, 404);

  const member = login('member');
  t.equal((await member.get('/alarm')).status, 200, 'the role of the group');
  t.equal((await member.get('/event')).status, 403);
  t.match(await rest.post(`${GROUPS}/${id}/roles`, roleBody('ROLE_EVENT_READ')), {
    status: 201,
    json: { role: { id: 'ROLE_EVENT_READ' } },
  });
  t.equal((await member.get('/event')).status, 200, 'at once');
  t.equal((await rest.post(`${GROUPS}/${id}/roles`, roleBody('ROLE_EVENT_READ'))).status, 409);
  t.equal((await rest.post(`${GROUPS}/${id}/roles`, roleBody('ROLE_NONE'))).status, 404);
  t.equal((await rest.post(`${GROUPS}/${id}/roles`, { role: {} })).status, 422);
  t.same(
    (await rest.read(`${GROUPS}/${id}/roles`)).references.map((one: any) => one.role.id),
    ['ROLE_ALARM_READ', 'ROLE_EVENT_READ'],
  );
  t.equal((await rest.delete(`${GROUPS}/${id}/roles/ROLE_EVENT_READ`)).status, 204);
  t.equal((await rest.delete(`${GROUPS}/${id}/roles/ROLE_EVENT_READ`)).status, 404);
  t.equal((await member.get('/event')).status, 403, 'at once');
  t.equal((await rest.delete(`${GROUPS}/${id}/users/member`)).status, 204);
  t.equal((await rest.delete(`${GROUPS}/${id}/users/member`)).status, 404);
  t.equal((await member.get('/alarm')).status, 403);
  await rest.create(`${GROUPS}/${id}/users`, userBody('member'));
  t.equal((await member.get('/alarm')).status, 200);
  t.equal((await rest.delete(`${GROUPS}/${id}`)).status, 204);
  t.equal((await rest.get(`${GROUPS}/${id}`)).status, 404);
  t.equal((await member.get('/alarm')).status, 403, 'a deleted group gives nothing');
  t.same((await rest.read(`${USERS}/member/groups`)).references, []);
});

t.test('members and roles of a group are removed by their links too', async (t) => {
  const { id } = await rest.create(GROUPS, { name: 'By links', roles: ['ROLE_ALARM_READ'] });
  await create('link%41');
  const { self } = await rest.read(`${USERS}/link%2541`);
  await rest.create(`${GROUPS}/${id}/users`, { user: { self } });
  const remove = (kind: string, link: string): Promise<any> =>
    rest.delete(`${GROUPS}/${id}/${kind}/${encodeURIComponent(link)}`);
  t.match(
    await remove('users', self.replace(`/${TENANT}/`, '/other/')),
    { status: 404, json: { error: 'users/Not Found' } },
    'of another tenant',
  );
  for (const link of ['/', '/user/t1/users/', `${server.url}${USERS}/nobody`, '/x/%'])
    t.equal((await remove('users', link)).status, 404, link);
  for (const link of ['/', `${server.url}/user/roles/ROLE_EVENT_READ`])
    t.equal((await remove('roles', link)).status, 404, link);
  t.equal((await rest.read(`${GROUPS}/${id}/users`)).references.length, 1);
  t.equal((await remove('users', self)).status, 204);
  t.same((await rest.read(`${GROUPS}/${id}/users`)).references, []);
  t.equal((await remove('roles', `${server.url}/user/roles/ROLE_ALARM_READ`)).status, 204);
  t.same((await rest.read(`${GROUPS}/${id}/roles`)).references, []);
});

t.test('3.4: names, references and sizes of groups', async (t) => {
  for (const name of ['\ud800', 'a\0b', 'a\nb', ' ', '\u00a0 ']) {
    t.match(
      await rest.post(GROUPS, { name }),
      { status: 422, json: { error: 'groups/Invalid Data', message: /control characters/ } },
      JSON.stringify(name),
    );
    t.match(
      await rest.post('/user/inventoryroles', { name }),
      { status: 422, json: { error: 'users/Invalid Data' } },
      JSON.stringify(name),
    );
  }
  const { id } = await rest.create(GROUPS, { name: 'Größe 😀 / 1', roles: ['ROLE_ALARM_READ', 'ROLE_ALARM_READ'] });
  t.equal((await rest.put(`${GROUPS}/${id}`, { name: ' ' })).status, 422);
  t.same((await rest.read(`${GROUPS}/${id}/roles`)).references.length, 1, 'a role is there once');
  t.match(await rest.post(`${GROUPS}/${id}/users`, { user: { self: `${server.url}/user/other/users/ada` } }), {
    status: 404,
    json: { error: 'users/Not Found' },
  });
  t.same((await rest.read(`${GROUPS}/${id}/users`)).references, []);
  const big = 'x'.repeat(100_001);
  for (const body of [
    { description: big },
    { customProperties: { big } },
    { devicePermissions: { 251: [`ALARM:${big}:READ`] } },
  ]) {
    t.match(
      await rest.put(`${GROUPS}/${id}`, body),
      { status: 422, json: { error: 'groups/Invalid Data' } },
      Object.keys(body)[0],
    );
    t.equal((await rest.post(GROUPS, { name: 'Too big', ...body })).status, 422);
  }
  t.match(
    (await rest.put(`${GROUPS}/${id}`, { description: big })).json.message,
    /at most 100000 bytes of further members of a group/,
  );
  t.match(await server.metricsText(), /millrace_refusals_total\{limit="users\/group-bytes"\} \d/);
  t.equal((await rest.post('/user/inventoryroles', { name: 'Too big', description: 'x'.repeat(4_001) })).status, 422);
});

t.test('3.4: roles that are given to a group at once', async (t) => {
  const { id } = await rest.create(GROUPS, { name: 'At once' });
  const roles = (await rest.read('/user/roles?pageSize=2000')).roles.slice(0, 20).map((role: any) => role.id);
  const replies = await Promise.all(roles.map((role: string) => rest.post(`${GROUPS}/${id}/roles`, roleBody(role))));
  t.same(
    replies.map(({ status }) => status),
    roles.map(() => 201),
  );
  t.same(
    (await rest.read(`${GROUPS}/${id}/roles?pageSize=100`)).references.map((one: any) => one.role.id),
    roles,
  );
});

t.test('nobody locks the tenant out', async (t) => {
  const admins = await groupId('admins');
  await create('second');
  await rest.create(`${GROUPS}/${admins}/users`, userBody('second'));
  const second = login('second');
  const kept = { status: 403, json: { error: 'users/Forbidden', message: /would lock the tenant out/ } };
  t.match(await second.put(`${USERS}/admin`, { enabled: false }), kept, 'the administrator');
  t.match(await second.put(`${USERS}/second`, { enabled: false }), kept, 'oneself');
  t.match(await second.delete(`${USERS}/second`), kept);
  for (const user of [rest, second])
    t.match(await user.delete(`${GROUPS}/${admins}/users/admin`), kept, 'the administrator in admins');
  t.match(await rest.delete(`${GROUPS}/${admins}/roles/ROLE_USER_MANAGEMENT_ADMIN`), kept, 'a role of admins');
  t.equal((await rest.put(`${USERS}/admin`, { enabled: true })).status, 200, 'as it is');
  t.equal((await rest.put(`${USERS}/second`, { enabled: false })).status, 200, 'somebody else');
  t.equal((await rest.put(`${USERS}/second`, { enabled: false, firstName: 'S' })).status, 200);
  t.equal((await rest.delete(`${GROUPS}/${admins}/users/second`)).status, 204);
});

t.test('3.4: roles of users', async (t) => {
  await create('graded');
  const user = login('graded');
  const path = `${USERS}/graded/roles`;
  t.match(await rest.post(path, roleBody('ROLE_ALARM_READ')), {
    status: 201,
    json: { role: { id: 'ROLE_ALARM_READ' }, self: `${server.url}${path}/ROLE_ALARM_READ` },
  });
  t.equal((await rest.post(path, { role: { id: 'ROLE_EVENT_READ' } })).status, 201);
  t.equal((await user.get('/alarm')).status, 200);
  const self = new URL((await rest.read(`${USERS}/graded`)).roles.self).pathname;
  t.match(await rest.read(`${self}?withTotalElements=true`), {
    references: [{ role: { id: 'ROLE_ALARM_READ' } }, { role: { id: 'ROLE_EVENT_READ' } }],
    statistics: { totalElements: 2 },
  });
  t.equal((await rest.get(`${USERS}/nobody/roles`)).status, 404);
  t.equal((await rest.post(path, roleBody('ROLE_NONE'))).status, 404);
  t.equal((await rest.post(path, {})).status, 422);
  t.equal((await rest.delete(`${path}/ROLE_ALARM_READ`)).status, 204);
  t.equal((await rest.delete(`${path}/ROLE_ALARM_READ`)).status, 404);
  t.equal((await user.get('/alarm')).status, 403);
  const { roles, statistics } = await rest.read('/user/roles?pageSize=2000&withTotalElements=true');
  t.equal(statistics.totalElements, roles.length);
  for (const role of roles) t.equal(role.id, role.name);
  t.match(await rest.read('/user/roles/ROLE_ALARM_READ'), {
    id: 'ROLE_ALARM_READ',
    name: 'ROLE_ALARM_READ',
    self: `${server.url}/user/roles/ROLE_ALARM_READ`,
  });
  t.equal((await rest.get('/user/roles/ROLE_NONE')).status, 404);
});

t.test('who may only create users sees and changes his own ones', async (t) => {
  const creator = await withRoles('creator', ['ROLE_USER_MANAGEMENT_CREATE', 'ROLE_ALARM_READ']);
  t.equal(
    (await creator.post(USERS, { userName: 'sub', password: PASSWORD, owner: 'admin' })).json.owner,
    'creator',
    'he owns what he creates',
  );
  t.same(ids(await creator.read(USERS), 'users'), ['sub']);
  t.equal((await creator.get(`${USERS}/sub`)).status, 200);
  t.equal((await creator.put(`${USERS}/sub`, { firstName: 'S' })).status, 200);
  t.equal((await creator.post(`${USERS}/sub/roles`, roleBody('ROLE_ALARM_READ'))).status, 201);
  t.equal(
    (await creator.post(`${USERS}/sub/roles`, roleBody('ROLE_EVENT_READ'))).status,
    403,
    'nobody gives more than he has',
  );
  for (const [method, path, body] of [
    ['GET', `${USERS}/admin`],
    ['PUT', `${USERS}/ada`, { firstName: 'x' }],
    ['DELETE', `${USERS}/sub`],
    ['POST', `${USERS}/ada/roles`, roleBody('ROLE_ALARM_READ')],
    ['GET', `${USERS}/admin/groups`],
    ['GET', `${USERS}/admin/roles`],
  ] as [string, string, object?][]) {
    t.equal((await creator.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
  }
});

t.test('nobody raises himself', async (t) => {
  const clerk = await withRoles('clerk', ['ROLE_USER_MANAGEMENT_ADMIN', 'ROLE_USER_MANAGEMENT_READ']);
  const admins = await groupId('admins');
  for (const [method, path, body] of [
    ['POST', `${USERS}/clerk/roles`, roleBody('ROLE_ALARM_ADMIN')],
    ['POST', `${GROUPS}/${admins}/users`, userBody('clerk')],
    ['PUT', `${USERS}/admin`, { email: 'clerk@example.com' }],
    ['PUT', `${USERS}/admin/password`, { currentUserPassword: PASSWORD, newPassword: 'Another-one-2' }],
    ['DELETE', `${GROUPS}/${admins}/users/admin`],
    ['DELETE', `${USERS}/admin/roles/ROLE_ALARM_READ`],
    ['POST', GROUPS, { name: 'Mine', roles: ['ROLE_ALARM_ADMIN'] }],
    ['DELETE', `${GROUPS}/${admins}/roles/ROLE_ALARM_READ`],
    ['DELETE', `${USERS}/admin`],
  ] as [string, string, object?][])
    t.equal((await clerk.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
});

t.test('refused and harmless changes of a user leave his connections alone', async (t) => {
  const creator = await withRoles('only-creates', ['ROLE_USER_MANAGEMENT_CREATE']);
  const person = await withRoles('connected', [
    'ROLE_DEVICE',
    'ROLE_INVENTORY_CREATE',
    'ROLE_USER_MANAGEMENT_OWN_ADMIN',
    'ROLE_ALARM_READ',
  ]);
  const device = await connectDevice(t, server, 'connected-1', { username: `${TENANT}/connected`, password: PASSWORD });
  const ended = new Promise<void>((resolve) => {
    device.client.once('close', () => resolve());
  });
  const send = async (message: object): Promise<any> =>
    (await person.request('POST', '/notification/realtime', { body: [message] })).json[0];
  const { clientId } = await send({
    channel: '/meta/handshake',
    version: '1.0',
    supportedConnectionTypes: ['long-polling'],
  });
  const connect = (): Promise<any> =>
    send({ channel: '/meta/connect', clientId, connectionType: 'long-polling', advice: { timeout: 0 } });
  t.equal((await connect()).successful, true);
  t.equal((await creator.post(USERS, { userName: 'connected', password: PASSWORD })).status, 409);
  t.equal((await person.put('/user/currentUser', { customProperties: { theme: 'dark' } })).status, 200);
  t.equal((await rest.put(`${USERS}/connected`, { firstName: 'C' })).status, 200);
  t.equal((await connect()).successful, true);
  await device.publish('s/us', '100,Connected,c8y_MQTTDevice');
  t.ok(device.client.connected);
  t.equal((await rest.delete(`${USERS}/connected/roles/ROLE_ALARM_READ`)).status, 204);
  await eventually('the session ends with a role', async () => (await connect()).successful === false);
  await ended;
});

t.test('changes of rights are in the audit log', async (t) => {
  const recordsOf = (source: string, count: number): Promise<any[]> =>
    eventually('the audit records', async () => {
      const { auditRecords } = await rest.read(`/audit/auditRecords?source=${source}&pageSize=100&revert=true`);
      return auditRecords.length >= count && auditRecords;
    });
  await create('audited');
  await rest.create(`${USERS}/audited/roles`, roleBody('ROLE_ALARM_READ'));
  await rest.create(`${GROUPS}/${await groupId('readers')}/users`, userBody('audited'));
  await rest.put(`${USERS}/audited`, {
    password: 'Another-one-2',
    customProperties: { smtpPassword: 'hidden-1' },
    firstName: 'Ada',
  });
  t.equal((await rest.delete(`${USERS}/audited`)).status, 204);
  const [created, role, group, put, deleted] = await recordsOf('audited', 5);
  t.equal(created.activity, 'User created');
  t.match(role, {
    activity: 'User updated',
    text: 'User updated: audited: roles: ROLE_ALARM_READ added',
    changes: [{ attribute: 'roles', changeType: 'REPLACED', type: 'Array', newValue: ['ROLE_ALARM_READ'] }],
  });
  t.match(group, {
    text: 'User updated: audited: groups: readers added',
    changes: [{ attribute: 'groups', previousValue: [], newValue: ['readers'] }],
  });
  t.match(put.text, /password changed/);
  t.match(
    put.changes.find(({ attribute }: any) => attribute === 'firstName'),
    { newValue: 'Ada' },
  );
  t.notMatch(JSON.stringify([created, put]), /Another-one|hidden-1|scrypt|\$/, 'neither passwords nor their hashes');
  t.equal(deleted.activity, 'User deleted');
  const made = await rest.create(GROUPS, { name: 'Audited group' });
  await rest.create(`${GROUPS}/${made.id}/roles`, roleBody('ROLE_ALARM_READ'));
  await rest.put(`${GROUPS}/${made.id}`, { description: 'x' });
  await rest.delete(`${GROUPS}/${made.id}/roles/ROLE_ALARM_READ`);
  t.match(
    (await recordsOf(String(made.id), 4)).map(({ text, changes }) => ({ text, changes })),
    [
      { text: 'Group created: Audited group', changes: [{ attribute: 'name' }, { attribute: 'roles', newValue: [] }] },
      {
        text: 'Group updated: Audited group: roles: ROLE_ALARM_READ added',
        changes: [{ attribute: 'roles', previousValue: [], newValue: ['ROLE_ALARM_READ'] }],
      },
      {
        text: 'Group updated: Audited group: description added',
        changes: [{ attribute: 'description', changeType: 'ADDED', newValue: 'x' }],
      },
      {
        text: 'Group updated: Audited group: roles: ROLE_ALARM_READ removed',
        changes: [{ attribute: 'roles', previousValue: ['ROLE_ALARM_READ'], newValue: [] }],
      },
    ],
  );
});

t.test('a user made again is not the one before', async (t) => {
  await create('again', { alias: 'nick' });
  await rest.create(`${GROUPS}/${await groupId('readers')}/users`, userBody('again'));
  t.equal((await rest.post(USERS, { userName: 'nick', password: PASSWORD })).status, 409, 'an alias is a name');
  t.equal(
    (await rest.post(USERS, { userName: 'other', password: PASSWORD, alias: 'again' })).status,
    409,
    'a name is no alias',
  );
  t.equal((await login('nick').get('/user/currentUser')).json.userName, 'again', 'log in by the alias');
  t.equal((await rest.put(`${USERS}/again`, { alias: null })).status, 200);
  t.equal((await login('nick').get('/user/currentUser')).status, 401);
  t.equal((await rest.delete(`${USERS}/again`)).status, 204);
  const { groups } = await create('again');
  t.same(groups.references, []);
  t.same((await rest.read(`${GROUPS}/${await groupId('readers')}/users`)).references, []);
});

t.test('a name that owns objects is not for a user without rights over them', async (t) => {
  const creator = new Rest(server.url, `${TENANT}/namer`, PASSWORD);
  await rest.create(USERS, { userName: 'namer', password: PASSWORD, roles: ['ROLE_USER_MANAGEMENT_CREATE'] });
  await rest.create('/inventory/managedObjects', { name: 'Left', owner: 'gone' });
  for (const userName of ['gone', 'device_gone']) {
    t.match(
      await creator.post(USERS, { userName, password: PASSWORD }),
      { status: 403, json: { error: 'security/Forbidden' } },
      userName,
    );
  }
  t.equal((await creator.post(USERS, { userName: 'not-gone', password: PASSWORD })).status, 201);
  t.equal((await rest.post(USERS, { userName: 'gone', password: PASSWORD })).status, 201);
});

t.test('links of an own object do not show those of others', async (t) => {
  await create('owner-of-one');
  const of = login('owner-of-one');
  const building = (await rest.create('/inventory/managedObjects', { name: 'Building' })).id as string;
  const path = `/inventory/managedObjects/${await rest.createDevice('Owned', { owner: 'owner-of-one' })}`;
  const theirs = (await rest.create(`${path}/childDevices`, { name: 'Theirs', secret: 1 })).id as string;
  const own = (await of.create(`${path}/childDevices`, { name: 'Own', c8y_IsDevice: {} })).id as string;
  await rest.create(`/inventory/managedObjects/${building}/childAssets`, {
    managedObject: { id: path.split('/').at(-1) },
  });
  const linked = async (rights: Rest, kind: string): Promise<string[]> =>
    (await rights.read(`${path}/${kind}`)).references.map(({ managedObject }: any) => managedObject.id);
  for (const [kind, all, readable] of [
    ['childDevices', [theirs, own], [own]],
    ['assetParents', [building], []],
    ['childDevices?query=has(owner)', [theirs, own], [own]],
  ] as const) {
    t.same((await linked(rest, kind)).sort(), [...all].sort(), kind);
    t.same(await linked(of, kind), readable, kind);
  }
  t.equal((await of.get(`${path}/childDevices/${own}`)).status, 200);
  t.equal((await of.get(`${path}/childDevices/${theirs}`)).status, 403);
});
