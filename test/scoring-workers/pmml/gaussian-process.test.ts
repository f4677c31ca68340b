/** GaussianProcessModel (docs/spec/pmml-equations.md#gaussian-processes). */
import t, { type Test } from 'tap';
import { compileGaussianProcess } from '../../../src/scoring-workers/pmml/models/gaussian-process.ts';
import { doubles, familyModel, schema } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: number, wanted: number, what: string): void => {
  t.ok(Math.abs(found - wanted) <= 1e-12 * Math.max(1, Math.abs(wanted)), `${what}: ${found}, wanted ${wanted}`);
};

const POINTS = [
  [1, 3, 1],
  [2, 6, 2],
] as const;

const OUTPUT = '<Output><OutputField name="sd" feature="standardDeviation" dataType="double"/></Output>';

function process(kernel: string, form: { rows?: string; output?: string; functionName?: string } = {}) {
  const rows = POINTS.map(([a, b, y]) => `<row><a>${a}</a><b>${b}</b><y>${y}</y></row>`).join('');
  return familyModel(
    compileGaussianProcess,
    doubles('y', 'a', 'b'),
    `<GaussianProcessModel functionName="${form.functionName ?? 'regression'}">${schema('y', 'a', 'b')}${form.output ?? ''}${kernel}
      <TrainingInstances><InstanceFields><InstanceField field="a" column="x:a"/><InstanceField field="b"/><InstanceField field="y"/></InstanceFields>
      <InlineTable>${form.rows ?? rows}</InlineTable></TrainingInstances></GaussianProcessModel>`,
  );
}

/** Mean and variance by the inverse of a matrix of two rows. */
function wanted(k: (a: readonly number[], b: readonly number[]) => number, noise: number, x: readonly number[]) {
  const [first, second] = POINTS;
  const diagonal = k(first, first) + noise;
  const other = k(first, second);
  const determinant = diagonal ** 2 - other ** 2;
  const [k1, k2] = [k(x, first), k(x, second)];
  const apply = (u: number, v: number) => [
    (diagonal * u - other * v) / determinant,
    (diagonal * v - other * u) / determinant,
  ];
  const [w1, w2] = apply(1, 2) as [number, number];
  const [v1, v2] = apply(k1, k2) as [number, number];
  return { mean: k1 * w1 + k2 * w2, variance: k(x, x) + noise - k1 * v1 - k2 * v2 };
}

const sum = (a: readonly number[], b: readonly number[], of: (difference: number, i: number) => number): number =>
  [0, 1].reduce((total, i) => total + of(Math.abs((a[i] as number) - (b[i] as number)), i), 0);

t.test('kernels: mean and variance', async (t) => {
  const scales = '<Lambda><Array n="2" type="real">1.5 6</Array></Lambda>';
  const lambda = [1.5, 6] as const;
  const scaled = (difference: number, i: number): number => difference / (lambda[i] as number);
  type K = (a: readonly number[], b: readonly number[]) => number;
  const attributes = 'gamma="2.5" noiseVariance="0.1"';
  const cases: [string, K][] = [
    [`<RadialBasisKernel ${attributes} lambda="2"/>`, (a, b) => 2.5 * Math.exp(-0.5 * sum(a, b, (d) => (d / 2) ** 2))],
    [`<RadialBasisKernel ${attributes}/>`, (a, b) => 2.5 * Math.exp(-0.5 * sum(a, b, (d) => d ** 2))],
    [
      `<ARDSquaredExponentialKernel ${attributes}>${scales}</ARDSquaredExponentialKernel>`,
      (a, b) => 2.5 * Math.exp(-0.5 * sum(a, b, (d, i) => scaled(d, i) ** 2)),
    ],
    [
      `<AbsoluteExponentialKernel ${attributes}>${scales}</AbsoluteExponentialKernel>`,
      (a, b) => 2.5 * Math.exp(-sum(a, b, scaled)),
    ],
    [
      `<GeneralizedExponentialKernel ${attributes} degree="1.5">${scales}</GeneralizedExponentialKernel>`,
      (a, b) => 2.5 * Math.exp(-sum(a, b, (d, i) => scaled(d, i) ** 1.5)),
    ],
  ];
  for (const [kernel, k] of cases) {
    const prediction = process(kernel, { output: OUTPUT }).score({ a: 1.2, b: 4 });
    const { mean, variance } = wanted(k, 0.1, [1.2, 4]);
    near(t, prediction.number, mean, kernel);
    near(t, prediction.standardDeviation ** 2, variance, `variance of ${kernel}`);
  }
});

t.test('the example of the standard', async (t) => {
  const kernel =
    '<ARDSquaredExponentialKernel gamma="2.4890" noiseVariance="0.0110"><Lambda><array n="2" type="real">1.5164 59.3113</array></Lambda></ARDSquaredExponentialKernel>';
  t.equal(process(kernel).score({ a: 1, b: 4 }).number.toFixed(4), '1.0095');
});

t.test('missing inputs, and spreads that no output asks for', async (t) => {
  const model = process('<RadialBasisKernel/>');
  t.equal(model.score({ a: 1 }).value, undefined);
  t.ok(Number.isNaN(model.score({ a: 1, b: 2 }).standardDeviation));
  t.match(model.explain(), ['[GaussianProcess]', /mean over \[2\] training instances/, /variance/]);
});

t.test('a wish for 32 bits is answered by a warning', async (t) => {
  const model = process('<RadialBasisKernel/>', { functionName: 'regression" x-mathContext="float' });
  t.match(model.problems.list, [{ severity: 'warning', text: /computes with 64 bits/ }]);
});

t.test('what is refused says why', async (t) => {
  t.throws(() => process(''), /has no kernel/);
  t.throws(() => process('<RadialBasisKernel/>', { rows: '' }), /has no row/);
  t.throws(
    () => process('<RadialBasisKernel/>', { rows: '<row><a>1</a><y>1</y></row>' }),
    /column 'b' of row 1 is 'missing'/,
  );
  t.throws(() => process('<RadialBasisKernel/>', { functionName: 'classification' }), /is a regression/);
  const twice = '<row><a>1</a><b>1</b><y>1</y></row>'.repeat(2);
  t.throws(() => process('<RadialBasisKernel noiseVariance="0"/>', { rows: twice }), /not positive definite/);
  t.throws(() => process('<RadialBasisKernel/>', { rows: '<row/>'.repeat(2001) }), /2001 rows; at most 2000/);
  const three = '<AbsoluteExponentialKernel><Lambda><Array>1 2 3</Array></Lambda></AbsoluteExponentialKernel>';
  t.throws(() => process(three), /3 values of lambda; there are 2 fields/);
});
