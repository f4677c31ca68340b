/** Values of measurements become records of a model, and its results pieces of pages. */
import t from 'tap';
import type { InputRecord, ScoringModel } from '../../src/scoring-workers/pmml/engine.ts';
import type { ValuesTask } from '../../src/scoring-workers/protocol.ts';
import { scoreValues } from '../../src/scoring-workers/records/values.ts';
import { type ValueRow, valueRows } from '../helpers/value-rows.ts';

/** Shows its inputs, and which series of records they are in; refuses `a` 13. */
function modelOf(): ScoringModel {
  let series = 0;
  return {
    information: {
      modelName: 'M',
      description: '',
      version: '4.4',
      functionName: 'regression',
      inputFields: [],
      outputFields: [],
    },
    bytes: 0,
    begin: () => void series++,
    apply: (record: InputRecord) =>
      record['a'] === 13 ? { y: null } : { y: `${series}: ${record['a']} ${record['b']} ${record['__proto__']}` },
    lastPrediction: () => undefined,
    explain: () => '',
  };
}

const INPUTS = [
  { input: 'a', type: 'pump', series: 'T' },
  { input: 'b', type: 'state', series: 'T' },
  { input: '__proto__', type: 'pump', series: 'T' },
];

function score(rows: readonly ValueRow[], left = 2_000) {
  let scored = 0;
  const task: ValuesTask = {
    kind: 'values',
    key: { tenant: 1, name: 'M', version: 'v' },
    rows: valueRows(rows),
    before: 0,
    inputs: INPUTS,
    name: 'M "1"',
    timesName: 'timestamp_7',
    page: { size: 2, left },
  };
  const pieces = [...scoreValues(modelOf(), task, () => scored++)];
  return { scored, pieces: pieces.map(({ text, ...piece }) => ({ ...piece, found: JSON.parse(text) })) };
}

t.test('values of one source and time are a record', async (t) => {
  const { pieces, scored } = score([
    { source: 2 ** 40 + 5, time: -1, fragment: 1, series: 1, value: 1 },
    { source: 2 ** 40 + 5, time: 0, fragment: 1, type: 2, series: 1, value: 2 },
    { source: 2 ** 40 + 5, time: 0, fragment: 1, series: 1, value: 3 },
    { source: 2 ** 40 + 5, time: 1, fragment: 0, series: 1, value: 4 },
    { source: 6, time: 2 ** 33, type: 2, series: 1, value: 13 },
    { source: 6, time: 2 ** 33 + 1, fragment: 1, series: 1, value: 13 },
    { source: 6, time: 2 ** 33 + 2, fragment: 1, series: 1, value: Number.NaN },
  ]);
  t.equal(scored, 5);
  t.match(pieces, [
    {
      deviceId: String(2 ** 40 + 5),
      records: 2,
      refused: 0,
      unseen: [],
      found: {
        modelName: 'M "1"',
        outputRecords: {
          y: ['1: 1 null 1', '1: 3 2 3'],
          timestamp_7: ['1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'],
        },
      },
    },
    {
      deviceId: '6',
      records: 3,
      refused: 1,
      unseen: [],
      found: { outputRecords: { y: ['2: null 13 null', null, '2: null null null'] } },
    },
  ]);
});

t.test('pages end where they are full, and a device goes on', async (t) => {
  const rows = Array.from({ length: 4 }, (_, time) => ({ source: 1, time, fragment: 1, series: 1, value: time }));
  const { pieces } = score(rows, 1);
  t.same(
    pieces.map(({ records, unseen, found }) => [records, unseen, found.outputRecords.y]),
    [
      [1, [1], ['1: 0 null 0']],
      [2, [1], ['1: 1 null 1', '1: 2 null 2']],
      [1, [1], ['1: 3 null 3']],
    ],
  );
});
