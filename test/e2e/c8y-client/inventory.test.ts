/**
 * `@c8y/client`, unmodified: managed objects, their children, queries, pages, binaries, external ids, dynamic groups.
 */
import { Client, QueriesUtil } from '@c8y/client';
import t from 'tap';
import { leftOut } from '../../helpers/clients/c8y-client-calls.ts';
import { openPage } from '../../helpers/browser-globals.ts';
import { PASSWORD, TENANT, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
const { inventory } = client;
const TIME = '2024-05-02T10:00:00.000Z';

/** The error that the client throws. */
const failure = (answer: Promise<any>): Promise<any> =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  );
const statusOf = async (answer: Promise<any>): Promise<number> => (await failure(answer))?.res.status;
const idsOf = ({ data }: any): string[] => data.map(({ id }: any) => id).sort();
const namesOf = ({ data }: any): string[] => data.map(({ name }: any) => name);
const createDevice = async (name: string, more: object = {}): Promise<string> =>
  (await inventory.create({ name, c8y_IsDevice: {}, com_cumulocity_model_Agent: {}, ...more })).data.id;

t.test('InventoryService: create, read, change, count, delete', async (t) => {
  const { data: created, res } = await inventory.create({ name: 'One', type: 'c8y_client', a: { b: {} } });
  t.equal(res.status, 201);
  t.match(created, { name: 'One', type: 'c8y_client', a: { b: {} } });
  const { data: updated } = await inventory.update({ id: created.id, name: 'Changed', a: null });
  t.match(updated, { id: created.id, name: 'Changed', type: 'c8y_client' });
  t.equal(updated.a ?? undefined, undefined);
  t.match((await inventory.detail(created.id)).data, { id: created.id, name: 'Changed' });
  t.equal((await inventory.update((await inventory.detail(created.id)).data)).data.name, 'Changed', 'as it was read');
  t.equal((await inventory.count({ type: 'c8y_client' })).data, 1);
  t.equal((await inventory.delete(created.id)).res.status, 204);
  t.match(await failure(inventory.detail(created.id)), {
    res: { status: 404 },
    data: { error: 'inventory/Not Found' },
  });
  t.equal((await inventory.count({ type: 'c8y_client' })).data, 0);
  const parent = await createDevice('Whole');
  const { data: part } = await inventory.childDevicesCreate({ name: 'Part', c8y_IsDevice: {} }, parent);
  t.equal((await inventory.delete({ id: parent }, { cascade: true })).res.status, 204);
  t.equal(await statusOf(inventory.detail(part.id)), 404, 'with what is below');
});

t.test('Paging: forth, back, to a page; of children too', async (t) => {
  for (let index = 0; index < 7; index += 1) await inventory.create({ name: `Paged ${index}`, type: 'paged' });
  const first = await inventory.list({ type: 'paged', pageSize: 3, withTotalPages: true, withTotalElements: true });
  t.match(first.paging, { currentPage: 1, nextPage: 2, prevPage: null, pageSize: 3, totalPages: 3, totalElements: 7 });
  t.same(namesOf(first), ['Paged 0', 'Paged 1', 'Paged 2']);
  const second = await first.paging.next();
  t.match(second.paging, { currentPage: 2, prevPage: 1, nextPage: 3 });
  t.same(namesOf(second), ['Paged 3', 'Paged 4', 'Paged 5']);
  t.same(namesOf(await second.paging.prev()), namesOf(first));
  const last = await first.paging.goto(3);
  t.same(namesOf(last), ['Paged 6']);
  t.match(last.paging, { currentPage: 3, nextPage: null });
  t.same(
    [namesOf(await last.paging.next()), namesOf(await first.paging.prev())],
    [[], []],
    'behind the last page and before the first one there is nothing',
  );
  let count = 0;
  for (let page = first; page.data.length > 0; page = await page.paging.next()) count += page.data.length;
  t.equal(count, 7, 'a loop to the empty page ends');
  t.same(namesOf(await last.paging.list({ type: 'paged', pageSize: 1 })), ['Paged 0'], 'with another filter');
  const parent = await createDevice('Parent of many');
  await inventory.childAssetsBulkAdd(idsOf(await inventory.list({ type: 'paged', pageSize: 100 })), parent);
  const children = await inventory.childAssetsList(parent, { pageSize: 4, withTotalPages: true });
  t.match(children.paging, { totalPages: 2, nextPage: 2 });
  t.same(
    [...namesOf(children), ...namesOf(await children.paging.next())].sort(),
    Array.from({ length: 7 }, (_, index) => `Paged ${index}`),
  );
});

t.test('InventoryService: children of the three kinds', async (t) => {
  const parent = await createDevice('Parent');
  for (const kind of ['childAssets', 'childDevices', 'childAdditions']) {
    const call = (method: string, ...values: unknown[]): Promise<any> => inventory[`${kind}${method}`](...values);
    const child = await createDevice(`Child by ${kind}`);
    t.match(await call('Add', child, parent), { res: { status: 201 }, data: { id: child } }, kind);
    t.same(idsOf(await call('List', parent)), [child]);
    t.equal((await call('Remove', child, { id: parent })).res.status, 204);
    t.same((await call('List', parent)).data, []);
    t.equal((await inventory.detail(child)).res.status, 200, 'only the link is gone');
    const { data: made, res } = await call('Create', { name: `Made by ${kind}` }, parent);
    t.equal(res.status, 201);
    t.same(
      (await call('List', parent)).data.map(({ id, name }: any) => [id, name]),
      [[made.id, `Made by ${kind}`]],
    );
    const bulk = [await createDevice('One'), await createDevice('Two')].sort();
    t.same(idsOf(await call('BulkAdd', bulk, parent)), bulk, 'the answer has what was linked');
    t.same(idsOf(await call('List', { id: parent }, { pageSize: 100 })), [made.id, ...bulk].sort());
  }
  t.equal((await inventory.detail(parent, { withChildren: false })).data.childAssets.references?.length ?? 0, 0);
  t.equal((await inventory.detail(parent)).data.childAssets.references.length, 3);
});

t.test('InventoryService: supported measurements and series', async (t) => {
  const { data: device } = await inventory.create({ name: 'Measured', c8y_IsDevice: {} });
  await client.measurement.create({
    sourceId: device.id,
    time: TIME,
    type: 'm_M',
    m_F: { S: { value: 1.5, unit: 'C' }, R: { value: 2 } },
  });
  t.same(await inventory.getSupportedMeasurements(device), ['m_F']);
  t.same((await inventory.getSupportedSeries(device)).sort(), ['m_F.R', 'm_F.S']);
  t.same((await inventory.getMeasurementsAndSeries(device.id)).map(({ series }: any) => series).sort(), ['R', 'S']);
  const entry = (name: string, fragment: string, series: string): Promise<string> =>
    inventory.create({ name, c8y_Kpi: { fragment, series, label: name } }).then(({ data }: any) => data.id);
  const temperature = await entry('Temperature', 'm_F', 'S');
  const speed = await entry('Speed', 'm_F', 'R');
  await entry('Of a series that others have', 'm_F', 'X');
  await inventory.create({ name: 'm_F.S', m_F: { fragment: 'm_F', series: 'S' } });
  const { data: entries, paging } = await inventory.assetKPIsList(device.id, { withTotalPages: true });
  t.match(entries, [
    { id: temperature, c8y_Kpi: { fragment: 'm_F', series: 'S', label: 'Temperature' } },
    { id: speed, c8y_Kpi: { series: 'R' } },
  ]);
  t.equal(entries.length, 2);
  t.equal(paging.totalPages, 1);
  const { data: other } = await inventory.create({ name: 'Not measured', c8y_IsDevice: {} });
  t.same((await inventory.assetKPIsList(other.id)).data, []);
  t.match(await failure(inventory.assetKPIsList('404404')), { res: { status: 404 } });
});

t.test('QueriesUtil: what it writes is understood', async (t) => {
  const type = 'q_Type';
  const pump = await createDevice('Pump (1)', { type, q_Size: 5, q_Nested: { label: "O'Brien" }, q_On: true });
  const tank = (await inventory.create({ name: 'Tank [a] {b}', type, q_Size: 7.5, q_Other: {} })).data.id;
  const valve = (await inventory.create({ name: 'back\\slash', type, q_Size: 9, q_On: false })).data.id;
  const site = (await inventory.create({ name: 'Site', c8y_IsDeviceGroup: {} })).data.id;
  await inventory.childAssetsAdd(pump, site);
  const util = new QueriesUtil() as any;
  const cases: [query: object, ids: string[]][] = [
    [{ type }, [pump, tank, valve]],
    [{ type, name: 'Pump (1)' }, [pump]],
    [{ name: 'Tank [a] {b}' }, [tank]],
    [{ name: 'back\\slash' }, [valve]],
    [{ type, name: 'Ta*' }, [tank]],
    [{ __and: [{ type }, { __or: [{ name: 'Pump (1)' }, { name: 'Tank*' }] }] }, [pump, tank]],
    [{ type, q_Size: { __gt: 5 } }, [tank, valve]],
    [{ type, q_Size: { __ge: 7.5 } }, [tank, valve]],
    [{ type, q_Size: { __lt: 7.5 } }, [pump]],
    [{ type, q_Size: { __le: 7.5 } }, [pump, tank]],
    [{ type, name: { __in: ['Pump (1)', 'back\\slash'] } }, [pump, valve]],
    [{ type, __not: { name: 'Pump (1)' } }, [tank, valve]],
    [{ type, __has: 'q_Other' }, [tank]],
    [{ type, __hasany: ['q_Other', 'q_Nested'] }, [pump, tank]],
    [{ type, 'q_Nested.label': "O'Brien" }, [pump]],
    [{ type, q_On: true }, [pump]],
    [{ type, q_On: { __eq: false } }, [valve]],
    [{ __bygroupid: site }, [pump]],
    [{ __isinhierarchyof: site }, [pump, site]],
    [{ __useFilterQueryString: `$filter=(name eq 'Pump*' and type eq '${type}') $orderby=name` }, [pump]],
    [{ type, 'creationTime.date': { __gt: TIME } }, [pump, tank, valve]],
    [{ type, 'creationTime.date': { __lt: TIME } }, []],
    [util.addAndFilter({ type }, { q_Size: { __gt: 6 } }), [tank, valve]],
    [util.addOrFilter({ name: 'Pump (1)' }, { name: 'back\\slash' }), [pump, valve]],
    [util.addFilter({ __filter: { type }, __orderby: [{ name: 1 }] }, { q_Size: 9 }, 'and'), [valve]],
  ];
  for (const [query, ids] of cases)
    t.same(idsOf(await inventory.listQuery(query, { pageSize: 100 })), [...ids].sort(), util.buildQuery(query));
  t.same(idsOf(await inventory.listQueryDevices({ type })), [pump], 'with the marker of devices');
  const inOrder = async (query: object): Promise<string[]> =>
    (await inventory.listQuery(query)).data.map(({ id }: any) => id);
  t.same(await inOrder({ __filter: { type }, __orderby: [{ q_Size: -1 }] }), [valve, tank, pump]);
  t.same(await inOrder(util.prependOrderbys({ __filter: { type }, __orderby: [{ name: 1 }] }, [{ q_Size: 1 }])), [
    pump,
    tank,
    valve,
  ]);
  t.same(await inOrder(util.appendOrderbys({ type }, [{ q_Size: -1 }])), [valve, tank, pump]);
  t.same(await inOrder(util.addOrderbys({ type }, [{ q_Size: -1 }, { name: 1 }], 'append')), [valve, tank, pump]);
  const filter = util.buildQueryFilter({ type });
  const orders = [`$orderby=${util.buildQueryOrderby([{ q_Size: 1 }])}`, '$filter=(has(a)) $orderby=name desc'];
  t.equal(util.extractAndMergeOrderBys(orders), '$orderby=q_Size asc,name desc');
  t.same(
    (await inventory.list({ query: `$filter=(${filter}) ${util.extractAndMergeOrderBys(orders)}` })).data.map(
      ({ id }: any) => id,
    ),
    [pump, tank, valve],
  );
  const wrong = await failure(inventory.list({ query: '$filter=(name eq' }));
  t.match(wrong, { res: { status: 422 }, data: { error: 'inventory/Invalid Data' } });
});

t.test('InventoryBinaryService', async (t) => {
  const { binary } = inventory;
  const { data: created, res } = await binary.create(Buffer.from('some text'), {
    name: 'file.txt',
    fileType: 'text/plain',
    my_File: {},
  });
  t.equal(res.status, 201);
  t.match(created, { name: 'file.txt', type: 'text/plain', my_File: {} });
  t.ok(idsOf(await client.inventoryBinary.list({ pageSize: 100 })).includes(created.id));
  t.equal(await (await binary.download(created)).text(), 'some text');
  const range = await binary.download(created.id, { headers: { range: 'bytes=5-8' } });
  t.match({ status: range.status, text: await range.text() }, { status: 206, text: 'text' });
  t.equal(binary.getIdFromUrl(created.self), created.id);
  t.equal((await binary.delete(created)).res.status, 204);
  t.equal(await statusOf(binary.download(created)), 404);
});

t.test('InventoryBinaryService: with progress, as a page of the server uploads', async (t) => {
  openPage(t, `${server.url}/apps/devicemanagement/index.html`);
  const { binary } = inventory;
  const content = Buffer.alloc(300_000, 'abc');
  const loaded: number[] = [];
  const upload = binary.createWithProgress(
    content,
    (event: any) => {
      loaded.push(event.loaded);
    },
    { fileName: 'large.bin' },
  );
  const created = await binary.getXMLHttpResponse(upload);
  t.match(created, { id: /^\d+$/, name: 'large.bin', type: 'c8y_upload' });
  t.ok((loaded.at(-1) as number) > content.length);
  t.ok(Buffer.from(await (await binary.download(created.id)).arrayBuffer()).equals(content));
  await client.user.create({ userName: 'onlooker', password: 'Analytical-1' });
  const onlooker: any = await Client.authenticate(
    { tenant: TENANT, user: 'onlooker', password: 'Analytical-1' },
    server.url,
  );
  const refused = onlooker.inventory.binary;
  t.match(await failure(refused.getXMLHttpResponse(refused.createWithProgress(content, () => undefined))), {
    data: { error: 'security/Forbidden' },
  });
});

t.test('IdentityService', async (t) => {
  const id = await createDevice('Named');
  const identity = { type: 'my_Type', externalId: 'serial with blank', managedObject: { id } };
  t.equal((await client.identity.create(identity)).res.status, 201);
  t.equal((await client.identity.detail(identity)).data.managedObject.id, id);
  t.match((await client.identity.list(id)).data, [{ type: 'my_Type', externalId: 'serial with blank' }]);
  t.equal(await statusOf(client.identity.create(identity)), 409);
  t.equal((await client.identity.delete(identity)).res.status, 204);
  t.equal(await statusOf(client.identity.detail(identity)), 404);
  t.same((await client.identity.list(id)).data, []);
});

t.test('SmartGroupsService', async (t) => {
  const { smartGroups } = client;
  const device = await createDevice('Grouped', { type: 's_Type' });
  const { data: group } = await smartGroups.create({
    smartGroup: { name: 'Dynamic', type: 'c8y_DynamicGroup', c8y_IsDynamicGroup: {} },
    deviceQueryString: "$filter=(type eq 's_Type')",
    configurableColumns: [{ name: 'name' }],
    filterConfig: { type: 's_Type' },
  });
  t.ok(smartGroups.isSmartGroup(group));
  t.notOk(smartGroups.isSmartGroup((await inventory.detail(device)).data));
  const { data: read } = await smartGroups.detail(group.id, { withChildren: false });
  t.match(read, { name: 'Dynamic', type: 'c8y_DynamicGroup', c8y_DeviceColumnsConfig: [{ name: 'name' }] });
  t.same(idsOf(await inventory.list({ q: read.c8y_DeviceQueryString })), [device]);
  t.match((await smartGroups.update({ id: group.id, name: 'Renamed' })).data, { name: 'Renamed' });
  t.equal((await smartGroups.delete(group.id)).res.status, 204);
  t.equal(await statusOf(smartGroups.detail(group.id)), 404);
  t.equal((await inventory.detail(device)).res.status, 200, 'its devices stay');
});

t.test('every method of these classes was called', async (t) => {
  t.same(leftOut('inventory'), []);
});
