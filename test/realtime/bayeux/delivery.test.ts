import t from 'tap';
import type { Notification } from '../../../src/ports/live-bus.ts';
import {
  AGENTS_URL,
  createWorld,
  deliveriesOf,
  DOCUMENTS_URL,
  PollingClient,
  principal,
  settle,
  SocketClient,
  TestNotification,
} from '../helpers.ts';
import type { Message, Poll, World } from '../helpers.ts';

/** Publishes and ends the turn. */
function publish(world: World, ...notifications: Notification[]): void {
  for (const notification of notifications) world.bus.publish(notification);
  world.clock.turn();
}

t.test("a notification ends the long poll, before the connect's answer; in the clients' form", async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  await client.handshake();
  await client.subscribe('/alarms/42');
  await client.connect();
  const poll = await client.connect({ id: '3' });
  publish(world, new TestNotification('alarms', '42', '{"id":"9","c8y_IsDevice":{}}'));
  t.same(poll.messages, [
    { channel: '/alarms/42', id: '1', data: { realtimeAction: 'CREATE', data: { id: '9', c8y_IsDevice: {} } } },
    {
      id: '3',
      channel: '/meta/connect',
      clientId: client.clientId,
      successful: true,
      advice: { interval: 0, timeout: 5_400_000, reconnect: 'retry' },
    },
  ]);
});

t.test(
  "in the documents' form data is an array; a DELETE holds the id; the entity is encoded once for all",
  async (t) => {
    const world = createWorld();
    const documents = await new PollingClient(world, { urlForm: DOCUMENTS_URL }).watch('/events/1');
    const clients = await new PollingClient(world).watch('/events/*', '/eventsWithChildren/1');
    const created = new TestNotification('events', '1', '{"id":"9"}');
    publish(world, created, new TestNotification('events', '1', '"9"', { action: 'DELETE' }));
    const entity = { id: '9' };
    t.same(
      deliveriesOf(documents.messages).map((message) => [message.channel, message.data]),
      [
        ['/events/1', [{ realtimeAction: 'CREATE', data: entity }]],
        ['/events/1', [{ realtimeAction: 'DELETE', data: '9' }]],
      ],
    );
    t.same(
      deliveriesOf(clients.messages).map((message) => [message.channel, message.data]),
      [
        ['/events/1', { realtimeAction: 'CREATE', data: entity }],
        ['/eventsWithChildren/1', { realtimeAction: 'CREATE', data: entity }],
        ['/events/1', { realtimeAction: 'DELETE', data: '9' }],
        ['/eventsWithChildren/1', { realtimeAction: 'DELETE', data: '9' }],
      ],
    );
    t.equal(created.textCount, 1);
  },
);

t.test('links begin with the URL that each subscriber called', async (t) => {
  const world = createWorld();
  const clients: Awaited<ReturnType<PollingClient['watch']>>[] = [];
  for (const options of [
    { baseUrl: 'https://a.example' },
    { baseUrl: 'http://b:81/x' },
    {},
    { baseUrl: 'https://a.example', urlForm: DOCUMENTS_URL },
  ]) {
    clients.push(
      await new PollingClient(world, options).watch(
        '/alarms/*',
        '/measurements/*',
        '/managedobjects/*',
        '/operations/*',
        '/events/*',
      ),
    );
  }
  const publish1 = new TestNotification(
    'alarms',
    '5',
    '{"id":"9","source":{"id":"5","name":"x"},"self":"sent","text":"ä"}',
  );
  publish(
    world,
    publish1,
    new TestNotification('measurements', '5', '{"id": "10", "time":"2024-05-02T12:00+02", "source":{"id":"5"}}'),
    new TestNotification('managedobjects', '5', '{"id":"5","source":{"id":"x"}}'),
    new TestNotification('operations', '5', '{"id":"11","deviceId":"5","deviceExternalIDs":{"externalIds":[]}}'),
    new TestNotification('events', '5', '{"id":"12","source":{"id":"5"}}', { isUnstored: true }),
    new TestNotification('alarms', '5', '"9"', { action: 'DELETE' }),
  );
  const linked = (base: string): object[] => [
    {
      self: `${base}/alarm/alarms/9`,
      id: '9',
      source: { self: `${base}/inventory/managedObjects/5`, id: '5', name: 'x' },
      text: 'ä',
    },
    {
      self: `${base}/measurement/measurements/10`,
      id: '10',
      time: '2024-05-02T12:00:00.000+02:00',
      source: { self: `${base}/inventory/managedObjects/5`, id: '5' },
    },
    { self: `${base}/inventory/managedObjects/5`, id: '5', source: { id: 'x' } },
    {
      self: `${base}/devicecontrol/operations/11`,
      id: '11',
      deviceId: '5',
      deviceExternalIDs: { externalIds: [], self: `${base}/identity/globalIds/5/externalIds` },
    },
    { id: '12', source: { self: `${base}/inventory/managedObjects/5`, id: '5' } },
  ];
  const entities = (client: (typeof clients)[number]): unknown[] =>
    deliveriesOf(client.messages)
      .map((message) => [message.data].flat()[0])
      .filter(({ realtimeAction }) => realtimeAction !== 'DELETE')
      .map(({ data }) => data);
  t.same(entities(clients[0]), linked('https://a.example'));
  t.same(entities(clients[1]), linked('http://b:81/x'));
  t.match(entities(clients[2])[1], { id: '10', source: { id: '5', self: undefined }, self: undefined });
  t.same(entities(clients[3]), linked('https://a.example'));
  t.same(
    clients.map((client) => deliveriesOf(client.messages).length),
    [6, 6, 6, 6],
  );
  t.equal(publish1.textCount, 1, 'the entity is encoded once for all');
});

t.test('each channel shows its area, its actions and its source', async (t) => {
  const parents: Record<string, string[]> = { child: ['agent', 'group'], agent: ['group'] };
  const check = async (channel: string, expected: string[], urlForm = AGENTS_URL): Promise<void> => {
    const world = createWorld({ hierarchy: { ancestors: (_tenant, id) => parents[id] ?? [] } });
    const poll = await new PollingClient(world, { urlForm }).watch(channel);
    for (const area of ['measurements', 'events', 'alarms', 'managedobjects', 'operations'] as const) {
      for (const action of ['CREATE', 'UPDATE', 'DELETE'] as const) {
        for (const source of ['agent', 'child', 'group']) {
          world.bus.publish(
            new TestNotification(area, source, JSON.stringify({ what: `${area} ${source}` }), { action }),
          );
          world.bus.publish(new TestNotification(area, source, '{"what":"wrong tenant"}', { action, tenant: 2 }));
        }
      }
    }
    world.clock.turn();
    const seen = deliveriesOf(poll.messages);
    t.same(
      seen.map((message) => `${message.data.realtimeAction} ${message.data.data.what}`),
      expected,
      channel,
    );
    const prefix = channel.slice(0, channel.lastIndexOf('/') + 1);
    t.ok(
      seen.every(
        (message) => message.channel === channel || message.channel === prefix + message.data.data.what.split(' ')[1],
      ),
    );
  };
  const list = (area: string, actions: string[], sources: string[]): string[] =>
    actions.flatMap((action) => sources.map((source) => `${action} ${area} ${source}`));
  const all = ['CREATE', 'UPDATE', 'DELETE'];
  await check('/measurements/agent', list('measurements', ['CREATE', 'DELETE'], ['agent']));
  await check('/measurements/*', list('measurements', ['CREATE', 'DELETE'], ['agent', 'child', 'group']));
  await check('/events/child', list('events', all, ['child']));
  await check('/eventsWithChildren/agent', list('events', all, ['agent', 'child']));
  await check('/alarms/agent', list('alarms', all, ['agent']));
  await check('/alarmsWithChildren/group', list('alarms', all, ['agent', 'child', 'group']));
  await check('/managedobjects/agent', list('managedobjects', all, ['agent']));
  await check('/inventory/*', list('managedobjects', all, ['agent', 'child', 'group']));
  await check('/operations/agent', list('operations', all, ['agent']));
  await check('/agent', list('operations', ['CREATE', 'UPDATE'], ['agent', 'child']));
});

t.test('subscribed to one and to all: once; to the alias as well: on both', async (t) => {
  const world = createWorld();
  const poll = await new PollingClient(world).watch('/managedobjects/1', '/managedobjects/*', '/inventory/1');
  publish(world, new TestNotification('managedobjects', '1', '{}'));
  t.same(
    deliveriesOf(poll.messages).map((message) => message.channel),
    ['/managedobjects/1', '/inventory/1'],
  );
});

t.test('nobody encodes what nobody gets', async (t) => {
  const world = createWorld();
  await new PollingClient(world).watch('/alarms/1', '/alarmsWithChildren/1');
  const other = new TestNotification('alarms', '2', '{}');
  publish(world, other);
  t.equal(other.textCount, 0);
});

t.test('all sessions are written to in one flush per turn', async (t) => {
  const world = createWorld();
  const polls: Poll[] = [];
  for (let index = 0; index < 5; index += 1) polls.push(await new PollingClient(world).watch('/alarms/*'));
  const before = world.clock.immediateCount;
  for (let index = 0; index < 100; index += 1) world.bus.publish(new TestNotification('alarms', String(index), '{}'));
  t.equal(world.clock.immediateCount, before + 1);
  t.ok(
    polls.every((poll) => poll.sendCount === 0),
    'publishing writes nothing',
  );
  world.clock.turn();
  t.ok(polls.every((poll) => poll.sendCount === 1 && deliveriesOf(poll.messages).length === 100));
  const order = deliveriesOf(polls[0].messages).map((message) => Number(message.channel.slice('/alarms/'.length)));
  t.same(
    order,
    order.map((_, index) => index),
  );
});

t.test('what comes between two connects waits for the next', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  await client.handshake();
  await client.subscribe('/alarms/1');
  publish(world, new TestNotification('alarms', '1', '1'));
  t.match(deliveriesOf((await client.connect()).messages), [{ data: { data: 1 } }], 'already with the first');
  publish(world, new TestNotification('alarms', '1', '2'), new TestNotification('alarms', '1', '3'));
  t.match(deliveriesOf((await client.connect()).messages), [{ data: { data: 2 } }, { data: { data: 3 } }]);
  t.equal(world.server.queuedBytes, 0);
});

t.test('after unsubscribing nothing more comes', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const poll = await client.watch('/alarms/1', '/alarms/*');
  await client.one({ channel: '/meta/unsubscribe', clientId: client.clientId, subscription: '/alarms/*' });
  publish(world, new TestNotification('alarms', '2', '{}'));
  t.equal(poll.messages, undefined);
  publish(world, new TestNotification('alarms', '1', '{}'));
  t.equal(deliveriesOf(poll.messages).length, 1);
});

t.test('a subscriber that does not read loses the oldest, is told, and slows nobody', async (t) => {
  const metrics = { delivered: 0, lost: {} as Record<string, number> };
  const world = createWorld({
    limits: { queueMessages: 10 },
    metrics: {
      delivered: (count) => {
        metrics.delivered += count;
      },
      lost: (limit) => {
        metrics.lost[limit] = (metrics.lost[limit] ?? 0) + 1;
      },
    },
  });
  const fast = new PollingClient(world);
  let poll = await fast.watch('/alarms/1');
  const slow = new PollingClient(world);
  await slow.watch('/alarms/1').then((held) => held.abort());
  const seen: number[] = [];
  for (let index = 0; index < 25; index += 1) {
    publish(world, new TestNotification('alarms', '1', String(index)));
    seen.push(...deliveriesOf(poll.messages).map((message) => message.data.data));
    poll = await fast.connect();
  }
  t.same(
    seen,
    Array.from({ length: 25 }, (_, index) => index),
  );
  const late = await slow.connect({ id: '8' });
  t.same(late.messages?.[0], { channel: '/millrace/lost', data: { lost: 15, limit: 'realtime/queue-messages' } });
  t.same(
    late.messages?.slice(1, 11).map((message) => message.data.data),
    [15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
  );
  t.match(late.messages?.[11], { id: '8', channel: '/meta/connect', successful: true, ext: { lost: 15 } });
  t.same(world.refusals.counts, { 'realtime/queue-messages': 15 });
  t.same(metrics, { delivered: 35, lost: { 'realtime/queue-messages': 15 } });
  t.equal(world.log.lines.filter((line) => line.level === 'warn').length, 1, 'not one line per message');
  publish(world, new TestNotification('alarms', '1', '25'));
  const next = await slow.connect();
  t.equal(next.messages?.length, 2);
  t.notOk('ext' in (next.messages as Message[])[1], 'told once');
});

t.test('bytes are bounded as well', async (t) => {
  const world = createWorld({ limits: { queueBytes: 1_000 } });
  const client = new PollingClient(world);
  (await client.watch('/alarms/1')).abort();
  for (let index = 0; index < 9; index += 1) {
    publish(world, new TestNotification('alarms', '1', JSON.stringify({ index, text: 'ä'.repeat(100) })));
  }
  t.ok(world.server.queuedBytes <= 1_000);
  const { messages } = await client.connect();
  t.match(messages?.[0], { channel: '/millrace/lost', data: { lost: 6, limit: 'realtime/queue-bytes' } });
  t.same(
    deliveriesOf(messages)
      .slice(1)
      .map((message) => message.data.data.index),
    [6, 7, 8],
  );
});

t.test('a WebSocket gets frames while its connect stays open', async (t) => {
  const world = createWorld();
  const client = new SocketClient(world);
  await client.watch('/alarms/1');
  publish(world, new TestNotification('alarms', '1', '1'), new TestNotification('alarms', '1', '2'));
  t.equal(client.channel.frames.length, 1, 'one frame per turn');
  t.same(
    client.channel.take().map((message) => message.data.data),
    [1, 2],
  );
  publish(world, new TestNotification('alarms', '1', '3'));
  t.same(
    client.channel.take().map((message) => message.data.data),
    [3],
  );
});

t.test('a WebSocket whose buffer is full is left alone until it has drained', async (t) => {
  const world = createWorld({ limits: { queueMessages: 3, webSocketBufferedBytes: 50 } });
  const slow = new SocketClient(world);
  await slow.watch('/alarms/1');
  const fast = new SocketClient(world);
  await fast.watch('/alarms/1');
  slow.channel.isSlow = true;
  for (let index = 0; index < 6; index += 1) publish(world, new TestNotification('alarms', '1', String(index)));
  t.equal(fast.channel.take().length, 6);
  t.same(
    slow.channel.take().map((message) => message.data.data),
    [0],
  );
  slow.socket.drained();
  t.equal(slow.channel.frames.length, 0, 'still full');
  slow.channel.isSlow = false;
  slow.channel.bufferedBytes = 0;
  slow.socket.drained();
  const [lost, ...rest] = slow.channel.take();
  t.same(lost, { channel: '/millrace/lost', data: { lost: 2, limit: 'realtime/queue-messages' } });
  t.same(
    rest.map((message) => message.data.data),
    [3, 4, 5],
  );
  publish(world, new TestNotification('alarms', '1', '6'));
  t.equal(slow.channel.take().length, 1);
  const answers = await slow.ask({ channel: '/meta/connect', id: '9', advice: { timeout: 0 } });
  t.match(answers.at(-1), { id: '9', ext: { lost: 2 } });
});

t.test('much that waits goes out in frames of a bounded size', async (t) => {
  const world = createWorld({ limits: { frameBytes: 1_000 } });
  const client = new SocketClient(world);
  await client.watch('/alarms/1');
  for (let index = 0; index < 100; index += 1) world.bus.publish(new TestNotification('alarms', '1', String(index)));
  world.clock.turn();
  t.ok(client.channel.frames.length > 5);
  t.ok(client.channel.frames.every((frame) => frame.length <= 1_000 + 100));
  t.same(
    client.channel.take().map((message) => message.data.data),
    Array.from({ length: 100 }, (_, index) => index),
  );
});

t.test('a WebSocket client that asks without reading, or without waiting, is cut off and told why', async (t) => {
  const world = createWorld({ limits: { webSocketBufferedBytesMax: 1_000, webSocketPending: 2, requestBytes: 300 } });
  const deaf = new SocketClient(world);
  deaf.channel.isSlow = true;
  for (let index = 0; index < 10; index += 1) await deaf.ask({ channel: '/nothing' });
  t.match(deaf.channel.ended, /^realtime\/websocket-buffer/);
  const hasty = new SocketClient(world);
  for (let index = 0; index < 3; index += 1) hasty.socket.message('[{"channel":"/nothing"}]');
  t.match(hasty.channel.ended, /^realtime\/websocket-pending/);
  const large = new SocketClient(world);
  large.socket.message(`[${' '.repeat(300)}]`);
  t.match(large.channel.ended, /^realtime\/request-bytes/);
  const wrong = new SocketClient(world);
  wrong.socket.message('hello');
  t.match(wrong.channel.take(), [{ successful: false, error: /^400::/ }]);
  t.equal((await wrong.handshake()).successful, true, 'a frame that cannot be read ends nothing');
  t.same(world.refusals.counts, {
    'realtime/websocket-buffer': 1,
    'realtime/websocket-pending': 1,
    'realtime/request-bytes': 1,
  });
});

t.test('a session moves between transports with what waits for it', async (t) => {
  const world = createWorld();
  const socket = new SocketClient(world);
  await socket.watch('/alarms/1');
  socket.socket.closed();
  publish(world, new TestNotification('alarms', '1', '1'));
  const poller = new PollingClient(world);
  poller.clientId = socket.clientId;
  t.match(deliveriesOf((await poller.connect()).messages), [{ data: { data: 1 } }]);
});

t.test('when the hierarchy answers later, order is kept and nothing else waits', async (t) => {
  const answers = new Map<string, (ids: string[]) => void>();
  const world = createWorld({
    hierarchy: {
      ancestors: (_tenant, id) =>
        new Promise((resolve) => {
          answers.set(id, resolve);
        }),
    },
  });
  const watcher = new SocketClient(world);
  await watcher.watch('/alarmsWithChildren/root');
  const direct = new SocketClient(world);
  await direct.watch('/alarms/*');
  const first = new TestNotification('alarms', 'a', '1');
  publish(world, first, new TestNotification('alarms', 'b', '2'), new TestNotification('alarms', 'a', '3'));
  t.equal(direct.channel.take().length, 3);
  t.same(watcher.channel.take(), []);
  for (const id of ['a', 'b']) {
    await settle();
    answers.get(id)?.(['root']);
    await settle();
  }
  await settle();
  world.clock.turn();
  const last = answers.get('a');
  last?.(['root']);
  await settle();
  world.clock.turn();
  t.same(
    watcher.channel.take().map((message) => message.data.data),
    [1, 2, 3],
  );
  t.equal(first.textCount, 1);
});

t.test('a hierarchy that fails costs the ancestors their messages only; one that hangs is bounded', async (t) => {
  let isHanging = false;
  const world = createWorld({
    limits: { hierarchyMessages: 2 },
    hierarchy: {
      ancestors: () => {
        if (isHanging) return new Promise(() => undefined);
        throw new Error('the documents are gone');
      },
    },
  });
  const client = new SocketClient(world);
  await client.watch('/alarmsWithChildren/1');
  publish(world, new TestNotification('alarms', '1', '1'));
  t.equal(client.channel.take().length, 1);
  t.equal(world.log.lines[0].level, 'error');
  isHanging = true;
  publish(world, ...['2', '3', '4', '5'].map((source) => new TestNotification('alarms', source, '1')));
  t.same(client.channel.take(), [{ channel: '/millrace/lost', data: { lost: 2, limit: 'realtime/hierarchy-queue' } }]);
});

t.test('tenants are apart', async (t) => {
  const world = createWorld();
  const mine = await new PollingClient(world).watch('/alarms/*');
  const theirs = await new PollingClient(world, { principal: principal('admin', ['ROLE_ALARM_READ'], 2) }).watch(
    '/alarms/*',
  );
  publish(world, new TestNotification('alarms', '1', '{}', { tenant: 2 }));
  t.equal(mine.messages, undefined);
  t.equal(deliveriesOf(theirs.messages).length, 1);
});

t.test('an agent gets its operations with what agents need beside them, others as they are', async (t) => {
  const world = createWorld({ hierarchy: { ancestors: () => ['42'] } });
  const agent = await new PollingClient(world, { urlForm: AGENTS_URL }).watch('/42');
  const watcher = await new PollingClient(world, { urlForm: AGENTS_URL }).watch('/operations/43');
  const operation = {
    id: '9',
    deviceId: '43',
    status: 'PENDING',
    creationTime: '2026-05-02T10:00:00.000Z',
    c8y_Restart: {},
    delivery: 'mine',
  };
  const notification = new TestNotification('operations', '43', JSON.stringify(operation));
  publish(world, notification);
  t.same(
    deliveriesOf(agent.messages).map(({ channel, data }) => [channel, data.data]),
    [['/42', { ...operation, agentId: '42', delivery: { log: [], status: 'PENDING', time: operation.creationTime } }]],
  );
  t.same(
    deliveriesOf(watcher.messages).map(({ data }) => data.data),
    [operation],
  );
  t.equal(notification.textCount, 1);
});

t.test('measurements come in the units of the handshake', async (t) => {
  const world = createWorld();
  const watch = async (ext: object, urlForm = DOCUMENTS_URL): Promise<Poll> => {
    const client = new PollingClient(world, { urlForm });
    await client.handshake({ ext });
    await client.subscribe(['/measurements/1', '/events/1']);
    await client.connect();
    return client.connect();
  };
  const polls = await Promise.all([
    watch({}),
    watch({ systemOfUnits: 'imperial' }),
    watch({ systemOfUnits: 'metric' }),
    watch({ systemOfUnits: 'stone' }),
  ]);
  const text =
    '{"time":"x","source":{"id":"1"},"c8y_T":{"T":{"value":21.50,"unit":"degC"},"n":{"value":"5","unit":"m"}},"u":{"L":{"value":10,"unit":"ft"}},"k":[1, 2]}';
  publish(
    world,
    new TestNotification('measurements', '1', text),
    new TestNotification('measurements', '1', '"7"', { action: 'DELETE' }),
    new TestNotification('events', '1', '{"e":{"T":{"value":1,"unit":"m"}}}'),
  );
  const values = polls.map(({ messages }) => deliveriesOf(messages).map(({ data }) => data[0].data));
  const plain = JSON.parse(text);
  const imperial = { ...plain, c8y_T: { ...plain.c8y_T, T: { value: 70.7, unit: 'degF' } } };
  const metric = { ...plain, u: { L: { value: 3.048, unit: 'm' } } };
  const event = { e: { T: { value: 1, unit: 'm' } } };
  t.same(values, [
    [plain, '7', event],
    [imperial, '7', event],
    [metric, '7', event],
    [plain, '7', event],
  ]);
});
