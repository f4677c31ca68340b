/** `@c8y/client`, unmodified: the methods of its services that the other files do not use (c8y-client-methods.test.ts counts them). */
import { BasicAuth, Client, TrustedCertificateService } from '@c8y/client';
import t from 'tap';
import { CertificateFactory } from '../helpers/certificates.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, startServer } from '../helpers/running-server.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const management: any = new Client(new BasicAuth({ tenant: 'management', user: 'admin', password: MANAGEMENT_PASSWORD }), server.url);
management.core.tenant = 'management';
const TIME = '2024-05-02T10:00:00.000Z';
const idsOf = ({ data }: any): string[] => data.map(({ id }: any) => id).sort();

t.test('InventoryService: counts, queries, children', async (t) => {
  const { data: device } = await client.inventory.create({ name: 'Queried', type: 'q_Type', c8y_IsDevice: {} });
  const { data: asset } = await client.inventory.create({ name: 'Asset', type: 'q_Type' });
  t.equal((await client.inventory.count({ type: 'q_Type' })).data, 2);
  t.same(idsOf(await client.inventory.listQuery({ type: 'q_Type', name: 'Asset' })), [asset.id]);
  t.same(idsOf(await client.inventory.listQueryDevices({ type: 'q_Type' })), [device.id]);
  t.equal((await client.inventory.childAdditionsCreate({ name: 'addition' }, asset.id)).res.status, 201);
  t.equal((await client.inventory.childAssetsCreate({ name: 'below' }, asset.id)).res.status, 201);
  const { data: one } = await client.inventory.create({ name: 'one' });
  const { data: two } = await client.inventory.create({ name: 'two' });
  await client.inventory.childAdditionsBulkAdd([one.id, two.id], device.id);
  await client.inventory.childDevicesBulkAdd([one.id, two.id], device.id);
  t.same(idsOf(await client.inventory.childAdditionsList(device.id)), [one.id, two.id].sort());
  t.same(idsOf(await client.inventory.childDevicesList(device.id)), [one.id, two.id].sort());
});

t.test('InventoryService: supported measurements and series; MeasurementService: a file', async (t) => {
  const { data: device } = await client.inventory.create({ name: 'Measured', c8y_IsDevice: {} });
  await client.measurement.create({ sourceId: device.id, time: TIME, type: 'm_M', m_F: { S: { value: 1.5, unit: 'C' } } });
  t.same(await client.inventory.getSupportedMeasurements(device), ['m_F']);
  t.same(await client.inventory.getSupportedSeries(device), ['m_F.S']);
  t.match(await client.inventory.getMeasurementsAndSeries(device.id), [{ fragment: 'm_F', series: 'S' }]);
  const file = await client.measurement.getMeasurementsFile({ source: device.id, dateFrom: '2024-05-01', dateTo: '2024-05-03' }, { Accept: 'text/csv' });
  t.equal(file.status, 200);
  t.match(await file.text(), /1\.5/);
});

t.test('InventoryBinaryService', async (t) => {
  const { data: created, res } = await client.inventory.binary.create(Buffer.from('some text'), { name: 'file.txt', my_File: {} });
  t.equal(res.status, 201);
  t.ok(idsOf(await client.inventory.binary.list({ pageSize: 100 })).includes(created.id));
  t.equal(await (await client.inventory.binary.download(created)).text(), 'some text');
  t.equal(client.inventory.binary.getIdFromUrl(created.self), created.id);
  t.equal((await client.inventory.binary.delete(created)).res.status, 204);
});

t.test('TenantService: subscriptions, kind of tenant', async (t) => {
  const { data: app } = await management.application.create({ key: 'sub', name: 'sub', type: 'EXTERNAL' });
  const { data: tenant } = await management.tenant.create({ company: 'c', domain: 'subscriber' });
  t.equal((await management.tenant.subscribeApplication(tenant, app)).res.status, 201);
  t.equal((await management.tenant.unsubscribeApplication(tenant, app)).res.status, 204);
  t.type(await client.tenant.currentTenantType(), 'string');
});

t.test('UserService: what it tells of a user', async (t) => {
  const { data: user } = await client.user.currentWithEffectiveRoles();
  t.ok(client.user.hasAllRoles(user, ['ROLE_ALARM_READ', 'ROLE_EVENT_READ']));
  t.ok(client.user.hasAnyRole(user, ['ROLE_NONE', 'ROLE_EVENT_READ']));
  t.notOk(client.user.isDeviceUser(user));
  t.notOk(client.user.isServiceUser(user));
  t.notOk(client.user.isExternalUser(user));
});

t.test('SmartGroupsService: dynamic groups', async (t) => {
  const { data: group } = await client.smartGroups.create({ smartGroup: { name: 'Dynamic', type: 'c8y_DynamicGroup', c8y_IsDynamicGroup: {} },
    deviceQueryString: "$filter=(type eq 'q_Type')", configurableColumns: [] });
  t.ok(client.smartGroups.isSmartGroup(group));
  t.match((await client.smartGroups.detail(group.id)).data, { name: 'Dynamic', type: 'c8y_DynamicGroup' });
  t.match((await client.smartGroups.update({ id: group.id, name: 'Renamed' })).data, { name: 'Renamed' });
  t.equal((await client.smartGroups.delete(group.id)).res.status, 204);
});

t.test('TrustedCertificateService: one of them', { skip: missing('openssl') }, async (t) => {
  const { certificate } = new CertificateFactory(scratchDirectory(t)).authority('Further CA');
  const certificates: any = new TrustedCertificateService(client.core);
  const { data: created } = await certificates.create({ name: 'further', certInPemFormat: certificate, status: 'ENABLED', autoRegistrationEnabled: false });
  t.equal((await certificates.detail(created.fingerprint)).data.name, 'further');
});

t.test('Realtime and FetchClient: credentials are changed', async (t) => {
  const other: any = new Client(new BasicAuth({ tenant: TENANT, user: 'admin', password: 'wrong' }), server.url);
  t.equal((await other.core.fetch('/user/currentUser')).status, 401);
  other.setAuth(new BasicAuth({ tenant: TENANT, user: 'admin', password: PASSWORD }));
  t.equal((await other.core.fetch('/user/currentUser')).status, 200);
});
