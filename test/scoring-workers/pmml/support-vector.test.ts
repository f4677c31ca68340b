/** SupportVectorMachineModel (docs/spec/pmml-equations.md#support-vector-machines). */
import t, { type Test } from 'tap';
import { readDocument } from '../../../src/scoring-workers/pmml/document/reader.ts';
import { readKernel } from '../../../src/scoring-workers/pmml/models/support-vector/kernel.ts';
import { compileSupportVector } from '../../../src/scoring-workers/pmml/models/support-vector/support-vector.ts';
import { SupportVectors } from '../../../src/scoring-workers/pmml/models/support-vector/vectors.ts';
import { doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const near = (t: Test, found: number, wanted: number, what: string): void => {
  t.ok(Math.abs(found - wanted) <= 1e-14 * Math.max(1, Math.abs(wanted)), `${what}: ${found}, wanted ${wanted}`);
};

const FIELDS = `${doubles('y', 'a', 'b')}${texts('class', 'one', 'two', 'three')}${texts('pair', 'no', 'yes')}${texts('color', 'red')}`;
const LINEAR = '<LinearKernelType/>';
const INSTANCES = `<VectorInstance id="v1"><Array n="2" type="real">1 2</Array></VectorInstance>
  <VectorInstance id="v2"><REAL-SparseArray n="2"><Indices>2</Indices><REAL-Entries>3</REAL-Entries></REAL-SparseArray></VectorInstance>`;
const REFERENCES = '<FieldRef field="a"/><FieldRef field="b"/>';

const machine = (attributes: string, form: { vectors?: string[]; coefficients: number[]; constant?: number }): string =>
  `<SupportVectorMachine ${attributes}>${
    form.vectors === undefined
      ? ''
      : `<SupportVectors>${form.vectors.map((id) => `<SupportVector vectorId="${id}"/>`).join('')}</SupportVectors>`
  }<Coefficients absoluteValue="${form.constant ?? 0}">${form.coefficients
    .map((value) => `<Coefficient value="${value}"/>`)
    .join('')}</Coefficients></SupportVectorMachine>`;

function vectorMachine(form: {
  kernel?: string;
  attributes?: string;
  machines: string;
  target?: string;
  fields?: string;
  instances?: string;
}) {
  const { kernel = LINEAR, attributes = '', target = 'y', fields = REFERENCES, instances = INSTANCES } = form;
  const functionName = target === 'y' ? 'regression' : 'classification';
  return familyModel(
    compileSupportVector,
    FIELDS,
    `<SupportVectorMachineModel functionName="${functionName}" ${attributes}>${schema(target, 'a', 'b', 'color')}${kernel}
      <VectorDictionary><VectorFields>${fields}</VectorFields>${instances}</VectorDictionary>${form.machines}</SupportVectorMachineModel>`,
  );
}

const BOTH = machine('', { vectors: ['v2', 'v1'], coefficients: [2, -1], constant: 0.5 });

t.test('kernels over dense and sparse vectors', async (t) => {
  // Record (0.5, -1): products 1·0.5 - 2 = -1.5 and -3; squared distances 0.25 + 9 and 0.25 + 16.
  const cases: [string, (product: number, distance: number) => number][] = [
    [LINEAR, (product) => product],
    ['<PolynomialKernelType gamma="2" coef0="3" degree="3"/>', (product) => (2 * product + 3) ** 3],
    ['<PolynomialKernelType/>', (product) => product + 1],
    ['<RadialBasisKernelType gamma="0.1"/>', (_, distance) => Math.exp(-0.1 * distance)],
    ['<SigmoidKernelType gamma="0.2" coef0="0.3"/>', (product) => Math.tanh(0.2 * product + 0.3)],
    ['<SigmoidKernelType/>', (product) => Math.tanh(product + 1)],
  ];
  for (const [kernel, of] of cases)
    near(
      t,
      vectorMachine({ kernel, machines: BOTH }).score({ a: 0.5, b: -1 }).number,
      2 * of(-3, 16.25) - of(-1.5, 9.25) + 0.5,
      kernel,
    );
  const model = vectorMachine({ machines: BOTH });
  t.equal(model.score({ a: 0.5 }).value, undefined, 'a missing field');
  t.strictSame((model.score({ a: 0.5, b: -1 }), model.explain()), [
    '[SupportVectorMachine]',
    'Value of the machine is [-4]',
  ]);
});

t.test('coefficients in place of support vectors', async (t) => {
  const machines = machine('', { coefficients: [2, -1], constant: 10 });
  const form = { attributes: 'svmRepresentation="Coefficients"', machines, instances: '' };
  t.equal(vectorMachine(form).score({ a: 3, b: 4 }).value, 12);
  t.throws(() => vectorMachine({ ...form, kernel: '<RadialBasisKernelType/>' }), /needs a LinearKernelType/);
  t.throws(
    () => vectorMachine({ ...form, machines: machine('', { coefficients: [2] }) }),
    /1 coefficients for 2 fields/,
  );
});

t.test('categories as fields of vectors', async (t) => {
  const model = vectorMachine({
    fields: '<FieldRef field="a"/><CategoricalPredictor name="color" value="red" coefficient="1"/>',
    machines: machine('', { vectors: ['v1'], coefficients: [1] }),
  });
  t.equal(model.score({ a: 3, color: 'red' }).value, 5);
  t.equal(model.score({ a: 3, color: 'green' }).value, 3);
  t.equal(model.score({ a: 3 }).value, undefined);
});

/** Machines of one coefficient over `a` alone. */
const ofA = (attributes: string, factor: number, constant = 0): string =>
  machine(attributes, { coefficients: [factor, 0], constant });
const coefficients = (attributes: string, machines: string, target = 'class') =>
  vectorMachine({ attributes: `svmRepresentation="Coefficients" ${attributes}`, machines, target, instances: '' });

t.test('one against all: the least value wins, or the greatest', async (t) => {
  const machines =
    ofA('targetCategory="one"', 1) + ofA('targetCategory="two"', -1) + ofA('targetCategory="three"', 0, 5);
  t.equal(coefficients('', machines).score({ a: 2, b: 0 }).value, 'two');
  const greatest = coefficients('maxWins="true"', machines);
  t.equal(greatest.score({ a: 2, b: 0 }).value, 'three');
  t.equal(greatest.score({ a: 9, b: 0 }).value, 'one');
  t.equal(greatest.score({ a: 5, b: 0 }).value, 'one', 'the first of equal ones');
  t.equal(greatest.score({ a: 5 }).value, undefined);
});

t.test('one against one: votes are probabilities, the first category wins a tie', async (t) => {
  const machines = (thresholds = '') =>
    ofA('targetCategory="one" alternateTargetCategory="two"', 1) +
    ofA('targetCategory="one" alternateTargetCategory="three"', 1, -3) +
    ofA(`targetCategory="two" alternateTargetCategory="three" ${thresholds}`, -1);
  const model = coefficients('classificationMethod="OneAgainstOne"', machines());
  const prediction = model.score({ a: -1, b: 0 });
  t.strictSame([...prediction.probabilities], [2 / 3, 0, 1 / 3]);
  t.equal(prediction.value, 'one');
  t.equal(model.score({ a: 4, b: 0 }).value, 'two');
  t.equal(coefficients('', machines()).score({ a: 4, b: 0 }).value, 'two', 'the method follows from two categories');
  t.strictSame([...model.score({ a: 2, b: 0 }).probabilities], [1 / 3, 2 / 3, 0]);
  const tie = coefficients('', machines('threshold="-9"')).score({ a: 2, b: 0 });
  t.strictSame([...tie.probabilities], [1 / 3, 1 / 3, 1 / 3], 'a machine has its own threshold');
  t.equal(tie.value, 'one');
  t.equal(coefficients('maxWins="true" threshold="1"', machines()).score({ a: 4.5, b: 0 }).value, 'one');
});

t.test('two categories and one machine', async (t) => {
  const at = (attributes: string, category: string, a: number) =>
    coefficients(attributes, ofA(category, 1), 'pair').score({ a, b: 0 }).value;
  t.equal(at('', 'targetCategory="yes"', -1), 'yes', 'below the threshold');
  t.equal(at('', 'targetCategory="yes"', 1), 'no', 'else the other one');
  t.equal(at('threshold="2"', 'targetCategory="yes" alternateTargetCategory="no"', 1), 'yes');
  t.equal(at('alternateBinaryTargetCategory="no"', 'targetCategory="yes"', 0.6), 'yes', 'rounded to 1');
  t.equal(at('alternateBinaryTargetCategory="no"', 'targetCategory="yes"', 0.4), 'no', 'rounded to 0');
  t.equal(at('alternateBinaryTargetCategory="no"', 'targetCategory="yes"', 1.6), undefined, 'neither');
});

t.test('vectors that would be too large one value after the other stay sparse', async (t) => {
  const kernels = (kernel: string, more = '') => {
    const dictionary = readDocument(
      `<VectorDictionary>${kernel}<VectorInstance id="v"><REAL-SparseArray n="4" ${more}><Indices>4 1</Indices><REAL-Entries>3 7</REAL-Entries></REAL-SparseArray></VectorInstance></VectorDictionary>`,
    );
    const vectors = new SupportVectors(dictionary, 4, readKernel(dictionary), 3);
    vectors.compute(Float64Array.of(2, 0.5, 0, 1));
    return vectors.kernels[0] as number;
  };
  t.equal(kernels(LINEAR), 7 * 2 + 3);
  near(t, kernels('<RadialBasisKernelType gamma="0.1"/>'), Math.exp(-0.1 * (25 + 0.25 + 4)), 'squared distance');
  t.throws(() => kernels(LINEAR, 'defaultValue="1"'), /only 0 is possible/);
});

t.test('what is refused says why', async (t) => {
  const of = (form: Partial<Parameters<typeof vectorMachine>[0]>) => () => vectorMachine({ machines: BOTH, ...form });
  t.throws(of({ kernel: '' }), /has no kernel/);
  t.throws(of({ machines: '' }), /has no SupportVectorMachine/);
  t.throws(of({ machines: BOTH + BOTH }), /has 2 machines; a regression has one/);
  t.throws(of({ machines: machine('', { vectors: ['v9'], coefficients: [1] }) }), /no vector has the id 'v9'/);
  t.throws(
    of({ machines: machine('', { vectors: ['v1'], coefficients: [] }) }),
    /0 coefficients for 1 support vectors/,
  );
  t.throws(of({ machines: machine('', { coefficients: [1] }) }), /has no SupportVectors/);
  t.throws(of({ instances: INSTANCES.replace('v2', 'v1') }), /another vector 'v1'/);
  t.throws(of({ instances: '<VectorInstance id="v1"><Array>1</Array></VectorInstance>' }), /has 1 values; there are 2/);
  t.throws(of({ fields: '<FieldRef field="color"/>' }), /'color' is a field of texts/);
  t.throws(of({ target: 'class' }), /no 'targetCategory'/);
  const lonely = `${ofA('targetCategory="one"', 1)}${ofA('targetCategory="two"', 1)}`;
  t.throws(() => coefficients('classificationMethod="OneAgainstOne"', lonely), /no 'alternateTargetCategory'/);
  t.throws(() => coefficients('alternateBinaryTargetCategory="two"', lonely), /has 2 machines; with/);
});
