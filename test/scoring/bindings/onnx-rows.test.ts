/** Measurements as rows of the tensors of ONNX models (docs/spec/scoring.md#bindings-of-onnx-models). */
import t from 'tap';
import { recordOf } from '../../helpers/scoring/measured.ts';
import { onnxBody, onnxRecords } from '../../../src/scoring/bindings/onnx-rows.ts';
import { scoreChunk } from '../../../src/scoring/bindings/score-chunk.ts';

const inputs = [
  { name: 'x', shape: ['N', 2], type: 'tensor(float)' },
  { name: 'y', shape: [null], type: 'tensor(double)' },
];

t.test('rows to tensors and back', async (t) => {
  const records = [1, 2].map((value) => ({ 'x[0]': value, 'x[1]': value + 0.5, y: -value }));
  t.equal(onnxBody({ inputs }, records), '{"x":[[1,1.5],[2,2.5]],"y":[-1,-2]}');
  const answer = {
    label: ['a', 'b'],
    p: [[0.1], [0.2]],
    z: [
      [1, 2],
      [3, 4],
    ],
    m: [{ a: 0.5 }, { a: 0.6 }],
  };
  t.same(
    onnxRecords(answer, 2).map((record) => ({ ...record })),
    [
      { label: 'a', p: 0.1, 'z[0]': 1, 'z[1]': 2, 'm[a]': 0.5 },
      { label: 'b', p: 0.2, 'z[0]': 3, 'z[1]': 4, 'm[a]': 0.6 },
    ],
  );
  t.throws(() => onnxRecords({ label: ['a'] }, 2), /'label' has not a row for each of 2 measurements/);
});

t.test('measurements through an ONNX model', async (t) => {
  const asked: any[] = [];
  const engines: any = {
    onnx: {
      apply: async (_asker: unknown, _model: unknown, content: AsyncIterable<Uint8Array>) => {
        let text = '';
        for await (const piece of content) text += Buffer.from(piece).toString();
        asked.push(JSON.parse(text));
        return Buffer.from(JSON.stringify({ score: JSON.parse(text).y.map((value: number) => value * 2) }));
      },
    },
  };
  const bound: any = {
    binding: { modelKind: 'onnx' },
    model: {},
    information: JSON.stringify({ inputs: [inputs[1]] }),
    plan: { inputs: [{ name: 'y', type: 'oven', series: 't' }], allowsMissing: false, event: 'score' },
  };
  const bytes = Buffer.concat([
    recordOf({ values: { 'oven.t': 1 } }),
    recordOf({ values: { 'oven.u': 1 } }),
    recordOf({ source: 8, values: { 'oven.t': 3 } }),
  ]);
  const measured = await scoreChunk(engines, 1, bound, { bytes, used: bytes.length }, '{}');
  t.same(asked, [{ y: [1, 3] }]);
  t.match(measured, { scored: 2, incomplete: 1, told: { sources: [7, 8], events: [2, 6] } });
});
