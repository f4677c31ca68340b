/** GeneralRegressionModel (docs/spec/pmml-equations.md#general-regression). */
import t, { type Test } from 'tap';
import { compileGeneralRegression } from '../../../src/scoring-workers/pmml/models/general-regression/general-regression.ts';
import { categories, doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: number, wanted: number, what: string): void => {
  t.ok(Math.abs(found - wanted) <= 1e-13 * Math.max(1, Math.abs(wanted)), `${what}: ${found}, wanted ${wanted}`);
};

const FIELDS = `${doubles('y', 'x', 'time', 'shift', 'count')}${texts('color', 'red', 'green', 'blue')}`;

interface Form {
  readonly attributes: string;
  readonly lists?: string;
  /** [value, predictor, parameter, category] */
  readonly cells?: readonly (readonly [string, string, string, string?])[];
  /** [parameter, beta, category] */
  readonly betas: readonly (readonly [string, number, string?])[];
  readonly more?: string;
  readonly target?: string;
}

const category = (name: string | undefined): string => (name === undefined ? '' : `targetCategory="${name}"`);

function general({ attributes, lists, cells = [], betas, more = '', target }: Form) {
  const names = [...new Set(betas.map(([name]) => name))];
  return familyModel(
    compileGeneralRegression,
    `${FIELDS}${target ?? ''}`,
    `<GeneralRegressionModel ${attributes}>
      ${schema(target === undefined ? 'y' : 'class', 'x', 'color', 'time', 'shift', 'count')}
      <ParameterList>${names.map((name) => `<Parameter name="${name}" referencePoint="${name === 'px' ? 2 : 0}"/>`).join('')}</ParameterList>
      ${lists ?? '<FactorList><Predictor name="color"/></FactorList><CovariateList><Predictor name="x"/></CovariateList>'}
      <PPMatrix>${cells
        .map(
          ([value, predictor, parameter, of]) =>
            `<PPCell value="${value}" predictorName="${predictor}" parameterName="${parameter}" ${category(of)}/>`,
        )
        .join('')}</PPMatrix>
      <ParamMatrix>${betas
        .map(([parameter, beta, of]) => `<PCell parameterName="${parameter}" beta="${beta}" ${category(of)}/>`)
        .join('')}</ParamMatrix>${more}
    </GeneralRegressionModel>`,
  );
}

const INTERACTION: Form = {
  attributes: 'modelType="generalLinear" functionName="regression"',
  cells: [
    ['2', 'x', 'square'],
    ['red', 'color', 'red'],
    ['green', 'color', 'greenX'],
    ['1', 'x', 'greenX'],
  ],
  betas: [
    ['intercept', 10],
    ['square', 0.5],
    ['red', 100],
    ['greenX', 7],
  ],
};

t.test('factors, covariates with exponents, and their products', async (t) => {
  const model = general(INTERACTION);
  const at = (record: Record<string, unknown>) => model.score(record).value;
  t.equal(at({ x: 4, color: 'red' }), 10 + 8 + 100);
  t.equal(at({ x: 4, color: 'green' }), 10 + 8 + 28);
  t.equal(at({ x: 4, color: 'blue' }), 10 + 8);
  t.equal(at({ x: 4 }), undefined, 'a missing factor makes the result missing');
  t.equal(at({ color: 'red' }), undefined, 'and so does a missing covariate');
  t.strictSame((model.score({ x: 4, color: 'green' }), model.explain()), [
    '[GeneralRegression]',
    'Applied [Parameter: intercept] [beta: 10] on [1], the value is [10]',
    'Applied [Parameter: square] [beta: 0.5] on [16], the value is [8]',
    'Applied [Parameter: red] [beta: 100] on [0], the value is [0]',
    'Applied [Parameter: greenX] [beta: 7] on [4], the value is [28]',
    'The linear predictor is [46]',
  ]);
});

t.test('a factor that is 0 does not ask for its covariates', async (t) => {
  const model = general({
    ...INTERACTION,
    cells: INTERACTION.cells?.filter(([, , parameter]) => parameter !== 'square') ?? [],
  });
  t.equal(model.score({ color: 'red' }).value, 10 + 0.5 + 100);
  t.equal(model.score({ color: 'green' }).value, undefined);
});

t.test('predictors of neither list are what their types are', async (t) => {
  const model = general({ ...INTERACTION, lists: '' });
  t.equal(model.score({ x: 4, color: 'green' }).value, 46);
});

t.test('contrast matrices', async (t) => {
  const contrasts = (inner: string) =>
    general({
      ...INTERACTION,
      lists: `<FactorList><Predictor name="color" contrastMatrixType="helmert">${inner}</Predictor></FactorList>`,
      cells: [
        ['blue', 'color', 'blue'],
        ['red', 'color', 'red'],
      ],
      betas: [
        ['blue', 10],
        ['red', 1000],
      ],
    });
  const categoriesElement =
    '<Categories><Category value="blue"/><Category value="red"/><Category value="green"/></Categories>';
  const matrix = '<Matrix nbRows="3" nbCols="2"><Array>1 -0.5</Array><Array>0 1</Array><Array>-1 -0.5</Array></Matrix>';
  const model = contrasts(categoriesElement + matrix);
  t.equal(model.score({ color: 'blue' }).value, 10 - 500);
  t.equal(model.score({ color: 'red' }).value, 1000);
  t.equal(model.score({ color: 'green' }).value, -10 - 500);
  t.equal(model.score({ color: 'pink' }).value, undefined, 'a value outside the categories has no contrast');
  const square = '<Matrix kind="diagonal"><Array>1 2 3</Array></Matrix>';
  t.equal(contrasts(square).score({ color: 'blue' }).value, 30, 'in the order of the data field');
  t.throws(() => contrasts(`${categoriesElement}<Matrix><Array>1 2</Array></Matrix>`), /has 1 rows, 2 columns/);
  const other = matrix.replace('nbRows="3" nbCols="2"', '');
  t.throws(() => contrasts(other), /no column for the category 'blue'/, 'the last category has no column');
});

const LINKS: [link: string, attributes: string, inverse: (y: number) => number][] = [
  ['identity', '', (y) => y],
  ['log', '', Math.exp],
  ['logc', '', (y) => 1 - Math.exp(y)],
  ['logit', '', (y) => 1 / (1 + Math.exp(-y))],
  ['cloglog', '', (y) => 1 - Math.exp(-Math.exp(y))],
  ['loglog', '', (y) => Math.exp(-Math.exp(-y))],
  ['cauchit', '', (y) => 0.5 + Math.atan(y) / Math.PI],
  ['negbin', 'distParameter="2"', (y) => 1 / (2 * (Math.exp(-y) - 1))],
  ['oddspower', 'linkParameter="2"', (y) => 1 / (1 + (1 + 2 * y) ** -0.5)],
  ['oddspower', 'linkParameter="0"', (y) => 1 / (1 + Math.exp(-y))],
  ['power', 'linkParameter="2"', (y) => Math.sqrt(y)],
  ['power', 'linkParameter="0"', Math.exp],
  ['probit', '', () => 0.6914624612740131],
];

t.test('links, offsets and trials of generalized linear models', async (t) => {
  const form = (attributes: string): Form => ({
    attributes: `modelType="generalizedLinear" functionName="regression" ${attributes}`,
    cells: [['1', 'x', 'px']],
    betas: [['px', 0.25]],
  });
  for (const [link, attributes, inverse] of LINKS)
    near(
      t,
      general(form(`linkFunction="${link}" ${attributes}`)).score({ x: 2 }).number,
      inverse(0.5),
      link + attributes,
    );
  const logit = 'linkFunction="logit"';
  const inverse = (y: number): number => 1 / (1 + Math.exp(-y));
  near(t, general(form(`${logit} offsetValue="3"`)).score({ x: 2 }).number, inverse(3.5), 'offset');
  const variable = general(form(`${logit} offsetVariable="shift" trialsVariable="count"`));
  near(t, variable.score({ x: 2, shift: -1, count: 12 }).number, 12 * inverse(-0.5), 'variables');
  t.equal(variable.score({ x: 2, count: 12 }).value, undefined, 'a missing offset makes the result missing');
  near(t, general(form(`${logit} trialsValue="5"`)).score({ x: 2 }).number, 5 * inverse(0.5), 'trials');
  t.throws(() => general(form('')), /'linkFunction' is missing/);
  t.throws(() => general(form('linkFunction="power"')), /'linkParameter' is missing/);
  t.throws(() => general(form('linkFunction="odd"')), /it may be identity, log/);
});

const CLASS = categories('class', 'categorical', 'a', 'b', 'c');

t.test('multinomial logistic: the category without coefficients is the reference', async (t) => {
  const form: Form = {
    attributes: 'modelType="multinomialLogistic" functionName="classification"',
    cells: [['1', 'x', 'px']],
    betas: [
      ['p0', 1, 'a'],
      ['px', 0.5, 'a'],
      ['p0', -1, 'c'],
      ['px', 2, 'c'],
    ],
    target: CLASS,
  };
  const model = general(form);
  const prediction = model.score({ x: 3 });
  const sum = Math.exp(2.5) + Math.exp(5) + 1;
  for (const [name, probability] of [
    ['a', Math.exp(2.5) / sum],
    ['c', Math.exp(5) / sum],
    ['b', 1 / sum],
  ] as const)
    near(t, prediction.probabilities[prediction.indexOf(name)] as number, probability, name);
  t.equal(prediction.value, 'c');
  t.equal(model.score({}).value, undefined);
  t.ok(Number.isFinite(model.score({ x: 1e4 }).probabilities[0]), 'nothing overflows');
  const offset = general({ ...form, attributes: `${form.attributes} offsetValue="1"` }).score({ x: 3 });
  near(
    t,
    offset.probabilities[2] as number,
    1 / (Math.exp(3.5) + Math.exp(6) + 1),
    'an offset is not of the reference',
  );
  t.throws(
    () => general({ ...form, betas: form.betas.slice(0, 2) }),
    /2 categories of the target have no coefficients/,
  );
  t.throws(
    () => general({ ...form, betas: [...form.betas, ['p0', 1, 'z']] }),
    /'z', which is not a value of the target/,
  );
});

t.test('each target category may have its own predictors', async (t) => {
  const model = general({
    attributes: 'modelType="multinomialLogistic" functionName="classification" targetReferenceCategory="c"',
    cells: [
      ['1', 'x', 'px'],
      ['2', 'x', 'px', 'b'],
    ],
    betas: [
      ['px', 1, 'a'],
      ['px', 1, 'b'],
    ],
    target: CLASS,
  });
  const { probabilities } = model.score({ x: 3 });
  near(t, probabilities[1] as number, Math.exp(9) / (Math.exp(3) + Math.exp(9) + 1), 'b has the square');
});

t.test('ordinal: cumulative links over one slope', async (t) => {
  const form = (link: string): Form => ({
    attributes: `modelType="ordinalMultinomial" functionName="classification" cumulativeLink="${link}"`,
    cells: [['1', 'x', 'px']],
    betas: [
      ['p0', -1, 'low'],
      ['p0', 1, 'middle'],
      ['px', 0.5],
    ],
    target: categories('class', 'ordinal', 'low', 'middle', 'high'),
  });
  const cases: [string, (y: number) => number][] = [
    ['logit', (y) => 1 / (1 + Math.exp(-y))],
    ['cloglog', (y) => 1 - Math.exp(-Math.exp(y))],
    ['loglog', (y) => Math.exp(-Math.exp(-y))],
    ['cauchit', (y) => 0.5 + Math.atan(y) / Math.PI],
  ];
  for (const [link, inverse] of cases) {
    const { probabilities } = general(form(link)).score({ x: 1 });
    near(t, probabilities[0] as number, inverse(-0.5), `${link} low`);
    near(t, probabilities[1] as number, inverse(1.5) - inverse(-0.5), `${link} middle`);
    near(t, probabilities[2] as number, 1 - inverse(1.5), `${link} high`);
  }
  t.equal(general(form('logit')).score({ x: 1 }).value, 'middle');
  t.throws(
    () => general({ ...form('logit'), attributes: 'modelType="ordinalMultinomial" functionName="classification"' }),
    /'cumulativeLink' is missing/,
  );
});

t.test('binomial: coefficients without a category are those of the second', async (t) => {
  const form: Form = {
    attributes: 'modelType="generalizedLinear" functionName="classification" linkFunction="logit"',
    cells: [['1', 'x', 'px']],
    betas: [['px', 1]],
    target: texts('class', 'no', 'yes'),
  };
  const prediction = general(form).score({ x: 2 });
  near(t, prediction.probabilities[prediction.indexOf('yes')] as number, 1 / (1 + Math.exp(-2)), 'yes');
  t.equal(prediction.value, 'yes');
  const named = general({ ...form, betas: [['px', 1, 'no']] }).score({ x: 2 });
  t.equal(named.value, 'no', 'with a category they are of that one');
  t.throws(() => general({ ...form, target: CLASS }), /has 3 categories|open/);
});

t.test('Cox regression: the cumulative hazard', async (t) => {
  const cells = (hazard: number): string =>
    `<BaselineCell time="10" cumHazard="${hazard * 2}"/><BaselineCell time="5" cumHazard="${hazard}"/>`;
  const form = (strata: string, more: string): Form => ({
    attributes: `modelType="CoxRegression" functionName="regression" endTimeVariable="time" ${strata}`,
    cells: [['1', 'x', 'px']],
    betas: [['px', 0.5]],
    more,
  });
  const model = general(form('', `<BaseCumHazardTables maxTime="20">${cells(0.1)}</BaseCumHazardTables>`));
  const risk = Math.exp(0.5 * 6 - 0.5 * 2);
  near(t, model.score({ x: 6, time: 5 }).number, 0.1 * risk, 'at the first time');
  near(t, model.score({ x: 6, time: 9.9 }).number, 0.1 * risk, 'until the next');
  near(t, model.score({ x: 6, time: 20 }).number, 0.2 * risk, 'up to the maximum');
  t.equal(model.score({ time: 4 }).value, 0, 'nothing before the first time, whatever is missing');
  t.equal(model.score({ x: 6, time: 21 }).value, undefined, 'nothing is known after the maximum');
  t.equal(model.score({ x: 6 }).value, undefined);
  t.equal(model.score({ time: 9 }).value, undefined);
  const strata = general(
    form(
      'baselineStrataVariable="color"',
      `<BaseCumHazardTables><BaselineStratum value="red" maxTime="20">${cells(0.1)}</BaselineStratum>
       <BaselineStratum value="blue" maxTime="20">${cells(3)}</BaselineStratum></BaseCumHazardTables>`,
    ),
  );
  near(t, strata.score({ x: 6, time: 5, color: 'blue' }).number, 3 * risk, 'the baseline of the stratum');
  t.equal(strata.score({ x: 6, time: 5, color: 'green' }).value, undefined, 'no such stratum');
  t.throws(() => general(form('', '')), /has no BaseCumHazardTables/);
});

t.test('standard errors by the covariance of the parameters', async (t) => {
  const output = '<Output><OutputField name="e" feature="standardError"/></Output>';
  const covariance = (cells: string): Form => ({
    attributes: 'modelType="generalLinear" functionName="regression"',
    cells: [['1', 'x', 'px']],
    betas: [
      ['p0', 1],
      ['px', 2],
    ],
    more: `<PCovMatrix>${cells}</PCovMatrix>${output}`,
  });
  const cell = (row: string, column: string, value: number): string =>
    `<PCovCell pRow="${row}" pCol="${column}" value="${value}"/>`;
  const half = cell('p0', 'p0', 4) + cell('p0', 'px', -1) + cell('px', 'px', 0.5);
  for (const cells of [half, half + cell('px', 'p0', -1)]) {
    const model = general(covariance(cells));
    near(t, model.score({ x: 3 }).standardError, Math.sqrt(4 - 6 + 4.5), 'the error');
    t.ok(Number.isNaN(model.score({}).standardError), 'x is missing');
  }
  t.throws(() => general(covariance(cell('p0', 'pz', 1))), /no Parameter has the name 'pz'/);
  const without = general({ ...covariance(''), more: output });
  t.match(without.problems.list[0]?.text, /needs a PCovMatrix/);
  const logistic = general({
    ...covariance(half),
    attributes: 'modelType="generalizedLinear" functionName="regression" linkFunction="logit"',
  });
  t.match(logistic.problems.list[0]?.text, /not for generalizedLinear/);
});

t.test('what is refused says why', async (t) => {
  const withCell = (value: string, predictor: string) => () =>
    general({ ...INTERACTION, cells: [[value, predictor, 'red']], betas: [['red', 1]] });
  t.throws(withCell('one', 'x'), /'one'; of the covariate 'x' it is an exponent/);
  t.throws(withCell('1', 'z'), /unknown field 'z'/);
  t.throws(
    () => general({ ...INTERACTION, attributes: 'modelType="cubic" functionName="regression"' }),
    /'cubic'; it may be/,
  );
  t.throws(() => general({ ...INTERACTION, attributes: 'functionName="regression"' }), /'modelType' is missing/);
  t.throws(() => general({ ...INTERACTION, betas: [] }), /no PCell/);
  t.throws(
    () =>
      general({ ...INTERACTION, attributes: 'modelType="regression" functionName="classification"', target: CLASS }),
    /not for a classification/,
  );
});
