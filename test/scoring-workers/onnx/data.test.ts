/** Models made by others, with what their makers say that they give; the files lie beside the repository. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { OnnxModel } from '../../../src/scoring-workers/onnx/model.ts';
import { ROOT } from '../../helpers/root.ts';

const FOLDER = join(ROOT, '..', 'shared', 'data', 'onnx');

interface Expected {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: readonly (number | string)[];
}
interface Described {
  readonly tolerance: number;
  readonly cases: readonly {
    readonly inputs: Readonly<Record<string, Expected>>;
    readonly expected: Readonly<Record<string, Expected>>;
  }[];
}

/** Row-major values as nested arrays. */
function nested(data: readonly unknown[], [length, ...inner]: readonly number[]): unknown {
  if (length === undefined) return data[0];
  const step = inner.reduce((product, one) => product * one, 1);
  return Array.from({ length }, (_, index) => nested(data.slice(index * step, (index + 1) * step), inner));
}

const near = (got: unknown, wanted: unknown, tolerance: number): boolean =>
  typeof got === 'number' && typeof wanted === 'number'
    ? Math.abs(got - wanted) <= tolerance * Math.max(1, Math.abs(wanted))
    : got === wanted;

const folders = existsSync(FOLDER)
  ? readdirSync(FOLDER).filter((name) => existsSync(join(FOLDER, name, 'model.onnx')))
  : [];

t.test('models of others', { skip: folders.length === 0 && `${FOLDER} is not there` }, async (t) => {
  for (const name of folders) {
    const described = JSON.parse(readFileSync(join(FOLDER, name, 'io.json'), 'utf8')) as Described;
    const model = await OnnxModel.load(readFileSync(join(FOLDER, name, 'model.onnx')));
    for (const { inputs, expected } of described.cases) {
      const body = Object.fromEntries(
        Object.entries(inputs).map(([input, { data, dims }]) => [input, nested(data, dims)]),
      );
      const outputs = JSON.parse(await model.applyToJson(body)) as Readonly<Record<string, unknown>>;
      t.same(
        Object.keys(outputs),
        model.describe().outputs.map((output) => output.name),
        `${name}: all outputs`,
      );
      for (const [output, { data, dims }] of Object.entries(expected)) {
        const got = [outputs[output]].flat(Infinity);
        t.same(
          JSON.stringify(outputs[output]).replace(/[^[\],]/g, ''),
          JSON.stringify(nested(data, dims)).replace(/[^[\],]/g, ''),
          `${name} ${output}: shape`,
        );
        const wrong = data.findIndex((wanted, index) => !near(got[index], wanted, described.tolerance));
        t.equal(wrong, -1, `${name} ${output}: ${got[wrong]} at ${wrong}`);
      }
      if (name === 'logreg-zipmap') {
        const [row] = outputs['output_probability'] as Readonly<Record<string, number>>[];
        t.same(Object.keys(row), ['0', '1', '2'], `${name}: probabilities by label`);
        t.ok(near(row['0'] + row['1'] + row['2'], 1, 1e-5));
      }
      if (name === 'zipmap-string') t.same(Object.keys((outputs['output'] as object[])[0]), ['A', 'B', 'C'], name);
    }
    await model.release();
  }
});
