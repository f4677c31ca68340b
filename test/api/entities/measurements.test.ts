import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { convertUnit } from '../../../src/model/documents/units.ts';
import { DEVICE, startApi } from '../helpers/api.ts';
import type { HistoryStatement } from '../../../src/ports/history-reader.ts';

const row = (id: string, fragment: string, series: string, value: number, more: object = {}): object => ({
  entityId: id,
  sourceId: '1',
  timeMs: String(Date.UTC(2024, 4, 2, 10)),
  type: 'env',
  fragment,
  series,
  value,
  unit: '',
  doc: '',
  ...more,
});
const TEXT = '{"time":"2024-05-02T10:00:00.000Z","source":{"id":"1"},"type":"env","env":{"T":{"value":1.0}}}';

t.test('POST: one, a collection, without body, nothing stored, refused', async (t) => {
  const api = await startApi(t);
  const post = (headers: Record<string, string> = {}): ReturnType<typeof api.call> =>
    api.call('POST', '/measurement/measurements', { body: '{"x":1}', headers });
  api.fake.answerOfIntake = { collection: false, documents: [{ id: '7', text: TEXT }] };
  const one = await post();
  t.equal(one.status, 201);
  t.equal(one.headers.get('location'), `${api.url}/measurement/measurements/7`);
  t.equal(
    one.text,
    `{"self":"${api.url}/measurement/measurements/7","id":"7","time":"2024-05-02T10:00:00.000Z","source":{"id":"1","self":"${
      api.url
    }/inventory/managedObjects/1"},"type":"env","env":{"T":{"value":1.0}}}`,
    'numbers as they were sent',
  );
  t.match(api.fake.posted[0], { body: '{"x":1}', mode: 0, wantsBody: true, principal: { userName: 'admin' } });
  api.fake.answerOfIntake = {
    collection: true,
    documents: [
      { id: '7', text: TEXT },
      { id: '8', text: TEXT },
    ],
  };
  const many = await post();
  t.strictSame(
    many.json.measurements.map(({ id }: { id: string }) => id),
    ['7', '8'],
  );
  t.equal(many.headers.get('location'), null);
  api.fake.answerOfIntake = { collection: false, documents: [{ id: '', text: TEXT }] };
  const transient = await post({ 'x-platform-processing-mode': 'TRANSIENT' });
  t.equal(transient.status, 201);
  t.equal(transient.json.id, null);
  t.equal(transient.headers.get('location'), null);
  api.fake.answerOfIntake = new PlatformError('source/not-found', { area: 'measurement', id: '9' });
  t.match(await post(), { status: 422, json: { error: 'measurement/Invalid Data' } });
  t.equal((await api.call('PUT', '/measurement/measurements/7', { body: {} })).status, 405);
});

t.test('POST: the vendor type says whether the body is one or a collection', async (t) => {
  const api = await startApi(t);
  for (const [type, form] of [
    ['application/json', 'either'],
    ['application/vnd.com.nsn.platform.measurement+json', 'one'],
    ['application/vnd.com.nsn.cumulocity.MeasurementCollection+json;ver=0.9', 'collection'],
  ]) {
    t.equal(
      (await api.call('POST', '/measurement/measurements', { body: '{"x":1}', headers: { 'content-type': type } }))
        .status,
      201,
    );
    t.equal(api.fake.posted.at(-1)?.form, form, type);
  }
});

t.test('POST takes larger bodies than other resources', async (t) => {
  const api = await startApi(t);
  t.equal((await api.call('POST', '/measurement/measurements', { body: 'x'.repeat(200_000) })).status, 201);
  t.equal((await api.call('POST', '/measurement/measurements', { body: 'x'.repeat(200_001) })).status, 413);
  t.equal((await api.call('POST', '/inventory/managedObjects', { body: `{"x":"${'x'.repeat(20_000)}"}` })).status, 413);
});

t.test('lists: values of one measurement stand together, stored documents stay', async (t) => {
  const api = await startApi(t);
  api.fake.rows = [
    [
      row('7', 'a', 'x', 1.5, { unit: 'm' }),
      row('7', 'a', 'y', 2),
      row('8', '', '', 0),
      row('9', 'b', 'z', 3, {
        doc: '{"source":{"id":"1"},"time":"2024-05-02T12:00:00+02:00","type":"env","b":{"z":{"value":3.00}},"note":{}}',
      }),
    ],
  ];
  const { json, text } = await api.call('GET', '/measurement/measurements?source=1');
  t.match(json.measurements[0], {
    id: '7',
    a: { x: { value: 1.5, unit: 'm' }, y: { value: 2 } },
    type: 'env',
    time: '2024-05-02T10:00:00.000Z',
  });
  t.match(json.measurements[1], { id: '8', type: 'env' });
  t.match(text, '"b":{"z":{"value":3.00}},"note":{}');
  t.match(text, '"time":"2024-05-02T12:00:00.000+02:00"');
  api.fake.rows = [
    [
      row('7', 'a', 'x', 1, { unit: 'm' }),
      row('9', 'b', 'z', 3, { unit: 'degC', doc: '{"source":{"id":"1"},"b":{"z":{}},"n":1}' }),
    ],
  ];
  const imperial = await api.call('GET', '/measurement/measurements', {
    headers: { 'x-cumulocity-system-of-units': 'imperial' },
  });
  t.match(imperial.json.measurements, [
    { a: { x: { unit: 'ft' } } },
    { n: 1, b: { z: { value: 37.4, unit: 'degF' } } },
  ]);
});

t.test('filters become bound conditions', async (t) => {
  const api = await startApi(t);
  const ask = async (query: string): Promise<HistoryStatement> => {
    t.equal((await api.call('GET', `/measurement/measurements?${query}`)).status, 200, query);
    return api.fake.asked.at(-1) as HistoryStatement;
  };
  const plain = await ask("source=5&type=x'%20OR%201&dateFrom=2024-05-02&dateTo=2024-05-03&revert=true");
  t.match(plain.sql, /WHERE tenant = \{tenant:UInt32\}/);
  t.match(plain.sql, 'ORDER BY time DESC, id DESC, part DESC LIMIT', 'the first page of a source in one pass');
  t.notMatch(plain.sql, 'OR 1');
  t.ok(Object.values(plain.params).includes("x' OR 1"));
  const values = await ask('valueFragmentType=a&valueFragmentSeries=b&fragmentType=c');
  t.match(values.sql, 'LIMIT 1 BY source, time, id');
  t.notMatch(values.sql, 'part = 0');
  t.match((await ask('source=abc')).sql, 'AND 0 ');
  t.match((await ask('source=5&currentPage=2')).sql, 'part = 0', 'one row stands for a measurement');
  t.equal((await api.call('GET', '/measurement/measurements?valueFragmentSeries=b')).status, 422);
});

t.test('CSV and JSON lines', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { name: 'Pump "A", old' });
  const rows = [row('7', 'a', 'x', 1.5, { unit: 'm' }), row('8', '', '', 0)];
  api.fake.rows = [rows];
  const csv = await api.call('GET', '/measurement/measurements', { headers: { accept: 'text/csv' } });
  t.match(csv.headers.get('content-type'), /^text\/csv/);
  t.equal(
    csv.text,
    'time,source,device_name,fragment.series,value,unit\r\n2024-05-02T10:00:00.000Z,1,"Pump ""A"", old",a.x,1.5,m\r\n',
  );
  api.fake.rows = [rows];
  const lines = await api.call('GET', '/measurement/measurements', { headers: { accept: 'application/json-stream' } });
  t.strictSame(
    lines.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
    ['7', '8'],
  );
  t.equal(
    (await api.call('GET', '/measurement/measurements', { headers: { accept: 'application/vnd.ms-excel' } })).status,
    406,
  );
});

t.test('one by id', async (t) => {
  const api = await startApi(t);
  for (const id of ['abc', '0', '99999999999999999999', "1'--"]) {
    t.match(
      await api.call('GET', `/measurement/measurements/${encodeURIComponent(id)}`),
      { status: 404, json: { error: 'measurement/Not Found' } },
      id,
    );
  }
  t.equal(api.fake.asked.length, 0, 'no query for what is no id');
  t.equal((await api.call('GET', '/measurement/measurements/5')).status, 404);
  t.match(api.fake.asked.at(-1), { sql: 'WHERE tenant = {tenant:UInt32} AND id = ', tenant: 2, params: { id: 5 } });
  api.fake.rows = [[row('7', 'a', 'x', 1)]];
  t.equal((await api.call('DELETE', '/measurement/measurements/7')).status, 204);
  t.match(api.fake.sent.at(-1), {
    key: 't',
    body: { table: 'measurements', filter: { id: '7', source: '1', dateFrom: '2024-05-02T10:00:00.000Z' } },
  });
  api.fake.rows = [[row('7', 'a', 'x', 1)]];
  api.fake.addManagedObject('1');
  t.equal((await api.call('GET', '/measurement/measurements/7', { headers: { authorization: DEVICE } })).status, 403);
});

t.test('series', async (t) => {
  const api = await startApi(t);
  const path = '/measurement/measurements/series';
  const missing = await api.call('GET', `${path}?source=1`);
  t.match(missing, {
    status: 422,
    json: { message: 'Following mandatory fields should be included: dateFrom,dateTo' },
  });
  t.match(await api.call('GET', `${path}?dateFrom=2024-05-02&dateTo=2024-05-03`), {
    status: 422,
    json: { message: /: source$/ },
  });
  const point = (minute: number, series: string, low: number, high = low): object => ({
    bucket: String(Date.UTC(2024, 4, 2, 10, minute)),
    fragment: 'a',
    series,
    unitName: series === 'x' ? 'C' : '',
    results: [low, high],
    seen: 1,
  });
  const query = 'source=1&dateFrom=2024-05-02&dateTo=2024-05-03';
  api.fake.rows = [[point(0, 'x', 1), point(0, 'y', 2), point(1, 'y', 3, 4)]];
  const reply = await api.call('GET', `${path}?${query}&aggregationType=MINUTELY&series=a.x&series=a.y`);
  t.strictSame(reply.json, {
    series: [
      { unit: 'C', name: 'x', type: 'a' },
      { name: 'y', type: 'a' },
    ],
    truncated: false,
    values: {
      '2024-05-02T10:00:00.000Z': [
        { min: 1, max: 1 },
        { min: 2, max: 2 },
      ],
      '2024-05-02T10:01:00.000Z': [null, { min: 3, max: 4 }],
    },
  });
  t.match(
    api.fake.asked.at(-1)?.sql,
    'positiveModulo(toUnixTimestamp64Milli(time) - {origin:Int64}, {duration:Int64})',
  );
  t.match(api.fake.asked.at(-1)?.params, { duration: 60_000, origin: 0 });
  t.ok(
    Object.values(api.fake.asked.at(-1)?.params ?? {}).some(
      (value) => Array.isArray(value) && value.join() === 'a.x,a.y',
    ),
  );
  api.fake.rows = [Array.from({ length: 5001 }, (_, index) => point(index, 'x', 1))];
  const cut = (await api.call('GET', `${path}?${query}`)).json;
  t.equal(cut.truncated, true);
  t.equal(Object.keys(cut.values).length, 5000);
  t.equal((await api.call('GET', `${path}?${query}&aggregationType=WEEKLY`)).status, 422);
  // Values that share neither time nor series: each has a place for each of the others.
  api.fake.rows = [Array.from({ length: 5000 }, (_, index) => point(index, `s${index}`, 1))];
  const sparse = (await api.call('GET', `${path}?${query}`)).json;
  t.same(
    [sparse.truncated, sparse.series.length, Object.keys(sparse.values).length],
    [true, 447, 447],
    'as many as have 200,000 places together',
  );
  t.equal(api.fake.counted.at(-1), 'measurement/series-places');
  // Values days apart in intervals of a second: each is found with two statements.
  api.fake.rows = Array.from({ length: 200 }, (_, index) => Math.floor(index / 2) * 400_000_000).flatMap((at, index) =>
    index % 2 === 0 ? [[{ at: String(at) }]] : [[point(at, 'x', 1)]],
  );
  api.fake.rows.push([{ at: String(100 * 400_000_000) }]);
  const before = api.fake.asked.length;
  const far = `${path}?source=1&dateFrom=1970-01-01T00:00:00Z&dateTo=2020-01-01T00:00:00Z&aggregationInterval=1s`;
  const seldom = (await api.call('GET', far)).json;
  t.same([seldom.truncated, Object.keys(seldom.values).length], [true, 100]);
  t.equal(api.fake.asked.length - before, 201);
  t.equal(api.fake.counted.at(-1), 'measurement/series-windows');
  for (const [id, owner, status] of [
    ['1', 'admin', 403],
    ['2', 'device_1', 200],
  ] as const) {
    api.fake.addManagedObject(id, {}, owner);
    t.equal(
      (
        await api.call('GET', `${path}?${query.replace('source=1', `source=${id}`)}`, {
          headers: { authorization: DEVICE },
        })
      ).status,
      status,
      `of ${owner}`,
    );
  }
});

t.test('series by an interval of any length, with the functions that are named', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', {}, 'admin');
  const path = '/measurement/measurements/series?source=1&dateFrom=2024-05-02&dateTo=2024-05-03';
  for (const [interval, duration, origin] of [
    ['30s', 30_000, 0],
    ['5m', 300_000, 0],
    ['2h', 7_200_000, 0],
    ['1d', 86_400_000, 0],
    ['1w', 604_800_000, -259_200_000],
  ] as const) {
    await api.call('GET', `${path}&aggregationInterval=${interval}`);
    t.match(api.fake.asked.at(-1)?.params, { duration, origin }, interval);
  }
  for (const interval of ['0s', '10', '1M', '-1h', '1.5h', '367d', '99999999w', 'x'.repeat(500)])
    t.match(
      await api.call('GET', `${path}&aggregationInterval=${interval}`),
      { status: 422, json: { message: /aggregationInterval .*from 1s to 366d/ } },
      interval,
    );
  t.match(await api.call('GET', `${path}&aggregationInterval=1h&aggregationType=HOURLY`), { status: 422 });
  t.match(await api.call('GET', `${path}&aggregationFunction=median`), { status: 422 });
  const all = 'min,max,avg,sum,count,stdDevPop,stdDevSamp';
  const row = {
    bucket: '0',
    fragment: 'a',
    series: 'x',
    unitName: 'degC',
    results: [1, 3, 2, 4, 2, 1, null],
    seen: '2',
  };
  const read = async (headers: Record<string, string>): Promise<object> => {
    api.fake.rows = [[row]];
    const { json } = await api.call('GET', `${path}&aggregationInterval=1h&aggregationFunction=${all},min`, {
      headers,
    });
    return json.values['1970-01-01T00:00:00.000Z'][0];
  };
  const [min, max, avg, sum, count, stdDevPop, stdDevSamp] = row.results;
  t.strictSame(await read({}), { min, max, avg, sum, count, stdDevPop, stdDevSamp });
  t.match(api.fake.asked.at(-1)?.sql, '[min(value), max(value), avg(value), sum(value), toFloat64(count()), ');
  t.strictSame(
    await read({ 'x-platform-system-of-units': 'imperial' }),
    { min: 33.8, max: 37.4, avg: 35.6, sum: 71.2, count: 2, stdDevPop: 1.8, stdDevSamp: null },
    'as if the values had been converted',
  );
});

t.test('the latest values of several sources: further back only for those that have none', async (t) => {
  const api = await startApi(t);
  const path = '/measurement/measurements/latest';
  const found = (sourceId: string, series: string, latest: number): object => ({
    sourceId,
    fragment: 'a',
    series,
    unitName: series === 'x' ? 'degC' : '',
    latest,
    timeMs: String(Date.UTC(2024, 4, 2, 10)),
  });
  api.fake.rows = [[found('2', 'x', 20), found('1', 'y', 1), found('1', 'x', 10)], [found('2', 'y', 2)]];
  const { json } = await api.call('GET', `${path}?source=1,2,no-id&source=2&series=a.x,a.y`, {
    headers: { 'x-platform-system-of-units': 'imperial' },
  });
  const time = '2024-05-02T10:00:00.000Z';
  t.strictSame(json.values, [
    { source: { id: '1' }, type: 'a', name: 'x', value: 50, unit: 'degF', time },
    { source: { id: '1' }, type: 'a', name: 'y', value: 1, time },
    { source: { id: '2' }, type: 'a', name: 'x', value: 68, unit: 'degF', time },
    { source: { id: '2' }, type: 'a', name: 'y', value: 2, time },
  ]);
  const wanted = (asked: HistoryStatement): unknown =>
    Object.values(asked.params).find((value) => Array.isArray(value));
  t.strictSame(wanted(api.fake.asked[0]), [1, 2], 'all of them at first');
  t.notOk(wanted(api.fake.asked[1])?.toString().startsWith('1'), 'then that which lacks one');
  t.match(api.fake.asked[1].sql, 'time <=', 'of the time before');
  t.notMatch(JSON.stringify(api.fake.asked[1].params), 'a.x', 'and only what it lacks');
  const many = Array.from({ length: 101 }, (_, index) => index + 1).join();
  for (const query of ['', '?source=1', '?series=a.x', `?source=${many}&series=a.x`, '?source=1&series=a,b,c,d,e,f'])
    t.equal((await api.call('GET', `${path}${query}`)).status, 422, query.slice(0, 40));
  api.fake.asked.length = 0;
  await api.call('GET', `${path}?source=1&series=a.x`, { headers: { authorization: DEVICE } });
  t.match(api.fake.asked[0]?.sql, 'owner = ', 'a device sees what it may read');
});

t.test('units there and back', async (t) => {
  for (const [unit, other] of [
    ['m', 'ft'],
    ['km', 'mi'],
    ['cm', 'in'],
    ['degC', 'degF'],
    ['K', 'degR'],
    ['g', 'oz'],
    ['kg', 'lb'],
  ]) {
    const imperial = convertUnit({ value: 100, unit }, 'imperial');
    t.equal(imperial.unit, other);
    const back = convertUnit(imperial, 'metric');
    t.equal(back.unit, unit);
    t.ok(Math.abs(back.value - 100) < 1e-9);
  }
  t.strictSame(convertUnit({ value: 1, unit: 'constructor' }, 'imperial'), { value: 1, unit: 'constructor' });
});
