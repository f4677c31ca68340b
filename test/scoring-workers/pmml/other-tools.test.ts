/** What engines of other tools do where the standard leaves room, or where documents spell it in another way. */
import t, { type Test } from 'tap';
import { modelOf, pmmlOf } from '../../helpers/pmml/document.ts';
import { doubles, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: unknown, wanted: number, what: string): void => {
  t.ok(typeof found === 'number' && Math.abs(found - wanted) <= 1e-12, `${what}: ${String(found)}, wanted ${wanted}`);
};

/** A regression whose result is one derived field. */
const derived = (fields: string, schemaOf: string, field: string, version?: string): string =>
  pmmlOf(
    fields,
    `<RegressionModel functionName="regression">${schemaOf}<Output><OutputField name="d" feature="transformedValue"><FieldRef field="d"/></OutputField></Output><LocalTransformations>${field}</LocalTransformations><RegressionTable intercept="0"/></RegressionModel>`,
    version,
  );

t.test('nearest neighbours by fields of texts, stored and computed', async (t) => {
  const neighbours = (field: string): string =>
    pmmlOf(
      `${doubles('y')}${texts('color')}`,
      `<NearestNeighborModel functionName="regression" numberOfNeighbors="1">${schema('y', 'color')}
      <LocalTransformations><DerivedField name="upper" optype="categorical" dataType="string"><Apply function="uppercase"><FieldRef field="color"/></Apply></DerivedField></LocalTransformations>
      <TrainingInstances><InstanceFields><InstanceField field="color"/><InstanceField field="y"/></InstanceFields><InlineTable>
      <row><color>red</color><y>1</y></row><row><color>blue</color><y>2</y></row></InlineTable></TrainingInstances>
      <ComparisonMeasure kind="distance"><euclidean/></ComparisonMeasure><KNNInputs><KNNInput field="${field}" compareFunction="delta"/></KNNInputs></NearestNeighborModel>`,
    );
  for (const field of ['color', 'upper']) {
    const model = modelOf(neighbours(field));
    t.equal(model.apply({ color: 'blue' }).y, 2, `${field}: the first record`);
    t.equal(model.apply({ color: 'red' }).y, 1);
    t.equal(model.apply({ color: 'blue' }).y, 2);
  }
});

const tree = (score: string, output = ''): string =>
  `<TreeModel functionName="classification">${schema('t', 'x')}${output}<Node id="node" score="${score}"><True/></Node></TreeModel>`;

t.test('a segment that took no part has no results, an unknown one neither', async (t) => {
  const inner = '<Output><OutputField name="inner" feature="predictedValue"/></Output>';
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'low', 'high')}${doubles('x')}`,
      `<MiningModel functionName="classification">${schema('t', 'x')}<Output>
      <OutputField name="first" feature="predictedValue" segmentId="one"/><OutputField name="named" feature="transformedValue" segmentId="one" value="inner"/>
      <OutputField name="none" feature="predictedValue" segmentId="zero"/><OutputField name="id" feature="entityId"/></Output>
      <Segmentation multipleModelMethod="selectFirst">
      <Segment id="one"><SimplePredicate field="x" operator="lessThan" value="1"/>${tree('low', inner)}</Segment>
      <Segment id="two"><True/>${tree('high')}</Segment></Segmentation></MiningModel>`,
    ),
  );
  const { inner: shown, ...low } = model.apply({ x: 0 });
  t.same(low, { t: 'low', first: 'low', named: 'low', none: null, id: 'one' }, 'the entity is the segment');
  t.equal(shown, 'low');
  const high = model.apply({ x: 2 });
  t.same([high.t, high.first, high.named, high.id], ['high', null, null, 'two']);
});

t.test('a category of an output is found by its type', async (t) => {
  const of = (type: string, [one, two]: readonly [string, string], value: string): unknown =>
    modelOf(
      pmmlOf(
        `<DataField name="t" optype="categorical" dataType="${type}"><Value value="${one}"/><Value value="${two}"/></DataField>${doubles('x')}`,
        `<TreeModel functionName="classification">${schema('t', 'x')}<Output><OutputField name="p" feature="probability" value="${value}"/></Output>
        <Node score="${one}"><True/><ScoreDistribution value="${one}" recordCount="3"/><ScoreDistribution value="${two}" recordCount="1"/></Node></TreeModel>`,
      ),
    ).apply({ x: 1 }).p;
  t.equal(of('double', ['0', '1'], '1.0'), 0.25);
  t.equal(of('boolean', ['false', 'true'], 'TRUE'), 0.25);
  t.equal(of('string', ['a', 'b'], 'b'), 0.25);
});

t.test('ranks: categories by probability or confidence, entities only where they are the prediction', async (t) => {
  const outputs = (...features: string[]): string =>
    `<Output>${[1, 2, 3, 4].flatMap((rank) => features.map((feature) => `<OutputField name="${feature[0]}${rank}" feature="${feature}" rank="${rank}"/>`)).join('')}</Output>`;
  const share = (value: string, records: number): string =>
    `<ScoreDistribution value="${value}" recordCount="${records}"/>`;
  const fields = `${texts('t', 'a', 'b', 'c')}${doubles('x')}`;
  const node = modelOf(
    pmmlOf(
      fields,
      `<TreeModel functionName="classification">${schema('t', 'x')}${outputs('value', 'probability').replaceAll('"value"', '"predictedValue"')}<Node score="b"><True/>${share('a', 3)}${share('b', 4)}${share('c', 1)}</Node></TreeModel>`,
    ),
  );
  t.same(node.apply({ x: 1 }), {
    t: 'b',
    v1: 'b',
    p1: 0.5,
    v2: 'a',
    p2: 0.375,
    v3: 'c',
    p3: 0.125,
    v4: null,
    p4: null,
  });
  const rule = (score: string, confidence: number): string =>
    `<SimpleRule id="${confidence}" score="${score}" confidence="${confidence}" weight="${1 - confidence}"><True/></SimpleRule>`;
  const rules = modelOf(
    pmmlOf(
      fields,
      `<RuleSetModel functionName="classification">${schema('t', 'x')}${outputs('value', 'confidence').replaceAll('"value"', '"predictedValue"')}<RuleSet><RuleSelectionMethod criterion="weightedMax"/>${rule('a', 0.5)}${rule('b', 0.75)}${rule('c', 0.25)}</RuleSet></RuleSetModel>`,
    ),
  );
  t.same(
    rules.apply({ x: 1 }),
    { t: 'c', v1: 'c', c1: 0.25, v2: 'b', c2: 0.75, v3: 'a', c3: 0.5, v4: null, c4: null },
    'the one that is predicted goes before the others',
  );
  const neighbours = (target: string, functionName: string): Record<string, unknown> =>
    modelOf(
      pmmlOf(
        `${fields}${doubles('y')}`,
        `<NearestNeighborModel functionName="${functionName}" numberOfNeighbors="3">${schema(target, 'x')}${outputs('value').replaceAll('"value"', '"predictedValue"')}
        <TrainingInstances><InstanceFields><InstanceField field="x"/><InstanceField field="t"/><InstanceField field="y"/></InstanceFields><InlineTable>${['a', 'b', 'b'].map((value, x) => `<row><x>${x}</x><t>${value}</t><y>${x}</y></row>`).join('')}</InlineTable></TrainingInstances>
        <ComparisonMeasure kind="distance"><euclidean/></ComparisonMeasure><KNNInputs><KNNInput field="x"/></KNNInputs></NearestNeighborModel>`,
      ),
    ).apply({ x: 0 });
  t.same(neighbours('t', 'clustering'), { t: '1', v1: '1', v2: '2', v3: '3', v4: null });
  t.same(neighbours('t', 'classification'), { t: 'b', v1: 'b', v2: 'a', v3: null, v4: null });
  t.same(neighbours('y', 'regression'), { y: 1, v1: 1, v2: null, v3: null, v4: null });
});

t.test('probabilities of a node are shares of their sum', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'a', 'b')}${doubles('x')}`,
      `<TreeModel functionName="classification">${schema('t', 'x')}<Output><OutputField name="p" feature="probability" value="a"/><OutputField name="c" feature="confidence" value="b"/></Output><Node score="a"><True/><ScoreDistribution value="a" recordCount="1" probability="1.5"/><ScoreDistribution value="b" recordCount="9" probability="0.5"/></Node></TreeModel>`,
    ),
  );
  t.same(model.apply({ x: 1 }), { t: 'a', p: 0.75, c: 0.25 });
});

t.test('the derived field of an input of a naive Bayes model is of its own type', async (t) => {
  const counts = (a: number, b: number): string =>
    `<TargetValueCounts><TargetValueCount value="a" count="${a}"/><TargetValueCount value="b" count="${b}"/></TargetValueCounts>`;
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'a', 'b')}${doubles('x')}`,
      `<NaiveBayesModel functionName="classification" threshold="0.001">${schema('t', 'x')}<BayesInputs><BayesInput fieldName="x"><DerivedField optype="categorical" dataType="integer"><FieldRef field="x"/></DerivedField>
      <PairCounts value="1">${counts(3, 1)}</PairCounts><PairCounts value="2">${counts(1, 3)}</PairCounts></BayesInput></BayesInputs><BayesOutput fieldName="t">${counts(4, 4)}</BayesOutput></NaiveBayesModel>`,
    ),
  );
  t.same([model.apply({ x: 1.4 }).t, model.apply({ x: 1.6 }).t], ['a', 'b'], 'rounded to whole numbers');
});

t.test('marks of missing and invalid values count by their type; lists are treated value by value', async (t) => {
  const field = `<DataField name="x" optype="continuous" dataType="double"><Value value="-999.0" property="missing"/><Value value="7" property="invalid"/></DataField>`;
  const sum =
    '<DerivedField name="d" optype="continuous" dataType="double"><Aggregate field="x" function="sum"/></DerivedField>';
  const mining = (attributes: string): string =>
    `<MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x" ${attributes}/></MiningSchema>`;
  const model = modelOf(derived(`${doubles('y')}${field}`, mining('missingValueReplacement="3"'), sum));
  t.equal(model.apply({ x: -999 }).d, 3);
  t.equal(model.apply({ x: '-999' }).d, 3);
  t.same(model.apply({ x: 7.0 }), { y: null, d: null }, 'an invalid record');
  t.equal(model.apply({ x: [1, -999, 2] }).d, 6);
  t.equal(model.apply({ x: 5 }).d, 5, 'a list of the record before leaves nothing');
  const replaced = (attributes: string): unknown =>
    modelOf(derived(`${doubles('y')}${field}`, mining(attributes), sum)).apply({ x: 7 }).d;
  t.equal(replaced('invalidValueTreatment="asIs" x-invalidValueReplacement="4"'), 4);
  t.equal(replaced('invalidValueTreatment="asIs" invalidValueReplacement="4"'), 4);
  t.equal(replaced('invalidValueTreatment="asIs"'), 7);
  const needed = modelOf(derived(`${doubles('y')}${field}`, mining('missingValueTreatment="x-returnInvalid"'), sum));
  t.same(needed.apply({}), { y: null, d: null });
});

t.test('the output of a regression in a chain is a number, whatever the target is', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'low', 'high')}${doubles('x')}`,
      `<MiningModel functionName="classification">${schema('t', 'x')}<Segmentation multipleModelMethod="modelChain">
      <Segment id="1"><True/><RegressionModel functionName="regression">${schema(undefined, 'x')}<Output><OutputField name="score" feature="predictedValue"/></Output><RegressionTable intercept="8"><NumericPredictor name="x" coefficient="1"/></RegressionTable></RegressionModel></Segment>
      <Segment id="2"><True/><TreeModel functionName="classification" noTrueChildStrategy="returnLastPrediction">${schema('t', 'score')}<Node score="high"><True/><Node score="low"><SimplePredicate field="score" operator="lessThan" value="10"/></Node></Node></TreeModel></Segment></Segmentation></MiningModel>`,
    ),
  );
  t.equal(model.apply({ x: 1 }).t, 'low');
  t.equal(model.apply({ x: 4 }).t, 'high', '12 is not before 10');
});

t.test('baskets hold the values of items, not what they are mapped to; group fields are no items', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${texts('id')}<DataField name="item" optype="categorical" dataType="string"/>`,
      `<AssociationModel functionName="associationRules" numberOfTransactions="1" minimumSupport="0" minimumConfidence="0" numberOfItems="2" numberOfItemsets="2" numberOfRules="1">
      <MiningSchema><MiningField name="id" usageType="group"/><MiningField name="item"/></MiningSchema><Output><OutputField name="rule" feature="ruleId"/></Output>
      <Item id="1" value="4711" mappedValue="Cologne"/><Item id="2" value="4712"/><Itemset id="a"><ItemRef itemRef="1"/></Itemset><Itemset id="b"><ItemRef itemRef="2"/></Itemset>
      <AssociationRule id="r" support="0.5" confidence="0.9" antecedent="a" consequent="b"/></AssociationModel>`,
    ),
  );
  t.equal(model.apply({ item: ['4711'] }).rule, 'r');
  t.equal(model.apply({ item: ['Cologne'] }).rule, null);
  t.equal(model.apply({ id: '4711', item: ['4713'] }).rule, null);
});

t.test('sparse vectors without a length have that of the fields', async (t) => {
  const model = modelOf(
    pmmlOf(
      doubles('y', 'a', 'b', 'c'),
      `<SupportVectorMachineModel functionName="regression">${schema('y', 'a', 'b', 'c')}<LinearKernelType/><VectorDictionary><VectorFields><FieldRef field="a"/><FieldRef field="b"/><FieldRef field="c"/></VectorFields>
      <VectorInstance id="v"><REAL-SparseArray><Indices>1</Indices><REAL-Entries>2</REAL-Entries></REAL-SparseArray></VectorInstance></VectorDictionary>
      <SupportVectorMachine><SupportVectors><SupportVector vectorId="v"/></SupportVectors><Coefficients absoluteValue="1"><Coefficient value="3"/></Coefficients></SupportVectorMachine></SupportVectorMachineModel>`,
    ),
  );
  t.equal(model.apply({ a: 5, b: 1, c: 1 }).y, 31);
});

t.test('segments without a prediction: early names, and the share of them or of their weight', async (t) => {
  const segment = (id: number, weight: number, operator: string): string =>
    `<Segment id="${id}" weight="${weight}"><True/><TreeModel functionName="regression">${schema('y', 'x')}<Node><True/><Node score="${id}"><SimplePredicate field="x" operator="${operator}" value="1"/></Node></Node></TreeModel></Segment>`;
  const score = (attributes: string, method = 'average'): unknown =>
    modelOf(
      pmmlOf(
        doubles('y', 'x'),
        `<MiningModel functionName="regression">${schema('y', 'x')}<Segmentation multipleModelMethod="${method}" ${attributes}>${segment(2, 3, 'greaterThan')}${segment(4, 1, 'lessThan')}</Segmentation></MiningModel>`,
      ),
    ).apply({ x: 2 }).y;
  t.equal(score(''), null, 'one that lacks a prediction leaves none');
  t.equal(score('x-missingPredictionTreatment="skipSegment"'), 2);
  const skip = (threshold: number): string =>
    `x-missingPredictionTreatment="skipSegment" missingThreshold="${threshold}"`;
  t.equal(score(skip(0.3), 'weightedAverage'), 2, 'a quarter of the weight');
  t.equal(score(skip(0.2), 'weightedAverage'), null);
  t.same([score(skip(0.5)), score(skip(0.3))], [2, null], 'half of the segments');
  const vote = (threshold: string): unknown => {
    const one = (id: string, predicate: string): string =>
      `<Segment id="${id}"><True/><TreeModel functionName="classification">${schema('t', 'x')}<Node><True/><Node score="a">${predicate}</Node></Node></TreeModel></Segment>`;
    return modelOf(
      pmmlOf(
        `${texts('t', 'a', 'b')}${doubles('x')}`,
        `<MiningModel functionName="classification">${schema('t', 'x')}<Segmentation multipleModelMethod="majorityVote" missingThreshold="${threshold}">${one('1', '<True/>')}${one('2', '<True/>')}${one('3', '<False/>')}</Segmentation></MiningModel>`,
      ),
    ).apply({ x: 1 }).t;
  };
  t.equal(vote('0.5'), 'a');
  t.equal(vote('0.3'), null, 'also where missing ones are counted');
});

t.test('fields beside the inputs refuse no record', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${doubles('y', 'x')}${texts('note', 'known')}`,
      `<RegressionModel functionName="regression"><MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x"/><MiningField name="note" usageType="supplementary"/></MiningSchema><RegressionTable intercept="1"><NumericPredictor name="x" coefficient="1"/></RegressionTable></RegressionModel>`,
    ),
  );
  t.equal(model.apply({ x: 1, note: 'unknown' }).y, 2);
});

t.test('the operation type of a target: its Target, else its mining field', async (t) => {
  const probabilities = (target: string): unknown =>
    modelOf(
      pmmlOf(
        `<DataField name="t" optype="categorical" dataType="string"><Value value="l"/><Value value="m"/><Value value="h"/></DataField>${doubles('x')}`,
        `<RegressionModel functionName="classification" normalizationMethod="logit"><MiningSchema><MiningField name="t" usageType="target" ${target}/><MiningField name="x"/></MiningSchema>
        <Output><OutputField name="p" feature="probability" value="m"/></Output>
        <RegressionTable intercept="-1" targetCategory="l"/><RegressionTable intercept="1" targetCategory="m"/><RegressionTable intercept="0" targetCategory="h"/></RegressionModel>`,
      ),
    ).apply({ x: 1 }).p;
  const logit = (y: number): number => 1 / (1 + Math.exp(-y));
  near(t, probabilities('optype="ordinal"'), logit(1) - logit(-1), 'cumulative');
  near(t, probabilities(''), logit(1) / (logit(1) + logit(-1) + 0.5), 'each against the others');
});

t.test('PMML 4.1: what is missing of an Apply; PMML 4.0: the names of exponential smoothing', async (t) => {
  const apply =
    '<DerivedField name="d" optype="continuous" dataType="double"><Apply function="+" mapMissingTo="5"><FieldRef field="x" mapMissingTo="1"/><FieldRef field="x"/></Apply></DerivedField>';
  const of = (version: string): unknown =>
    modelOf(derived(doubles('y', 'x'), schema('y', 'x'), apply.replace(' mapMissingTo="1"', ''), version)).apply({}).d;
  t.same([of('4.1'), of('4.4')], [5, 5]);
  const inIf =
    '<DerivedField name="d" optype="continuous" dataType="double"><Apply function="if" mapMissingTo="5"><Constant dataType="boolean">false</Constant><Constant>1</Constant></Apply></DerivedField>';
  const ofIf = (version: string): unknown =>
    modelOf(derived(doubles('y', 'x'), schema('y', 'x'), inIf, version)).apply({}).d;
  t.equal(ofIf('4.1'), 5, 'the result is missing');
  t.equal(ofIf('4.4'), null, 'no argument is');
  const series = modelOf(
    pmmlOf(
      doubles('ts'),
      `<TimeSeriesModel functionName="timeSeries" bestFit="ExponentialSmoothing"><MiningSchema><MiningField name="ts" usageType="target"/></MiningSchema><ExponentialSmoothing><Level smoothedValue="10"/><Trend trend="additive" smoothedValue="2"/><Seasonality type="additive" period="2"><Array type="real">1 -1</Array></Seasonality></ExponentialSmoothing></TimeSeriesModel>`,
      '4.0',
    ),
  );
  t.same([series.apply({ h: 1 }).ts, series.apply({ h: 2 }).ts], [13, 13]);
});

t.test('derived fields inside of the nodes of a Bayesian network', async (t) => {
  const constant = (part: string, value: string): string => `<${part}>${value}</${part}>`;
  const model = modelOf(
    pmmlOf(
      doubles('y', 'x'),
      `<BayesianNetworkModel functionName="regression">${schema('y', 'x')}<BayesianNetworkNodes>
      <ContinuousNode name="x"><ContinuousDistribution><NormalDistributionForBN>${constant('Mean', '<Constant>0</Constant>')}${constant('Variance', '<Constant>1</Constant>')}</NormalDistributionForBN></ContinuousDistribution></ContinuousNode>
      <ContinuousNode name="y"><DerivedField name="twice" optype="continuous" dataType="double"><Apply function="*"><FieldRef field="x"/><Constant>2</Constant></Apply></DerivedField>
      <ContinuousDistribution><NormalDistributionForBN>${constant('Mean', '<FieldRef field="twice"/>')}${constant('Variance', '<Constant>1e-12</Constant>')}</NormalDistributionForBN></ContinuousDistribution></ContinuousNode></BayesianNetworkNodes></BayesianNetworkModel>`,
    ),
  );
  t.ok(Math.abs((model.apply({ x: 3 }).y as number) - 6) < 1e-3);
});

t.test('conditions of a Bayesian network on derived fields of the node', async (t) => {
  const probabilities = (cold: number): string =>
    `<ValueProbability value="cold" probability="${cold}"/><ValueProbability value="warm" probability="${1 - cold}"/>`;
  const when = (parent: string, value: string, cold: number): string =>
    `<DiscreteConditionalProbability><ParentValue parent="${parent}" value="${value}"/>${probabilities(cold)}</DiscreteConditionalProbability>`;
  const network = (derivedField: string, root: string, conditions: string, target = texts('t', 'cold', 'warm')) =>
    modelOf(
      pmmlOf(
        `${target}${doubles('x')}${texts('c', 'one', 'two', 'three')}`,
        `<BayesianNetworkModel functionName="classification">${schema('t', 'x', 'c')}<Output><OutputField name="p" feature="probability" value="cold"/></Output>
        <BayesianNetworkNodes>${root}<DiscreteNode name="t">${derivedField}${conditions}</DiscreteNode></BayesianNetworkNodes></BayesianNetworkModel>`,
      ),
    );
  const normal =
    '<ContinuousNode name="x"><ContinuousDistribution><NormalDistributionForBN><Mean><Constant>0</Constant></Mean><Variance><Constant>1</Constant></Variance></NormalDistributionForBN></ContinuousDistribution></ContinuousNode>';
  const bins = `<DerivedField name="bin" optype="categorical" dataType="string"><Discretize field="x" defaultValue="high"><DiscretizeBin binValue="low"><Interval closure="openClosed" rightMargin="0"/></DiscretizeBin></Discretize></DerivedField>`;
  const binned = network(bins, normal, when('bin', 'low', 0.75) + when('bin', 'high', 0.25));
  t.same(binned.apply({ x: -1 }), { t: 'cold', p: 0.75 });
  t.same(binned.apply({ x: 1 }), { t: 'warm', p: 0.25 });
  near(t, Math.round((binned.apply({}).p as number) * 20), 10, 'half of the samples are low');
  const counts = `<DiscreteNode name="c">${Object.entries({ one: 0.5, two: 0.25, three: 0.25 })
    .map(([value, share]) => `<ValueProbability value="${value}" probability="${share}"/>`)
    .join('')}</DiscreteNode>`;
  const isOne =
    '<DerivedField name="isOne" optype="continuous" dataType="integer"><NormDiscrete field="c" value="one"/></DerivedField>';
  const counted = network(isOne, counts, when('isOne', '1.0', 1) + when('isOne', '0', 0.5));
  t.same(counted.apply({ c: 'three' }), { t: 'cold', p: 0.5 });
  t.same(counted.apply({}), { t: 'cold', p: 0.75 }, 'the parent is not given');
  t.throws(() => network(bins, normal, when('bun', 'low', 1)), /unknown node 'bun'/);
  t.throws(() => network(bins.replace('"bin"', '"x"'), normal, when('x', 'low', 1)), /'x' is the name of a node, too/);
});

t.test('real numbers as texts, in the form of Java', async (t) => {
  const of = (type: string, x: number): unknown =>
    modelOf(
      derived(
        `${doubles('y')}<DataField name="x" optype="continuous" dataType="${type}"/>`,
        schema('y', 'x'),
        '<DerivedField name="d" optype="categorical" dataType="string"><FieldRef field="x"/></DerivedField>',
      ),
    ).apply({ x }).d;
  t.same(
    [2, 0.1, -0.5, 1e7, 12345678.5, 0.0001].map((x) => of('double', x)),
    ['2.0', '0.1', '-0.5', '1.0E7', '1.23456785E7', '1.0E-4'],
  );
  t.equal(of('float', 0.1), '0.1');
  t.equal(of('integer', 2), '2');
});

t.test('display values of PMML 3.1', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'a')}${doubles('x')}`,
      `<TreeModel functionName="classification">${schema('t', 'x')}<Output><OutputField name="shown" feature="predictedDisplayValue"/></Output><Targets><Target field="t"><TargetValue value="a" rawDataValue="Alpha"/></Target></Targets><Node score="a"><True/></Node></TreeModel>`,
      '3.1',
    ),
  );
  t.equal(model.apply({ x: 1 }).shown, 'Alpha');
});
