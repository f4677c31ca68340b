/** Documents as tools write them: content of vendors, prefixes, and the spellings of older versions (docs/spec/pmml-expressions.md#documents). */
import t from 'tap';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';
import { modelOf, pmmlOf } from '../../helpers/pmml/document.ts';
import { doubles, schema, texts } from '../../helpers/pmml/family.ts';

const EXTENSION =
  '<Extension name="e" value="1"><Node/><SimplePredicate/><Array>9</Array><Constant>7</Constant><v:any xmlns:v="urn:v" v:a="1">text<Extension/></v:any></Extension>';

/** Puts an Extension behind the begin of each element that is not empty. */
const extended = (document: string): string => document.replaceAll(/<[A-Za-z:]+(?: [^<>]*[^/<>])?>/g, `$&${EXTENSION}`);

const TREE = `<TreeModel functionName="classification" missingValueStrategy="lastPrediction">${schema('t', 'x', 'color')}
  <Output><OutputField name="p" feature="probability" value="b"></OutputField><OutputField name="twice" feature="transformedValue"><Apply function="*"><FieldRef field="d"></FieldRef><Constant>2</Constant></Apply></OutputField></Output>
  <LocalTransformations><DerivedField name="d" optype="continuous" dataType="double"><NormContinuous field="x"><LinearNorm orig="0" norm="0"></LinearNorm><LinearNorm orig="2" norm="1"></LinearNorm></NormContinuous></DerivedField></LocalTransformations>
  <Node score="a"><True></True><ScoreDistribution value="a" recordCount="1"></ScoreDistribution><ScoreDistribution value="b" recordCount="3"></ScoreDistribution>
    <Node score="b"><CompoundPredicate booleanOperator="and"><SimplePredicate field="d" operator="greaterThan" value="0.5"></SimplePredicate><SimpleSetPredicate field="color" booleanOperator="isIn"><Array type="string">red green</Array></SimpleSetPredicate></CompoundPredicate><ScoreDistribution value="b" recordCount="2"></ScoreDistribution></Node></Node></TreeModel>`;
const TREE_DOCUMENT = pmmlOf(`${texts('t', 'a', 'b')}${doubles('x')}${texts('color', 'red', 'blue')}`, TREE);

t.test('an Extension may stand in every element', async (t) => {
  const [bare, vendor] = [modelOf(TREE_DOCUMENT), modelOf(extended(TREE_DOCUMENT))];
  for (const record of [{ x: 2, color: 'red' }, { x: 2, color: 'blue' }, { x: 1 }, {}])
    t.same(vendor.apply(record), bare.apply(record));
  t.same(vendor.apply({ x: 2, color: 'red' }), { t: 'b', p: 1, twice: 2 });
  const network = pmmlOf(
    doubles('y', 'x'),
    `<NeuralNetwork functionName="regression" activationFunction="identity">${schema('y', 'x')}<NeuralInputs><NeuralInput id="0"><DerivedField optype="continuous" dataType="double"><FieldRef field="x"></FieldRef></DerivedField></NeuralInput></NeuralInputs>
    <NeuralLayer><Neuron id="1" bias="1"><Con from="0" weight="2"></Con></Neuron></NeuralLayer>
    <NeuralOutputs><NeuralOutput outputNeuron="1"><DerivedField optype="continuous" dataType="double"><FieldRef field="y"></FieldRef></DerivedField></NeuralOutput></NeuralOutputs></NeuralNetwork>`,
  );
  t.same(modelOf(extended(network)).apply({ x: 3 }), { y: 7 });
  const machine = pmmlOf(
    doubles('y', 'x'),
    `<SupportVectorMachineModel functionName="regression">${schema('y', 'x')}<LinearKernelType></LinearKernelType><VectorDictionary><VectorFields><FieldRef field="x"></FieldRef></VectorFields><VectorInstance id="v"><Array n="1" type="real">2</Array></VectorInstance></VectorDictionary>
    <SupportVectorMachine><SupportVectors><SupportVector vectorId="v"></SupportVector></SupportVectors><Coefficients absoluteValue="1"><Coefficient value="3"></Coefficient></Coefficients></SupportVectorMachine></SupportVectorMachineModel>`,
  );
  t.same(modelOf(extended(machine)).apply({ x: 5 }), { y: 31 });
});

t.test('inputs of numbers of a naive Bayes model before PMML 4.2 stand in an Extension', async (t) => {
  const counts = '<TargetValueCount value="a" count="1"/><TargetValueCount value="b" count="1"/>';
  const normal = (value: string, mean: number): string =>
    `<TargetValueStat value="${value}"><GaussianDistribution mean="${mean}" variance="1"/></TargetValueStat>`;
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'a', 'b')}${doubles('x')}`,
      `<NaiveBayesModel functionName="classification" threshold="0">${schema(undefined, 'x')}<Output><OutputField name="p" feature="probability" value="a"/></Output>
      <BayesInputs><Extension extender="R"><BayesInput fieldName="x"><TargetValueStats>${normal('a', 0)}${normal('b', 2)}</TargetValueStats></BayesInput></Extension></BayesInputs>
      <BayesOutput fieldName="t"><TargetValueCounts>${counts}</TargetValueCounts></BayesOutput></NaiveBayesModel>`,
      '4.1',
    ),
  );
  // 1 / (1 + e^(2x - 2)); the target is that of the BayesOutput.
  t.same(model.apply({ x: 1 }), { t: 'a', p: 0.5 });
});

t.test('prefixes of the namespace', async (t) => {
  const prefixed = TREE_DOCUMENT.replaceAll(/<(\/?)([A-Z])/g, '<$1p:$2').replace(
    '<p:PMML',
    '<p:PMML xmlns:p="http://www.dmg.org/PMML-4_4" xmlns:data="urn:d"',
  );
  t.same(modelOf(prefixed).apply({ x: 2, color: 'red' }), modelOf(TREE_DOCUMENT).apply({ x: 2, color: 'red' }));
  const table = `<MapValues outputColumn="data:out"><FieldColumnPair field="color" column="data:in"/><InlineTable><row><data:in>red</data:in><data:out>stop</data:out></row></InlineTable></MapValues>`;
  const mapped = `<RegressionModel functionName="regression">${schema('x', 'color')}<Output><OutputField name="o" feature="transformedValue">${table}</OutputField></Output><RegressionTable intercept="1"/></RegressionModel>`;
  const document = pmmlOf(`${doubles('x')}${texts('color', 'red')}`, mapped).replace(
    '<PMML',
    '<PMML xmlns:data="urn:d"',
  );
  t.same(modelOf(document).apply({ color: 'red' }), { x: 1, o: 'stop' });
});

t.test(
  'PMML 2: fields without a data type, the target as an attribute, a logistic regression by its type',
  async (t) => {
    const model = modelOf(
      pmmlOf(
        '<DataField name="y" optype="categorical"><Value value="no"/><Value value="yes"/></DataField><DataField name="x" optype="continuous"/>',
        `<RegressionModel modelName="m" functionName="classification" modelType="logisticRegression" targetFieldName="y"><MiningSchema><MiningField name="x"/></MiningSchema>
      <RegressionTable intercept="1" targetCategory="yes"><NumericPredictor name="x" exponent="1" coefficient="2"/></RegressionTable>
      <RegressionTable intercept="0" targetCategory="no"/></RegressionModel>`,
        '2.0',
      ),
    );
    t.same(model.apply({ x: 1 }), { y: 'yes' });
    t.match(model.explain({ x: 1 }), `The [probability] of [yes (STRING)] is [${1 / (1 + Math.exp(-3))} (DOUBLE)]`);
  },
);

t.test('PMML 3: models inside of a MiningModel without segments, one after the other', async (t) => {
  const model = modelOf(
    pmmlOf(
      `${texts('t', 'low', 'high')}${doubles('x')}`,
      `<MiningModel functionName="classification">${schema('t', 'x')}
      <Regression functionName="regression"><ResultField name="term" feature="predictedValue" dataType="double"/><RegressionTable intercept="1"><NumericPredictor name="x" coefficient="2"/></RegressionTable></Regression>
      <DecisionTree functionName="classification" noTrueChildStrategy="returnLastPrediction"><Node score="low"><True/><Node score="high"><SimplePredicate field="term" operator="greaterThan" value="5"/></Node></Node></DecisionTree></MiningModel>`,
      '3.2',
    ),
  );
  t.equal(model.apply({ x: 2 }).t, 'low', '1 + 2 · 2 is not above 5');
  t.equal(model.apply({ x: 3 }).t, 'high');
});

t.test('PMML 3: a tree whose nodes hold regressions; functions of PMML 4.4 by their early names', async (t) => {
  const table = (factor: number): string =>
    `<Regression functionName="regression"><RegressionTable intercept="0"><NumericPredictor name="s" coefficient="${factor}"/></RegressionTable></Regression>`;
  const model = modelOf(
    pmmlOf(
      doubles('y', 'x'),
      `<MiningModel functionName="regression">${schema('y', 'x')}<LocalTransformations><DerivedField name="s" optype="continuous" dataType="double"><Apply function="x-expm1"><FieldRef field="x"/></Apply></DerivedField></LocalTransformations>
      <DecisionTree functionName="regression"><Node><True/><Node><SimplePredicate field="x" operator="lessThan" value="1"/>${table(2)}</Node><Node><True/>${table(3)}</Node></Node></DecisionTree></MiningModel>`,
      '3.0',
    ),
  );
  t.equal(model.apply({ x: 0.5 }).y, 2 * Math.expm1(0.5));
  t.equal(model.apply({ x: 2 }).y, 3 * Math.expm1(2));
});

t.test(
  'sets of a sequence by their values; uploaded tables of words to normalize and of training instances',
  async (t) => {
    const sequence = modelOf(
      pmmlOf(
        '<DataField name="s" optype="categorical" dataType="string"/>',
        `<SequenceModel functionName="sequences">${schema(undefined, 's')}
      <Item id="1" value="c"/><SetPredicate id="p" field="s" operator="supersetOf"><Array type="string">a b</Array></SetPredicate><Itemset id="i"><ItemRef itemRef="1"/></Itemset>
      <Sequence id="from"><SetReference setId="p"/></Sequence><Sequence id="to"><SetReference setId="i"/></Sequence>
      <SequenceRule id="r" support="0.5" confidence="0.9"><AntecedentSequence><SequenceReference seqId="from"/></AntecedentSequence><ConsequentSequence><SequenceReference seqId="to"/></ConsequentSequence></SequenceRule></SequenceModel>`,
      ),
    );
    t.same(sequence.apply({ s: [['b', 'a', 'z']] }), { predictedValue: 'c' });
    t.same(sequence.apply({ s: [['a'], ['b']] }), { predictedValue: null });
    const text = pmmlOf(
      `${doubles('y')}<DataField name="text" optype="categorical" dataType="string"/>`,
      `<RegressionModel functionName="regression">${schema('y', 'text')}<LocalTransformations><DerivedField name="n" optype="continuous" dataType="double"><TextIndex textField="text"><TextIndexNormalization><TableLocator><Extension name="table" value="stems"/></TableLocator></TextIndexNormalization><Constant>run</Constant></TextIndex></DerivedField></LocalTransformations>
    <RegressionTable intercept="0"><NumericPredictor name="n" coefficient="1"/></RegressionTable></RegressionModel>`,
    );
    const training = (model: string, attributes: string, inner: string): unknown =>
      readPmml(
        [
          pmmlOf(
            doubles('y', 'x'),
            `<${model} functionName="regression" ${attributes}>${schema('y', 'x')}${inner}<TrainingInstances><InstanceFields><InstanceField field="x" column="in"/><InstanceField field="y" column="out"/></InstanceFields><TableLocator><Extension name="table" value="points"/></TableLocator></TrainingInstances></${model}>`,
          ),
        ],
        {
          table: () => ({
            columns: ['in', 'out'],
            rows: [
              ['1', '10'],
              ['9', '90'],
            ],
          }),
        },
      ).model?.apply({ x: 8 }).y;
    t.equal(
      training(
        'NearestNeighborModel',
        'numberOfNeighbors="1"',
        '<ComparisonMeasure kind="distance"><euclidean/></ComparisonMeasure><KNNInputs><KNNInput field="x"/></KNNInputs>',
      ),
      90,
    );
    const process = training('GaussianProcessModel', '', '<RadialBasisKernel noiseVariance="0" lambda="100"/>');
    t.ok(Math.abs((process as number) - 80) < 1, `a line between two points, nearly: ${String(process)}`);
    const { model } = readPmml([text], { table: () => ({ columns: ['string', 'stem'], rows: [['ran', 'run']] }) });
    t.same(model?.apply({ text: 'He ran, they run' }), { y: 2 });
  },
);
