/** TreeModel (docs/spec/pmml-trees.md#trees). */
import t from 'tap';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';
import { floatBorder, nextUp } from '../../../src/scoring-workers/pmml/models/tree/float.ts';
import { compileTree } from '../../../src/scoring-workers/pmml/models/tree/tree.ts';
import { compileRegression } from '../../../src/scoring-workers/pmml/models/regression/regression.ts';
import { categories, doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const FIELDS = `${doubles('x', 'y', 'z')}${texts('s', 'a', 'b', 'c')}`;

interface Form {
  readonly attributes?: string;
  readonly nodes: string;
  /** A classification of these classes; a regression without. */
  readonly classes?: readonly string[];
}

function tree({ attributes = '', nodes, classes }: Form) {
  const target = classes === undefined ? doubles('target') : categories('target', 'categorical', ...classes);
  const functionName = classes === undefined ? 'regression' : 'classification';
  return familyModel(
    compileTree,
    FIELDS + target,
    `<TreeModel functionName="${functionName}" ${attributes}>${schema('target', 'x', 'y', 'z', 's')}${nodes}</TreeModel>`,
    { RegressionModel: compileRegression },
  );
}

const simple = (field: string, operator: string, value: string | number = '') =>
  `<SimplePredicate field="${field}" operator="${operator}" ${value === '' ? '' : `value="${value}"`}/>`;
const node = (attributes: string, predicate: string, ...inner: readonly string[]) =>
  `<Node ${attributes}>${predicate}${inner.join('')}</Node>`;
const leaf = (score: string | number, predicate: string, more = '') => node(`score="${score}" ${more}`, predicate);

t.test('each operator chooses a child, and none is chosen by a missing value', async (t) => {
  for (const [operator, ...wanted] of [
    ['equal', 2, 1, 2],
    ['notEqual', 1, 2, 1],
    ['lessThan', 1, 2, 2],
    ['lessOrEqual', 1, 1, 2],
    ['greaterThan', 2, 2, 1],
    ['greaterOrEqual', 2, 1, 1],
  ] as const) {
    const { score } = tree({ nodes: node('', '<True/>', leaf(1, simple('x', operator, 0.1)), leaf(2, '<True/>')) });
    t.strictSame(
      [0.1 - 1e-17 * 2, 0.1, nextUp(0.1)].map((x) => score({ x }).value),
      wanted,
      operator,
    );
    t.equal(score({}).value, 2, 'unknown is like false by default');
  }
  const infinite = tree({ nodes: node('', '<True/>', leaf(1, simple('x', 'lessOrEqual', 'INF')), leaf(2, '<True/>')) });
  t.strictSame(
    [Number.POSITIVE_INFINITY, 3, undefined].map((x) => infinite.score({ x }).value),
    [1, 1, 2],
  );
  const missing = tree({
    nodes: node('', '<True/>', leaf(1, simple('x', 'isMissing')), leaf(2, simple('x', 'isNotMissing'))),
  });
  t.strictSame(
    [3, undefined].map((x) => missing.score({ x }).value),
    [2, 1],
  );
});

t.test('sets, texts and compound predicates', async (t) => {
  const set = (operator: string, members: string) =>
    `<SimpleSetPredicate field="s" booleanOperator="${operator}"><Array type="string">${members}</Array></SimpleSetPredicate>`;
  const compound = `<CompoundPredicate booleanOperator="and">${simple('s', 'equal', 'c')}${simple('x', 'greaterThan', 1)}</CompoundPredicate>`;
  const model = tree({
    nodes: node(
      '',
      '<True/>',
      leaf(1, set('isIn', 'a "other one"')),
      leaf(2, compound),
      leaf(3, set('isNotIn', 'c')),
      leaf(9, '<False/>'),
      leaf(4, '<True/>'),
    ),
  });
  const at = (record: Record<string, unknown>) => model.score(record).value;
  t.strictSame(
    [{ s: 'a' }, { s: 'other one' }, { s: 'c', x: 2 }, { s: 'b' }, { s: 'c', x: 0 }, { s: 'c' }, {}].map(at),
    [1, 1, 2, 3, 4, 4, 4],
  );
});

/** Two levels: x decides, then y. */
const LEVELS = node(
  'id="root" score="0" defaultChild="left"',
  '<True/>',
  node(
    'id="left" score="10" defaultChild="second"',
    simple('x', 'lessThan', 5),
    leaf(11, simple('y', 'lessThan', 5), 'id="first"'),
    leaf(12, simple('y', 'greaterOrEqual', 5), 'id="second"'),
  ),
  node('id="right" score="20"', simple('x', 'greaterOrEqual', 5), leaf(21, simple('y', 'lessThan', 5), 'id="third"')),
);

t.test('missing values and no true child', async (t) => {
  const results = (attributes: string) => {
    const model = tree({ attributes, nodes: LEVELS });
    return [{ x: 1 }, { y: 1 }, { x: 9 }, { x: 9, y: 9 }].map((record) => {
      const { value, entityId } = model.score(record);
      return value === undefined ? null : [value, entityId];
    });
  };
  t.strictSame(results(''), [null, null, null, null]);
  t.strictSame(results('noTrueChildStrategy="returnLastPrediction"'), [
    [10, 'left'],
    [0, 'root'],
    [20, 'right'],
    [20, 'right'],
  ]);
  t.strictSame(results('missingValueStrategy="lastPrediction"'), [[10, 'left'], [0, 'root'], [20, 'right'], null]);
  t.strictSame(results('missingValueStrategy="nullPrediction" noTrueChildStrategy="returnLastPrediction"'), [
    null,
    null,
    null,
    [20, 'right'],
  ]);
  for (const strategy of ['none', 'aggregateNodes']) {
    const distributed = '<ScoreDistribution value="a" recordCount="1"/>';
    const last = tree({
      attributes: `missingValueStrategy="${strategy}" noTrueChildStrategy="returnLastPrediction"`,
      classes: ['a', 'b'],
      nodes: node('', `<True/>${distributed}`, leaf('b', simple('x', 'greaterThan', 0))),
    });
    t.equal(last.score({ x: 0 }).value, undefined, 'the node has a distribution and no score');
  }
  t.strictSame(
    results('missingValueStrategy="defaultChild"'),
    [[12, 'second'], [11, 'first'], null, null],
    'a node without a default child has no prediction',
  );
  t.throws(() => results('missingValueStrategy="guess"'), /'missingValueStrategy' is 'guess'/);
  t.throws(() => results('noTrueChildStrategy="guess"'), /'noTrueChildStrategy' is 'guess'/);
  t.throws(() => results('splitCharacteristic="guess"'), /'splitCharacteristic' is 'guess'/);
  const wrong = LEVELS.replace('defaultChild="left"', 'defaultChild="nowhere"');
  t.throws(
    () => tree({ attributes: 'missingValueStrategy="defaultChild"', nodes: wrong }),
    /'nowhere', which is not a child's id/,
  );
});

const distribution = (...records: readonly (readonly [string, number, string?])[]) =>
  records
    .map(([value, count, more = '']) => `<ScoreDistribution value="${value}" recordCount="${count}" ${more}/>`)
    .join('');

t.test('probabilities and confidences', async (t) => {
  const model = tree({
    classes: ['a', 'b', 'c'],
    nodes: node(
      '',
      '<True/>',
      leaf('a', simple('x', 'lessThan', 1)),
      node('', simple('x', 'lessThan', 2), distribution(['b', 3], ['a', 1])),
      node(
        'score="b"',
        simple('x', 'lessThan', 3),
        distribution(['b', 1, 'probability="0.7" confidence="0.5"'], ['a', 0, 'probability="0.3"']),
      ),
      node('score="d"', '<True/>', distribution(['c', 0])),
    ),
  });
  const shown = (x: number) => {
    const { value, probabilities, confidences, categories: all } = model.score({ x });
    return [
      value,
      ...all.flatMap((category, i) =>
        probabilities[i] === 0 ? [] : [`${category} ${probabilities[i]} ${confidences[i]}`],
      ),
    ];
  };
  t.strictSame(shown(0), ['a', 'a 1 1'], 'of a node without a distribution');
  t.strictSame(shown(1), ['b', 'a 0.25 0.25', 'b 0.75 0.75'], 'a score that is missing is that of most records');
  t.strictSame(shown(2), ['b', 'a 0.3 0.3', 'b 0.7 0.5']);
  t.strictSame(shown(3), ['d']);
  t.strictSame(model.score({ x: 0 }).categories, ['a', 'b', 'c', 'd']);
  t.strictSame((model.score({ x: 1 }), model.explain()).slice(0, 4), [
    '[DecisionTree]',
    'Evaluation of node [1] is [True].',
    'Evaluation of node [3] is [True].',
    'The confidence of the category [a (STRING)] is [0.25].',
  ]);
});

t.test('penalties for missing values', async (t) => {
  const surrogate = (operator: string) =>
    `<CompoundPredicate booleanOperator="surrogate">${simple('y', operator, 5)}${simple('z', operator, 5)}</CompoundPredicate>`;
  const inner = (score: string, predicate: string, id: string) => leaf(score, predicate, `id="${id}"`);
  const model = tree({
    attributes: 'missingValueStrategy="defaultChild" missingValuePenalty="0.5"',
    classes: ['a', 'b'],
    nodes: node(
      'defaultChild="l"',
      '<True/>',
      node(
        'id="l" defaultChild="ll"',
        simple('x', 'lessThan', 5),
        inner('a', surrogate('lessThan'), 'll'),
        inner('b', surrogate('greaterOrEqual'), 'lr'),
      ),
      inner('b', simple('x', 'greaterOrEqual', 5), 'r'),
    ),
  });
  const shown = (record: Record<string, unknown>) => {
    const { value, confidences, entityId } = model.score(record);
    return [value, entityId, Math.max(...confidences)];
  };
  t.strictSame(shown({ x: 1, y: 1 }), ['a', 'll', 1]);
  t.strictSame(shown({ y: 1 }), ['a', 'll', 0.5]);
  t.strictSame(shown({ x: 1, z: 1 }), ['a', 'll', 0.5], 'a surrogate is a step too');
  t.strictSame(shown({ x: 1, z: 9 }), ['b', 'lr', 0.25], 'also where it says no');
  t.strictSame(shown({}), ['a', 'll', 0.25]);
  t.strictSame(shown({ x: 1, y: 1 }), ['a', 'll', 1], 'the next record begins anew');
});

const SPREAD = node(
  'score="a" recordCount="10"',
  '<True/>',
  node(
    'score="a" recordCount="6"',
    simple('x', 'lessThan', 5),
    distribution(['a', 4, 'confidence="0.7"'], ['b', 2, 'confidence="0.3"']),
  ),
  node(
    'score="b" recordCount="4"',
    simple('x', 'greaterOrEqual', 5),
    distribution(['a', 1, 'confidence="0.2"'], ['b', 3, 'confidence="0.8"']),
  ),
);

t.test('records that go to several children', async (t) => {
  const classes = ['a', 'b'] as const;
  const weighted = tree({ attributes: 'missingValueStrategy="weightedConfidence"', classes, nodes: SPREAD });
  const near = (found: Float64Array, ...wanted: readonly number[]) =>
    t.ok(
      wanted.every((one, i) => Math.abs(found[i] - one) < 1e-15),
      `${[...found].join(' ')}, wanted ${wanted.join(' ')}`,
    );
  near(weighted.score({}).confidences, 0.6 * 0.7 + 0.4 * 0.2, 0.6 * 0.3 + 0.4 * 0.8);
  t.equal(weighted.score({}).value, 'a');
  near(weighted.score({ x: 9 }).confidences, 0.2, 0.8);
  const aggregated = tree({ attributes: 'missingValueStrategy="aggregateNodes"', classes, nodes: SPREAD });
  near(aggregated.score({}).probabilities, 0.5, 0.5);
  t.equal(aggregated.score({}).value, 'a', 'the first of equal ones');
  const numbers = SPREAD.replace(/<ScoreDistribution[^>]*>/g, '')
    .replaceAll('score="a"', 'score="1"')
    .replaceAll('score="b"', 'score="2"');
  t.equal(tree({ attributes: 'missingValueStrategy="aggregateNodes"', nodes: numbers }).score({}).value, 1.4);
  t.throws(
    () => tree({ attributes: 'missingValueStrategy="weightedConfidence"', nodes: numbers }),
    /not for a regression/,
  );
});

t.test('a root that is not true, and models in nodes', async (t) => {
  t.equal(tree({ nodes: node('score="1"', simple('x', 'lessThan', 1)) }).score({ x: 2 }).value, undefined);
  t.equal(tree({ nodes: node('score="1"', simple('x', 'lessThan', 1)) }).score({ x: 0 }).value, 1);
  const regression =
    '<Regression functionName="regression"><RegressionTable intercept="1"><NumericPredictor name="y" coefficient="2"/></RegressionTable></Regression>';
  const inner = `<DecisionTree functionName="regression">${node('', '<True/>', leaf(7, simple('y', 'lessThan', 0)), leaf(8, '<True/>'))}</DecisionTree>`;
  const model = tree({
    nodes: node(
      '',
      '<True/>',
      node('id="equation"', simple('x', 'lessThan', 1), regression),
      node('id="tree"', '<True/>', inner),
    ),
  });
  t.strictSame(
    [
      { x: 0, y: 4 },
      { x: 2, y: -1 },
      { x: 2, y: 1 },
    ].map((record) => [model.score(record).value, model.model.prediction.entityId]),
    [
      [9, 'equation'],
      [7, 'tree'],
      [8, 'tree'],
    ],
  );
});

t.test('a model in a node of a classification', async (t) => {
  const table = (category: string, intercept: number) =>
    `<RegressionTable targetCategory="${category}" intercept="${intercept}"/>`;
  const inner = `<Regression functionName="classification" normalizationMethod="softmax">${table('b', 1)}${table('a', 0)}</Regression>`;
  const model = tree({
    classes: ['a', 'b', 'c'],
    nodes: node('', '<True/>', node('', simple('x', 'lessThan', 1), inner), leaf('c', '<True/>')),
  });
  const shown = (x: number) => {
    const { value, probabilities, entityId } = model.score({ x });
    return [value, entityId, ...[...probabilities].map((one) => Math.round(one * 100))];
  };
  t.equal(shown(0)[0], 'b');
  t.strictSame(shown(2), ['c', '3', 0, 0, 100]);
  t.strictSame(shown(0).slice(0, 2), ['b', '2']);
  t.strictSame(shown(2), ['c', '3', 0, 0, 100]);
});

t.test('numbers of 32 bits', async (t) => {
  for (const border of [0.1, -0.1, 0, 1, 37, 3.4e38, -1e-46, 0.30000001192092896])
    for (const x of [
      border,
      nextUp(border),
      -border,
      Math.fround(border),
      border * (1 + 3e-8),
      border * (1 - 3e-8),
      border + 1e-46,
    ])
      t.equal(x < floatBorder(border), Math.fround(x) < border, `${x} below ${border}`);
  const model = tree({
    attributes: 'x-mathContext="float"',
    nodes: node('', '<True/>', leaf(1, simple('x', 'lessOrEqual', 0.10000000149011612)), leaf(2, '<True/>')),
  });
  t.strictSame(
    [0.1, 0.100000002, 0.10000001].map((x) => model.score({ x }).value),
    [1, 1, 2],
  );
});

t.test('trees that are refused name line and element', async (t) => {
  const refused = (nodes: string, reason: RegExp, classes?: readonly string[]) =>
    t.throws(() => tree({ nodes, ...(classes === undefined ? {} : { classes }) }), reason);
  refused('', /TreeModel .* has no Node/);
  refused('<Node score="1"/>', /Node \(line 1\): has no predicate/);
  refused(leaf('high', '<True/>'), /'score' is 'high', which is not a number/);
  refused(node('', '<True/>', leaf(1, simple('nothing', 'equal', 1))), /unknown field 'nothing'/);
  refused(node('', '<True/>', leaf(1, simple('x', 'like', 1))), /'operator' is 'like'/);
  refused(node('', '<True/>', leaf(1, simple('x', 'lessThan', 'b'))), /'b', which is not a value of the type double/);
  refused(node('recordCount="many"', '<True/>'), /'recordCount' is 'many', not a number/);
  refused(node('', '<True/>', '<Strange/>'), /Strange .* is not expected in a Node/);
  refused(node('', '<True/>', '<ScoreDistribution recordCount="1"/>'), /'value' is missing/, ['a']);
});

t.test('a tree is packed while the document is read, like one that stands as elements', async (t) => {
  const document = `<PMML version="4.4"><Header/><DataDictionary>${FIELDS}${doubles('target')}</DataDictionary>
    <TreeModel functionName="regression">${schema('target', 'x', 'y')}<Extension name="n"><Node/></Extension>
    ${LEVELS.replace('<True/>', '<Extension name="e"><Anything/></Extension><True/>')}</TreeModel></PMML>`;
  const chunks = document.match(/[^]{1,7}/g)?.map((text) => Buffer.from(text)) ?? [];
  const { model, problems } = readPmml(chunks);
  t.strictSame(problems, []);
  t.strictSame(model?.apply({ x: 1, y: 2 }), { target: 11 });
  t.strictSame(model?.apply({ x: 1, y: 7 }), { target: 12 });
});

t.test('often used trees become functions, which give the same', async (t) => {
  const TREES = 7;
  const trees = Array.from({ length: TREES }, (_, i) => {
    const [a, b] = [i / TREES, (i * 3 + 1) / 20];
    return `<Segment><True/><TreeModel functionName="regression" noTrueChildStrategy="returnLastPrediction">${schema(undefined, 'x', 'y')}${node('score="0.5"', '<True/>', node('score="3"', simple('x', 'lessOrEqual', a), leaf(i, simple('y', 'greaterThan', b)), leaf(-i, simple('y', 'lessOrEqual', b))), leaf(0.1 * i, simple('x', 'greaterThan', a)))}</TreeModel></Segment>`;
  });
  const forest = `<PMML version="4.4"><Header/><DataDictionary>${FIELDS}${doubles('target')}</DataDictionary><MiningModel functionName="regression">${schema('target', 'x', 'y')}<Segmentation multipleModelMethod="sum">${trees.join('')}</Segmentation></MiningModel></PMML>`;
  const { model } = readPmml([forest]);
  const records = Array.from({ length: 40 }, (_, i) => ({ x: (i % 7) / 6, y: (i % 11) / 10 }));
  const results = () => records.map((record) => model?.apply(record).target);
  const walked = results();
  for (let i = 0; i < 20; i++) t.strictSame(results(), walked);
  t.equal(model?.apply({ x: 0.5 }).target, model?.apply({ x: 0.5, y: null }).target);
  t.not(model?.apply({ x: 0 }).target, null, 'a record with a missing value is walked again');
  t.match(model?.explain({ x: 1, y: 1 }), /The predicted value of segment model \[7\] is \[0.6/);
  const single = tree({ nodes: LEVELS, classes: ['0', '10', '11', '12', '20', '21'] });
  const wrong = Array.from({ length: 600 }, (_, i) => i % 10).filter(
    (x) => single.score({ x, y: 2 }).value !== (x < 5 ? '11' : '21'),
  );
  t.strictSame(wrong, []);
  t.equal(single.score({ x: 1 }).value, undefined);
});

t.test('records of a request are a series of their own', async (t) => {
  const lag =
    '<LocalTransformations><DerivedField name="before" dataType="double" optype="continuous"><Lag field="x"/></DerivedField></LocalTransformations>';
  const { model } = readPmml([
    `<PMML version="4.4"><Header/><DataDictionary>${FIELDS}${doubles('target')}</DataDictionary>
      <TreeModel functionName="regression">${schema('target', 'x')}${lag}${node('', '<True/>', leaf(1, simple('before', 'isMissing')), leaf(2, '<True/>'))}</TreeModel></PMML>`,
  ]);
  const results = () => [3, 4].map((x) => model?.apply({ x }).target);
  t.strictSame(results(), [1, 2]);
  t.strictSame(results(), [2, 2]);
  model?.begin();
  t.strictSame(results(), [1, 2]);
});

/** Whether the `v` of the record before is above 50 (1) or not (2), asked only where `s` is not negative. */
const lagOf = (v: string) => {
  const lag =
    '<LocalTransformations><DerivedField name="before" dataType="double" optype="continuous"><Lag field="v"/></DerivedField></LocalTransformations>';
  const asked = node('', '<True/>', leaf(1, simple('before', 'greaterThan', 50)), leaf(2, '<True/>'));
  const { model } = readPmml([
    `<PMML version="4.4"><Header/><DataDictionary>${doubles('s', 'target')}${v}</DataDictionary>
      <TreeModel functionName="regression"><MiningSchema><MiningField name="target" usageType="target"/><MiningField name="v"/><MiningField name="s"/></MiningSchema>${lag}${node('', '<True/>', leaf(0, simple('s', 'lessThan', 0)), asked)}</TreeModel></PMML>`,
  ]);
  return (...records: readonly { readonly s: number | string; readonly v: number | string }[]) => {
    model?.begin();
    return records.map((record) => model?.apply(record).target);
  };
};

t.test(
  'a lag counts every record before, also those that did not ask for it and those that were refused',
  async (t) => {
    const lag = lagOf(doubles('v'));
    const over = { s: 1, v: 100 };
    const under = { s: 1, v: 1 };
    t.strictSame(lag(under, { s: -1, v: 100 }, { s: 1, v: 2 }), [2, 0, 1]);
    t.strictSame(lag(under, { s: 'none', v: 100 }, under), [2, null, 1], 'refused by another field');
    t.strictSame(lag(over, { s: 1, v: 'none' }, under, under), [2, null, 2, 2], 'refused by the field itself');
    t.strictSame(lag(over, { s: -1, v: 1 }, under), [2, 0, 2]);
  },
);
