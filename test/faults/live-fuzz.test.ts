/**
 * Hostile Bayeux messages over HTTP and WebSocket, hostile frames of consumers, hostile rows and documents over MQTT, on
 * real connections and as a user of one tenant: no crash, no 500, nothing of the other tenant. Each run sends the same: MILLRACE_TEST_SEED has it
 * send others, MILLRACE_TEST_FUZZ_MS makes each part longer.
 */
import type { Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { Random, TEXTS } from '../helpers/clients/hostile-requests.ts';
import { connect, consume, tokenOf } from '../helpers/running/consumer.ts';
import type { NotificationConsumer } from '../helpers/running/consumer.ts';
import { connectDevice } from '../helpers/running/mqtt.ts';
import type { Device } from '../helpers/running/mqtt.ts';
import { PASSWORD, Rest, startServer } from '../helpers/running/server.ts';
import { PATIENCE } from '../helpers/until.ts';

const SEED = Number(process.env['MILLRACE_TEST_SEED'] ?? 20_261_121);
const DURATION_MS = Number(process.env['MILLRACE_TEST_FUZZ_MS'] ?? 3_000);
const MARK = 'Tenant-Two-Secret-Kq7';
const TIME = '2024-05-02T10:00:00.000Z';

const server = await startServer(t);
const { rest } = server;
t.comment(`seed ${SEED}`);
const own = await rest.createDevice('own');
await server.management.create('/tenant/tenants', {
  id: 'two',
  company: MARK,
  domain: 'two-x',
  adminName: 'boss',
  adminEmail: 'boss@example.com',
  adminPass: PASSWORD,
});
const victim = new Rest(server.url, 'two/boss', PASSWORD);
const foreign = await victim.createDevice(MARK, { my_Secret: MARK });
const alarm = await victim.create('/alarm/alarms', {
  source: { id: foreign },
  type: MARK,
  text: MARK,
  severity: 'MAJOR',
  time: TIME,
});
const operation = await victim.create('/devicecontrol/operations', { deviceId: foreign, description: MARK });
await victim.create(`/identity/globalIds/${foreign}/externalIds`, { type: 'c8y_Serial', externalId: 'two-serial' });
const IDS = [own, foreign, alarm.id, operation.id, 'two-serial', 'two', '*'];

const state = async (): Promise<string> =>
  JSON.stringify(
    [
      await victim.read(`/inventory/managedObjects/${foreign}?withChildren=true`),
      await victim.read(`/alarm/alarms/${alarm.id}`),
      await victim.read(`/devicecontrol/operations/${operation.id}`),
      await victim.read('/inventory/managedObjects?pageSize=2000'),
      await victim.read('/event/events?pageSize=2000'),
    ].map(({ self: _, ...document }) => document),
  );
const before = await state();

const text = (random: Random): string => (random.chance(0.5) ? random.of(IDS) : random.of(TEXTS));

/** Any JSON. */
function anything(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 5 : 8);
  if (kind < 3) return text(random);
  if (kind === 3) return random.of([0, -1, 1.5, 1e308, 2 ** 53, null, true, false]);
  if (kind === 4) return random.of([{}, [], '']);
  if (kind === 5) return Array.from({ length: random.below(4) }, () => anything(random, depth + 1));
  return Object.fromEntries(Array.from({ length: random.below(4) }, () => [text(random), anything(random, depth + 1)]));
}

const AREAS = [
  'alarms',
  'events',
  'operations',
  'measurements',
  'managedobjects',
  'alarmsWithChildren',
  'eventsWithChildren',
  'nothing',
];

function bayeux(random: Random, clientId: string): unknown {
  const channel = random.of([
    '/meta/handshake',
    '/meta/subscribe',
    '/meta/subscribe',
    '/meta/unsubscribe',
    '/meta/connect',
    '/meta/disconnect',
    '/meta/x',
    `/alarms/${foreign}`,
  ]);
  // A connect would wait for what comes: the server is asked not to.
  const message: Record<string, unknown> = {
    id: '1',
    channel,
    version: '1.0',
    clientId: random.chance(0.8) ? clientId : text(random),
    advice: { timeout: 0 },
    supportedConnectionTypes: ['long-polling', 'websocket'],
    connectionType: random.of(['long-polling', 'websocket']),
    subscription: `/${random.of(AREAS)}/${text(random)}`,
  };
  for (const name of Object.keys(message)) {
    if (name === 'advice' || !random.chance(0.12)) continue;
    if (random.chance(0.4)) delete message[name];
    else message[name] = anything(random);
  }
  if (random.chance(0.1)) message[text(random)] = anything(random);
  return message;
}

/** One message, several, or a broken text. */
function body(random: Random, clientId: string): string {
  const json = JSON.stringify(
    random.chance(0.05)
      ? anything(random)
      : Array.from({ length: 1 + random.below(3) }, () => bayeux(random, clientId)),
  );
  if (!random.chance(0.1)) return json;
  const at = random.below(json.length);
  return random.chance(0.5) ? json.slice(0, at) : `${json.slice(0, at)}${random.of(TEXTS)}${json.slice(at)}`;
}

async function isUnharmed(t: Test, complaint: string | undefined): Promise<void> {
  t.equal(complaint, undefined, `seed ${SEED}`);
  t.ok(server.isRunning, 'the server runs');
  t.equal(await state(), before, 'the other tenant is as it was');
  t.same(
    server.complaints.filter((line) => !/refused by the limit|"limit":/.test(line)).slice(0, 3),
    [],
    'nothing was complained about',
  );
}

t.test('Bayeux over HTTP', async (t) => {
  const random = new Random(SEED);
  const send = (sent: string, path: string): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      body: sent,
      signal: AbortSignal.timeout(20_000 * PATIENCE),
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`t1/admin:${PASSWORD}`).toString('base64')}`,
      },
    });
  const [{ clientId }] = (await (
    await send(
      '[{"channel":"/meta/handshake","version":"1.0","supportedConnectionTypes":["long-polling"]}]',
      '/cep/realtime',
    )
  ).json()) as [{ clientId: string }];
  const until = Date.now() + DURATION_MS;
  let complaint: string | undefined;
  let count = 0;
  while (Date.now() < until && complaint === undefined) {
    const sent = body(random, clientId);
    const reply = await send(
      sent,
      random.of([
        '/cep/realtime',
        '/notification/realtime',
        '/devicecontrol/notifications',
        '/notification/operations',
      ]),
    ).catch((error: Error) => error);
    const answered = reply instanceof Error ? reply.message : await reply.text();
    count += 1;
    if (reply instanceof Error || reply.status >= 500 || answered.includes(MARK))
      complaint = `${reply instanceof Error ? '' : reply.status} ${answered.slice(0, 300)} to ${sent.slice(0, 600)}`;
  }
  t.comment(`${count} requests`);
  await isUnharmed(t, complaint);
});

t.test('Bayeux over WebSocket', async (t) => {
  const random = new Random(SEED + 1);
  const until = Date.now() + DURATION_MS;
  const seen: string[] = [];
  let count = 0;
  while (Date.now() < until) {
    const socket = new WebSocket(
      `ws://127.0.0.1:${server.httpPort}${random.of(['/cep/realtime', '/notification/realtime'])}`,
    );
    let clientId = 'none';
    socket.on('message', (data) => {
      const answered = String(data);
      if (answered.includes(MARK) || /"error":"50\d/.test(answered)) seen.push(answered.slice(0, 300));
      clientId = /"clientId":"([^"]+)"/.exec(answered)?.[1] ?? clientId;
    });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    const token = Buffer.from(`t1/admin:${PASSWORD}`).toString('base64');
    socket.send(
      JSON.stringify([
        {
          id: '0',
          channel: '/meta/handshake',
          version: '1.0',
          supportedConnectionTypes: ['websocket'],
          ext: { 'com.cumulocity.authn': { token } },
        },
      ]),
    );
    for (let index = 0; index < 60 && socket.readyState === socket.OPEN; index += 1) {
      socket.send(random.chance(0.03) ? Buffer.from(body(random, clientId)) : body(random, clientId));
      count += 1;
      if (index % 5 === 0)
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
    }
    await victim.put(`/alarm/alarms/${alarm.id}`, { text: MARK });
    socket.terminate();
  }
  t.comment(`${count} messages`);
  await isUnharmed(t, seen[0]);
});

/** What a consumer sends that means it ill, or is broken. */
function hostileFrame(random: Random, { socket, frames }: NotificationConsumer): void {
  const known = frames.length === 0 ? 'AAAAAAAAAAAA' : frames[random.below(frames.length)].id;
  const bytes = Buffer.from(Array.from({ length: 1 + random.below(40) }, () => random.below(256)));
  const kind = random.below(20);
  if (kind < 6) socket.send(known);
  else if (kind < 9)
    socket.send(random.of([text(random), '', known.toLowerCase(), `${known}\n${known}`, 'unsubscribe']));
  else if (kind === 9) socket.send(random.of(['unsubscribe_subscriber', ' unsubscribe_subscriber\n']));
  else if (kind === 10) socket.send(random.of([bytes, Buffer.from(known), Buffer.from('unsubscribe_subscriber')]));
  else if (kind === 11) socket.send('x'.repeat(random.of([4_096, 4_097, 70_000])));
  else if (kind === 12) for (const fin of [false, false, true]) socket.send(known.slice(0, 4), { fin });
  else if (kind === 13) socket.send('half', { fin: false });
  else if (kind < 16) socket[random.of(['ping', 'pong'] as const)](bytes);
  else if (kind === 16) socket.close(random.of([1000, 1001, 3000, 4999]), 'x'.repeat(random.below(120)));
  else if (kind === 17) (socket as unknown as { _socket: Socket })._socket.write(bytes);
  else socket.send(Buffer.from(known), { binary: false });
}

t.test('frames of consumers', async (t) => {
  const random = new Random(SEED + 3);
  const subscribed = { context: 'mo', subscription: 'fuzz', subscriptionFilter: { apis: ['measurements'] } };
  await rest.create('/notification2/subscriptions', { ...subscribed, source: { id: own } });
  await victim.create('/notification2/subscriptions', { ...subscribed, source: { id: foreign } });
  const good = await consume(server, await tokenOf(rest, { subscription: 'fuzz', subscriber: 'good' }));
  const stranger = await consume(server, await tokenOf(victim, { subscription: 'fuzz', subscriber: 'bad' }));
  const token = await tokenOf(rest, { subscription: 'fuzz', subscriber: 'bad', shared: true });
  const until = Date.now() + DURATION_MS / 2;
  const values: number[] = [];
  let count = 0;
  while (Date.now() < until) {
    const consumer = await connect(server.url, token, { isAcknowledging: false });
    if (typeof consumer === 'number') throw new Error(`refused with ${consumer}`);
    for (let index = 0; index < 60 && consumer.socket.readyState === WebSocket.OPEN; index += 1) {
      hostileFrame(random, consumer);
      count += 1;
      if (index % 10 !== 0) continue;
      values.push(values.length);
      await rest.create('/measurement/measurements', {
        source: { id: own },
        type: 'x',
        time: TIME,
        f: { s: { value: values.length - 1 } },
      });
    }
    consumer.socket.terminate();
  }
  t.comment(`${count} frames`);
  const frames = await good.has(values.length);
  t.same(
    frames.map(({ body }) => body.f.s.value),
    values,
    'another subscriber has each message, in order',
  );
  t.equal(stranger.closed, undefined, 'that of the other tenant is connected');
  await isUnharmed(t, undefined);
  for (const one of [good, stranger]) await one.close();
});

const TOPICS = [
  's/us',
  't/us',
  'q/us',
  'c/us',
  's/us/own-child',
  's/us/two-serial',
  'measurement/measurements/create',
  'measurement/measurements/createBulk',
  'event/events/create',
  'event/events/createBulk',
  'alarm/alarms/create',
  'alarm/alarms/createBulk',
  'inventory/managedObjects/create',
  `inventory/managedObjects/update/${foreign}`,
  'inventory/managedObjects/update/two-serial',
  `alarm/alarms/update/${alarm.id}`,
  `alarm/alarms/delete/${alarm.id}`,
  `inventory/managedObjects/${foreign}/childDevices/create`,
  `event/events/update/${alarm.id}`,
];
const TEMPLATES = [
  '100',
  '101',
  '102',
  '105',
  '110',
  '112',
  '114',
  '117',
  '119',
  '125',
  '200',
  '201',
  '210',
  '211',
  '212',
  '301',
  '302',
  '303',
  '304',
  '305',
  '306',
  '400',
  '401',
  '402',
  '500',
  '501',
  '502',
  '503',
  '504',
  '505',
  '506',
  '507',
  '999',
  '',
];

function row(random: Random): string {
  const fields = Array.from({ length: random.below(7) }, () =>
    random.chance(0.3)
      ? `"${text(random)}"`
      : random.chance(0.3)
        ? random.of(['21.5', TIME, 'CRITICAL', 'c8y_Restart'])
        : text(random),
  );
  return [random.of(TEMPLATES), ...fields].join(',');
}

function document(random: Random): string {
  const base: Record<string, unknown> = {
    type: text(random),
    time: TIME,
    text: text(random),
    severity: 'MAJOR',
    source: { id: random.of(IDS) },
    f: { s: { value: 1 } },
  };
  for (const name of Object.keys(base)) if (random.chance(0.25)) base[name] = anything(random);
  const list = random.of(['measurements', 'events', 'alarms']);
  const json = JSON.stringify(random.chance(0.3) ? { [list]: [base, anything(random)] } : base);
  return random.chance(0.1) ? json.slice(0, random.below(json.length)) : json;
}

t.test('rows and documents over MQTT', async (t) => {
  const random = new Random(SEED + 2);
  const until = Date.now() + DURATION_MS;
  const seen: string[] = [];
  let count = 0;
  for (let round = 0; Date.now() < until; round += 1) {
    const device: Device = await connectDevice(t, server, `fuzz-${round % 3}`);
    for (const topic of ['s/ds', 's/e', 'error', 's/dt']) await device.client.subscribeAsync(topic, { qos: 1 });
    for (let index = 0; index < 150 && device.client.connected && Date.now() < until; index += 1) {
      const topic = random.of(TOPICS);
      const payload = /^\w\/us/.test(topic)
        ? Array.from({ length: 1 + random.below(4) }, () => row(random)).join('\n')
        : document(random);
      // What is refused may end the connection, the next round makes another.
      await Promise.race([
        device.publish(topic, payload.slice(0, 16_000)).catch(() => undefined /* closed */),
        new Promise((resolve) => {
          device.client.once('close', () => resolve(undefined));
        }),
      ]);
      count += 1;
    }
    seen.push(...device.received.filter((message) => message.includes(MARK) || /internalError/.test(message)));
    device.client.end(true);
  }
  t.comment(`${count} messages`);
  t.ok(count > 20, `${count} messages`);
  await isUnharmed(t, seen[0]);
});
