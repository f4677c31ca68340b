/** Operations: filters, fields, transitions, agents, audit, roles (docs/spec/operations.md). */
import { Client } from '@c8y/client';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const PATH = '/devicecontrol/operations';
const create = (deviceId: string, fragments: object = { c8y_Restart: {} }): Promise<any> =>
  rest.create(PATH, { deviceId, ...fragments });
const list = async (query: string): Promise<any[]> => (await rest.read(`${PATH}?pageSize=2000&${query}`)).operations;
const ids = async (query: string): Promise<string[]> => (await list(query)).map(({ id }) => id);
const object = async (name: string, fragments: object = { c8y_IsDevice: {} }): Promise<string> =>
  (await rest.create('/inventory/managedObjects', { name, ...fragments })).id;
const link = (parent: string, child: string, kind: string) =>
  rest.create(`/inventory/managedObjects/${parent}/${kind}`, { managedObject: { id: child } });

t.test('fields of POST and PUT (docs/spec/operations.md#fields)', async (t) => {
  const device = await rest.createDevice('Fields');
  const sent = {
    deviceId: device,
    description: 'd',
    c8y_Restart: {},
    deliveryType: 'SMS',
    c8y_CommunicationMode: { mode: 'SMS' },
    com_cumulocity_model_X: { y: 1 },
    id: '1',
    self: 'x',
    creationTime: '2000-01-01T00:00:00.000Z',
    deviceName: 'x',
    deviceExternalIDs: {},
    bulkOperationId: '5',
    status: 'FAILED',
    failureReason: 'x',
  };
  const answer = await rest.post(PATH, sent);
  const { id } = answer.json;
  t.equal(answer.status, 201);
  t.equal(answer.headers.get('location'), `${server.url}${PATH}/${id}`);
  t.match(answer.json, {
    self: `${server.url}${PATH}/${id}`,
    deviceId: device,
    deviceName: 'Fields',
    status: 'PENDING',
    description: 'd',
    c8y_Restart: {},
    deliveryType: 'SMS',
    c8y_CommunicationMode: { mode: 'SMS' },
    com_cumulocity_model_X: { y: 1 },
  });
  t.ok(Date.parse(answer.json.creationTime) > Date.now() - 60_000);
  for (const name of ['bulkOperationId', 'failureReason']) t.equal(answer.json[name], undefined, name);
  t.same(await rest.read(`${PATH}/${id}`), answer.json);
  const rows: [change: object, status: number, result: object][] = [
    [{ status: 'EXECUTING', description: 'e', more: 1 }, 200, { status: 'EXECUTING', description: 'e', more: 1 }],
    [
      { status: 'EXECUTING', deviceId: device, id, creationTime: answer.json.creationTime },
      200,
      { status: 'EXECUTING' },
    ],
    [{ status: 'EXECUTING', deviceId: '1' }, 422, {}],
    [{ status: 'EXECUTING', bulkOperationId: '1' }, 422, {}],
    [{ status: 'EXECUTING', creationTime: '2000-01-01T00:00:00.000Z' }, 422, {}],
    [{ description: 'no status' }, 422, { message: 'Following mandatory fields should be included: status' }],
    [{ status: 'DONE' }, 422, { error: 'devicecontrol/Invalid Data' }],
    [{ status: 'SUCCESSFUL', failureReason: 'why' }, 200, { status: 'SUCCESSFUL' }],
    [{ status: 'FAILED', failureReason: 'why' }, 200, { status: 'FAILED', failureReason: 'why' }],
  ];
  for (const [change, status, result] of rows) {
    const put = await rest.put(`${PATH}/${id}`, change);
    t.match(put, { status, json: result }, JSON.stringify(change));
    if (status === 200 && put.json.status !== 'FAILED') t.equal(put.json.failureReason, undefined);
  }
  t.equal(
    (await rest.request('PUT', `${PATH}/${id}`, { body: { status: 'FAILED' }, headers: { accept: '' } })).status,
    200,
  );
});

t.test('transitions: any status from any other', async (t) => {
  const device = await rest.createDevice('Transitions');
  const statuses = ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'];
  for (const from of statuses) {
    for (const to of statuses) {
      const { id } = await create(device);
      if (from !== 'PENDING')
        await rest.put(`${PATH}/${id}`, { status: from, ...(from === 'FAILED' ? { failureReason: 'x' } : {}) });
      const put = await rest.put(`${PATH}/${id}`, { status: to });
      t.match(put, { status: 200, json: { status: to } }, `${from} -> ${to}`);
      t.equal(put.json.failureReason, from === 'FAILED' && to === 'FAILED' ? 'x' : undefined);
    }
  }
});

t.test('refusals', async (t) => {
  const plain = await object('No agent');
  const rows: [body: object, json: object][] = [
    [{}, { error: 'undefined/validationError', message: 'Following mandatory fields should be included: deviceId' }],
    [{ deviceId: '999999999' }, { error: 'devicecontrol/Invalid Data' }],
    [{ deviceId: 'x' }, { error: 'devicecontrol/Invalid Data' }],
    [
      { deviceId: plain },
      { error: 'devicecontrol/Invalid Data', message: /not an agent and has no agent among its ancestors/ },
    ],
    [{ deviceId: plain, 'a.b': 1 }, { error: 'devicecontrol/Invalid Data' }],
  ];
  for (const [body, json] of rows) t.match(await rest.post(PATH, body), { status: 422, json }, JSON.stringify(body));
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { status: 'FAILED' }],
  ] as const) {
    for (const id of ['999999999', 'x']) {
      t.match(await rest.request(method, `${PATH}/${id}`, body === undefined ? {} : { body }), {
        status: 404,
        json: { error: 'devicecontrol/Not Found', message: /No operation for gid/ },
      });
    }
  }
  t.equal((await rest.get(`${PATH}?status=DONE`)).status, 422);
});

t.test('the agent: the device itself or one above it, by childDevices or as its service', async (t) => {
  const rows: [kind: string, marker: string, is: boolean][] = [
    ['childDevices', 'com_platform_model_Agent', true],
    ['childDevices', 'com_cumulocity_model_Agent', true],
    ['childAdditions', 'com_platform_model_Agent', true],
    ['childAssets', 'com_platform_model_Agent', false],
    ['childDevices', 'c8y_Other', false],
  ];
  for (const [kind, marker, is] of rows) {
    const agent = await object('Agent', { c8y_IsDevice: {}, [marker]: {} });
    const middle = await object('Middle');
    const device = await object('Device');
    await link(agent, middle, kind);
    await link(middle, device, kind);
    const answer = await rest.post(PATH, { deviceId: device, c8y_Restart: {} });
    t.equal(answer.status, is ? 201 : 422, `${kind} ${marker}`);
    if (is) t.same(await ids(`agentId=${agent}`), [answer.json.id]);
  }
});

t.test('GET filters, each and together', async (t) => {
  const agent = await rest.createDevice('Agent');
  const child = await object('Child');
  await link(agent, child, 'childDevices');
  await rest.create(`/identity/globalIds/${child}/externalIds`, { type: 'c8y_Serial', externalId: 'filter-child' });
  const one = await create(agent);
  const two = await create(child, { c8y_Command: { text: 'x' } });
  const three = await create(child);
  await rest.put(`${PATH}/${three.id}`, { status: 'EXECUTING' });
  const rows: [query: string, want: string[]][] = [
    [`agentId=${agent}`, [one.id, two.id, three.id]],
    [`deviceId=${child}`, [two.id, three.id]],
    [`deviceId=${agent}`, [one.id]],
    [`agentId=${child}`, []],
    [`agentId=${agent}&status=PENDING`, [one.id, two.id]],
    [`agentId=${agent}&status=EXECUTING`, [three.id]],
    [`deviceId=${child}&status=PENDING`, [two.id]],
    [`agentId=${agent}&fragmentType=c8y_Command`, [two.id]],
    [`agentId=${agent}&bulkOperationId=5`, []],
    [`agentId=${agent}&dateFrom=${one.creationTime}&dateTo=${three.creationTime}`, [one.id, two.id, three.id]],
    [`agentId=${agent}&dateTo=2001-01-01`, []],
    [`agentId=${agent}&dateFrom=2200-01-01`, []],
    [`agentId=${agent}&revert=true`, [three.id, two.id, one.id]],
    ['agentId=x', []],
    ['deviceId=x', []],
    ['bulkOperationId=x', []],
  ];
  for (const [query, want] of rows) t.same(await ids(query), want, query);
  const [first, second] = await list(`agentId=${agent}`);
  t.match(second.deviceExternalIDs, {
    externalIds: [{ type: 'c8y_Serial', externalId: 'filter-child' }],
    self: `${server.url}/identity/globalIds/${child}/externalIds`,
  });
  t.equal(first.deviceName, 'Agent');
  t.same((await list(`deviceId=${child}`))[0].deviceExternalIDs, second.deviceExternalIDs, 'without agentId too');
  const page = await rest.read(`${PATH}?agentId=${agent}&pageSize=2&withTotalPages=true&withTotalElements=true`);
  t.match(page, {
    next: /currentPage=2/,
    statistics: { totalPages: 2, totalElements: 3, currentPage: 1, pageSize: 2 },
  });
});

t.test('a device that comes to another agent takes its operations along', async (t) => {
  const [old, other] = [await rest.createDevice('Old agent'), await rest.createDevice('Other agent')];
  const [device, below] = [await object('Moving'), await object('Below')];
  await link(old, device, 'childDevices');
  await link(device, below, 'childDevices');
  const [one, two] = [await create(device), await create(below)];
  await rest.put(`${PATH}/${one.id}`, { status: 'SUCCESSFUL' });
  t.same(await ids(`agentId=${old}`), [one.id, two.id]);
  await rest.delete(`/inventory/managedObjects/${old}/childDevices/${device}`);
  t.same(await ids(`agentId=${old}`), []);
  await link(other, device, 'childDevices');
  t.same(await ids(`agentId=${other}`), [one.id, two.id], 'also those that are over');
  t.same(await ids(`agentId=${other}&status=PENDING`), [two.id]);
  t.equal((await rest.delete(`${PATH}?agentId=${old}`)).status, 204);
  await rest.put(`/inventory/managedObjects/${other}`, { com_cumulocity_model_Agent: null });
  t.same(await ids(`agentId=${other}`), [], 'what is no agent any more has none');
  t.equal((await rest.delete(`${PATH}?agentId=${other}`)).status, 204, 'and deletes none');
  await rest.put(`/inventory/managedObjects/${other}`, { com_platform_model_Agent: {} });
  t.same(await ids(`agentId=${other}`), [one.id, two.id]);
  t.equal((await rest.delete(`${PATH}?agentId=${other}&status=PENDING`)).status, 204);
  await eventually('the one below is deleted', async () => (await rest.get(`${PATH}/${two.id}`)).status === 404);
  t.same(await ids(`agentId=${other}`), [one.id]);
});

t.test('operations of an agent with more devices than are looked up one by one', async (t) => {
  const agent = await rest.createDevice('Many devices');
  const device = async (parent: string, kind: string): Promise<string> =>
    (await rest.create(`/inventory/managedObjects/${parent}/${kind}`, { name: 'One of many', c8y_IsDevice: {} })).id;
  const gateway = await device(agent, 'childDevices');
  const [leaf, service, member] = [
    await device(gateway, 'childDevices'),
    await device(gateway, 'childAdditions'),
    await device(gateway, 'childAssets'),
  ];
  const markers = { com_platform_model_Agent: {} };
  await rest.put(`/inventory/managedObjects/${member}`, markers);
  const wanted = [await create(agent), await create(gateway), await create(leaf), await create(service)];
  await create(member);
  t.same(
    await ids(`agentId=${agent}`),
    wanted.map(({ id }) => id),
  );
  for (let made = 0; made < 1_000; made += 100)
    await Promise.all(Array.from({ length: 100 }, () => device(agent, 'childDevices')));
  await eventually(
    'the links are in the history too',
    async () => (await ids(`agentId=${agent}`)).length === wanted.length,
  );
  t.same(
    await ids(`agentId=${agent}`),
    wanted.map(({ id }) => id),
    'assets of a device are none of them',
  );
  t.same(await ids(`agentId=${agent}&deviceId=${leaf}`), [wanted[2].id]);
});

t.test('DELETE by filters', async (t) => {
  const agent = await rest.createDevice('Deleted');
  const [one, two, three] = [await create(agent), await create(agent), await create(agent)];
  await rest.put(`${PATH}/${one.id}`, { status: 'FAILED' });
  t.equal((await rest.delete(`${PATH}?deviceId=${agent}&status=FAILED`)).status, 204);
  await eventually('one is deleted', async () => (await rest.get(`${PATH}/${one.id}`)).status === 404);
  t.same(await ids(`deviceId=${agent}`), [two.id, three.id]);
  t.equal(
    (await rest.delete(`${PATH}?agentId=${agent}&dateFrom=${two.creationTime}&dateTo=${two.creationTime}`)).status,
    204,
  );
  await eventually('two is deleted', async () => (await rest.get(`${PATH}/${two.id}`)).status === 404);
  t.equal((await rest.delete(`${PATH}?agentId=x`)).status, 204, 'what is no id deletes nothing');
  t.same(await ids(`deviceId=${agent}`), [three.id]);
  const four = await create(agent, { c8y_Four: {} });
  for (const query of ['fragmentType=c8y_NoSuch', 'bulkOperationId=999999999'])
    t.equal((await rest.delete(`${PATH}?${query}`)).status, 204, query);
  t.equal((await rest.delete(`${PATH}?fragmentType=c8y_Four`)).status, 204);
  await eventually('four is deleted', async () => (await rest.get(`${PATH}/${four.id}`)).status === 404);
  t.same(await ids(`deviceId=${agent}`), [three.id], 'filters that nothing fulfils delete nothing');
});

t.test('audit records', async (t) => {
  const device = await rest.createDevice('Audited');
  const { id } = await create(device, { description: 'Restart it', c8y_Restart: {} });
  await rest.put(`${PATH}/${id}`, { status: 'EXECUTING' });
  await rest.put(`${PATH}/${id}`, { status: 'EXECUTING' });
  const { auditRecords } = await rest.read(`/audit/auditRecords?source=${id}&revert=true`);
  t.match(
    auditRecords.map(({ activity, text, user, type }: any) => ({ activity, text, user, type })),
    [
      { activity: 'Operation created', text: /PENDING.*Restart it/, user: 'admin', type: 'Operation' },
      { activity: 'Operation updated', text: /from PENDING to EXECUTING/, user: 'admin', type: 'Operation' },
    ],
    'the same again is no change',
  );
  t.equal(auditRecords.length, 2);
  t.match(auditRecords[1].changes, [{ attribute: 'status', previousValue: 'PENDING', newValue: 'EXECUTING' }]);
});

t.test('507 changes several at once, each with its audit record', async (t) => {
  const device = await connectDevice(t, server, 'op-507');
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us', '100,Many,my_Type');
  const id = (await rest.idOf('op-507')) as string;
  const operations = await Promise.all(Array.from({ length: 7 }, () => create(id)));
  for (const operation of operations) await rest.put(`${PATH}/${operation.id}`, { status: 'EXECUTING' });
  // What the device says next is about none of them any more.
  await device.publish('s/us', '507\n503,c8y_Restart');
  t.same(
    (await list(`deviceId=${id}`)).map(({ status }) => status),
    Array.from({ length: 7 }, () => 'FAILED'),
  );
  await device.row('s/e', /^50,503/);
});

t.test('operations of a service reach its device; TRANSIENT ones are delivered and not stored', async (t) => {
  const device = await connectDevice(t, server, 'op-gateway');
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us', '100,Gateway,my_Type');
  await device.publish('s/us', '102,op-service,systemd,Service,up');
  await create((await rest.idOf('op-service')) as string, { c8y_Command: { text: 'status' } });
  await device.row('s/ds', '511,op-service,status');
  const gateway = (await rest.idOf('op-gateway')) as string;
  const answer = await rest.request('POST', PATH, {
    body: { deviceId: gateway, c8y_Command: { text: 'now' } },
    headers: { 'x-platform-processing-mode': 'TRANSIENT' },
  });
  t.match(answer, { status: 201, json: { id: null, status: 'PENDING', deviceId: gateway } });
  t.equal(answer.headers.get('location'), null);
  await device.row('s/ds', '511,op-gateway,now');
  t.same(await list(`deviceId=${gateway}`), []);
  const stored = await create(gateway, { c8y_Command: { text: 'later' } });
  await device.row('s/ds', '511,op-gateway,later');
  await rest.put(`${PATH}/${stored.id}`, { status: 'FAILED', failureReason: 'busy' });
  const transient = {
    body: { status: 'PENDING', c8y_Command: { text: 'again' } },
    headers: { 'x-platform-processing-mode': 'TRANSIENT' },
  };
  t.match(await rest.request('PUT', `${PATH}/${stored.id}`, transient), { status: 200, json: { status: 'PENDING' } });
  await device.row('s/ds', '511,op-gateway,again');
  t.match(await rest.read(`${PATH}/${stored.id}`), {
    status: 'FAILED',
    failureReason: 'busy',
    c8y_Command: { text: 'later' },
  });
  t.equal((await rest.read(`/audit/auditRecords?source=${stored.id}&pageSize=100`)).auditRecords.length, 2);
});

t.test('a device that comes back gets what is PENDING once, and what is set to PENDING again', async (t) => {
  const first = await connectDevice(t, server, 'op-again');
  await first.publish('s/us', '100,Again,my_Type');
  const id = (await rest.idOf('op-again')) as string;
  const operation = await create(id);
  await first.subscribe('s/ds');
  await first.row('s/ds', '510,op-again');
  await first.publish('s/us', '501,c8y_Restart\n502,c8y_Restart,no');
  await rest.put(`${PATH}/${operation.id}`, { status: 'PENDING' });
  await eventually('delivered again', () => first.rows('s/ds').length === 2);
  await first.end();
  const second = await connectDevice(t, server, 'op-again');
  await second.subscribe('s/ds');
  await second.row('s/ds', '510,op-again');
  t.equal(second.rows('s/ds').length, 1);
});

t.test('roles and owners', async (t) => {
  const device = await rest.createDevice('Owned', { owner: 'op-owner' });
  const { id } = await create(device);
  const rows: [name: string, role: string | undefined, may: string[]][] = [
    ['op-reader', 'ROLE_DEVICE_CONTROL_READ', ['GET list', 'GET']],
    ['op-admin', 'ROLE_DEVICE_CONTROL_ADMIN', ['POST', 'PUT', 'DELETE']],
    ['op-owner', undefined, ['GET', 'POST', 'PUT']],
    ['op-stranger', undefined, []],
  ];
  for (const [name, role, may] of rows) {
    await rest.create(`/user/${TENANT}/users`, {
      userName: name,
      password: PASSWORD,
      roles: { references: role === undefined ? [] : [{ role: { id: role } }] },
    });
    const user = new Rest(server.url, `${TENANT}/${name}`, PASSWORD);
    const calls: [string, () => Promise<{ status: number }>][] = [
      ['GET', () => user.get(`${PATH}/${id}`)],
      ['POST', () => user.post(PATH, { deviceId: device, c8y_Restart: {} })],
      ['PUT', () => user.put(`${PATH}/${id}`, { status: 'EXECUTING' })],
      ['DELETE', () => user.delete(`${PATH}?deviceId=999999999`)],
    ];
    for (const [what, call] of calls) {
      const { status } = await call();
      t.equal(status < 300, may.includes(what), `${what} by ${name}: ${status}`);
    }
    const seen =
      (await user.read(`${PATH}?deviceId=${device}`).catch(() => ({ operations: [] }))).operations.length > 0;
    t.equal(seen, may.includes('GET'), `the list of ${name}`);
  }
});

t.test('@c8y/client: OperationService and IdentityService', async (t) => {
  const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
  const device = await rest.createDevice('Client');
  const { data } = await client.operation.create({ deviceId: device, c8y_Restart: {} });
  t.match(data, { status: 'PENDING', deviceId: device });
  t.match((await client.operation.update({ id: data.id, status: 'EXECUTING' })).data, { status: 'EXECUTING' });
  const { data: detail } = await client.operation.detail(data.id);
  t.match(detail, { status: 'EXECUTING', deviceName: 'Client' });
  t.match(
    (await client.operation.update({ ...detail, status: 'SUCCESSFUL' })).data,
    { status: 'SUCCESSFUL' },
    'as it was read',
  );
  t.same(
    (await client.operation.list({ deviceId: device })).data.map(({ id }: any) => id),
    [data.id],
  );
  const identity = { type: 'my_Type', externalId: 'op-client', managedObject: { id: device } };
  t.equal((await client.identity.create(identity)).res.status, 201);
  t.equal((await client.identity.detail(identity)).data.managedObject.id, device);
  t.match((await client.identity.list(device)).data, [{ externalId: 'op-client' }]);
  t.equal((await client.identity.delete(identity)).res.status, 204);
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
