/** SmartREST 1.0: collections, rows, live data and the tunnel over MQTT (docs/spec/smartrest-one.md). */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const MO = 'application/vnd.com.nsn.platform.managedObject+json';
const TIME = '2024-05-02T10:00:00.000Z';

/** A user with roles, or a device with those of devices. */
const user = async (userName: string, roles: readonly string[]): Promise<Rest> => {
  await rest.create(`/user/${TENANT}/users`, { userName, password: PASSWORD });
  for (const role of roles)
    await rest.post(`/user/${TENANT}/users/${userName}/roles`, { role: { self: `${server.url}/user/roles/${role}` } });
  return new Rest(server.url, `${TENANT}/${userName}`, PASSWORD);
};
const rows = async (
  who: Rest,
  body: string | Buffer,
  xid = '',
  headers: Record<string, string> = {},
): Promise<string> => {
  const reply = await who.request('POST', '/s', {
    body,
    headers: { 'content-type': 'plain/text', accept: '', ...(xid === '' ? {} : { 'x-id': xid }), ...headers },
  });
  t.equal(reply.status, 200, String(body));
  return reply.text;
};

/** Another node of a cluster may learn of a change later. */
const answered = (who: Rest, body: string, xid: string, wanted: string): Promise<unknown> =>
  eventually(wanted, async () => (await rows(who, body, xid)) === wanted);

const TEMPLATES = [
  `10,300,POST,/inventory/managedObjects,${MO},${MO},&&,STRING,"{""name"":""&&"",""c8y_IsDevice"":{}}"`,
  '10,301,GET,/identity/externalIds/c8y_Serial/%%,,application/json,%%,STRING,',
  `10,302,PUT,/inventory/managedObjects/&&,${MO},,&&,UNSIGNED STRING,"{""c8y_Note"":{""text"":""&&""}}"`,
  '10,303,DELETE,/inventory/managedObjects/&&,,,&&,UNSIGNED,',
  '10,304,POST,/measurement/measurements,application/vnd.com.nsn.platform.measurement+json,application/json,&&,NOW UNSIGNED NUMBER,"{""time"":""&&"",""type"":""c8y_T"",""source"":{""id"":""&&""},""c8y_T"":{""T"":{""value"":&&}}}"',
  '10,305,GET,/inventory/managedObjects?type=&&&pageSize=2000,,,&&,STRING,',
  '10,306,GET,/inventory/managedObjects/##,,application/json,##,UNSIGNED,',
  '10,307,POST,/event/events,application/json,application/json,&&,UNSIGNED DATE STRING,"{""source"":{""id"":""&&""},""time"":""&&"",""type"":""t"",""text"":""&&""}"',
  '10,308,PUT,/devicecontrol/operations/&&,application/json,,&&,UNSIGNED STRING,"{""status"":""&&""}"',
  `10,309,PUT,/inventory/managedObjects/&&,${MO},,&&,UNSIGNED,"{""c8y_SmartRestTemplate"":{""rows"":""""}}"`,
  '10,311,DELETE,/identity/externalIds/c8y_SmartRestDeviceIdentifier/&&,,,&&,STRING,',
  '11,800,,$.c8y_IsDevice,$.id,$.name,$.c8y_Note.text',
  '11,801,$.managedObject,,$.id',
  '11,802,,$.c8y_T,$.id,$.c8y_T.T.value',
  '11,803,$.managedObjects,,$.id,$.name',
  '11,804,,$.text,$.type,$.text',
  '11,805,,$.c8y_Restart,$.id,$.deviceId,$.status',
].join('\n');
const XID = 'com_example_pump_1';
const ada = await user('ada', ['ROLE_INVENTORY_CREATE', 'ROLE_INVENTORY_READ', 'ROLE_IDENTITY_READ', 'ROLE_DEVICE']);
const bob = await user('bob', ['ROLE_INVENTORY_CREATE', 'ROLE_IDENTITY_READ', 'ROLE_DEVICE']);
const collection = /^20,(\d+)$/.exec(await rows(ada, TEMPLATES, XID))?.[1] as string;

t.test('a collection is an object of the tenant', async (t) => {
  t.match(await rest.read(`/identity/externalIds/c8y_SmartRestDeviceIdentifier/${XID}`), {
    managedObject: { id: collection },
  });
  t.match(await rest.read(`/inventory/managedObjects/${collection}`), {
    name: XID,
    type: 'c8y_SmartRestTemplate',
    owner: 'ada',
    c8y_SmartRestTemplate: { rows: TEMPLATES },
  });
  await answered(bob, '', XID, `20,${collection}`);
  t.equal(await rows(bob, TEMPLATES, XID), '41,1,Cannot create templates for already existing template object');
  t.equal(await rows(management, '', XID), '40,"No template for this X-ID."', 'not of another tenant');
  t.equal(
    await rows(ada, `303,${collection}\n309,${collection}\n311,${XID}`, XID),
    '50,1,403\n50,2,403\n50,3,403',
    'its owner neither changes nor ends it by rows',
  );
  const put = async (who: Rest, text: string): Promise<number> =>
    (await who.put(`/inventory/managedObjects/${collection}`, { c8y_SmartRestTemplate: { rows: text } })).status;
  t.equal(await put(ada, '10,300,GET,/platform,,,,,'), 403, 'nor over REST');
  t.equal(await put(rest, '10,300,FETCH,/platform,,,,,'), 422);
  t.equal(await rows(await user('eve', ['ROLE_DEVICE']), TEMPLATES, 'other_1'), '50,1,403', 'who creates no objects');
});

t.test('rows in other charsets; the id of a collection in the place of its X-Id', async (t) => {
  const post = (body: Buffer, charset: string): Promise<string> =>
    rows(ada, body, XID, { 'content-type': `text/plain; charset=${charset}` });
  t.match(await post(Buffer.from('300,Grün', 'latin1'), 'ISO-8859-1'), /^800,1,\d+,Grün,$/);
  t.match(await post(Buffer.from('300,Plain'), 'US-ASCII'), /^800,1,\d+,Plain,$/);
  t.match(await post(Buffer.from('300,Grün', 'utf16le'), 'utf-16le'), /^800,1,\d+,Grün,$/);
  t.equal(await post(Buffer.from('300,x'), 'none-1'), '42,1,Unknown charset: none-1');
  t.equal(await rows(ada, '', collection), `20,${collection}`);
  t.equal(await rows(ada, '999', collection), '43,1,Invalid message identifier');
  t.equal(await rows(management, '', collection), '40,"No template for this X-ID."');
});

t.test('rows become requests with the rights of their sender, and the answers rows', async (t) => {
  const [, id] = /^800,1,(\d+),"a ""b"", c\\",$/.exec(await rows(ada, '300,"a ""b"", c\\"', XID)) ?? [];
  t.match(await rest.read(`/inventory/managedObjects/${id}`), { name: 'a "b", c\\', owner: 'ada' });
  await rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: 's 1/2' });
  t.equal(
    await rows(ada, `301,s 1/2\n301,nothing\n302,${id},"x\n""y"""\n999\n306,x\n306,${id}`, XID),
    `801,1,${id}\n50,2,404\n43,4,Invalid message identifier\n45,5,Value is not a UNSIGNED: x\n800,6,${id},"a ""b"", c\\","x\n""y"""`,
    'numbers of rows, one of which has two lines',
  );
  t.match(
    await rows(ada, `304,${id},21.50\n307,${id},${TIME},"to, you"`, XID),
    /^802,1,\d+,21\.50\n804,2,t,"to, you"$/,
  );
  t.equal(await rows(bob, `302,${id},no\n304,${id},1\n303,${id}`, XID), '50,1,403\n50,2,403\n50,3,403');
  t.match(
    await rows(ada, `304,${id},3`, XID, { 'x-platform-processing-mode': 'TRANSIENT' }),
    /^802,1,,3$/,
    'not stored',
  );
  const { measurements } = await rest.read(`/measurement/measurements?source=${id}`);
  t.same(
    measurements.map(({ c8y_T }: any) => c8y_T.T.value),
    [21.5],
  );
  t.equal(
    await rows(ada, `15,${XID}\n306,${id}\n15,none_1\n1`),
    `87,1,${XID}\n800,2,${id},"a ""b"", c\\","x\n""y"""\n87,2,none_1\n40,3,"No template for this X-ID."\n40,4,"No template for this X-ID."`,
  );
  t.equal(await rows(ada, `303,${id}`, XID), '', 'an empty answer');
  t.equal(await rows(ada, `303,${id}`, XID), '50,1,404');
});

t.test('inventory roles open nothing', async (t) => {
  const { id } = await rest.create('/inventory/managedObjects', { name: 'granted' });
  const role = await rest.create('/user/inventoryroles', {
    name: 'all',
    permissions: [{ permission: '*', type: '*', scope: '*' }],
  });
  await rest.post(`/user/${TENANT}/users/bob/roles/inventory`, { managedObject: id, roles: [{ id: role.id }] });
  await eventually('a grant', async () => (await bob.get(`/inventory/managedObjects/${id}`)).status === 200);
  t.equal(await rows(bob, `306,${id}\n302,${id},x`, XID), '50,1,403\n50,2,403');
  const live = async (body: string): Promise<string> =>
    (
      await bob.request('POST', '/notification/realtime', {
        body,
        headers: { 'content-type': 'text/plain', accept: '' },
      })
    ).text;
  t.equal(await live(`81,${await live('80')},/events/${id}`), '50,1,403', 'nor live data');
});

t.test('templates reach the resources of the documents only', async (t) => {
  const uris = [
    '/s',
    '/user/currentUser',
    '/notification/realtime',
    '/devicecontrol/notifications',
    '/cep/realtime',
    '/tenant/oauth',
    '/health',
    '/apps/public',
    '/nothing',
  ];
  const posts = uris.map((uri, index) => `10,${100 + index},POST,${uri},application/json,application/json,,,{}`);
  const further = [
    '10,200,PUT,/inventory/managedObjects,application/json,,,,{}',
    '10,201,GET,/inventory/binaries/&&,,,&&,UNSIGNED,',
    '10,202,GET,/inventory/managedObjects,,text/csv,,,',
    '10,203,POST,/inventory/managedObjects,text/plain,,,,{}',
    '10,204,POST,/inventory/managedObjects,application/json,,&&,STRING,&&',
    '10,205,GET,/inventory/managedObjects?pageSize=&&,,,&&,STRING,',
    '10,206,GET,/inventory/%ZZ,,,,,',
  ];
  t.match(await rows(rest, [...posts, ...further].join('\n'), 'uris_1'), /^20,\d+$/);
  const ids = uris.map((_, index) => 100 + index);
  t.equal(await rows(rest, ids.join('\n'), 'uris_1'), ids.map((_, index) => `50,${index + 1},404`).join('\n'));
  t.equal(
    await rows(rest, `200\n201,${collection}\n202\n203\n204,{\n205,x\n206`, 'uris_1'),
    '50,1,405\n50,2,404\n50,3,406\n50,4,415\n50,5,400\n50,6,422\n50,7,400',
  );
});

t.test('live data as rows: an agent gets its operations', async (t) => {
  const { id } = await rest.create('/inventory/managedObjects', {
    name: 'agent',
    c8y_IsDevice: {},
    com_platform_model_Agent: {},
    owner: 'ada',
  });
  await rows(ada, '11,900,,$.description,$.description', 'more_1');
  const live = async (body: string, xid = XID, who = ada): Promise<string> => {
    const reply = await who.request('POST', '/notification/operations', {
      body,
      headers: { 'content-type': 'text/plain', accept: '', ...(xid === '' ? {} : { 'x-id': xid }) },
    });
    t.equal(reply.status, 200, body);
    if (reply.text !== '') t.match(reply.headers.get('content-type'), /^text\/plain/);
    return reply.text;
  };
  const client = await live('80');
  t.match(client, /^[0-9a-f]+$/);
  t.equal(await live(`81,${client},/${id},more_1`), '');
  t.equal(await live(`81,${client},/nothing/7\n82,${client},/1\n90`), '50,1,404\n43,3,Invalid message identifier');
  t.equal(await live(`83,${client}`), '86,5400000,0,retry', 'the first at once');
  const waiting = live(`83,${client}`);
  const operation = await rest.create('/devicecontrol/operations', {
    deviceId: id,
    description: 'now, please',
    c8y_Restart: {},
  });
  const pushed = (status: string): string =>
    `87,1,${XID}\n805,1,${operation.id},${id},${status}\n87,1,more_1\n900,1,"now, please"\n86,5400000,0,retry`;
  t.equal(await waiting, pushed('PENDING'));
  t.equal(await rows(ada, `308,${operation.id},EXECUTING`, XID), '');
  t.equal(await live(`83,${client}`), pushed('EXECUTING'));
  t.equal(await live(`83,${client}`, XID, bob), '86,,0,handshake', 'a session is its user alone');
  t.equal(await live(`84,${client}`), '');
  t.equal(await live(`83,${client}`), '86,,0,handshake');
  const other = await live('80', '');
  t.equal(await live(`83,${other}`, ''), '40,"No template for this X-ID."\n86,,10000,retry');
  t.equal(await live(`81,${other},/${id}`, '', bob), '86,,0,handshake');
  const foreign = await live('80', XID, bob);
  t.equal(await live(`81,${foreign},/${id}`, XID, bob), '50,1,403', 'the object of another owner');
  t.equal((await fetch(`${server.url}/notification/operations`, { method: 'POST', body: '80' })).status, 401);
});

t.test('the tunnel over MQTT: templates, rows, a device that makes itself, its operations', async (t) => {
  const xid = 'com_example_mqtt_1';
  const login = { username: `${TENANT}/ada`, password: PASSWORD };
  const device = await connectDevice(t, server, 'one-mqtt', login);
  await device.subscribe(`s/dl/${xid}`, `s/ol/${xid}`, 's/e');
  const ask = async (body: string, wanted: RegExp, topic = `s/ul/${xid}`): Promise<RegExpExecArray> => {
    device.received.length = 0;
    await device.publish(topic, body);
    return wanted.exec(await device.row(`s/dl/${xid}`, wanted)) as RegExpExecArray;
  };
  await ask('', /^40,"No template for this X-ID."$/);
  const bind =
    '10,310,POST,/identity/globalIds/&&/externalIds,application/json,application/json,&&,UNSIGNED STRING,"{""type"":""c8y_Serial"",""externalId"":""&&""}"';
  const agent = TEMPLATES.replace('""c8y_IsDevice"":{}', '""c8y_IsDevice"":{},""com_platform_model_Agent"":{}');
  await ask(`${agent}\n${bind}`, /^20,\d+$/);
  await ask(agent, /^41,1,Cannot create templates for already existing template object$/);
  await ask('301,one-mqtt', /^50,1,404$/);
  const [, id] = await ask('300,one', /^800,1,(\d+),one,$/);
  await ask(`310,${id},one-mqtt`, new RegExp(`^801,1,${id}$`));
  const operation = await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
  t.equal(await device.row(`s/ol/${xid}`, /^805/), `805,1,${operation.id},${id},PENDING`);
  await device.publish(`s/ul/${xid}`, `308,${operation.id},EXECUTING\n308,${operation.id},SUCCESSFUL`, 2);
  t.equal(
    (await rest.read(`/devicecontrol/operations/${operation.id}`)).status,
    'SUCCESSFUL',
    'done when it is acknowledged',
  );
  await ask(`304,${id},5`, /^802,1,,5$/, `t/ul/${xid}`);
  await ask(`304,${id},6`, /^802,1,\d+,6$/, `q/ul/${xid}`);
  await ask(`304,${id},7\n999`, /^43,2,Invalid message identifier$/, `c/ul/${xid}`);
  t.same(
    device.received.filter((message) => message.startsWith('s/e')),
    [],
  );
  await device.end();
  const waiting = await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
  const again = await connectDevice(t, server, 'one-mqtt', login);
  await again.publish(`s/ul/${xid}`, `306,${id}`);
  await again.subscribe('s/ol/#');
  t.equal(await again.row(`s/ol/${xid}`, /^805/), `805,1,${waiting.id},${id},PENDING`, 'a collection that it has used');
  const bobs = await connectDevice(t, server, 'one-bob', { ...login, username: `${TENANT}/bob` });
  await bobs.subscribe(`s/dl/${xid}`);
  await bobs.publish(`s/ul/${xid}`, `302,${id},no\n310,${id},one-bob`);
  await bobs.row(`s/dl/${xid}`, '50,2,403');
  t.equal(bobs.rows(`s/dl/${xid}`)[0], '50,1,403');
});

t.test('the end of a collection: its external ID, or its object', async (t) => {
  const gone = (xid: string) => answered(ada, '306,1', xid, '40,"No template for this X-ID."');
  await rows(ada, '10,306,GET,/platform,,,,,', 'end_1');
  await rows(ada, '10,306,GET,/platform,,,,,', 'end_2');
  await rest.delete('/identity/externalIds/c8y_SmartRestDeviceIdentifier/end_1');
  await gone('end_1');
  t.match(await rows(ada, '10,306,GET,/platform,,,,,', 'end_1'), /^20,\d+$/, 'the X-Id is free');
  const { managedObject } = await rest.read('/identity/externalIds/c8y_SmartRestDeviceIdentifier/end_2');
  await rest.delete(`/inventory/managedObjects/${managedObject.id}`);
  await gone('end_2');
  const changed = await rest.read('/identity/externalIds/c8y_SmartRestDeviceIdentifier/end_1');
  await rest.put(`/inventory/managedObjects/${changed.managedObject.id}`, {
    c8y_SmartRestTemplate: { rows: '10,307,GET,/platform,,,,,' },
  });
  await answered(ada, '306\n307', 'end_1', '43,1,Invalid message identifier');
});

t.test('nothing of this was a fault of the server', async (t) => {
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
