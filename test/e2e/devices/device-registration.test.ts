/**
 * New devices that know nothing but the bootstrap credentials: over HTTP and MQTT, accepted over REST, then they send
 * (docs/spec/device-registration.md).
 */
import { Client } from '@c8y/client';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const BOOTSTRAP_PASSWORD = 'Boot-strap-9';
const server = await startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] });
const { rest, management } = server;
const bootstrap = new Rest(server.url, 'management/devicebootstrap', BOOTSTRAP_PASSWORD);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const REQUESTS = '/devicecontrol/newDeviceRequests';
const TIME = '2024-05-02T10:00:00.000Z';

const announce = (id: string, more: object = {}): Promise<any> => rest.create(REQUESTS, { id, ...more });
const poll = (id: string, more: object = {}) => bootstrap.post('/devicecontrol/deviceCredentials', { id, ...more });
const accept = (id: string, more: object = {}) => rest.put(`${REQUESTS}/${id}`, { status: 'ACCEPTED', ...more });
const statusOf = async (id: string): Promise<string> => (await rest.read(`${REQUESTS}/${id}`)).status;
const user = async (name: string, roles: string[]): Promise<Rest> => {
  await rest.create(`/user/${TENANT}/users`, {
    userName: name,
    password: PASSWORD,
    roles: { references: roles.map((id) => ({ role: { id } })) },
  });
  return new Rest(server.url, `${TENANT}/${name}`, PASSWORD);
};
const policy = (value: string) => rest.put('/tenant/options/device-registration/security-token.policy', { value });

t.test('over HTTP: announced, asked, accepted, credentials once, then data', async (t) => {
  const created = await rest.post(REQUESTS, { id: '4711' });
  t.equal(created.status, 201);
  t.equal(created.headers.get('location'), `${server.url}${REQUESTS}/4711`);
  t.match(created.json, {
    id: '4711',
    status: 'WAITING_FOR_CONNECTION',
    self: `${server.url}${REQUESTS}/4711`,
    owner: 'admin',
    tenantId: TENANT,
    customProperties: {},
    groupId: null,
    type: null,
    creationTime: /^\d{4}-\d\d-\d\dT.*Z$/,
  });
  t.match(await accept('4711'), {
    status: 422,
    json: { error: 'devicecontrol/Invalid Data', message: /WAITING_FOR_CONNECTION/ },
  });
  t.match(await poll('4711'), { status: 404, json: { error: 'devicecontrol/Not Found' } });
  t.equal(await statusOf('4711'), 'PENDING_ACCEPTANCE');
  t.equal((await poll('4711')).status, 404, 'a repeated poll changes nothing');
  t.match(await accept('4711'), { status: 200, json: { id: '4711', status: 'ACCEPTED' } });
  t.equal((await accept('4711')).status, 422, 'only once');
  const credentials = await bootstrap.request('POST', '/devicecontrol/deviceCredentials', {
    body: { id: '4711' },
    headers: {
      'content-type': 'application/vnd.com.nsn.platform.deviceCredentials+json',
      accept: 'application/vnd.com.nsn.platform.deviceCredentials+json',
    },
  });
  t.equal(credentials.status, 200);
  t.match(credentials.headers.get('content-type'), /devicecredentials\+json/i);
  t.match(credentials.json, {
    id: '4711',
    self: /deviceCredentials\/4711$/,
    tenantId: TENANT,
    username: 'device_4711',
    password: /^.{12,32}$/,
  });
  t.equal((await poll('4711')).status, 404, 'once');
  t.equal((await rest.get(`${REQUESTS}/4711`)).status, 404, 'the request is gone');
  t.match(
    (await rest.read(`/user/${TENANT}/users/device_4711`)).groups.references.map(({ group }: any) => group.name),
    ['devices'],
  );
  const device = new Rest(
    server.url,
    `${credentials.json.tenantId}/${credentials.json.username}`,
    credentials.json.password,
  );
  t.equal(
    (await device.get('/identity/externalIds/c8y_Serial/4711')).status,
    404,
    'not registered (docs/spec/device-registration.md#credentials)',
  );
  const id = (
    await device.create('/inventory/managedObjects', {
      name: 'Self-made',
      c8y_IsDevice: {},
      com_platform_model_Agent: {},
    })
  ).id;
  t.equal(
    (await device.post(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: '4711' })).status,
    201,
  );
  t.equal((await device.read('/identity/externalIds/c8y_Serial/4711')).managedObject.id, id);
  t.equal((await device.put(`/inventory/managedObjects/${id}`, { c8y_Hardware: { model: 'x' } })).status, 200);
  t.equal((await device.post('/event/events', { source: { id }, type: 'e', text: 't', time: TIME })).status, 201);
  t.equal(
    (await device.post('/measurement/measurements', { source: { id }, type: 'm', time: TIME, m: { T: { value: 1 } } }))
      .status,
    201,
  );
  t.equal((await rest.read(`/inventory/managedObjects/${id}`)).owner, 'device_4711');
  t.equal((await rest.read(`/event/events?source=${id}`)).events.length, 1);
});

t.test("over MQTT: s/ucr until accepted, the row on s/dcr, then the device's own connection", async (t) => {
  const options = { username: 'management/devicebootstrap', password: BOOTSTRAP_PASSWORD };
  await announce('mqtt-new');
  const asking = await connectDevice(t, server, 'd:mqtt-new', options);
  await asking.subscribe('s/dcr', 's/e');
  await asking.publish('s/ucr', '');
  t.equal(await statusOf('mqtt-new'), 'PENDING_ACCEPTANCE', 'the PUBACK comes behind the poll');
  await asking.publish('s/ucr', '', 0);
  await asking.publish('s/ucr', '', 2);
  t.same(asking.received, [], 'no answer until it is accepted');
  await accept('mqtt-new');
  await asking.publish('s/ucr', '');
  const row = await asking.row('s/dcr', /^70,/);
  const [, tenant, name, password] = row.split(',');
  t.same([tenant, name], [TENANT, 'device_mqtt-new']);
  await asking.publish('s/ucr', '');
  t.equal(asking.rows('s/dcr').length, 1, 'once');
  await asking.end();
  const device = await connectDevice(t, server, 'mqtt-new', { username: `${tenant}/${name}`, password });
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us', '100,New one,my_Type\n211,21.5');
  const object = await rest.deviceOf('mqtt-new');
  t.match(object, { name: 'New one', owner: 'device_mqtt-new' });
  t.equal((await rest.read(`/measurement/measurements?source=${object.id}`)).measurements.length, 1);
  const operation = await rest.create('/devicecontrol/operations', { deviceId: object.id, c8y_Restart: {} });
  await device.row('s/ds', '510,mqtt-new');
  await device.publish('s/us', '501,c8y_Restart\n503,c8y_Restart');
  t.equal((await rest.read(`/devicecontrol/operations/${operation.id}`)).status, 'SUCCESSFUL');
  t.same(device.rows('s/e'), []);
});

t.test('over MQTT the bootstrap user reaches s/ucr, s/dcr and s/e only', async (t) => {
  const options = { username: 'management/devicebootstrap', password: BOOTSTRAP_PASSWORD };
  const device = await connectDevice(t, server, 'mqtt-curious', options);
  for (const topic of ['s/dcr', 's/e'])
    t.same(
      (await device.client.subscribeAsync(topic, { qos: 1 })).map(({ qos }) => qos),
      [1],
      topic,
    );
  for (const topic of ['s/ds', 's/dat', 's/dc/#', 's/#', '#', 'devicecontrol/notifications', 'error']) {
    const granted = await device.client.subscribeAsync(topic, { qos: 1 }).then(
      (grants) => grants[0].qos,
      () => 0x80,
    );
    t.equal(granted, 0x80, topic);
  }
  for (const topic of ['s/us', 't/us', 's/us/child', 's/uat', 'event/events/create', 'other'])
    await device.publish(topic, '211,1');
  await eventually('rows on s/e', () => device.rows('s/e').length === 6);
  t.equal(await rest.idOf('mqtt-curious'), undefined, 'nothing was created');
  t.equal(await management.idOf('mqtt-curious'), undefined);
  await device.publish('s/ucr', '');
  t.equal((await rest.get(`${REQUESTS}/mqtt-curious`)).status, 404, 'a poll does not announce the device');
});

t.test('over HTTP the bootstrap user reaches device credentials only, and nobody else does', async (t) => {
  t.equal((await poll('nobody')).status, 404);
  t.equal((await rest.get(`${REQUESTS}/nobody`)).status, 404, 'a poll for an unknown id creates nothing');
  t.match(await rest.post('/devicecontrol/deviceCredentials', { id: 'x' }), {
    status: 403,
    json: { error: 'security/Forbidden' },
  });
  for (const path of [
    '/inventory/managedObjects',
    '/user/currentUser',
    '/tenant/currentTenant',
    '/devicecontrol/operations',
    REQUESTS,
    '/platform',
    '/event/events',
    '/measurement/measurements',
    '/identity/globalIds/1/externalIds',
  ])
    t.equal((await bootstrap.get(path)).status, 403, path);
  t.match(await poll(''), { status: 422 });
  t.match(await bootstrap.post('/devicecontrol/deviceCredentials', {}), {
    status: 422,
    json: { message: 'Following mandatory fields should be included: id' },
  });
  t.equal(
    (
      await new Rest(server.url, 'management/devicebootstrap', 'wrong').post('/devicecontrol/deviceCredentials', {
        id: 'x',
      })
    ).status,
    401,
  );
});

t.test('states of a request (docs/spec/device-registration.md#requests)', async (t) => {
  const rows: [state: string, trigger: 'poll' | 'accept' | 'delete', status: number, next: string | undefined][] = [
    ['WAITING_FOR_CONNECTION', 'accept', 422, 'WAITING_FOR_CONNECTION'],
    ['WAITING_FOR_CONNECTION', 'poll', 404, 'PENDING_ACCEPTANCE'],
    ['PENDING_ACCEPTANCE', 'poll', 404, 'PENDING_ACCEPTANCE'],
    ['PENDING_ACCEPTANCE', 'accept', 200, 'ACCEPTED'],
    ['ACCEPTED', 'accept', 422, 'ACCEPTED'],
    ['ACCEPTED', 'poll', 200, undefined],
    ['WAITING_FOR_CONNECTION', 'delete', 204, undefined],
    ['PENDING_ACCEPTANCE', 'delete', 204, undefined],
    ['ACCEPTED', 'delete', 204, undefined],
  ];
  for (const [index, [state, trigger, status, next]] of rows.entries()) {
    const id = `state-${index}`;
    await announce(id);
    if (state !== 'WAITING_FOR_CONNECTION') await poll(id);
    if (state === 'ACCEPTED') await accept(id);
    const answer =
      trigger === 'poll'
        ? await poll(id)
        : trigger === 'accept'
          ? await accept(id)
          : await rest.delete(`${REQUESTS}/${id}`);
    const after = await rest.get(`${REQUESTS}/${id}`);
    t.same(
      [answer.status, after.status === 404 ? undefined : after.json.status],
      [status, next],
      `${state} ${trigger}`,
    );
    if (next !== undefined) await rest.delete(`${REQUESTS}/${id}`);
  }
  t.equal((await accept('state-none')).status, 404);
  t.match(await rest.delete(`${REQUESTS}/state-none`), {
    status: 404,
    json: { message: 'Could not find newDeviceRequest by ID state-none' },
  });
  await announce('state-wrong');
  t.equal((await rest.put(`${REQUESTS}/state-wrong`, { status: 'WAITING_FOR_CONNECTION' })).status, 422);
  t.match(await rest.put(`${REQUESTS}/state-wrong`, {}), { status: 422, json: { error: 'undefined/validationError' } });
});

t.test('fields and ids', async (t) => {
  const group = (
    await rest.create('/inventory/managedObjects', { name: 'G', type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} })
  ).id;
  t.match(
    await announce('fields', {
      groupId: group,
      type: 'c8y_X',
      customProperties: { a: { b: 1.0 } },
      status: 'ACCEPTED',
      securityToken: 'y',
    }),
    {
      groupId: group,
      type: 'c8y_X',
      customProperties: { a: { b: 1 } },
      status: 'WAITING_FOR_CONNECTION',
      securityToken: undefined,
    },
  );
  t.match(await rest.post(REQUESTS, { id: 'fields' }), {
    status: 422,
    json: { error: 'devicecontrol/Non Unique Result' },
  });
  t.match(await management.post(REQUESTS, { id: 'fields' }), { status: 422 }, 'unique over all tenants');
  t.equal((await management.get(`${REQUESTS}/fields`)).status, 404, 'and seen by its own tenant only');
  t.equal((await management.delete(`${REQUESTS}/fields`)).status, 404);
  t.match(await rest.post(REQUESTS, {}), {
    status: 422,
    json: { error: 'undefined/validationError', message: /: id$/ },
  });
  for (const id of ['', '.', '..', 'a b', 'a/b', 'a:b', 'a+b', 'a$b', 'a\nb', 'x'.repeat(1001), 'ä'.repeat(900)])
    t.equal((await rest.post(REQUESTS, { id })).status, 422, id);
  t.equal((await rest.post(REQUESTS, { id: 'x'.repeat(1000) })).status, 201);
  t.equal((await rest.post(REQUESTS, { id: 17 })).status, 201);
  t.equal((await rest.get(`${REQUESTS}/17`)).json.id, '17');
  t.equal(
    (await rest.post(REQUESTS, { id: 'fields-2', groupId: '999999999' })).status,
    422,
    'a group that does not exist',
  );
  t.match(await rest.post(REQUESTS, { id: 'fields-3', customProperties: { a: 'x'.repeat(16_384) } }), {
    status: 422,
    json: { message: /customProperties .*16384 bytes/ },
  });
  t.match(await rest.post(REQUESTS, { id: 'fields-3', type: 'x'.repeat(1001) }), {
    status: 422,
    json: { message: /type .*1000 bytes/ },
  });
  t.equal((await rest.get(`${REQUESTS}/fields-3`)).status, 404);
  t.equal((await rest.post(REQUESTS, { id: 'fields-3', customProperties: { a: 'x'.repeat(16_000) } })).status, 201);
  const many = await Promise.all(Array.from({ length: 20 }, () => rest.post(REQUESTS, { id: 'at-once' })));
  t.same(
    many.map(({ status }) => status).sort(),
    [201, ...Array.from({ length: 19 }, () => 422)],
    'of many at once one is first',
  );
  const page = await rest.read(`${REQUESTS}?pageSize=2&withTotalPages=true&withTotalElements=true`);
  t.equal(page.newDeviceRequests.length, 2);
  t.match(page, {
    next: /currentPage=2/,
    statistics: { currentPage: 1, pageSize: 2, totalPages: Math.ceil(page.statistics.totalElements / 2) },
  });
});

t.test('the group is joined by the first object, over HTTP and MQTT', async (t) => {
  const group = (
    await rest.create('/inventory/managedObjects', { name: 'G', type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} })
  ).id;
  const credentialsOf = async (id: string): Promise<{ username: string; password: string }> => {
    await announce(id, { groupId: group });
    await poll(id);
    await accept(id);
    return (await poll(id)).json;
  };
  const { username, password } = await credentialsOf('join-1');
  const device = new Rest(server.url, `${TENANT}/${username}`, password);
  await device.create('/inventory/managedObjects', { name: 'no device' });
  const first = (await device.create('/inventory/managedObjects', { name: 'first', c8y_IsDevice: {} })).id;
  await device.create('/inventory/managedObjects', { name: 'second', c8y_IsDevice: {} });
  const other = await credentialsOf('join-2');
  const mqtt = await connectDevice(t, server, 'join-2', {
    username: `${TENANT}/${other.username}`,
    password: other.password,
  });
  await mqtt.publish('s/us', '100,By MQTT,my_Type');
  await mqtt.publish('s/us', '101,join-2-child,Child,my_Child');
  const members = (await rest.read(`/inventory/managedObjects/${group}/childAssets`)).references.map(
    ({ managedObject }: any) => managedObject.id,
  );
  t.same(members.sort(), [first, await rest.idOf('join-2')].sort());
});

t.test('an empty security token is none', async (t) => {
  await announce('token-empty');
  await poll('token-empty', { securityToken: '' });
  await policy('REQUIRED');
  t.match(await poll('token-empty', { securityToken: '' }), {
    status: 422,
    json: { message: /has shown no security token/ },
  });
  t.equal((await accept('token-empty', { securityToken: '' })).status, 422);
  await policy('OPTIONAL');
  t.equal((await accept('token-empty')).status, 200, 'nothing to compare');
  t.equal((await poll('token-empty', { securityToken: '' })).status, 200);
});

t.test('security tokens', async (t) => {
  await announce('token-1');
  await poll('token-1', { securityToken: 'one' });
  t.match(await accept('token-1'), {
    status: 422,
    json: { error: 'devicecontrol/Invalid Data', message: /security token/ },
  });
  t.equal((await accept('token-1', { securityToken: 'two' })).status, 422);
  await poll('token-1', { securityToken: 'two' });
  t.equal(
    (await accept('token-1', { securityToken: 'one' })).status,
    422,
    'a device that starts again shows another token',
  );
  t.equal((await rest.get(`${REQUESTS}/token-1`)).json.securityToken, undefined, 'it is not told');
  t.equal((await accept('token-1', { securityToken: 'two' })).status, 200);
  t.equal((await poll('token-1')).status, 404, 'only who shows the token gets the credentials');
  t.equal((await poll('token-1', { securityToken: 'one' })).status, 404);
  t.equal((await poll('token-1', { securityToken: 'two' })).status, 200);
  t.equal((await poll('token-1', { securityToken: 'x'.repeat(1001) })).status, 422);
  const device = await connectDevice(t, server, 'token-2', {
    username: 'management/devicebootstrap',
    password: BOOTSTRAP_PASSWORD,
  });
  await device.subscribe('s/dcr', 's/e');
  await announce('token-2');
  await device.publish('s/ucr', 'by mqtt');
  t.equal((await accept('token-2')).status, 422);
  t.equal((await accept('token-2', { securityToken: 'by mqtt' })).status, 200);
  await device.publish('s/ucr', 'by mqtt');
  await device.row('s/dcr', /^70,t1,device_token-2,/);
});

t.test('policies of security tokens', async (t) => {
  t.equal((await policy('REQUIRED')).status, 200);
  t.teardown(() => policy('OPTIONAL'));
  t.equal(
    (await rest.read('/tenant/system/options/device-registration/security-token.policy')).value,
    'REQUIRED',
    'front ends ask for it here',
  );
  t.same(await rest.read('/tenant/system/options/device-registration'), { 'security-token.policy': 'REQUIRED' });
  await announce('policy-1');
  t.match(await poll('policy-1'), { status: 422, json: { message: /security token/ } });
  t.equal(await statusOf('policy-1'), 'WAITING_FOR_CONNECTION');
  const device = await connectDevice(t, server, 'policy-1', {
    username: 'management/devicebootstrap',
    password: BOOTSTRAP_PASSWORD,
  });
  await device.subscribe('s/dcr', 's/e');
  await device.publish('s/ucr', '');
  await device.row('s/e', /^50,,.*security token/);
  await poll('policy-1', { securityToken: 's' });
  t.equal((await accept('policy-1')).status, 422);
  await policy('IGNORED');
  t.equal((await accept('policy-1')).status, 200);
  t.equal((await poll('policy-1')).status, 200);
});

t.test('a policy that does not exist is refused, an empty one is that of the server', async (t) => {
  t.match(await policy('required'), { status: 422, json: { message: /IGNORED, OPTIONAL, REQUIRED/ } });
  t.equal((await policy('')).status, 200);
  t.equal((await rest.read('/tenant/system/options/device-registration/security-token.policy')).value, 'OPTIONAL');
});

t.test('after five wrong security tokens a request is blocked until it is made again', async (t) => {
  await announce('token-guess');
  await poll('token-guess', { securityToken: 'right' });
  for (let guess = 1; guess < 5; guess += 1)
    t.match(await accept('token-guess', { securityToken: `guess ${guess}` }), {
      status: 422,
      json: { message: /not the one/ },
    });
  for (let without = 0; without < 6; without += 1)
    t.equal((await accept('token-guess')).status, 422, 'none is no guess');
  t.equal(await statusOf('token-guess'), 'PENDING_ACCEPTANCE');
  t.match(await accept('token-guess', { securityToken: 'guess 5' }), {
    status: 422,
    json: { message: /blocked after 5 .*device-registration\/wrong-tokens/ },
  });
  t.equal(await statusOf('token-guess'), 'BLOCKED');
  t.match(await accept('token-guess', { securityToken: 'right' }), { status: 422, json: { message: /blocked/ } });
  t.equal((await poll('token-guess', { securityToken: 'right' })).status, 404);
  t.equal(await statusOf('token-guess'), 'BLOCKED', 'the device does not end it');
  t.equal((await rest.delete(`${REQUESTS}/token-guess`)).status, 204);
  await announce('token-guess');
  await poll('token-guess', { securityToken: 'right' });
  t.equal((await accept('token-guess', { securityToken: 'right' })).status, 200);
  t.equal((await poll('token-guess', { securityToken: 'right' })).status, 200);
});

t.test(
  'a device that registers again gets a new password, the old one ends; polls at once: one gets them',
  async (t) => {
    const register = async (): Promise<string[]> => {
      await announce('again');
      await poll('again');
      await accept('again');
      const answers = await Promise.all(Array.from({ length: 8 }, () => poll('again')));
      t.same(answers.map(({ status }) => status).sort(), [200, 404, 404, 404, 404, 404, 404, 404]);
      return answers.filter(({ status }) => status === 200).map(({ json }) => json.password as string);
    };
    const [first] = await register();
    t.equal((await new Rest(server.url, `${TENANT}/device_again`, first).get('/user/currentUser')).status, 200);
    const [second] = await register();
    t.equal((await new Rest(server.url, `${TENANT}/device_again`, first).get('/user/currentUser')).status, 401);
    t.equal((await new Rest(server.url, `${TENANT}/device_again`, second).get('/user/currentUser')).status, 200);
  },
);

t.test('who accepts a device takes over no user with rights that he lacks, and enables none', async (t) => {
  const registrar = await user('reg-registrar', ['ROLE_DEVICE_CONTROL_ADMIN']);
  await user('device_reg-big', ['ROLE_USER_MANAGEMENT_ADMIN']);
  for (const id of ['reg-big', 'reg-usual']) {
    await announce(id);
    await poll(id);
  }
  t.equal((await registrar.put(`${REQUESTS}/reg-big`, { status: 'ACCEPTED' })).status, 403);
  t.match(
    (await registrar.post(`${REQUESTS}/acceptAll`, {})).json.filter(({ id }: any) => id.startsWith('reg-')),
    [
      { id: 'reg-big', successful: false },
      { id: 'reg-usual', successful: true },
    ],
  );
  t.equal((await poll('reg-big')).status, 404);
  t.equal((await poll('reg-usual')).status, 200);
  await rest.put(`/user/${TENANT}/users/device_reg-usual`, { enabled: false });
  await announce('reg-usual');
  await poll('reg-usual');
  t.equal((await registrar.put(`${REQUESTS}/reg-usual`, { status: 'ACCEPTED' })).status, 200);
  t.equal((await poll('reg-usual')).status, 200);
  t.equal((await rest.read(`/user/${TENANT}/users/device_reg-usual`)).enabled, false);
  t.equal((await accept('reg-big')).status, 200, 'an administrator has them');
});

t.test("the object that the serial is bound to becomes the device's, when who accepts may change owners", async (t) => {
  const controller = await user('controller', ['ROLE_DEVICE_CONTROL_READ', 'ROLE_DEVICE_CONTROL_ADMIN']);
  await announce('gateway');
  await poll('gateway');
  await accept('gateway');
  const { username, password } = (await poll('gateway')).json;
  const gateway = await connectDevice(t, server, 'gateway', { username: `${TENANT}/${username}`, password });
  await gateway.publish('s/us', '101,kid,Kid,my_Type');
  const id = (await rest.idOf('kid')) as string;
  await announce('kid');
  await poll('kid');
  t.match(await controller.put(`${REQUESTS}/kid`, { status: 'ACCEPTED' }), {
    status: 422,
    json: { message: new RegExp(`c8y_Serial kid is bound to .* ${id} of device_gateway;`) },
  });
  t.match((await controller.post(`${REQUESTS}/acceptAll`, {})).json, [
    { id: 'kid', successful: false, error: /of device_gateway/ },
  ]);
  t.equal(await statusOf('kid'), 'PENDING_ACCEPTANCE');
  t.equal((await accept('kid')).status, 200);
  t.equal((await rest.read(`/inventory/managedObjects/${id}`)).owner, 'device_kid');
  t.match(
    (await rest.read('/audit/auditRecords?type=Inventory&revert=true')).auditRecords.map(({ text }: any) => text),
    new Set([`New device request accepted: kid; its managed object ${id} belonged to device_gateway before`]) as any,
  );
  const of = (await poll('kid')).json;
  const kid = await connectDevice(t, server, 'kid', { username: `${TENANT}/${of.username}`, password: of.password });
  await kid.publish('s/us', '400,by-itself,text');
  t.same((await rest.read(`/inventory/managedObjects/${id}/deviceParents`)).references, [], 'no longer below it');
  t.same(
    (await rest.read(`/event/events?source=${id}`)).events.map(({ type }: any) => type),
    ['by-itself'],
  );
});

t.test('roles', async (t) => {
  const users: Record<string, Rest> = {
    nobody: await user('reg-nobody', []),
    reader: await user('reg-reader', ['ROLE_DEVICE_CONTROL_READ']),
    admin: await user('reg-admin', ['ROLE_DEVICE_CONTROL_ADMIN']),
    users: await user('reg-users', ['ROLE_USER_MANAGEMENT_ADMIN']),
    bootstrap,
  };
  const rows: [method: string, path: string, body: object | undefined, who: string[]][] = [
    ['GET', REQUESTS, undefined, ['reader']],
    ['GET', `${REQUESTS}/roles-1`, undefined, ['reader']],
    ['GET', `${REQUESTS}/limit`, undefined, ['reader']],
    ['POST', REQUESTS, { id: 'fields' }, ['admin']],
    ['PUT', `${REQUESTS}/roles-1`, { status: 'ACCEPTED' }, ['admin']],
    ['POST', `${REQUESTS}/acceptAll`, undefined, ['admin']],
    ['DELETE', `${REQUESTS}/roles-none`, undefined, ['admin', 'users']],
    ['POST', '/devicecontrol/deviceCredentials', { id: 'roles-none' }, ['bootstrap']],
  ];
  await announce('roles-1');
  for (const [method, path, body, who] of rows) {
    for (const [name, caller] of Object.entries(users)) {
      const { status } = await caller.request(method, path, body === undefined ? {} : { body });
      t.equal(status !== 403, who.includes(name), `${method} ${path} by ${name}: ${status}`);
    }
  }
});

t.test('@c8y/client: DeviceRegistrationService', async (t) => {
  const { deviceRegistration } = client;
  t.match((await deviceRegistration.create({ id: 'client-1', customProperties: { a: 'b' } })).data, {
    id: 'client-1',
    status: 'WAITING_FOR_CONNECTION',
  });
  t.match((await deviceRegistration.detail('client-1')).data, { id: 'client-1' });
  t.ok((await deviceRegistration.list({ pageSize: 2000 })).data.some(({ id }: any) => id === 'client-1'));
  const options = { basicAuth: { user: 'management/devicebootstrap', pass: BOOTSTRAP_PASSWORD } };
  t.equal(await deviceRegistration.bootstrap('client-1', options).catch((error: any) => error.res.status), 404);
  t.match((await deviceRegistration.accept('client-1')).data, { status: 'ACCEPTED' });
  t.match((await deviceRegistration.bootstrap('client-1', options)).data, {
    tenantId: TENANT,
    username: 'device_client-1',
    password: String,
  });
  for (const id of ['client-2', 'client-3', 'client-4']) await deviceRegistration.create({ id });
  await t.rejects(deviceRegistration.bootstrap({ id: 'client-2', securityToken: 'T' }, options));
  await t.rejects(deviceRegistration.bootstrap('client-3', options));
  const all = (await deviceRegistration.acceptAll()).data;
  t.match(
    all.find(({ id }: any) => id === 'client-2'),
    { successful: false, error: /security token/ },
  );
  t.match(
    all.find(({ id }: any) => id === 'client-3'),
    { successful: true },
  );
  t.notOk(
    all.some(({ id }: any) => id === 'client-4'),
    'the device has not asked yet',
  );
  t.match((await deviceRegistration.limit()).data, { isReached: false, deviceCount: Number });
  t.equal((await deviceRegistration.delete('client-4')).res.status, 204);
});

t.test('nothing but refusals is in the log', async (t) => {
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});

t.test('over SmartREST 1.0: row 61, until accepted 50 and 404, then the credentials once', async (t) => {
  const rows = async (who: Rest, body: string, headers: Record<string, string> = {}): Promise<string> => {
    const reply = await who.request('POST', '/s', {
      body,
      headers: { 'content-type': 'text/plain', accept: '', ...headers },
    });
    t.equal(reply.status, 200, body);
    return reply.text;
  };
  await announce('one-new');
  t.equal(await rows(bootstrap, '61,one-new'), '50,1,404');
  t.equal(await statusOf('one-new'), 'PENDING_ACCEPTANCE');
  t.equal(await rows(bootstrap, '61,nobody'), '50,1,404', 'nothing is announced by asking');
  t.equal((await rest.get(`${REQUESTS}/nobody`)).status, 404);
  await accept('one-new');
  t.match(
    await rows(bootstrap, '\r\n61,nobody\r\n61,"one-new"\r\n', { accept: 'application/json' }),
    /^50,1,404\n70,2,one-new,t1,device_one-new,[^,]{12,32}$/,
    'the number is that of the row: an empty line is none',
  );
  t.equal(await rows(bootstrap, '61,one-new'), '50,1,404', 'once');
  t.equal(
    await rows(bootstrap, '61\n61,a,b\n100,x\n61,"a'),
    '45,1,Wrong number of arguments\n45,2,Wrong number of arguments\n50,3,403\n42,4,Malformed Request',
  );
  t.equal(await rows(rest, '61,one-new'), '50,1,403', 'for the bootstrap user only');
  t.equal(await rows(rest, '', { 'x-id': 'some_1' }), '40,"No template for this X-ID."');
  t.equal(await rows(rest, '100,1\n101', { 'x-id': 'some_1' }), '40,"No template for this X-ID."', 'once for all rows');
  t.equal(
    await rows(rest, '15,some_1\n99'),
    '87,2,some_1\n40,1,"No template for this X-ID."\n40,2,"No template for this X-ID."',
  );
  t.equal(
    await rows(bootstrap, '10,100,GET,/inventory/managedObjects,,,,,', { 'x-id': 'some_1' }),
    '50,1,403',
    'the bootstrap user stores nothing',
  );
  t.equal((await fetch(`${server.url}/s`, { method: 'POST', body: '61,one-new' })).status, 401);
});
