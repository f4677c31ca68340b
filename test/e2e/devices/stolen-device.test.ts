/**
 * What whoever holds the credentials of one registered device can do to the others of its tenant: nothing
 * (docs/spec/login.md#rights).
 */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import type { Device } from '../../helpers/running/mqtt.ts';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const BOOTSTRAP_PASSWORD = 'Boot-strap-9';
const server = await startServer(t, { flags: ['--bootstrap-password', BOOTSTRAP_PASSWORD] });
const { rest } = server;
const SECRET = 'Device-pass-1';
const TIME = '2024-05-02T10:00:00.000Z';
const MO = '/inventory/managedObjects';
const SOFTWARE = '/service/advanced-software-mgmt/software';
const OPTION = '/tenant/options/device-access/read.scope';
/** In everything that the victim has. */
const MARK = 'x-marks-the-spot';

/**
 * Registers devices as fleets are: user `device_<id>`, object and external ID at once, the user in the group `devices`.
 */
async function register(...rows: string[]): Promise<void> {
  const csv = ['ID,CREDENTIALS,TYPE,NAME,PATH,com_platform_model_Agent.active', ...rows].join('\n');
  const boundary = 'xx-boundary-xx';
  const answer = await rest.request('POST', '/devicecontrol/bulkNewDeviceRequests', {
    body: `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="d.csv"\r\nContent-Type: text/csv\r\n\r\n${csv}\r\n--${boundary}--\r\n`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  });
  if (answer.json.numberOfFailed !== 0) throw new Error(answer.text);
}
const as = (id: string): Rest => new Rest(server.url, `${TENANT}/device_${id}`, SECRET);
const connect = (id: string, clientId = id): Promise<Device> =>
  connectDevice(t, server, clientId, { username: `${TENANT}/device_${id}`, password: SECRET });
const upload = async (of: Rest, name: string): Promise<string> => {
  const body = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n${MARK}\r\n--b--\r\n`;
  return (
    await of.request('POST', '/inventory/binaries', {
      body,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
  ).json.id as string;
};

await register(...['victim', 'thief', 'agent', 'sub'].map((id) => `${id},${SECRET},my_Type,${id},Hall,true`));
const [victim, thief] = [as('victim'), as('thief')];
const [victimId, thiefId] = [(await rest.idOf('victim')) as string, (await rest.idOf('thief')) as string];
await victim.put(`${MO}/${victimId}`, { note: MARK });
const source = { id: victimId };
const made = {
  event: (await victim.create('/event/events', { source, type: 'e', text: MARK, time: TIME })).id as string,
  alarm: (await victim.create('/alarm/alarms', { source, type: 'a', text: MARK, severity: 'MINOR', time: TIME }))
    .id as string,
  measurement: (
    await victim.create('/measurement/measurements', { source, type: MARK, time: TIME, f: { s: { value: 1 } } })
  ).id as string,
  operation: (
    await rest.create('/devicecontrol/operations', { deviceId: victimId, description: MARK, c8y_Restart: {} })
  ).id as string,
  child: (await victim.create(`${MO}/${victimId}/childDevices`, { name: MARK, c8y_IsDevice: {} })).id as string,
  file: await upload(victim, 'log.txt'),
};
await victim.create(`/identity/globalIds/${victimId}/externalIds`, { type: 'c8y_MAC', externalId: MARK });
await victim.create(`/identity/globalIds/${made.child}/externalIds`, {
  type: 'c8y_Serial',
  externalId: 'victim-child',
});
await victim.request('POST', `/event/events/${made.event}/binaries`, {
  body: MARK,
  headers: { 'content-type': 'text/plain' },
});

/** All that the victim is and has, to see that nothing has changed. */
const snapshot = async (): Promise<unknown> =>
  Promise.all(
    [
      `${MO}/${victimId}`,
      `${MO}/${made.child}`,
      `${MO}/${victimId}/childDevices`,
      `${MO}/${victimId}/childAdditions`,
      `/identity/globalIds/${victimId}/externalIds`,
      `/event/events?source=${victimId}`,
      `/alarm/alarms?source=${victimId}`,
      `/measurement/measurements?source=${victimId}`,
      `/devicecontrol/operations?deviceId=${victimId}`,
    ].map((path) => rest.read(path)),
  );
const before = await snapshot();

t.test("REST: a device neither reads nor writes what is another one's", async (t) => {
  const object = `${MO}/${victimId}`;
  const reads = [
    object,
    `${object}/supportedSeries`,
    `${object}/supportedMeasurements`,
    `${object}/availability`,
    `${object}/user`,
    `${object}/childDevices`,
    `${object}/childDevices/${made.child}`,
    `${object}/childAssets`,
    `${object}/deviceParents`,
    `${object}/assetParents`,
    `${MO}/${made.child}`,
    `/identity/globalIds/${victimId}/externalIds`,
    '/identity/externalIds/c8y_Serial/victim',
    `/identity/externalIds/c8y_MAC/${MARK}`,
    `/event/events/${made.event}`,
    `/event/events/${made.event}/binaries`,
    `/alarm/alarms/${made.alarm}`,
    `/measurement/measurements/${made.measurement}`,
    `/measurement/measurements/series?source=${victimId}&dateFrom=2024-01-01&dateTo=2025-01-01`,
    `/devicecontrol/operations/${made.operation}`,
    `/inventory/binaries/${made.file}`,
    `${MO}/${made.file}`,
    `${SOFTWARE}?deviceId=${victimId}`,
    `${SOFTWARE}?deviceId=${made.child}`,
  ];
  for (const path of reads) t.equal((await thief.get(path)).status, 403, path);
  const lists = [
    MO,
    `${MO}?fragmentType=note`,
    `${MO}?ids=${victimId},${made.child}`,
    `${MO}?query=${encodeURIComponent(`$filter=(name eq 'victim')`)}`,
    `${MO}?text=${MARK.slice(0, 8)}`,
    `${MO}?owner=device_victim`,
    `${MO}?childDeviceId=${made.child}`,
    '/inventory/binaries',
    '/event/events',
    `/event/events?source=${victimId}`,
    '/alarm/alarms',
    `/alarm/alarms?source=${victimId}&withSourceDevices=true`,
    '/measurement/measurements',
    `/measurement/measurements?source=${victimId}`,
    '/devicecontrol/operations',
    `/devicecontrol/operations?agentId=${victimId}`,
    `/audit/auditRecords?source=${victimId}`,
  ];
  for (const path of lists) {
    const found = await thief.get(`${path}${path.includes('?') ? '&' : '?'}pageSize=100`);
    t.notMatch(found.text, new RegExp(`${MARK}|"${victimId}"|device_victim"`), `${path}: ${found.status}`);
    if (path.startsWith('/inventory')) continue;
    const csv = await thief.request('GET', path, { headers: { accept: 'text/csv' } });
    t.notMatch(csv.text, new RegExp(MARK), `${path} as CSV: ${csv.status}`);
  }
  for (const path of [
    `${MO}/count?owner=device_victim`,
    `/event/events?source=${victimId}`,
    `/alarm/alarms/count?source=${victimId}`,
  ]) {
    t.match((await thief.get(path)).text, /^0$|"events":\[\]/, path);
  }
  const event = { source, type: 'e', text: 'taken', time: TIME };
  const writes: [string, string, object?][] = [
    ['PUT', object, { name: 'taken' }],
    ['DELETE', object],
    ['PUT', `${object}/user`, { enabled: false }],
    ['PUT', `${MO}/${made.child}`, { name: 'taken' }],
    ['POST', `${object}/childDevices`, { name: 'taken' }],
    ['POST', `${object}/childDevices`, { managedObject: { id: thiefId } }],
    ['POST', `${MO}/${thiefId}/childDevices`, { managedObject: { id: victimId } }],
    ['POST', `${MO}/${thiefId}/childAssets`, { managedObject: { id: made.child } }],
    ['DELETE', `${object}/childDevices/${made.child}`],
    ['DELETE', `${object}/childDevices`],
    ['POST', `/identity/globalIds/${victimId}/externalIds`, { type: 'c8y_Serial', externalId: 'unbound' }],
    ['DELETE', '/identity/externalIds/c8y_Serial/victim'],
    ['DELETE', `/identity/externalIds/c8y_MAC/${MARK}`],
    ['POST', '/event/events', event],
    ['PUT', `/event/events/${made.event}`, { text: 'taken' }],
    ['DELETE', `/event/events/${made.event}`],
    ['PUT', `/event/events/${made.event}/binaries`, { taken: 1 }],
    ['DELETE', `/event/events/${made.event}/binaries`],
    ['POST', '/alarm/alarms', { ...event, severity: 'MAJOR' }],
    ['PUT', `/alarm/alarms/${made.alarm}`, { status: 'CLEARED' }],
    ['POST', '/measurement/measurements', event],
    ['POST', '/measurement/measurements', { measurements: [{ ...event, source: { id: thiefId } }, event] }],
    ['DELETE', `/measurement/measurements/${made.measurement}`],
    ['DELETE', `/measurement/measurements?source=${victimId}`],
    ['DELETE', `/event/events?source=${victimId}`],
    ['DELETE', `/alarm/alarms?source=${victimId}`],
    ['DELETE', `/devicecontrol/operations?deviceId=${victimId}`],
    ['POST', '/devicecontrol/operations', { deviceId: victimId, c8y_Restart: {} }],
    ['PUT', `/devicecontrol/operations/${made.operation}`, { status: 'FAILED' }],
    ['PUT', `/inventory/binaries/${made.file}`, { taken: 1 }],
    ['DELETE', `/inventory/binaries/${made.file}`],
    ['POST', `${SOFTWARE}?deviceId=${victimId}`, [{ name: 'taken', version: '1' }]],
    ['PUT', `${SOFTWARE}?deviceId=${made.child}`, [{ name: 'taken', version: '1' }]],
    ['DELETE', `${SOFTWARE}?deviceId=${victimId}`],
  ];
  for (const [method, path, body] of writes) {
    t.equal((await thief.request(method, path, body === undefined ? {} : { body })).status, 403, `${method} ${path}`);
  }
  await thief.request('PUT', `/alarm/alarms?source=${victimId}`, { body: { status: 'CLEARED' } });
  t.same(await snapshot(), before, 'nothing has changed');
});

t.test(
  "MQTT: a client ID that is bound to another one's object opens nothing, when and however it is bound",
  async (t) => {
    for (const clientId of ['victim', 'd:victim', 'victim-child'])
      await t.rejects(connect('thief', clientId), { code: 5 }, clientId);
    // Connected while nothing is bound to it, then bound by who may.
    const device = await connect('thief', 'not-yet-bound');
    await device.subscribe('s/ds', 's/e', 'devicecontrol/notifications', 'error');
    t.equal(
      (
        await thief.post(`/identity/globalIds/${victimId}/externalIds`, {
          type: 'c8y_Serial',
          externalId: 'not-yet-bound',
        })
      ).status,
      403,
    );
    await rest.create(`/identity/globalIds/${victimId}/externalIds`, {
      type: 'c8y_Serial',
      externalId: 'not-yet-bound',
    });
    await device.publish('s/us', '400,taken,text').catch(() => undefined);
    await eventually('its end', () => !device.client.connected);
    t.same(
      device.received.filter((message) => /restart|510|Restart/i.test(message)),
      [],
      'no operation of the victim came down',
    );
    await rest.delete('/identity/externalIds/c8y_Serial/not-yet-bound');
    t.same(await snapshot(), before);
  },
);

t.test(
  "a serial that is announced, or that a device has which has not connected yet, is that device's alone",
  async (t) => {
    const users = `/user/${TENANT}/users`;
    const announce = (id: string): Promise<unknown> => rest.create('/devicecontrol/newDeviceRequests', { id });
    const credit = async (id: string): Promise<void> => {
      await rest.create(users, { userName: `device_${id}`, password: SECRET });
      await rest.create(`/user/${TENANT}/groups/2/users`, { user: { self: `${server.url}${users}/device_${id}` } });
    };
    const isUnbound = async (id: string): Promise<boolean> =>
      (await rest.get(`/identity/externalIds/c8y_Serial/${id}`)).status === 404;
    // Connected before the serial is announced or has its user: the first message ends the connection.
    for (const [id, make, topic] of [
      ['late-1', announce, 's/us'],
      ['late-2', credit, 'event/events/create'],
    ] as const) {
      const early = await connect('thief', id);
      await make(id);
      await early
        .publish(topic, topic === 's/us' ? '400,e,taken' : '{"type":"e","text":"taken"}')
        .catch(() => undefined);
      await eventually('its end', () => !early.client.connected);
      t.equal(await isUnbound(id), true, id);
    }
    await announce('expected');
    await credit('bare');
    const device = await connect('thief');
    await device.subscribe('s/e');
    for (const id of ['expected', 'bare']) {
      for (const clientId of [id, `d:${id}`]) await t.rejects(connect('thief', clientId), { code: 5 }, clientId);
      t.match(await thief.post(`/identity/globalIds/${thiefId}/externalIds`, { type: 'c8y_Serial', externalId: id }), {
        status: 403,
        json: { error: 'identity/Forbidden', message: new RegExp(id) },
      });
      for (const [topic, row] of [
        ['s/us', `101,${id},Child,my_Type`],
        ['s/us', `102,${id},systemd,taken,up`],
        [`s/us/${id}`, '400,e,taken'],
      ] as const) {
        await device.publish(topic, row);
        t.equal(await isUnbound(id), true, `${topic} ${row}`);
      }
    }
    await eventually('the refusals', () => device.rows('s/e').filter((row) => /expected|bare/.test(row)).length === 6);
    t.equal(
      (await thief.post(`/identity/globalIds/${thiefId}/externalIds`, { type: 'my_Number', externalId: 'bare' }))
        .status,
      201,
      'of another type',
    );
    const owner = await connect('bare');
    await owner.publish('s/us', '400,own,text');
    t.equal((await rest.read(`${MO}/${await rest.idOf('bare')}`)).owner, 'device_bare');
    // Nothing but the object of the one who binds it: an administrator, a gateway with children of its own, the device
    // itself.
    await rest.create(`/identity/globalIds/${thiefId}/externalIds`, { type: 'c8y_Serial', externalId: 'expected' });
    await rest.delete('/identity/externalIds/c8y_Serial/expected');
    await device.publish('s/us', '101,free-1,Child,my_Type');
    await device.publish('s/us/free-2', '400,e,text');
    for (const id of ['free-1', 'free-2'])
      t.equal((await rest.read(`${MO}/${await rest.idOf(id)}`)).owner, 'device_thief');
    t.same(await snapshot(), before);
  },
);

t.test('MQTT: rows and JSON about other objects are refused', async (t) => {
  const device = await connect('thief');
  await device.subscribe('s/ds', 's/e', 'error');
  const json = { source, type: 'e', text: 'taken', time: TIME, severity: 'MAJOR', f: { s: { value: 1 } } };
  const external = { ...json, source: undefined, externalSource: { type: 'c8y_Serial', externalId: 'victim' } };
  const messages: [string, string][] = [
    ...['victim', 'victim-child'].flatMap((other): [string, string][] =>
      [
        '101,by-thief,Child,my_Type',
        '123',
        '105',
        '211,1',
        '301,a,taken',
        '306,a',
        '400,e,taken',
        '107,note',
        '114,c8y_Restart',
        '121,true,1',
        '140,taken,1',
        '142,taken,1',
        '407,e,note',
        '408,taken,,,a,STRING,taken',
        '501,c8y_Restart',
        '500',
      ].map((row) => [`s/us/${other}`, row]),
    ),
    ['s/us', `504,${made.operation}`],
    ['s/us', `505,${made.operation},no`],
    ['s/us', `506,${made.operation}`],
    ['s/us', '101,victim,Child,my_Type'],
    ['s/us', '102,victim,systemd,taken,up'],
    ...[json, external].flatMap((body): [string, string][] => [
      ['event/events/create', JSON.stringify(body)],
      ['alarm/alarms/create', JSON.stringify(body)],
      ['measurement/measurements/create', JSON.stringify(body)],
      ['event/events/createBulk', JSON.stringify({ events: [body] })],
    ]),
    [`event/events/update/${made.event}`, '{"text":"taken"}'],
    [`event/events/delete/${made.event}`, ''],
    [`alarm/alarms/update/${made.alarm}`, '{"status":"CLEARED"}'],
    [`measurement/measurements/delete/${made.measurement}`, ''],
    ['inventory/managedObjects/update/victim', '{"name":"taken"}'],
    [`inventory/managedObjects/update/${victimId}`, '{"name":"taken"}'],
    [`inventory/managedObjects/${victimId}/childDevices/create`, '{"name":"taken"}'],
    [`inventory/managedObjects/${thiefId}/childDevices/create`, JSON.stringify({ managedObject: { id: victimId } })],
  ];
  for (const [topic, payload] of messages) await device.publish(topic, payload);
  t.same(
    device.rows('s/ds').filter((row) => row.includes(victimId) || row.includes('victim')),
    [],
  );
  // Only an administrator gives objects away, whatever the protocol.
  await device.publish(
    'inventory/managedObjects/create',
    JSON.stringify({ name: 'planted', type: 'my_Planted', owner: 'device_victim' }),
  );
  await device.publish(
    `inventory/managedObjects/${thiefId}/childDevices/create`,
    JSON.stringify({ name: 'planted', type: 'my_Planted', owner: 'device_victim' }),
  );
  t.same(
    (await rest.read(`${MO}?type=my_Planted`)).managedObjects.map(({ owner }: any) => owner),
    ['device_thief', 'device_thief'],
  );
  const own = (await thief.create('/event/events', { source: { id: thiefId }, type: 'e', text: 'own', time: TIME })).id;
  await device.publish(`event/events/update/${own}`, JSON.stringify({ source, text: 'own' }));
  t.same(await snapshot(), before, 'nothing has changed');
});

t.test('MQTT: custom templates reach no further', async (t) => {
  const device = await connect('thief');
  await device.subscribe('s/dt', 's/e', 's/dc/#');
  const rows = [
    '10,gb,GET,INVENTORY,,true',
    '10,gs,GET,INVENTORY,,false,c8y_Serial',
    '10,pb,PUT,INVENTORY,,true,note,,taken',
    '10,ps,PUT,INVENTORY,,false,c8y_Serial,note,,taken',
    '10,ns,POST,INVENTORY,,c8y_Serial,note,,taken',
    '10,m,POST,MEASUREMENT,,taken,,f.s.value,NUMBER,1,source.id,,',
    '10,e,POST,EVENT,,taken,taken,,source.id,,',
    '10,a,POST,ALARM,,taken,taken,ACTIVE,MAJOR,,source.id,,',
    '10,po,PUT,OPERATION,,c8y_Restart,status,OPERATIONSTATUS,FAILED',
    '11,found,,,note,name',
  ];
  await device.publish('s/ut/thieves', rows.join('\n'));
  await device.row('s/dt', /^20,thieves,/);
  const published = [
    ...[victimId, made.child].flatMap((id) => [`gb,${id}`, `pb,${id}`, `m,,${id}`, `e,,${id}`, `a,,${id}`]),
    ...['victim', 'victim-child'].flatMap((serial) => [`gs,${serial}`, `ps,${serial}`, `ns,${serial}`]),
  ];
  for (const row of published) await device.publish('s/uc/thieves', row);
  await device.publish('s/uc/thieves/victim', 'po');
  await device.publish('s/uc/thieves/victim-child', 'm,');
  await eventually('a fault of each', () => device.rows('s/e').length === published.length + 2);
  await device.publish('s/uc/thieves', `gb,${thiefId}`);
  await device.row('s/dc/thieves', 'found,,thief');
  t.same(device.rows('s/dc/thieves'), ['found,,thief']);
  t.same(await snapshot(), before, 'nothing has changed');
  const { managedObject } = await rest.read('/identity/externalIds/c8y_SmartRest2DeviceIdentifier/thieves');
  const foreign = `${MO}/${managedObject.id as string}`;
  for (const method of ['GET', 'DELETE']) t.equal((await victim.request(method, foreign)).status, 403, method);
  t.equal((await victim.put(foreign, { name: 'taken' })).status, 403);
  const identity = '/identity/externalIds/c8y_SmartRest2DeviceIdentifier/thieves';
  for (const own of [foreign, identity])
    t.match(await as('thief').delete(own), { status: 403, json: { message: /fixed/ } }, 'which all may use');
});

t.test(
  'Bayeux: channels of others and of all are refused, and one that is open ends when the object goes to another',
  async (t) => {
    const token = (id: string): string => Buffer.from(`${TENANT}/device_${id}:${SECRET}`).toString('base64');
    const live = await BayeuxSocket.open(t, server, '/notification/realtime', token('thief'));
    const answer = async (subscription: string): Promise<boolean> =>
      (await live.ask({ channel: '/meta/subscribe', subscription }))['successful'] as boolean;
    for (const area of ['managedobjects', 'inventory', 'events', 'alarms', 'measurements', 'operations']) {
      for (const id of [victimId, '*']) t.equal(await answer(`/${area}/${id}`), false, `${area} ${id}`);
    }
    const agent = await BayeuxSocket.open(t, server, '/notification/operations', token('thief'));
    t.equal((await agent.ask({ channel: '/meta/subscribe', subscription: `/${victimId}` }))['successful'], false);
    const given = (await thief.create(MO, { name: 'given away', c8y_IsDevice: {} })).id as string;
    t.equal(await answer(`/events/${given}`), true);
    t.equal((await rest.put(`${MO}/${given}`, { owner: 'device_victim' })).status, 200);
    await eventually(
      'the end of the session',
      async () =>
        (await live.ask({ channel: '/meta/subscribe', subscription: `/events/${thiefId}` }))['error'] ===
        '402::Unknown client',
    );
    await victim.create('/event/events', { source: { id: given }, type: 'e', text: 'of the new owner', time: TIME });
    t.same(
      live.messages.filter((message) => JSON.stringify(message).includes('of the new owner')),
      [],
    );
  },
);

t.test(
  'Bayeux and MQTT: what a permission on a group has opened ends when the object leaves the group, or gets another owner',
  async (t) => {
    const users = `/user/${TENANT}/users`;
    await rest.create(users, { userName: 'guard', password: PASSWORD });
    const [outer, inner] = await Promise.all(
      ['Outer', 'Inner'].map(async (name) => (await rest.create(MO, { name, c8y_IsDeviceGroup: {} })).id as string),
    );
    const pump = await rest.createDevice('Pump');
    await rest.create(`${MO}/${outer}/childAssets`, { managedObject: { id: inner } });
    await rest.create(`${MO}/${inner}/childAssets`, { managedObject: { id: pump } });
    await rest.post(`${users}/guard/roles/inventory`, { managedObject: outer, roles: [{ id: 1 }] });
    const token = Buffer.from(`${TENANT}/guard:${PASSWORD}`).toString('base64');
    for (const leave of [`${MO}/${inner}/childAssets/${pump}`, `${MO}/${outer}/childAssets/${inner}`]) {
      const live = await BayeuxSocket.open(t, server, '/notification/realtime', token);
      await live.subscribe(`/events/${pump}`);
      t.equal((await rest.delete(leave)).status, 204);
      await eventually(
        `the end after ${leave}`,
        async () =>
          (await live.ask({ channel: '/meta/subscribe', subscription: '/events/1' }))['error'] ===
          '402::Unknown client',
      );
      await rest.create(`${MO}/${inner}/childAssets`, { managedObject: { id: pump } });
      await rest.create(`${MO}/${outer}/childAssets`, { managedObject: { id: inner } });
    }
    const device = await connect('thief');
    await device.publish('s/us', '125');
    await rest.put(`${MO}/${thiefId}`, { owner: 'device_victim' });
    await eventually('the end of the connection', () => !device.client.connected);
    await t.rejects(connect('thief'), { code: 5 });
    await rest.put(`${MO}/${thiefId}`, { owner: 'device_thief' });
  },
);

t.test('an agent acts for its children, whoever has made them; for what lies in its groups it does not', async (t) => {
  const [agent, agentId, subId] = [
    as('agent'),
    (await rest.idOf('agent')) as string,
    (await rest.idOf('sub')) as string,
  ];
  await rest.create(`${MO}/${agentId}/childDevices`, { managedObject: { id: subId } });
  t.equal((await agent.read(`${MO}/${subId}`)).name, 'sub');
  t.equal((await agent.read('/identity/externalIds/c8y_Serial/sub')).managedObject.id, subId);
  const event = { source: { id: subId }, type: 'e', text: 't', time: TIME };
  await agent.create('/event/events', event);
  await agent.create('/measurement/measurements', { ...event, f: { s: { value: 1 } } });
  await rest.create('/alarm/alarms', { ...event, type: 'of-child', severity: 'MINOR' });
  const alarms = `/alarm/alarms?source=${subId}&type=of-child`;
  t.equal((await agent.read(alarms)).alarms.length, 1);
  t.equal((await agent.get(alarms.replace('?', '/count?'))).text, '1');
  const operation = (await rest.create('/devicecontrol/operations', { deviceId: subId, c8y_Restart: {} })).id;
  t.same(
    (await agent.read(`/devicecontrol/operations?agentId=${agentId}&status=PENDING`)).operations.map(
      ({ id }: any) => id,
    ),
    [operation],
  );
  t.equal((await agent.put(`/devicecontrol/operations/${operation}`, { status: 'EXECUTING' })).status, 200);
  t.same(
    (await agent.read(`${MO}?fragmentType=c8y_IsDevice`)).managedObjects.map(({ id }: any) => id).sort(),
    [agentId, subId].sort(),
  );
  const device = await connect('agent');
  await device.subscribe('s/ds', 's/e');
  await device.publish('s/us/sub', '400,by-mqtt,text');
  t.equal((await rest.read(`/event/events?source=${subId}&type=by-mqtt`)).events.length, 1);
  await device.publish('s/us', '101,agent-made,Made,my_Type');
  const made = (await rest.idOf('agent-made')) as string;
  t.equal(
    (await agent.get('/identity/externalIds/c8y_Serial/agent-none')).status,
    404,
    'a child that is not there yet',
  );
  t.same(
    new Set(
      (await agent.read(`${MO}/${agentId}/childDevices`)).references.map(({ managedObject }: any) => managedObject.id),
    ),
    new Set([subId, made]),
  );
  // A group that a device has made is no way to those whom others put there.
  const group = (await agent.create(MO, { name: 'Trap', type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} })).id as string;
  await register(`trapped,${SECRET},my_Type,trapped,Trap,true`);
  const trapped = (await rest.idOf('trapped')) as string;
  t.same((await rest.read(`${MO}/${group}/childAssets`)).references, [], 'nor is it the group of a path');
  await rest.create(`${MO}/${group}/childAssets`, { managedObject: { id: trapped } });
  t.equal((await agent.get(`${MO}/${trapped}`)).status, 403);
});

t.test('a device that binds the serial number of a device to come keeps nothing of it', async (t) => {
  const bootstrap = new Rest(server.url, 'management/devicebootstrap', BOOTSTRAP_PASSWORD);
  const REQUESTS = '/devicecontrol/newDeviceRequests';
  const byRequest = async (id: string): Promise<void> => {
    await rest.create(REQUESTS, { id });
    await bootstrap.post('/devicecontrol/deviceCredentials', { id });
    t.equal((await rest.put(`${REQUESTS}/${id}`, { status: 'ACCEPTED' })).status, 200);
    t.equal((await bootstrap.post('/devicecontrol/deviceCredentials', { id })).status, 200);
  };
  const byFile = (id: string): Promise<void> => register(`${id},${SECRET},my_Type,${id},Hall,true`);
  // A device of its own between, and two kinds of links to it and to the thief.
  const between = (await thief.create(`${MO}/${thiefId}/childDevices`, { name: 'between' })).id as string;
  const mqtt = await connect('thief');
  for (const [serial, registerIt] of [
    ['future-1', byRequest],
    ['future-2', byFile],
  ] as const) {
    const id = (
      await thief.create(`${MO}/${thiefId}/childAdditions`, {
        name: serial,
        c8y_IsDevice: {},
        com_platform_model_Agent: {},
      })
    ).id as string;
    for (const links of [`${thiefId}/childDevices`, `${between}/childDevices`, `${between}/childAdditions`])
      await thief.create(`${MO}/${links}`, { managedObject: { id } });
    await thief.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: serial });
    await mqtt.publish(`s/us/${serial}`, '400,before,text');
    const hall = (await rest.create(MO, { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} })).id as string;
    await rest.create(`${MO}/${hall}/childAssets`, { managedObject: { id } });
    await registerIt(serial);
    t.equal((await rest.read(`${MO}/${id}`)).owner, `device_${serial}`);
    const operation = (await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} })).id as string;
    await eventually('the links to end', async () =>
      (
        await Promise.all(
          [`${thiefId}/childAdditions`, `${between}/childDevices`].map((links) => rest.read(`${MO}/${links}`)),
        )
      ).every(({ references }) => references.every(({ managedObject }: any) => managedObject.id !== id)),
    );
    t.equal((await thief.get(`${MO}/${id}`)).status, 403);
    t.equal((await thief.get(`/event/events?source=${id}`)).json.events?.length ?? 0, 0);
    t.equal((await thief.put(`${MO}/${id}`, { name: 'taken' })).status, 403);
    t.equal((await thief.put(`/devicecontrol/operations/${operation}`, { status: 'EXECUTING' })).status, 403);
    t.equal((await thief.post(`${MO}/${thiefId}/childDevices`, { managedObject: { id } })).status, 403);
    await mqtt.publish(`s/us/${serial}`, '400,after,text').catch(() => undefined);
    t.same(
      (await rest.read(`/event/events?source=${id}`)).events.map(({ type }: any) => type),
      ['before'],
    );
    t.equal((await rest.read(`${MO}/${id}/assetParents`)).references.length >= 1, true, 'it stays in its groups');
    t.same((await rest.read(`${MO}/${id}/deviceParents`)).references, []);
    t.same((await rest.read(`${MO}/${id}/additionParents`)).references, []);
  }
});

t.test('MQTT: the will of a device whose credentials have ended is not published', async (t) => {
  await register(...['leaver', 'stayer'].map((id) => `${id},${SECRET},my_Type,${id},Hall,true`));
  const willing = (id: string): Promise<Device> =>
    connectDevice(t, server, id, {
      username: `${TENANT}/device_${id}`,
      password: SECRET,
      will: { topic: 's/us', payload: Buffer.from(`301,will_${id},gone`), qos: 1, retain: false },
    });
  const [leaver, stayer] = [await willing('leaver'), await willing('stayer')];
  for (const device of [leaver, stayer]) await device.publish('s/us', '125');
  t.equal((await rest.put(`/user/${TENANT}/users/device_leaver`, { password: 'Another-pass-2' })).status, 200);
  await eventually('the end of the connection', () => !leaver.client.connected);
  stayer.client.stream.destroy();
  await eventually(
    'the will of the other device',
    async () => (await rest.read('/alarm/alarms?type=will_stayer')).alarms.length === 1,
  );
  t.same((await rest.read('/alarm/alarms?type=will_leaver')).alarms, []);
});

t.test('files for devices are read by all of them, files of devices are not', async (t) => {
  const firmware = await upload(rest, 'firmware.bin');
  t.equal((await thief.get(`/inventory/binaries/${firmware}`)).text, MARK);
  const ofDevice = await upload(rest, 'settings.txt');
  await rest.create(`${MO}/${victimId}/childAdditions`, { managedObject: { id: ofDevice } });
  t.equal((await thief.get(`/inventory/binaries/${ofDevice}`)).status, 403, 'one that belongs to a device');
  t.equal((await victim.get(`/inventory/binaries/${ofDevice}`)).text, MARK);
  await rest.delete(`${MO}/${victimId}/childAdditions/${ofDevice}`);
});

t.test('a tenant may let its devices read as before; they write no more for it', async (t) => {
  t.equal((await thief.get(`${MO}/${victimId}`)).status, 403);
  await rest.put(OPTION, { value: 'TENANT' });
  t.equal((await eventually('the option counts on every node', () => thief.read(`${MO}/${victimId}`))).note, MARK);
  t.equal((await thief.get('/identity/externalIds/c8y_Serial/victim')).status, 200);
  t.equal((await thief.get(`/inventory/binaries/${made.file}`)).text, MARK);
  t.equal((await thief.get(`/event/events/${made.event}`)).status, 403, 'the group does not have that role');
  t.equal((await thief.put(`${MO}/${victimId}`, { name: 'taken' })).status, 403);
  t.equal((await thief.delete('/identity/externalIds/c8y_Serial/victim')).status, 403);
  const live = await BayeuxSocket.open(
    t,
    server,
    '/notification/realtime',
    Buffer.from(`${TENANT}/device_thief:${SECRET}`).toString('base64'),
  );
  await live.subscribe('/managedobjects/*');
  await rest.delete(OPTION);
  await eventually(
    'the end of what was wider',
    async () =>
      (await live.ask({ channel: '/meta/subscribe', subscription: '/events/1' }))['error'] === '402::Unknown client',
  );
  t.equal((await thief.get(`${MO}/${victimId}`)).status, 403);
  t.same(await snapshot(), before);
});

t.test(
  'a role that is given to the group of devices counts for own objects; one that is given to the device itself for all',
  async (t) => {
    const add = (path: string, id: string): Promise<unknown> =>
      rest.create(path, { role: { self: `${server.url}/user/roles/${id}` } });
    for (const role of ['ROLE_EVENT_READ', 'ROLE_DEVICE_CONTROL_ADMIN', 'ROLE_INVENTORY_ADMIN'])
      await add(`/user/${TENANT}/groups/2/roles`, role);
    t.equal((await thief.get(`/event/events/${made.event}`)).status, 403);
    t.equal((await thief.put(`${MO}/${victimId}`, { name: 'taken' })).status, 403);
    t.equal((await thief.get('/identity')).status, 200, 'the links of an area');
    await eventually('the role of the group', async () =>
      JSON.stringify((await thief.read('/user/currentUser')).effectiveRoles).includes('"ROLE_EVENT_READ"'),
    );
    await t.rejects(connect('thief', 'victim'), { code: 5 });
    await add(`/user/${TENANT}/users/device_thief/roles`, 'ROLE_EVENT_READ');
    await eventually(
      'the role counts on every node',
      async () => (await thief.get(`/event/events/${made.event}`)).status === 200,
    );
  },
);

t.test('MQTT: a token on s/dat is of the user of the device, and people get none', async (t) => {
  const device = await connect('thief');
  await device.subscribe('s/dat', 's/e');
  await device.publish('s/uat', '', 0);
  const row = await device.row('s/dat', /^71,/);
  const bearer = { headers: { authorization: `Bearer ${row.slice('71,'.length)}` } };
  t.match((await rest.request('GET', '/user/currentUser', bearer)).json, { userName: 'device_thief' });
  t.equal((await rest.request('GET', `${MO}/${victimId}`, bearer)).status, 403);
  const person = await connectDevice(t, server, 'of-a-person');
  await person.subscribe('s/dat', 's/e');
  await person.publish('s/uat', '');
  await person.row('s/e', /^41,,Tokens are given to users of devices only/);
  t.same(person.rows('s/dat'), []);
});
