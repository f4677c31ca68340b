/** NeuralNetwork (docs/spec/pmml-equations.md#neural-networks). */
import t, { type Test } from 'tap';
import { compileNeuralNetwork } from '../../../src/scoring-workers/pmml/models/neural-network/neural-network.ts';
import { doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: number, wanted: number, what: string): void => {
  t.ok(Math.abs(found - wanted) <= 1e-14 * Math.max(1, Math.abs(wanted)), `${what}: ${found}, wanted ${wanted}`);
};

const FIELDS = doubles('y', 'z', 'a', 'b') + texts('class', 'yes', 'no');
const INPUTS = `<NeuralInputs>${['a', 'b']
  .map(
    (name) =>
      `<NeuralInput id="${name}"><DerivedField optype="continuous" dataType="double"><FieldRef field="${name}"/></DerivedField></NeuralInput>`,
  )
  .join('')}</NeuralInputs>`;

const neuron = (id: string, weights: Record<string, number>, attributes = ''): string =>
  `<Neuron id="${id}" ${attributes}>${Object.entries(weights)
    .map(([from, weight]) => `<Con from="${from}" weight="${weight}"/>`)
    .join('')}</Neuron>`;

const output = (id: string, expression: string): string =>
  `<NeuralOutput outputNeuron="${id}"><DerivedField optype="continuous" dataType="double">${expression}</DerivedField></NeuralOutput>`;

const TO_Y = '<FieldRef field="y"/>';

function network(form: {
  attributes: string;
  layers: string;
  outputs?: string;
  target?: string;
  functionName?: string;
  locals?: string;
}) {
  const { attributes, layers, outputs = output('o', TO_Y), target = 'y', functionName = 'regression' } = form;
  return familyModel(
    compileNeuralNetwork,
    FIELDS,
    `<NeuralNetwork functionName="${functionName}" ${attributes}>${schema(target, 'a', 'b')}${form.locals ?? ''}
      ${INPUTS}${layers}<NeuralOutputs>${outputs}</NeuralOutputs></NeuralNetwork>`,
  );
}

const oneNeuron = (attributes: string, layer = '', bias = 'bias="0.5"') =>
  network({ attributes, layers: `<NeuralLayer ${layer}>${neuron('o', { a: 2, b: -1 }, bias)}</NeuralLayer>` });

t.test('activations', async (t) => {
  const sum = 2 * 0.3 - 0.7 + 0.5;
  const cases: [string, number][] = [
    ['activationFunction="logistic"', 1 / (1 + Math.exp(-sum))],
    ['activationFunction="tanh"', (1 - Math.exp(-2 * sum)) / (1 + Math.exp(-2 * sum))],
    ['activationFunction="identity"', sum],
    ['activationFunction="exponential"', Math.exp(sum)],
    ['activationFunction="reciprocal"', 1 / sum],
    ['activationFunction="square"', sum ** 2],
    ['activationFunction="Gauss"', Math.exp(-(sum ** 2))],
    ['activationFunction="sine"', Math.sin(sum)],
    ['activationFunction="cosine"', Math.cos(sum)],
    ['activationFunction="Elliott"', sum / (1 + sum)],
    ['activationFunction="arctan"', (2 * Math.atan(sum)) / Math.PI],
    ['activationFunction="rectifier"', sum],
    ['activationFunction="threshold" threshold="0.3"', 1],
    ['activationFunction="threshold" threshold="0.5"', 0],
    ['activationFunction="threshold"', 1],
  ];
  for (const [attributes, wanted] of cases)
    near(t, oneNeuron(attributes).score({ a: 0.3, b: 0.7 }).number, wanted, attributes);
  t.equal(oneNeuron('activationFunction="rectifier"').score({ a: 0, b: 3 }).value, 0);
  t.equal(oneNeuron('activationFunction="identity"').score({ a: 0.3 }).value, undefined, 'a missing input');
  const layer = oneNeuron('activationFunction="tanh" threshold="9"', 'activationFunction="threshold" threshold="0.3"');
  t.equal(layer.score({ a: 0.3, b: 0.7 }).value, 1, 'a layer has its own function and threshold');
  t.throws(() => oneNeuron(''), /neither it nor the network has an 'activationFunction'/);
  t.throws(() => oneNeuron('activationFunction="swish"'), /'swish'; it may be threshold/);
});

t.test('radial basis neurons: width and altitude of neuron, layer or network', async (t) => {
  const distance = (0.3 - 2) ** 2 + (0.7 + 1) ** 2;
  const at = (attributes: string, layer = '', own = ''): number =>
    oneNeuron(`activationFunction="radialBasis" ${attributes}`, layer, own).score({ a: 0.3, b: 0.7 }).number;
  near(t, at('width="2"'), Math.exp(-distance / 8), 'network');
  near(t, at('width="2"', 'width="3"'), Math.exp(-distance / 18), 'layer');
  near(t, at('width="2"', 'width="3"', 'width="1.5"'), Math.exp(-distance / 4.5), 'neuron');
  near(
    t,
    at('width="2" altitude="3"'),
    Math.exp(2 * Math.log(3) - distance / 8),
    'altitude, to the number of connections',
  );
  t.throws(() => at(''), /'width' is missing/);
});

t.test('layers are normalized, each by its own or the method of the network', async (t) => {
  const layers = (first: string, second: string): string =>
    `<NeuralLayer ${first}>${neuron('h1', { a: 1 })}${neuron('h2', { b: 1 })}</NeuralLayer>
     <NeuralLayer ${second}>${neuron('o', { h1: 1, h2: 2 })}${neuron('p', { h1: 3, a: 1 })}</NeuralLayer>`;
  const form = (network: string, first: string, second: string) => ({
    attributes: `activationFunction="identity" ${network}`,
    layers: layers(first, second),
    outputs:
      output('o', '<NormDiscrete field="class" value="yes"/>') +
      output('p', '<NormDiscrete field="class" value="no"/>'),
    target: 'class',
    functionName: 'classification',
  });
  const record = { a: 1, b: 3 };
  const soft = network(form('normalizationMethod="softmax"', 'normalizationMethod="none"', ''));
  const prediction = soft.score(record);
  near(t, prediction.probabilities[0] as number, Math.exp(7) / (Math.exp(7) + Math.exp(4)), 'softmax');
  t.equal(prediction.value, 'yes');
  t.equal(prediction.entityId, 'o', 'the neuron that decided');
  const simple = network(form('', 'normalizationMethod="simplemax"', 'normalizationMethod="simplemax"'));
  near(t, simple.score(record).probabilities[1] as number, (3 / 4 + 1) / (3 / 4 + 1 + 1 / 4 + 6 / 4), 'simplemax');
  const raw = network(form('', '', '')).score(record);
  t.strictSame([...raw.probabilities], [7, 4], 'without a method the activations stand');
  t.strictSame(
    network(form('', '', ''))
      .explain()
      .slice(0, 1),
    ['[BackPropagationNetwork]'],
  );
});

t.test('outputs are turned back into values of the target', async (t) => {
  const form = {
    attributes: 'activationFunction="identity"',
    layers: `<NeuralLayer>${neuron('o', { a: 1, b: 0 })}</NeuralLayer>`,
  };
  const norm = (points: [number, number][], field = 'y'): string =>
    `<NormContinuous field="${field}">${points.map(([orig, n]) => `<LinearNorm orig="${orig}" norm="${n}"/>`).join('')}</NormContinuous>`;
  const at = (expression: string, a: number): number =>
    network({ ...form, outputs: output('o', expression) }).score({ a, b: 0 }).number;
  const rising = norm([
    [0, 0],
    [10, 0.5],
    [100, 1],
  ]);
  near(t, at(rising, 0.25), 5, 'first part');
  near(t, at(rising, 0.75), 55, 'second part');
  near(t, at(rising, 1.5), 190, 'beyond the end');
  near(t, at(rising, -0.5), -10, 'before the beginning');
  near(
    t,
    at(
      norm([
        [0, 1],
        [10, -1],
      ]),
      0.5,
    ),
    2.5,
    'a falling norm',
  );
  const derived = network({
    ...form,
    outputs: output('o', '<FieldRef field="scaled"/>'),
    locals: `<LocalTransformations><DerivedField name="scaled" optype="continuous" dataType="double">${rising}</DerivedField></LocalTransformations>`,
  });
  near(t, derived.score({ a: 0.25, b: 0 }).number, 5, 'by way of a derived field');
  t.throws(() => at('<Constant>1</Constant>', 1), /'field' is missing/);
  t.throws(() => at(norm([[0, 0]]), 1), /fewer than two LinearNorm/);
});

t.test('several targets, of numbers and of categories', async (t) => {
  const model = familyModel(
    compileNeuralNetwork,
    FIELDS,
    `<NeuralNetwork functionName="regression" activationFunction="identity">
      <MiningSchema><MiningField name="z" usageType="target"/><MiningField name="class" usageType="target"/><MiningField name="a"/><MiningField name="b"/></MiningSchema>
      ${INPUTS}<NeuralLayer>${neuron('o', { a: 1 })}${neuron('p', { b: 1 })}${neuron('q', { a: 2 })}</NeuralLayer>
      <NeuralOutputs>${output('p', '<NormDiscrete field="class" value="yes"/>')}${output('o', '<FieldRef field="z"/>')}${output('q', '<NormDiscrete field="class" value="no"/>')}</NeuralOutputs>
    </NeuralNetwork>`,
  );
  const prediction = model.score({ a: 2, b: 3 });
  t.equal(prediction.value, 2);
  t.equal(prediction.others?.get('class')?.value, 'no');
  model.score({ a: 2 });
  t.equal(prediction.others?.get('class')?.value, undefined, 'a missing input clears all');
});

t.test('every neuron of a wide layer has its own weights and bias', async (t) => {
  const names = ['yes', 'no', 'a', 'b', 'c'];
  const model = network({
    attributes: 'activationFunction="identity"',
    layers: `<NeuralLayer>${names.map((name, i) => neuron(`n${name}`, { a: i + 1, b: 10 * i }, `bias="${i / 8}"`)).join('')}</NeuralLayer>`,
    outputs: names.map((name) => output(`n${name}`, `<NormDiscrete field="class" value="${name}"/>`)).join(''),
    target: 'class',
    functionName: 'classification',
  });
  const wanted = names.map((_, i) => (i + 1) * 0.5 + 10 * i * 3 + i / 8);
  t.strictSame([...model.score({ a: 0.5, b: 3 }).probabilities], wanted);
});

t.test('in 32 bits', async (t) => {
  const f = Math.fround;
  const sum = f(f(f(f(2) * f(0.3)) + f(f(-1) * f(0.7))) + f(0.5));
  t.equal(
    oneNeuron('activationFunction="tanh" x-mathContext="float"').score({ a: 0.3, b: 0.7 }).value,
    f(Math.tanh(sum)),
  );
});

t.test('connections: from any neuron before, not from one that is not there', async (t) => {
  const layers = (connections: Record<string, number>) => () =>
    network({
      attributes: 'activationFunction="identity"',
      layers: `<NeuralLayer>${neuron('o', connections)}</NeuralLayer>`,
    });
  t.throws(layers({ o: 1 }), /no neuron before it has the id 'o'/);
  t.throws(layers({ nothing: 1 }), /no neuron before it has the id 'nothing'/);
  const twice = `<NeuralLayer>${neuron('o', { a: 1 })}${neuron('o', { a: 1 })}</NeuralLayer>`;
  t.throws(() => network({ attributes: 'activationFunction="identity"', layers: twice }), /another neuron 'o'/);
  const con = (attributes: string) => () =>
    network({ attributes: '', layers: `<NeuralLayer><Neuron id="o"><Con ${attributes}/></Neuron></NeuralLayer>` });
  t.throws(con('from="a"'), /Con \(line \d\): the attribute 'weight' is missing/);
  t.throws(con('weight="1"'), /'from' is missing/);
  t.throws(con('from="a" weight="heavy"'), /'heavy', which is not a number/);
  t.throws(
    () => network({ attributes: '', layers: '<NeuralLayer><Neuron id="o"><Neuron id="p"/></Neuron></NeuralLayer>' }),
    /not expected in a Neuron/,
  );
  t.throws(() => network({ attributes: '', layers: '' }), /has no NeuralLayer/);
  t.throws(
    () =>
      network({
        attributes: 'activationFunction="identity"',
        layers: twice.replace('id="o"', 'id="x"'),
        outputs: output('?', TO_Y),
      }),
    /no neuron has the id '\?'/,
  );
});

t.test('an explanation shows every neuron', async (t) => {
  const model = network({
    attributes: 'activationFunction="identity"',
    layers: `<NeuralLayer>${neuron('h', { a: 1, b: 1 })}</NeuralLayer><NeuralLayer>${neuron('o', { h: 0.5 })}</NeuralLayer>`,
  });
  model.score({ a: 1, b: 2 });
  t.strictSame(model.explain(), [
    '[BackPropagationNetwork]',
    'Input neuron [a] is [1.000]',
    'Input neuron [b] is [2.000]',
    'Hidden neuron [h] is [3.000]',
    'Output neuron [o] is [1.500]',
  ]);
});
