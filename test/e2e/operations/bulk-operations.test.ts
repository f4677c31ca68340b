/** Bulk operations over groups, with `@c8y/client` and plain requests (docs/spec/bulk-operations.md). */
import { Client } from '@c8y/client';
import t from 'tap';
import type { Test } from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, notInCluster, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const BULK = '/devicecontrol/bulkoperations';
const PAST = '2024-01-01T00:00:00.000Z';
const FUTURE = '2200-01-01T00:00:00.000Z';
const PROTOTYPE = { description: 'Restart', c8y_Restart: {} };

const createGroup = async (name: string, type = 'c8y_DeviceGroup'): Promise<string> =>
  (await rest.create('/inventory/managedObjects', { name, type, c8y_IsDeviceGroup: {} })).id;
const addTo = (group: string, child: string, kind = 'childAssets') =>
  rest.create(`/inventory/managedObjects/${group}/${kind}`, { managedObject: { id: child } });
async function groupOf(count: number, name = 'Group'): Promise<{ group: string; devices: string[] }> {
  const group = await createGroup(name);
  const devices = await Promise.all(Array.from({ length: count }, (_, index) => rest.createDevice(`${name} ${index}`)));
  for (const device of devices) await addTo(group, device);
  return { group, devices: devices.sort((one, other) => Number(one) - Number(other)) };
}
const bulk = (members: object): Promise<any> =>
  rest.create(BULK, { startDate: PAST, creationRamp: 0.05, operationPrototype: PROTOTYPE, ...members });
const read = (id: string): Promise<any> => rest.read(`${BULK}/${id}`);
const operationsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/devicecontrol/operations?bulkOperationId=${id}&pageSize=2000`)).operations;
const completed = (id: string): Promise<any> =>
  eventually('all operations are created', async () => {
    const found = await read(id);
    return found.status === 'COMPLETED' && found;
  });
const setAll = async (operations: any[], status: string): Promise<void> => {
  for (const { id } of operations) await rest.put(`/devicecontrol/operations/${id}`, { status });
};
function addsUp(t: Test, { progress }: any, all: number): void {
  t.equal(progress.pending + progress.executing + progress.successful + progress.failed, progress.all);
  t.equal(progress.all, all);
}

t.test('each device of a static group, with its subgroups, gets the operation once', async (t) => {
  const { group, devices } = await groupOf(3);
  const subgroup = await createGroup('Sub', 'c8y_DeviceSubGroup');
  await addTo(group, subgroup);
  const [below, twice] = [await rest.createDevice('below'), devices[0]];
  await addTo(subgroup, below);
  await addTo(subgroup, twice);
  const linked = await rest.createDevice('linked by childDevices');
  await addTo(group, linked, 'childDevices');
  await addTo(below, await rest.createDevice('child of a device'), 'childDevices');
  const answer = await rest.post(BULK, {
    groupId: group,
    startDate: PAST,
    creationRamp: 0.05,
    operationPrototype: { ...PROTOTYPE, deviceId: '1', status: 'FAILED' },
    note: 'a note',
    my_Fragment: { a: 1 },
  });
  t.equal(answer.status, 201);
  const created = answer.json;
  t.equal(answer.headers.get('location'), `${server.url}${BULK}/${created.id}`);
  t.match(created, {
    self: `${server.url}${BULK}/${created.id}`,
    groupId: group,
    startDate: PAST,
    creationRamp: 0.05,
    operationPrototype: PROTOTYPE,
    status: 'ACTIVE',
    generalStatus: 'SCHEDULED',
    progress: { pending: 5, failed: 0, executing: 0, successful: 0, all: 5 },
    note: 'a note',
    my_Fragment: { a: 1 },
  });
  t.same(created.operationPrototype, PROTOTYPE, 'what each operation gets for itself is no part of the prototype');
  const done = await completed(created.id);
  t.match(done, { generalStatus: 'EXECUTING', progress: { pending: 5, all: 5 } });
  const operations = await operationsOf(created.id);
  t.same(
    operations.map(({ deviceId }) => deviceId),
    [...devices, below, linked].sort((one, other) => Number(one) - Number(other)),
  );
  for (const operation of operations)
    t.match(operation, { ...PROTOTYPE, status: 'PENDING', bulkOperationId: created.id });
});

t.test('the ramp: one after the other', async (t) => {
  const { group } = await groupOf(4, 'Ramp');
  const { id } = await bulk({ groupId: group, creationRamp: 0.3 });
  addsUp(t, await read(id), 4);
  await completed(id);
  const times = (await operationsOf(id)).map(({ creationTime }) => Date.parse(creationTime));
  // The times themselves are tested with a clock of its own (test/jobs/bulk-operation-scheduler.test.ts); a server that was
  // late makes two at once.
  t.ok(
    times.every((time, index) => index === 0 || time >= times[index - 1]) && times[3] > times[0],
    `one after the other: ${times.join()}`,
  );
});

t.test('progress and general status follow the operations and always add up', async (t) => {
  const { group, devices } = await groupOf(3, 'Progress');
  const { id } = await bulk({ groupId: group });
  await completed(id);
  const operations = await operationsOf(id);
  const rows: [index: number, status: string, general: string, progress: object][] = [
    [0, 'EXECUTING', 'EXECUTING', { pending: 2, executing: 1, successful: 0, failed: 0 }],
    [0, 'SUCCESSFUL', 'EXECUTING', { pending: 2, executing: 0, successful: 1, failed: 0 }],
    [1, 'FAILED', 'EXECUTING_WITH_ERRORS', { pending: 1, executing: 0, successful: 1, failed: 1 }],
    [2, 'SUCCESSFUL', 'FAILED', { pending: 0, executing: 0, successful: 2, failed: 1 }],
    [1, 'SUCCESSFUL', 'SUCCESSFUL', { pending: 0, executing: 0, successful: 3, failed: 0 }],
    [1, 'FAILED', 'FAILED', { pending: 0, executing: 0, successful: 2, failed: 1 }],
  ];
  for (const [index, status, generalStatus, progress] of rows) {
    await rest.put(`/devicecontrol/operations/${operations[index].id}`, { status });
    const found = await read(id);
    t.match(found, { status: 'COMPLETED', generalStatus, progress: { ...progress, all: 3 } }, `${index} ${status}`);
    addsUp(t, found, 3);
  }
  const again = await bulk({ failedParentId: id });
  t.match(again, { failedParentId: id, progress: { all: 1 } });
  t.equal(again.groupId, undefined);
  await completed(again.id);
  t.same(
    (await operationsOf(again.id)).map(({ deviceId }) => deviceId),
    [devices[1]],
    'only where it failed',
  );
});

t.test('a device without an agent fails, one that is deleted fails too', async (t) => {
  const { group, devices } = await groupOf(1, 'Agents');
  const plain = (await rest.create('/inventory/managedObjects', { name: 'plain', c8y_IsDevice: {} })).id;
  await addTo(group, plain);
  const { id } = await bulk({ groupId: group });
  await completed(id);
  // The members of a group are in the order of their ids, which those of two nodes do not have.
  const operations = await operationsOf(id);
  t.same(
    operations.map(({ deviceId }) => Number(deviceId)),
    [devices[0], plain].map(Number).sort((one, other) => one - other),
  );
  t.match(
    operations.find(({ deviceId }) => deviceId === devices[0]),
    { status: 'PENDING' },
  );
  t.match(
    operations.find(({ deviceId }) => deviceId === plain),
    { status: 'FAILED', failureReason: /no agent/ },
  );
  t.match(await read(id), { generalStatus: 'EXECUTING_WITH_ERRORS', progress: { pending: 1, failed: 1, all: 2 } });
  const gone = await groupOf(3, 'Gone');
  const slow = await bulk({ groupId: gone.group, creationRamp: 1 });
  await eventually('the first one is created', async () => (await operationsOf(slow.id)).length > 0);
  await rest.delete(`/inventory/managedObjects/${gone.devices[2]}`);
  const found = await completed(slow.id);
  t.match(found.progress, { pending: 2, failed: 1, all: 3 });
});

t.test("the tenant's option is the least creationRamp", async (t) => {
  const { group } = await groupOf(1, 'Ramp');
  const option = '/tenant/options/device-control/bulkoperation.creationramp';
  const members = { groupId: group, startDate: FUTURE, operationPrototype: PROTOTYPE };
  t.equal((await rest.put(option, { value: '2.5' })).status, 200);
  t.match(await rest.post(BULK, { ...members, creationRamp: 2.4 }), {
    status: 422,
    json: {
      error: 'devicecontrol/Invalid Data',
      message: /creationRamp.*2\.4.*2\.5.*device-control\/bulkoperation\.creationramp/,
    },
  });
  const { id } = await rest.create(BULK, { ...members, creationRamp: 2.5 });
  t.equal((await rest.put(`${BULK}/${id}`, { creationRamp: 1 })).status, 422);
  t.match(await rest.put(`${BULK}/${id}`, { note: 'x' }), { status: 200, json: { creationRamp: 2.5 } });
  await rest.delete(option);
  t.match(await rest.put(`${BULK}/${id}`, { creationRamp: 0.01 }), { status: 200, json: { creationRamp: 0.01 } });
});

t.test('a dynamic group is what its query finds when it starts', async (t) => {
  const group = (
    await rest.create('/inventory/managedObjects', {
      name: 'Smart',
      type: 'c8y_DynamicGroup',
      c8y_IsDynamicGroup: {},
      c8y_DeviceQueryString: "$filter=(type eq 'bulk_Type') $orderby=name",
    })
  ).id;
  const first = await rest.createDevice('Dynamic 1', { type: 'bulk_Type' });
  await rest.create('/inventory/managedObjects', { name: 'no device', type: 'bulk_Type' });
  const { id, progress, generalStatus } = await bulk({ groupId: group, startDate: FUTURE });
  t.match([progress.all, generalStatus], [1, 'SCHEDULED']);
  const second = await rest.createDevice('Dynamic 2', { type: 'bulk_Type' });
  t.same(await operationsOf(id), [], 'not before startDate');
  const startDate = new Date().toISOString();
  await rest.put(`${BULK}/${id}`, { startDate });
  addsUp(t, await completed(id), 2);
  const operations = await operationsOf(id);
  t.same(
    operations.map(({ deviceId }) => deviceId),
    [first, second],
  );
  t.ok(operations.every(({ creationTime }) => creationTime >= startDate));
  const wrong = (
    await rest.create('/inventory/managedObjects', {
      name: 'W',
      type: 'c8y_DynamicGroup',
      c8y_DeviceQueryString: '$filter=(',
    })
  ).id;
  t.equal(
    (await rest.post(BULK, { groupId: wrong, startDate: PAST, creationRamp: 1, operationPrototype: {} })).status,
    422,
  );
});

t.test('DELETE cancels: what is not yet created never is', async (t) => {
  const { group } = await groupOf(3, 'Cancel');
  const { id } = await bulk({ groupId: group, creationRamp: 60 });
  await eventually('the first one is created', async () => (await operationsOf(id)).length === 1);
  t.equal((await rest.delete(`${BULK}/${id}`)).status, 204);
  t.match(await read(id), { status: 'DELETED', generalStatus: 'CANCELED', progress: { pending: 1, all: 1 } });
  const ids = async (query: string): Promise<string[]> =>
    (await rest.read(`${BULK}?pageSize=2000${query}`)).bulkOperations.map((entry: any) => entry.id);
  t.notOk((await ids('')).includes(id));
  t.notOk((await ids('&withDeleted=false')).includes(id));
  t.ok((await ids('&withDeleted=true')).includes(id));
  t.match(await rest.put(`${BULK}/${id}`, { creationRamp: 0 }), {
    status: 422,
    json: { error: 'devicecontrol/Invalid Data', message: /DELETED/ },
  });
  t.equal((await rest.delete(`${BULK}/${id}`)).status, 204);
  t.equal((await operationsOf(id)).length, 1);
});

t.test('PUT changes what has not started; what has is cancelled and scheduled anew', async (t) => {
  const { group } = await groupOf(2, 'Put');
  const { id } = await bulk({ groupId: group, startDate: FUTURE, a: 1, b: 2 });
  const changed = await rest.put(`${BULK}/${id}`, {
    groupId: group,
    creationRamp: 60,
    note: 'later',
    a: null,
    b: 3,
    status: 'COMPLETED',
    progress: {},
  });
  t.match(changed, {
    status: 200,
    json: {
      id,
      creationRamp: 60,
      note: 'later',
      b: 3,
      startDate: FUTURE,
      status: 'ACTIVE',
      generalStatus: 'SCHEDULED',
    },
  });
  t.equal(changed.json.a, undefined);
  t.match(await rest.put(`${BULK}/${id}`, { groupId: '1' }), {
    status: 422,
    json: { error: 'devicecontrol/Invalid Data' },
  });
  t.equal((await rest.put(`${BULK}/${id}`, { startDate: 'soon' })).status, 422);
  t.equal((await rest.put(`${BULK}/${id}`, { startDate: PAST })).json.id, id);
  await eventually('the first one is created', async () => (await operationsOf(id)).length === 1);
  const anew = await rest.put(`${BULK}/${id}`, {
    creationRamp: 0.05,
    operationPrototype: { c8y_Command: { text: 'x' } },
  });
  t.equal(anew.status, 200);
  t.not(anew.json.id, id);
  t.equal(anew.headers.get('location'), `${server.url}${BULK}/${anew.json.id}`);
  t.match(await read(id), { status: 'DELETED', generalStatus: 'CANCELED', progress: { all: 1 } });
  await completed(anew.json.id);
  t.match(
    (await operationsOf(anew.json.id)).map(({ c8y_Command }) => c8y_Command),
    [{ text: 'x' }, { text: 'x' }],
  );
  t.match(await rest.put(`${BULK}/${anew.json.id}`, { note: 'x' }), { status: 422, json: { message: /COMPLETED/ } });
});

t.test('what is refused', async (t) => {
  const { group } = await groupOf(1, 'Refused');
  const good = { groupId: group, startDate: FUTURE, creationRamp: 1, operationPrototype: PROTOTYPE };
  const rows: [change: object, message: RegExp][] = [
    [{ groupId: undefined }, /mandatory fields should be included: groupId/],
    [
      { startDate: undefined, creationRamp: undefined, operationPrototype: undefined },
      /: creationRamp,operationPrototype,startDate$/,
    ],
    [{ failedParentId: '7' }, /failedParentId/],
    [{ groupId: '999999999' }, /does not exist/],
    [{ groupId: 'x' }, /does not exist/],
    [{ groupId: undefined, failedParentId: '999999999' }, /does not exist/],
    [{ startDate: 'tomorrow' }, /startDate/],
    [{ creationRamp: 'fast' }, /creationRamp/],
    [{ creationRamp: -1 }, /creationRamp/],
    [{ creationRamp: 1e9 }, /creationRamp/],
    [{ operationPrototype: 'x' }, /operationPrototype/],
    [{ operationPrototype: { count: 'x' } }, /count/],
    [{ operationPrototype: { 'a.b': 1 } }, /fragment/],
  ];
  for (const [change, message] of rows)
    t.match(await rest.post(BULK, { ...good, ...change }), { status: 422, json: { message } }, JSON.stringify(change));
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await rest.request(method, `${BULK}/999999999`, method === 'PUT' ? { body: { note: 'x' } } : {});
    t.match(
      answer,
      {
        status: 404,
        json: { error: 'devicecontrol/Not Found', message: /^Finding bulk operation from database failed/ },
      },
      method,
    );
  }
  t.equal((await rest.get(`${BULK}/x`)).status, 404);
});

t.test('filters and pages', async (t) => {
  const { group } = await groupOf(1, 'Filters');
  const ids: string[] = [];
  for (const day of [1, 2, 3])
    ids.push((await bulk({ groupId: group, startDate: `2199-01-0${day}T00:00:00.000Z` })).id);
  const [, second] = ids;
  // Lists are by id; of several nodes those are not in the order of the creations.
  ids.sort((one, other) => Number(one) - Number(other));
  const of = async (query: string): Promise<string[]> =>
    (await rest.read(`${BULK}?pageSize=2000&${query}`)).bulkOperations.map((entry: any) => entry.id);
  t.same(await of('dateFrom=2199-01-01&dateTo=2199-12-31'), ids, 'oldest first');
  t.same(await of('dateFrom=2199-01-02&dateTo=2199-01-02'), [second]);
  t.same(await of('dateFrom=2199-01-01&dateTo=2199-12-31&generalStatus=SCHEDULED'), ids);
  t.same(await of('dateFrom=2199-01-01&dateTo=2199-12-31&generalStatus=FAILED,EXECUTING'), []);
  t.equal((await rest.get(`${BULK}?generalStatus=x`)).status, 422);
  const page = await rest.read(
    `${BULK}?dateFrom=2199-01-01&dateTo=2199-12-31&pageSize=2&currentPage=2&withTotalPages=true&withTotalElements=true`,
  );
  t.match(page, {
    statistics: { currentPage: 2, pageSize: 2, totalPages: 2, totalElements: 3 },
    prev: /currentPage=1/,
  });
  t.same(
    page.bulkOperations.map((entry: any) => entry.id),
    [ids[2]],
  );
});

t.test('progress and verdict stay when operations are deleted', async (t) => {
  const { group } = await groupOf(3, 'Deleted operations');
  const { id } = await bulk({ groupId: group, creationRamp: 0 });
  await completed(id);
  const operations = await operationsOf(id);
  await setAll(operations.slice(0, 2), 'SUCCESSFUL');
  await setAll(operations.slice(2), 'FAILED');
  const want = { generalStatus: 'FAILED', progress: { pending: 0, executing: 0, successful: 2, failed: 1, all: 3 } };
  t.match(await read(id), want);
  t.equal((await rest.delete(`/devicecontrol/operations?bulkOperationId=${id}&status=FAILED`)).status, 204);
  await eventually('it is gone', async () => (await operationsOf(id)).length === 2);
  t.match(await read(id), want);
  t.equal(
    (await rest.delete(`/devicecontrol/operations?status=SUCCESSFUL&deviceId=${operations[0].deviceId}`)).status,
    204,
  );
  await eventually('it is gone too', async () => (await operationsOf(id)).length === 1);
  t.match(await read(id), want);
  const { bulkOperations } = await rest.read(`${BULK}?pageSize=2000&generalStatus=FAILED`);
  t.match(
    bulkOperations.find((entry: any) => entry.id === id),
    want,
  );
});

t.test('progress stays when devices are deleted', async (t) => {
  const { group } = await groupOf(4, 'Deleted devices');
  const { id } = await bulk({ groupId: group, creationRamp: 0 });
  await completed(id);
  const operations = await operationsOf(id);
  await setAll(operations.slice(0, 3), 'SUCCESSFUL');
  const want = { progress: { pending: 1, executing: 0, successful: 3, failed: 0, all: 4 } };
  t.match(await read(id), want);
  t.equal((await rest.delete(`/inventory/managedObjects/${operations[0].deviceId}`)).status, 204);
  await eventually('its operation is gone', async () => (await operationsOf(id)).length === 3);
  t.match(await read(id), want);
  t.equal((await rest.delete(`/inventory/managedObjects/${operations[1].deviceId}?cascade=true`)).status, 204);
  await eventually('its operation is gone too', async () => (await operationsOf(id)).length === 2);
  t.match(await read(id), want);
});

t.test('texts are bounded', async (t) => {
  const { group } = await groupOf(1, 'Large texts');
  const large = { c8y_Command: { text: 'x'.repeat(65_536) } };
  const good = { groupId: group, startDate: FUTURE, creationRamp: 1, operationPrototype: PROTOTYPE };
  const refused = (name: string) => ({
    status: 422,
    json: { message: new RegExp(`${name}.*655\\d\\d bytes.*65536 bytes \\(bulk-operations/text-bytes\\)`) },
  });
  t.match(await rest.post(BULK, { ...good, operationPrototype: large }), refused('operationPrototype'));
  t.match(await rest.post(BULK, { ...good, ...large }), refused('body'));
  const { id } = await bulk(good);
  t.match(await rest.put(`${BULK}/${id}`, { operationPrototype: large }), refused('operationPrototype'));
  t.match(await rest.put(`${BULK}/${id}`, large), refused('body'));
  t.same((await read(id)).operationPrototype, PROTOTYPE);
});

t.test('the audit log says what changed', async (t) => {
  const { group } = await groupOf(1, 'Audit');
  const { id } = await bulk({ groupId: group, startDate: FUTURE });
  await rest.put(`${BULK}/${id}`, { creationRamp: 7, note: 'later' });
  await rest.delete(`${BULK}/${id}`);
  const records = await eventually('the records', async () => {
    const { auditRecords } = await rest.read(`/audit/auditRecords?type=BulkOperation&source=${id}&revert=true`);
    return auditRecords.length === 3 && auditRecords;
  });
  t.match(
    records[0].changes.find(({ attribute }: any) => attribute === 'groupId'),
    { changeType: 'ADDED', newValue: group },
  );
  t.match(records[1], {
    text: `Bulk operation updated: ${id}: creationRamp changed from 0.05 to 7, note added`,
    changes: [
      { attribute: 'creationRamp', previousValue: 0.05, newValue: 7 },
      { attribute: 'note', newValue: 'later' },
    ],
  });
  t.match(records[2].changes, [{ attribute: 'status', previousValue: 'ACTIVE', newValue: 'DELETED' }]);
});

t.test('roles', async (t) => {
  const { group } = await groupOf(1, 'Roles');
  const { id } = await bulk({ groupId: group, startDate: FUTURE });
  for (const [name, role, may] of [
    ['reader', 'ROLE_BULK_OPERATION_READ', ['GET']],
    ['admin', 'ROLE_BULK_OPERATION_ADMIN', ['POST', 'PUT', 'DELETE']],
    ['other', 'ROLE_DEVICE_CONTROL_ADMIN', []],
  ] as const) {
    await rest.create(`/user/${TENANT}/users`, {
      userName: `bulk-${name}`,
      password: PASSWORD,
      roles: { references: [{ role: { id: role } }] },
    });
    const user = new Rest(server.url, `${TENANT}/bulk-${name}`, PASSWORD);
    const rows: [string, string, object | undefined][] = [
      ['GET', BULK, undefined],
      ['GET', `${BULK}/${id}`, undefined],
      ['POST', BULK, { groupId: group, startDate: FUTURE, creationRamp: 1, operationPrototype: {} }],
      ['PUT', `${BULK}/${id}`, { note: 'x' }],
      ['DELETE', `${BULK}/${id}`, undefined],
    ];
    for (const [method, path, body] of rows) {
      const { status } = await user.request(method, path, body === undefined ? {} : { body });
      t.equal(status !== 403, (may as readonly string[]).includes(method), `${method} ${path} by ${name}: ${status}`);
    }
  }
});

t.test('devices get their operations, an empty group is done at once', async (t) => {
  const group = await createGroup('MQTT');
  const device = await connectDevice(t, server, 'bulk-mqtt');
  await device.subscribe('s/ds');
  await device.publish('s/us', '100,Bulk,my_Type');
  await addTo(group, (await rest.idOf('bulk-mqtt')) as string);
  const { id } = await bulk({ groupId: group });
  await device.row('s/ds', '510,bulk-mqtt');
  await device.publish('s/us', '501,c8y_Restart\n503,c8y_Restart');
  t.match(await completed(id), { generalStatus: 'SUCCESSFUL', progress: { successful: 1, all: 1 } });
  const empty = await bulk({ groupId: await createGroup('Empty') });
  t.match(await completed(empty.id), { generalStatus: 'SUCCESSFUL', progress: { all: 0 } });
  const lost = await createGroup('Deleted before the start');
  const late = await bulk({ groupId: lost, startDate: FUTURE });
  await rest.delete(`/inventory/managedObjects/${lost}`);
  await rest.put(`${BULK}/${late.id}`, { startDate: PAST });
  t.match(await completed(late.id), { generalStatus: 'FAILED', failureReason: /does not exist/ });
});

const inOneStore = notInCluster('more requests than a small machine with three nodes answers in time');
t.test('large groups, without a ramp', { skip: inOneStore }, async (t) => {
  const group = await createGroup('Large');
  const ids: string[] = [];
  for (let from = 0; from < 1_200; from += 100) {
    ids.push(
      ...(await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const created = await rest.create(`/inventory/managedObjects/${group}/childAssets`, {
            name: `L${from + index}`,
            c8y_IsDevice: {},
            com_cumulocity_model_Agent: {},
          });
          return (created.managedObject ?? created).id as string;
        }),
      )),
    );
  }
  const { id } = await bulk({ groupId: group, creationRamp: 0 });
  addsUp(t, await read(id), 1_200);
  addsUp(t, await completed(id), 1_200);
  t.same((await operationsOf(id)).map(({ deviceId }) => deviceId).sort(), ids.sort());
});

t.test('@c8y/client: OperationBulkService', async (t) => {
  const { group } = await groupOf(2, 'Client');
  const created = await client.operationBulk.create({
    creationRamp: 0.05,
    groupId: group,
    operationPrototype: { c8y_Restart: {} },
    startDate: PAST,
  });
  t.match(created, { res: { status: 201 }, data: { status: 'ACTIVE' } });
  const { id } = created.data;
  await completed(id);
  t.match((await client.operationBulk.detail(id)).data, { id, progress: { all: 2 } });
  t.ok(
    (await client.operationBulk.list({ pageSize: 2000, withTotalPages: true })).data.some(
      (entry: any) => entry.id === id,
    ),
  );
  const { data } = await client.operationBulk.create({
    creationRamp: 1,
    groupId: group,
    operationPrototype: { c8y_Restart: {} },
    startDate: FUTURE,
  });
  t.match((await client.operationBulk.update({ ...data, creationRamp: 2 })).data, { id: data.id, creationRamp: 2 });
  t.equal((await client.operationBulk.delete(data.id)).res.status, 204);
  await setAll(await operationsOf(id), 'SUCCESSFUL');
  t.match((await client.operationBulk.detail(id)).data, { generalStatus: 'SUCCESSFUL' });
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
