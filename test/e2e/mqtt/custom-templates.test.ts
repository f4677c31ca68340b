/** Custom templates of SmartREST 2.0 (docs/spec/smartrest.md#template-collections) with npm `mqtt` and Python's paho. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device, DeviceOptions } from '../../helpers/running/mqtt.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';
import { missing } from '../../helpers/tools.ts';

const server = await startServer(t);
const { rest } = server;

async function createDevice(
  t: Teardown,
  serial: string,
  topics: readonly string[] = ['s/dt', 's/e'],
  options: DeviceOptions & { xid?: string } = {},
): Promise<{ device: Device; id: string }> {
  const { xid, ...settings } = options;
  const device = await connectDevice(t, server, xid === undefined ? serial : `d:${serial}:${xid}`, settings);
  await device.publish('s/us', `100,Device ${serial},my_Type`);
  if (topics.length > 0) await device.subscribe(...topics);
  return { device, id: (await rest.idOf(serial)) as string };
}

async function createCollection(device: Device, xid: string, ...rows: readonly string[]): Promise<string> {
  await device.publish(`s/ut/${xid}`, rows.join('\n'));
  const row = await device.row('s/dt', new RegExp(`^20,${xid},\\d+$`));
  return row.slice(row.lastIndexOf(',') + 1);
}

const order = async (deviceId: string, fragments: object): Promise<string> =>
  (await rest.create('/devicecontrol/operations', { deviceId, ...fragments })).id as string;
const FRAGMENT = 'com_platform_model_smartrest_csv_CsvSmartRestTemplate';

t.test('a collection is created in one message, once, and asked for', async (t) => {
  const { device } = await createDevice(t, 'creator');
  await device.publish('s/ut/made', '');
  await device.row('s/dt', '41,made');
  await device.publish('s/ut/made', '10,1,GET,INVENTORY,,true\n99,1');
  await device.row('s/dt', '41,made,Row 2: 99 is not a template; rows begin with 10 or 11');
  const id = await createCollection(device, 'made', '10,1,POST,EVENT,,my_Event,Something,');
  const stored = await rest.read(`/inventory/managedObjects/${id}`);
  t.match(stored, { name: 'made', type: 'c8y_SmartRest2Template', __externalId: 'made', owner: 'admin' });
  t.same(stored[FRAGMENT].requestTemplates[0].mandatoryValues, ['my_Event', 'Something', '']);
  const named = await rest.read('/identity/externalIds/c8y_SmartRest2DeviceIdentifier/made');
  t.equal(named.managedObject.id, id);
  await device.publish('s/ut/made', '');
  await eventually('the answer', async () => device.rows('s/dt').filter((row) => row === `20,made,${id}`).length === 2);
  await device.publish('s/ut/made', '10,2,POST,EVENT,,other,text,');
  await device.row('s/dt', '41,made,Cannot create templates for already existing template object');
  await device.subscribe('error');
  const other = { ...stored[FRAGMENT], requestTemplates: [] };
  await device.publish(`inventory/managedObjects/update/${id}`, JSON.stringify({ [FRAGMENT]: other }));
  await device.row('error', new RegExp(`The templates of the object ${id} are fixed`));
  t.same((await rest.read(`/inventory/managedObjects/${id}`))[FRAGMENT], stored[FRAGMENT]);
  t.same(device.rows('s/e'), []);
});

t.test('rows of each method and API', async (t) => {
  const { device, id } = await createDevice(t, 'rows', ['s/dt', 's/e', 's/dc/rows', 's/ds']);
  await createCollection(
    device,
    'rows',
    '10,m,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,,my_M.T.unit,,C',
    '10,mm,POST,MEASUREMENT,true,,,my_A.x.value,INTEGER,,my_A.y.value,UNSIGNED,,my_Note,,',
    '10,e,POST,EVENT,true,my_E,,,my_Flag,FLAG,,my_At.when,DATE,',
    '10,a,POST,ALARM,,my_Alarm,,ACTIVE,,,my_Code,NUMBER,7',
    '10,pa,PUT,ALARM,,my_Alarm,status,ALARMSTATUS,',
    '10,po,PUT,OPERATION,,my_Op,status,OPERATIONSTATUS,,my_Result,,',
    '10,pi,POST,INVENTORY,true,my_Serial,name,,,my_New,FLAG,',
    '10,px,POST,INVENTORY,,,name,,',
    '10,ui,PUT,INVENTORY,true,false,my_Serial,my_New.size,INTEGER,',
    '10,ub,PUT,INVENTORY,,true,my_B,,',
    '10,gi,GET,INVENTORY,,false',
    '10,gb,GET,INVENTORY,,true',
    '11,r1,,my_New,name,my_New.size,owner',
    '11,r2,,my_Note,my_Note,my_A.x.value,time,id',
    '11,r3,,my_Flag,type,text,source.id',
  );
  const up = (...rows: string[]): Promise<void> => device.publish('s/uc/rows', rows.join('\n'));
  await up('m,2024-05-02T10:00:00.000Z,1.5', 'm,,2');
  await up('m,2024-05-02T11:00:00.000Z,3');
  await up('mm,my_A,2024-05-02T10:00:00.000Z,-1,2,hello');
  const row = await device.row('s/dc/rows', /^r2,hello,-1,2024-05-02T10:00:00.000Z,\d+$/);
  const { measurements } = await rest.read(`/measurement/measurements?source=${id}&pageSize=100`);
  t.same(
    measurements.map((one: any) => [one.type, one.my_M?.T ?? one.my_A]),
    [
      ['my_M', { value: 1.5, unit: 'C' }],
      ['my_A', { x: { value: -1 }, y: { value: 2 } }],
      ['my_M', { value: 3, unit: 'C' }],
      ['my_M', { value: 2, unit: 'C' }],
    ],
  );

  t.equal(row.split(',')[4], measurements[1].id);

  await up('e,"Hello, ""you""",2024-05-02T10:00:00.000Z,');
  await device.row('s/dc/rows', `r3,my_E,"Hello, ""you""",${id}`);
  const { events } = await rest.read(`/event/events?source=${id}`);
  t.match(events, [{ type: 'my_E', text: 'Hello, "you"', my_Flag: {}, my_At: { when: /^\d{4}-.*Z$/ } }]);

  await up('a,Too hot,MAJOR,');
  await up('pa,ACKNOWLEDGED');
  const { alarms } = await rest.read(`/alarm/alarms?source=${id}`);
  t.match(alarms, [{ type: 'my_Alarm', text: 'Too hot', severity: 'MAJOR', status: 'ACKNOWLEDGED', my_Code: 7 }]);
  await up('pa,CLEARED');
  await up('a,Again,MAJOR,');
  await up('pa,ACKNOWLEDGED');
  const second = (await rest.read(`/alarm/alarms?source=${id}&status=ACKNOWLEDGED`)).alarms[0].id;
  await rest.put(`/alarm/alarms/${alarms[0].id}`, { status: 'ACTIVE' });
  const alarmStates = (): Promise<string[]> =>
    Promise.all([alarms[0].id, second].map(async (one) => (await rest.read(`/alarm/alarms/${one}`)).status as string));
  await up('pa,CLEARED');
  t.same(await alarmStates(), ['CLEARED', 'ACKNOWLEDGED'], 'the ACTIVE one first');
  await up('pa,CLEARED');
  t.same(await alarmStates(), ['CLEARED', 'CLEARED'], 'then the ACKNOWLEDGED one');
  await up('pa,CLEARED');
  await device.row('s/e', /^50,pa,"?Row 1: .*my_Alarm/);

  const operations = [await order(id, { my_Op: {} }), await order(id, { my_Op: {} })];
  const states = async (): Promise<string[]> =>
    Promise.all(operations.map(async (one) => (await rest.read(`/devicecontrol/operations/${one}`)).status as string));
  await up('po,EXECUTING,');
  await device.row('s/e', '45,po,Row 1: The value my_Result is missing; it takes a text');
  await up('po,EXECUTING,x');
  t.same(await states(), ['EXECUTING', 'PENDING'], 'none is EXECUTING: the oldest PENDING');
  await up('po,SUCCESSFUL,done');
  t.same(await states(), ['SUCCESSFUL', 'PENDING'], 'the EXECUTING one first');

  await up('pi,box-1,Box');
  await device.row('s/dc/rows', 'r1,Box,,admin');
  await up('pi,box-1,Box');
  await device.row('s/e', /^50,pi,"?Row 1: .*box-1/);
  await up('ui,box-1,5');
  await device.row('s/dc/rows', 'r1,Box,5,admin');
  await up('pi,box-2,Crate', 'ui,box-2,7', 'pi,box-3,Chest', 'ui,box-3,8');
  for (const row of ['Crate,,', 'Crate,7,', 'Chest,,', 'Chest,8,'])
    await device.row('s/dc/rows', new RegExp(`^r1,${row.replace(/,,$/, ',\\d?,')}admin$`));
  await up('gi,my_Serial,box-1');
  await eventually(
    'the object',
    async () => device.rows('s/dc/rows').filter((row) => row === 'r1,Box,5,admin').length === 2,
  );
  await up('px,c8y_Serial,box-2,Box 2', 'px,,,Nameless');
  t.equal((await rest.deviceOf('box-2')).name, 'Box 2');
  await up(`ub,${id},here`);
  t.equal((await rest.read(`/inventory/managedObjects/${id}`)).my_B, 'here');
  await up('gb,999999999');
  await device.row('s/e', /^50,gb,"?Row 1: .*999999999/);
});

t.test('faults name the row, the template and the value', async (t) => {
  const { device } = await createDevice(t, 'faulty');
  await createCollection(device, 'faulty', '10,m,POST,MEASUREMENT,,my_M,,my_M.T.value,NUMBER,');
  await device.publish('s/uc/faulty', 'm,,1\nm,,abc\nm,yesterday,1\nm\nm,,1,2\nx,1');
  await device.row('s/e', '45,m,Row 2: The value my_M.T.value is abc; it takes a decimal number');
  await device.row('s/e', /^45,m,Row 3: The value time is yesterday; it takes an ISO 8601 timestamp/);
  await device.row('s/e', '45,m,Row 4: The value my_M.T.value is missing; it takes a decimal number');
  await device.row('s/e', '45,m,"Row 5: Wrong number of values: m takes 2, got 3"');
  await device.row('s/e', '40,x,Row 6: Unknown template x of the collection faulty');
  await device.publish('s/uc/nowhere', 'm,,1');
  await device.row('s/e', '41,m,The template collection nowhere is unknown');
  await device.publish('s/ud', 'm,,1');
  await device.row('s/e', '41,m,The client ID names no default template collection');
});

/** Templates, operation and rows of the public documentation. */
const PUBLIC_TEMPLATES = [
  '11,111,c8y_Custom,deviceId,val1,val2,customValues[*]',
  '11,333,,deviceId,val1,val2,customValues[*]',
  '11,444,c8y_Custom,c8y_Custom.val3,val1',
];
const PUBLIC_OPERATION = { c8y_Custom: { val1: '1', val2: '2', customValues: ['a', 'b', 'c'] } };
const publicRows = (serial: string): string[] => [`111,${serial},1,2,a,b,c`, `333,${serial},,,`];

t.test('operations come as rows, on each topic once', async (t) => {
  const { device, id } = await createDevice(
    t,
    'operated',
    ['s/dt', 's/e', 's/dc/#', 's/dc/public', 's/dc/later', 's/dd'],
    {
      xid: 'public',
    },
  );
  await createCollection(device, 'public', ...PUBLIC_TEMPLATES);
  await order(id, PUBLIC_OPERATION);
  for (const topic of ['s/dc/public', 's/dd']) {
    await device.row(topic, publicRows('operated')[1]);
    t.same(device.rows(topic), publicRows('operated'), topic);
  }
  await createCollection(device, 'later', '11,late,c8y_Custom,c8y_Custom,val1');
  await device.row('s/dc/later', 'late,operated,1');
  await device.publish('s/us', '101,operated-child');
  const child = (await rest.idOf('operated-child')) as string;
  await order(child, { c8y_Custom: { val1: 'x' } });
  await device.row('s/dc/later', 'late,operated-child,x');
  await device.row('s/dd', '111,operated-child,x,,');
  t.same(device.rows('s/dc/public').slice(0, 2), publicRows('operated'), 'not sent again');

  const back = await connectDevice(t, server, 'operated');
  await back.subscribe('s/dc/later');
  await back.row('s/dc/later', 'late,operated,1');
});

t.test('the public example of GET', async (t) => {
  const { device, id } = await createDevice(t, 'getter', ['s/dt', 's/dd'], { xid: 'getting' });
  await createCollection(
    device,
    'getting',
    '10,999,GET,INVENTORY,,true',
    '11,888,,c8y_IsDevice,type,c8y_Test,c8y_Configuration',
  );
  await rest.put(`/inventory/managedObjects/${id}`, { type: 'myMqttDevice', c8y_Configuration: 'val1=1\nval2=2' });
  await device.publish('s/ud', `999,${id}`);
  await eventually('the row', async () => device.received.includes('s/dd 888,myMqttDevice,,"val1=1\nval2=2"'));
});

t.test('children, and other processing modes', async (t) => {
  const { device, id } = await createDevice(t, 'parent', ['s/dt', 's/e'], { xid: 'modes' });
  await createCollection(device, 'modes', '10,e,POST,EVENT,,my_E,text,', '10,100,POST,INVENTORY,,my_Serial,name,,');
  await device.publish('s/uc/modes/parent-child', 'e');
  await device.publish('s/ud/parent-child', 'e');
  const child = (await rest.idOf('parent-child')) as string;
  t.equal((await rest.read(`/event/events?source=${child}`)).events.length, 2);
  await device.publish('t/uc/modes', 'e');
  await device.publish('t/ud', 'e\n100,unstored,Name');
  await device.publish('q/uc/modes', 'e');
  await device.publish('c/ud', 'e');
  t.equal((await rest.read(`/event/events?source=${id}`)).events.length, 1, 'of q');
  t.equal((await rest.get('/identity/externalIds/my_Serial/unstored')).status, 404);
  const fresh = await connectDevice(t, server, 'fresh');
  await fresh.publish('s/uc/modes', '100,of-fresh,Other');
  t.match(await rest.deviceOf('fresh'), { name: 'MQTT Device fresh', type: 'c8y_MQTTDevice' });
  t.same(device.rows('s/e'), []);
});

t.test('collections over REST', async (t) => {
  const { device, id: deviceId } = await createDevice(t, 'importer');
  const templates = (text: string): object => ({
    requestTemplates: [{ msgId: 'e', method: 'POST', api: 'EVENT', mandatoryValues: ['my_E', text, ''] }],
    responseTemplates: [
      { msgId: 'dm101', name: 'x', base: 'set_wifi', condition: 'set_wifi', pattern: ['name', 'ssid'] },
    ],
  });
  const body = {
    name: 'imported',
    type: 'c8y_SmartRest2Template',
    com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate: templates('one'),
    __externalId: 'imported',
  };
  const { id } = await rest.create('/inventory/managedObjects', body);
  t.match(await rest.read(`/inventory/managedObjects/${id}`), body, 'what is exported can be imported');
  t.equal((await rest.post('/inventory/managedObjects', body)).status, 409);
  const bind = async (object: string): Promise<number> =>
    (
      await rest.post(`/identity/globalIds/${object}/externalIds`, {
        type: 'c8y_SmartRest2DeviceIdentifier',
        externalId: 'imported',
      })
    ).status;
  t.same([await bind(id), await bind(deviceId)], [201, 409], 'the object has it already');
  await device.publish('s/ut/imported', '');
  await device.row('s/dt', `20,imported,${id}`);
  await device.subscribe('s/dc/imported');
  await order(deviceId, { set_wifi: { name: 'home', ssid: 'net' } });
  await device.row('s/dc/imported', 'dm101,importer,home,net');

  const texts = async (): Promise<string[]> =>
    (await rest.read(`/event/events?source=${deviceId}&pageSize=100`)).events.map((event: any) => event.text);
  await device.publish('s/uc/imported', 'e');
  t.same(await texts(), ['one']);
  const path = `/inventory/managedObjects/${id}`;
  await rest.put(path, { com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate: templates('two') });
  await eventually('the changed template', async () => {
    await device.publish('s/uc/imported', 'e');
    return (await texts()).includes('two');
  });
  const faulty = { requestTemplates: [{ msgId: 'e', method: 'PUT', api: 'EVENT' }] };
  for (const fragment of [FRAGMENT, 'com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate']) {
    const reply = await rest.put(path, { [fragment]: faulty });
    t.equal(reply.status, 422);
    t.match(reply.json.message, /Request template 1: PUT EVENT is not supported/);
  }
  t.equal(
    (await rest.post('/inventory/managedObjects', { ...body, [FRAGMENT]: 1, __externalId: 'other' })).status,
    422,
  );
  for (const xid of ['a/b', '+', '#'])
    t.equal((await rest.post('/inventory/managedObjects', { ...body, __externalId: xid })).status, 422, xid);
  await rest.delete(path);
  await eventually('the end of the collection', async () => {
    await device.publish('s/uc/imported', 'e');
    return device.rows('s/e').includes('41,e,The template collection imported is unknown');
  });
  await device.publish('s/ut/imported', '');
  await device.row('s/dt', '41,imported');
});

t.test('the end of an external ID ends a collection', async (t) => {
  const { device } = await createDevice(t, 'unbinder');
  await createCollection(device, 'unbound', '10,e,POST,EVENT,,my_E,text,');
  await device.publish('s/uc/unbound', 'e');
  await rest.delete('/identity/externalIds/c8y_SmartRest2DeviceIdentifier/unbound');
  await eventually('the end of the collection', async () => {
    await device.publish('s/uc/unbound', 'e');
    return device.rows('s/e').includes('41,e,The template collection unbound is unknown');
  });
});

const PAHO = `
import sys, time, paho.mqtt.client as mqtt
port, tenant, password, serial, templates = int(sys.argv[1]), *sys.argv[2:]
versions = getattr(mqtt, 'CallbackAPIVersion', None)
client = mqtt.Client(*([versions.VERSION1] if versions else []), client_id=serial)
client.username_pw_set(tenant + '/admin', password)
# The operation may come before the answer to the templates.
seen = set()
def on_message(client, data, message):
    print(message.topic, message.payload.decode(), flush=True)
    seen.add(message.topic)
    if {'s/dt', 's/dc/paho'} <= seen: client.disconnect()
client.on_message = on_message
client.on_connect = lambda client, *rest: client.subscribe([('s/dt', 1), ('s/e', 0), ('s/dc/#', 1)])
client.on_subscribe = lambda client, *rest: (client.publish('s/us', '100,Paho,my_Type', 1), client.publish('s/ut/paho', templates, 1))
client.connect('127.0.0.1', port)
client.loop_forever()
`;

t.test('the public example of operations with paho', { skip: missing('/usr/bin/python3:paho.mqtt') }, async (t) => {
  const args = ['-c', PAHO, String(server.mqttPort), TENANT, PASSWORD, 'paho-1', PUBLIC_TEMPLATES.join('\n')];
  const running = promisify(execFile)('/usr/bin/python3', args, { timeout: 120_000 });
  await eventually('the device', async () => (await rest.idOf('paho-1')) !== undefined);
  const id = (await rest.idOf('paho-1')) as string;
  await order(id, PUBLIC_OPERATION);
  const { stdout } = await running;
  // The rows of another collection may come first.
  t.match(stdout, /^s\/dt 20,paho,\d+$/m);
  t.match(stdout, `\ns/dc/paho ${publicRows('paho-1').join('\n')}\n`);
});
