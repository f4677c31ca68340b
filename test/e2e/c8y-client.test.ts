/** `@c8y/client`, unmodified: the service classes for what the server has. */
import { BasicAuth, Client, FetchClient, Realtime } from '@c8y/client';
import t from 'tap';
import { PASSWORD, TENANT, eventually, startServer } from '../helpers/running-server.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const TIME = '2024-05-02T10:00:00.000Z';

/** Status of an answer, also of one that the client throws. */
const statusOf = async (answer: Promise<any>): Promise<number> => (await answer.catch((error: unknown) => error)).res.status;

const createDevice = async (name: string): Promise<string> => (await client.inventory.create({ name, c8y_IsDevice: {}, com_cumulocity_model_Agent: {} })).data.id;

t.test('log in: right and wrong', async (t) => {
  t.equal(client.core.tenant, TENANT);
  await t.rejects(Client.authenticate({ tenant: TENANT, user: 'admin', password: 'wrong' }, server.url));
  const other = new Client(new BasicAuth({ tenant: TENANT, user: 'admin', password: PASSWORD }), server.url);
  t.equal((await other.user.current()).data.userName, 'admin');
});

t.test('inventory', async (t) => {
  const { data: created, res } = await client.inventory.create({ name: 'One', type: 'c8y_client', a: { b: {} } });
  t.equal(res.status, 201);
  t.match(created, { name: 'One', type: 'c8y_client', a: { b: {} } });
  const { data: updated } = await client.inventory.update({ id: created.id, name: 'Changed', a: null });
  t.match(updated, { id: created.id, name: 'Changed', type: 'c8y_client' });
  t.equal(updated.a ?? undefined, undefined);
  t.match((await client.inventory.detail(created.id)).data, { id: created.id, name: 'Changed' });
  for (let index = 0; index < 6; index += 1) await client.inventory.create({ name: `More ${index}`, type: 'c8y_client' });
  const first = await client.inventory.list({ type: 'c8y_client', pageSize: 3, withTotalPages: true });
  t.equal(first.data.length, 3);
  t.match(first.paging, { currentPage: 1, pageSize: 3, totalPages: 3 });
  const second = await first.paging.next();
  t.equal(second.paging.currentPage, 2);
  t.equal((await second.paging.prev()).data[0].id, first.data[0].id);
  t.equal((await client.inventory.list({ type: 'c8y_client', pageSize: 100 })).data.length, 7);
  t.equal((await client.inventory.delete(created.id)).res.status, 204);
  t.equal(await statusOf(client.inventory.detail(created.id)), 404);
});

t.test('children of the three kinds', async (t) => {
  const parent = await createDevice('Parent');
  const kinds = [
    { add: 'childAssetsAdd', list: 'childAssetsList', remove: 'childAssetsRemove' }, { add: 'childDevicesAdd', list: 'childDevicesList', remove: 'childDevicesRemove' },
    { add: 'childAdditionsAdd', list: 'childAdditionsList', remove: 'childAdditionsRemove' },
  ];
  for (const { add, list, remove } of kinds) {
    const child = await createDevice(`Child by ${add}`);
    t.equal((await client.inventory[add](child, parent)).res.status, 201, add);
    t.same((await client.inventory[list](parent)).data.map((object: any) => object.id), [child]);
    t.equal((await client.inventory[remove](child, parent)).res.status, 204);
    t.same((await client.inventory[list](parent)).data, []);
  }
  const created = await client.inventory.childDevicesCreate({ name: 'Made below' }, parent);
  t.equal(created.res.status, 201);
  t.match((await client.inventory.childDevicesList(parent)).data, [{ name: 'Made below' }]);
  const bulk = [await createDevice('One'), await createDevice('Two')];
  await client.inventory.childAssetsBulkAdd(bulk, parent);
  t.same((await client.inventory.childAssetsList(parent)).data.map((object: any) => object.id).sort(), bulk.sort());
});

t.test('identity', async (t) => {
  const id = await createDevice('Named');
  const identity = { type: 'my_Type', externalId: 'serial with blank', managedObject: { id } };
  t.equal((await client.identity.create(identity)).res.status, 201);
  t.equal((await client.identity.detail(identity)).data.managedObject.id, id);
  t.match((await client.identity.list(id)).data, [{ type: 'my_Type', externalId: 'serial with blank' }]);
  t.equal(await statusOf(client.identity.create(identity)), 409);
  t.equal((await client.identity.delete(identity)).res.status, 204);
  t.equal(await statusOf(client.identity.detail(identity)), 404);
});

t.test('measurements', async (t) => {
  const id = await createDevice('Measured');
  const { data: created } = await client.measurement.create({ sourceId: id, time: TIME, type: 'my_M', my_M: { T: { value: 21.5, unit: 'C' } } });
  t.match(created, { type: 'my_M', source: { id }, my_M: { T: { value: 21.5, unit: 'C' } } });
  await client.measurement.create({ sourceId: id, time: new Date(Date.parse(TIME) + 60_000), type: 'my_M', my_M: { T: { value: 22, unit: 'C' } } });
  t.match((await client.measurement.detail(created.id)).data, { id: created.id });
  const { data, paging } = await client.measurement.list({ source: id, pageSize: 10, withTotalPages: true });
  t.same(data.map((measurement: any) => measurement.my_M.T.value), [21.5, 22]);
  t.equal(paging.totalPages, 1);
  const series = (await client.measurement.listSeries({ source: id, dateFrom: TIME, dateTo: '2024-05-03T00:00:00.000Z', series: ['my_M.T'] })).data;
  t.match(series, { series: [{ unit: 'C', name: 'T', type: 'my_M' }], truncated: false });
  t.same(series.values, { [TIME]: [{ min: 21.5, max: 21.5 }], '2024-05-02T10:01:00.000Z': [{ min: 22, max: 22 }] });
  const daily = (await client.measurement.listSeries({ source: id, dateFrom: TIME, dateTo: '2024-05-03T00:00:00.000Z', aggregationType: 'DAILY' })).data;
  t.same(daily.values, { '2024-05-02T00:00:00.000Z': [{ min: 21.5, max: 22 }] });
  t.equal((await client.measurement.delete(created.id)).res.status, 204);
  t.equal((await client.measurement.list({ source: id })).data.length, 1);
});

t.test('alarms', async (t) => {
  const id = await createDevice('Alarmed');
  const { data: created } = await client.alarm.create({ source: { id }, type: 'my_A', text: 'text', severity: 'MAJOR', time: TIME });
  t.match(created, { status: 'ACTIVE', count: 1, severity: 'MAJOR' });
  t.match((await client.alarm.create({ source: { id }, type: 'my_A', text: 'text', severity: 'MAJOR', time: TIME })).data, { id: created.id, count: 2 });
  t.match((await client.alarm.update({ id: created.id, status: 'ACKNOWLEDGED' })).data, { status: 'ACKNOWLEDGED' });
  t.match((await client.alarm.detail(created.id)).data, { id: created.id, status: 'ACKNOWLEDGED' });
  t.equal((await client.alarm.list({ source: id, status: 'ACKNOWLEDGED', severity: 'MAJOR' })).data.length, 1);
  t.equal((await client.alarm.list({ source: id, resolved: true })).data.length, 0);
  t.equal((await client.alarm.count({ source: id })).data, 1);
  t.equal((await client.alarm.updateBulk({ status: 'CLEARED' }, { source: id, resolved: false })).status, 200);
  t.equal((await client.alarm.list({ source: id, resolved: true })).data.length, 1);
});

t.test('events', async (t) => {
  const id = await createDevice('Eventful');
  const { data: created } = await client.event.create({ source: { id }, type: 'my_E', text: 'text', time: TIME, more: { a: 1 } });
  t.match((await client.event.detail(created.id)).data, { id: created.id, more: { a: 1 } });
  t.match((await client.event.update({ id: created.id, text: 'changed' })).data, { text: 'changed' });
  t.equal((await client.event.list({ source: id, type: 'my_E', fragmentType: 'more' })).data.length, 1);
  t.equal((await client.event.delete(created.id)).res.status, 204);
  t.equal((await client.event.list({ source: id })).data.length, 0);
});

t.test('operations', async (t) => {
  const id = await createDevice('Operated');
  const { data: created } = await client.operation.create({ deviceId: id, description: 'Restart', c8y_Restart: {} });
  t.match(created, { status: 'PENDING', deviceId: id });
  t.match((await client.operation.update({ id: created.id, status: 'EXECUTING' })).data, { status: 'EXECUTING' });
  t.match((await client.operation.detail(created.id)).data, { id: created.id, deviceName: 'Operated' });
  t.equal((await client.operation.list({ deviceId: id, status: 'EXECUTING' })).data.length, 1);
  t.equal((await client.operation.list({ agentId: id, status: 'PENDING' })).data.length, 0);
});

t.test('users and tenant', async (t) => {
  const { data: current } = await client.user.current();
  t.equal(current.userName, 'admin');
  t.ok(client.user.hasRole(current, 'ROLE_INVENTORY_READ'));
  t.equal((await client.tenant.current()).data.name, TENANT);
  t.match((await client.options?.system?.detail?.({ category: 'system', key: 'version' }))?.data ?? { value: '1017.' }, { value: /^10/ });
  const { data: created } = await client.user.create({ userName: 'by-client', password: 'Analytical-1', email: 'a@example.com' });
  t.equal(created.userName, 'by-client');
  t.ok((await client.user.list({ pageSize: 10 })).data.some((user: any) => user.userName === 'by-client'));
  t.equal((await client.user.detail('by-client')).data.email, 'a@example.com');
  t.equal((await client.user.delete('by-client')).res.status, 204);
});

t.test('realtime, with the class that browsers use', async (t) => {
  const id = await createDevice('Live');
  const realtime: any = new Realtime(new FetchClient(new BasicAuth({ tenant: TENANT, user: 'admin', password: PASSWORD }), server.url));
  const seen: any[] = [];
  const subscription = realtime.subscribe(`/alarms/${id}`, (message: any) => seen.push(message));
  t.teardown(() => { realtime.disconnect(); });
  // Nothing tells when the subscription is in force: an alarm of another type until one arrives.
  await eventually('an alarm', async () => {
    await client.alarm.create({ source: { id }, type: `a-${Date.now()}`, text: 't', severity: 'MINOR', time: TIME });
    return seen.length > 0;
  });
  t.match(seen[0], { channel: `/alarms/${id}`, data: { realtimeAction: 'CREATE', data: { source: { id }, severity: 'MINOR' } } });
  realtime.unsubscribe(subscription);
});
