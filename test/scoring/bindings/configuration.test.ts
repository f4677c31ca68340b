/** What a binding may be told, and what of it fits a model (docs/spec/scoring.md#bindings). */
import t from 'tap';
import { readBindingConfiguration } from '../../../src/scoring/bindings/configuration.ts';
import { namesOf, planOf, signatureOf } from '../../../src/scoring/bindings/signature.ts';

const ALARM = { type: 'hot', severity: 'MAJOR', above: 0.9 };
const BINDING = {
  bindingName: 'Ovens <1>',
  modelName: 'oven',
  modelToDeviceMappings: { t: 'c8y_Oven.T.value', r: 'door.rise.value' },
  output: { measurement: { type: 'risk' }, event: { type: 'state' }, alarm: ALARM },
};

const refusalOf = (change: object): string => {
  try {
    readBindingConfiguration({ ...BINDING, ...change });
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};
const ofOutput = (output: object): string => refusalOf({ output });
const ofAlarm = (change: object): string => ofOutput({ alarm: { ...ALARM, ...change } });

t.test('a binding as it is kept', async (t) => {
  t.match(readBindingConfiguration({ ...BINDING, id: '1', lastUpdated: 'x', groupOrDeviceId: 42 }), {
    bindingName: 'Ovens _1_',
    modelKind: 'pmml',
    groupOrDeviceId: '42',
    allowsMissing: false,
    scoresPredictions: false,
    isActive: true,
    output: {
      measurement: { type: 'risk', fragment: 'risk' },
      event: { text: '{value}', isForEach: false },
      alarm: { above: 0.9, clearBelow: 0.9 },
    },
  });
});

t.test('what is wrong', async (t) => {
  t.match(refusalOf({ modelname: 'x' }), /'modelname' is not a member of binding, which has bindingName/);
  t.match(refusalOf({ __proto__: null, constructor: 1 }), /'constructor' is not a member/);
  t.match(refusalOf({ modelName: '' }), /modelName is mandatory/);
  t.match(refusalOf({ modelType: 'toString' }), /modelType can be PMML or ONNX/);
  t.match(refusalOf({ isActive: 'yes' }), /isActive must be true or false/);
  t.match(refusalOf({ modelToDeviceMappings: { t: 'c8y_Oven' } }), /must have the form/);
  t.match(ofOutput({}), /output must have a measurement, an event or an alarm/);
  for (const fragment of ['a b', 'source', 'c8y_Scoring', 'time'])
    t.match(ofOutput({ measurement: { type: 'x', fragment } }), /fragment must be/, fragment);
  t.match(ofOutput({ measurement: { type: 'x', outputs: {} } }), /outputs has 0 members, 1 to 100 are allowed/);
  t.match(ofOutput({ measurement: { type: 'x', outputs: { a: 'b.c' } } }), /series of the output 'a' must be/);
  t.match(ofOutput({ measurement: { type: 'x', outputs: { a: 's', b: 's' } } }), /outputs names a series twice/);
  t.match(ofOutput({ event: {} }), /type is mandatory/);
  t.match(ofAlarm({ severity: 'BAD' }), /severity can be CRITICAL, MAJOR, MINOR, WARNING/);
  t.match(ofAlarm({ above: undefined }), /alarm must have either above or equals/);
  t.match(ofAlarm({ equals: 'x' }), /alarm must have either above or equals/);
  t.match(ofAlarm({ above: 'x' }), /above must be a number/);
  t.match(ofAlarm({ clearBelow: 1 }), /clearBelow must not be greater than above, but is 1/);
  t.match(ofAlarm({ above: undefined, equals: 'x', clearBelow: 1 }), /clearBelow goes with above/);
});

const pmml = signatureOf(
  'pmml',
  JSON.stringify({ inputFields: [{ name: 't' }, { name: 'r' }], outputFields: [{ name: 'p(a b)' }, { name: 'q' }] }),
);
const planFor = (change: object, signature = pmml): any =>
  planOf(readBindingConfiguration({ ...BINDING, ...change }), signature);

t.test('what of it a model has', async (t) => {
  t.match(planFor({}), {
    inputs: [
      { name: 't', type: 'c8y_Oven', series: 'T' },
      { name: 'r', type: 'door', series: 'rise' },
    ],
    measurement: {
      outputs: [
        { name: 'p(a b)', series: 'p_a_b_' },
        { name: 'q', series: 'q' },
      ],
    },
    event: 'p(a b)',
    alarm: 'p(a b)',
  });
  t.throws(
    () => planFor({ modelToDeviceMappings: { z: 'a.b.value' } }),
    /names 'z', which is not an input .* are t, r/,
  );
  t.throws(() => planFor({ output: { event: { type: 'x', output: 'z' } } }), /'z' is not an output .* are p\(a b\), q/);
  t.throws(
    () => planFor({ output: { measurement: { type: 'x' } } }, { inputs: ['t', 'r'], outputs: ['a b', 'a.b'] }),
    /'a.b' needs another name as a series/,
  );
  t.same(namesOf(readBindingConfiguration(BINDING)), ['c8y_Oven'], 'all inputs are needed: the first finds them');
  t.same(namesOf(readBindingConfiguration({ ...BINDING, allowMissing: true })), ['c8y_Oven', 'door']);
  t.same(namesOf(readBindingConfiguration({ ...BINDING, measurementType: 'x' })), ['x']);
});

t.test('of an ONNX model', async (t) => {
  const described = (inputs: object[], outputs: object[]): string => JSON.stringify({ inputs, outputs });
  const x = { name: 'x', shape: ['N', 2], type: 'tensor(float)' };
  const y = { name: 'y', shape: [null, 1], type: 'tensor(float)' };
  const onnx = signatureOf('onnx', described([x], [y, { ...x, name: 'z' }]));
  t.same(onnx, { inputs: ['x[0]', 'x[1]'], outputs: ['y', 'z[0]', 'z[1]'] });
  const map = signatureOf('onnx', described([x], [{ name: 'm', shape: [], type: 'seq(map(int64,tensor(float)))' }]));
  t.equal(map.outputs, undefined);
  const of = { modelType: 'ONNX', modelToDeviceMappings: { 'x[0]': 'a.b.value', 'x[1]': 'a.c.value' } };
  t.match(planFor({ ...of, output: { event: { type: 'e', output: 'm[1]' } } }, map), { event: 'm[1]' });
  t.throws(() => planFor({ ...of, output: { measurement: { type: 'm' } } }, map), /not known before it is applied/);
  t.throws(() => planFor({ ...of, output: { event: { type: 'e' } } }, map), /Name the output of the model/);
  t.throws(() => planFor({ ...of, modelToDeviceMappings: { 'x[0]': 'a.b.value' } }, onnx), /lacks 'x\[1\]'/);
  t.throws(() => planFor({ ...of, allowMissing: true }, onnx), /allowMissing is for PMML models/);
  for (const wrong of [
    { ...x, type: 'tensor(string)' },
    { ...x, type: 'tensor(int64)' },
    { ...x, shape: [1, 2] },
    { ...x, shape: ['N', 'M'] },
    { ...x, shape: ['N', 1, 2] },
    { ...x, shape: undefined },
  ])
    t.throws(() => signatureOf('onnx', described([wrong], [])), /The model cannot be bound: /);
});
