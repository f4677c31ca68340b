/**
 * Aggregated series on the engine: each bucket is a whole minute, hour or day of UTC, in every year that a measurement
 * may have.
 */
import t from 'tap';
import { startServer } from '../../helpers/running/server.ts';

const { rest } = await startServer(t);

/** What is sent, and the start of its minute, hour and day. */
const TIMES = [
  ['1965-03-04T05:06:07.008Z', '1965-03-04T05:06:00.000Z', '1965-03-04T05:00:00.000Z', '1965-03-04T00:00:00.000Z'],
  ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:00.000Z', '1969-12-31T23:00:00.000Z', '1969-12-31T00:00:00.000Z'],
  ['1970-01-02T00:00:00+01:00', '1970-01-01T23:00:00.000Z', '1970-01-01T23:00:00.000Z', '1970-01-01T00:00:00.000Z'],
  // Where clocks of Europe and America are changed, and where an offset is no whole hour.
  ['2024-03-31T03:30:30+02:00', '2024-03-31T01:30:00.000Z', '2024-03-31T01:00:00.000Z', '2024-03-31T00:00:00.000Z'],
  ['2024-10-27T02:30:30+01:00', '2024-10-27T01:30:00.000Z', '2024-10-27T01:00:00.000Z', '2024-10-27T00:00:00.000Z'],
  ['2024-11-03T01:59:59-05:00', '2024-11-03T06:59:00.000Z', '2024-11-03T06:00:00.000Z', '2024-11-03T00:00:00.000Z'],
  ['2024-12-31T05:29:59.999+05:45', '2024-12-30T23:44:00.000Z', '2024-12-30T23:00:00.000Z', '2024-12-30T00:00:00.000Z'],
  ['2106-02-07T06:28:16Z', '2106-02-07T06:28:00.000Z', '2106-02-07T06:00:00.000Z', '2106-02-07T00:00:00.000Z'],
  ['2110-12-31T23:59:59.999Z', '2110-12-31T23:59:00.000Z', '2110-12-31T23:00:00.000Z', '2110-12-31T00:00:00.000Z'],
] as const;

t.test('the start of a minute, an hour and a day', async (t) => {
  const id = await rest.createDevice('Long lived');
  const measurements = TIMES.map(([time], index) => ({ source: { id }, type: 't', time, f: { s: { value: index } } }));
  t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
  for (const [place, aggregationType] of ['MINUTELY', 'HOURLY', 'DAILY'].entries()) {
    const path = `/measurement/measurements/series?source=${id}&dateFrom=1960-01-01&dateTo=2120-01-01&aggregationType=${aggregationType}`;
    const values = TIMES.map((row, index) => [row[place + 1], [{ min: index, max: index }]]);
    t.same(Object.entries((await rest.read(path)).values), values, aggregationType);
    t.same(
      Object.entries((await rest.read(`${path}&revert=true`)).values),
      [...values].reverse(),
      `${aggregationType}, backwards`,
    );
  }
});

t.test('the lowest and the highest value of a bucket before 1970 and after 2106', async (t) => {
  const id = await rest.createDevice('Extremes');
  for (const day of ['1965-07-08', '2150-07-08']) {
    const times = [
      ['00:00:00.000', 3],
      ['00:00:59.999', -1],
      ['00:59:59.999', 5],
      ['23:59:59.999', 9],
    ] as const;
    const measurements = times.map(([time, value]) => ({
      source: { id },
      type: 't',
      time: `${day}T${time}Z`,
      f: { s: { value } },
    }));
    t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
    const of = async (aggregationType: string): Promise<unknown> =>
      (
        await rest.read(
          '/measurement/measurements/series' +
            `?source=${id}&dateFrom=${day}&dateTo=${day}T23:59:59.999Z&aggregationType=${aggregationType}`,
        )
      ).values;
    t.same(await of('DAILY'), { [`${day}T00:00:00.000Z`]: [{ min: -1, max: 9 }] });
    t.same(await of('HOURLY'), {
      [`${day}T00:00:00.000Z`]: [{ min: -1, max: 5 }],
      [`${day}T23:00:00.000Z`]: [{ min: 9, max: 9 }],
    });
    t.same(await of('MINUTELY'), {
      [`${day}T00:00:00.000Z`]: [{ min: -1, max: 3 }],
      [`${day}T00:59:00.000Z`]: [{ min: 5, max: 5 }],
      [`${day}T23:59:00.000Z`]: [{ min: 9, max: 9 }],
    });
  }
});

t.test('without aggregation: each value at its own time; the series that are named', async (t) => {
  const id = await rest.createDevice('Plain');
  const [first, second] = ['2024-05-02T10:00:00.000Z', '2024-05-02T10:00:00.001Z'];
  const source = { id: await rest.createDevice('Beside it') };
  const measurements = [
    { source: { id }, type: 't', time: first, f: { a: { value: 1, unit: 'C' }, b: { value: 2 } } },
    { source: { id }, type: 't', time: second, f: { a: { value: 3, unit: 'C' } } },
    { source, type: 't', time: first, f: { a: { value: 7 }, c: { value: 8 } } },
  ];
  t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
  const path = `/measurement/measurements/series?source=${id}&dateFrom=${first}&dateTo=${second}`;
  const [a, b] = [
    { unit: 'C', name: 'a', type: 'f' },
    { name: 'b', type: 'f' },
  ];
  const value = (number: number): object => ({ min: number, max: number });
  t.same(await rest.read(path), {
    series: [a, b],
    values: { [first]: [value(1), value(2)], [second]: [value(3), null] },
    truncated: false,
  });
  t.same(await rest.read(`${path}&series=f.b`), { series: [b], values: { [first]: [value(2)] }, truncated: false });
  t.same((await rest.read(`${path}&series=f.a,f.b`)).series, [a, b]);
  // One name is read without those of the table, at its own time and in intervals.
  const averages = { series: [a], values: { [first]: [{ avg: 1 }], [second]: [{ avg: 3 }] }, truncated: false };
  t.same(await rest.read(`${path}&series=f.a&aggregationFunction=avg`), averages);
  t.same(await rest.read(`${path}&series=f.a&aggregationFunction=avg&aggregationInterval=1h`), {
    ...averages,
    values: { [first]: [{ avg: 2 }] },
  });
  t.same((await rest.read(`${path}&series=f.none&aggregationFunction=avg`)).series, []);
  t.same(Object.keys((await rest.read(path.replace(`dateFrom=${first}`, `dateFrom=${second}`))).values), [second]);
});

t.test('long ranges: the first 5,000 values, or the last ones, whatever there is beside them', async (t) => {
  const id = await rest.createDevice('Dense and sparse');
  const begin = Date.UTC(2021, 0, 1);
  // A value in each of two years, then two series each second, some values twice, then one again after nine years.
  const dense = Array.from({ length: 7_000 }, (_, index) => begin + 1_000 * index + (index % 7));
  const sparse = [Date.UTC(1990, 5, 1, 1, 2, 3, 4), Date.UTC(2001, 5, 1, 1, 2, 3, 4)];
  const late = Date.UTC(2030, 0, 1);
  const all = [...sparse, ...dense, late].map((time, index) => ({
    time,
    a: index % 100,
    b: index % 3 === 0 ? -index : undefined,
  }));
  const bodyOf = ({ time, a, b }: (typeof all)[number]): object => ({
    source: { id },
    type: 't',
    time: new Date(time).toISOString(),
    f: { a: { value: a }, ...(b === undefined ? {} : { b: { value: b } }) },
  });
  for (let at = 0; at < all.length; at += 1_000)
    t.equal(
      (await rest.post('/measurement/measurements', { measurements: all.slice(at, at + 1_000).map(bodyOf) })).status,
      201,
    );
  // Ten times each of the first ones: what is read at once has fewer values than an answer takes, and ends anywhere.
  for (let more = 0; more < 9; more += 1)
    await rest.post('/measurement/measurements', { measurements: all.slice(0, 500).map(bodyOf) });
  const expected = (
    durationMs: number,
    isDescending: boolean,
  ): [entries: [string, (object | null)[]][], truncated: boolean] => {
    const groups = new Map<string, { at: number; series: string; min: number; max: number }>();
    for (const { time, a, b } of all) {
      const at = durationMs === 0 ? time : Math.floor(time / durationMs) * durationMs;
      for (const [series, value] of [
        ['a', a],
        ['b', b],
      ] as const) {
        if (value === undefined) continue;
        const group = groups.get(`${at} ${series}`) ?? { at, series, min: value, max: value };
        groups.set(`${at} ${series}`, { ...group, min: Math.min(group.min, value), max: Math.max(group.max, value) });
      }
    }
    const sorted = [...groups.values()].sort(
      (left, right) =>
        (isDescending ? right.at - left.at : left.at - right.at) || (left.series < right.series ? -1 : 1),
    );
    const shown = new Map<string, (object | null)[]>();
    for (const { at, series, min, max } of sorted.slice(0, 5_000)) {
      const time = new Date(at).toISOString();
      const values = shown.get(time) ?? [null, null];
      shown.set(time, values);
      values[series === 'a' ? 0 : 1] = { min, max };
    }
    return [[...shown], sorted.length > 5_000];
  };
  for (const [aggregationType, durationMs] of [
    ['', 0],
    ['MINUTELY', 60_000],
    ['HOURLY', 3_600_000],
    ['DAILY', 86_400_000],
  ] as const) {
    for (const isDescending of [false, true]) {
      const path = `/measurement/measurements/series?source=${id}&dateFrom=1980-01-01&dateTo=2040-01-01&revert=${isDescending}${durationMs === 0 ? '' : `&aggregationType=${aggregationType}`}`;
      const { series, values, truncated } = await rest.read(path);
      const order = series.map(({ name }: any) => name);
      const inOrder = Object.entries<any>(values).map(([time, entries]) => [
        time,
        ['a', 'b'].map((name) => entries[order.indexOf(name)] ?? null),
      ]);
      t.same([inOrder, truncated], expected(durationMs, isDescending), path);
    }
  }
});

t.test('more values at one time than an answer takes', async (t) => {
  const id = await rest.createDevice('Wide');
  const fragment = (part: number): object =>
    Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [
        `s${String(3_000 * part + index).padStart(5, '0')}`,
        { value: index },
      ]),
    );
  for (const part of [0, 1, 2, 3, 4])
    t.equal(
      (
        await rest.post('/measurement/measurements', {
          source: { id },
          type: 't',
          time: '2024-05-02T10:00:00.000Z',
          f: fragment(part),
        })
      ).status,
      201,
    );
  const { series, values, truncated } = await rest.read(
    `/measurement/measurements/series?source=${id}&dateFrom=2024-05-01&dateTo=2024-05-03`,
  );
  t.same([series.length, Object.keys(values), truncated], [5_000, ['2024-05-02T10:00:00.000Z'], true]);
});
