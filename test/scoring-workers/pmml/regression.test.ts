/** RegressionModel (docs/spec/pmml-equations.md#regression). */
import t, { type Test } from 'tap';
import { compileRegression } from '../../../src/scoring-workers/pmml/models/regression/regression.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';
import { categories, doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: number, wanted: number, what: string): void => {
  t.ok(Math.abs(found - wanted) <= 1e-14 * Math.max(1, Math.abs(wanted)), `${what}: ${found}, wanted ${wanted}`);
};

/** One regression over `x`, `n` and `color`. */
const regression = (attributes: string, tables: string) =>
  familyModel(
    compileRegression,
    doubles('y', 'x', 'n') +
      texts('color', 'red', 'green') +
      '<DataField name="flag" optype="categorical" dataType="boolean"/>',
    `<RegressionModel functionName="regression" ${attributes}>${schema('y', 'x', 'n', 'color', 'flag')}${tables}</RegressionModel>`,
  );

t.test('numeric, categorical predictors and terms add up', async (t) => {
  const model = regression(
    '',
    `<RegressionTable intercept="10">
      <NumericPredictor name="x" exponent="2" coefficient="3"/>
      <NumericPredictor name="n" coefficient="-0.5"/>
      <CategoricalPredictor name="color" value="red" coefficient="100"/>
      <CategoricalPredictor name="color" value="green" coefficient="200"/>
      <CategoricalPredictor name="flag" value="true" coefficient="1000"/>
      <PredictorTerm coefficient="2"><FieldRef field="x"/><FieldRef field="n"/></PredictorTerm>
    </RegressionTable>`,
  );
  const at = (record: Record<string, unknown>) => model.score(record).value;
  t.equal(at({ x: 2, n: 4, color: 'green', flag: true }), 10 + 12 - 2 + 200 + 1000 + 16);
  t.equal(at({ x: 2, n: 4, color: 'blue', flag: false }), 10 + 12 - 2 + 16, 'an unknown category adds nothing');
  t.equal(at({ x: 2, n: 4 }), 10 + 12 - 2 + 16, 'neither does a missing one');
  t.equal(at({ n: 4, color: 'red' }), undefined, 'a missing number makes the result missing');
  t.strictSame((model.score({ x: 2, n: 4, color: 'red', flag: true }), model.explain()), [
    '[Regression]',
    'Processing [RegressionTable]:',
    'Applied [Intercept], the value is [10]',
    'Applied [NumericPredictor] [coefficient: 3, exponent: 2] on field(s) [x], the value is [12]',
    'Applied [NumericPredictor] [coefficient: -0.5, exponent: 1] on field(s) [n], the value is [-2]',
    'Applied [CategoricalPredictor] [coefficient: 100] on field(s) [color], the value is [100]',
    'Applied [CategoricalPredictor] [coefficient: 1000] on field(s) [flag], the value is [1000]',
    'Applied [PredictorTerm] [coefficient: 2] on field(s) [x, n], the value is [16]',
    'Value before normalization is [1136]',
    'Value after normalization is [1136]',
  ]);
});

t.test('a missing number counts as missing with the exponent 0 too', async (t) => {
  const model = regression(
    '',
    '<RegressionTable intercept="1"><NumericPredictor name="x" exponent="0" coefficient="3"/></RegressionTable>',
  );
  t.equal(model.score({ x: 7 }).value, 4);
  t.equal(model.score({}).value, undefined);
});

const LINKS: [string, (y: number) => number][] = [
  ['none', (y) => y],
  ['softmax', (y) => 1 / (1 + Math.exp(-y))],
  ['logit', (y) => 1 / (1 + Math.exp(-y))],
  ['exp', Math.exp],
  ['cloglog', (y) => 1 - Math.exp(-Math.exp(y))],
  ['loglog', (y) => Math.exp(-Math.exp(-y))],
  ['cauchit', (y) => 0.5 + Math.atan(y) / Math.PI],
  // Distribution function of the normal distribution at 0.3, of tables.
  ['probit', (y) => (y === 0.3 ? 0.6179114221889526 : Number.NaN)],
];

t.test('the value of a regression is normalized', async (t) => {
  for (const [method, link] of LINKS) {
    const model = regression(
      `normalizationMethod="${method}"`,
      '<RegressionTable intercept="0.1"><NumericPredictor name="x" coefficient="0.1"/></RegressionTable>',
    );
    near(t, model.score({ x: 2 }).number, link(0.3), method);
  }
  t.throws(() => regression('normalizationMethod="simplemax"', '<RegressionTable intercept="0"/>'), /simplemax/);
  t.throws(
    () => regression('normalizationMethod="soft"', '<RegressionTable intercept="0"/>'),
    /'soft'; it may be none/,
  );
});

/** A classification whose tables have the values given, in order. */
const classification = (form: {
  method: string;
  optype?: 'categorical' | 'ordinal';
  values: Record<string, number>;
  declared?: string[];
}) =>
  familyModel(
    compileRegression,
    doubles('x') + categories('y', form.optype ?? 'categorical', ...(form.declared ?? Object.keys(form.values))),
    `<RegressionModel functionName="classification" normalizationMethod="${form.method}">${schema('y', 'x')}${Object.entries(
      form.values,
    )
      .map(
        ([category, value]) =>
          `<RegressionTable targetCategory="${category}" intercept="0"><NumericPredictor name="x" coefficient="${value}"/></RegressionTable>`,
      )
      .join('')}</RegressionModel>`,
  );

t.test('probabilities of categories', async (t) => {
  const logit = (y: number): number => 1 / (1 + Math.exp(-y));
  const cases: [string, Parameters<typeof classification>[0], number[], string][] = [
    [
      'softmax',
      { method: 'softmax', values: { a: 1, b: 2, c: 0 } },
      [1, 2, 0].map((y) => Math.exp(y) / (Math.E + Math.E ** 2 + 1)),
      'b',
    ],
    ['softmax of great values', { method: 'softmax', values: { a: 1000, b: 999 } }, [logit(1), logit(-1)], 'a'],
    ['simplemax', { method: 'simplemax', values: { a: 1, b: 3, c: 4 } }, [1 / 8, 3 / 8, 4 / 8], 'c'],
    ['none of three', { method: 'none', values: { a: 0.2, b: 0.3, c: 9 } }, [0.2, 0.3, 0.5], 'c'],
    ['none of two', { method: 'none', values: { a: 0.6, b: 9 } }, [0.6, 0.4], 'a'],
    ['logit of two', { method: 'logit', values: { a: 0.4, b: 9 } }, [logit(0.4), 1 - logit(0.4)], 'a'],
    [
      'logit of three',
      { method: 'logit', values: { a: 0.4, b: 1, c: -1 } },
      [0.4, 1, -1].map((y) => logit(y) / (logit(0.4) + logit(1) + logit(-1))),
      'b',
    ],
    [
      'ordinal logit',
      { method: 'logit', optype: 'ordinal', values: { low: -1, middle: 1, high: 7 } },
      [logit(-1), logit(1) - logit(-1), 1 - logit(1)],
      'middle',
    ],
    [
      'ordinal none',
      { method: 'none', optype: 'ordinal', values: { low: 0.2, middle: 0.7, high: 0 } },
      [0.2, 0.5, 0.3],
      'middle',
    ],
    [
      'a category without a table is the reference',
      { method: 'softmax', values: { a: 1 }, declared: ['a', 'b'] },
      [logit(1), logit(-1)],
      'a',
    ],
    ['the first of equal ones wins', { method: 'simplemax', values: { b: 1, a: 1 } }, [0.5, 0.5], 'b'],
  ];
  for (const [what, form, wanted, category] of cases) {
    const prediction = classification(form).score({ x: 1 });
    for (const [i, probability] of wanted.entries())
      near(t, prediction.probabilities[i] as number, probability, `${what} ${i}`);
    t.equal(prediction.value, category, what);
  }
  const missing = classification({ method: 'softmax', values: { a: 1, b: 2 } }).score({});
  t.equal(missing.value, undefined);
  t.ok(missing.probabilities.every(Number.isNaN), 'without a value there are no probabilities');
});

t.test('categories are values of the type of the target', async (t) => {
  const model = familyModel(
    compileRegression,
    doubles('x') +
      '<DataField name="y" optype="categorical" dataType="integer"><Value value="0"/><Value value="1"/></DataField>',
    `<RegressionModel functionName="classification" normalizationMethod="logit">${schema('y', 'x')}
      <RegressionTable intercept="-1"><NumericPredictor name="x" coefficient="1"/></RegressionTable></RegressionModel>`,
  );
  t.equal(model.score({ x: 2 }).value, 1, 'the only table is that of the second category');
  t.equal(model.score({ x: 0 }).value, 0);
});

t.test('a logistic regression of PMML 2.0 says its normalization by its type', async (t) => {
  const tables = ['a', 'b', 'c'].map(
    (category, i) =>
      `<RegressionTable targetCategory="${category}"><NumericPredictor name="x" coefficient="${i}"/></RegressionTable>`,
  );
  const at = (version: string): unknown =>
    readPmml([
      `<PMML version="${version}"><Header/><DataDictionary>${doubles('x')}${texts('y', 'a', 'b', 'c')}</DataDictionary>
        <RegressionModel functionName="regression" modelType="logisticRegression">${schema('y', 'x')}${tables.join('')}</RegressionModel></PMML>`,
    ]).model?.apply({ x: 1 });
  t.strictSame(at('2.0'), { y: 'c' }, 'softmax');
  t.strictSame(at('3.0'), { y: 'b' }, 'later documents say it themselves: the last category has the rest');
});

t.test('sums in 32 bits', async (t) => {
  const f = Math.fround;
  const model = regression(
    'x-mathContext="float"',
    '<RegressionTable intercept="0.1"><NumericPredictor name="x" coefficient="0.3"/><NumericPredictor name="n" coefficient="0.7" exponent="2"/></RegressionTable>',
  );
  const wanted = f(f(f(f(0.3) * f(1.7)) + f(f(0.7) * f(f(0.9) ** 2))) + f(0.1));
  t.equal(model.score({ x: 1.7, n: 0.9 }).value, wanted);
});

t.test('what is refused says why', async (t) => {
  const table = (inner: string) => () => regression('', `<RegressionTable intercept="0">${inner}</RegressionTable>`);
  t.throws(table('<NumericPredictor name="color" coefficient="1"/>'), /'color' is a field of texts/);
  t.throws(table('<NumericPredictor name="z" coefficient="1"/>'), /unknown field 'z'/);
  t.throws(table('<NumericPredictor name="x"/>'), /'coefficient' is missing/);
  t.throws(table('<PredictorTerm coefficient="1"/>'), /has no FieldRef/);
  t.throws(() => regression('', ''), /has no RegressionTable/);
  t.throws(() => classification({ method: 'exp', values: { a: 1, b: 2 } }), /'exp', which a classification has not/);
  t.throws(
    () => classification({ method: 'softmax', values: { a: 1 }, declared: ['a', 'b', 'c'] }),
    /one for each category/,
  );
});
