/** Tensors, jobs and bindings as the forms of the console have them. */
import t from 'tap';
import { bindingBody, bindingForm, recordOfTime, seriesOfBinding } from '../../web/screens/scoring/binding-data.ts';
import type { Binding } from '../../web/screens/scoring/binding-data.ts';
import { jobBody, jobForm, resultRows, runNowBody } from '../../web/screens/scoring/job-data.ts';
import type { Job } from '../../web/screens/scoring/job-data.ts';
import { bodyOf, columnsOf, exampleOf } from '../../web/screens/scoring/tensors.ts';
import type { Tensor } from '../../web/screens/scoring/tensors.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const tensor = (shape: Tensor['shape'], type = 'tensor(float)'): Tensor => ({ name: 'x', shape, type });

t.test('a form for tensors begins with values of the shape', async (t) => {
  t.equal(exampleOf(tensor(['N', 3])), '[[0,0,0]]');
  t.equal(exampleOf(tensor([])), '0');
  t.equal(exampleOf(tensor([2], 'tensor(bool)')), '[false,false]');
  t.equal(exampleOf(tensor([null], 'tensor(string)')), '[""]');
  t.equal(exampleOf(tensor(['N', 1, 28, 28])), '', 'too many for a form');
  t.equal(exampleOf(tensor(null)), '');
  t.same(columnsOf([tensor(['N', 2]), { ...tensor(['N']), name: 'y' }]), ['x[0]', 'x[1]', 'y']);
});

t.test('what is typed becomes a tensor of the shape', async (t) => {
  const body = (shape: Tensor['shape'], text: string, type?: string): string =>
    bodyOf([tensor(shape, type)], { x: text });
  t.equal(
    body(['N', 2], '[[1.50, 9007199254740993]]'),
    '{"x":[[1.50, 9007199254740993]]}',
    'digits as they are written',
  );
  t.equal(body(['N', 2], '1, 2\n3 +4'), '{"x":[[1,2],[3,4]]}');
  t.equal(body(['N'], '5'), '{"x":[5]}');
  t.equal(body([], '5'), '{"x":5}');
  t.equal(body([3], '9007199254740993;.5 1e3', 'tensor(int64)'), '{"x":[9007199254740993,0.5,1e3]}');
  t.equal(body(['N'], 'a, b c', 'tensor(string)'), '{"x":["a","b c"]}');
  t.equal(body(['N'], 'True,false', 'tensor(bool)'), '{"x":[true,false]}');
  for (const [shape, text] of [
    [['N'], ''],
    [['N'], '[1,'],
    [['N'], 'one'],
    [['N'], '1\n2'],
    [[1, 1, 1], '1'],
  ] as const)
    t.throws(() => body(shape, text), { message: 'x' }, text);
});

const JOB: Job = {
  jobId: 7,
  jobName: 'ovens',
  jobDescription: 'd',
  groupOrDeviceId: 42,
  modelOrGroup: 'oven',
  applyAllModels: false,
  modelToDeviceMappings: { temperature: 'oven.temperature.value' },
  jobSchedule: {
    frequency: 'periodic',
    cronExpression: '0 0 * * * ?',
    dataFromPreviousNSeconds: 3_600,
    timeZone: 'Europe/Berlin',
  },
};

t.test('a job, its copy, and one that runs now', async (t) => {
  const { jobId: _, ...body } = JOB;
  t.same(jobBody(jobForm(JOB, NOW)), body, 'a copy is the same');
  const form = { ...jobForm(undefined, NOW), name: ' a ', target: '1', mappings: { x: ' p.s.value ', y: '' } };
  t.match(
    jobBody({ ...form, frequency: 'once', at: '2026-11-26T13:00', from: '2026-11-25T00:00', to: '2026-11-26T00:00' }),
    {
      jobName: 'a',
      groupOrDeviceId: 1,
      modelToDeviceMappings: { x: 'p.s.value' },
      jobSchedule: { frequency: 'once', scheduleAt: /^2026-11-2\dT\d\d:00:00.000Z$/, dataFrom: String, dataTo: String },
    },
  );
  t.same(runNowBody(JOB, NOW), {
    ...body,
    jobSchedule: {
      frequency: 'once',
      scheduleAt: '2026-11-26T12:00:10.000Z',
      dataFrom: '2026-11-26T11:00:00.000Z',
      dataTo: '2026-11-26T12:00:00.000Z',
    },
  });
});

t.test('a row for each record of a run', async (t) => {
  const page = {
    next: null,
    prev: null,
    inferenceCollection: [
      {
        deviceId: '42',
        recordCollection: [
          { modelName: 'oven', outputRecords: { y: [1, null], c: ['a', { p: 1 }], timestamp_7: ['t1', 't2'] } },
        ],
      },
    ],
  };
  t.same(
    resultRows(page, '7').map(({ device, time, outputs }) => [device, time, outputs]),
    [
      ['42', 't1', 'y: 1 · c: a'],
      ['42', 't2', 'y: – · c: {"p":1}'],
    ],
  );
});

const BINDING: Binding = {
  id: '5',
  bindingName: 'Ovens',
  modelName: 'oven',
  modelType: 'PMML',
  measurementType: 'oven',
  groupOrDeviceId: 42,
  modelToDeviceMappings: { temperature: 'oven.temperature.value', rise: 'state.rise.value' },
  allowMissing: false,
  scorePredictions: true,
  isActive: true,
  output: {
    measurement: { type: 'ovenRisk', fragment: 'risk', outputs: { risk: 'r', state: 'state' } },
    event: { type: 'e', text: 't', forEach: true },
    alarm: { type: 'hot', severity: 'MINOR', text: 'Hot', output: 'risk', above: 0.9, clearBelow: 0.5 },
  },
};

t.test('a binding comes back from its form as it was', async (t) => {
  const { id: _, ...rest } = BINDING;
  t.same(bindingBody(bindingForm(BINDING), BINDING), rest);
  const form = { ...bindingForm(BINDING), target: '', hasEvent: false, equals: 'overheats', outputs: '' };
  t.same(bindingBody(form, BINDING), {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => name !== 'groupOrDeviceId')),
    output: {
      measurement: { type: 'ovenRisk', fragment: 'risk' },
      alarm: { type: 'hot', severity: 'MINOR', text: 'Hot', output: 'risk', equals: 'overheats' },
    },
  });
  t.match(bindingBody({ ...bindingForm(), name: 'n', model: 'm', type: 'p', mappings: { x: 'a.b.value' } }), {
    bindingName: 'n',
    modelType: 'PMML',
    output: { measurement: { type: 'p' } },
  });
});

t.test('its series in the chart of a device, and the record of a prediction', async (t) => {
  t.same(
    seriesOfBinding(BINDING, ['oven.temperature', 'other.x', 'panel.rise', 'risk.r', 'risk.state']),
    ['oven.temperature', 'panel.rise', 'risk.r', 'risk.state'],
    'a mapping may name the type of the measurement',
  );
  const measurements = [
    { type: 'oven', oven: { temperature: { value: 260 } } },
    { type: 'state', panel: { rise: { value: 1 } } },
    { type: 'ovenRisk', risk: { r: { value: 0.9 } } },
  ];
  t.same(recordOfTime(BINDING, measurements), { temperature: 260, rise: 1 });
});
