import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { BAYEUX_LIMITS } from '../../../src/realtime/bayeux/limits.ts';
import { RequestRefused, parseRequests } from '../../../src/realtime/bayeux/message.ts';
import type { Principal } from '../../../src/model/access/principal.ts';
import { urlFormOf } from '../../../src/realtime/bayeux/channel.ts';
import {
  AGENTS_URL,
  CLIENTS_URL,
  createWorld,
  deliveriesOf,
  DOCUMENTS_URL,
  PollingClient,
  principal,
  settle,
  SocketClient,
  TestNotification,
} from '../helpers.ts';

const UNKNOWN = { successful: false, error: '402::Unknown client', advice: { interval: 0, reconnect: 'handshake' } };

t.test('a handshake answers as documented', async (t) => {
  const client = new PollingClient(createWorld());
  const answer = await client.handshake({ id: '1', minimumVersion: '1.0' });
  t.match(answer.clientId, /^[0-9a-f]{32}$/);
  t.same(answer, {
    id: '1',
    channel: '/meta/handshake',
    clientId: client.clientId,
    version: '1.0',
    minimumVersion: '1.0',
    supportedConnectionTypes: ['long-polling', 'smartrest-long-polling', 'websocket'],
    ext: { ack: true },
    successful: true,
    data: null,
  });
});

t.test('the id of a request is echoed as it was; a single object is taken for an array', async (t) => {
  const client = new PollingClient(createWorld());
  t.equal((await client.handshake({ id: 7 })).id, 7);
  t.notOk('id' in (await client.handshake()));
  const poll = await client.post({
    channel: '/meta/subscribe',
    id: 'x',
    clientId: client.clientId,
    subscription: '/alarms/1',
  });
  t.same(poll.messages, [
    { id: 'x', channel: '/meta/subscribe', clientId: client.clientId, subscription: '/alarms/1', successful: true },
  ]);
});

t.test('a batch is answered in order, the connect last', async (t) => {
  const client = new PollingClient(createWorld());
  await client.handshake();
  await client.connect();
  const { clientId } = client;
  const poll = await client.post([
    { channel: '/meta/connect', id: '1', clientId, connectionType: 'long-polling' },
    { channel: '/meta/subscribe', id: '2', clientId, subscription: '/alarms/1' },
    { channel: '/meta/connect', id: '3', clientId },
    { channel: '/nothing', id: '4', clientId },
    { channel: '/meta/unsubscribe', id: '5', clientId, subscription: ['/alarms/1'] },
    { channel: '/meta/nothing', id: '6', clientId },
  ]);
  t.same(
    poll.messages?.map((message) => [message.id, message.successful]),
    [
      ['2', true],
      ['3', false],
      ['4', false],
      ['5', true],
      ['6', false],
      ['1', true],
    ],
    'not held: the others would wait',
  );
  t.same(
    poll.messages?.slice(1, 5).map((message) => message.error),
    [
      '400::More than one connect in a batch',
      '403:/nothing:Clients do not publish here: use the REST interface or MQTT',
      undefined,
      '400:/meta/nothing:Unknown meta channel',
    ],
  );
});

t.test('a connect of rows is held beside rows that have no answer', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const ext = { smartrest: { xids: ['x'] } };
  await client.handshake({ ext });
  await client.connect();
  const { clientId } = client;
  const batch = (subscription: string) =>
    client.post([
      { channel: '/meta/subscribe', id: '1', clientId, subscription, ext },
      { channel: '/meta/connect', id: '2', clientId, connectionType: 'smartrest-long-polling', ext },
    ]);
  t.match((await batch('/nothing/1')).messages, [{ successful: false }, { successful: true }], 'a fault is told');
  const poll = await batch('/alarms/1');
  t.equal(poll.messages, undefined, 'it waits');
  world.bus.publish(new TestNotification('alarms', '1', '{"id":"9"}'));
  world.clock.turn();
  t.match(
    poll.messages?.map(({ channel }) => channel),
    ['/meta/subscribe', '/alarms/1', '/meta/connect'],
  );
});

t.test('an empty batch and requests that are none', async (t) => {
  const world = createWorld({ limits: { requestBytes: 1_000, batchMessages: 3 } });
  const client = new PollingClient(world);
  t.same((await client.post([])).messages, []);
  await t.rejects(client.post('{'), { code: 'general/bad-json', status: 400 });
  await t.rejects(client.post('[1]'), { code: 'general/bad-json' });
  await t.rejects(client.post('[[]]'), { code: 'general/bad-json' });
  await t.rejects(client.post('null'), { code: 'general/bad-json' });
  await t.rejects(client.post('[{},{},{},{}]'), { code: 'general/bad-json' });
  await t.rejects(client.post(JSON.stringify({ text: 'ä'.repeat(500) })), {
    code: 'general/payload-too-large',
    status: 413,
  });
  t.same(world.refusals.counts, { 'realtime/batch-messages': 1, 'realtime/request-bytes': 1 });
  t.match((await client.post([{}])).messages, [{ successful: false, error: '400::A message has a channel' }]);
});

t.test('an unknown client is told to shake hands again', async (t) => {
  const client = new PollingClient(createWorld());
  client.clientId = 'nobody';
  t.same((await client.connect({ id: '1' })).messages, [{ id: '1', channel: '/meta/connect', ...UNKNOWN }]);
  t.match(await client.subscribe('/alarms/1'), { channel: '/meta/subscribe', subscription: '/alarms/1', ...UNKNOWN });
  t.match(await client.one({ channel: '/meta/unsubscribe', clientId: 'x', subscription: '/a' }), UNKNOWN);
  const left = await client.one({ channel: '/meta/disconnect', clientId: 'x' });
  t.same(left, { channel: '/meta/disconnect', successful: false, error: '402::Unknown client' });
  t.match((await client.post([{ channel: '/meta/connect', clientId: 17 }])).messages, [UNKNOWN]);
});

t.test("a session is its user's alone", async (t) => {
  const world = createWorld();
  const mine = new PollingClient(world);
  await mine.handshake();
  for (const who of [principal('other'), principal('admin', [], 2), undefined]) {
    const other = new PollingClient(world, { principal: who });
    other.clientId = mine.clientId;
    t.match(await other.subscribe('/alarms/1'), UNKNOWN);
    t.match((await other.connect()).messages, [UNKNOWN]);
  }
});

t.test('each channel takes its role', async (t) => {
  const world = createWorld();
  const check = async (channel: string, role: string, urlForm = CLIENTS_URL): Promise<void> => {
    const may = new PollingClient(world, { principal: principal('may', [role]), urlForm });
    await may.handshake();
    t.equal((await may.subscribe(channel)).successful, true, `${channel} with ${role}`);
    const others = [
      'MEASUREMENT_READ',
      'EVENT_READ',
      'ALARM_READ',
      'INVENTORY_READ',
      'DEVICE_CONTROL_READ',
      'ALARM_ADMIN',
    ]
      .map((name) => `ROLE_${name}`)
      .filter((name) => name !== role);
    const mayNot = new PollingClient(world, { principal: principal('may-not', others), urlForm });
    await mayNot.handshake();
    t.match(await mayNot.subscribe(channel), {
      successful: false,
      error: `403:${channel}:Access is denied: it takes ${role}`,
    });
  };
  await check('/measurements/1', 'ROLE_MEASUREMENT_READ');
  await check('/measurements/*', 'ROLE_MEASUREMENT_READ');
  await check('/events/1', 'ROLE_EVENT_READ');
  await check('/eventsWithChildren/1', 'ROLE_EVENT_READ');
  await check('/alarms/*', 'ROLE_ALARM_READ');
  await check('/alarmsWithChildren/1', 'ROLE_ALARM_READ', DOCUMENTS_URL);
  await check('/managedobjects/1', 'ROLE_INVENTORY_READ');
  await check('/inventory/1', 'ROLE_INVENTORY_READ');
  await check('/operations/1', 'ROLE_DEVICE_CONTROL_READ');
  await check('/1', 'ROLE_DEVICE_CONTROL_READ', AGENTS_URL);
});

t.test('who may read an object may watch it without the role, but not everything and not its children', async (t) => {
  const access = {
    mayRead: async (who: { userName: string }, id: string) => who.userName === 'device' && id === '42',
    watchedFor: async () => [],
    isOwner: () => false,
  };
  const world = createWorld({ access });
  const check = async (channel: string, isAllowed: boolean): Promise<void> => {
    const client = new PollingClient(world, { principal: principal('device', []), urlForm: AGENTS_URL });
    await client.handshake();
    t.equal((await client.subscribe(channel)).successful, isAllowed, channel);
  };
  await check('/42', true);
  await check('/operations/42', true);
  await check('/managedobjects/42', true);
  await check('/43', false);
  await check('/operations/43', false);
  await check('/operations/*', false);
  await check('/alarmsWithChildren/42', false);
});

t.test('channels that do not exist', async (t) => {
  const client = new PollingClient(createWorld());
  await client.handshake();
  for (const channel of [
    '/nothing/1',
    '/1',
    '/alarms',
    '/alarms/',
    '/alarms/1/2',
    'alarms/1',
    '/**',
    '/*',
    '/alarms/**',
    '/alarmsWithChildren/*',
    `/alarms/${'1'.repeat(65)}`,
    '/',
  ]) {
    const answer = await client.subscribe(channel);
    t.equal(answer.error, `404:${channel}:This URL has no such channel`);
  }
  for (const subscription of [undefined, 1, [], [1], '', {}, null]) {
    t.match((await client.subscribe(subscription)).error, /^400::/);
  }
});

t.test('an array of subscriptions is taken as a whole or not at all', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  await client.handshake();
  t.match(await client.subscribe(['/alarms/1', '/nothing/1']), {
    successful: false,
    subscription: ['/alarms/1', '/nothing/1'],
  });
  t.equal(world.bus.hasSubscribers(1, 'alarms'), false);
  t.match(await client.subscribe(['/alarms/1', '/alarms/1', '/events/*']), { successful: true });
  t.equal(world.bus.hasSubscribers(1, 'alarms'), true);
  await client.one({ channel: '/meta/unsubscribe', clientId: client.clientId, subscription: '/alarms/1' });
  t.equal(world.bus.hasSubscribers(1, 'alarms'), false, 'publishers need not work any more');
  t.equal(world.bus.hasSubscribers(1, 'events'), true);
  await client.one({ channel: '/meta/disconnect', clientId: client.clientId });
  t.equal(world.bus.hasSubscribers(1, 'events'), false);
});

t.test('subscriptions of a session are bounded', async (t) => {
  const world = createWorld({ limits: { subscriptionsPerSession: 2 } });
  const client = new PollingClient(world);
  await client.handshake();
  await client.subscribe(['/alarms/1', '/alarms/2']);
  t.match((await client.subscribe('/alarms/3')).error, /^403:\/alarms\/3:.*realtime\/subscriptions/);
  t.same(world.refusals.counts, { 'realtime/subscriptions': 1 });
});

t.test('sessions are bounded in all and per user', async (t) => {
  const world = createWorld({ limits: { sessions: 3, sessionsPerUser: 2 } });
  const one = new PollingClient(world);
  const other = new PollingClient(world, { principal: principal('other') });
  await one.watch('/alarms/1');
  await one.watch('/alarms/1');
  t.match(await one.handshake(), {
    successful: false,
    error: '403::Handshake denied',
    advice: { reconnect: 'none' },
    ext: { limit: 'realtime/sessions-per-user', maximum: 2 },
  });
  await other.watch('/alarms/1');
  const refused = await other.handshake();
  t.match(refused, { error: '403::Handshake denied', ext: { limit: 'realtime/sessions', maximum: 3 } });
  t.notOk('clientId' in refused);
  t.same(world.refusals.counts, { 'realtime/sessions-per-user': 1, 'realtime/sessions': 1 });
  t.equal(world.log.lines.filter((line) => line.level === 'warn').length, 2);
  await one.one({ channel: '/meta/disconnect', clientId: one.clientId });
  t.equal((await one.handshake()).successful, true);
});

t.test('abandoned handshakes give way to a new one of their user, whatever interval they asked for', async (t) => {
  const world = createWorld();
  const dashboard = new PollingClient(world);
  const poll = await dashboard.watch('/alarms/1');
  const abandoned: string[] = [];
  for (let count = 0; count < 300; count += 1) {
    const client = new PollingClient(world);
    t.equal((await client.handshake({ advice: { interval: 600_000 } })).successful, true);
    abandoned.push(client.clientId);
  }
  t.equal(world.server.sessionCount, 200);
  t.equal(world.refusals.counts['realtime/sessions-abandoned'], 101);
  t.equal(poll.messages, undefined, 'a dashboard that is connected stays');
  t.match(
    await dashboard.one({ channel: '/meta/subscribe', clientId: abandoned[0], subscription: '/alarms/1' }),
    { successful: false },
    'the oldest went',
  );
  t.match(await dashboard.one({ channel: '/meta/subscribe', clientId: abandoned[299], subscription: '/alarms/1' }), {
    successful: true,
  });
});

t.test(
  'a session whose client has left gives way, the longest left first; one that its client holds does not',
  async (t) => {
    const world = createWorld({ limits: { sessionsPerUser: 3 } });
    const clients = [0, 1, 2].map(() => new PollingClient(world));
    for (const client of clients) await client.watch('/alarms/1');
    const [gone, goneFirst] = clients;
    for (const client of [goneFirst, gone]) {
      await client.connect({ advice: { timeout: 0 } });
      world.clock.advance(1_000);
    }
    t.match(await new PollingClient(world).handshake(), { successful: false }, 'they may come back');
    world.clock.advance(9_000);
    t.equal((await new PollingClient(world).handshake()).successful, true);
    t.match((await goneFirst.connect()).messages, [UNKNOWN]);
  },
);

t.test('no tenant takes all sessions', async (t) => {
  const world = createWorld({ limits: { sessions: 20, sessionsPerUser: 9 } });
  const watch = (tenant: number, user: number): ReturnType<PollingClient['watch']> =>
    new PollingClient(world, { principal: principal(`u${user}`, undefined, tenant) }).watch('/alarms/1');
  for (let count = 0; count < 18; count += 1) await watch(1, count % 6);
  const late = new PollingClient(world, { principal: principal('late') });
  t.match(await late.handshake(), { successful: false, ext: { limit: 'realtime/sessions-of-tenant', maximum: 20 } });
  const foreign = new PollingClient(world, { principal: principal('ada', undefined, 2) });
  t.equal((await foreign.handshake()).successful, true);
});

t.test('one session too many of a user on a channel ends the oldest', async (t) => {
  const world = createWorld();
  const clients = Array.from({ length: 11 }, () => new PollingClient(world));
  const polls = [];
  for (const client of clients.slice(0, 10)) polls.push(await client.watch('/alarms/*'));
  await new PollingClient(world, { principal: principal('other') }).watch('/alarms/*');
  await new PollingClient(world).watch('/alarms/1');
  t.ok(polls.every((poll) => poll.messages === undefined));
  const last = await clients[10].watch('/alarms/*');
  t.match(polls[0].messages, [
    {
      channel: '/meta/connect',
      successful: false,
      advice: { reconnect: 'none' },
      error: '403:/alarms/*:More than 10 sessions of this user or login on the channel: the oldest was closed',
    },
  ]);
  t.ok(polls.slice(1).every((poll) => poll.messages === undefined));
  t.equal(last.messages, undefined);
  t.match((await clients[0].connect()).messages, [UNKNOWN]);
  t.same(world.refusals.counts, { 'realtime/sessions-per-user-and-channel': 1 });
});

t.test('people who share an account and log in count by their logins', async (t) => {
  const world = createWorld();
  const login = (id: string): PollingClient =>
    new PollingClient(world, {
      principal: { ...principal('admin'), session: { id, expiresAt: Date.now() + 3_600_000, xsrfToken: '' } },
    });
  const polls = [];
  for (let count = 0; count < 22; count += 1) polls.push(await login(`login ${count % 2}`).watch('/alarms/*'));
  const isEnded = polls.map(({ messages }) => messages !== undefined);
  t.same(isEnded, [true, true, ...Array.from({ length: 20 }, () => false)], 'the oldest of each login');
  t.same(world.refusals.counts, { 'realtime/sessions-per-user-and-channel': 2 });
});

t.test('disconnect answers the connect that is held and ends the session', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const poll = await client.watch('/alarms/1');
  t.same(await client.one({ channel: '/meta/disconnect', id: '9', clientId: client.clientId }), {
    id: '9',
    channel: '/meta/disconnect',
    clientId: client.clientId,
    successful: true,
  });
  t.match(poll.messages, [{ channel: '/meta/connect', successful: true, advice: { reconnect: 'none' } }]);
  t.equal(world.server.sessionCount, 0);
  t.equal(world.clock.timerCount, 0);
});

t.test('a changed user shakes hands again; a stopping server says so', async (t) => {
  const world = createWorld();
  const poll = await new PollingClient(world).watch('/alarms/1');
  const other = await new PollingClient(world, { principal: principal('other') }).watch('/alarms/1');
  world.server.endUser('t1', 'admin');
  t.match(poll.messages, [UNKNOWN]);
  t.equal(other.messages, undefined);
  world.server.close();
  t.match(other.messages, [
    { successful: false, error: '503::The server is stopping', advice: { reconnect: 'handshake' } },
  ]);
  t.equal(world.clock.timerCount, 0);
});

t.test(
  'a handshake is checked again when the user has changed since: a WebSocket may be old, a login may have waited',
  async (t) => {
    let generation = 0;
    const asOf = (): Principal => ({ ...principal(), asOf: generation });
    let checks = 0;
    const world = createWorld({
      authenticator: {
        authenticate: () => {
          checks += 1;
          return checks > 1 ? asOf() : { ...principal(), asOf: -1 };
        },
        current: (one) => (one.asOf === generation ? one : undefined),
      },
    });
    const polling = new PollingClient(world, { principal: asOf() });
    generation += 1;
    t.match(
      await polling.handshake(),
      { successful: false, error: /^401/, advice: { reconnect: 'handshake', interval: 0 } },
      'the next request is checked anew',
    );
    t.equal((await new PollingClient(world, { principal: asOf() }).handshake()).successful, true);
    let mayLogIn = true;
    const socket = new SocketClient(world, {
      principal: asOf(),
      renew: async () => ({ principal: mayLogIn ? asOf() : undefined }),
    });
    t.equal((await socket.handshake()).successful, true);
    generation += 1;
    t.equal((await socket.handshake()).successful, true, 'a WebSocket has its credentials checked again');
    generation += 1;
    mayLogIn = false;
    t.match(await socket.handshake(), { successful: false, error: '401::Unauthorized', advice: { reconnect: 'none' } });
    const inMessage = new PollingClient(world, { principal: undefined });
    t.equal(
      (
        await inMessage.handshake({
          ext: { 'com.cumulocity.authn': { token: Buffer.from('t1/admin:x').toString('base64') } },
        })
      ).successful,
      true,
    );
    t.equal(checks, 2, 'those in a message too');
  },
);

t.test('credentials in ext serve a connection that has none', async (t) => {
  const world = createWorld({
    tokenAuthenticator: { authenticateToken: (token) => (token === 'a.b.c' ? principal('jwt') : undefined) },
  });
  const right = Buffer.from('t1/admin:secret:1').toString('base64');
  const check = async (ext: unknown, isRight: boolean): Promise<void> => {
    const client = new SocketClient(world, { principal: undefined });
    const answer = await client.handshake({ ext });
    t.equal(answer.successful, isRight, JSON.stringify(ext));
    t.same(
      [client.socket.hasSession, client.socket.isBusy],
      [isRight, false],
      'without a session a WebSocket is closed',
    );
    if (!isRight) {
      t.equal(answer.error, '401::Unauthorized');
      t.notOk('clientId' in answer);
      return;
    }
    t.match(await client.ask({ channel: '/meta/subscribe', subscription: '/alarms/1' }), [{ successful: true }]);
  };
  await check({ 'com.platform.authn': { token: right, tfa: '', xsrfToken: '' }, systemOfUnits: 'metric' }, true);
  await check({ 'com.cumulocity.authn': { token: right } }, true);
  await check({ 'com.cumulocity.authn': { token: `Basic ${right}` } }, true);
  await check({ 'com.cumulocity.authn': { token: 'a.b.c' } }, true);
  await check({ 'com.platform.authn': { token: Buffer.from('t1/admin:wrong').toString('base64') } }, false);
  await check({ 'com.platform.authn': { token: '%%%' } }, false);
  await check({ 'com.platform.authn': null }, false);
  await check({ 'com.platform.authn': { token: 1 } }, false);
  await check(undefined, false);
  await check('text', false);
});

t.test('a client authenticated by its handshake comes back on another connection', async (t) => {
  const world = createWorld();
  const ext = { 'com.platform.authn': { token: Buffer.from('t1/admin:secret:1').toString('base64') } };
  const first = new SocketClient(world, { principal: undefined });
  await first.handshake({ ext });
  await first.ask({ channel: '/meta/subscribe', subscription: '/alarms/1' });
  await first.connect();
  await first.connect();
  first.socket.closed();
  world.bus.publish(new TestNotification('alarms', '1', '{"id":"5"}'));
  const second = new SocketClient(world, { principal: undefined });
  second.clientId = 'another';
  await second.connect();
  t.equal(second.socket.hasSession, false);
  second.clientId = first.clientId;
  t.match(deliveriesOf(await second.connect()), [{ channel: '/alarms/1', data: { data: { id: '5' } } }]);
  t.equal(second.socket.hasSession, true);
});

t.test("the connection's own credentials are not replaced by ext", async (t) => {
  const world = createWorld();
  const client = new SocketClient(world, { principal: principal('limited', []) });
  await client.handshake({
    ext: { 'com.platform.authn': { token: Buffer.from('t1/admin:secret:1').toString('base64') } },
  });
  t.match(await client.ask({ channel: '/meta/subscribe', subscription: '/alarms/1' }), [{ successful: false }]);
});

t.test('a failure of ours is an answer and leaves the others of the batch alone', async (t) => {
  const world = createWorld({
    access: {
      mayRead: async () => {
        throw new Error('the documents are gone');
      },
      watchedFor: async () => [],
      isOwner: () => false,
    },
  });
  const client = new PollingClient(world, { principal: principal('device', []) });
  await client.handshake();
  const { clientId } = client;
  const poll = await client.post([
    { channel: '/meta/subscribe', id: '1', clientId, subscription: '/alarms/1' },
    { channel: '/meta/disconnect', id: '2', clientId },
  ]);
  t.match(poll.messages, [
    { id: '1', successful: false, error: '500::The server failed to answer' },
    { id: '2', successful: true },
  ]);
  t.equal(world.log.lines[0].level, 'error');
  await settle();
});

t.test('the URLs and what CometD makes of them', async (t) => {
  t.equal(urlFormOf('/notification/realtime'), CLIENTS_URL);
  t.equal(urlFormOf('/notification/realtime/connect'), CLIENTS_URL);
  t.equal(urlFormOf('/cep/realtime/handshake'), DOCUMENTS_URL);
  t.equal(urlFormOf('/cep/realtime/'), DOCUMENTS_URL);
  t.equal(urlFormOf('/notification/operations/disconnect'), AGENTS_URL);
  t.same(urlFormOf('/devicecontrol/notifications'), { data: 'array', hasAgentChannels: true });
  for (const path of [
    '/',
    '/connect',
    '/cep',
    '/cep/realtime/other',
    '/cep/realtime/connect/connect',
    'toString',
    '/cep/realtime//',
  ]) {
    t.equal(urlFormOf(path), undefined, path);
  }
});

t.test('a message that is nested deeply is refused before any part of it is repeated', async (t) => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  for (const text of [
    `[{"channel":"/meta/subscribe","subscription":${deep}}]`,
    `[{"channel":"/meta/handshake","ext":{"a":${deep}}}]`,
    deep,
  ]) {
    t.throws(
      () => parseRequests(text, BAYEUX_LIMITS),
      new RequestRefused(new PlatformError('general/bad-json', { reason: 'it is nested deeper than 200' })),
    );
  }
});
