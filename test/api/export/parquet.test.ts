/** Files of Parquet, read back by another program's reader: columns, types, values, row groups. */
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { ParquetWriter, SMALL_GROUPS_MAX, groupRoom } from '../../../src/api/export/parquet.ts';
import type { ParquetColumn } from '../../../src/api/export/parquet.ts';

const COLUMNS: readonly ParquetColumn[] = [
  { name: 'id', type: 'string' },
  { name: 'count', type: 'integer' },
  { name: 'value', type: 'number' },
  { name: 'time', type: 'time' },
];
const compressors = { GZIP: (bytes: Uint8Array): Uint8Array => gunzipSync(bytes) };

function fileOf(groups: readonly (readonly (readonly (string | number)[])[])[]): ArrayBuffer {
  const writer = new ParquetWriter(COLUMNS);
  const bytes = Buffer.concat([...groups.map((rows) => writer.rowGroup(rows)), writer.end()]);
  return new Uint8Array(bytes).buffer;
}

t.test('all groups come back', async (t) => {
  const rows = [
    ['1', 0, 0.1, 0],
    ['', -3, -0, 1_777_777_777_777],
    ['äöü 😀 "quoted"\n\0', 2 ** 53 - 1, 1.7976931348623157e308, -1],
    ['x'.repeat(100_000), 7, 5e-324, 253_402_300_799_999],
  ];
  const file = fileOf([rows.slice(0, 3), rows.slice(3)]);
  const objects = await parquetReadObjects({ file, compressors });
  t.same(
    objects,
    rows.map(([id, count, value, time]) => ({ id, count: BigInt(count), value, time: new Date(time as number) })),
  );
});

t.test('columns are mandatory, groups as they were given', async (t) => {
  const group = Array.from({ length: 12_000 }, (_, index) => [`id ${index}`, index, index / 3, index * 1_000]);
  const { row_groups: groups, schema, num_rows: count } = parquetMetadata(fileOf([group, group.slice(0, 5)]));
  t.same(
    groups.map(({ num_rows: rows }) => rows),
    [12_000n, 5n],
  );
  t.equal(count, 12_005n);
  t.same(
    schema.slice(1).map((one) => [one.name, one.type, one.converted_type ?? '', one.repetition_type]),
    [
      ['id', 'BYTE_ARRAY', 'UTF8', 'REQUIRED'],
      ['count', 'INT64', '', 'REQUIRED'],
      ['value', 'DOUBLE', '', 'REQUIRED'],
      ['time', 'INT64', 'TIMESTAMP_MILLIS', 'REQUIRED'],
    ],
  );
});

t.test('a file without rows', async (t) => {
  t.same(await parquetReadObjects({ file: fileOf([]), compressors }), []);
});

t.test('a group with no two equal values of a column', async (t) => {
  const rows = Array.from({ length: 3_000 }, (_, index) => [`${index}`.repeat(200), index, Math.sqrt(index), index]);
  const objects = await parquetReadObjects({ file: fileOf([rows]), compressors });
  t.equal(objects.length, 3_000);
  t.equal(objects[2_999].id, '2999'.repeat(200));
  t.equal(objects[2_999].value, Math.sqrt(2_999));
});

t.test(
  'groups are small at first: each holds up the event loop, and is described in memory until the end',
  async (t) => {
    t.same([groupRoom(0).rows, groupRoom(SMALL_GROUPS_MAX - 1).rows], [2_500, 2_500]);
    t.same([groupRoom(SMALL_GROUPS_MAX).rows, groupRoom(10 * SMALL_GROUPS_MAX).rows], [10_000, 10_000]);
  },
);
