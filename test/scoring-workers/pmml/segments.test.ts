/** MiningModel: segments, their weights, and what the methods make of them. */
import t from 'tap';
import { modelOf, pmmlOf } from '../../helpers/pmml/document.ts';
import { doubles, schema, texts } from '../../helpers/pmml/family.ts';

const FIELDS = `${texts('t', 'a', 'b', 'c')}${doubles('x', 'y')}`;

const mining = (functionName: string, method: string, segments: string, output = '', targets = 't'): string =>
  pmmlOf(
    FIELDS,
    `<MiningModel functionName="${functionName}">${schema(targets, 'x')}${output}<Segmentation multipleModelMethod="${method}">${segments}</Segmentation></MiningModel>`,
  );

const NODES = '<ScoreDistribution value="a" recordCount="3"/><ScoreDistribution value="b" recordCount="1"/>';
/** A tree with one node, which has a prediction where x is above `from`. */
const tree = (score: string, output = '', from = -1e9, distribution = ''): string =>
  `<TreeModel functionName="classification">${schema('t', 'x')}${output}<Node><True/><Node score="${score}"><SimplePredicate field="x" operator="greaterThan" value="${from}"/>${distribution}</Node></Node></TreeModel>`;

t.test('a variable weight may be an output of its own segment', async (t) => {
  const output =
    '<Output><OutputField name="sure" feature="confidence" optype="continuous" dataType="double"/></Output>';
  const segment = (weight: string, model: string): string =>
    `<Segment><True/>${model}<VariableWeight${weight}</Segment>`;
  const model = modelOf(
    mining(
      'classification',
      'weightedMajorityVote',
      segment(' field="sure"/>', tree('a', output, -1e9, NODES)) +
        segment(
          '><Apply function="*"><FieldRef field="sure"/><FieldRef field="x"/></Apply></VariableWeight>',
          tree('b', output),
        ),
      '<Output><OutputField name="p" feature="probability" value="b"/></Output>',
    ),
  );
  t.same(model.apply({ x: 0.25 }), { t: 'a', p: 0.25 });
  t.same(model.apply({ x: 2.25 }), { t: 'b', p: 0.75 });
});

t.test('a chain of several targets, by the names that tools give it', async (t) => {
  for (const method of ['multiModelChain', 'x-multiModelChain']) {
    const linear = (inner: string, field: string, output = ''): string =>
      `<RegressionModel functionName="regression">${inner}${output}<RegressionTable intercept="1"><NumericPredictor name="${field}" coefficient="2"/></RegressionTable></RegressionModel>`;
    const model = modelOf(
      pmmlOf(
        FIELDS + doubles('z'),
        `<MiningModel functionName="mixed"><MiningSchema><MiningField name="x"/>${['t', 'y', 'z']
          .map((name) => `<MiningField name="${name}" usageType="target"/>`)
          .join('')}</MiningSchema><Segmentation multipleModelMethod="${method}">
        <Segment><SimplePredicate field="x" operator="isNotMissing"/>${tree('a')}</Segment>
        <Segment><True/>${linear(schema('y', 'x'), 'x', '<Output><OutputField name="twice" feature="predictedValue"/></Output>')}</Segment>
        <Segment><True/>${linear(schema('z', 'twice'), 'twice')}</Segment></Segmentation></MiningModel>`,
      ),
    );
    t.same(model.apply({ x: 3 }), { t: 'a', y: 7, z: 15, twice: 7 }, method);
    t.same(model.apply({}), { t: null, y: null, z: null, twice: null });
  }
});

t.test('votes: a category without a vote has the probability 0, whatever was scored before', async (t) => {
  const fields = `${doubles('x')}<DataField name="t" optype="categorical" dataType="string"/>`;
  const segment = (model: string): string => `<Segment><True/>${model}</Segment>`;
  const outputs = ['a', 'b', 'd'].map(
    (value) => `<OutputField name="${value}" feature="probability" value="${value}"/>`,
  );
  const model = modelOf(
    pmmlOf(
      fields,
      `<MiningModel functionName="classification">${schema('t', 'x')}<Output>${outputs.join('')}</Output><Segmentation multipleModelMethod="majorityVote">${segment(tree('a', '', 0))}${segment(tree('b', '', 1))}${segment(tree('a', '', 0))}</Segmentation></MiningModel>`,
    ),
  );
  const first = model.apply({ x: 0.5 });
  t.same(first, { t: 'a', a: 1, b: 0, d: 0 });
  t.same(model.apply({ x: -1 }), { t: null, a: null, b: null, d: null }, 'there is no distribution');
  t.same(model.apply({ x: 2 }), { t: 'a', a: 2 / 3, b: 1 / 3, d: 0 });
  t.same(model.apply({ x: 0.5 }), first);
});

t.test('what a chosen segment told is not told of a record that none is for', async (t) => {
  for (const method of ['selectFirst', 'modelChain']) {
    const prior = (value: string, share: number): string =>
      `<TargetValue value="${value}" priorProbability="${share}"/>`;
    const model = modelOf(
      mining(
        'classification',
        method,
        `<Segment><SimplePredicate field="x" operator="greaterThan" value="0"/>${tree('a', '', 0, NODES)}</Segment>`,
        `<Output><OutputField name="p" feature="probability" value="b"/></Output><Targets><Target field="t">${prior('a', 0.6)}${prior('b', 0.4)}</Target></Targets>`,
      ),
    );
    const nothing = model.apply({ x: -1 });
    t.same(model.apply({ x: 1 }), { t: 'a', p: 0.25 });
    t.same(model.apply({ x: -1 }), nothing, method);
  }
});

t.test('segments without a prediction in a chain, and before the first one that is chosen', async (t) => {
  const result = (method: string, treatment: string, x: number): unknown => {
    const segments = [tree('a', '', 0), tree('b', '', 1)];
    // The first of a choice and the last of a chain are missing where x is not above 1.
    if (method === 'selectFirst') segments.reverse();
    return modelOf(
      mining(
        'classification',
        `${method}" missingPredictionTreatment="${treatment}`,
        segments.map((one) => `<Segment><True/>${one}</Segment>`).join(''),
      ),
    ).apply({ x }).t;
  };
  const of = (method: string, x: number): unknown[] =>
    ['continue', 'skipSegment', 'returnMissing'].map((treatment) => result(method, treatment, x));
  t.same(of('selectFirst', 0.5), [null, 'a', null]);
  t.same(of('selectFirst', 2), ['b', 'b', 'b']);
  t.same(of('modelChain', 0.5), [null, 'a', null]);
  t.same(of('modelChain', -1), [null, null, null]);
  t.same(of('selectAll', 0.5), [['a'], ['a'], null]);
  t.same(of('selectAll', 2), [
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

t.test('derived fields of a Segmentation: for predicates, segments and outputs of the model around', async (t) => {
  const derived =
    '<LocalTransformations><DerivedField name="twice" optype="continuous" dataType="double"><Apply function="*"><FieldRef field="x"/><Constant>2</Constant></Apply></DerivedField></LocalTransformations>';
  const model = modelOf(
    mining(
      'regression',
      'selectFirst',
      `${derived}<Segment><SimplePredicate field="twice" operator="greaterThan" value="3"/><RegressionModel functionName="regression">${schema('y', 'twice')}<RegressionTable intercept="1"><NumericPredictor name="twice" coefficient="1"/></RegressionTable></RegressionModel></Segment>`,
      '<Output><OutputField name="d" feature="transformedValue"><FieldRef field="twice"/></OutputField></Output>',
      'y',
    ),
  );
  t.same(model.apply({ x: 2 }), { y: 5, d: 4 });
  t.same(model.apply({ x: 1 }), { y: null, d: 2 });
});
