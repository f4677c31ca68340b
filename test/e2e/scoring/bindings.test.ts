/** Measurements are scored as they come in; in a cluster by one node each (docs/spec/scoring.md#bindings). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { ROOT } from '../../helpers/root.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';
import { ELEMENT, identity } from '../../scoring-workers/onnx/onnx-files.ts';

const server = await startServer(t);
const { rest } = server;
const SCORING = '/service/scoring';
const BINDINGS = `${SCORING}/bindings`;

const upload = () =>
  rest.request('POST', `${SCORING}/model?file=oven.pmml`, {
    body: readFileSync(join(ROOT, 'examples/scoring/oven.pmml'), 'utf8'),
    headers: { 'content-type': 'application/octet-stream' },
  });

const mapped = { temperature: 'oven.temperature.value', rise: 'oven.rise.value' };
const isActive = (id: string) =>
  eventually('all nodes score', async () => {
    const states = [];
    for (let node = 0; node < 3; node += 1) states.push((await rest.read(`${BINDINGS}/${id}/metrics`)).state);
    return states.every((state) => state === 'ACTIVE');
  });
const measurementsOf = async (source: string, type: string): Promise<any[]> =>
  (await rest.read(`/measurement/measurements?source=${source}&type=${type}&pageSize=2000`)).measurements;

async function newDevice(name: string) {
  const device = await connectDevice(t, server, name);
  await device.publish('s/us', `100,${name},oven`);
  const source = await eventually('the device', async () => {
    const { status, json } = await rest.get(`/identity/externalIds/c8y_Serial/${name}`);
    return status === 200 ? (json.managedObject.id as string) : undefined;
  });
  return { device, source };
}

t.test('each measurement of a device becomes one prediction, here and live', async (t) => {
  t.equal((await upload()).status, 201);
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe('/measurements/*');
  const { device, source } = await newDevice('oven-a');
  const created = await rest.post(BINDINGS, {
    bindingName: 'Ovens that overheat',
    modelName: 'oven',
    measurementType: 'oven',
    modelToDeviceMappings: mapped,
    output: {
      measurement: { type: 'ovenRisk' },
      event: { type: 'ovenState', text: 'The oven is {value}', output: 'state' },
      alarm: { type: 'ovenOverheats', severity: 'MAJOR', output: 'risk', above: 0.9, clearBelow: 0.2 },
    },
  });
  t.match(created, { status: 201, json: { isActive: true, modelType: 'PMML', allowMissing: false } });
  const { id } = created.json;
  await isActive(id);
  const sent = [
    [200, 0],
    [260, 2],
    [262, 2],
  ];
  for (const [temperature, rise] of sent)
    await device.publish('s/us', `201,oven,,oven,temperature,${temperature},C,oven,rise,${rise},`);
  const predictions = await eventually('predictions', async () => {
    const found = await measurementsOf(source, 'ovenRisk');
    return found.length === sent.length ? found : undefined;
  });
  const measured = await measurementsOf(source, 'oven');
  t.same(predictions.map(({ time }) => time).sort(), measured.map(({ time }) => time).sort(), 'at their times');
  const version = predictions[0].c8y_Scoring.version;
  t.match(version, /\S/);
  for (const { ovenRisk, c8y_Scoring, source: of } of predictions) {
    t.same(c8y_Scoring, { depth: 1, model: 'oven', version, bindingId: id });
    t.equal(of.id, source);
    t.equal(ovenRisk.state, ovenRisk.risk.value > 0.5 ? 'overheats' : 'normal');
  }
  const { data } = await live.message((message) => message['data']?.data?.type === 'ovenRisk');
  t.match(data, { realtimeAction: 'CREATE', data: { source: { id: source }, c8y_Scoring: { bindingId: id } } });
  const alarms = `/alarm/alarms?source=${source}&type=ovenOverheats`;
  await eventually('an alarm', async () => (await rest.read(alarms)).alarms.length === 1);
  t.match((await rest.read(alarms)).alarms[0], {
    status: 'ACTIVE',
    severity: 'MAJOR',
    count: 1,
    c8y_Scoring: { model: 'oven', version },
  });
  await device.publish('s/us', '201,oven,,oven,temperature,200,C,oven,rise,0,');
  await eventually('cleared', async () => (await rest.read(alarms)).alarms[0].status === 'CLEARED');
  const events = await eventually('events', async () => {
    const found = (await rest.read(`/event/events?source=${source}&type=ovenState`)).events;
    return found.length === 3 ? found : undefined;
  });
  t.same(events.map(({ text }: any) => text).sort(), [
    'The oven is normal',
    'The oven is normal',
    'The oven is overheats',
  ]);
  t.equal((await measurementsOf(source, 'ovenRisk')).length, 4, 'predictions are not scored themselves');
});

t.test('a binding for a group follows it, its model and its own changes', async (t) => {
  const { device, source } = await newDevice('oven-b');
  const group = (await rest.post('/inventory/managedObjects', { name: 'ovens', c8y_IsDeviceGroup: {} })).json.id;
  const binding = {
    bindingName: 'Ovens of a group',
    modelName: 'oven',
    groupOrDeviceId: Number(group),
    modelToDeviceMappings: { temperature: 'oven.temperature.value' },
    output: { measurement: { type: 'groupRisk', fragment: 'groupRisk', outputs: { risk: 'value' } } },
  };
  const { id } = (await rest.post(BINDINGS, binding)).json;
  await isActive(id);
  const measure = () => device.publish('s/us', '200,oven,temperature,250,C');
  const scored = async () => (await measurementsOf(source, 'groupRisk')).length;
  await measure();
  await rest.post(`/inventory/managedObjects/${group}/childAssets`, { managedObject: { id: source } });
  await eventually('a device that joins is scored', async () => {
    await measure();
    return (await scored()) > 0;
  });
  t.match((await measurementsOf(source, 'groupRisk'))[0].groupRisk, { value: { value: 0.5 } });
  t.match(await rest.delete(`${SCORING}/model/oven`), { status: 200 });
  const state = () => rest.read(`${BINDINGS}/${id}/metrics`);
  await eventually('it waits for its model', async () => (await state()).state === 'WAITING');
  t.match(await state(), { reason: "Model 'oven' not found." });
  t.equal((await upload()).status, 201);
  await isActive(id);
  const before = await scored();
  await eventually('it goes on with the new one', async () => {
    await measure();
    return (await scored()) > before;
  });
  t.match((await rest.put(`${BINDINGS}/${id}`, { ...binding, isActive: false })).json, { id, isActive: false });
  t.match(await state(), { state: 'INACTIVE' });
  t.match(await rest.delete(BINDINGS), { status: 200, json: { bindings: [] } });
  t.equal((await rest.get(`${BINDINGS}/${id}`)).status, 404);
});

t.test('an ONNX model scores measurements as they come in', async (t) => {
  const model = await rest.request('POST', `${SCORING}/onnx/models?file=echo.onnx`, {
    body: identity(ELEMENT.float),
    headers: { 'content-type': 'application/octet-stream' },
  });
  t.match(model, { status: 201, json: { modelName: 'test' } });
  const { device, source } = await newDevice('oven-c');
  const created = await rest.post(BINDINGS, {
    bindingName: 'Echo',
    modelName: 'test',
    modelType: 'ONNX',
    groupOrDeviceId: Number(source),
    modelToDeviceMappings: { 'x[0]': 'oven.temperature.value', 'x[1]': 'oven.rise.value' },
    output: { measurement: { type: 'echo', outputs: { 'y[0]': 'a', 'y[1]': 'b' } } },
  });
  t.match(created, { status: 201, json: { modelType: 'ONNX' } });
  await isActive(created.json.id);
  await device.publish('s/us', '201,oven,,oven,temperature,250.5,C,oven,rise,2,');
  await device.publish('s/us', '200,oven,temperature,1,C');
  const [found] = await eventually('a prediction', async () => {
    const made = await measurementsOf(source, 'echo');
    return made.length > 0 ? made : undefined;
  });
  t.match(found, { echo: { a: { value: 250.5 }, b: { value: 2 } }, c8y_Scoring: { model: 'test', depth: 1 } });
  const marked = await rest.read(`/measurement/measurements?source=${source}&fragmentType=c8y_Scoring`);
  t.same(marked.measurements, [found], 'found by its mark');
  t.match(await rest.delete(`${SCORING}/onnx/models/test`), { status: 200 });
});
