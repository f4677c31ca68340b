import t from 'tap';
import { refusedBy } from '../../../src/model/errors.ts';
import { changedMarks, SESSION_MARKS_MAX } from '../../../src/model/sessions/marks.ts';
import { Harness, principalOf, publish, settle, subscribe, until } from '../helpers/harness.ts';
import type { TestClient } from '../helpers/harness.ts';

const message = (topic: string, payload: string, qos: 0 | 1 | 2) => ({ topic, payload: Buffer.from(payload), qos });
const kept = { clean: false };

/** A client of the filter `a` to which a message was sent at QoS 2. */
async function sentTwo(
  harness: Harness,
  version: 4 | 5,
  change: Record<string, unknown>,
): Promise<{ client: TestClient; messageId: number }> {
  const client = await harness.connected('c1', version, change);
  client.send(subscribe(1, ['a', 2]));
  await until(() => client.packets.length > 0);
  client.take();
  harness.link('c1').connection.deliver(message('a', 'x', 2));
  await until(() => client.packets.length > 0);
  return { client, messageId: client.take()[0].messageId! };
}

t.test('SUBSCRIBE, delivery at the lower QoS, UNSUBSCRIBE', async (t) => {
  for (const version of [3, 4, 5] as const) {
    const harness = new Harness();
    const client = await harness.connected('c1', version);
    client.send(subscribe(1, ['s/ds', 1], ['forbidden', 1], ['s/dc/#', 2], ['a/#/b', 0], ['$share/g/x', 0]));
    const [suback] = client.take();
    t.same(suback.granted, version === 5 ? [1, 0x87, 2, 0x8f, 0x9e] : [1, 0x80, 2, 0x80, 0x80]);
    const link = harness.link('c1');
    t.same(link.subscribedFilters, ['s/ds', 's/dc/#']);
    link.connection.deliver(message('s/ds', 'lower', 2));
    link.connection.deliver(message('s/dc/x', 'two', 2));
    link.connection.deliver(message('s/dc/x', 'zero', 0));
    link.connection.deliver(message('s/e', 'no subscription', 1));
    const packets = client.take();
    t.same(
      packets.map((packet) => [packet.topic, packet.payload.toString(), packet.qos, packet.dup, packet.retain]),
      [
        ['s/ds', 'lower', 1, false, false],
        ['s/dc/x', 'two', 2, false, false],
        ['s/dc/x', 'zero', 0, false, false],
      ],
    );
    client.send({ cmd: 'puback', messageId: packets[0].messageId, reasonCode: 0 });
    client.send({ cmd: 'pubrec', messageId: packets[1].messageId, reasonCode: 0 });
    t.same(client.takeCommands(), [`pubrel ${packets[1].messageId}`]);
    client.send({ cmd: 'pubcomp', messageId: packets[1].messageId, reasonCode: 0 });
    t.equal(client.connection!.session!.inFlightMessages, 0);
    client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['s/ds', 'never'] });
    const [unsuback] = client.take();
    if (version === 5) t.same(unsuback.granted, [0, 0x11]);
    t.same(link.unsubscribed, ['s/ds']);
    link.connection.deliver(message('s/ds', 'gone', 1));
    t.same(client.take(), []);
  }
});

t.test('of overlapping subscriptions the highest QoS counts', async (t) => {
  const rows: [filter: string, qos: 0 | 1 | 2][][] = [
    [
      ['a/b', 0],
      ['a/+', 1],
      ['#', 0],
    ],
    [
      ['a/#', 2],
      ['a/b', 1],
    ],
  ];
  for (const filters of rows) {
    const harness = new Harness();
    const client = await harness.connected('c1');
    client.send(subscribe(1, ...filters));
    client.take();
    harness.link('c1').connection.deliver(message('a/b', 'x', 2));
    t.same(
      client.take().map(({ qos }) => qos),
      [Math.max(...filters.map(([, qos]) => qos))],
    );
  }
});

t.test('SUBSCRIBE that is not well-formed', async (t) => {
  const harness = new Harness();
  const check = async (bytes: number[]) => {
    const client = await harness.connected('c1');
    client.raw(bytes);
    t.ok(client.isEnded, `${bytes}`);
  };
  await check([0x82, 6, 0, 0, 0, 1, 97, 0]);
  await check([0x82, 2, 0, 1]);
  await check([0x82, 6, 0, 1, 0, 1, 0, 0]);
  await check([0x82, 6, 0, 1, 0, 1, 0xff, 0]);
  await check([0x82, 6, 0, 1, 0, 1, 97, 3]);
  await check([0x82, 6, 0, 1, 0, 9, 97, 0]);
  await check([0x80, 6, 0, 1, 0, 1, 97, 0]);
  await check([0xa2, 2, 0, 1]);
  await check([0xa2, 5, 0, 0, 0, 1, 97]);
});

t.test('the length of a topic filter is limited', async (t) => {
  const harness = new Harness({ topicFilterBytes: 10 });
  const client = await harness.connected('c1', 5);
  client.send(subscribe(1, ['x'.repeat(10), 1], ['x'.repeat(11), 1]));
  t.same(client.take()[0].granted, [1, 0x97]);
  t.equal(harness.counts.get('mqtt/topic-filter-bytes'), 1);
});

t.test('the number of subscriptions is limited', async (t) => {
  const harness = new Harness({ subscriptions: 2 });
  const client = await harness.connected('c1', 5);
  client.send(subscribe(1, ['a', 1], ['b', 1], ['c', 1], ['a', 0]));
  t.same(client.take()[0].granted, [1, 1, 0x97, 0]);
  t.equal(harness.counts.get('mqtt/subscriptions'), 1);
});

t.test('a session that is kept: subscriptions and messages, over reconnect and restart', async (t) => {
  for (const [version, change] of [
    [4, kept],
    [5, { clean: false, properties: { sessionExpiryInterval: 1_000 } }],
  ] as const) {
    for (const restart of [false, true]) {
      const harness = new Harness({ inFlightMessages: 1 });
      let client = await harness.connect('c1', version, change);
      t.equal(client.take()[0].sessionPresent, false);
      client.send(subscribe(1, ['s/ds', 1]));
      await until(() => client.packets.length > 0);
      t.same(client.takeCommands(), ['suback 1']);
      t.same([...harness.store.entries.get('1/c1')!.subscriptions], [['s/ds', 1]], 'stored before SUBACK');
      for (const payload of ['unacknowledged', 'queued'])
        harness.link('c1').connection.deliver(message('s/ds', payload, 1));
      await until(() => client.packets.length > 0);
      await settle();
      const [first, ...more] = client.take();
      t.same(more, [], 'the other one waits for the acknowledgement');
      client.drop();
      await settle();
      if (restart) harness.restart();
      client = await harness.connect('c1', version, change);
      await until(() => client.packets.length >= 2);
      const [connack, one] = client.take();
      t.equal(connack.sessionPresent, true);
      t.match(one, { dup: true, messageId: first.messageId });
      t.ok(harness.link('c1').subscribedFilters.includes('s/ds'));
      client.send({ cmd: 'puback', messageId: one.messageId, reasonCode: 0 });
      const [two] = client.take();
      t.same([one.payload.toString(), two.payload.toString()], ['unacknowledged', 'queued']);
      client.send({ cmd: 'puback', messageId: two.messageId, reasonCode: 0 });
      await settle();
      t.equal(harness.store.entries.get('1/c1')!.messages.size, 0);
      client.drop();
      await settle();
      client = await harness.connect('c1', version, { clean: true });
      t.equal(client.take()[0].sessionPresent, false, 'a clean start discards it');
      t.equal(harness.store.entries.has('1/c1'), false);
      t.same(harness.errors, []);
    }
  }
});

t.test('SUBSCRIBE to what the store has already is not stored again, but waits for what is under way', async (t) => {
  const harness = new Harness();
  const { store } = harness;
  const client = await harness.connected('c1', 4, kept);
  const savesFor = async (...subscriptions: Parameters<typeof subscribe>): Promise<number> => {
    store.calls.length = 0;
    client.send(subscribe(...subscriptions));
    await until(() => client.packets.length > 0);
    t.equal(client.take()[0].messageId, subscriptions[0], 'SUBACK');
    return store.calls.length;
  };
  t.equal(await savesFor(1, ['a', 1]), 1);
  t.equal(await savesFor(2, ['a', 1]), 0, 'the same');
  t.equal(await savesFor(3, ['a', 2]), 1, 'another QoS');
  t.equal(await savesFor(4, ['a', 2], ['b', 0]), 1, 'one more');

  let open = (): void => undefined;
  store.gate = new Promise((resolve) => {
    open = resolve;
  });
  store.calls.length = 0;
  client.send(subscribe(5, ['c', 1]), subscribe(6, ['c', 1]));
  await settle();
  t.same(client.take(), [], 'neither is acknowledged before the subscription is durable');
  open();
  store.gate = undefined;
  await until(() => client.packets.length === 2);
  t.equal(store.calls.length, 1);
  client.take();

  store.failure = new Error('no space');
  client.send(subscribe(7, ['d', 1]), subscribe(8, ['d', 1]));
  await until(() => client.isEnded);
  t.same(
    client.take().filter((packet) => packet.cmd === 'suback'),
    [],
    'what could not be stored is not acknowledged',
  );
  store.failure = undefined;
  client.drop();
  const again = await harness.connected('c1', 4, kept);
  again.take();
  store.calls.length = 0;
  again.send(subscribe(1, ['a', 2]));
  await until(() => again.packets.length > 0);
  t.same(store.calls, [], 'CONNECT has stored the session');
});

t.test('a message is stored before it is sent', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 4, kept);
  client.send(subscribe(1, ['a', 2]));
  await until(() => client.packets.length > 0);
  client.take();
  let open = () => {};
  harness.store.gate = new Promise((resolve) => {
    open = resolve;
  });
  harness.link('c1').connection.deliver(message('a', 'x', 2));
  await settle();
  t.same(client.take(), []);
  open();
  await until(() => client.packets.length > 0);
  const [first] = client.take();
  t.equal(harness.store.entries.get('1/c1')!.messages.size, 1);
  client.drop();
  harness.restart();
  const restarted = await harness.connected('c1', 4, kept);
  t.match(
    restarted.take(),
    [{ cmd: 'publish', messageId: first.messageId, dup: true }],
    'the same packet id after a restart',
  );
});

t.test(
  'PUBREC is stored before PUBREL is sent: PUBREL comes again, over reconnect and restart, and never PUBLISH',
  async (t) => {
    for (const version of [4, 5] as const) {
      const harness = new Harness();
      const change = version === 5 ? { clean: false, properties: { sessionExpiryInterval: 1_000 } } : kept;
      const { client, messageId } = await sentTwo(harness, version, change);
      let open = () => {};
      harness.store.gate = new Promise((resolve) => {
        open = resolve;
      });
      client.send({ cmd: 'pubrec', messageId }, { cmd: 'pubrec', messageId });
      await settle();
      t.same(client.take(), []);
      open();
      harness.store.gate = undefined;
      await until(() => client.packets.length > 0);
      t.same(client.takeCommands(), [`pubrel ${messageId}`], 'once for both');
      t.equal(harness.store.calls.filter((call) => call.startsWith('add ')).length, 2);
      client.send({ cmd: 'pubrec', messageId });
      t.same(client.takeCommands(), [`pubrel ${messageId}`], 'PUBREC again is answered at once');
      client.drop();
      let again = await harness.connected('c1', version, change);
      t.same(again.takeCommands(), [`pubrel ${messageId}`]);
      again.drop();
      harness.restart();
      again = await harness.connected('c1', version, change);
      t.same(again.takeCommands(), [`pubrel ${messageId}`], 'also after a restart');
      harness.link('c1').connection.deliver(message('a', 'next', 2));
      await until(() => again.packets.length > 0);
      t.match(again.take(), [{ cmd: 'publish', messageId: messageId + 1, dup: false }], 'ids go on');
      again.send({ cmd: 'pubcomp', messageId });
      await settle();
      t.same(
        [...harness.store.entries.get('1/c1')!.messages.values()].map(({ payload }) => Buffer.from(payload).toString()),
        ['next'],
      );
    }
  },
);

t.test('PUBREC that the store refuses: PUBREL waits until it is taken, and PUBLISH does not come again', async (t) => {
  const harness = new Harness();
  const { client, messageId } = await sentTwo(harness, 4, kept);
  const { store } = harness;
  const addMessage = store.addMessage.bind(store);
  store.addMessage = () => Promise.reject(new Error('disk is full'));
  client.send({ cmd: 'pubrec', messageId });
  await settle();
  t.equal(harness.counts.get('mqtt/session-store'), 1);
  client.drop();
  const again = await harness.connected('c1', 4, kept);
  harness.advance(1);
  await settle();
  t.same(again.take(), [], 'neither PUBLISH nor PUBREL');
  t.notOk(again.isEnded);
  store.addMessage = addMessage;
  harness.advance(1);
  await until(() => again.packets.length > 0);
  t.same(again.takeCommands(), [`pubrel ${messageId}`]);
  harness.restart();
  t.same((await harness.connected('c1', 4, kept)).takeCommands(), [`pubrel ${messageId}`]);
});

t.test('the removal of an acknowledged message that the store refuses is tried again', async (t) => {
  const harness = new Harness();
  const { client, messageId } = await sentTwo(harness, 4, kept);
  client.send({ cmd: 'pubrec', messageId });
  await until(() => client.packets.length > 0);
  client.take();
  const { store } = harness;
  const removeMessage = store.removeMessage.bind(store);
  store.removeMessage = () => Promise.reject(new Error('disk is full'));
  client.send({ cmd: 'pubcomp', messageId });
  await settle();
  client.drop();
  harness.advance(2);
  await settle();
  t.equal(store.entries.get('1/c1')!.messages.size, 1);
  store.removeMessage = removeMessage;
  harness.advance(1);
  await settle();
  t.equal(store.entries.get('1/c1')!.messages.size, 0, 'also without a connection');
  harness.restart();
  t.same((await harness.connected('c1', 4, kept)).take(), []);
});

t.test('marks of acknowledged messages are kept with the session', async (t) => {
  const harness = new Harness({ inFlightMessages: 3, queueMessages: 2 });
  let client = await harness.connected('c1', 4, kept);
  client.send(subscribe(1, ['a', 2], ['b', 0]));
  await until(() => client.packets.length > 0);
  const session = () => harness.link('c1').connection.session!;
  const marks = () => [[...session().acknowledgedMarks], harness.store.entries.get('1/c1')!.acknowledged];
  const deliver = (payload: string, qos: 1 | 2, topic = 'a') =>
    harness.link('c1').connection.deliver({ ...message(topic, payload, qos), mark: payload });
  client.take();
  for (const [payload, qos] of [
    ['one', 1],
    ['two', 2],
    ['three', 2],
  ] as const) {
    deliver(payload, qos);
    await until(() => client.connection!.session!.queuedMessages === 0);
  }
  deliver('dropped', 1);
  deliver('waits', 2);
  deliver('last', 1);
  deliver('qos 0', 1, 'b');
  t.same(
    client.take().map(({ payload }) => payload.toString()),
    ['one', 'two', 'three', 'qos 0'],
  );
  t.same(
    ['one', 'waits', 'dropped', 'qos 0', 'other'].map((mark) => session().hasMark(mark)),
    [true, true, false, false, false],
    'on their way',
  );
  const ids = [1, 2, 3].map((id) => id + 1);
  client.send({ cmd: 'puback', messageId: ids[0] });
  client.send({ cmd: 'pubrec', messageId: ids[1] });
  await until(() => client.packets.some(({ cmd }) => cmd === 'pubrel'));
  t.same(marks(), [['one'], ['one']], 'PUBREC is not the end');
  client.send({ cmd: 'pubcomp', messageId: ids[1] });
  await until(() => harness.store.entries.get('1/c1')!.acknowledged.length === 2);
  t.same(marks(), [
    ['one', 'two'],
    ['one', 'two'],
  ]);
  harness.restart();
  client = await harness.connected('c1', 4, kept);
  t.same(session().acknowledgedMarks, new Set(['one', 'two']), 'after a restart');
  t.same(
    ['one', 'three', 'waits', 'dropped'].map((mark) => session().hasMark(mark)),
    [true, true, true, false],
  );
  await until(() => client.packets.length === 3);
  const sent = client.take();
  t.equal(sent[0].payload.toString(), 'three');
  session().forgetMark('one');
  session().forgetMark('other');
  t.same(marks(), [['two'], ['one', 'two']]);
  client.send({ cmd: 'pubrec', messageId: sent[0].messageId });
  await until(() => client.packets.some(({ cmd }) => cmd === 'pubrel'));
  harness.restart();
  client = await harness.connected('c1', 4, kept);
  session().forgetMark('two');
  t.ok(client.takeCommands().includes(`pubrel ${sent[0].messageId}`));
  client.send({ cmd: 'pubcomp', messageId: sent[0].messageId });
  await until(() => harness.store.entries.get('1/c1')!.messages.size === 2);
  t.same(
    marks(),
    [
      ['one', 'three'],
      ['one', 'three'],
    ],
    'a message that came from the store has its mark; what is forgotten goes with the next removal',
  );
  await harness.connected('c1', 4, { clean: true });
  t.same([...session().acknowledgedMarks], [], 'not in another session');
});

t.test('marks are bounded: the oldest is forgotten', (t) => {
  const marks = Array.from({ length: SESSION_MARKS_MAX }, (_, index) => `m${index}`);
  const changed = changedMarks(marks, { acknowledged: 'new' });
  t.same([changed.length, changed[0], changed.at(-1)], [SESSION_MARKS_MAX, 'm1', 'new']);
  t.equal(changedMarks(marks, { acknowledged: 'm0' }).at(-1), 'm0', 'acknowledged again it is the newest');
  t.same(changedMarks(['a', 'b'], { over: ['a', 'c'] }), ['b']);
  t.end();
});

t.test('a limit that refuses writes is named to persistent sessions; it is no fault of ours', async (t) => {
  const expiring = { clean: false, properties: { sessionExpiryInterval: 1_000 } };
  for (const limit of ['journal/bytes', 'disk/free-bytes']) {
    const reason = { reasonString: new RegExp(limit) };
    for (const packet of [subscribe(2, ['b', 1]), { cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a'] }]) {
      const harness = new Harness();
      const { client } = await sentTwo(harness, 5, expiring);
      harness.store.failure = refusedBy(limit);
      client.send(packet);
      await until(() => client.isEnded);
      t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x97, properties: reason }]);
      client.drop();
      t.match((await harness.connect('c1', 5, expiring)).take(), [
        { cmd: 'connack', reasonCode: 0x97, properties: reason },
      ]);
      t.match((await harness.connect('c1', 4, kept)).take(), [{ cmd: 'connack', returnCode: 3 }]);
      t.match((await harness.connect('c2', 5, expiring)).take(), [
        { cmd: 'connack', reasonCode: 0x97, properties: reason },
      ]);
      t.same(
        [
          harness.counts.get('mqtt/reason-0x97'),
          harness.counts.get('mqtt/connack-0x97'),
          harness.counts.get('mqtt/internal-error'),
          harness.errors,
        ],
        [1, 3, undefined, []],
      );
      t.notOk(harness.server.sessions.isInMemory(1, 'c2'), 'what was not opened leaves memory');
      harness.store.failure = undefined;
      t.equal(
        (await harness.connect('c1', 5, expiring)).take()[0].sessionPresent,
        true,
        'the session is there when the limit is gone',
      );
    }
  }
});

t.test('a session whose CONNECT was refused expires in its time', async (t) => {
  const expiring = { clean: false, properties: { sessionExpiryInterval: 700 } };
  const harness = new Harness();
  (await harness.connected('c1', 5, expiring)).drop();
  await settle();
  harness.advance(600);
  harness.store.failure = refusedBy('journal/bytes');
  (await harness.connect('c1', 5, { clean: false, properties: { sessionExpiryInterval: 9_000 } })).drop();
  harness.store.failure = undefined;
  harness.advance(98);
  t.ok(harness.server.sessions.isInMemory(1, 'c1'));
  harness.advance(3);
  await settle();
  t.notOk(harness.server.sessions.isInMemory(1, 'c1'));
  t.equal(harness.store.entries.size, 0);
});

t.test('a store that fails loses no connection', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 4, kept);
  client.send(subscribe(1, ['a', 1]));
  await until(() => client.packets.length > 0);
  client.take();
  harness.store.failure = new Error('disk is full');
  harness.link('c1').connection.deliver(message('a', 'x', 1));
  await until(() => client.packets.length > 0);
  t.equal(client.take()[0].payload.toString(), 'x');
  t.equal(harness.counts.get('mqtt/session-store'), 1);
  client.drop();
  await settle();
  t.equal(harness.counts.get('mqtt/session-store'), 2);
});

t.test('the window and the queue are bounded', async (t) => {
  const harness = new Harness({ inFlightMessages: 2, queueMessages: 3 });
  const client = await harness.connected('c1');
  client.send(subscribe(1, ['a', 1]));
  client.take();
  for (let count = 1; count <= 7; count++) harness.link('c1').connection.deliver(message('a', `${count}`, 1));
  const sent = client.take();
  t.same(
    sent.map((packet) => packet.payload.toString()),
    ['1', '2'],
  );
  t.equal(harness.counts.get('mqtt/queue-messages'), 2);
  for (const packet of sent) client.send({ cmd: 'puback', messageId: packet.messageId });
  t.same(
    client.take().map((packet) => packet.payload.toString()),
    ['5', '6'],
    'the oldest were dropped',
  );
  const bytes = new Harness({ inFlightMessages: 1, queueBytes: 100 });
  const other = await bytes.connected('c1', 5, { properties: { receiveMaximum: 1, maximumPacketSize: 200 } });
  other.send(subscribe(1, ['a', 1]));
  other.take();
  for (let count = 1; count <= 4; count++) bytes.link('c1').connection.deliver(message('a', 'x'.repeat(40), 1));
  t.equal(other.take().length, 1);
  t.equal(bytes.counts.get('mqtt/queue-bytes'), 1);
  bytes.link('c1').connection.deliver(message('a', 'x'.repeat(90), 0));
  bytes.link('c1').connection.deliver(message('a', 'x'.repeat(400), 0));
  t.equal(other.take().length, 1, 'no packet beyond the Maximum Packet Size of the client');
});

t.test('no more are in flight than the Receive Maximum of the client', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1', 5, { properties: { receiveMaximum: 2 } });
  client.send(subscribe(1, ['a', 1]));
  client.take();
  for (const payload of ['1', '2', '3']) harness.link('c1').connection.deliver(message('a', payload, 1));
  const sent = client.take();
  t.same(
    sent.map(({ payload }) => payload.toString()),
    ['1', '2'],
  );
  client.send({ cmd: 'puback', messageId: sent[0].messageId, reasonCode: 0 });
  t.same(
    client.take().map(({ payload }) => payload.toString()),
    ['3'],
  );
});

t.test('takeover', async (t) => {
  for (const change of [{}, kept]) {
    const harness = new Harness();
    const expiry = 'clean' in change ? { properties: { sessionExpiryInterval: 99 } } : {};
    const old = await harness.connected('c1', 5, { ...change, ...expiry });
    const young = await harness.connected('d:c1', 4, change);
    t.match(old.take(), [{ cmd: 'disconnect', reasonCode: 0x8e }]);
    t.ok(old.isEnded);
    old.drop();
    young.send(publish('a', 'x', 1, 1));
    t.same(young.takeCommands(), ['puback 1']);
    t.same(harness.events.slice(0, 3), ['open', 'closed false', 'open']);
    t.equal(harness.server.connectionsCount, 1);
    t.equal(harness.server.sessions.sessionsCount, 1);
  }
});

t.test('the same serial in another tenant is another session', async (t) => {
  const harness = new Harness();
  harness.authenticate = (userName) => ({ ...principalOf(userName), tenantNumber: Number(userName[1]) });
  const one = await harness.connected('c1', 4, { ...kept, username: 't1/user' });
  const other = await harness.connect('c1', 4, { ...kept, username: 't2/user' });
  t.match(other.take(), [{ cmd: 'connack', sessionPresent: false }]);
  t.notOk(one.isEnded);
  t.same([...harness.store.entries.keys()], ['1/c1', '2/c1']);
});

t.test('many CONNECT of one client at once: the last one has the session', async (t) => {
  const harness = new Harness();
  const clients = await Promise.all(
    Array.from({ length: 10 }, (_, index) => harness.connect('c1', 4, { clean: index % 3 === 0 })),
  );
  await settle();
  t.equal(clients.filter((client) => !client.isEnded).length, 1);
  t.notOk(clients[9].isEnded);
  for (const client of clients) client.drop();
  await settle();
  t.equal(harness.server.connectionsCount, 0);
  t.same(harness.errors, []);
});

t.test('expiry: in memory, after a restart, changed by DISCONNECT', async (t) => {
  const change = { clean: false, properties: { sessionExpiryInterval: 700 } };
  const harness = new Harness();
  (await harness.connected('c1', 5, change)).drop();
  await settle();
  harness.advance(698);
  t.equal(harness.store.entries.size, 1);
  harness.advance(3);
  await settle();
  t.equal(harness.store.entries.size, 0);
  t.equal(harness.server.sessions.sessionsCount, 0);
  (await harness.connected('c2', 5, change)).drop();
  await settle();
  harness.restart();
  harness.nowMs += 701_000;
  t.equal((await harness.connect('c2', 5, change)).take()[0].sessionPresent, false);
  const third = await harness.connected('c3', 5, change);
  third.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } });
  await settle();
  t.notOk(harness.store.entries.has('1/c3'));
  const fourth = await harness.connected('c4', 5);
  fourth.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5 } });
  t.match(fourth.take(), [{ cmd: 'disconnect', reasonCode: 0x82 }]);
  const bounded = new Harness({ sessionExpirySeconds: 1_000 });
  const fifth = await bounded.connected('c5', 5, change);
  fifth.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5_000 } });
  await settle();
  t.equal(bounded.store.entries.get('1/c5')!.expirySeconds, 1_000, 'no longer than the limit');
});

t.test('a clean start discards what is stored, also after a restart', async (t) => {
  const harness = new Harness();
  await sentTwo(harness, 4, kept);
  await settle();
  harness.restart();
  const client = await harness.connect('c1', 4);
  t.match(client.take(), [{ cmd: 'connack', sessionPresent: false }]);
  t.notOk(harness.store.entries.has('1/c1'));
});

t.test('sessions without a connection leave memory, not the store', async (t) => {
  const harness = new Harness({ offlineSessions: 2 });
  for (const clientId of ['c1', 'c2', 'c3', 'c4']) {
    const client = await harness.connected(clientId, 4, kept);
    client.send(subscribe(1, ['a', 1]));
    await until(() => client.packets.length > 0);
    harness.link(clientId).connection.deliver(message('a', clientId, 1));
    await until(() => client.packets.length > 1);
    client.drop();
    await settle();
  }
  t.equal(harness.server.sessions.sessionsCount, 2);
  t.same(
    ['c1', 'c4'].map((clientId) => harness.server.sessions.isInMemory(1, clientId)),
    [false, true],
  );
  const client = await harness.connected('c1', 4, kept);
  await until(() => client.packets.length > 0);
  t.equal(client.take()[0].payload.toString(), 'c1');
});

t.test('a session that ends is not found by the next CONNECT, even while it is being removed', async (t) => {
  const harness = new Harness();
  const change = { clean: false, properties: { sessionExpiryInterval: 700 } };
  const first = await harness.connected('c1', 5, change);
  t.equal(harness.link('c1').connection.protocolVersion, 5);
  t.equal(first.connection!.isPersistent, true);
  // This store answers a read before the writes that were called earlier.
  harness.store.load = async (tenant, key) => {
    const entry = harness.store.entries.get(`${tenant}/${key}`);
    return entry && { ...entry, messages: [...entry.messages.values()], received: [...entry.received] };
  };
  first.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } });
  const second = await harness.connect('c1', 5, change);
  t.equal(second.take()[0].sessionPresent, false);
  t.equal((await harness.connected('c2', 5)).connection!.isPersistent, false);
});
