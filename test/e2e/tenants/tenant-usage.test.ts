/**
 * Usage statistics (docs/spec/statistics.md), and rate limits of tenants and users (docs/spec/tenants.md#rate-limits).
 */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import {
  CLUSTER_NODES,
  PASSWORD,
  Rest,
  TENANT,
  eventually,
  notInCluster,
  startServer,
} from '../../helpers/running/server.ts';

const server = await startServer(t, { flags: ['--tenant-files-max-bytes', '256KiB'] });
const { rest, management } = server;
const ADMIN_PASS = 'Analytical-1';
const create = async (id: string, more: object = {}): Promise<Rest> => {
  await management.create('/tenant/tenants', {
    id,
    company: 'c',
    domain: id,
    adminName: 'a',
    adminEmail: 'a@b.c',
    adminPass: ADMIN_PASS,
    ...more,
  });
  return new Rest(server.url, `${id}/a`, ADMIN_PASS);
};
/**
 * Until a count is reached: in a cluster measurements are counted when their shard's position is committed, within a
 * second. Not asked by the tenant itself.
 */
const counted = (tenant: string, name: string, count: number): Promise<unknown> =>
  eventually(
    `${count} ${name}`,
    async () => (await management.read(`/tenant/statistics/summary?tenant=${tenant}`))[name] >= count,
  );
const time = new Date().toISOString();
const today = time.slice(0, 10);

t.test('what a tenant does is counted', async (t) => {
  const admin = await create('counted');
  const parent = await admin.createDevice('parent', { type: 'gateway' });
  const child = await admin.createDevice('child');
  await admin.create('/inventory/managedObjects', { name: 'an asset' });
  await admin.create(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  const source = { id: parent };
  for (let index = 0; index < 3; index += 1)
    await admin.create('/measurement/measurements', {
      source,
      type: 'm',
      time,
      f: { a: { value: 1 }, b: { value: 2 } },
    });
  await admin.create('/measurement/measurements', {
    measurements: [1, 2].map((value) => ({ source: { id: child }, type: 'm', time, f: { s: { value } } })),
  });
  const { id: event } = await admin.create('/event/events', { source, type: 'e', text: 't', time });
  await admin.put(`/event/events/${event}`, { text: 'new' });
  const { id: alarm } = await admin.create('/alarm/alarms', { source, type: 'a', text: 't', severity: 'MINOR', time });
  await admin.put(`/alarm/alarms/${alarm}`, { severity: 'MAJOR' });
  await admin.put(`/alarm/alarms/${alarm}`, { status: 'CLEARED' });
  await admin.request('POST', '/event/events', {
    body: { source, type: 'e', text: 't', time },
    headers: { 'x-cumulocity-processing-mode': 'TRANSIENT' },
  });
  await admin.request('GET', '/user/currentUser', { headers: { 'x-cumulocity-application-key': 'my-app' } });
  await admin.get('/inventory/managedObjects/0');

  await counted('counted', 'measurementsCreatedCount', 5);
  const {
    usageStatistics: [day, ...others],
    statistics,
  } = await admin.read('/tenant/statistics?withTotalElements=true');
  t.same(others, []);
  t.equal(statistics.totalElements, 1);
  t.match(day, {
    day: `${today}T00:00:00.000Z`,
    alarmsCreatedCount: 1,
    alarmsUpdatedCount: 2,
    eventsCreatedCount: 1,
    eventsUpdatedCount: 1,
    measurementsCreatedCount: 5,
    inventoriesCreatedCount: 3,
    deviceCount: 2,
    deviceEndpointCount: 1,
    deviceWithChildrenCount: 1,
    subscribedApplications: [],
    resources: { cpu: 0, memory: 0, usedBy: [] },
    self: String,
  });
  t.equal(
    day.totalResourceCreateAndUpdateCount,
    ['alarms', 'events', 'inventories']
      .flatMap((name) => [day[`${name}CreatedCount`], day[`${name}UpdatedCount`]])
      .reduce((sum, count) => sum + count, day.measurementsCreatedCount),
  );
  t.equal(day.requestCount, 16, 'all requests, refused ones too');
  t.equal(day.deviceRequestCount, 15, 'but for those of applications');
  t.ok(day.storageSize > 0);

  const device = await connectDevice(t, server, 'counted-1', { username: 'counted/a', password: ADMIN_PASS });
  for (let index = 0; index < 4; index += 1) await device.publish('s/us', '211,1');
  await counted('counted', 'measurementsCreatedCount', 9);
  const after = (await admin.read(`/tenant/statistics?dateFrom=${today}&dateTo=${today}`)).usageStatistics[0];
  t.equal(after.measurementsCreatedCount, 9);
  t.equal(after.deviceRequestCount, 15 + 1 + 4, 'an MQTT message is a request');

  t.match(await admin.read('/tenant/statistics/summary'), {
    measurementsCreatedCount: 9,
    alarmsCreatedCount: 1,
    deviceWithChildrenCount: 1,
  });
  t.match(await management.read('/tenant/statistics/summary?tenant=counted'), { measurementsCreatedCount: 9 });
  t.match(await admin.read('/tenant/statistics/summary?dateFrom=2001-01-01&dateTo=2001-02-01'), {
    measurementsCreatedCount: 0,
    requestCount: 0,
  });
  t.same((await admin.read('/tenant/statistics?dateFrom=2001-01-01&dateTo=2001-02-01')).usageStatistics, []);
  t.equal((await admin.get(`/tenant/statistics/summary?tenant=${TENANT}`)).status, 404, 'nobody sees that of others');
  t.equal((await admin.get('/tenant/statistics?dateFrom=x')).status, 422);
  const all = await management.read('/tenant/statistics/allTenantsSummary');
  t.ok(Array.isArray(all));
  t.match(
    all.find(({ tenantId }: any) => tenantId === 'counted'),
    {
      parentTenantId: 'management',
      tenantDomain: 'counted',
      tenantCompany: 'c',
      tenantCustomProperties: {},
      measurementsCreatedCount: 9,
    },
  );
  const { alarmsCreatedCount, eventsCreatedCount, deviceCount, deviceWithChildrenCount } = await management.read(
    '/tenant/statistics/summary?tenant=counted',
  );
  t.match(
    all.find(({ tenantId }: any) => tenantId === 'counted'),
    { alarmsCreatedCount, eventsCreatedCount, deviceCount, deviceWithChildrenCount },
    'as alone',
  );
  t.ok(deviceCount > 0);
  t.match(
    (await management.read('/tenant/statistics/allTenantsSummary?dateFrom=2001-01-01&dateTo=2001-02-01')).find(
      ({ tenantId }: any) => tenantId === 'counted',
    ),
    { measurementsCreatedCount: 0, requestCount: 0, storageSize: 0, resources: { cpu: 0 } },
    'nothing was counted',
  );
  const csv = (await management.get('/tenant/statistics/allTenantsSummary?format=csv')).text.trimEnd().split('\r\n');
  t.match(csv[0], /^tenantId,parentTenantId,tenantDomain,.*measurementsCreatedCount,/);
  t.equal(csv.length, all.length + 1);
  t.match(
    csv.find((line) => line.startsWith('counted,')),
    /^counted,management,counted,c,\{\},/,
  );
  const lines = (await management.get('/tenant/statistics/allTenantsSummary?format=ndjson')).text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.same(
    lines.map(({ tenantId }) => tenantId),
    all.map(({ tenantId }: any) => tenantId),
  );
  t.equal((await management.get('/tenant/statistics/allTenantsSummary?format=parquet')).text.slice(0, 4), 'PAR1');
  t.same(
    (await admin.read('/tenant/statistics/allTenantsSummary')).map(({ tenantId }: any) => tenantId),
    ['counted'],
  );
  const byDevice = (await admin.read(`/tenant/statistics/device/counted/daily/${today}`)).statistics;
  const ofDevice = (id: string): unknown => byDevice.find(({ deviceId }: any) => deviceId === id);
  t.match(ofDevice(parent), { count: 5, deviceType: 'gateway', deviceParents: [] });
  t.match(ofDevice(child), { count: 2, deviceParents: [parent] });
  t.same(
    byDevice.map(({ deviceId }: any) => Number(deviceId)),
    byDevice.map(({ deviceId }: any) => Number(deviceId)).sort((a: number, b: number) => a - b),
    'by id',
  );
  t.same((await admin.read(`/tenant/statistics/device/counted/monthly/${today}`)).statistics, byDevice);
  t.equal(
    (await admin.get(`/tenant/statistics/device/counted/daily/${today}`)).text.split('"statistics"').length,
    2,
    'a name once',
  );
  t.same((await admin.read('/tenant/statistics/device/counted/daily/2001-01-01')).statistics, []);
  t.equal((await admin.get('/tenant/statistics/device/counted/daily/yesterday')).status, 422);
  t.equal((await admin.get(`/tenant/statistics/device/${TENANT}/daily/${today}`)).status, 404);
});

t.test('files with the usage of all tenants, for the management tenant', async (t) => {
  const files = '/tenant/statistics/files';
  const admin = await create('filed', { company: 'Pumps, big' });
  await admin.createDevice('one');
  const range = { dateFrom: today, dateTo: today };
  const made = await management.create(files, range);
  t.match(made, {
    id: /^\d+$/,
    type: 'TEST',
    instanceName: '127.0.0.1',
    generationDate: /^20.*Z$/,
    dateFrom: `${today}T00:00:00.000Z`,
    dateTo: `${today}T23:59:59.999Z`,
    self: new RegExp(`${files}/\\d+$`),
  });
  const next = await management.create(files, { ...range, type: 'TEST' });
  const { statisticsFiles, statistics } = await management.read(`${files}?withTotalElements=true`);
  t.strictSame(statisticsFiles, [next, made], 'the newest first');
  t.equal(statistics.totalElements, 2);
  const { headers, text } = await management.get(`${files}/${made.id}`);
  t.match(
    [headers.get('content-type'), headers.get('content-disposition')],
    ['application/octet-stream', `statistics-${today}-${today}.csv`],
  );
  const [head, ...lines] = text.split('\r\n');
  t.match(head, /^tenantId,.*,storageSize$/);
  const line = lines.find((one) => one.startsWith('filed,')) ?? '';
  t.match(line, new RegExp(`^filed,management,filed,"Pumps, big",${today},0,0,0,0,0,1,0,1,`), 'a device was created');
  t.ok(lines.some((one) => one.startsWith('counted,')));
  t.match((await management.read('/audit/auditRecords?type=Tenant&pageSize=1')).auditRecords[0], {
    activity: 'Statistics file generated',
    user: 'admin',
  });

  t.equal((await management.get(`${files}/0`)).status, 404);
  t.equal((await management.get(`${files}/latest/2001-01`)).status, 404);
  t.equal((await management.get(`${files}/latest/2001-01-31`)).status, 404);
  t.equal((await management.get(`${files}/latest/2001-13`)).status, 422);
  for (const wrong of [
    {},
    { ...range, dateTo: '2001-01-01' },
    { ...range, dateFrom: 'x' },
    { ...range, dateFrom: '2001-01-01' },
    { ...range, type: 'REAL' },
  ]) {
    t.equal((await management.request('POST', files, { body: wrong })).status, 422, JSON.stringify(wrong));
  }
  t.equal((await management.read(files)).statisticsFiles.length, 2, 'nothing was made');
  for (const [method, path] of [
    ['GET', files],
    ['POST', files],
    ['GET', `${files}/${made.id}`],
    ['GET', `${files}/latest/2001-01`],
  ]) {
    t.equal(
      (await admin.request(method, path, method === 'POST' ? { body: range } : {})).status,
      403,
      `${method} ${path}`,
    );
  }
});

t.test('what was counted stays over a restart', async (t) => {
  const own = await startServer(t);
  await own.rest.createDevice('d');
  await own.stop();
  const again = await startServer(t, { data: own.data });
  t.match((await again.rest.read('/tenant/statistics')).usageStatistics[0], {
    inventoriesCreatedCount: 1,
    deviceCount: 1,
  });
});

t.test('roles of statistics', async (t) => {
  const user = async (userName: string, roles: string[]): Promise<Rest> => {
    await rest.create(`/user/${TENANT}/users`, {
      userName,
      password: ADMIN_PASS,
      roles: { references: roles.map((id) => ({ role: { id } })) },
    });
    return new Rest(server.url, `${TENANT}/${userName}`, ADMIN_PASS);
  };
  const [nobody, reader, manager] = [
    await user('nobody', []),
    await user('reader', ['ROLE_TENANT_STATISTICS_READ']),
    await user('manager', ['ROLE_TENANT_MANAGEMENT_READ']),
  ];
  for (const path of [
    '',
    '/summary',
    '/allTenantsSummary',
    `/device/${TENANT}/daily/${today}`,
    `/device/${TENANT}/monthly/${today}`,
  ]) {
    t.equal((await nobody.get(`/tenant/statistics${path}`)).status, 403, path);
    t.equal((await reader.get(`/tenant/statistics${path}`)).status, 200, path);
    t.equal((await manager.get(`/tenant/statistics${path}`)).status, 200, path);
  }
});

const burst = async (of: Rest, count: number): Promise<number[]> =>
  (await Promise.all(Array.from({ length: count }, () => of.get('/user/currentUser')))).map(({ status }) => status);

t.test('the rate of a tenant: its property, set by who is above it', async (t) => {
  const admin = await create('limited', { customProperties: { 'limit.http.requests': '5', 'limit.http.queue': '5' } });
  // Each node of a cluster has the rate for what comes to it.
  const nodes = Math.max(1, CLUSTER_NODES);
  const startMs = performance.now();
  const statuses = await burst(admin, 30 * nodes);
  const taken = statuses.filter((status) => status === 200).length;
  const most = nodes * (10 + 1 + (5 * (performance.now() - startMs)) / 1_000);
  t.ok(taken >= 10 * nodes && taken <= most, `${taken} of ${30 * nodes}, at most ${most}`);
  const refused = await eventually('a refusal', async () => {
    const replies = await Promise.all(Array.from({ length: 20 * nodes }, () => admin.get('/user/currentUser')));
    return replies.find(({ status }) => status === 429);
  });
  t.match(refused.json, { error: 'general/Too Many Requests', message: /5 \(http\/tenant-rate\)/ });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.match(Object.fromEntries(refused.headers), {
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': /^[1-9]/,
  });
  t.equal((await rest.get('/user/currentUser')).status, 200, 'others are not concerned');
  t.equal(
    (await rest.get('/user/currentUser')).headers.get('x-ratelimit-limit'),
    null,
    'without a limit there are no headers',
  );
  const metrics = await server.metricsText();
  t.match(metrics, /millrace_refusals_total\{limit="http\/tenant-rate"\} [1-9]/);
  await management.put('/tenant/tenants/limited', { customProperties: {} });
  t.same(new Set(await burst(admin, 30)), new Set([200]), 'lifted at once');
});

t.test('the rate of a user: an option of the tenant, or the configuration', async (t) => {
  const admin = await create('per-user');
  await admin.create('/user/per-user/users', { userName: 'other', password: ADMIN_PASS, roles: { references: [] } });
  t.equal((await admin.put('/tenant/options/limit/http.requests.user', { value: '3' })).status, 200);
  const statuses = await burst(admin, 20);
  t.ok(statuses.includes(429) && statuses.includes(200));
  t.equal(
    (await new Rest(server.url, 'per-user/other', ADMIN_PASS).get('/user/currentUser')).status,
    200,
    'each user has his own',
  );

  const own = await startServer(t, { flags: ['--http-user-rate-max', '3'] });
  const metrics = (): Promise<string> => own.metricsText();
  const replies = await burst(new Rest(own.url, `${TENANT}/admin`, PASSWORD), 20);
  t.ok(replies.includes(429) && replies.includes(200));
  t.match(await metrics(), /millrace_refusals_total\{limit="http\/user-rate"\} [1-9]/);
});

t.test('the MQTT rate of a tenant', async (t) => {
  await create('streams', { customProperties: { 'limit.stream.requests': 5, 'limit.stream.queue': 5 } });
  const device = await connectDevice(t, server, 'streams-1', {
    username: 'streams/a',
    password: ADMIN_PASS,
    protocolVersion: 5,
  });
  let reason: string | undefined;
  device.client.once('disconnect', ({ properties }) => {
    reason = properties?.reasonString;
  });
  for (let index = 0; index < 30; index += 1) device.client.publish('s/us', '211,1');
  await t.rejects(device.publish('s/us', '211,1'), 'a flood beyond rate and queue ends the connection');
  t.match(reason, /mqtt\/rate-queue-messages/, 'which is told why');
  const free = await connectDevice(t, server, 'free-1');
  for (let index = 0; index < 200; index += 1) free.client.publish('s/us', '211,1');
  await free.publish('s/us', '211,1');
  t.pass('other tenants have no limit');
});

t.test(
  'the files of a tenant are bounded, those of others not',
  { skip: notInCluster('each node counts what it wrote, and all once an hour') },
  async (t) => {
    const upload = async (of: Rest, bytes: number): Promise<{ status: number; message?: string }> => {
      const { status, json } = await of.request('POST', '/inventory/binaries', {
        body: `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${'x'.repeat(bytes)}\r\n--b--\r\n`,
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      });
      return { status, message: json.message };
    };
    const [one, other] = [await create('files-one'), await create('files-other')];
    const user = async (userName: string): Promise<Rest> => {
      await one.create('/user/files-one/users', { userName, password: PASSWORD });
      for (const role of ['ROLE_INVENTORY_ADMIN', 'ROLE_INVENTORY_CREATE'])
        await one.create(`/user/files-one/users/${userName}/roles`, { role: { self: `/user/roles/${role}` } });
      return new Rest(server.url, `files-one/${userName}`, PASSWORD);
    };
    const [device, colleague] = [await user('device_one'), await user('colleague')];
    t.equal((await upload(device, 50_000)).status, 201);
    t.match(await upload(device, 50_000), { status: 422, message: /files\/of-user/ }, 'a device has a small part');
    t.equal((await upload(one, 150_000)).status, 201);
    t.match(await upload(one, 50_000), { status: 422, message: /files\/of-user/ }, 'some is left to the others');
    t.equal((await upload(colleague, 30_000)).status, 201);
    t.match(await upload(await user('other'), 100_000), {
      status: 422,
      message: /files\/(tenant-bytes, --tenant-files-max-bytes|of-user)/,
    });
    t.equal((await upload(other, 200_000)).status, 201);
    t.match(await server.metricsText(), /millrace_refusals_total\{limit="files\/of-user"\} [23]/);
    t.match(await server.metricsText(), /millrace_files_size_bytes 430000/);
  },
);
