/**
 * The CometD client over both transports, plain fetch, and a bare WebSocket that stops reading, against a real HTTP
 * server.
 */
import { CometD } from 'cometd';
import { adapt } from 'cometd-nodejs-client';
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { WebSocket } from 'ws';
import { TestNotification } from './helpers.ts';
import type { Message } from './helpers.ts';
import { until } from '../helpers/until.ts';
import { AUTHORIZATION, startServer } from './http-server.ts';
import type { RealServer } from './http-server.ts';

adapt();

type Transport = 'long-polling' | 'websocket';

const TOKEN = Buffer.from('t1/admin:secret').toString('base64');

function createComet(server: RealServer, transport: Transport, path = '/notification/realtime'): any {
  const comet: any = new CometD();
  for (const type of ['websocket', 'long-polling', 'callback-polling']) {
    if (type !== transport) comet.unregisterTransport(type);
  }
  comet.configure({
    url: `http://127.0.0.1:${server.port}${path}`,
    logLevel: 'error',
    requestHeaders: { Authorization: AUTHORIZATION },
    maxNetworkDelay: 5_000,
  });
  return comet;
}

function handshake(comet: any, properties: object = {}): Promise<Message> {
  return new Promise((resolve) => void comet.handshake(properties, resolve));
}

function subscribe(comet: any, channel: string, listener: (message: Message) => void): Promise<Message> {
  return new Promise((resolve) => void comet.subscribe(channel, listener, resolve));
}

async function checkComet(t: any, transport: Transport): Promise<void> {
  const server = await startServer();
  t.teardown(() => server.close());
  const comet = createComet(server, transport);
  const seen: number[] = [];
  const connects: Message[] = [];
  comet.addListener('/meta/connect', (message: Message) => connects.push(message));
  const ext = transport === 'websocket' ? { 'com.cumulocity.authn': { token: TOKEN } } : {};
  t.equal((await handshake(comet, { ext })).successful, true);
  t.equal(
    (await subscribe(comet, '/measurements/*', (message) => seen.push(message.data.data.value))).successful,
    true,
  );
  t.equal((await subscribe(comet, '/nothing/here', () => undefined)).successful, false);
  await until('connected', () => connects.length > 0);
  for (let value = 0; value < 1_000; value += 1) {
    server.bus.publish(new TestNotification('measurements', String(value % 7), JSON.stringify({ value })));
    if (value % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await until('all measurements', () => seen.length === 1_000);
  t.same(
    seen,
    Array.from({ length: 1_000 }, (_, index) => index),
  );
  t.ok(connects.every((message) => message.successful));
  t.same(server.refusals.counts, {});
  await new Promise<void>((resolve) => void comet.disconnect(() => resolve()));
  await until('disconnected', () => server.server.sessionCount === 0);
}

t.test('CometD over long polling', (t) => checkComet(t, 'long-polling'));
t.test('CometD over WebSocket, with the credentials in ext', (t) => checkComet(t, 'websocket'));

t.test('CometD shakes hands again by itself when its session is gone', async (t) => {
  for (const transport of ['long-polling', 'websocket'] as const) {
    const server = await startServer();
    t.teardown(() => server.close());
    const comet = createComet(server, transport);
    const seen: Message[] = [];
    let handshakes = 0;
    comet.addListener('/meta/handshake', () => {
      handshakes += 1;
      comet.subscribe('/alarms/1', (message: Message) => seen.push(message));
    });
    await handshake(comet, { ext: { 'com.platform.authn': { token: TOKEN } } });
    await until('subscribed', () => server.bus.hasSubscribers(1, 'alarms'));
    server.server.endUser('t1', 'admin');
    await until('subscribed again', () => handshakes === 2 && server.bus.hasSubscribers(1, 'alarms'));
    server.bus.publish(new TestNotification('alarms', '1', '{}'));
    await until('alarm', () => seen.length === 1);
    await new Promise<void>((resolve) => void comet.disconnect(() => resolve()));
  }
});

t.test('CometD does not come back after wrong credentials', async (t) => {
  const server = await startServer();
  t.teardown(() => server.close());
  const comet = createComet(server, 'websocket');
  const answer = await handshake(comet, { ext: { 'com.platform.authn': { token: 'd3Jvbmc6d3Jvbmc=' } } });
  t.match(answer, { successful: false, error: '401::Unauthorized' });
  t.equal(comet.isDisconnected(), true);
});

t.test('what is lost reaches a CometD listener', async (t) => {
  const server = await startServer({ limits: { queueMessages: 10 } });
  t.teardown(() => server.close());
  const comet = createComet(server, 'long-polling', '/cep/realtime');
  const lost: Message[] = [];
  const seen: Message[] = [];
  comet.addListener('/millrace/lost', (message: Message) => lost.push(message.data));
  await handshake(comet);
  await subscribe(comet, '/events/1', (message) => seen.push(message));
  for (let index = 0; index < 25; index += 1) server.bus.publish(new TestNotification('events', '1', String(index)));
  await until('events', () => seen.length === 10);
  t.same(lost, [{ lost: 15, limit: 'realtime/queue-messages' }]);
  t.same(seen[0].data, [{ realtimeAction: 'CREATE', data: 15 }], "an array at the documents' URL");
  await new Promise<void>((resolve) => void comet.disconnect(() => resolve()));
});

t.test('a long poll that is cut off leaves its messages for the next', async (t) => {
  const server = await startServer();
  t.teardown(() => server.close());
  const post = async (body: object[], signal?: AbortSignal): Promise<Message[]> => {
    const response = await fetch(`http://127.0.0.1:${server.port}/notification/realtime`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization: AUTHORIZATION },
      ...(signal ? { signal } : {}),
    });
    return (await response.json()) as Message[];
  };
  const [{ clientId }] = await post([{ channel: '/meta/handshake', version: '1.0' }]);
  await post([
    { channel: '/meta/subscribe', clientId, subscription: '/alarms/1' },
    { channel: '/meta/connect', clientId },
  ]);
  const abort = new AbortController();
  const before = server.requestCount();
  const held = post([{ channel: '/meta/connect', clientId }], abort.signal);
  await until('held', () => server.requestCount() > before);
  await new Promise((resolve) => setTimeout(resolve, 50));
  abort.abort();
  await t.rejects(held);
  await new Promise((resolve) => setTimeout(resolve, 50));
  server.bus.publish(new TestNotification('alarms', '1', '1'));
  t.match(await post([{ channel: '/meta/connect', clientId }]), [
    { channel: '/alarms/1' },
    { channel: '/meta/connect' },
  ]);
});

/** A WebSocket that shakes hands, subscribes and connects over a bare socket, and then reads nothing more. */
async function stuckWebSocket(server: RealServer): Promise<() => void> {
  const socket = connect(server.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.write(
    `GET /notification/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
  );
  await until('upgraded', () => text.includes('\r\n\r\n'));
  const send = (message: object): void => {
    const payload = Buffer.from(JSON.stringify([message]));
    socket.write(
      Buffer.concat([Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 255, 0, 0, 0, 0]), payload]),
    );
  };
  send({ channel: '/meta/handshake', version: '1.0' });
  await until('handshake', () => text.includes('clientId'));
  const clientId = /"clientId":"([0-9a-f]+)"/.exec(text)?.[1];
  send({ channel: '/meta/subscribe', clientId, subscription: '/measurements/*' });
  send({ channel: '/meta/connect', clientId });
  await until('connected', () => text.includes('/meta/connect'));
  send({ channel: '/meta/connect', clientId });
  socket.pause();
  return () => socket.destroy();
}

t.test(
  'a WebSocket that stops reading slows neither the publisher nor another, and its memory is bounded',
  async (t) => {
    const server = await startServer();
    t.teardown(() => server.close());
    const release = await stuckWebSocket(server);
    const other = new WebSocket(`ws://127.0.0.1:${server.port}/notification/realtime`, {
      headers: { authorization: AUTHORIZATION },
    });
    let seenCount = 0;
    let clientId = '';
    let lostCount = 0;
    const send = (message: object): void => other.send(JSON.stringify([{ clientId, ...message }]));
    other.on('message', (data) => {
      for (const message of JSON.parse(String(data)) as Message[]) {
        if (message.channel === '/meta/handshake') {
          clientId = message.clientId;
          send({ channel: '/meta/subscribe', subscription: '/measurements/*' });
        }
        if (message.channel === '/meta/subscribe' || message.channel === '/meta/connect')
          send({ channel: '/meta/connect' });
        if (message.channel === '/millrace/lost') lostCount += message.data.lost;
        if (message.channel.startsWith('/measurements/')) seenCount += 1;
      }
    });
    await new Promise((resolve) => void other.on('open', resolve));
    send({ channel: '/meta/handshake', version: '1.0' });
    await until('both', () => server.server.sessionCount === 2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const text = JSON.stringify({ filling: 'x'.repeat(1_000) });
    const total = 20_000;
    for (let index = 0; index < total; index += 1) {
      server.bus.publish(new TestNotification('measurements', '1', text));
      // Small batches: the reading client keeps up, the other has long stopped.
      if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(`the other gets all, has ${seenCount}`, () => seenCount === total);
    t.equal(lostCount, 0);
    t.ok(server.refusals.counts['realtime/queue-bytes'] > 1_000, 'the stuck one loses');
    t.ok(server.server.queuedBytes <= 1_048_576 && server.server.queuedMessageCount <= 1_000);
    release();
    other.close();
  },
);
