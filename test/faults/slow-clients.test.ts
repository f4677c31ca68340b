/** Clients that do not read or hardly send: others are served as before, memory stays bounded. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import t from 'tap';
import WebSocket from 'ws';
import { until } from '../helpers/setup-command.ts';
import { AUTHORIZATION, PASSWORD, ServerProcess, USER } from '../helpers/process/server.ts';
import { RawMqtt } from '../helpers/process/mqtt.ts';
import { account, DeviceSender, HttpSender, measurementsOf } from '../helpers/process/load.ts';

const GROWTH_MAX_BYTES = 250 * 1_048_576;
/** Rows that cannot be understood, each answered on s/e: more than a client's queue holds. */
const BAD_ROWS = 300_000;
const BAD_ROW = `999,${'x'.repeat(60)}`;
const LARGE_ANSWERS = 20;

t.test('slow clients harm nobody else', async (t) => {
  const server = await new ServerProcess(t).start();
  const devices = [
    new DeviceSender(server, 'quick-0', { gapMs: 20 }),
    new DeviceSender(server, 'quick-1', { gapMs: 20 }),
  ];
  const many = new HttpSender(server, 'many', 1_000, { gapMs: 50 });
  await many.open();
  const runs = [...devices, many].map((sender) => sender.run());
  await until(
    'a page of measurements is stored',
    () => many.collections.acknowledged.size > 4 && devices.every(({ lastAckMs }) => lastAckMs > 0),
  );
  const startBytes = server.rssBytes;
  let longestMs = 0;
  let mostBytes = startBytes;
  const watch = setInterval(() => {
    mostBytes = Math.max(mostBytes, server.isAlive ? server.rssBytes : 0);
    for (const { lastAckMs } of devices) longestMs = Math.max(longestMs, Date.now() - lastAckMs);
  }, 50);
  const sockets: Socket[] = [];
  t.teardown(() => {
    clearInterval(watch);
    for (const socket of sockets) socket.destroy();
  });

  // Never reads what is sent to it on s/e.
  const silent = await RawMqtt.connect(server.mqttPort, { clientId: 'silent' });
  await silent.subscribe('s/e', 0);
  silent.socket.pause();
  sockets.push(silent.socket);
  let isRefused = false;
  silent.socket.on('close', () => {
    isRefused = true;
  });
  const rows = Array.from({ length: 100 }, () => BAD_ROW).join('\n');
  for (let sent = 0; sent < BAD_ROWS; sent += 100) silent.publish('s/us', rows, 0);

  // Subscribes to every measurement and never reads.
  const bayeux = new WebSocket(`ws://127.0.0.1:${server.httpPort}/notification/realtime`);
  await subscribeAll(bayeux);
  (bayeux as unknown as { _socket: Socket })._socket.pause();
  t.teardown(() => bayeux.terminate());

  // Asks for large answers and never reads.
  for (let index = 0; index < LARGE_ANSWERS; index += 1) {
    const socket = connect({ host: '127.0.0.1', port: server.httpPort });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      `GET /measurement/measurements?source=${many.device}&pageSize=2000 HTTP/1.1\r\nHost: x\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
    );
    sockets.push(socket);
  }

  // Sends its body a byte at a time; the library may end it, the server must go on.
  const dripping = connect({ host: '127.0.0.1', port: server.httpPort });
  dripping.on('error', () => undefined);
  sockets.push(dripping);
  const body = JSON.stringify({
    source: { id: many.device },
    time: new Date().toISOString(),
    type: 'drip',
    fault: { n: { value: 0 } },
  });
  dripping.write(
    `POST /measurement/measurements HTTP/1.1\r\nHost: x\r\nAuthorization: ${AUTHORIZATION}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  let dripped = 0;
  let dripAnswer = '';
  dripping.on('data', (chunk: Buffer) => {
    dripAnswer += chunk.toString();
  });
  const drip = setInterval(() => {
    if (dripped < body.length && !dripping.destroyed) dripping.write(body[dripped++]);
  }, 20);
  t.teardown(() => clearInterval(drip));

  const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
  await until(
    'devices and collections go on',
    () =>
      many.collections.acknowledged.size > 100 &&
      devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index] + 1_000),
    60_000,
  );
  await until('the slow body is over', () => dripping.destroyed || dripAnswer !== '' || dripped >= body.length, 30_000);
  await until('the slow body has its end', () => dripping.destroyed || dripAnswer !== '', 15_000);
  t.comment(`a byte at a time: ${dripAnswer.split('\r\n')[0] || 'connection closed'}`);
  for (const sender of [...devices, many]) sender.stop();
  await Promise.all(runs);
  clearInterval(watch);
  const { text: metrics } = await server.http('GET', '/metrics');
  t.comment(
    metrics
      .split('\n')
      .filter((line) => /^millrace_(refusals_total|queue_size\{queue="bayeux)/.test(line))
      .join('; '),
  );
  t.comment(
    `resident ${mib(startBytes)} before, at most ${mib(mostBytes)}; longest time without an acknowledgement ${longestMs} ms; the silent MQTT client ${isRefused ? 'was' : 'was not'} disconnected`,
  );
  t.ok(mostBytes - startBytes < GROWTH_MAX_BYTES, 'memory is bounded');
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    [0, 0],
    'no other device was disconnected',
  );
  t.strictSame([...many.otherAnswers], [], 'no other POST was refused');
  const problems: string[] = [];
  for (const device of devices)
    problems.push(
      ...account(
        device.name,
        device.measurements,
        await measurementsOf(server, (await server.deviceOf(device.name)) ?? ''),
      ),
    );
  t.strictSame(problems, [], 'the account is exact');
});

async function subscribeAll(socket: WebSocket): Promise<void> {
  await new Promise((done, fail) => {
    socket.once('open', done);
    socket.once('error', fail);
  });
  const ask = async (message: object): Promise<{ clientId?: string; successful?: boolean }> => {
    const answer = new Promise<string>((done) => {
      socket.once('message', (data) => done(String(data)));
    });
    socket.send(JSON.stringify([message]));
    const [first] = JSON.parse(await answer) as { clientId?: string; successful?: boolean }[];
    if (first.successful !== true) throw new Error(`Bayeux: ${JSON.stringify(first)}`);
    return first;
  };
  const token = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
  const { clientId } = await ask({
    channel: '/meta/handshake',
    version: '1.0',
    supportedConnectionTypes: ['websocket'],
    ext: { 'com.cumulocity.authn': { token } },
  });
  await ask({ channel: '/meta/subscribe', clientId, subscription: '/measurements/*' });
  socket.send(JSON.stringify([{ channel: '/meta/connect', clientId, connectionType: 'websocket' }]));
}

const mib = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`;
