/**
 * JSON over MQTT, and the processing modes t/, q/ and c/, with npm `mqtt`; a live subscriber shows what is notified.
 */
import t from 'tap';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';

async function createDevice(t: Teardown, serial: string): Promise<{ device: Device; id: string }> {
  const device = await connectDevice(t, server, serial);
  await device.subscribe('s/e', 'error');
  await device.publish('s/us', `100,Device ${serial},my_Type`);
  return { device, id: (await rest.idOf(serial)) as string };
}

const measurementsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/measurement/measurements?source=${id}&pageSize=100`)).measurements;
const alarmsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/alarm/alarms?source=${id}&pageSize=100`)).alarms;
const eventsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/event/events?source=${id}&pageSize=100`)).events;

t.test('create: measurements, events, alarms and managed objects', async (t) => {
  const { device, id } = await createDevice(t, 'json-1');
  await device.publish(
    'measurement/measurements/create',
    JSON.stringify({ type: 'my_M', time: TIME, f: { s: { value: 1.5, unit: 'C' } } }),
  );
  await device.publish(
    '/event/events/create',
    JSON.stringify({ type: 'my_E', text: 'text', time: TIME, my_Fragment: { a: 1 } }),
  );
  await device.publish(
    'alarm/alarms/create',
    JSON.stringify({ type: 'my_A', text: 'text', severity: 'MINOR', time: TIME }),
  );
  await device.publish('inventory/managedObjects/create', JSON.stringify({ name: 'By JSON', type: 'json_Object' }));
  t.match(await measurementsOf(id), [
    { type: 'my_M', time: TIME, source: { id }, f: { s: { value: 1.5, unit: 'C' } } },
  ]);
  t.match(await eventsOf(id), [{ type: 'my_E', text: 'text', time: TIME, source: { id }, my_Fragment: { a: 1 } }]);
  t.match(await alarmsOf(id), [{ type: 'my_A', severity: 'MINOR', status: 'ACTIVE', source: { id } }]);
  t.match((await rest.read('/inventory/managedObjects?type=json_Object')).managedObjects, [
    { name: 'By JSON', owner: 'admin' },
  ]);
  t.same(device.received, []);
});

t.test('update and delete', async (t) => {
  const { device, id } = await createDevice(t, 'json-2');
  await device.publish('s/us', '301,my_A,text\n400,my_E,text\n211,5');
  const [alarm] = await alarmsOf(id);
  await device.publish(`alarm/alarms/update/${alarm.id}`, '{"status":"ACKNOWLEDGED"}');
  t.match(await alarmsOf(id), [{ id: alarm.id, status: 'ACKNOWLEDGED' }]);
  const [event] = await eventsOf(id);
  await device.publish(`event/events/update/${event.id}`, '{"text":"changed"}');
  t.match(await eventsOf(id), [{ id: event.id, text: 'changed' }]);
  await device.publish(`event/events/update/${event.id}`, '{"type":"other","text":"refused"}');
  t.match(JSON.parse(await device.row('error', /no change/)), { error: 'event/Invalid Data' });
  t.match(await eventsOf(id), [{ id: event.id, type: event.type, text: 'changed' }]);
  await device.publish(`event/events/delete/${event.id}`, '');
  t.same(await eventsOf(id), []);
  const [measurement] = await measurementsOf(id);
  await device.publish(`measurement/measurements/delete/${measurement.id}`, '');
  t.same(await measurementsOf(id), []);
  await device.publish('inventory/managedObjects/update/json-2', '{"my_Fragment":{"b":2}}');
  t.same((await rest.deviceOf('json-2')).my_Fragment, { b: 2 });
  await device.publish(`inventory/managedObjects/${id}/childDevices/create`, '{"name":"Child by JSON"}');
  t.match((await rest.read(`/inventory/managedObjects/${id}/childDevices`)).references, [
    { managedObject: { name: 'Child by JSON' } },
  ]);
  await device.publish('inventory/managedObjects/999999/childDevices/create', '{"name":"Orphan by JSON"}');
  t.match(JSON.parse(await device.row('error', /999999/)), { error: 'inventory/Not Found' });
  t.same(
    (await rest.read("/inventory/managedObjects?query=name%20eq%20'Orphan%20by%20JSON'")).managedObjects,
    [],
    'no child without its parent',
  );
});

t.test('createBulk takes the good elements and reports the first bad one', async (t) => {
  const { device, id } = await createDevice(t, 'bulk-1');
  const bulk = (name: string, ...elements: object[]): string => JSON.stringify({ [name]: elements });
  await device.publish(
    'measurement/measurements/createBulk',
    bulk(
      'measurements',
      { type: 'm', time: TIME, f: { s: { value: 1 } } },
      { type: 'm', time: '2024-05-02T10:00:01.000Z', f: { s: { value: 2 } } },
    ),
  );
  t.same(
    (await measurementsOf(id)).map((measurement) => measurement.f.s.value),
    [1, 2],
  );
  await device.publish(
    'event/events/createBulk',
    bulk(
      'events',
      { type: 'e1', text: 'x', time: TIME },
      { type: 'e2', time: TIME },
      { type: 'e4', text: 'x' },
      { type: 'e3', text: 'x', time: TIME },
    ),
  );
  t.same((await eventsOf(id)).map((event) => event.type).sort(), ['e1', 'e3']);
  t.match(JSON.parse(await device.row('error', /mandatory/)), {
    error: 'undefined/validationError',
    message: 'Following mandatory fields should be included: text',
  });
  await device.publish('alarm/alarms/create', '{}');
  await device.row('error', /severity/);
  t.equal(device.rows('error').length, 2, 'of e4 nothing is told');
  await device.publish(
    'alarm/alarms/createBulk',
    bulk(
      'alarms',
      { type: 'a1', text: 'x', severity: 'MAJOR', time: TIME },
      { type: 'a2', text: 'x', severity: 'MINOR', time: TIME },
    ),
  );
  t.same((await alarmsOf(id)).map((alarm) => alarm.type).sort(), ['a1', 'a2']);
});

t.test('errors on the topic error, with the packet id', async (t) => {
  const { device, id } = await createDevice(t, 'errors-1');
  const check = async (topic: string, payload: string, want: object): Promise<void> => {
    const before = device.rows('error').length;
    const packet = await new Promise<any>((resolve, reject) => {
      device.client.publish(topic, payload, { qos: 1 }, (error, sent) => (error ? reject(error) : resolve(sent)));
    });
    const row = await eventually('an error', () => device.rows('error')[before]);
    t.match(JSON.parse(row), { ...want, messageId: packet.messageId }, topic);
  };
  await check('alarm/alarms/create', '{"type":"x"}', {
    error: 'undefined/validationError',
    message: 'Following mandatory fields should be included: severity,text,time',
  });
  await check('event/events/create', '{"type":', { error: /./ });
  await check(
    'measurement/measurements/create',
    JSON.stringify({ type: 'm', time: TIME, 'a b': { s: { value: 1 } } }),
    { error: /./ },
  );
  await check(
    'event/events/create',
    JSON.stringify({ type: 'e', text: 't', time: TIME, source: { id: '999999999' } }),
    { error: /./ },
  );
  await check(
    'measurement/measurements/create',
    JSON.stringify({ type: 'm', time: TIME, f: { s: { value: 1 } }, source: { id: '999999999' } }),
    { error: 'measurement/Invalid Data', message: 'The source 999999999 does not exist' },
  );
  t.same(await measurementsOf('999999999'), []);
  await check(
    'event/events/create',
    JSON.stringify({ type: 'e', text: 't', time: TIME, externalSource: { externalId: 'nobody', type: 'c8y_Serial' } }),
    { error: 'identity/Not Found' },
  );
  await check('event/events/update/999999999', '{"text":"x"}', { error: 'event/Not Found' });
  await check('inventory/managedObjects/update/nobody', '{"a":1}', { error: 'inventory/Not Found' });
  t.same(await eventsOf(id), []);
});

t.test('externalSource names a child, also one that was made a moment ago', async (t) => {
  const { device, id } = await createDevice(t, 'external-1');
  const externalSource = { externalId: 'external-1-child', type: 'c8y_Serial' };
  // Without waiting for the acknowledgement of the first.
  await Promise.all([
    device.publish('s/us', '101,external-1-child'),
    device.publish('event/events/create', JSON.stringify({ type: 'e', text: 't', time: TIME, externalSource })),
  ]);
  const child = (await rest.idOf('external-1-child')) as string;
  t.same(device.rows('error'), []);
  const [event] = await eventsOf(child);
  t.match(event, { type: 'e', source: { id: child } });
  t.equal(event.externalSource, undefined);
  t.same(await eventsOf(id), []);
});

t.test('a message on a topic that means nothing is no success', async (t) => {
  const { device, id } = await createDevice(t, 'topics-1');
  for (const [topic, qos] of [
    ['hello/world', 1],
    ['x/us', 0],
    ['s/us/a/b', 2],
  ] as const) {
    await device.publish(topic, '211,1', qos);
    await device.row('s/e', new RegExp(`^41,,Nothing is published on the topic ${topic}$`));
  }
  await device.publish('devicecontrol/operations/update/1', '{}');
  await device.row('error', /"error":"mqtt\/Unknown Topic"/);
  await device.publish('s/us', '211,2');
  t.equal((await measurementsOf(id)).length, 1);
  const told = await connectDevice(t, server, 'topics-5', { protocolVersion: 5 });
  const reasons: unknown[] = [];
  told.client.on('packetreceive', (packet) => {
    if (packet.cmd === 'puback' || packet.cmd === 'pubrec') reasons.push(packet.properties?.reasonString);
  });
  for (const qos of [1, 2] as const) await t.rejects(told.publish('hello/world', 'x', qos), { code: 0x90 });
  t.same(reasons, ['Nothing is published on the topic hello/world', 'Nothing is published on the topic hello/world']);
  // The packet identifiers are free again.
  for (let count = 0; count < 3; count += 1) await told.publish('s/us', '400,type,text', 2);
});

t.test('processing modes: what is stored and what is notified', async (t) => {
  const { device, id } = await createDevice(t, 'modes-1');
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe(`/measurements/${id}`, `/events/${id}`, `/alarms/${id}`);
  const publish = async (mode: string): Promise<void> => {
    await device.publish(`${mode}/us`, `200,f,${mode},1`);
    await device.publish(`${mode}/us`, `400,${mode}_event,text`);
  };
  for (const mode of ['t', 'q', 'c', 's']) await publish(mode);
  await device.publish('t/us', '301,t_alarm,text');
  await device.publish('t/us', '201,several,,f,t_201,1');
  await device.publish(
    't/measurement/measurements/create',
    JSON.stringify({ type: 'tj', time: TIME, f: { tj: { value: 1 } } }),
  );
  await device.publish(
    'q/measurement/measurements/create',
    JSON.stringify({ type: 'qj', time: TIME, f: { qj: { value: 1 } } }),
  );
  await device.publish('t/event/events/create', JSON.stringify({ type: 'tj_event', text: 'text', time: TIME }));
  await device.publish('s/us', '400,last,text');
  await live.message((message) => message.data.data.type === 'last');
  const seriesOf = (measurement: any): string => Object.keys(measurement.f)[0] ?? '';
  const seen = (area: string): any[] =>
    live.messages.filter(({ channel }) => channel === `/${area}/${id}`).map(({ data }) => data.data);
  t.same(seen('measurements').map(seriesOf), ['t', 's', 't_201', 'tj']);
  t.same(
    seen('events').map((event) => event.type),
    ['t_event', 's_event', 'tj_event', 'last'],
  );
  t.same(
    seen('alarms').map((alarm) => alarm.type),
    ['t_alarm'],
  );
  t.same((await measurementsOf(id)).map(seriesOf).sort(), ['q', 'qj', 's']);
  t.same((await eventsOf(id)).map((event) => event.type).sort(), ['last', 'q_event', 's_event']);
  t.same(await alarmsOf(id), []);
});

t.test('where a mode does not apply the message is stored and told as without one', async (t) => {
  const { device, id } = await createDevice(t, 'modes-2');
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe(`/managedobjects/${id}`, `/alarms/${id}`);
  for (const mode of ['c', 'q']) {
    await device.publish(`${mode}/us`, `110,SN-${mode},Model,1`);
    t.equal((await rest.deviceOf('modes-2')).c8y_Hardware.serialNumber, `SN-${mode}`);
    await device.publish(`${mode}/us`, `114,c8y_${mode}`);
    t.same((await rest.deviceOf('modes-2')).c8y_SupportedOperations, [`c8y_${mode}`]);
    await device.publish(`${mode}/us`, `301,${mode}_alarm,text`);
    await device.publish(`${mode}/inventory/managedObjects/update/modes-2`, `{"json_${mode}":{}}`);
    t.same((await rest.deviceOf('modes-2'))[`json_${mode}`], {});
  }
  await device.publish('c/us', '117,10');
  t.same((await rest.deviceOf('modes-2')).c8y_RequiredAvailability, { responseInterval: 10 });
  t.same((await alarmsOf(id)).map((alarm) => alarm.type).sort(), ['c_alarm', 'q_alarm']);
  for (const mode of ['CEP', 'QUIESCENT', 'TRANSIENT']) {
    const headers = { 'x-cumulocity-processing-mode': mode };
    const reply = await rest.request('PUT', `/inventory/managedObjects/${id}`, { body: { http: mode }, headers });
    t.match(reply, { status: 200, json: { id: mode === 'TRANSIENT' ? null : id, http: mode } });
  }
  t.equal((await rest.deviceOf('modes-2')).http, 'QUIESCENT', 'TRANSIENT is not stored');
  await live.message((message) => message.data.data.http === 'TRANSIENT');
  const seen = (area: string): any[] =>
    live.messages.filter(({ channel }) => channel === `/${area}/${id}`).map(({ data }) => data.data);
  t.same(
    seen('alarms').map((alarm) => alarm.type),
    ['c_alarm', 'q_alarm'],
    'alarms have neither mode',
  );
  const objects = seen('managedobjects');
  t.ok(
    objects.some((object) => object.json_c !== undefined),
    'managed objects have no CEP',
  );
  t.notOk(
    objects.some((object) => object.http === 'QUIESCENT'),
    'they have QUIESCENT',
  );
});
