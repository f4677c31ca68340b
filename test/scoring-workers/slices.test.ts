/** Records are cut out of text that comes in pieces of any length (docs/spec/scoring.md#batch). */
import t from 'tap';
import { lineOf, quoteFault } from '../../src/scoring-workers/records/csv-places.ts';
import { rowsOf } from '../../src/scoring-workers/records/input.ts';
import {
  BadRecord,
  headerEnd,
  slicerOf,
  type Slice,
  type SliceRules,
} from '../../src/scoring-workers/records/slices.ts';
import type { RecordFormat } from '../../src/scoring-workers/protocol.ts';

const RULES: SliceRules = { recordsMax: 2, bytesMax: 1_000, recordBytesMax: 100 };

/** Slices as texts, of the text in pieces of `step` bytes. */
function cut(format: RecordFormat, text: string, step: number, rules = RULES): (string | number)[][] {
  const bytes = Buffer.from(text);
  const slicer = slicerOf(format, rules);
  const told = (slices: readonly Slice[]): (string | number)[][] =>
    slices.map((slice) => [slice.bytes.toString(), slice.count, ...(format === 'csv' ? [slice.line] : [])]);
  const slices = [];
  for (let at = 0; at < bytes.length; at += step) slices.push(...told(slicer.write(bytes.subarray(at, at + step))));
  slices.push(...told(slicer.end()));
  if (slicer.bad !== undefined) throw slicer.bad;
  return slices;
}

const EVERY_STEP = [1, 2, 3, 7, 1_000];

t.test('lines of CSV', async (t) => {
  for (const step of EVERY_STEP)
    t.same(
      cut('csv', '1,a\r\n\n2,"b\nc,""d"\n3,e\n\n4,f', step),
      [
        ['1,a\r\n\n2,"b\nc,""d"\n', 2, 1],
        ['3,e\n\n4,f', 2, 5],
      ],
      `in pieces of ${step}`,
    );
  t.same(cut('csv', '', 1), []);
  t.throws(() => cut('csv', 'a\n"b', 2), { record: 2, place: { line: 2 }, message: 'a quote is not closed' });
  t.throws(() => cut('csv', 'a\n"b"\nc"d', 2), {
    record: 3,
    place: { line: 3, position: 2 },
    message: /not surrounded/,
  });
  t.throws(() => cut('csv', `a\n${'b'.repeat(200)}`, 50), { record: 2, message: /more than 100 bytes/ });
});

t.test('a fault of quotes has its record, its line and its position', async (t) => {
  const fault = (text: string): object | undefined => quoteFault(text);
  t.match(fault('a,b\r\n\n"c\n""d",e"f\n'), { record: 1, line: 4, position: 7, reason: /not surrounded/ });
  t.match(fault('"a"b\n'), { record: 0, line: 1, position: 4, reason: /behind the closing/ });
  t.equal(fault('"a",""\r\n"b""c"\n\n d'), undefined);
  t.equal(lineOf('a\n\n"b\n"\nc', 2), 5);
  for (const text of ['1,2\n3,"4"\r\n5,6', '1\r\n"2"\n3\n'])
    t.equal(rowsOf(text, 1).length, 3, 'either line end, also in one text');
});

t.test('elements of a JSON array', async (t) => {
  const text = ' [ {"a":"}]\\""},{"b":[1,{"c":"\\\\"}]} , {"d":1}\n]  ';
  for (const step of EVERY_STEP)
    t.same(
      cut('json', text, step),
      [
        ['{"a":"}]\\""},{"b":[1,{"c":"\\\\"}]}', 2],
        ['{"d":1}', 1],
      ],
      `in pieces of ${step}`,
    );
  t.same(cut('json', '[]', 1), []);
  t.same(cut('json', '{"a":1}', 1), [['{"a":1}', 1]], 'one object is one record');
  const refused: [string, number][] = [
    ['[{"a":1},]', 2],
    ['[{"a":1} {"b":1}]', 2],
    ['[{"a":1},5]', 2],
    ['[{"a":1}', 2],
    ['[{"a":1}]x', 2],
    ['5', 1],
    ['[', 1],
  ];
  for (const [sent, record] of refused)
    for (const step of [1, 1_000])
      t.throws(() => cut('json', sent, step), { name: 'BadRecord', record }, `${sent} in pieces of ${step}`);
});

t.test('whole records in front of what is wrong are cut all the same', async (t) => {
  const slicer = slicerOf('json', { ...RULES, recordsMax: 10 });
  t.same(
    slicer.write(Buffer.from('[{"a":1},{"b":]} x')).map(({ count }) => count),
    [2],
  );
  t.match(slicer.bad, { record: 3 });
  t.same(slicer.write(Buffer.from(',{}]')), []);
  t.same(slicer.end(), []);
});

t.test('a slice is bounded in bytes too', async (t) => {
  const rules = { ...RULES, recordsMax: 1_000, bytesMax: 8 };
  t.same(
    cut('csv', '123\n456\n789\n', 5, rules).map(([, count]) => count),
    [2, 1],
  );
});

t.test('the header', async (t) => {
  t.equal(headerEnd(Buffer.from('a,b\n1,2\n')), 4);
  t.equal(headerEnd(Buffer.from('\r\n"a\nb",c\n1')), 10);
  t.equal(headerEnd(Buffer.from('a,b')), -1);
  t.ok(new BadRecord(1, 'x') instanceof Error);
});
