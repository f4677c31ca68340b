/** Operations: created over REST, delivered to npm `mqtt` as rows and as JSON, answered with 5xx rows. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;

async function createDevice(
  t: Teardown,
  serial: string,
  topics: string[] = ['s/ds', 's/e'],
): Promise<{ device: Device; id: string }> {
  const device = await connectDevice(t, server, serial);
  if (topics.length > 0) await device.subscribe(...topics);
  await device.publish('s/us', `100,Device ${serial},my_Type`);
  return { device, id: (await rest.idOf(serial)) as string };
}

const order = async (deviceId: string, fragments: object): Promise<string> =>
  (await rest.create('/devicecontrol/operations', { deviceId, ...fragments })).id as string;
const operation = (id: string): Promise<any> => rest.read(`/devicecontrol/operations/${id}`);

t.test('each fragment has its row on s/ds', async (t) => {
  const { device, id } = await createDevice(t, 'rows');
  const check = async (fragments: object, want: string): Promise<void> => {
    await order(id, fragments);
    t.equal(await device.row('s/ds', want), want);
  };
  await check({ c8y_Restart: {} }, '510,rows');
  await check({ c8y_Command: { text: 'get "all", please' } }, '511,rows,"get ""all"", please"');
  await check({ c8y_Configuration: { config: 'a=1' } }, '513,rows,a=1');
  await check({ c8y_Firmware: { name: 'fw', version: '1', url: 'http://x' } }, '515,rows,fw,1,http://x');
  await check(
    {
      c8y_SoftwareList: [
        { name: 'a', version: '1', url: 'u' },
        { name: 'b', version: '2', url: '' },
      ],
    },
    '516,rows,a,1,u,b,2,',
  );
  await check({ c8y_MeasurementRequestOperation: { requestName: 'LOG' } }, '517,rows,LOG');
  await check({ c8y_Relay: { relayState: 'OPEN' } }, '518,rows,OPEN');
  await check({ c8y_RelayArray: ['OPEN', 'CLOSED'] }, '519,rows,OPEN,CLOSED');
  await check({ c8y_UploadConfigFile: {} }, '520,rows');
  await check({ c8y_DownloadConfigFile: { url: 'http://y' } }, '521,rows,http://y');
  await check(
    {
      c8y_LogfileRequest: {
        logFile: 'syslog',
        dateFrom: '2013-06-22T17:03:14.000+02:00',
        dateTo: '2013-06-22T18:03:14.000+02:00',
        searchText: 'ERROR',
        maximumLines: 1000,
      },
    },
    '522,rows,syslog,2013-06-22T17:03:14.000+02:00,2013-06-22T18:03:14.000+02:00,ERROR,1000',
  );
  await check({ c8y_CommunicationMode: { mode: 'SMS' } }, '523,rows,SMS');
  await check({ c8y_DownloadConfigFile: { url: 'http://z', type: 'modem' } }, '524,rows,http://z,modem');
  await check({ c8y_UploadConfigFile: { type: 'modem' } }, '526,rows,modem');
  const update = { c8y_SoftwareUpdate: [{ name: 'a', version: '1', url: 'u', action: 'install' }] };
  await device.publish('s/us', '116,b,2,,a,0,v');
  await check(update, '516,rows,b,2,,a,0,v,a,1,u');
  await device.publish('s/us', '501,c8y_SoftwareList\n503,c8y_SoftwareList\n114,c8y_SoftwareUpdate');
  await check(update, '528,rows,a,1,u,install');
  await device.publish('s/us', '143,apt');
  await check(update, '529,rows,a,1,,u,install');
  await check(
    { c8y_RemoteAccessConnect: { hostname: '10.0.0.1', port: 22, connectionKey: 'k-1' } },
    '530,rows,10.0.0.1,22,k-1',
  );
  const count = device.rows('s/ds').length;
  await order(id, { my_Own: {} });
  await check({ c8y_Command: { text: 'after' } }, '511,rows,after');
  t.equal(device.rows('s/ds').length, count + 1, 'no row for a fragment of its own');
});

t.test('501, 502 and 503 move the oldest operation of the fragment', async (t) => {
  const { device, id } = await createDevice(t, 'moves');
  const first = await order(id, { c8y_Command: { text: 'one' } });
  const second = await order(id, { c8y_Command: { text: 'two' } });
  await device.publish('s/us', '501,c8y_Command');
  t.same([(await operation(first)).status, (await operation(second)).status], ['EXECUTING', 'PENDING']);
  await device.publish('s/us', '503,c8y_Command,"the result, quoted"');
  t.match(await operation(first), { status: 'SUCCESSFUL', c8y_Command: { text: 'one', result: 'the result, quoted' } });
  await device.publish('s/us', '501,c8y_Command\n502,c8y_Command,it broke');
  t.match(await operation(second), { status: 'FAILED', failureReason: 'it broke' });
  await device.publish('s/us', '501,c8y_Command');
  await device.row('s/e', /^50,501,No operation found/);
});

t.test('504, 505 and 506 by id; 507 fails all that are under way', async (t) => {
  const { device, id } = await createDevice(t, 'by-id');
  const [one, two, three] = [
    await order(id, { c8y_Restart: {} }),
    await order(id, { c8y_Restart: {} }),
    await order(id, { my_Own: {} }),
  ];
  await device.publish('s/us', `504,${two}\n506,${two}\n504,${one}\n504,${three}`);
  t.equal((await operation(two)).status, 'SUCCESSFUL');
  await device.publish('s/us', '507,,power lost');
  t.match(await operation(one), { status: 'FAILED', failureReason: 'power lost' });
  t.match(await operation(three), { status: 'FAILED', failureReason: 'power lost' });
  t.equal((await operation(two)).status, 'SUCCESSFUL');
  t.same(device.rows('s/e'), []);
});

t.test("504 by the id of another device's operation is refused", async (t) => {
  const { device } = await createDevice(t, 'by-id-1');
  const stranger = await createDevice(t, 'by-id-2');
  const other = await order(stranger.id, { c8y_Restart: {} });
  await device.publish('s/us', `504,${other}`);
  await device.row('s/e', /^\d+,504,/);
  t.equal((await operation(other)).status, 'PENDING');
});

t.test('503 puts the state of relays into the managed object', async (t) => {
  const { device, id } = await createDevice(t, 'relays');
  await order(id, { c8y_RelayArray: ['OPEN', 'OPEN'] });
  await device.publish('s/us', '501,c8y_RelayArray\n503,c8y_RelayArray,OPEN,CLOSED');
  t.same((await rest.deviceOf('relays')).c8y_RelayArray, ['OPEN', 'CLOSED']);
});

t.test('a configuration dump, a profile and the capabilities of the server', async (t) => {
  const { device, id } = await createDevice(t, 'flows');
  const dump = { url: 'http://x', c8y_ConfigurationDump: { id: '77' } };
  const byFragment = await order(id, { c8y_DownloadConfigFile: dump });
  await device.publish('s/us', '501,c8y_DownloadConfigFile\n503,c8y_DownloadConfigFile');
  t.equal((await operation(byFragment)).status, 'SUCCESSFUL');
  t.match((await rest.deviceOf('flows')).c8y_ConfigurationDump, { id: '77', time: /^\d{4}-/ });
  const byId = await order(id, { c8y_DownloadConfigFile: { ...dump, c8y_ConfigurationDump: { id: '78' } } });
  await device.publish('s/us', `504,${byId}\n506,${byId}`);
  t.match((await rest.deviceOf('flows')).c8y_ConfigurationDump, { id: '78', time: /^\d{4}-/ });
  await order(id, { profileName: 'P', profileId: '5', c8y_DeviceProfile: {} });
  await device.row('s/ds', '527,flows');
  await device.publish('s/us', '501,c8y_DeviceProfile\n121,true\n503,c8y_DeviceProfile');
  t.same((await rest.deviceOf('flows')).c8y_Profile, { profileName: 'P', profileId: '5', profileExecuted: true });
  await device.publish('s/us', '121,true');
  await device.row('s/e', '50,121,No operation found');
  await device.publish('s/us', '600\n602');
  await device.row('s/ds', /^601,\d+\./);
  await device.row('s/ds', /^603,100,.*,408,.*,603$/);
});

t.test('407 changes the newest event, 408 tells what is not known', async (t) => {
  const { device, id } = await createDevice(t, 'seeker');
  const events = async (type: string): Promise<any[]> =>
    (await rest.read(`/event/events?source=${id}&type=${type}&pageSize=100`)).events;
  const door = (time: string): object => ({ type: 'door', source: { id }, time, text: 'x', my_A: 1, my_B: 2 });
  await rest.create('/event/events', door('2024-05-02T10:00:00Z'));
  await rest.create('/event/events', door('2024-05-01T10:00:00Z'));
  await device.publish('s/us', '407,door,my_A');
  const [newest, older] = await events('door');
  t.match([newest.my_A, newest.my_B, older.my_A], [undefined, 2, 1]);
  await device.publish('s/us', '407,window,my_A');
  await device.row('s/e', /^50,407,.*of type window/);
  await device.publish('s/us', '400,fresh,Text,2024-05-03T10:00:00Z\n407,fresh,my_A\n407,door,my_B');
  t.equal((await events('door'))[0].my_B, undefined, 'beside an event of the same message');
  const set = (values: string): Promise<unknown> => device.publish('s/us', `408,,,true,${values}`);
  await set('my_P.left,BOOLEAN,true,my_P.right,BOOLEAN,false');
  await set('my_P.left,BOOLEAN,true');
  await set('my_P.right,BOOLEAN,false,my_P.left,BOOLEAN,true');
  const updates = () => events('c8y_ParameterUpdate');
  t.equal((await updates()).length, 1, 'what is known is not told again');
  await device.publish('s/us', '408,,,true,my_P.left,BOOLEAN,false\n408,,,true,my_P.left,BOOLEAN,false');
  t.match(await updates(), [{ text: "Parameter 'my_P' was updated", my_P: { left: false } }, {}]);
  t.equal((await updates()).length, 2, 'nor twice by one message');
  await device.publish('s/us', Array.from({ length: 21 }, (_, index) => `407,none-${index},my_A`).join('\n'));
  await device.row('s/e', /^50,407,"?The message asks for more than 20 events/);
});

t.test('a branded marker makes an agent too', async (t) => {
  const { id: agent } = await createDevice(t, 'branded');
  await rest.put(`/inventory/managedObjects/${agent}`, { com_platform_model_Agent: null });
  t.equal((await rest.post('/devicecontrol/operations', { deviceId: agent, c8y_Restart: {} })).status, 422);
  await rest.put(`/inventory/managedObjects/${agent}`, { com_cumulocity_model_Agent: {} });
  await order(agent, { c8y_Restart: {} });
});

t.test('what waits is delivered at subscribe, once, and again on 500', async (t) => {
  const { device, id } = await createDevice(t, 'pending', []);
  const done = await order(id, { c8y_Restart: {} });
  await rest.put(`/devicecontrol/operations/${done}`, { status: 'SUCCESSFUL' });
  const begun = await order(id, { c8y_Command: { text: 'begun' } });
  await rest.put(`/devicecontrol/operations/${begun}`, { status: 'EXECUTING' });
  await order(id, { c8y_Command: { text: 'one' } });
  await order(id, { c8y_Command: { text: 'two' } });
  t.same(device.rows('s/ds'), []);
  await device.subscribe('s/ds');
  await device.row('s/ds', '511,pending,two');
  t.same(device.rows('s/ds'), ['511,pending,one', '511,pending,two']);
  await device.publish('s/us', '500');
  await eventually('again', () => device.rows('s/ds').length === 4);
  t.same(device.rows('s/ds').slice(2), ['511,pending,one', '511,pending,two']);
  await device.end();
  const back = await connectDevice(t, server, 'pending');
  await back.subscribe('s/ds');
  await back.row('s/ds', '511,pending,two');
});

t.test('operations of children come through the gateway, addressed by their own serial', async (t) => {
  const { device } = await createDevice(t, 'gateway');
  await device.publish('s/us', '101,gw-child,Child,child_Type');
  await device.publish('s/us/gw-child', '101,gw-deep,Deep,child_Type');
  const child = (await rest.idOf('gw-child')) as string;
  const deep = (await rest.idOf('gw-deep')) as string;
  const ordered = await order(child, { c8y_Restart: {} });
  await device.row('s/ds', '510,gw-child');
  await order(deep, { c8y_Command: { text: 'x' } });
  await device.row('s/ds', '511,gw-deep,x');
  await device.publish('s/us/gw-child', '501,c8y_Restart');
  t.equal((await operation(ordered)).status, 'EXECUTING');
  await device.publish('s/us/gw-child', '503,c8y_Restart');
  t.equal((await operation(ordered)).status, 'SUCCESSFUL');
  await device.end();
  await order(child, { c8y_Command: { text: 'while away' } });
  await order(deep, { c8y_Command: { text: 'deep, while away' } });
  const back = await connectDevice(t, server, 'gateway');
  await back.subscribe('s/ds');
  await back.row('s/ds', '511,gw-child,while away');
  await back.row('s/ds', '511,gw-deep,"deep, while away"');
});

t.test('a child that is connected itself gets its operations itself', async (t) => {
  const { device } = await createDevice(t, 'gateway-b');
  await device.publish('s/us', '101,gwb-child,Child,child_Type');
  const child = await connectDevice(t, server, 'gwb-child');
  await child.subscribe('s/ds');
  await child.publish('s/us', '125');
  await order((await rest.idOf('gwb-child')) as string, { c8y_Restart: {} });
  await child.row('s/ds', '510,gwb-child');
  // What comes behind it on the gateway's connection tells that it has not come there.
  await order((await rest.idOf('gateway-b')) as string, { c8y_Command: { text: 'own' } });
  await device.row('s/ds', '511,gateway-b,own');
  t.same(device.rows('s/ds'), ['511,gateway-b,own']);
  // Neither when the gateway asks again.
  await device.publish('s/us', '500');
  await eventually(
    'what waits came again',
    () => device.rows('s/ds').filter((row) => row === '511,gateway-b,own').length === 2,
  );
  await order((await rest.idOf('gateway-b')) as string, { c8y_Command: { text: 'more' } });
  await device.row('s/ds', '511,gateway-b,more');
  t.notOk(device.rows('s/ds').includes('510,gwb-child'));
  await child.end();
  await order((await rest.idOf('gwb-child')) as string, { c8y_Command: { text: 'gone' } });
  await device.row('s/ds', '511,gwb-child,gone');
});

t.test('devicecontrol/notifications has the operation as JSON', async (t) => {
  const { device, id } = await createDevice(t, 'json', ['devicecontrol/notifications']);
  const { id: ordered } = await rest.create(
    '/devicecontrol/operations',
    `{"deviceId":"${id}","description":"Own","my_Own":{"a":[1, 2.50]},"c8y_Restart":{}}`,
  );
  const row = await device.row('devicecontrol/notifications', /my_Own/);
  t.match(JSON.parse(row), {
    id: ordered,
    deviceId: id,
    agentId: id,
    status: 'PENDING',
    description: 'Own',
    c8y_Restart: {},
    my_Own: { a: [1, 2.5] },
    delivery: { log: [], status: 'PENDING' },
    externalSource: { externalId: 'json', type: 'c8y_Serial' },
  });
  t.match(row, /\[1,\s*2\.50\]/, 'numbers as they were sent');
  t.same(device.rows('s/ds'), [], 'only what is subscribed');
  await device.publish('s/us', '101,json-child');
  await order((await rest.idOf('json-child')) as string, { c8y_Restart: {} });
  t.match(JSON.parse(await device.row('devicecontrol/notifications', /json-child/)), {
    agentId: id,
    externalSource: { externalId: 'json-child' },
  });
});

t.test('a device that takes no updates of software gets the list that it is to have, through every door', async (t) => {
  const csv = 'ID,CREDENTIALS,TYPE,NAME,com_platform_model_Agent.active\ndoors,Doors-pass-1,t,doors,true';
  const file = `--b\r\nContent-Disposition: form-data; name="file"; filename="d.csv"\r\nContent-Type: text/csv\r\n\r\n${csv}\r\n--b--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  await rest.request('POST', '/devicecontrol/bulkNewDeviceRequests', { body: file, headers });
  const login = { username: `${TENANT}/device_doors`, password: 'Doors-pass-1' };
  const device = await connectDevice(t, server, 'doors', login);
  const own = new Rest(server.url, login.username, login.password);
  const id = (await rest.idOf('doors')) as string;
  await device.publish('s/us', '114,c8y_SoftwareList\n116,a,1,u');
  await device.publish('s/ut/doors', '11,90,,c8y_SoftwareUpdate,id\n11,91,c8y_SoftwareList[*],c8y_SoftwareList,name');
  await device.subscribe('s/ds', 'devicecontrol/notifications', 's/dc/doors');
  const agent = await BayeuxSocket.open(t, server, '/notification/operations');
  await agent.subscribe(`/${id}`, `/operations/${id}`);
  const update = [{ name: 'b', version: '2', url: '', action: 'install' }];
  const list = [
    { name: 'a', version: '1', url: 'u' },
    { name: 'b', version: '2', url: '' },
  ];
  const want = { c8y_SoftwareUpdate: undefined, c8y_SoftwareList: list };
  const ordered = await order(id, { c8y_SoftwareUpdate: update });
  await device.row('s/ds', '516,doors,a,1,u,b,2,');
  await device.row('s/dc/doors', '91,doors,a,b');
  t.match(JSON.parse(await device.row('devicecontrol/notifications', /c8y_Software/)), want);
  const live = async (channel: string): Promise<unknown> =>
    (await agent.message((one) => one['channel'] === channel))['data'].data;
  t.match(await live(`/${id}`), { ...want, deviceExternalIDs: { externalIds: [{ externalId: 'doors' }] } });
  t.match(
    await live(`/operations/${id}`),
    { c8y_SoftwareUpdate: update, c8y_SoftwareList: undefined },
    'to others as it is',
  );
  t.match(await own.read(`/devicecontrol/operations/${ordered}`), want);
  const pending = `/devicecontrol/operations?deviceId=${id}&status=PENDING`;
  t.match((await own.read(pending)).operations, [want]);
  t.match((await rest.read(pending)).operations, [{ c8y_SoftwareUpdate: update }]);
  await device.publish('s/us', '501,c8y_SoftwareList\n503,c8y_SoftwareList');
  t.match(await operation(ordered), { status: 'SUCCESSFUL', c8y_SoftwareUpdate: update, c8y_SoftwareList: undefined });
});

t.test('both topics get what waits, also the one subscribed later', async (t) => {
  const { device, id } = await createDevice(t, 'both-topics', ['s/ds']);
  await order(id, { c8y_Restart: {} });
  await device.row('s/ds', '510,both-topics');
  await device.subscribe('devicecontrol/notifications');
  await device.row('devicecontrol/notifications', /c8y_Restart/);
  t.equal(device.rows('s/ds').length, 1, 'the first topic gets it once');
});

t.test('what was acknowledged in a session is not delivered again in it, unless the device asks', async (t) => {
  const kept = { clean: false };
  let device = await connectDevice(t, server, 'acknowledged', kept);
  await device.publish('s/us', '100,Acknowledged,x\n114,c8y_Restart');
  await device.client.subscribeAsync('s/ds', { qos: 2 });
  const id = (await rest.idOf('acknowledged')) as string;
  const ordered = await order(id, { c8y_Restart: {} });
  await device.row('s/ds', '510,acknowledged');
  const reconnect = async (): Promise<string[]> => {
    // Behind everything that is delivered by itself.
    await device.publish('s/us', '123');
    await device.row('s/ds', `124,${id}`);
    await device.end();
    device = await connectDevice(t, server, 'acknowledged', kept);
    t.ok(device.sessionPresent);
    await order(id, { c8y_Command: { text: 'last' } });
    await device.row('s/ds', /^511,acknowledged,last/);
    return device.rows('s/ds').filter((row) => row.startsWith('510'));
  };
  t.same(await reconnect(), []);
  await device.publish('s/us', '500');
  await device.row('s/ds', '510,acknowledged');
  t.same(await reconnect(), [], 'nor what it has asked for');
  await device.end();
  await rest.put(`/devicecontrol/operations/${ordered}`, { status: 'EXECUTING' });
  await rest.put(`/devicecontrol/operations/${ordered}`, { status: 'PENDING' });
  device = await connectDevice(t, server, 'acknowledged', kept);
  await device.row('s/ds', '510,acknowledged');
  await device.end();
  device = await connectDevice(t, server, 'acknowledged', { clean: true });
  await device.subscribe('s/ds');
  await device.row('s/ds', '510,acknowledged');
});

t.test('an operation set to PENDING again is delivered again, an ended one is not', async (t) => {
  const { device, id } = await createDevice(t, 'again');
  const ordered = await order(id, { c8y_Restart: {} });
  await device.row('s/ds', '510,again');
  await rest.put(`/devicecontrol/operations/${ordered}`, { status: 'FAILED', failureReason: 'by hand' });
  await rest.put(`/devicecontrol/operations/${ordered}`, { status: 'PENDING' });
  await eventually('again', () => device.rows('s/ds').length === 2);
  t.equal(device.rows('s/ds')[1], '510,again');
});

t.test('a change that leaves an operation PENDING does not deliver it again', async (t) => {
  const { device, id } = await createDevice(t, 'unchanged');
  const ordered = await order(id, { c8y_Restart: {} });
  await device.row('s/ds', '510,unchanged');
  await rest.put(`/devicecontrol/operations/${ordered}`, { status: 'PENDING', my_Note: 1 });
  await order(id, { c8y_Command: { text: 'x' } });
  await device.row('s/ds', '511,unchanged,x');
  t.same(device.rows('s/ds'), ['510,unchanged', '511,unchanged,x']);
});
