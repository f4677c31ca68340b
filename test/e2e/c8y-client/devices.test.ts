/** `@c8y/client`, unmodified: operations, bulk operations, registration of devices one by one and by file. */
import { Client } from '@c8y/client';
import t from 'tap';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const BOOTSTRAP_PASSWORD = 'Boot-strap-9';
const SECRET = 'Analytical-1';
const BOOTSTRAP = { basicAuth: { user: 'management/devicebootstrap', pass: BOOTSTRAP_PASSWORD } };
const server = await startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] });
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);

/** The error that the client throws. */
const failure = (answer: Promise<any>): Promise<any> =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
const statusOf = async (answer: Promise<any>): Promise<number> => (await failure(answer))?.res.status;
const createDevice = async (name: string): Promise<string> =>
  (await client.inventory.create({ name, c8y_IsDevice: {}, com_cumulocity_model_Agent: {} })).data.id;
const idsOf = ({ data }: any): string[] => data.map(({ id }: any) => id);

t.test('OperationService', async (t) => {
  const device = await createDevice('Operated');
  const { data: created, res } = await client.operation.create({
    deviceId: device,
    description: 'Restart',
    c8y_Restart: {},
  });
  t.equal(res.status, 201);
  t.match(created, { status: 'PENDING', deviceId: device });
  t.match((await client.operation.update({ id: created.id, status: 'EXECUTING' })).data, { status: 'EXECUTING' });
  const { data: detail } = await client.operation.detail(created.id);
  t.match(detail, { id: created.id, deviceName: 'Operated', description: 'Restart' });
  t.same(idsOf(await client.operation.list({ deviceId: device, status: 'EXECUTING' })), [created.id]);
  t.same(idsOf(await client.operation.list({ agentId: device, status: 'PENDING' })), []);
  t.match(
    (await client.operation.update({ ...detail, status: 'FAILED', failureReason: 'no power' })).data,
    { status: 'FAILED', failureReason: 'no power' },
    'as it was read',
  );
  t.match(await failure(client.operation.create({ c8y_Restart: {} })), {
    res: { status: 422 },
    data: { message: /deviceId/ },
  });
});

t.test('OperationBulkService', async (t) => {
  const { data: group } = await client.inventory.create({
    name: 'Group',
    type: 'c8y_DeviceGroup',
    c8y_IsDeviceGroup: {},
  });
  const devices = [await createDevice('First'), await createDevice('Second')];
  await client.inventory.childAssetsBulkAdd(devices, group.id);
  const prototype = {
    operationPrototype: { c8y_Restart: {}, description: 'Restart device', deviceId: devices[0], status: 'PENDING' },
    groupId: group.id,
  };
  const { data: bulk, res } = await client.operationBulk.create({
    ...prototype,
    creationRamp: 0.05,
    startDate: '2024-05-02T10:00:00.000Z',
  });
  t.equal(res.status, 201);
  t.match(bulk, { status: 'ACTIVE', groupId: group.id, generalStatus: String });
  const operations = await eventually('an operation of each device', async () => {
    const { data } = await client.operation.list({ bulkOperationId: bulk.id, pageSize: 10 });
    return data.length === 2 && (data as { id: string; deviceId: string }[]);
  });
  t.same(operations.map(({ deviceId }) => deviceId).sort(), [...devices].sort());
  for (const { id } of operations) await client.operation.update({ id, status: 'SUCCESSFUL' });
  const { data: done } = await eventually('its end', async () => {
    const read = await client.operationBulk.detail(bulk.id);
    return read.data.generalStatus === 'SUCCESSFUL' && read;
  });
  t.match(done, { status: 'COMPLETED', progress: { all: 2, successful: 2, pending: 0, executing: 0, failed: 0 } });
  t.ok(idsOf(await client.operationBulk.list({ pageSize: 2000, withTotalPages: true })).includes(bulk.id));
  const { data: planned } = await client.operationBulk.create({
    ...prototype,
    creationRamp: 1,
    startDate: '2199-05-02T10:00:00.000Z',
  });
  t.match(
    (await client.operationBulk.update({ ...planned, creationRamp: 2 })).data,
    { id: planned.id, creationRamp: 2 },
    'as it was read',
  );
  t.equal((await client.operationBulk.delete(planned.id)).res.status, 204);
  t.notOk(idsOf(await client.operationBulk.list({ pageSize: 2000 })).includes(planned.id));
  t.equal((await client.operation.list({ bulkOperationId: planned.id })).data.length, 0);
});

t.test('DeviceRegistrationService', async (t) => {
  const { deviceRegistration } = client;
  const options = BOOTSTRAP;
  const { data: expected, res } = await deviceRegistration.create({ id: 'client#1', customProperties: { a: 'b' } });
  t.equal(res.status, 201);
  t.match(expected, { id: 'client#1', status: 'WAITING_FOR_CONNECTION', customProperties: { a: 'b' } });
  t.match((await deviceRegistration.detail('client#1')).data, { id: 'client#1', tenantId: TENANT });
  t.same(idsOf(await deviceRegistration.list({ pageSize: 2000 })), ['client#1']);
  t.equal(await statusOf(deviceRegistration.create({ id: 'client#1' })), 422);
  t.equal(await statusOf(deviceRegistration.bootstrap('client#1', options)), 404);
  t.match((await deviceRegistration.detail('client#1')).data, { status: 'PENDING_ACCEPTANCE' });
  t.match((await deviceRegistration.accept('client#1')).data, { status: 'ACCEPTED' });
  const { data: credentials } = await deviceRegistration.bootstrap('client#1', options);
  t.match(credentials, { tenantId: TENANT, username: 'device_client#1', password: String });
  t.equal(await statusOf(deviceRegistration.detail('client#1')), 404, 'the request is done');
  for (const id of ['client-2', 'client-3', 'client-4', 'client-5']) await deviceRegistration.create({ id });
  for (const id of ['client-2', 'client-5'])
    t.equal(await statusOf(deviceRegistration.bootstrap({ id, securityToken: 'T' }, options)), 404);
  t.equal(await statusOf(deviceRegistration.bootstrap('client-3', options)), 404);
  t.equal(await statusOf(deviceRegistration.accept('client-5', 'other')), 422, 'another token than that of the device');
  t.match((await deviceRegistration.accept('client-5', 'T')).data, { status: 'ACCEPTED' });
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
  const before = (await deviceRegistration.limit()).data;
  await createDevice('One more');
  t.same((await deviceRegistration.limit()).data, { isReached: false, deviceCount: before.deviceCount + 1 });
  t.equal((await deviceRegistration.delete('client-4')).res.status, 204);
  t.same(idsOf(await deviceRegistration.list({ pageSize: 2000 })), ['client-2', 'client-3', 'client-5']);
});

t.test('DeviceRegistrationBulkService', async (t) => {
  const { res, data } = await client.deviceRegistrationBulk.create(
    Buffer.from(`ID,CREDENTIALS,TYPE,NAME,PATH\nfile-1,${SECRET},c_Type,From a file,Plant/Hall\n,x,,,`),
  );
  t.equal(res.status, 201);
  t.match(data, {
    numberOfAll: 2,
    numberOfSuccessful: 1,
    numberOfFailed: 1,
    failedCreationList: [{ bulkNewDeviceStatus: 'FAILED' }],
  });
  const { data: identity } = await client.identity.detail({ type: 'c8y_Serial', externalId: 'file-1' });
  t.match((await client.inventory.detail(identity.managedObject.id)).data, {
    name: 'From a file',
    type: 'c_Type',
    owner: 'device_file-1',
  });
  t.equal((await client.inventory.count({ text: 'Hall' })).data, 1, 'its group');
  const device: any = await Client.authenticate(
    { tenant: TENANT, user: 'device_file-1', password: SECRET },
    server.url,
  );
  t.equal((await device.user.current()).data.userName, 'device_file-1');
  t.equal(await statusOf(client.identity.detail({ type: 'c8y_Serial', externalId: 'none' })), 404);
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('devices'), []);
});
