import t from 'tap';
import { ValueColumns, ValueRows } from '../../../src/model/entities/scoring/measured-values.ts';
import { slicesOf } from '../../../src/scoring/jobs/slices.ts';
import { type ValueRow, valueRows } from '../../helpers/value-rows.ts';

const columns = new ValueColumns([{ type: 'pump', series: 'a' }]);

const rowsOf = (source: number, times: number, valuesOfTime = 1): ValueRow[] =>
  Array.from({ length: times }, (_, time) =>
    Array.from({ length: valuesOfTime }, () => ({ source, time, fragment: 1, series: 1, value: time })),
  ).flat();

const cut = (rows: readonly ValueRow[]) =>
  [...slicesOf(valueRows(rows), columns)].map(({ rows: bytes, records }) => {
    const some = new ValueRows(bytes);
    const sources = new Set(Array.from({ length: some.count }, (_, row) => some.source(row)));
    return [records, [...sources].join()];
  });

t.test('whole devices follow one another until there are 2,000 records', async (t) => {
  t.same(cut([...rowsOf(1, 1_500), ...rowsOf(2, 600), ...rowsOf(3, 10)]), [
    [2_100, '1,2'],
    [10, '3'],
  ]);
  t.same(cut([]), []);
});

t.test('a device with more records is cut between two of them', async (t) => {
  t.same(cut([...rowsOf(1, 4_500, 2), ...rowsOf(2, 1)]), [
    [2_000, '1'],
    [2_000, '1'],
    [501, '1,2'],
  ]);
  t.same(cut([...rowsOf(1, 2, 100_001), ...rowsOf(2, 1)]), [
    [1, '1'],
    [1, '1'],
    [1, '2'],
  ]);
});

t.test('what the models look back to goes in front where a device is cut', async (t) => {
  const rows = [...rowsOf(1, 4_001, 2), ...rowsOf(2, 2_000), ...rowsOf(3, 1)];
  const slices = [...slicesOf(valueRows(rows), columns, 3)].map(({ rows: bytes, before, records }) => {
    const some = new ValueRows(bytes);
    return [before, records, some.time(0), some.count];
  });
  t.same(slices, [
    [0, 2_000, 0, 4_000],
    [3, 2_000, 1_997, 4_006],
    [3, 2_001, 3_997, 6 + 2 + 2_000],
    [0, 1, 0, 1],
  ]);
});

t.test('times without a value of a wanted column are no records', async (t) => {
  const others = [
    { source: 1, time: 0, fragment: 0, type: 0, series: 1, value: 1 },
    { source: 1, time: 1, fragment: 1, series: 0, value: 1 },
  ];
  t.same(cut(others), []);
  t.same(cut([...others, { source: 1, time: 2, fragment: 0, type: 1, series: 1, value: 1 }]), [[1, '1']]);
});

t.test('rows in shared memory are not copied for other threads', async (t) => {
  const rows = valueRows(rowsOf(1, 3));
  const shared = new Uint8Array(new SharedArrayBuffer(rows.length));
  shared.set(rows);
  t.equal([...slicesOf(shared, columns)][0].rows.buffer, shared.buffer);
  t.not([...slicesOf(rows, columns)][0].rows.buffer, rows.buffer);
});
