/** Every kind of column, read back from real tables of the engine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session } from 'chdb';
import t from 'tap';
import { encodeNative } from '../../../src/store/clickhouse/native-columns.ts';
import type { NativeColumn } from '../../../src/store/clickhouse/native-columns.ts';

const directory = mkdtempSync(join(tmpdir(), 'millrace-native-'));
const session = new Session(join(directory, 'data'));
t.teardown(() => {
  session.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Inserts the columns into a table of the given definition and returns its rows in order of `n`. */
function roundTrip(definition: string, columns: NativeColumn[], rows: number): Record<string, unknown>[] {
  const path = join(directory, 'block.native');
  writeFileSync(path, encodeNative(columns, rows));
  session.query('DROP TABLE IF EXISTS t');
  session.query(`CREATE TABLE t (${definition}) ENGINE = MergeTree ORDER BY n`);
  const names = columns.map((column) => column.name).join(', ');
  session.query(`INSERT INTO t (${names}) SELECT ${names} FROM file('${path}', 'Native')`);
  const text = session.query('SELECT * FROM t ORDER BY n', 'JSONEachRow');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const numbered = (rows: number): NativeColumn => ({
  name: 'n',
  type: 'UInt32',
  data: { kind: 'fixed', values: Uint32Array.from({ length: rows }, (_, row) => row) },
});

t.test('fixed width, with arrays longer than the block', async (t) => {
  const rows = roundTrip(
    'n UInt32, a UInt8, b UInt16, c Float64, d UInt64, e Int64',
    [
      numbered(5),
      { name: 'a', type: 'UInt8', data: { kind: 'fixed', values: Uint8Array.of(0, 1, 255, 9, 9) } },
      { name: 'b', type: 'UInt16', data: { kind: 'fixed', values: Uint16Array.of(0, 1, 65535, 9, 9) } },
      { name: 'c', type: 'Float64', data: { kind: 'fixed', values: Float64Array.of(0, -1.5, 1e300, 9, 9) } },
      { name: 'd', type: 'UInt64', data: { kind: 'fixed', values: BigUint64Array.of(0n, 1n, 9007199254740991n, 9n) } },
      { name: 'e', type: 'Int64', data: { kind: 'fixed', values: BigInt64Array.of(0n, -1n, 7n) } },
    ],
    3,
  );
  t.same(rows, [
    { n: 0, a: 0, b: 0, c: 0, d: 0, e: 0 },
    { n: 1, a: 1, b: 1, c: -1.5, d: 1, e: -1 },
    { n: 2, a: 255, b: 65535, c: 1e300, d: 9007199254740991, e: 7 },
  ]);
});

t.test('64-bit integers from doubles', async (t) => {
  const values = [
    0,
    1,
    255,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 32 + 1,
    2 ** 40 + 12345,
    Number.MAX_SAFE_INTEGER,
  ];
  const both = [...values, ...values.map((value) => -value)];
  const rows = roundTrip(
    "n UInt32, i Int64, u UInt64, t DateTime64(3, 'UTC')",
    [
      numbered(both.length),
      { name: 'i', type: 'Int64', data: { kind: 'integers', values: Float64Array.from(both) } },
      { name: 'u', type: 'UInt64', data: { kind: 'integers', values: Float64Array.from(both, Math.abs) } },
      {
        name: 't',
        type: "DateTime64(3, 'UTC')",
        data: { kind: 'integers', values: new Float64Array(both.length).fill(1790000000123) },
      },
    ],
    both.length,
  );
  t.same(
    rows.map((row) => row.i),
    both.map((value) => (value === 0 ? 0 : value)),
  );
  t.same(
    rows.map((row) => row.u),
    both.map(Math.abs),
  );
  t.equal(rows[0].t, new Date(1790000000123).toISOString().replace('T', ' ').replace('Z', ''));
});

t.test('strings of every length of prefix and every width of character', async (t) => {
  const texts = [
    '',
    'a',
    'x'.repeat(40),
    'x'.repeat(41),
    'y'.repeat(127),
    'y'.repeat(128),
    'z'.repeat(20000),
    'é',
    '€'.repeat(50),
    '😀',
    'a\n\nCREATE TABLE evil (a Int8) ENGINE=Memory;\n',
    '\0',
    '\'"\\',
    'w'.repeat(2_100_000),
  ];
  const bytes = Buffer.concat([Buffer.from('skipped'), ...texts.map((text) => Buffer.from(text))]);
  const lengths = Uint32Array.from(texts, (text) => Buffer.byteLength(text));
  const rows = roundTrip(
    'n UInt32, s String, b String',
    [
      numbered(texts.length),
      { name: 's', type: 'String', data: { kind: 'strings', values: texts } },
      { name: 'b', type: 'String', data: { kind: 'bytes', bytes, offset: 7, lengths } },
    ],
    texts.length,
  );
  t.equal(rows.length, texts.length);
  rows.forEach((row, index) => t.ok(row.s === texts[index] && row.b === texts[index], `text ${index}`));
});

t.test('arrays and dictionaries', async (t) => {
  const arrays = [[], ['a'], ['b', '', 'ü'], Array.from({ length: 300 }, (_, index) => String(index))];
  const many = Array.from({ length: 300 }, (_, index) => `series ${index}`);
  const rows = roundTrip(
    'n UInt32, a Array(String), l LowCardinality(String), w LowCardinality(String), s String',
    [
      numbered(4),
      { name: 'a', type: 'Array(String)', data: { kind: 'arrays', values: arrays } },
      {
        name: 'l',
        type: 'LowCardinality(String)',
        data: { kind: 'dictionary', values: ['', '°C'], indices: Uint8Array.of(1, 0, 1, 1) },
      },
      {
        name: 'w',
        type: 'LowCardinality(String)',
        data: { kind: 'dictionary', values: many, indices: Uint16Array.of(299, 0, 256, 7) },
      },
      // The dictionary of a column that the table keeps as plain strings.
      {
        name: 's',
        type: 'LowCardinality(String)',
        data: { kind: 'dictionary', values: ['p', 'q'], indices: Uint32Array.of(0, 1, 1, 0) },
      },
    ],
    4,
  );
  t.same(
    rows.map((row) => row.a),
    arrays,
  );
  t.same(
    rows.map((row) => row.l),
    ['°C', '', '°C', '°C'],
  );
  t.same(
    rows.map((row) => row.w),
    [many[299], many[0], many[256], many[7]],
  );
  t.same(
    rows.map((row) => row.s),
    ['p', 'q', 'q', 'p'],
  );
});

t.test('a block goes into the room that it is given, or into its own where it does not fit', async (t) => {
  const alone = encodeNative([numbered(100)], 100);
  const room = Buffer.alloc(alone.length, 0xff);
  const shorter = encodeNative([numbered(90)], 90, room);
  t.equal(shorter.buffer, room.buffer);
  t.same(shorter, encodeNative([numbered(90)], 90));
  t.equal(encodeNative([numbered(100)], 100, room).buffer, room.buffer);
  const longer = encodeNative([numbered(101)], 101, room);
  t.not(longer.buffer, room.buffer);
  t.same(room, alone, 'the room has what was written before');
});

t.test('too few rows or bytes are refused', async (t) => {
  t.throws(() => encodeNative([numbered(2)], 3), /column n has 2 rows; the block has 3/);
  const bytes: NativeColumn = {
    name: 'b',
    type: 'String',
    data: { kind: 'bytes', bytes: new Uint8Array(3), lengths: Uint32Array.of(4) },
  };
  t.throws(() => encodeNative([bytes], 1), /column b has 3 bytes; its lengths add up to 4/);
});
