/** Every static template that issue 2 names, sent by npm `mqtt`; its effect is looked up over REST. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';

/** A device that exists and listens for answers and errors. */
async function createDevice(t: Teardown, serial: string): Promise<{ device: Device; id: string }> {
  const device = await connectDevice(t, server, serial);
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us', `100,Device ${serial},my_Type`);
  return { device, id: (await rest.idOf(serial)) as string };
}

const measurementsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/measurement/measurements?source=${id}&pageSize=100`)).measurements;
const alarmsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/alarm/alarms?source=${id}&pageSize=100`)).alarms;
const eventsOf = async (id: string): Promise<any[]> =>
  (await rest.read(`/event/events?source=${id}&pageSize=100`)).events;
const objectOf = (id: string): Promise<any> => rest.read(`/inventory/managedObjects/${id}`);

t.test('100 creates the device once', async (t) => {
  const { device, id } = await createDevice(t, 'creation-1');
  t.match(await objectOf(id), { id, name: 'Device creation-1', type: 'my_Type', c8y_IsDevice: {}, owner: 'admin' });
  const { com_platform_model_Agent: agent, com_cumulocity_model_Agent: branded } = await objectOf(id);
  t.same([agent, branded], [{}, {}], 'clients of either spelling find an agent');
  t.match((await rest.read(`/identity/globalIds/${id}/externalIds`)).externalIds, [
    { type: 'c8y_Serial', externalId: 'creation-1' },
  ]);
  await device.publish('s/us', '100,Other name,other_Type');
  await device.row('s/e', '41,100,Device already existing');
  t.match(await objectOf(id), { name: 'Device creation-1', type: 'my_Type' });
});

t.test('100 without parameters takes the defaults', async (t) => {
  const device = await connectDevice(t, server, 'creation-2');
  await device.publish('s/us', '100');
  t.match(await rest.deviceOf('creation-2'), { name: 'MQTT Device creation-2', type: 'c8y_MQTTDevice' });
});

t.test('an unknown device is created by its first data', async (t) => {
  const device = await connectDevice(t, server, 'creation-3');
  await device.publish('s/us', '211,20');
  const created = await rest.deviceOf('creation-3');
  t.match(created, { name: 'MQTT Device creation-3', type: 'c8y_MQTTDevice', c8y_IsDevice: {} });
  t.match(await measurementsOf(created.id), [{ c8y_TemperatureMeasurement: { T: { value: 20, unit: 'C' } } }]);
});

t.test('101 creates child devices, 105 and 106 list them', async (t) => {
  const { device, id } = await createDevice(t, 'gateway-1');
  await device.publish(
    's/us',
    '101,gw1-child-1,Child 1,child_Type\n101,gw1-child-2\n101,gw1-thing-3,Thing,thing_Type,false',
  );
  const one = await rest.deviceOf('gw1-child-1');
  t.match(one, { name: 'Child 1', type: 'child_Type', c8y_IsDevice: {} });
  t.match(await rest.deviceOf('gw1-child-2'), {
    name: 'MQTT Device gw1-child-2',
    type: 'c8y_MQTTChildDevice',
    c8y_IsDevice: {},
  });
  const three = await rest.deviceOf('gw1-thing-3');
  t.equal(three.c8y_IsDevice, undefined);
  const { references } = await rest.read(`/inventory/managedObjects/${id}/childDevices?pageSize=10`);
  t.same(references.map((reference: any) => reference.managedObject.name).sort(), [
    'Child 1',
    'MQTT Device gw1-child-2',
    'Thing',
  ]);
  await device.publish('s/us', '102,gw1-service,systemd,Service,up');
  await device.publish('s/us', '105');
  const row = await device.row('s/ds', /^106,/);
  t.same(row.split(',').slice(1).sort(), ['gw1-child-1', 'gw1-child-2', 'gw1-thing-3']);
  await device.publish('s/us', '101,gw1-child-1,Renamed');
  await device.row('s/e', '41,101,Device already existing');
  t.equal((await rest.deviceOf('gw1-child-1')).name, 'Child 1');
});

t.test('s/us/<child> creates a child of the first level and acts on it', async (t) => {
  const { device, id } = await createDevice(t, 'gateway-2');
  await device.publish('s/us/gw2-child', '211,7');
  const child = await rest.deviceOf('gw2-child');
  t.match(child, { name: 'MQTT Device gw2-child', type: 'c8y_MQTTChildDevice', c8y_IsDevice: {} });
  t.match(await measurementsOf(child.id), [
    { source: { id: child.id }, c8y_TemperatureMeasurement: { T: { value: 7 } } },
  ]);
  t.same(await measurementsOf(id), []);
  await device.publish('s/us/gw2-child', '101,gw2-deep,Deep,deep_Type');
  const deep = await rest.deviceOf('gw2-deep');
  t.match((await rest.read(`/inventory/managedObjects/${deep.id}/deviceParents`)).references, [
    { managedObject: { id: child.id } },
  ]);
  await device.publish('s/us/gw2-deep', '110,SN-1,Model,1.0');
  t.match((await rest.deviceOf('gw2-deep')).c8y_Hardware, { serialNumber: 'SN-1', model: 'Model', revision: '1.0' });
  await device.publish('s/us/gw2-child', '123');
  await device.row('s/ds', `124,${child.id}`);
});

t.test('100 as the first message of a child gives it its name and type', async (t) => {
  const { device, id } = await createDevice(t, 'gateway-3');
  await device.publish('s/us/gw3-child', '100,My Child,my_Child\n211,7');
  const child = await rest.deviceOf('gw3-child');
  t.match(child, { name: 'My Child', type: 'my_Child', c8y_IsDevice: {} });
  t.equal(child.com_platform_model_Agent, undefined, 'no agent: its operations go to the connected device');
  t.match((await rest.read(`/inventory/managedObjects/${child.id}/deviceParents`)).references, [
    { managedObject: { id } },
  ]);
  t.equal((await measurementsOf(child.id)).length, 1);
  t.same(device.rows('s/e'), []);
  await device.publish('s/us/gw3-child', '100,Renamed,other_Type');
  await device.row('s/e', '41,100,Device already existing');
  t.match(await rest.deviceOf('gw3-child'), { name: 'My Child', type: 'my_Child' });
  await device.publish('s/us/gw3-bare', '100');
  t.match(await rest.deviceOf('gw3-bare'), { name: 'MQTT Device gw3-bare', type: 'c8y_MQTTChildDevice' });
});

t.test('replies come in the order of the rows', async (t) => {
  const { device, id } = await createDevice(t, 'replies-1');
  await device.publish('s/us', '101,replies-1-child\n105\n123\n105');
  await device.publish('s/us', '123');
  await eventually('the replies', () => device.rows('s/ds').length === 4);
  t.same(device.rows('s/ds'), ['106,replies-1-child', `124,${id}`, '106,replies-1-child', `124,${id}`]);
});

t.test('102 makes a service as a child addition, again changes it', async (t) => {
  const { device, id } = await createDevice(t, 'services-1');
  await device.publish('s/us', '102,sv1-db,systemd,database,up');
  const service = await rest.deviceOf('sv1-db');
  t.match(service, { type: 'c8y_Service', name: 'database', serviceType: 'systemd', status: 'up' });
  t.match((await rest.read(`/inventory/managedObjects/${id}/childAdditions`)).references, [
    { managedObject: { id: service.id } },
  ]);
  await device.publish('s/us', '102,sv1-db,systemd,database,down');
  t.match(await objectOf(service.id), { name: 'database', status: 'down' });
  await device.publish('s/us/sv1-db', '104,up');
  t.match(await objectOf(service.id), { status: 'up' });
});

t.test('110, 112, 114, 117 and 119 change the managed object', async (t) => {
  const { device, id } = await createDevice(t, 'inventory-1');
  await device.publish(
    's/us',
    '110,1234567890,Model X,1.2.3\n112,50.323423,6.423423,66.5,10\n114,c8y_Restart,c8y_Command\n117,60\n119,modem,"with, comma"',
  );
  const { c8y_Hardware, c8y_Position, c8y_SupportedOperations, c8y_RequiredAvailability, c8y_SupportedConfigurations } =
    await objectOf(id);
  t.same(c8y_Hardware, { serialNumber: '1234567890', model: 'Model X', revision: '1.2.3' });
  t.same(c8y_Position, { lat: 50.323423, lng: 6.423423, alt: 66.5, accuracy: 10 });
  t.same(c8y_SupportedOperations, ['c8y_Restart', 'c8y_Command']);
  t.same(c8y_RequiredAvailability, { responseInterval: 60 });
  t.same(c8y_SupportedConfigurations, ['modem', 'with, comma']);
  await device.publish('s/us', '117,5');
  await device.publish('s/us', '114,c8y_Network');
  await device.publish('s/us', '119');
  const changed = await objectOf(id);
  t.same(changed.c8y_RequiredAvailability, { responseInterval: 60 }, '117 only when not set');
  t.same(changed.c8y_SupportedOperations, ['c8y_Network'], '114 replaces');
  t.same(changed.c8y_SupportedConfigurations, []);
  await device.publish('s/us', '112,1,2');
  t.same((await objectOf(id)).c8y_Position, { lat: 1, lng: 2 });
});

t.test('200, 201, 210, 211 and 212 are measurements', async (t) => {
  const { device, id } = await createDevice(t, 'measurements-1');
  await device.publish('s/us', `200,c8y_Env,T,25.5,C,${TIME}`);
  await device.publish('s/us', '201,my_Type,2024-05-02T10:00:01.000Z,f_1,s_1,1,u,f_1,s_2,2,,f_2,s_1,-3.5,mm');
  await device.publish('s/us', '210,-90,23,2024-05-02T10:00:02.000Z');
  await device.publish('s/us', '211,25,2024-05-02T10:00:03.000Z');
  await device.publish('s/us', '212,95,2024-05-02T10:00:04.000Z');
  await device.publish('s/us', '210,,7,2024-05-02T12:00:05.000+02:00');
  const source = { id };
  t.match(await measurementsOf(id), [
    { source, type: 'c8y_Env', time: TIME, c8y_Env: { T: { value: 25.5, unit: 'C' } } },
    {
      source,
      type: 'my_Type',
      f_1: { s_1: { value: 1, unit: 'u' }, s_2: { value: 2 } },
      f_2: { s_1: { value: -3.5, unit: 'mm' } },
    },
    {
      source,
      type: 'c8y_SignalStrength',
      c8y_SignalStrength: { rssi: { value: -90, unit: 'dBm' }, ber: { value: 23, unit: '%' } },
    },
    { source, type: 'c8y_TemperatureMeasurement', c8y_TemperatureMeasurement: { T: { value: 25, unit: 'C' } } },
    { source, type: 'c8y_Battery', c8y_Battery: { level: { value: 95, unit: '%' } } },
    { source, c8y_SignalStrength: { ber: { value: 7 } } },
  ]);
  t.same(device.rows('s/e'), []);
});

t.test('a measurement without time has that of the server', async (t) => {
  const { device, id } = await createDevice(t, 'measurements-2');
  const beforeMs = Date.now();
  await device.publish('s/us', '211,25\n212,50');
  await device.publish('s/us', '211,26');
  for (const { time } of await measurementsOf(id)) t.ok(Date.parse(time) >= beforeMs && Date.parse(time) <= Date.now());
  t.equal((await measurementsOf(id)).length, 3);
});

t.test('301 to 306: alarms, repeats, severity and clearing', async (t) => {
  const { device, id } = await createDevice(t, 'alarms-1');
  await device.publish(
    's/us',
    `301,type_1,Critical text,${TIME}\n302,type_2,Major text\n303,type_3\n304,type_4,"Warning, quoted"`,
  );
  const byType = async (): Promise<Record<string, any>> =>
    Object.fromEntries((await alarmsOf(id)).map((alarm) => [alarm.type, alarm]));
  const raised = await byType();
  t.match(raised, {
    type_1: { severity: 'CRITICAL', text: 'Critical text', time: TIME, status: 'ACTIVE', count: 1, source: { id } },
    type_2: { severity: 'MAJOR', text: 'Major text' },
    type_3: { severity: 'MINOR', text: 'Alarm of type type_3 raised' },
    type_4: { severity: 'WARNING', text: 'Warning, quoted' },
  });
  await device.publish('s/us', '301,type_1,Again');
  t.match((await byType())['type_1'], {
    id: raised['type_1'].id,
    count: 2,
    severity: 'CRITICAL',
    text: 'Critical text',
  });
  await device.publish('s/us', '305,type_1,MINOR');
  t.match((await byType())['type_1'], { id: raised['type_1'].id, severity: 'MINOR', status: 'ACTIVE' });
  await device.publish('s/us', '306,type_1');
  t.match((await byType())['type_1'], { id: raised['type_1'].id, status: 'CLEARED' });
  await device.publish('s/us', '301,type_1,New');
  const both = (await alarmsOf(id)).filter((alarm) => alarm.type === 'type_1');
  t.same(both.map((alarm) => [alarm.status, alarm.count]).sort(), [
    ['ACTIVE', 1],
    ['CLEARED', 2],
  ]);
  t.same(device.rows('s/e'), []);
});

t.test('400, 401 and 402: events, and the position of the device', async (t) => {
  const { device, id } = await createDevice(t, 'events-1');
  await device.publish('s/us', `400,my_Event,"A ""quoted"" text",${TIME}`);
  t.match(await eventsOf(id), [{ type: 'my_Event', text: 'A "quoted" text', time: TIME, source: { id } }]);
  await device.publish('s/us', '401,51.1,6.1,67,2,2024-05-02T10:00:01.000Z');
  t.equal((await objectOf(id)).c8y_Position, undefined);
  await device.publish('s/us', '402,52.2,7.2,68,3,2024-05-02T10:00:02.000Z');
  t.same((await objectOf(id)).c8y_Position, { lat: 52.2, lng: 7.2, alt: 68, accuracy: 3 });
  const [second, first] = await eventsOf(id);
  t.match(first, { type: 'c8y_LocationUpdate', c8y_Position: { lat: 51.1, lng: 6.1, alt: 67, accuracy: 2 } });
  t.match(second, { type: 'c8y_LocationUpdate', c8y_Position: { lat: 52.2, lng: 7.2, alt: 68, accuracy: 3 } });
});

t.test('several rows in one message: the good ones are taken, the others reported', async (t) => {
  const { device, id } = await createDevice(t, 'rows-1');
  await device.publish('s/us', '211,1\r\n\r\n999,x\r\n200,only_fragment\r\n211,warm\r\n400,my_Event,"open\r\n');
  await device.row('s/e', /^40,999,/);
  await device.row('s/e', /^45,200,/);
  await device.row('s/e', /^45,211,/);
  await device.row('s/e', /^45,400,/);
  t.equal(device.rows('s/e').length, 4);
  t.match(await measurementsOf(id), [{ c8y_TemperatureMeasurement: { T: { value: 1 } } }]);
  t.same(await eventsOf(id), []);
});

t.test('rows of many kinds in one message are done in their order', async (t) => {
  const { device, id } = await createDevice(t, 'order-1');
  await device.publish('s/us', '301,my_Alarm\n306,my_Alarm\n302,my_Alarm\n105\n114,a\n114,b\n123');
  await device.row('s/ds', `124,${id}`);
  t.same((await alarmsOf(id)).map((alarm) => `${alarm.severity} ${alarm.status}`).sort(), [
    'CRITICAL CLEARED',
    'MAJOR ACTIVE',
  ]);
  t.same((await objectOf(id)).c8y_SupportedOperations, ['b']);
});

t.test('a QoS 0 stream keeps its order', async (t) => {
  const { device, id } = await createDevice(t, 'stream-1');
  for (let value = 0; value < 300; value += 1)
    device.client.publish('s/us', `200,f,s,${value},,${new Date(Date.parse(TIME) + value).toISOString()}`);
  const read = async (): Promise<any> =>
    rest.read(`/measurement/measurements?source=${id}&pageSize=2000&withTotalElements=true`);
  const page = await eventually('all of them', async () => {
    const found = await read();
    return found.statistics.totalElements === 300 && found;
  });
  t.same(
    page.measurements.map((measurement: any) => measurement.f.s.value),
    Array.from({ length: 300 }, (_, index) => index),
  );
});

t.test('a serial that is none is reported, and nothing is bound to it', async (t) => {
  const { device, id } = await createDevice(t, 'serials-1');
  const long = 'x'.repeat(257);
  await device.publish('s/us', `101,"a\nb",n,t\n101,${long},n,t\n102,"c\u0007d",systemd,n,up\n101,serials-1-child,n,t`);
  t.same(
    device.received.map((message) => message.slice(0, 11)),
    ['s/e 45,101,', 's/e 45,101,', 's/e 45,102,'],
  );
  for (const serial of ['a\nb', long, 'c\u0007d']) t.equal(await rest.idOf(serial), undefined);
  const { references } = await rest.read(`/inventory/managedObjects/${id}/childDevices`);
  t.same(
    references.map((reference: any) => reference.managedObject.id),
    [await rest.idOf('serials-1-child')],
  );
  t.equal((await rest.read(`/inventory/managedObjects/${id}/childAdditions`)).references.length, 0);
});

t.test('a child that cannot be created: its message is acknowledged and reported, the connection stays', async (t) => {
  const { device, id } = await createDevice(t, 'no-child-1');
  const long = 'x'.repeat(300);
  for (const qos of [1, 2] as const) {
    await device.publish(`s/us/${long}`, '211,1\n212,5', qos);
    await device.publish(`s/us/${long}`, '400,type,text', qos);
    await device.publish('s/us', `211,${qos}`, qos);
  }
  t.same(
    device.rows('s/e').map((row) => row.split(',').slice(0, 2).join(',')),
    ['50,211', '50,400', '50,211', '50,400'],
  );
  t.same(
    (await measurementsOf(id)).map((one) => one.c8y_TemperatureMeasurement.T.value),
    [1, 2],
  );
  t.equal(await rest.idOf(long), undefined);
  t.equal(device.client.connected, true);
});

t.test('a first 100 with a fault is reported, and the device is created with the defaults', async (t) => {
  const device = await connectDevice(t, server, 'creation-4');
  await device.subscribe('s/e');
  await device.publish('s/us', '100,name,type,one too many\n211,4');
  t.match(
    device.rows('s/e').map((row) => row.slice(0, 7)),
    ['45,100,'],
  );
  t.match(await rest.deviceOf('creation-4'), { name: 'MQTT Device creation-4', type: 'c8y_MQTTDevice' });
});
