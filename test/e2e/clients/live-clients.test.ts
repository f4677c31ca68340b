/**
 * Live data with the `cometd` client over both transports and with bare `ws`: what devices publish arrives as messages.
 */
import { CometD } from 'cometd';
import { adapt } from 'cometd-nodejs-client';
import t from 'tap';
import { WebSocket } from 'ws';
import { BayeuxSocket, TOKEN } from '../../helpers/running/bayeux.ts';
import type { Message } from '../../helpers/running/bayeux.ts';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Teardown } from '../../helpers/running/server.ts';

adapt();

// CometD sends bodies in chunks, which uWebSockets.js refuses behind a proxy.
const server = await startServer(t, { flags: ['--trust-proxy', 'no'] });
const { rest } = server;
const LOGIN = `${TENANT}/admin:${PASSWORD}`;
const AUTHORIZATION = `Basic ${Buffer.from(LOGIN).toString('base64')}`;

type Transport = 'long-polling' | 'websocket';

/** A connected CometD client. */
async function connect(t: Teardown, transport: Transport, path: string): Promise<any> {
  const comet: any = new CometD();
  for (const type of ['websocket', 'long-polling', 'callback-polling'])
    if (type !== transport) comet.unregisterTransport(type);
  comet.configure({
    url: server.url + path,
    logLevel: 'error',
    maxNetworkDelay: 5_000,
    ...(transport === 'long-polling' ? { requestHeaders: { Authorization: AUTHORIZATION } } : {}),
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        if (comet.isDisconnected()) resolve();
        else comet.disconnect(() => resolve());
      }),
  );
  const answer = await new Promise<Message>((resolve) => {
    comet.handshake(transport === 'websocket' ? { ext: { 'com.cumulocity.authn': { token: TOKEN } } } : {}, resolve);
  });
  if (answer['successful'] !== true) throw new Error(JSON.stringify(answer));
  return comet;
}

const subscribe = (comet: any, channel: string, listener: (message: Message) => void): Promise<[any, Message]> =>
  new Promise((resolve) => {
    const subscription = comet.subscribe(channel, listener, (answer: Message) => resolve([subscription, answer]));
  });

for (const [transport, path] of [
  ['long-polling', '/cep/realtime'],
  ['websocket', '/cep/realtime'],
  ['long-polling', '/notification/realtime'],
  ['websocket', '/notification/realtime'],
] as const) {
  t.test(`CometD over ${transport} at ${path}: all areas, by device and by *`, async (t) => {
    const serial = `${transport}-${path.replaceAll('/', '-')}`;
    const device = await connectDevice(t, server, serial);
    await device.publish('s/us', '100,Live,my_Type');
    const id = (await rest.idOf(serial)) as string;
    const stranger = await rest.createDevice('Stranger');
    const comet = await connect(t, transport, path);
    const seen: string[] = [];
    const isArray = path === '/cep/realtime';
    const listen = async (channel: string): Promise<any> => {
      const [subscription, answer] = await subscribe(comet, channel, (message) => {
        t.equal(Array.isArray(message['data']), isArray, 'the form of data');
        for (const { realtimeAction, data } of isArray ? message['data'] : [message['data']]) {
          const what = data?.type ?? data?.status ?? '';
          seen.push(
            `${message['channel']} ${realtimeAction} ${what} ${data?.status ?? ''} ${data?.count ?? ''}`
              .trim()
              .replaceAll(/ +/g, ' '),
          );
        }
      });
      t.equal(answer['successful'], true, channel);
      return subscription;
    };
    for (const area of ['measurements', 'events', 'alarms', 'managedobjects', 'operations'])
      await listen(`/${area}/${id}`);
    await listen('/alarms/*');
    const expect = (...wanted: string[]): Promise<unknown> =>
      eventually(wanted.join(', '), () => {
        if (wanted.every((text) => seen.includes(text))) return true;
        throw new Error(`seen ${JSON.stringify(seen)}`);
      });
    await device.publish('s/us', '200,my_M,s,1');
    await expect(`/measurements/${id} CREATE my_M`);
    await device.publish('s/us', '400,my_E,text');
    await expect(`/events/${id} CREATE my_E`);
    await device.publish('s/us', '301,my_A,text');
    await expect(`/alarms/${id} CREATE my_A ACTIVE 1`);
    await device.publish('s/us', '301,my_A,text');
    await expect(`/alarms/${id} UPDATE my_A ACTIVE 2`);
    await device.publish('s/us', '306,my_A');
    await expect(`/alarms/${id} UPDATE my_A CLEARED 2`);
    await device.publish('s/us', '110,serial,model,1');
    await expect(`/managedobjects/${id} UPDATE my_Type`);
    const operation = await rest.create('/devicecontrol/operations', { deviceId: id, c8y_Restart: {} });
    await expect(`/operations/${id} CREATE PENDING PENDING`);
    await rest.put(`/devicecontrol/operations/${operation.id}`, { status: 'EXECUTING' });
    await expect(`/operations/${id} UPDATE EXECUTING EXECUTING`);
    t.ok(seen.filter((text) => text.includes('my_A ACTIVE 1')).length >= 1);
    await rest.create('/alarm/alarms', {
      source: { id: stranger },
      type: 'foreign',
      text: 't',
      severity: 'MINOR',
      time: new Date().toISOString(),
    });
    await eventually('an alarm of another device by *', () => seen.some((text) => text.includes('CREATE foreign')));
    t.notOk(seen.some((text) => text.startsWith(`/measurements/${stranger}`)));
  });
}

t.test('what is unsubscribed does not come any more', async (t) => {
  const id = await rest.createDevice('Unsubscribed');
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe(`/events/${id}`, `/alarms/${id}`);
  t.match(await live.ask({ channel: '/meta/unsubscribe', subscription: `/events/${id}` }), {
    successful: true,
    subscription: `/events/${id}`,
  });
  await rest.create('/event/events', { source: { id }, type: 'e', text: 't', time: '2024-05-02T10:00:00.000Z' });
  await rest.create('/alarm/alarms', {
    source: { id },
    type: 'a',
    text: 't',
    severity: 'MINOR',
    time: '2024-05-02T10:00:00.000Z',
  });
  await live.message(({ channel }) => channel === `/alarms/${id}`);
  t.same(
    live.messages.map(({ channel }) => channel),
    [`/alarms/${id}`],
  );
});

t.test('creation, change and deletion of a managed object', async (t) => {
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe('/managedobjects/*');
  const id = await rest.createDevice('Short-lived', { type: 'short_Lived' });
  await rest.put(`/inventory/managedObjects/${id}`, { name: 'Changed' });
  await rest.delete(`/inventory/managedObjects/${id}`);
  await live.message(({ data }) => data.realtimeAction === 'DELETE' && JSON.stringify(data.data).includes(id));
  const actions = live.messages
    .filter(({ data }) => JSON.stringify(data.data).includes(id))
    .map(({ data }) => data.realtimeAction);
  t.same(actions, ['CREATE', 'UPDATE', 'DELETE']);
});

t.test('alarms and events with children', async (t) => {
  const parent = await rest.createDevice('Parent');
  const child = await rest.createDevice('Child');
  await rest.create(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: child } });
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe(`/alarmsWithChildren/${parent}`, `/eventsWithChildren/${parent}`);
  await rest.create('/alarm/alarms', {
    source: { id: child },
    type: 'a',
    text: 't',
    severity: 'MINOR',
    time: '2024-05-02T10:00:00.000Z',
  });
  await rest.create('/event/events', { source: { id: child }, type: 'e', text: 't', time: '2024-05-02T10:00:00.000Z' });
  await live.message(({ channel, data }) => channel === `/alarmsWithChildren/${parent}` && data.data.type === 'a');
  await live.message(({ channel, data }) => channel === `/eventsWithChildren/${parent}` && data.data.type === 'e');
});

t.test('the documents of messages are those of REST', async (t) => {
  const id = await rest.createDevice('Compared');
  const live = await BayeuxSocket.open(t, server, '/notification/realtime');
  await live.subscribe(`/events/${id}`, `/measurements/${id}`, `/alarms/${id}`);
  const time = '2024-05-02T10:00:00.000Z';
  const event = await rest.create('/event/events', {
    source: { id },
    type: 'e',
    text: 't',
    time,
    nested: { a: [1, { b: {} }] },
  });
  const alarm = await rest.create('/alarm/alarms', {
    source: { id },
    type: 'a',
    text: 't',
    severity: 'MINOR',
    time,
    more: { x: 1 },
  });
  const measurement = await rest.create('/measurement/measurements', {
    source: { id },
    type: 'm',
    time,
    f: { s: { value: 1.5, unit: 'C' } },
  });
  for (const [area, entity, names] of [
    ['events', event, ['id', 'self', 'type', 'text', 'time', 'nested', 'creationTime']],
    ['alarms', alarm, ['id', 'self', 'type', 'severity', 'status', 'more', 'count']],
    ['measurements', measurement, ['id', 'self', 'type', 'time', 'f']],
  ] as const) {
    const { data } = (await live.message(({ channel }) => channel === `/${area}/${id}`))['data'];
    for (const name of names) t.same(data[name], entity[name], `${area} ${name}`);
    t.same(data.source, { id, self: entity['source'].self });
  }
});

t.test('handshake refused, unknown client, disconnect', async (t) => {
  const wrong = Buffer.from(`${TENANT}/admin:wrong`).toString('base64');
  await t.rejects(BayeuxSocket.open(t, server, '/notification/realtime', wrong), /401::Unauthorized/);
  const live = await BayeuxSocket.open(t, server, '/cep/realtime');
  t.match(await live.ask({ channel: '/meta/subscribe', subscription: '/nothing/at/all' }), { successful: false });
  t.match(await live.ask({ channel: '/meta/connect', connectionType: 'websocket', clientId: 'unknown' }), {
    successful: false,
    error: '402::Unknown client',
    advice: { reconnect: 'handshake' },
  });
  t.match(await live.ask({ channel: '/meta/disconnect' }), { successful: true });
  t.match(await live.ask({ channel: '/meta/subscribe', subscription: '/alarms/*' }), {
    successful: false,
    error: '402::Unknown client',
  });
  const post = async (body: object, authorization = AUTHORIZATION): Promise<Response> =>
    fetch(`${server.url}/notification/realtime`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization, 'content-type': 'application/json' },
    });
  const bare = await fetch(`${server.url}/notification/realtime`, {
    method: 'POST',
    body: '[{"channel":"/meta/handshake","version":"1.0"}]',
    headers: { authorization: AUTHORIZATION, accept: '' },
  });
  t.match(await bare.json(), [{ successful: true }], 'without Accept');
  const unknown = await post([{ channel: '/meta/connect', clientId: 'unknown', id: '7' }]);
  t.equal(unknown.status, 200);
  t.match(await unknown.json(), [{ id: '7', successful: false, error: '402::Unknown client' }]);
  t.equal((await post([{ channel: '/meta/handshake' }], 'Basic d3Jvbmc6d3Jvbmc=')).status, 401);
});

t.test('a WebSocket may bring its credentials in a header; wrong ones close it', async (t) => {
  const basic = (password: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${TENANT}/header:${password}`).toString('base64')}`,
  });
  await rest.create(`/user/${TENANT}/users`, { userName: 'header', password: PASSWORD });
  // The first login takes as long as its password is hashed, the second one none.
  for (const round of ['first', 'second']) {
    const live = await BayeuxSocket.open(t, server, '/notification/realtime', '', basic(PASSWORD));
    t.match(
      await live.ask({ channel: '/meta/subscribe', subscription: '/alarms/*' }),
      { successful: false, error: /^403:/ },
      `${round}: the rights of its user`,
    );
  }
  const socket = new WebSocket(`ws://127.0.0.1:${server.httpPort}/cep/realtime`, { headers: basic('wrong') });
  t.teardown(() => socket.terminate());
  let code: number | undefined;
  socket.once('close', (sent: number) => {
    code = sent;
  });
  t.equal(await eventually('closed', () => code), 1008);
});

t.test("another tenant's subscriber gets nothing", async (t) => {
  const token = Buffer.from('management/admin:mill-Race-8').toString('base64');
  const id = await rest.createDevice('Private');
  const there = await BayeuxSocket.open(t, server, '/notification/realtime', token);
  await there.ask({ channel: '/meta/subscribe', subscription: `/events/${id}` });
  await there.subscribe('/events/*');
  const here = await BayeuxSocket.open(t, server, '/notification/realtime');
  await here.subscribe('/events/*');
  await rest.create('/event/events', { source: { id }, type: 'e', text: 't', time: '2024-05-02T10:00:00.000Z' });
  const other = await server.management.createDevice('There');
  await server.management.create('/event/events', {
    source: { id: other },
    type: 'there',
    text: 't',
    time: '2024-05-02T10:00:00.000Z',
  });
  await here.message(({ data }) => data.data.source.id === id);
  await there.message(({ data }) => data.data.type === 'there');
  t.equal(there.messages.length, 1);
  t.notOk(here.messages.some(({ data }) => data.data.type === 'there'));
});
