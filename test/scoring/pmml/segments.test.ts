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
