/** What the console asks the server for: the whole way to the engine and back. */
import t from 'tap';
import { CLUSTER_NODES, PASSWORD, Rest, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;

t.test('about: a fresh server, then one with a device', async (t) => {
  const about = await rest.read('/millrace/about');
  t.match(about, {
    shape: /single-node|cluster/,
    baseUrl: server.url,
    host: '127.0.0.1',
    tenant: { id: 't1', isManagement: false },
    user: { userName: 'admin' },
    hasDevices: false,
    has: { scoring: true, onnx: true },
  });
  // Before a cluster stands the proxy of the tests.
  if (CLUSTER_NODES === 0) t.match(about.ports, { http: server.httpPort, mqtt: server.mqttPort });
  t.match((await management.read('/millrace/about')).tenant, { id: 'management', isManagement: true });
  await rest.createDevice('First');
  await eventually('the device is seen', async () => (await rest.read('/millrace/about')).hasDevices === true);
});

t.test('series: intervals of any length, with all functions', async (t) => {
  const id = await rest.createDevice('Charted');
  const begin = Date.UTC(2024, 4, 2, 10);
  const measurements = [0, 10, 30, 60, 70, 90].map((second, index) => ({
    source: { id },
    type: 't',
    time: new Date(begin + 1_000 * second).toISOString(),
    f: { a: { value: index, unit: 'C' } },
  }));
  t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
  const path = `/measurement/measurements/series?source=${id}&dateFrom=2024-05-02&dateTo=2024-05-03&series=f.a`;
  const read = async (query: string): Promise<Record<string, unknown>> => (await rest.read(`${path}${query}`)).values;
  const all = 'min,max,avg,sum,count,stdDevPop,stdDevSamp';
  t.strictSame(await read(`&aggregationInterval=30s&aggregationFunction=${all}`), {
    '2024-05-02T10:00:00.000Z': [
      { min: 0, max: 1, avg: 0.5, sum: 1, count: 2, stdDevPop: 0.5, stdDevSamp: Math.SQRT1_2 },
    ],
    '2024-05-02T10:00:30.000Z': [{ min: 2, max: 2, avg: 2, sum: 2, count: 1, stdDevPop: 0, stdDevSamp: null }],
    '2024-05-02T10:01:00.000Z': [
      { min: 3, max: 4, avg: 3.5, sum: 7, count: 2, stdDevPop: 0.5, stdDevSamp: Math.SQRT1_2 },
    ],
    '2024-05-02T10:01:30.000Z': [{ min: 5, max: 5, avg: 5, sum: 5, count: 1, stdDevPop: 0, stdDevSamp: null }],
  });
  t.strictSame(
    Object.keys(await read('&aggregationInterval=1w&revert=true')),
    ['2024-04-29T00:00:00.000Z'],
    'a week begins on Monday',
  );
  t.strictSame(Object.values(await read('&aggregationInterval=1h')), [[{ min: 0, max: 5 }]], 'min and max by default');
  t.strictSame(Object.values(await read('&aggregationFunction=count')).length, 6, 'without an interval by each time');
  // Of ranges with more intervals than an answer takes they are looked for one after the other.
  const years = `/measurement/measurements/series?source=${id}&dateFrom=1990-01-01&dateTo=2030-01-01&series=f.a`;
  t.strictSame(Object.values((await rest.read(`${years}&aggregationInterval=1m&aggregationFunction=sum`)).values), [
    [{ sum: 3 }],
    [{ sum: 12 }],
  ]);
});

t.test('latest values, of what one may see', async (t) => {
  const [one, other, third] = [
    await rest.createDevice('One'),
    await rest.createDevice('Other'),
    await rest.createDevice('Third'),
  ];
  const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
  const value = (id: string, hours: number, values: object): object => ({
    source: { id },
    type: 't',
    time: ago(hours),
    f: values,
  });
  const measurements = [
    value(one, 0.2, { a: { value: 1, unit: 'C' } }),
    value(one, 0.1, { a: { value: 2, unit: 'C' } }),
    value(one, 30, { b: { value: 3 } }),
    value(other, 5, { a: { value: 4 } }),
    value(third, 24 * 20, { a: { value: 5 } }),
    { source: { id: one }, type: 't', time: ago(0) },
  ];
  t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
  const path = `/measurement/measurements/latest?source=${other},${one},${third}&series=f.a,f.b`;
  const valuesOf = ({ values }: any): unknown[] =>
    values.map(({ source, name, value: number }: any) => [source.id, name, number]);
  const recent = [
    [other, 'a', 4],
    [one, 'a', 2],
    [one, 'b', 3],
  ];
  t.strictSame(valuesOf(await rest.read(path)), recent);
  t.strictSame(valuesOf(await rest.read(`${path}&dateFrom=${ago(24 * 30)}`)), [...recent, [third, 'a', 5]]);
  t.strictSame(
    valuesOf(await rest.read(`/measurement/measurements/latest?source=${one}&series=.,a,f`)),
    [],
    'no names',
  );
  t.strictSame(valuesOf(await management.read(path)), [], 'of another tenant nothing');
  await rest.create('/user/t1/users', { userName: 'part', password: PASSWORD });
  const part = new Rest(server.url, 't1/part', PASSWORD);
  t.strictSame(valuesOf(await part.read(path)), []);
  const { roles } = await rest.read('/user/inventoryroles?pageSize=100');
  const { id } = roles.find(({ name }: { name: string }) => name === 'Reader');
  await rest.post('/user/t1/users/part/roles/inventory', { managedObject: one, roles: [{ id }] });
  await eventually(
    'of what a role was given for',
    async () => JSON.stringify(valuesOf(await part.read(path))) === JSON.stringify(recent.slice(1)),
  );
});

t.test('who may what, and where it comes from', async (t) => {
  const rights = await rest.read('/user/t1/users/part/effectiveRights');
  t.match(rights, { userName: 'part', enabled: true, roles: [], uncountedGrants: 0 });
  t.match(rights.grants[0], { managedObject: { id: /^\d+$/ }, from: { kind: 'inventoryRole', name: 'Reader' } });
  const part = new Rest(server.url, 't1/part', PASSWORD);
  t.strictSame(await part.read('/user/currentUser/effectiveRights'), rights, 'your own');
  t.equal((await part.get('/user/t1/users/admin/effectiveRights')).status, 403);
  const own = await rest.read('/user/currentUser/effectiveRights');
  t.match(
    own.roles.find(({ name }: { name: string }) => name === 'ROLE_ALARM_READ'),
    { holds: 'EVERYWHERE', from: [{ kind: 'user' }, { kind: 'group', id: 1, name: 'admins' }] },
  );
  t.equal((await management.get('/user/t1/users/part/effectiveRights')).status, 403, 'of another tenant');
});

t.test('a change of many alarms is taken back where it changed something', async (t) => {
  const id = await rest.createDevice('Alarming');
  const raise = (type: string, status: string): Promise<any> =>
    rest.create('/alarm/alarms', {
      source: { id },
      type,
      text: type,
      severity: 'MAJOR',
      status,
      time: new Date().toISOString(),
    });
  const [open, before] = [await raise('open', 'ACTIVE'), await raise('before', 'ACKNOWLEDGED')];
  const change = (query: string, status: string) => rest.put(`/alarm/alarms?source=${id}${query}`, { status });
  const becomes = (status: string): Promise<unknown> =>
    eventually(`it is ${status}`, async () => (await rest.read(`/alarm/alarms/${open.id}`)).status === status);
  const done = await change('&status=ACTIVE', 'ACKNOWLEDGED');
  const requestedAt = done.headers.get('x-millrace-requested-at') ?? '';
  t.equal(new Date(requestedAt).toISOString(), requestedAt);
  await becomes('ACKNOWLEDGED');
  await change(`&status=ACKNOWLEDGED&lastUpdatedFrom=${encodeURIComponent(requestedAt)}`, 'ACTIVE');
  await becomes('ACTIVE');
  t.equal((await rest.read(`/alarm/alarms/${before.id}`)).status, 'ACKNOWLEDGED', 'it was so before');
});
