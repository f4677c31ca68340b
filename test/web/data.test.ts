/** What charts and the alarms workbench compute: points, gaps, ticks, live values. */
import t from 'tap';
import { csvField } from '../../web/core/server/exports.ts';
import { appendValue, dropBefore, pointsOf, takeNewest, valueIn } from '../../web/core/server/series.ts';
import type { SeriesData } from '../../web/core/server/series.ts';
import { fits, intervalFor } from '../../web/core/time/intervals.ts';
import { nearest, pointsPx, rowsOf, scaleOf } from '../../web/parts/chart/model.ts';
import { tickTexts, timeTicks } from '../../web/parts/chart/ticks.ts';
import { undoList, runUndo } from '../../web/core/notices.ts';
import { changeAllThatMatch } from '../../web/screens/alarms/change.ts';
import { polygonsOf } from '../../web/screens/map/outline.ts';

const seriesOf = (times: readonly number[], value = 1): SeriesData => ({
  unit: 'C',
  times: [...times],
  averages: times.map(() => value),
  minima: times.map(() => value - 1),
  maxima: times.map(() => value + 1),
  counts: times.map(() => 1),
  isTruncated: false,
});

t.test('coast lines are steps of tenths of a degree', async (t) => {
  t.same(polygonsOf([[[10, 20, -5, 5]], [[0, 0]]]), [
    [
      [
        [2, 1],
        [2.5, 0.5],
      ],
    ],
    [[[0, 0]]],
  ]);
});

t.test('a long pause is a gap; a time of another series is not', async (t) => {
  const [times, averages] = rowsOf([seriesOf([0, 10, 20, 100, 110])]);
  t.same(times, [0, 10, 20, 30, 100, 110]);
  t.same(averages, [1, 1, 1, null, 1, 1]);
  const two = rowsOf([seriesOf([0, 10, 20]), seriesOf([5, 15, 25])]);
  t.same(two[0], [0, 5, 10, 15, 20, 25]);
  t.same([...two[1]], [1, undefined, 1, undefined, 1, undefined]);
  const same = rowsOf([seriesOf([0, 10]), seriesOf([0, 10], 2)]);
  t.same(
    same,
    [
      [0, 10],
      [1, 1],
      [2, 2],
      [0, 0],
      [2, 2],
      [3, 3],
      [1, 1],
    ],
    'series of the same intervals',
  );
  t.same(rowsOf([]), [[]]);
});

t.test('live values go into their interval, or behind the last point', async (t) => {
  const data = seriesOf([0, 1_000]);
  t.ok(appendValue(data, 1_900, 5, 1_000));
  t.same([data.averages[1], data.minima[1], data.maxima[1], data.counts[1]], [3, 0, 5, 2]);
  t.ok(appendValue(data, 2_100, 7, 1_000));
  t.same(data.times, [0, 1_000, 2_000]);
  t.same(data.last, { ms: 2_100, value: 7 });
  takeNewest(data, { ms: 2_000, value: 1 });
  t.same(data.last, { ms: 2_100, value: 7 }, 'the server told of an older one');
  t.notOk(appendValue(seriesOf([0, 10]), 5, 1, 0), 'an older single value waits for the next answer of the server');
  dropBefore(data, 1_000);
  t.same(data.times, [1_000, 2_000]);
  const measurement = { time: '1970-01-01T00:00:01Z', 'a.b': { 'c.d': { value: 4 } } };
  t.same(valueIn(measurement, 'a.b.c.d'), { ms: 1_000, value: 4 });
  t.equal(valueIn(measurement, 'a.b.c'), undefined);
});

t.test('an answer of the server becomes points', async (t) => {
  const value = { avg: 2, min: 1, max: 3, count: 2 };
  const values = { '1970-01-01T00:00:00.000Z': [value], '1970-01-01T00:00:01.000Z': [null] };
  const data = pointsOf({ series: [{ unit: 'bar' }], values, truncated: true });
  t.same([data.unit, data.times, data.averages, data.isTruncated], ['bar', [0], [2], true]);
  const series = [
    { type: 'a', name: 'b' },
    { type: 'a', name: 'b,c', unit: 'C' },
  ];
  const both = { series, values: { '1970-01-01T00:00:00.000Z': [null, value] } };
  t.same(
    [pointsOf(both, 'a.b,c').unit, pointsOf(both, 'a.b,c').averages, pointsOf(both, 'a.b').averages],
    ['C', [2], []],
  );
  t.same(pointsOf(both, 'a.none').times, []);
});

t.test('at most one point a pixel, and as many as the server shows', async (t) => {
  t.equal(intervalFor(60_000, 1_000), '');
  t.equal(pointsPx(1_000), 810, 'names and axis have no points');
  t.equal(intervalFor(6 * 3_600_000, 1_000), '30s');
  t.equal(intervalFor(365 * 86_400_000, 1_000), '12h');
  t.notOk(fits('1s', 2 * 3_600_000));
});

t.test('ticks are round times of the wall, also where clocks change', async (t) => {
  const from = Date.parse('2026-10-24T22:00:00Z');
  const ticks = timeTicks(from, from + 25 * 3_600_000, { countMax: 9, zone: 'Europe/Berlin' });
  t.same(tickTexts(ticks, 'Europe/Berlin'), [
    '00:00\n2026-10-25',
    '03:00',
    '06:00',
    '09:00',
    '12:00',
    '15:00',
    '18:00',
    '21:00',
    '00:00\n2026-10-26',
  ]);
  t.equal((ticks.times[1] - ticks.times[0]) / 3_600_000, 4, 'the night had an hour more');
  const spring = Date.parse('2026-03-08T05:00:00Z');
  const american = timeTicks(spring, spring + 23 * 3_600_000, { countMax: 9, zone: 'America/New_York' });
  t.equal((american.times[1] - american.times[0]) / 3_600_000, 2, 'the night had an hour less');
  const back = Date.parse('2026-10-25T01:10:00Z');
  const hour = timeTicks(back - 3_600_000, back, { countMax: 5, zone: 'Europe/Berlin' });
  t.same(tickTexts(hour, 'Europe/Berlin'), ['02:15\n2026-10-25', '02:30', '02:45', '02:00'], 'both of two same hours');
  const seconds = timeTicks(back, back + 10_000, { countMax: 5, zone: 'Europe/Berlin' });
  t.same(
    seconds.times,
    [0, 2, 4, 6, 8, 10].map((second) => back + second * 1_000),
  );
  t.equal(tickTexts(seconds, 'Europe/Berlin')[1], '02:10:02');
  const years = timeTicks(0, 5 * 365 * 86_400_000, { countMax: 6, zone: 'UTC' });
  t.same(tickTexts(years, 'UTC').slice(0, 2), ['1970-01', '1971-01']);
});

t.test('nearest points, scales, fields of CSV', async (t) => {
  t.same([nearest([0, 10, 20], 14), nearest([0, 10, 20], 99), nearest([], 1)], [1, 2, -1]);
  t.same(scaleOf(10, 110)[0], 0, 'zero is shown when it is near');
  t.same(scaleOf(100, 110), [99.5, 110.5]);
  t.same(
    [csvField('=1+1'), csvField('a"b,c'), csvField('a;=1'), csvField(-1.5)],
    ["'=1+1", '"a""b,c"', '"a;\'=1"', '-1.5'],
  );
});

t.test('a change of all alarms that match is taken back from its beginning to its end', async (t) => {
  const requestedAt = '2026-11-21T12:00:00.000Z';
  const asked: URLSearchParams[] = [];
  const counts = [3, 2, 0];
  t.intercept(globalThis, 'document', { value: { cookie: '' } });
  // Nothing waits: neither for the next look, nor for the end of a notice.
  t.intercept(globalThis, 'setTimeout', { value: (run: () => void) => setImmediate(run) });
  t.intercept(globalThis, 'fetch', {
    value: async ({ method, url }: Request) => {
      const query = new URL(url).searchParams;
      if (method === 'GET') {
        if (counts.length < 3)
          t.equal(query.get('createdTo'), requestedAt, 'alarms that are raised since do not count');
        return new Response(String(counts.shift()));
      }
      asked.push(query);
      const isFirst = asked.length === 1;
      return new Response('', { status: isFirst ? 202 : 200, headers: { 'X-Millrace-Requested-At': requestedAt } });
    },
  });
  await changeAllThatMatch({ status: 'ACTIVE', source: '7' }, 'CLEARED', () => undefined);
  t.same(counts, [], 'its end was waited for');
  await runUndo(undoList.value[0]);
  const { lastUpdatedTo, ...back } = Object.fromEntries(asked[1]);
  t.same(back, { status: 'CLEARED', source: '7', lastUpdatedFrom: requestedAt });
  t.ok(Date.parse(lastUpdatedTo) > Date.parse(requestedAt), lastUpdatedTo);
});
