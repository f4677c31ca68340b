/** Records of CSV as a model takes them. */
import t from 'tap';
import { BadRecord } from '../../src/scoring-workers/records/slices.ts';
import { csvRecords } from '../../src/scoring-workers/records/csv-records.ts';

const recordsOf = (text: string, columns: string[], inputs?: Map<string, boolean>) =>
  Array.from(csvRecords(Buffer.from(text), columns, inputs === undefined ? {} : { inputs }), (record) =>
    Object.entries(record),
  );

t.test('numbers are those of their texts, and what is none stays a text', async (t) => {
  const inputs = new Map([['n', true]]);
  const of = (text: string): unknown => recordsOf(`${text}\n`, ['n'], inputs)[0]?.[0]?.[1];
  const texts = ['0', '-0', '7', '-12.50', '007', '9007199254740993', '0.30000000000000004', '+1', '1e3', '-2.5E-7'];
  for (const text of [...texts, '0.0000000000000000000000001']) t.equal(of(text), Number(text), text);
  for (const text of ['-', '.', '1.', '.5', ' 1', '1 ', '1.2.3', '--1', 'NaN', '0x1', '1e999', '1'.repeat(400), '١'])
    t.equal(of(text), text);
});

t.test('columns that the model reads, numbers where they do as well', async (t) => {
  const inputs = new Map([
    ['n', true],
    ['__proto__', false],
  ]);
  const want = [
    [
      ['n', 1.5],
      ['__proto__', '1.5'],
    ],
    [
      ['n', undefined],
      ['__proto__', 'ä'],
    ],
    [
      ['n', 'x'],
      ['__proto__', undefined],
    ],
  ];
  t.same(recordsOf('1.5,skipped,1.5\r\n\n,,ä\nx,,', ['n', 'other', '__proto__'], inputs), want);
  t.same(
    recordsOf('"a,b",1\n"",2', ['__proto__', 'n']),
    [
      [
        ['__proto__', 'a,b'],
        ['n', '1'],
      ],
      [
        ['__proto__', undefined],
        ['n', '2'],
      ],
    ],
    'all, as texts, where that is not known',
  );
});

t.test('a row with another number of values is told', async (t) => {
  for (const text of ['1,2\r\n\r\n1,2,3\n', '1,2\n\n"1"\n', '1,2\n\n1'])
    t.throws(
      () => recordsOf(text, ['a', 'b']),
      Object.assign(new BadRecord(2, `it has ${text.includes('3') ? 3 : 1} values; the header has 2 columns`), {
        place: { line: 3 },
      }),
      text,
    );
});
