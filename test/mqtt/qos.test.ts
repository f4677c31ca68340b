import t from 'tap';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { Harness, publish, settle, until } from './helpers/harness.ts';

t.test('QoS 0, 1 and 2 from the client', async (t) => {
  for (const version of [3, 4, 5] as const) {
    const harness = new Harness();
    const client = await harness.connected('c1', version);
    client.send(
      publish('s/us', 'zero'),
      publish('s/us', 'one', 1, 7),
      publish('s/us', 'two', 2, 8),
      publish('s/us', '', 1, 9),
    );
    t.same(client.takeCommands(), ['puback 7', 'pubrec 8', 'puback 9']);
    t.same(
      harness.received.map(({ topic, payload, qos, packetId }) => [topic, payload, qos, packetId]),
      [
        ['s/us', 'zero', 0, 0],
        ['s/us', 'one', 1, 7],
        ['s/us', 'two', 2, 8],
        ['s/us', '', 1, 9],
      ],
    );
    t.equal(harness.link('c1').reads, 1);
    client.send({ cmd: 'pubrel', messageId: 8 });
    t.same(client.takeCommands(), ['pubcomp 8']);
    t.same(harness.messageCounts.in, [1, 2, 1]);
  }
});

t.test('acknowledgements of one batch are one write', async (t) => {
  const harness = new Harness();
  harness.isAcknowledging = false;
  const client = await harness.connected('c1');
  client.writes.length = 0;
  client.send(...Array.from({ length: 16 }, (_, index) => publish('a', 'x', 1, index + 1)));
  client.send(...Array.from({ length: 16 }, (_, index) => publish('a', 'x', 1, index + 17)));
  t.equal(client.writes.length, 0, 'nothing before it is durable');
  harness.acknowledgeAll();
  t.equal(client.writes.length, 1);
  t.same(
    client.take().map((packet) => packet.messageId),
    Array.from({ length: 32 }, (_, index) => index + 1),
    'in order [MQTT-4.6.0-2]',
  );
  for (let id = 1; id <= 300; id++) harness.link('c1').connection.acknowledge(id);
  harness.link('c1').connection.flush();
  t.equal(client.take().length, 300, 'more than a working buffer holds');
});

t.test('DONE acknowledges at the end of the read', async (t) => {
  const harness = new Harness();
  harness.onPublish = () => PUBLISH_RESULT.DONE;
  const client = await harness.connected('c1');
  client.writes.length = 0;
  client.send(publish('a', 'x', 1, 1), publish('a', 'x', 2, 2), publish('a', 'x', 1, 3));
  t.same(client.takeCommands(), ['puback 1', 'pubrec 2', 'puback 3']);
  t.equal(client.writes.length, 1);
});

t.test('REFUSED disconnects with the reason of the link', async (t) => {
  const harness = new Harness();
  harness.onPublish = (link) => {
    link.refusal = { reasonCode: 0x97, reason: 'quota of the tenant' };
    return PUBLISH_RESULT.REFUSED;
  };
  const client = await harness.connected('c1', 5);
  client.send(publish('a', 'x', 1, 1), publish('a', 'y', 1, 2));
  t.match(client.take(), [
    { cmd: 'disconnect', reasonCode: 0x97, properties: { reasonString: /quota of the tenant/ } },
  ]);
  t.ok(client.isEnded);
});

t.test('BUSY keeps the rest and offers it again in order', async (t) => {
  const harness = new Harness();
  let room = 2;
  harness.onPublish = () => (room-- > 0 ? PUBLISH_RESULT.PENDING : PUBLISH_RESULT.BUSY);
  const client = await harness.connected('c1');
  client.send(...[1, 2, 3, 4, 5].map((id) => publish('a', `${id}`, 1, id)));
  t.ok(client.isPaused);
  client.send(publish('a', '6', 2, 6));
  t.same(client.takeCommands(), ['puback 1', 'puback 2']);
  room = 1;
  harness.link('c1').connection.resume();
  t.same(
    harness.received.map((one) => one.payload),
    ['1', '2', '3'],
  );
  t.ok(client.isPaused);
  harness.advance(1_000);
  t.notOk(client.isEnded);
  room = 100;
  harness.link('c1').connection.resume();
  t.same(
    harness.received.map((one) => one.payload),
    ['1', '2', '3', '4', '5', '6'],
  );
  t.notOk(client.isPaused);
  t.same(client.takeCommands(), ['puback 3', 'puback 4', 'puback 5', 'pubrec 6']);
});

t.test('what waits while busy is bounded', async (t) => {
  const harness = new Harness({ heldBytes: 1_000 });
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  const client = await harness.connected('c1', 5);
  for (let id = 1; id < 100 && !client.isEnded; id++) client.send(publish('a', 'x'.repeat(100), 1, id));
  t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x97, properties: { reasonString: /mqtt\/held-bytes/ } }]);
});

t.test('QoS 2 exactly once over reconnect and restart', async (t) => {
  for (const restart of [false, true]) {
    const harness = new Harness();
    const kept = { clean: false };
    let client = await harness.connected('c1', 4, kept);
    client.send(publish('a', 'once', 2, 5));
    t.same(client.takeCommands(), ['pubrec 5']);
    client.drop();
    await settle();
    if (restart) harness.restart();
    client = await harness.connected('c1', 4, kept);
    client.send(publish('a', 'once', 2, 5, { dup: true }));
    t.same(client.takeCommands(), ['pubrec 5']);
    t.equal(harness.received.length, 1);
    client.send({ cmd: 'pubrel', messageId: 5 });
    await until(() => client.packets.length > 0);
    t.same(client.takeCommands(), ['pubcomp 5']);
    t.notOk(harness.store.entries.get('1/c1')!.received.has(5), 'PUBCOMP is sent once that is durable');
    client.drop();
    if (restart) harness.restart();
    client = await harness.connected('c1', 4, kept);
    client.send({ cmd: 'pubrel', messageId: 5 });
    t.same(client.takeCommands(), ['pubcomp 5'], 'again, when PUBCOMP was lost');
    client.send(publish('a', 'next', 2, 5));
    t.equal(harness.received.length, 2, 'the id is free again');
  }
});

t.test('QoS 2 sent again before it is durable', async (t) => {
  const harness = new Harness();
  harness.isAcknowledging = false;
  const one = await harness.connected('c1', 4, { clean: false });
  one.send(publish('a', 'once', 2, 5), publish('a', 'once', 2, 5, { dup: true }));
  one.drop();
  const two = await harness.connected('c1', 4, { clean: false });
  two.send(publish('a', 'once', 2, 5, { dup: true }));
  t.same(two.takeCommands(), []);
  harness.acknowledgeAll();
  t.same(two.takeCommands(), ['pubrec 5']);
  t.equal(harness.received.length, 1);
});

t.test('QoS 2 that could not be made durable is a new message when it comes again', async (t) => {
  const harness = new Harness();
  harness.isAcknowledging = false;
  const one = await harness.connected('c1', 4, { clean: false });
  one.send(publish('a', 'once', 2, 5));
  // As the platform does when the commit fails.
  const { connection } = harness.link('c1');
  harness.pending = [];
  harness.store.entries.get('1/c1')!.received.delete(5);
  connection.rejected(5);
  connection.disconnect(0x97, 'the journal could not be written');
  one.drop();
  t.same(one.take(), []);
  const two = await harness.connected('c1', 4, { clean: false });
  two.send(publish('a', 'once', 2, 5, { dup: true }));
  harness.acknowledgeAll();
  t.same(two.takeCommands(), ['pubrec 5']);
  t.equal(harness.received.length, 2);
});

t.test(
  'QoS 2 that could not be made durable after the client had come back: that connection ends too, and the next one sends it anew',
  async (t) => {
    const harness = new Harness();
    harness.isAcknowledging = false;
    const one = await harness.connected('c1', 4, { clean: false });
    one.send(publish('a', 'once', 2, 5));
    const { connection } = harness.link('c1');
    one.drop();
    const two = await harness.connected('c1', 4, { clean: false });
    two.send(publish('a', 'once', 2, 5, { dup: true }));
    harness.pending = [];
    harness.store.entries.get('1/c1')!.received.delete(5);
    connection.rejected(5, true);
    t.ok(two.isEnded, 'it would wait for ever');
    two.drop();
    const loads = (): number => harness.store.calls.filter((call) => call.startsWith('load')).length;
    const before = loads();
    const three = await harness.connected('c1', 4, { clean: false });
    t.equal(loads(), before + 1, 'the store is asked: the message may be there');
    three.send(publish('a', 'once', 2, 5, { dup: true }));
    harness.acknowledgeAll();
    t.same(three.takeCommands(), ['pubrec 5']);
    t.equal(harness.received.length, 2);
  },
);

t.test('packet ids of QoS 2 that are not released are bounded', async (t) => {
  const harness = new Harness({ receivedIdentifiers: 2 });
  const client = await harness.connected('c1', 4);
  client.send(publish('a', 'x', 2, 1), publish('a', 'x', 2, 2), publish('a', 'x', 2, 2, { dup: true }));
  t.notOk(client.isEnded);
  client.send({ cmd: 'pubrel', messageId: 1 }, publish('a', 'x', 2, 3));
  t.notOk(client.isEnded);
  client.send(publish('a', 'x', 2, 4));
  t.ok(client.isEnded);
  t.equal(harness.counts.get('mqtt/received-identifiers'), 1);
});

t.test(
  'a release that is under way or refused: the packet id is neither free nor answered before it is durable',
  async (t) => {
    for (const restart of [false, true]) {
      const harness = new Harness();
      const kept = { clean: false };
      const { store } = harness;
      const release = store.release.bind(store);
      let refuse = (_error: Error) => {};
      store.release = () =>
        new Promise((_resolve, reject) => {
          refuse = reject;
        });
      const one = await harness.connected('c1', 4, kept);
      one.send(publish('a', 'once', 2, 5));
      t.same(one.takeCommands(), ['pubrec 5']);
      one.send({ cmd: 'pubrel', messageId: 5 });
      one.drop();
      const two = await harness.connected('c1', 4, kept);
      two.send({ cmd: 'pubrel', messageId: 5 });
      await settle();
      t.same(two.take(), [], 'under way');
      refuse(new Error('disk is full'));
      await settle();
      t.same(two.take(), [], 'refused');
      t.equal(harness.counts.get('mqtt/session-store'), 1);
      t.notOk(two.isEnded);
      let client = two;
      store.release = release;
      if (restart) {
        two.drop();
        harness.restart();
        client = await harness.connected('c1', 4, kept);
        client.send({ cmd: 'pubrel', messageId: 5 });
      } else {
        two.send({ cmd: 'pubrel', messageId: 5 }, publish('a', 'next', 2, 5));
        t.equal(harness.received.length, 1, 'a message with the id waits');
        harness.advance(1);
      }
      await until(() => client.packets.length > 0);
      t.notOk(store.entries.get('1/c1')!.received.has(5) && restart);
      if (restart) client.send(publish('a', 'next', 2, 5));
      t.same(client.takeCommands(), ['pubcomp 5', 'pubrec 5']);
      t.same(
        harness.received.map(({ payload }) => payload),
        ['once', 'next'],
      );
    }
  },
);

t.test(
  'a QoS 1 message with the id of a QoS 2 one releases it, also when the store refuses that at first',
  async (t) => {
    const harness = new Harness();
    const client = await harness.connected('c1', 4, { clean: false });
    const { store } = harness;
    const release = store.release.bind(store);
    store.release = () => Promise.reject(new Error('disk is full'));
    client.send(publish('a', 'two', 2, 4));
    client.send(publish('a', 'one', 1, 4));
    t.same(client.takeCommands(), ['pubrec 4', 'puback 4']);
    await settle();
    t.ok(store.entries.get('1/c1')!.received.has(4));
    store.release = release;
    harness.advance(1);
    await settle();
    t.notOk(store.entries.get('1/c1')!.received.has(4));
    client.send({ cmd: 'pubrel', messageId: 4 });
    t.same(client.takeCommands(), ['pubcomp 4']);
  },
);

t.test('packet ids in odd orders', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c5', 5);
  client.send(
    { cmd: 'pubrel', messageId: 9, reasonCode: 0 },
    { cmd: 'pubrec', messageId: 9, reasonCode: 0 },
    { cmd: 'puback', messageId: 9, reasonCode: 0 },
    { cmd: 'pubcomp', messageId: 9, reasonCode: 0 },
  );
  t.match(client.take(), [
    { cmd: 'pubcomp', reasonCode: 0x92 },
    { cmd: 'pubrel', reasonCode: 0x92 },
  ]);
  client.send(publish('a', 'two', 2, 4));
  client.send(publish('a', 'one', 1, 4));
  t.same(client.takeCommands(), ['pubrec 4', 'puback 4'], 'the client has lost its state');
  harness.isAcknowledging = false;
  client.send(publish('a', 'two', 2, 6), { cmd: 'pubrel', messageId: 6, reasonCode: 0 });
  t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x82 }]);
});

t.test('Receive Maximum is enforced for 5.0', async (t) => {
  const harness = new Harness({ receiveMaximum: 3 });
  harness.isAcknowledging = false;
  const client = await harness.connected('c1', 5);
  client.send(publish('a', 'x', 1, 1), publish('a', 'x', 1, 2), publish('a', 'x', 2, 3));
  t.notOk(client.isEnded);
  harness.acknowledgeAll();
  client.take();
  client.send(publish('a', 'x', 1, 4), publish('a', 'x', 1, 5));
  t.notOk(client.isEnded);
  client.send(publish('a', 'x', 1, 6));
  t.match(client.take(), [
    { cmd: 'disconnect', reasonCode: 0x93, properties: { reasonString: /mqtt\/receive-maximum/ } },
  ]);
  const other = await harness.connected('c2', 5);
  other.send(publish('a', 'x', 2, 1), publish('a', 'x', 1, 2), publish('a', 'x', 2, 3));
  t.notOk(other.isEnded);
  other.send(publish('a', 'x', 2, 4));
  t.match(other.take(), [{ cmd: 'disconnect', reasonCode: 0x93 }], 'QoS 2 counts too');
});
