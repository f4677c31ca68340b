import t from 'tap';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { Harness, connectPacket, principalOf, publish, subscribe, until } from './helpers/harness.ts';
import type { TestClient } from './helpers/harness.ts';

t.test('a packet that is too large is refused by its header', async (t) => {
  for (const first of [0x30, 0x82]) {
    const harness = new Harness();
    const client = await harness.connected('c1', 5);
    client.raw([first, 0x81, 0x80]);
    t.notOk(client.isEnded);
    client.raw([0x01]);
    t.match(client.take(), [
      { cmd: 'disconnect', reasonCode: 0x95, properties: { reasonString: /16384 bytes \(mqtt\/packet-bytes\)/ } },
    ]);
    t.equal(harness.counts.get('mqtt/packet-bytes'), 1);
    t.equal(client.connection!.heldBytes, 0);
  }
  const harness = new Harness();
  const client = harness.client();
  client.raw([0x10, 0xff, 0xff, 0xff, 0x7f]);
  t.ok(client.isEnded, 'before CONNECT too');
  const malformed = await harness.connected('c1', 5);
  malformed.raw([0x82, 0xff, 0xff, 0xff, 0xff]);
  t.match(malformed.take(), [{ reasonCode: 0x81 }]);
});

t.test('the largest payload, and one byte more', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 5);
  client.send(publish('s/us', 'x'.repeat(16_184), 1, 1));
  t.same(client.takeCommands(), ['puback 1']);
  client.send(publish('s/us', 'x'.repeat(16_185), 1, 2));
  t.match(client.take(), [{ reasonCode: 0x95, properties: { reasonString: /mqtt\/payload-bytes/ } }]);
});

t.test('keep alive: 1.5 times, any packet counts', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 5, { keepalive: 10 });
  for (let round = 0; round < 5; round++) {
    harness.advance(14);
    client.send({ cmd: 'pingreq' });
    t.same(client.takeCommands(), ['pingresp']);
  }
  harness.advance(17);
  t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x8d }]);
  t.equal(harness.counts.get('mqtt/keep-alive'), 1);
  const quiet = await harness.connected('c2', 4);
  harness.advance(10_000);
  t.notOk(quiet.isEnded, 'keep alive 0 has no limit');
});

t.test("keep alive: what a busy platform does not read is not the client's silence", async (t) => {
  const harness = new Harness();
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  const client = await harness.connected('c1', 5, { keepalive: 10 });
  client.send(publish('a', 'x', 1, 1));
  harness.advance(100);
  t.notOk(client.isEnded);
  harness.onPublish = () => PUBLISH_RESULT.PENDING;
  harness.link('c1').connection.resume();
  t.same(client.takeCommands(), ['puback 1']);
  harness.advance(33);
  t.ok(client.isEnded, 'then its own counts again');
});

t.test('a reason string that is too long for the client is left out; 3.1.1 has no DISCONNECT', async (t) => {
  const harness = new Harness();
  const properties = { maximumPacketSize: 30 };
  const refused = await harness.connect('barred', 5, { properties });
  const [connack] = refused.take();
  t.equal(connack.reasonCode, 0x87);
  t.equal(connack.properties?.reasonString, undefined);
  const client = await harness.connect('c1', 5, { properties });
  client.take();
  client.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5 } });
  const [disconnect] = client.take();
  t.match(disconnect, { cmd: 'disconnect', reasonCode: 0x82 });
  t.equal(disconnect.properties?.reasonString, undefined);
  const old = await harness.connected('c2', 4);
  old.writes.length = 0;
  old.raw([0xf0, 0]);
  t.ok(old.isEnded);
  t.same(old.writes, []);
});

t.test('over the rate messages wait; over the queue the client goes', async (t) => {
  const harness = new Harness({ rateMessagesPerSecond: 10, rateQueueMessages: 20 });
  const client = await harness.connected('c1', 5);
  client.send(...Array.from({ length: 25 }, (_, index) => publish('a', `${index}`, 1, index + 1)));
  t.equal(harness.received.length, 10);
  t.ok(harness.counts.get('mqtt/rate-delayed'));
  harness.nowMs += 1_000;
  harness.server.releaseThrottled();
  t.equal(harness.received.length, 20);
  harness.nowMs += 500;
  harness.server.releaseThrottled();
  t.same(
    harness.received.map((one) => one.payload),
    Array.from({ length: 25 }, (_, index) => `${index}`),
    'in order',
  );
  t.notOk(client.isPaused);
  client.take();
  for (let id = 100; id < 121; id++) client.send(publish('a', 'x', 1, id));
  client.send(publish('a', 'x', 1, 121));
  const last = client.take().at(-1)!;
  t.match(last, { cmd: 'disconnect', reasonCode: 0x96, properties: { reasonString: /mqtt\/rate-queue-messages/ } });
  const bytes = new Harness({ rateMessagesPerSecond: 1, rateQueueBytes: 100 });
  const other = await bytes.connected('c1');
  other.send(publish('a', 'x'), publish('a', 'x'.repeat(200)));
  t.ok(other.isEnded);
  t.equal(bytes.counts.get('mqtt/rate-queue-bytes'), 1);
});

t.test(
  'the rate is of each connection: reading goes on, nothing is saved up, and what is not taken is not counted',
  async (t) => {
    const harness = new Harness({ rateMessagesPerSecond: 2 });
    const payloads = () => harness.received.splice(0).map(({ payload }) => payload);
    const one = await harness.connected('c1');
    const two = await harness.connected('c2');
    for (const client of [one, two]) client.send(...['1', '2', '3'].map((payload) => publish('a', payload)));
    t.same(payloads(), ['1', '2', '1', '2'], 'each has its own');
    t.same([one.isPaused, two.isPaused], [false, false]);
    harness.nowMs += 60_000;
    harness.server.releaseThrottled();
    t.same(payloads(), ['3', '3']);
    harness.nowMs += 60_000;
    one.send(...['4', '5', '6'].map((payload) => publish('a', payload)));
    t.same(payloads(), ['4', '5'], 'a minute of silence allows no more than a second');
    harness.nowMs += 1_000;
    harness.server.releaseThrottled();
    t.same(payloads(), ['6']);
    harness.onPublish = () => PUBLISH_RESULT.BUSY;
    one.send(publish('a', '7'));
    for (let round = 0; round < 5; round++) harness.link('c1').connection.resume();
    harness.onPublish = () => PUBLISH_RESULT.PENDING;
    harness.link('c1').connection.resume();
    t.same(payloads(), ['7'], 'however often it was offered');
  },
);

t.test('the rate and the queue of a tenant', async (t) => {
  const harness = new Harness({ rateMessagesPerSecond: 1, rateQueueMessages: 100 });
  harness.rateOf = (tenant) => (tenant === 1 ? { messagesPerSecond: 3, queueMessages: 2 } : undefined);
  const client = await harness.connected('c1', 5);
  client.send(...[1, 2, 3, 4, 5].map((id) => publish('a', `${id}`, 1, id)));
  t.equal(harness.received.length, 3);
  t.notOk(client.isEnded);
  client.send(publish('a', '6', 1, 6));
  t.match(client.take().at(-1), { reasonCode: 0x96, properties: { reasonString: /mqtt\/rate-queue-messages/ } });
  t.equal(harness.received.length, 3, 'what waited is rejected');
});

t.test('a client that does not read', async (t) => {
  const harness = new Harness({ writeBytes: 1_000, writeStallSeconds: 30 });
  const message = { topic: 'a', payload: Buffer.alloc(300), qos: 0 as const };
  const open = async (clientId: string, change: Record<string, unknown>) => {
    const client = await harness.connected(clientId, 4, change);
    client.send(subscribe(1, ['a', 1]));
    while (client.packets.length === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    client.take();
    client.isReading = false;
    return client;
  };
  const clean = await open('c1', {});
  for (let count = 0; count < 3; count++) harness.link('c1').connection.deliver(message);
  t.ok(clean.isPaused, 'it is not read either');
  harness.link('c1').connection.deliver(message);
  t.ok(clean.isEnded);
  t.equal(harness.counts.get('mqtt/write-bytes'), 1);
  const kept = await open('c2', { clean: false });
  for (let count = 0; count < 9; count++) harness.link('c2').connection.deliver(message);
  t.notOk(kept.isEnded, 'what is kept waits, QoS 0 is dropped');
  for (let count = 0; count < 5; count++) harness.link('c2').connection.deliver({ ...message, qos: 1 });
  t.equal(kept.connection!.session!.queuedMessages, 5);
  kept.send(publish('a', 'x', 1, 1));
  t.equal(harness.received.length, 0);
  kept.isReading = true;
  while (harness.store.entries.get('1/c2')!.messages.size < 5)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  kept.connection!.drained();
  t.equal(harness.received.length, 1);
  t.same(
    kept
      .take()
      .map((packet) => packet.cmd)
      .sort(),
    ['puback', 'publish', 'publish', 'publish', 'publish', 'publish'],
  );
  t.notOk(kept.isPaused);
  const stalled = await open('c3', {});
  harness.link('c3').connection.deliver(message);
  harness.advance(29);
  t.notOk(stalled.isEnded);
  harness.advance(1);
  t.ok(stalled.isEnded);
  t.equal(harness.counts.get('mqtt/write-stall'), 1);
});

t.test('topics, packet ids and flags that are not allowed', async (t) => {
  const harness = new Harness();
  const check = async (bytes: number[], reasonCode: number) => {
    for (const version of [4, 5] as const) {
      const client = await harness.connected('c1', version);
      const body = version === 5 ? [...bytes.slice(2), 0] : bytes.slice(2);
      client.raw([bytes[0], body.length, ...body]);
      t.ok(client.isEnded, `${bytes}`);
      if (version === 5) t.match(client.take(), [{ reasonCode }]);
      client.drop();
    }
  };
  await check([0x30, 2, 0, 0], 0x90);
  await check([0x30, 3, 0, 1, 0x23], 0x90);
  await check([0x30, 3, 0, 1, 0x2b], 0x90);
  await check([0x30, 3, 0, 1, 0], 0x90);
  await check([0x30, 3, 0, 1, 0xff], 0x90);
  await check([0x30, 5, 0, 3, 0xed, 0xa0, 0x80], 0x90);
  await check([0x32, 5, 0, 1, 97, 0, 0], 0x81);
  await check([0x36, 5, 0, 1, 97, 0, 1], 0x81);
  await check([0x38, 3, 0, 1, 97], 0x81);
  await check([0x30, 3, 0, 9, 97], 0x81);
  await check([0xc1, 0], 0x81);
  await check([0x60, 2, 0, 1], 0x81);
  await check([0x40, 2, 0, 0], 0x81);
  await check([0x20, 2, 0, 0], 0x82);
  await check([0x00, 0], 0x82);
  await check([0xf0, 0], 0x82);
  t.same(harness.received, []);
  t.same(harness.errors, []);
});

t.test('properties of PUBLISH in 5.0', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 5);
  const properties = { messageExpiryInterval: 5, userProperties: { a: 'b' }, contentType: 'text' };
  client.send(publish('a', 'x', 1, 1, { properties, retain: true }));
  t.same(client.takeCommands(), ['puback 1']);
  t.match(harness.received, [{ topic: 'a', payload: 'x' }]);
  const check = async (properties: object, topic: string, reasonCode: number) => {
    const other = await harness.connected('c2', 5);
    const frame = other.encode(publish('t', 'x', 1, 1, { properties }));
    // mqtt-packet refuses to generate an empty topic: the byte of this one is cut out.
    other.raw(topic === '' ? Buffer.concat([Buffer.from([frame[0], frame[1] - 1, 0, 0]), frame.subarray(5)]) : frame);
    t.match(other.take(), [{ cmd: 'disconnect', reasonCode }]);
  };
  await check({ topicAlias: 1 }, 'a', 0x94);
  await check({ topicAlias: 1 }, '', 0x94);
  await check({ subscriptionIdentifier: 4 }, 'a', 0x82);
  await check({ userProperties: { a: 'b' } }, '', 0x82);
});

t.test('what strangers send before CONNECT is answered is bounded, of one connection and in all', async (t) => {
  const harness = new Harness({ earlyBytesAll: 200_000 });
  const answers: ((principal: undefined) => void)[] = [];
  harness.authenticate = () =>
    new Promise((resolve) => {
      answers.push(resolve);
    });
  const flood = (client: TestClient, bytes: number): void => client.raw(Buffer.alloc(bytes, 0x30));
  const connecting = (version: 3 | 4 | 5): TestClient => {
    const client = harness.client(version);
    client.send(
      connectPacket(`c${harness.server.connectionsCount}`, version, { username: 'stranger', password: 'guess' }),
    );
    return client;
  };
  const one = connecting(5);
  flood(one, 60_000);
  t.equal(harness.server.earlyBytes, 60_000);
  t.ok(one.isPaused, 'what comes later stays with the client');
  flood(one, 10_000);
  t.match(one.take(), [
    { cmd: 'connack', reasonCode: 0x97, properties: { reasonString: /65536 bytes.*mqtt\/before-login-bytes\)/ } },
  ]);
  t.ok(one.isEnded);
  t.equal(harness.counts.get('mqtt/before-login-bytes'), 1);
  t.equal(harness.server.earlyBytes, 0, 'it is let go at once');
  const many = [connecting(5), connecting(4), connecting(5)];
  for (const client of many) flood(client, 60_000);
  const last = connecting(4);
  flood(last, 60_000);
  t.match(last.take(), [{ cmd: 'connack', returnCode: 3 }]);
  t.equal(harness.counts.get('mqtt/before-login-bytes-all'), 1);
  t.equal(harness.server.earlyBytes, 180_000, 'the others go on');
  many[0].drop();
  t.equal(harness.server.earlyBytes, 120_000);
  const without = harness.client();
  without.raw([0x10, 0xff, 0x01, 0]);
  t.equal(harness.server.earlyBytes, 120_004, 'a part of CONNECT counts too');
  without.drop();
  answers[3](undefined);
  await until(() => many[2].isEnded);
  t.equal(harness.server.earlyBytes, 60_000, 'a wrong password');
});

t.test('who is let in before has what was held handled, and it counts no more', async (t) => {
  const harness = new Harness();
  let answer: (principal: ReturnType<typeof principalOf>) => void = () => undefined;
  harness.authenticate = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const client = harness.client(4);
  client.send(connectPacket('c1', 4), publish('a', 'x'.repeat(10_000), 1, 1), publish('a', 'y', 1, 2));
  t.ok(harness.server.earlyBytes > 10_000);
  answer(principalOf('t1/u'));
  await until(() => harness.received.length === 2);
  t.same(client.takeCommands(), ['connack', 'puback 1', 'puback 2']);
  t.equal(harness.server.earlyBytes, 0);
});
