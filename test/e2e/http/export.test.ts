/**
 * Exports of whole collections as CSV, JSON lines and Parquet, with the filters of their lists. Parquet is read back by
 * ClickHouse.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { PASSWORD, Rest, eventually, notInCluster, startServer } from '../../helpers/running/server.ts';
import type { Reply } from '../../helpers/running/server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { ROOT } from '../../helpers/root.ts';

const server = await startServer(t);
const { rest } = server;
const TEXT = 'a "quoted", text\nwith a line, a\ttab, \\ and 😀';
const TIME = '2026-05-02T10:00:00.000Z';
const directory = scratchDirectory(t);

/** Answers each line, the path of a Parquet file, with its rows as one line. */
const READER = `
  import { query } from 'chdb';
  import { createInterface } from 'node:readline';
  for await (const file of createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(query("SELECT * FROM file('" + file + "', Parquet)", 'JSONEachRow').toString()) + '\\n');
`;
/** Of its own: this process goes on meanwhile, so that it sees that a connection ends. */
const reader = spawn(process.execPath, ['--input-type=module', '-e', READER], {
  cwd: ROOT,
  stdio: ['pipe', 'pipe', 'inherit'],
});
t.teardown(() => reader.stdin.end());
const readerLines = createInterface({ input: reader.stdout })[Symbol.asyncIterator]();

/** Rows of a Parquet file, as ClickHouse reads them. */
async function parquet(bytes: Buffer): Promise<any[]> {
  const file = join(directory, `${Date.now()}-${bytes.length}.parquet`);
  writeFileSync(file, bytes);
  reader.stdin.write(`${file}\n`);
  const { value, done } = await readerLines.next();
  if (done) throw new Error('the reader of Parquet has ended');
  return lines(JSON.parse(value));
}
async function bytesOf(path: string, accept = '*/*'): Promise<{ type: string; bytes: Buffer }> {
  const response = await fetch(server.url + path, {
    headers: { authorization: `Basic ${Buffer.from(`t1/admin:${PASSWORD}`).toString('base64')}`, accept },
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return { type: response.headers.get('content-type') ?? '', bytes: Buffer.from(await response.arrayBuffer()) };
}
const lines = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const device = await rest.createDevice('Pump, 1');
const other = await rest.createDevice('other');
const common = { source: { id: device }, time: TIME, type: 'x_Type', text: TEXT };
for (let index = 0; index < 12; index += 1) await rest.create('/event/events', { ...common, x_Extra: { index } });
await rest.create('/event/events', { ...common, source: { id: other }, type: 'another' });
await rest.create('/alarm/alarms', { ...common, severity: 'MAJOR' });
await rest.create('/devicecontrol/operations', { deviceId: device, description: TEXT, c8y_Restart: {} });
await rest.create('/audit/auditRecords', { ...common, activity: 'tested', type: 'x_Audit' });
await rest.post('/measurement/measurements', {
  measurements: Array.from({ length: 7 }, (_, index) => ({
    source: { id: device },
    time: TIME,
    type: 'x_Type',
    x_F: { A: { value: index, unit: 'C' }, B: { value: 0.5 } },
    ...(index === 0 ? { x_Text: TEXT } : {}),
  })),
});

const COLLECTIONS: readonly (readonly [
  path: string,
  name: string,
  filter: string,
  count: number,
  header: string,
  first: object,
])[] = [
  [
    '/event/events',
    'events',
    `source=${device}`,
    12,
    'id,source,device_name,type,time,text,creationTime,lastUpdated,fragments',
    { source: device, device_name: 'Pump, 1', type: 'x_Type', time: '2026-05-02 10:00:00.000', text: TEXT },
  ],
  [
    '/alarm/alarms',
    'alarms',
    `source=${device}`,
    1,
    'id,source,device_name,type,time,text,status,severity,count,creationTime,lastUpdated,fragments',
    { source: device, type: 'x_Type', text: TEXT, status: 'ACTIVE', severity: 'MAJOR', count: 1 },
  ],
  [
    '/devicecontrol/operations',
    'operations',
    `deviceId=${device}`,
    1,
    'id,deviceId,device_name,status,creationTime,bulkOperationId,description,failureReason,fragments',
    { deviceId: device, status: 'PENDING', description: TEXT, fragments: '{"c8y_Restart":{}}' },
  ],
  [
    '/inventory/managedObjects',
    'managedObjects',
    `ids=${device}`,
    1,
    'id,type,name,owner,creationTime,lastUpdated,fragments',
    { id: device, name: 'Pump, 1', owner: 'admin' },
  ],
  [
    '/audit/auditRecords',
    'auditRecords',
    'type=x_Audit',
    1,
    'id,source,type,activity,text,time,user,application,severity,creationTime,fragments',
    { source: device, type: 'x_Audit', activity: 'tested', text: TEXT, user: 'admin' },
  ],
];

t.test('every collection in every format, with its filters', async (t) => {
  for (const [path, name, filter, count, header, first] of COLLECTIONS) {
    const listed = (await rest.read(`${path}?${filter}&pageSize=2000`))[name];
    t.equal(listed.length, count, path);
    const byId = (entities: any[]): any[] => [...entities].sort((one, two) => Number(one.id) - Number(two.id));
    for (const [where, accept] of [
      [`${filter}&format=ndjson`, '*/*'],
      [filter, 'application/x-ndjson'],
    ]) {
      const { type, bytes } = await bytesOf(`${path}?${where}`, accept);
      t.match(type, /^application\/x-ndjson/);
      t.same(byId(lines(bytes.toString())), byId(listed), `${path} as lines: the entities of the list`);
    }
    for (const [where, accept] of [
      [`${filter}&format=csv`, '*/*'],
      [filter, 'text/csv'],
    ]) {
      const { type, bytes } = await bytesOf(`${path}?${where}`, accept);
      t.match(type, /^text\/csv/);
      const text = bytes.toString();
      t.equal(text.split('\r\n')[0], header);
      t.equal(text.split('\r\n').length, count + 2, `${path}: lines`);
      if (text.includes('quoted'))
        t.ok(text.includes('"a ""quoted"", text\nwith a line, a\ttab, \\ and 😀"'), `${path}: quoted`);
    }
    for (const [where, accept] of [
      [`${filter}&format=parquet`, 'application/json'],
      [filter, 'application/vnd.apache.parquet'],
    ]) {
      const { type, bytes } = await bytesOf(`${path}?${where}`, accept);
      t.equal(type, 'application/vnd.apache.parquet');
      const rows = await parquet(bytes);
      t.equal(rows.length, count);
      t.same(Object.keys(rows[0]).join(','), header);
      t.match(rows[0], first);
    }
    const { bytes } = await bytesOf(`${path}?${filter}&format=parquet&dateTo=1971-01-01&owner=nobody`);
    t.same(await parquet(bytes), [], `${path}: an empty file is a file`);
  }
});

t.test('members that are called like a column which is made here', async (t) => {
  const owned = await rest.createDevice('Owned');
  const of = { ...common, source: { id: owned } };
  const own = { fragments: { x: 1 }, device_name: 'own', deviceName: [2] };
  await rest.create('/event/events', { ...of, type: 'x_Own', ...own });
  await rest.create('/alarm/alarms', { ...of, type: 'x_Own', severity: 'MAJOR', ...own });
  await rest.create('/devicecontrol/operations', {
    deviceId: owned,
    fragments: { x: 1 },
    device_name: 'own',
    x_Own: {},
  });
  await rest.create('/audit/auditRecords', { ...of, activity: 'tested', type: 'x_Own', ...own });
  await rest.create('/inventory/managedObjects', { type: 'x_Own', ...own });
  for (const [path, want] of [
    ['/event/events?type=x_Own', own],
    ['/alarm/alarms?type=x_Own', own],
    ['/audit/auditRecords?type=x_Own', own],
    ['/inventory/managedObjects?type=x_Own', own],
    ['/devicecontrol/operations?fragmentType=x_Own', { fragments: { x: 1 }, device_name: 'own', x_Own: {} }],
  ] as const) {
    const [row] = await parquet((await bytesOf(`${path}&format=parquet`)).bytes);
    t.same(JSON.parse(row.fragments), want, path);
    if ('device_name' in row) t.equal(row.device_name, 'Owned');
    t.ok((await bytesOf(`${path}&format=csv`)).bytes.toString().includes('""fragments"":{""x"":1}'), path);
  }
});

t.test('numbers that are no doubles: all digits in CSV and JSON lines, the nearest double in Parquet', async (t) => {
  const source = await rest.createDevice('Counter');
  const numbers = [
    '9007199254740993',
    '-9223372036854775807',
    '12345678901234567890',
    '0.1',
    '1e21',
    '0.12345678901234567891',
    '42',
  ];
  const series = numbers.map((number, index) => `"s${index}":{"value":${number},"unit":"m"}`).join(',');
  await rest.post(
    '/measurement/measurements',
    `{"source":{"id":"${source}"},"time":"${TIME}","type":"x","x_N":{${series}},"x_M":{"s0":{"value":1}}}`,
  );
  const path = `/measurement/measurements?source=${source}`;
  const csv = (await bytesOf(`${path}&format=csv`)).bytes.toString().split('\r\n').slice(1, -1);
  const valueOf = (name: string): string | undefined =>
    csv.map((line) => line.split(',')).find((fields) => fields[3] === name)?.[4];
  t.same(
    numbers.map((_, index) => valueOf(`x_N.s${index}`)),
    [
      '9007199254740993',
      '-9223372036854775807',
      '12345678901234567890',
      '0.1',
      '1e+21',
      '0.12345678901234567891',
      '42',
    ],
  );
  t.equal(valueOf('x_M.s0'), '1');
  t.match((await bytesOf(`${path}&format=ndjson`)).bytes.toString(), '9007199254740993');
  t.equal(
    (await parquet((await bytesOf(`${path}&format=parquet`)).bytes)).find((row) => row['fragment.series'] === 'x_N.s0')
      .value,
    9007199254740992,
  );
  const converted = await rest.request('GET', `${path}&format=csv`, {
    headers: { 'x-cumulocity-system-of-units': 'imperial' },
  });
  t.match(converted.text, /x_N\.s6,137\.79\d*,ft/);
});

const HEADER = 'time,source,device_name,fragment.series,value,unit';

t.test('measurements: a line for each value', async (t) => {
  const path = `/measurement/measurements?source=${device}`;
  const csv = (await bytesOf(`${path}&format=csv`)).bytes.toString().split('\r\n');
  t.equal(csv[0], HEADER);
  t.same(csv.slice(1, 3), [`${TIME},${device},"Pump, 1",x_F.A,0,C`, `${TIME},${device},"Pump, 1",x_F.B,0.5,`]);
  t.equal(csv.length, 1 + 14 + 1);
  const listed = (await rest.read(`${path}&pageSize=2000`)).measurements;
  t.same(lines((await bytesOf(path, 'application/x-ndjson')).bytes.toString()), listed);
  const rows = await parquet((await bytesOf(`${path}&format=parquet`)).bytes);
  t.same(Object.keys(rows[0]).join(','), HEADER);
  t.same(
    rows.slice(0, 2).map((row) => [row['fragment.series'], row.value, row.unit, row.device_name]),
    [
      ['x_F.A', 0, 'C', 'Pump, 1'],
      ['x_F.B', 0.5, '', 'Pump, 1'],
    ],
  );
  t.equal(rows.length, 14);
  t.equal(
    (await bytesOf(`${path}&format=csv&fragmentType=x_Text`)).bytes.toString().split('\r\n').length,
    1 + 2 + 1,
    'all values of what has the fragment',
  );
  t.equal(
    lines((await bytesOf(`${path}&format=ndjson&valueFragmentType=x_F&valueFragmentSeries=B`)).bytes.toString()).length,
    7,
  );
  t.equal(lines((await bytesOf(`${path}&format=ndjson&valueFragmentType=x_G`)).bytes.toString()).length, 0);
  const both = `${path}&format=csv&fragmentType=x_Text&valueFragmentType=x_F`;
  t.equal(
    (await bytesOf(`${both}&valueFragmentSeries=B`)).bytes.toString().split('\r\n').length,
    1 + 2 + 1,
    'fragment and value in different rows of a measurement',
  );
  t.equal(
    (await bytesOf(path, 'text/csv')).bytes.toString().split('\r\n').length,
    1 + 10 + 1,
    'by Accept the page parameters hold, five measurements',
  );
  t.equal((await parquet((await bytesOf(`${path}&format=parquet&pageSize=3`)).bytes)).length, 6);
});

t.test('pages, wrong formats, rights', async (t) => {
  t.equal(
    lines((await bytesOf(`/event/events?source=${device}&format=ndjson&pageSize=5&currentPage=3`)).bytes.toString())
      .length,
    2,
  );
  t.equal((await rest.get('/event/events?format=xlsx')).status, 422);
  t.equal(
    (await rest.request('GET', '/event/events', { headers: { accept: 'application/vnd.ms-excel' } })).status,
    406,
  );
  await rest.create('/user/t1/users', { userName: 'weak', password: PASSWORD, email: 'weak@example.com' });
  const weak = new Rest(server.url, 't1/weak', PASSWORD);
  const own = (reply: Reply): any[] => lines(reply.text);
  for (const path of ['/event/events', '/alarm/alarms', '/devicecontrol/operations'])
    t.equal((await weak.get(`${path}?format=ndjson`)).status, 403, `${path}: as the list`);
  t.same(own(await weak.get('/inventory/managedObjects?format=ndjson')), [], 'only what the user may see');
  t.same(own(await weak.get('/measurement/measurements?format=ndjson')), []);
  t.same(own(await weak.get('/audit/auditRecords?format=ndjson')), []);
});

t.test('a page is that of the list, in its order; the whole list has an order of its own', async (t) => {
  const many = await rest.createDevice('ordered');
  for (let index = 0; index < 7; index += 1) {
    const time = new Date(Date.UTC(2026, 1, 1) + index * 60_000).toISOString();
    await rest.create('/event/events', { source: { id: many }, time, type: 'x_Ordered', text: `${index}` });
    await rest.create('/alarm/alarms', {
      source: { id: many },
      time,
      type: `x_Ordered${index}`,
      text: `${index}`,
      severity: 'MINOR',
    });
    await rest.create('/audit/auditRecords', {
      source: { id: many },
      time,
      type: 'x_Ordered',
      activity: 'a',
      text: `${index}`,
    });
    await rest.create('/devicecontrol/operations', { deviceId: many, description: `${index}`, x_Ordered: {} });
    await rest.create('/inventory/managedObjects', { name: `ordered ${(index * 3) % 7}`, type: 'x_Ordered' });
  }
  const RANGE = 'dateFrom=2026-02-01T00:00:00Z';
  const query = encodeURIComponent("$filter=(type eq 'x_Ordered') $orderby=name desc");
  for (const [list, name] of [
    [`/event/events?source=${many}`, 'events'],
    [`/event/events?source=${many}&${RANGE}&revert=true`, 'events'],
    [`/alarm/alarms?source=${many}`, 'alarms'],
    [`/alarm/alarms?source=${many}&revert=true`, 'alarms'],
    ['/audit/auditRecords?type=x_Ordered', 'auditRecords'],
    [`/audit/auditRecords?type=x_Ordered&revert=true`, 'auditRecords'],
    [`/devicecontrol/operations?deviceId=${many}`, 'operations'],
    [`/devicecontrol/operations?deviceId=${many}&revert=true`, 'operations'],
    [`/inventory/managedObjects?query=${query}`, 'managedObjects'],
  ]) {
    for (const page of ['pageSize=1', 'pageSize=3&currentPage=2']) {
      const listed = (await rest.read(`${list}&${page}`))[name];
      t.ok(listed.length > 0);
      t.same(lines((await bytesOf(`${list}&${page}&format=ndjson`)).bytes.toString()), listed, `${list}&${page}`);
    }
    const head = await rest.request('HEAD', `${list}&pageSize=1&format=csv`);
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-disposition'), `attachment; filename="${name}.csv"`);
    t.equal(head.headers.get('content-length'), null, 'nobody knows the length of a stream');
    const isOrdered = /revert|query/.test(list);
    const whole = await rest.get(`${list}&format=ndjson`);
    t.equal(whole.status, isOrdered ? 422 : 200, list);
    if (isOrdered)
      t.match(
        whole.json.message,
        /The parameter (revert|query) has the value .*; it takes no order in an export of the whole list/,
      );
    else t.equal(lines(whole.text).length, 7);
  }
  t.equal((await rest.get(`/measurement/measurements?source=${device}&format=csv&revert=true`)).status, 422);
  t.equal((await rest.get(`/measurement/measurements?source=${device}&format=csv&revert=true&pageSize=5`)).status, 200);
});

/** Reads a little of an answer and no more. @returns to be called at the end. */
function stopReading(path: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.httpPort, '127.0.0.1', () => {
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(`t1/admin:${PASSWORD}`).toString('base64')}\r\n\r\n`,
      );
    });
    socket.once('data', () => {
      socket.pause();
      resolve(() => socket.destroy());
    });
    socket.once('error', reject);
  });
}

t.test(
  'who does not read an export holds up nobody',
  { skip: notInCluster('the limits are those of a node') },
  async (t) => {
    const owner = await rest.createDevice('large events');
    for (let index = 0; index < 60; index += 1) {
      await rest.create('/event/events', {
        source: { id: owner },
        time: TIME,
        type: 'x_Large',
        text: 'large',
        x_Text: 'x'.repeat(500_000),
      });
    }
    const path = `/event/events?source=${owner}&format=ndjson`;
    const ends = [];
    for (let count = 0; count < 5; count += 1) ends.push(await stopReading(path));
    for (let count = 0; count < 5; count += 1) t.equal((await rest.get('/alarm/alarms?pageSize=5')).status, 200);
    const refused = await rest.get(path);
    t.equal(refused.status, 503, 'all five were under way while the lists were answered');
    t.match(refused.json.message, /exports\/of-user/);
    t.equal(refused.headers.get('retry-after'), '1');
    for (const end of ends) end();
    await eventually('the next export', async () => (await rest.request('HEAD', path)).status === 200);
    t.equal(lines((await bytesOf(path)).bytes.toString()).length, 60, 'whole');
  },
);

t.test('many rows come whole, and who leaves ends the query', async (t) => {
  // More than one piece of 20,000, and several row groups.
  const ROUNDS = 12;
  const SIZE = 2_000;
  const many = await rest.createDevice('many');
  for (let round = 0; round < ROUNDS; round += 1) {
    const measurements = Array.from({ length: SIZE }, (_, index) => ({
      source: { id: many },
      time: new Date(Date.UTC(2026, 0, 1) + (round * SIZE + index) * 1_000).toISOString(),
      type: 'm',
      x_F: { A: { value: index, unit: 'C' } },
    }));
    t.equal(
      (await rest.request('POST', '/measurement/measurements', { body: { measurements }, headers: { accept: '' } }))
        .status,
      201,
    );
  }
  const path = `/measurement/measurements?source=${many}`;
  const csv = (await bytesOf(`${path}&format=csv`)).bytes.toString().split('\r\n');
  t.equal(csv.length, ROUNDS * SIZE + 2);
  const ndjson = lines((await bytesOf(`${path}&format=ndjson`)).bytes.toString());
  t.equal(new Set(ndjson.map(({ id }) => id)).size, ROUNDS * SIZE);
  t.equal((await parquet((await bytesOf(`${path}&format=parquet`)).bytes)).length, ROUNDS * SIZE);
  // More than the sessions of the engine: if queries stayed, the next one would wait for them.
  for (let count = 0; count < 20; count += 1) {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(server.httpPort, '127.0.0.1', () => {
        socket.write(
          `GET ${path}&format=ndjson HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(`t1/admin:${PASSWORD}`).toString('base64')}\r\n\r\n`,
        );
      });
      socket.once('data', () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', reject);
    });
  }
  await eventually('the server answers', async () => (await rest.get('/event/events?pageSize=1')).status === 200);
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
    'leaving is no error',
  );
});

t.test('lists of records in every format, all pages or one', async (t) => {
  const names = Array.from({ length: 12 }, (_, index) => `exported-${index}`);
  for (const userName of names)
    await rest.create('/user/t1/users', {
      userName,
      password: 'Analytical-1',
      customProperties: { note: TEXT, huge: 12 },
    });
  const path = '/user/t1/users?username=exported-';
  const ndjson = lines((await rest.request('GET', path, { headers: { accept: 'application/x-ndjson' } })).text);
  t.strictSame(ndjson.map(({ userName }) => userName).sort(), [...names].sort(), 'whole, whatever the size of a page');
  const listed = (await rest.read(`${path}&pageSize=2000`)).users;
  t.strictSame(ndjson, listed, 'as in the list');
  t.strictSame(
    lines((await rest.get(`${path}&format=ndjson&pageSize=5&currentPage=3`)).text),
    listed.slice(10, 15),
    'one page',
  );
  const csv = (await rest.get(`${path}&format=csv`)).text;
  const [head, ...rows] = csv.split('\r\n');
  t.match(head, /^id,userName,firstName,.*,fragments$/);
  t.equal(rows.filter((row) => row.startsWith('exported-')).length, 12);
  t.match(csv, /"{""note"":""a \\""quoted\\"", text/, 'what is nested is JSON');
  const { type, bytes } = await bytesOf(`${path}&format=parquet`);
  t.match(type, 'application/vnd.apache.parquet');
  t.match(
    (await parquet(bytes)).find(({ id }) => id === 'exported-3'),
    { userName: 'exported-3', enabled: 'true', shouldResetPassword: 'false' },
  );

  const groups = lines((await rest.get('/user/t1/groups?format=ndjson')).text);
  t.ok(groups.some(({ name }) => name === 'admins'));
  t.match(
    (await parquet((await bytesOf('/user/t1/groups?format=parquet')).bytes)).find(({ name }) => name === 'admins'),
    { id: groups.find(({ name }) => name === 'admins').id },
    'ids are numbers',
  );
  t.equal((await rest.get('/user/t1/groups?format=xlsx')).status, 422);
  t.equal(
    (await rest.request('GET', '/user/t1/groups', { headers: { accept: 'application/vnd.ms-excel' } })).status,
    406,
  );
  t.equal(
    (await new Rest(server.url, 't1/exported-1', 'Analytical-1').get('/user/t1/groups?format=csv')).status,
    403,
    'rights are those of the list',
  );
  t.equal((await rest.get('/user/t9/users?format=csv')).status, 403, 'what the list refuses is no export');
});

t.test('every collection that the API describes can be exported', async (t) => {
  const { paths } = await rest.read('/openapi.json');
  const without = Object.entries<any>(paths)
    .filter(([, { get }]) => {
      const content = Object.keys(get?.responses['200']?.content ?? {});
      return (
        content.some((type) => /collection\+json$|applicationBinaries\+json$/i.test(type)) &&
        !content.includes('application/vnd.apache.parquet')
      );
    })
    .map(([path]) => path);
  t.strictSame(without, []);
  for (const path of [
    '/tenant/options',
    '/user/roles',
    '/user/inventoryroles',
    '/application/applications',
    '/retention/retentions',
    '/devicecontrol/newDeviceRequests',
    '/devicecontrol/bulkoperations',
    `/identity/globalIds/${device}/externalIds`,
    `/inventory/managedObjects/${device}/childDevices`,
    '/tenant/loginOptions',
  ]) {
    for (const format of ['csv', 'ndjson'])
      t.equal((await rest.get(`${path}?format=${format}`)).status, 200, `${path} ${format}`);
  }
});
