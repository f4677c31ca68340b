/** Measurements as rows of the tensors of ONNX models (docs/spec/scoring.md#bindings-of-onnx-models). */
import t from 'tap';
import { recordOf } from '../../helpers/scoring/measured.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { columnOf, isColumnOf, requireNarrow } from '../../../src/scoring-workers/onnx/columns.ts';
import { onnxBody, onnxRecords } from '../../../src/scoring/bindings/onnx-rows.ts';
import { scoreChunk } from '../../../src/scoring/bindings/score-chunk.ts';

const inputs = [
  { name: 'x', shape: ['N', 2], type: 'tensor(float)' },
  { name: 'y', shape: [null], type: 'tensor(double)' },
];

t.test('rows to tensors and back', async (t) => {
  const records = [1, 2].map((value) => ({ 'x[0]': value, 'x[1]': value + 0.5, y: -value }));
  t.equal(onnxBody({ inputs }, records), '{"x":[[1,1.5],[2,2.5]],"y":[-1,-2]}');
  t.same(
    onnxRecords({ label: ['a', 'b'], 'z[1]': [2, null] }, 2).map((record) => ({ ...record })),
    [
      { label: 'a', 'z[1]': 2 },
      { label: 'b', 'z[1]': null },
    ],
  );
  t.throws(() => onnxRecords({ label: ['a'] }, 2), /'label' has not a row for each of 2 measurements/);
});

t.test('outputs and columns by their names, in the process of the model', async (t) => {
  const rows = [
    [1, 2],
    [3, 4],
  ];
  t.same(columnOf(rows, '[1]'), [2, 4]);
  t.same(columnOf(rows, '[2]'), [null, null]);
  t.same(columnOf(rows, '[length]'), [null, null]);
  t.same(columnOf(rows, ''), [null, null], 'several values are not one');
  t.same(columnOf([[0.1], [0.2]], ''), [0.1, 0.2]);
  t.same(columnOf(['a', 'x'.repeat(5_000)], ''), ['a', 'x'.repeat(1_001)]);
  t.same(columnOf([{ a: 0.5 }, { b: 0.6 }], '[a]'), [0.5, null]);
  t.same(columnOf(5, ''), null);
  t.ok(isColumnOf('m[a]', 'm') && isColumnOf('m', 'm') && !isColumnOf('map', 'm'));
  requireNarrow('z', [1_000, 1_000]);
  t.throws(() => requireNarrow('z', [1, 101, 10]), /'z' has 1010 values in a row; a binding takes at most 1000/);
});

/** Scores with a model that doubles what it takes; of values below zero it takes none. */
function scorer() {
  const asked: any[] = [];
  const engines: any = {
    onnx: {
      apply: async (_asker: unknown, _model: unknown, content: AsyncIterable<Uint8Array>, form: unknown) => {
        let text = '';
        for await (const piece of content) text += Buffer.from(piece).toString();
        const { y } = JSON.parse(text);
        asked.push({ y });
        t.same(form, { columns: ['score'] }, 'nothing else is sent back');
        if (y.some((value: number) => value < 0)) throw new PlatformError('scoring/bad-input', { reason: 'negative' });
        return Buffer.from(JSON.stringify({ score: y.map((value: number) => value * 2) }));
      },
    },
  };
  const bound: any = {
    binding: { modelKind: 'onnx' },
    model: {},
    information: JSON.stringify({ inputs: [inputs[1]] }),
    plan: { inputs: [{ name: 'y', type: 'oven', series: 't' }], allowsMissing: false, event: 'score' },
  };
  return { asked, engines, bound };
}

t.test('values that the model does not take are those of one measurement', async (t) => {
  const { asked, engines, bound } = scorer();
  const score = (values: readonly number[]) => {
    const bytes = Buffer.concat(values.map((value) => recordOf({ values: { 'oven.t': value } })));
    return scoreChunk(engines, 1, bound, { bytes, used: bytes.length }, '{}');
  };
  const values = Array.from({ length: 500 }, (_, index) => (index === 300 ? -1 : index));
  const measured = await score(values);
  t.match(measured, { scored: 499, refused: 1 });
  t.same(
    measured.told.events,
    values.filter((value) => value >= 0).map((value) => value * 2),
    'in order',
  );
  t.ok(asked.length < 25);
  asked.length = 0;
  await t.rejects(score(values.map(() => -1)), { message: 'negative' });
  t.ok(asked.length < 130, 'a bound of runs');
});

t.test('measurements through an ONNX model', async (t) => {
  const { asked, engines, bound } = scorer();
  const bytes = Buffer.concat([
    recordOf({ values: { 'oven.t': 1 } }),
    recordOf({ values: { 'oven.u': 1 } }),
    recordOf({ source: 8, values: { 'oven.t': 3 } }),
  ]);
  const measured = await scoreChunk(engines, 1, bound, { bytes, used: bytes.length }, '{}');
  t.same(asked, [{ y: [1, 3] }]);
  t.match(measured, { scored: 2, incomplete: 1, told: { sources: [7, 8], events: [2, 6] } });
});
