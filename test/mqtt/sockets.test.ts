import t from 'tap';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Socket, connect as connectSocket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { join } from 'node:path';
import mqtt from 'mqtt';
import type { MqttClient } from 'mqtt';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { Harness, until } from './helpers/harness.ts';

/** A key and a certificate of this run's own. */
function createCertificate(directory: string): { key: Buffer; cert: Buffer } {
  const key = join(directory, 'key.pem');
  const cert = join(directory, 'cert.pem');
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'pipe' },
  );
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

for (const scheme of ['mqtt', 'mqtts']) {
  t.test(`npm mqtt over ${scheme}`, async (t) => {
    const harness = new Harness();
    const tls = scheme === 'mqtts' ? { tls: createCertificate(t.testdir()) } : {};
    const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0, ...tls });
    t.teardown(() => harness.server.close(100));
    for (const [protocolVersion, protocolId] of [
      [3, 'MQIsdp'],
      [4, 'MQTT'],
      [5, 'MQTT'],
    ] as const) {
      const clientId = `client-${protocolVersion}`;
      const options = {
        protocolVersion,
        protocolId,
        clientId,
        username: 't1/user',
        password: 'right',
        reconnectPeriod: 0,
        rejectUnauthorized: false,
        clean: false,
        ...(protocolVersion === 5 ? { properties: { sessionExpiryInterval: 60 } } : {}),
      };
      let client: MqttClient = await mqtt.connectAsync(`${scheme}://127.0.0.1:${port}`, options);
      const received: string[] = [];
      client.on('message', (topic, payload) => received.push(`${topic} ${payload}`));
      const [granted] = await client.subscribeAsync('s/ds', { qos: 2 });
      t.equal(granted.qos, 2);
      await Promise.all(
        [0, 1, 2].flatMap((qos) =>
          Array.from({ length: 50 }, (_, index) =>
            client.publishAsync('s/us', `${qos} ${index}`, { qos: qos as 0 | 1 | 2 }),
          ),
        ),
      );
      await until(() => harness.received.length === 150);
      const { connection } = harness.link(clientId);
      for (const qos of [0, 1, 2] as const)
        connection.deliver({ topic: 's/ds', payload: Buffer.from(`down ${qos}`), qos });
      await until(() => received.length === 3);
      t.same(received.sort(), ['s/ds down 0', 's/ds down 1', 's/ds down 2']);
      // Lost on its way: the session keeps it.
      connection.deliver({ topic: 's/ds', payload: Buffer.from('queued'), qos: 1 });
      client.stream.destroy();
      await until(() => harness.link(clientId).closedWith === false);
      await client.endAsync(true);
      client = mqtt.connect(`${scheme}://127.0.0.1:${port}`, options);
      const back: string[] = [];
      client.on('message', (topic, payload) => back.push(`${topic} ${payload}`));
      await until(() => back.length > 0);
      t.same(back, ['s/ds queued']);
      await client.endAsync();
      harness.received.length = 0;
    }
    await t.rejects(
      mqtt.connectAsync(`${scheme}://127.0.0.1:${port}`, {
        username: 'x',
        password: 'wrong',
        reconnectPeriod: 0,
        rejectUnauthorized: false,
      }),
      { code: 4 },
    );
    await until(() => harness.server.connectionsCount === 0);
    t.same(harness.errors, []);
  });
}

t.test('a broken connection publishes the will; garbage is cut off', async (t) => {
  const harness = new Harness();
  const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => harness.server.close(100));
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    username: 't1/user',
    password: 'right',
    reconnectPeriod: 0,
    will: { topic: 's/us', payload: Buffer.from('gone'), qos: 1, retain: false },
  });
  client.stream.destroy();
  await until(() => harness.received.length === 1);
  const socket = connectSocket(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
  await until(() => harness.server.connectionsCount === 0);
});

t.test('a client that floods and does not read is held, and gets all when it reads', async (t) => {
  const harness = new Harness();
  const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => harness.server.close(100));
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    clientId: 'slow',
    username: 't1/user',
    password: 'right',
    reconnectPeriod: 0,
  });
  await client.subscribeAsync('s/ds', { qos: 1 });
  let count = 0;
  client.on('message', () => count++);
  client.stream.pause();
  for (let index = 0; index < 900; index++) {
    harness.link('slow').connection.deliver({ topic: 's/ds', payload: Buffer.alloc(1_000), qos: 1 });
  }
  client.stream.resume();
  await until(() => count === 900);
  t.equal(count, 900);
  await client.endAsync();
});

for (const scheme of ['mqtt', 'mqtts']) {
  t.test(
    `what a client sent before it went is handled, also when the server was busy meanwhile, ${scheme}`,
    async (t) => {
      const harness = new Harness();
      const tls = scheme === 'mqtts' ? { tls: createCertificate(t.testdir()) } : {};
      const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0, ...tls });
      t.teardown(() => harness.server.close(100));
      let isBusy = true;
      harness.onPublish = () => (isBusy ? PUBLISH_RESULT.BUSY : PUBLISH_RESULT.DONE);
      const client = await mqtt.connectAsync(`${scheme}://127.0.0.1:${port}`, {
        clientId: 'hasty',
        username: 't1/user',
        password: 'right',
        reconnectPeriod: 0,
        rejectUnauthorized: false,
        will: { topic: 's/us', payload: Buffer.from('not sent'), qos: 0, retain: false },
      });
      client.publish('s/us', 'first', { qos: 0 });
      client.publish('s/us', 'second', { qos: 0 });
      // It closes its side; ours follows.
      const closed = client.endAsync();
      // The end of the connection has arrived: what comes behind it on the same event loop has been heard.
      for (let turn = 0; turn < 50; turn += 1)
        await new Promise((resolve) => {
          setTimeout(resolve, 1);
        });
      t.equal(harness.link('hasty').closedWith, undefined);
      isBusy = false;
      harness.link('hasty').connection.resume();
      await until(() => harness.link('hasty').closedWith !== undefined);
      t.same(
        harness.received.map(({ payload }) => payload),
        ['first', 'second'],
      );
      await closed;
      t.equal(harness.link('hasty').closedWith, true, 'DISCONNECT was handled too: no will');
      await until(() => harness.server.connectionsCount === 0);
    },
  );
}

t.test(
  'sockets are counted from the first byte of their handshake, and asked whether their peers are there',
  async (t) => {
    const harness = new Harness({ connections: 1 });
    const kept: [boolean | undefined, number | undefined][] = [];
    const { setKeepAlive } = Socket.prototype;
    Socket.prototype.setKeepAlive = function keepAlive(this: Socket, ...settings) {
      kept.push([settings[0], settings[1]]);
      return setKeepAlive.apply(this, settings);
    };
    t.teardown(() => {
      Socket.prototype.setKeepAlive = setKeepAlive;
    });
    const { port } = await harness.server.listen({ host: '127.0.0.1', port: 0, tls: createCertificate(t.testdir()) });
    t.teardown(() => harness.server.close(100));
    const secure = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(secure, 'secureConnect');
    await until(() => kept.length > 0);
    t.same(kept, [[true, 60_000]]);
    const silent = Array.from({ length: 501 }, () =>
      connectSocket(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    );
    await until(() => harness.counts.get('mqtt/connections-before-login') === 1);
    await until(() => harness.server.socketsCount === 501);
    t.equal(
      harness.counts.get('mqtt/connections'),
      undefined,
      'the limit and 500, none of them has begun its handshake but one: the oldest gave way',
    );
    const device = mqtt.connect(`mqtts://127.0.0.1:${port}`, {
      username: 't1/user',
      password: 'right',
      reconnectPeriod: 0,
      rejectUnauthorized: false,
    });
    await until(() => device.connected);
    await device.endAsync(true);
    for (const socket of [secure, ...silent]) socket.destroy();
    await until(() => harness.server.socketsCount === 0);
    t.equal(harness.server.socketsCount, 0);
  },
);
