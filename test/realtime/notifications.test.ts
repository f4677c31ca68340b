/** Topics of Notifications 2.0 without a server: matching, windows, redelivery, partitions, bounds, hostile clients. */
import t from 'tap';
import type { Forwarder } from '../../src/actors/runtime/forwarder.ts';
import { forwardedMeasurement } from '../../src/actors/runtime/measurement-notice.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { NotificationSubscription } from '../../src/model/entities/notifications/subscription.ts';
import { isTypeFilter, subscriptionKey, typesOf } from '../../src/model/entities/notifications/subscription.ts';
import { chunkText, factsOfKey, messagesOf } from '../../src/model/entities/notifications/topic.ts';
import type { TopicChunk, TopicRef } from '../../src/model/entities/notifications/topic.ts';
import { PlatformError } from '../../src/model/errors.ts';
import type { Notification } from '../../src/ports/live-bus.ts';
import type { TopicFacts, Trimmed } from '../../src/ports/stores/topic-log.ts';
import { BASE_PLACE, linkedEntity } from '../../src/realtime/bayeux/live-links.ts';
import { Forwarding } from '../../src/realtime/notifications/forwarding.ts';
import { NotificationHub } from '../../src/realtime/notifications/hub.ts';
import type { ForwardedTopics, NotificationHubOptions } from '../../src/realtime/notifications/hub-options.ts';
import type { ConsumerSocket } from '../../src/realtime/notifications/consumer.ts';
import type { ConsumerIdentity } from '../../src/realtime/notifications/hub.ts';
import {
  Forwarded,
  leastText,
  messageText,
  shortened,
  sourceOfMessage,
} from '../../src/realtime/notifications/message.ts';
import { NOTIFICATION_LIMITS } from '../../src/realtime/notifications/limits.ts';
import type { NotificationLimits } from '../../src/realtime/notifications/limits.ts';
import { TenantSubscriptions } from '../../src/realtime/notifications/subscriptions.ts';
import { partsOf } from '../../src/realtime/notifications/parts.ts';
import { Topic } from '../../src/realtime/notifications/topic.ts';
import { Trimming } from '../../src/realtime/notifications/trimming.ts';
import { until } from '../helpers/until.ts';

const TENANT = 7;
const SOURCE = '100';
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as never;

const subscription = (further: Partial<NotificationSubscription>): NotificationSubscription => ({
  id: '1',
  context: 'mo',
  source: SOURCE,
  subscription: 'a',
  nonPersistent: false,
  ...further,
});
const notice = (further: Partial<Notification> & { readonly entity?: object }): Notification => ({
  tenant: TENANT,
  area: 'alarms',
  source: SOURCE,
  action: 'CREATE',
  text: () => JSON.stringify(further.entity ?? { id: '5', type: 'hot', source: { id: SOURCE }, c8y_A: 1, c8y_B: 2 }),
  ...further,
});

t.test('which topics a notification goes to', async (t) => {
  t.same([...typesOf("'a b' or 'it''s' OR 'c'")], ['a b', "it's", 'c']);
  t.same([...typesOf('plain')], ['plain']);
  const kinds = (
    one: Partial<NotificationSubscription>,
    of: Partial<Notification>,
    above: readonly string[] = [],
  ): string[] => {
    const index = new TenantSubscriptions();
    const stored = subscription(one);
    index.set(subscriptionKey(stored), JSON.stringify(stored));
    const found = index.match(new Forwarded(notice(of)), above, () => true);
    index.set(subscriptionKey(stored), undefined);
    t.equal(index.match(new Forwarded(notice(of)), above, () => true).size, 0, 'none when it is deleted');
    return [...found.values()].map(({ kind }) => kind);
  };
  const apis = (...names: string[]): Partial<NotificationSubscription> => ({ subscriptionFilter: { apis: names } });
  t.same(kinds({}, {}), ['alarms']);
  t.same(kinds(apis('*'), { area: 'measurements' }), ['measurements']);
  t.same(kinds(apis('events'), {}), []);
  t.same(kinds({}, { source: '101' }), []);
  t.same(kinds(apis('alarmsWithChildren'), { source: '101' }), []);
  t.same(kinds(apis('alarmsWithChildren'), { source: '101' }, ['50', SOURCE]), ['alarmsWithChildren']);
  t.same(kinds(apis('alarmsWithChildren'), {}), ['alarmsWithChildren']);
  t.same(kinds(apis('alarms', 'alarmsWithChildren'), {}), ['alarms']);
  t.same(kinds(apis('alarmsWithChildren'), { area: 'events', source: '101' }, [SOURCE]), []);
  const typed = { subscriptionFilter: { typeFilter: "'hot' or 'cold'" } };
  t.same(kinds(typed, {}), ['alarms']);
  t.ok(isTypeFilter('Door open'), 'one type with a blank');
  t.notOk(isTypeFilter('hot or cold'));
  t.same(kinds(typed, { entity: { id: '5', type: 'warm' } } as never), []);
  t.same(kinds(typed, { action: 'DELETE', type: 'cold', text: () => '"5"' }), ['alarms']);
  t.same(kinds(typed, { action: 'DELETE', text: () => '"5"' }), []);
  const ofTenant: Partial<NotificationSubscription> = { context: 'tenant', source: undefined as never };
  t.same(kinds({ ...ofTenant, ...apis('managedobjects') }, { area: 'managedobjects' }), ['managedobjects']);
  t.same(kinds({ ...ofTenant, ...apis('managedobjects') }, {}), []);
  const index = new TenantSubscriptions();
  for (const [subscriptionName, source] of [
    ['a', '1'],
    ['b', '2'],
  ]) {
    const one = subscription({
      subscription: subscriptionName,
      source,
      subscriptionFilter: { apis: ['measurements'] },
    });
    index.set(subscriptionKey(one), JSON.stringify(one));
  }
  t.same(
    [1, 2, 3].map((source) => index.wantsMeasurements(source)),
    [true, true, false],
  );
  index.retain(new Set());
  t.equal(index.wantsMeasurements(1), false);
});

t.test('messages: fragments of several subscriptions, one line, parts of a chunk', async (t) => {
  const index = new TenantSubscriptions();
  for (const one of [
    subscription({ fragmentsToCopy: ['c8y_A'] }),
    subscription({ context: 'tenant', source: undefined as never, fragmentsToCopy: ['c8y_B'] }),
  ])
    index.set(subscriptionKey(one), JSON.stringify(one));
  const forwarded = new Forwarded(notice({}));
  const [match] = index.match(forwarded, [], () => true).values();
  const text = messageText('t1', match.kind, forwarded, match.fragments);
  t.same(Object.keys(JSON.parse(text.split('\n')[3].replaceAll('\u0001', ''))).sort(), [
    'c8y_A',
    'c8y_B',
    'id',
    'self',
    'source',
    'type',
  ]);
  t.equal(sourceOfMessage(text), SOURCE);
  const pretty = new Forwarded(notice({ text: () => '{\n "id": "5",\n "text": "a\\nb\\u0001"\n}' }));
  const lines = messageText('t1', 'alarms', pretty, undefined);
  t.same(messagesOf(chunkText([text, lines])), [text, lines]);
  t.equal(JSON.parse(lines.split('\n')[3].replaceAll('\u0001', '')).text, 'a\nb\u0001');
  t.notMatch(shortened(text).split('\n')[3], /c8y_A/);
  t.match(shortened(text), /^\/t1\/alarms\/100\nCREATE\n\n\{/);
  const large = `/t1/events/1\nCREATE\n\n{"id":"1","x":"${'é'.repeat(500_000)}"}`;
  t.same(
    partsOf([text, large, text], () => undefined).map((part) => part.length),
    [3],
  );
  t.equal(
    partsOf(
      Array.from({ length: 3 }, () => 'x'.repeat(400_000)),
      () => undefined,
    ).length,
    2,
  );
  const long = 'x'.repeat(1_000_000);
  for (const one of [
    `/t1/events/1\nCREATE\n\n{"id":"1","type":"${long}","source":{"id":"2","name":"${long}"}}`,
    `/t1/managedobjects/1\nUPDATE\n\n{"id":"1","name":"${long}"}`,
  ]) {
    t.ok(shortened(one).length < 100, 'never too large');
    t.match(JSON.parse(shortened(one).split('\n')[3]), { id: '1' });
  }
});

/** A hub over a store in memory. */
class Bench {
  readonly chunks = new Map<string, TopicChunk[]>();
  readonly records = new Map<string, string>();
  readonly counted: string[] = [];
  readonly hub: NotificationHub;
  readonly forwarding: ForwardedTopics;
  clock = 0;
  refusedTenant = 0;
  readonly failingTopics = new Set<string>();
  readonly trimmed: string[] = [];
  /** How often the store was read. */
  reads = 0;
  #seq = 0;

  constructor(limits: Partial<NotificationLimits> = {}, further: Partial<NotificationHubOptions> = {}) {
    this.forwarding = {
      onForwarded: undefined,
      topics: () => [],
      subscribed: () => undefined,
      unsubscribed: () => undefined,
      loaded: () => Promise.resolve(),
      forgetTenant: () => undefined,
    };
    const of = ({ topic }: TopicRef): TopicChunk[] => this.chunks.get(topic) ?? [];
    this.hub = new NotificationHub({
      forwarding: this.forwarding,
      topics: {
        kept: () => [],
        open: (ref) => ({ lastSeq: of(ref).at(-1)?.seq ?? 0, size: 0, count: 0 }),
        close: () => undefined,
        read: (ref, after, limit) => {
          this.reads += 1;
          return of(ref)
            .filter(({ seq }) => seq > after)
            .slice(0, limit);
        },
        trim: async (ref, { through, excess }) => {
          if (this.failingTopics.has(ref.topic)) throw new Error('the topic cannot be read');
          this.trimmed.push(ref.topic);
          const removed = of(ref)
            .filter(({ seq }) => seq <= through || excess > 0)
            .map(({ seq, messages }) => ({ seq, size: 0, count: messages.length, at: Number.POSITIVE_INFINITY }));
          this.chunks.set(ref.topic, of(ref).slice(removed.length));
          return { removed, isMore: false };
        },
      },
      documents: {
        get: (_collection, _tenant, id) => this.records.get(id),
        list: (_collection, _tenant, prefix) =>
          [...this.records].filter(([id]) => id.startsWith(prefix)).map(([id, value]) => ({ id, value })),
      },
      change: async (tenant, changes) => {
        if (tenant === this.refusedTenant) throw new Error('the journal takes nothing');
        for (const { id, expected } of changes)
          if (this.records.get(id) !== expected)
            throw new PlatformError('general/changed-meanwhile', { collection: 'x', id });
        for (const { id, value } of changes)
          if (value === undefined) this.records.delete(id);
          else this.records.set(id, value);
      },
      tenantId: () => 't1',
      refusals: { count: (limit) => void this.counted.push(limit) },
      log,
      limits,
      now: () => 1_000_000,
      clock: () => this.clock,
      ...further,
    });
  }

  async ticks(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) await this.hub.tick();
  }

  /** A chunk with one message for each of the sources. */
  append(topic: string, ...sources: readonly (string | number)[]): void {
    this.#seq += 10;
    const messages = sources.map((source) => `/t1/events/${source}\nCREATE\n\n{"n":${this.#seq}}`);
    const chunk = { seq: this.#seq, at: 0, messages };
    this.chunks.set(topic, [...(this.chunks.get(topic) ?? []), chunk]);
    this.forwarding.onForwarded?.({ tenant: TENANT, topic }, chunk);
  }

  async connect(further: Partial<ConsumerIdentity> = {}): Promise<Client> {
    const identity: ConsumerIdentity = {
      tenant: TENANT,
      topic: 'a',
      subscriber: 's',
      isShared: false,
      consumer: undefined,
      ...further,
    };
    const before = this.hub.connectedCount;
    const client = new Client();
    client.socket = this.hub.open(identity, client, 'http://base');
    if (client.code > 0) client.socket.closed();
    await until('the consumer is connected or refused', () => this.hub.connectedCount > before || client.code > 0);
    return client;
  }
}

class Client {
  readonly frames: string[] = [];
  socket!: ConsumerSocket;
  code = 0;
  reason = '';
  isSlow = false;
  send(text: string): boolean {
    this.frames.push(text);
    return !this.isSlow;
  }
  cork(callback: () => void): void {
    callback();
  }
  end(code: number, reason: string): void {
    [this.code, this.reason] = [code, reason];
    // As a socket that is open does: before this returns.
    (this.socket as ConsumerSocket | undefined)?.closed();
  }
  acknowledge(count = this.frames.length): void {
    for (const frame of this.frames.splice(0, count)) this.socket.message(frame.slice(0, frame.indexOf('\n')));
  }
  get sources(): string[] {
    return this.frames.map((frame) => frame.split('\n')[1].split('/')[3]);
  }
}

t.test('a window, back-pressure, and what a client may send', async (t) => {
  const bench = new Bench({ windowMessages: 10 });
  const client = await bench.connect();
  bench.append('a', ...Array.from({ length: 25 }, (_, index) => index));
  t.equal(client.frames.length, 10, 'no more than the window');
  t.match(client.frames[0], /^[A-Za-z0-9+/]{12}\n\/t1\/events\/0\nCREATE\n\n\{"n":10\}$/);
  for (const text of ['', 'x', '\u0000', '__proto__', client.frames[0], 'A'.repeat(4_000)]) client.socket.message(text);
  t.equal(client.frames.length, 10, 'unknown ids are ignored');
  client.acknowledge(4);
  t.equal(client.frames.length, 6, 'goes on when half is acknowledged');
  client.acknowledge(1);
  t.equal(client.frames.length, 10);
  client.isSlow = true;
  client.acknowledge();
  t.equal(client.frames.length, 1, 'the network takes no more');
  client.isSlow = false;
  client.socket.drained();
  t.equal(client.frames.length, 10);
  client.acknowledge();
  t.equal(client.frames.length, 0);
  t.equal(bench.hub.counts.unacknowledged, 0);
  // Again and again.
  const [twice] = ['AAAAAAAAAAAA'];
  client.socket.message(twice);
  client.socket.message(twice);
  client.socket.closed();
  client.socket.closed();
  t.equal(bench.hub.counts.connections, 0);
});

t.test('the store is not read for each acknowledgement', async (t) => {
  const bench = new Bench({ windowMessages: 10 });
  const client = await bench.connect();
  const { reads } = bench;
  for (let round = 0; round < 5; round += 1) {
    bench.append('a', 1, 2);
    t.equal(client.frames.length, 2);
    client.acknowledge(1);
    client.acknowledge(1);
  }
  t.equal(bench.reads, reads, 'a client that keeps up gets what was told');
  bench.append('a', ...Array.from({ length: 12 }, (_, index) => index));
  bench.append('a', 12);
  client.acknowledge(4);
  t.equal(bench.reads, reads, 'nor while the window is full');
  client.acknowledge();
  client.acknowledge();
  t.equal(bench.hub.acknowledgedCount, 23, 'what was told meanwhile is read');
});

t.test('bytes: one large message at a time, all consumers together', async (t) => {
  const bench = new Bench({ windowChars: 20, windowCharsOfAll: 60 });
  const [one, two] = [await bench.connect(), await bench.connect({ subscriber: 'two' })];
  for (let index = 0; index < 5; index += 1) bench.append('a', 1);
  t.equal(one.frames.length, 1);
  t.equal(two.frames.length, 1);
  for (let round = 0; round < 5; round += 1) for (const client of [one, two]) client.acknowledge();
  t.same([one.frames.length, two.frames.length], [0, 0]);
  t.same([bench.hub.acknowledgedCount], [10]);
});

t.test('the window of all has shares, and a client that acknowledges nothing does not keep it', async (t) => {
  const bench = new Bench({ windowCharsOfAll: 100, stalledMs: 1_000 });
  const [silent, other] = [await bench.connect(), await bench.connect({ subscriber: 'two' })];
  bench.append('a', 1, 2, 3, 4, 5, 6);
  t.equal(silent.frames.length + other.frames.length, 3, 'the first message of a client is counted, too');
  other.acknowledge();
  bench.clock = 10_000;
  await bench.ticks(5);
  t.equal(silent.code, 1008);
  t.ok(bench.counted.includes('notifications/stalled'));
  other.acknowledge();
  await bench.ticks(1);
  t.equal(other.code, 0);
  t.ok(other.frames.length > 0, 'the other goes on');
});

t.test('what fails for one tenant or topic holds up no other', async (t) => {
  const bench = new Bench();
  const first = await bench.connect({ tenant: 1, topic: 'a', subscriber: 'one' });
  const client = await bench.connect({ topic: 'b' });
  bench.append('b', 1);
  client.acknowledge();
  const before = bench.records.get('b\ns');
  bench.refusedTenant = 1;
  bench.failingTopics.add('a');
  bench.forwarding.onForwarded?.(
    { tenant: 1, topic: 'a' },
    { seq: 10, at: 0, messages: ['/t0/events/1\nCREATE\n\n{}'] },
  );
  first.acknowledge();
  await Promise.all([bench.hub.tick(), bench.hub.tick()]);
  t.not(bench.records.get('b\ns'), before, 'its position is written');
  t.same(bench.trimmed, ['b'], 'it is trimmed, once');
  bench.failingTopics.clear();
  await bench.hub.tick();
  t.ok(bench.trimmed.includes('a'), 'tried again');
});

t.test('what is not acknowledged comes again, and to the next connection from there', async (t) => {
  const bench = new Bench({ redeliveryMs: 60_000 });
  const first = await bench.connect();
  bench.append('a', 1, 2, 3);
  first.acknowledge(1);
  first.socket.closed();
  const second = await bench.connect();
  t.same(second.sources, ['2', '3']);
  second.frames.splice(0);
  bench.append('a', 4);
  t.same(second.sources, ['4']);
  t.equal(
    bench.hub.refusal({ tenant: TENANT, topic: 'a', subscriber: 's', isShared: false, consumer: undefined })?.status,
    409,
  );
  const third = await bench.connect();
  t.equal(third.code, 1008);
  second.socket.message('unsubscribe_subscriber');
  await until('it is unsubscribed', () => bench.records.size === 0);
  t.equal(second.code, 1000);
  await bench.connect();
  const twice = [1, 2].map(() => bench.hub.unsubscribe({ tenant: TENANT, topic: 'a' }, 's'));
  t.same(await Promise.all(twice), [true, false], 'one of them has removed it');
});

t.test('shared: partitions, order of a source, a client that leaves', async (t) => {
  const bench = new Bench();
  const [one, two] = [
    await bench.connect({ isShared: true, consumer: 'one' }),
    await bench.connect({ isShared: true, consumer: 'two' }),
  ];
  const sources = Array.from({ length: 40 }, (_, index) => index);
  bench.append('a', ...sources, ...sources);
  t.equal(one.frames.length + two.frames.length, 80);
  t.ok(one.frames.length > 10 && two.frames.length > 10);
  t.same(
    one.sources.filter((source) => two.sources.includes(source)),
    [],
    'each source has one client',
  );
  const third = await bench.connect({ isShared: true, consumer: 'three' });
  bench.append('a', ...sources);
  t.equal(third.frames.length, 0, 'sources with messages under way stay');
  const ofTwo = new Set(two.sources);
  const waiting = two.frames.length;
  one.acknowledge();
  third.acknowledge();
  two.socket.closed();
  t.equal(one.frames.length + third.frames.length, waiting, 'others get what it had not acknowledged');
  t.same(new Set([...one.sources, ...third.sources]), ofTwo);
  // A stranger's exclusive token, and one more client under a name that is taken.
  t.equal((await bench.connect()).code, 1008);
  const again = await bench.connect({ isShared: true, consumer: 'one' });
  t.equal(one.code, 1000);
  t.equal(again.code, 0);
});

t.test('bounds of connections and subscribers name themselves', async (t) => {
  const bench = new Bench({ connectionsOfSubscriber: 2, subscribers: 2 });
  const identity = { tenant: TENANT, topic: 'a', subscriber: 's', isShared: true, consumer: undefined };
  await bench.connect({ isShared: true });
  await bench.connect({ isShared: true });
  t.match(bench.hub.refusal(identity), { status: 503, message: /notifications\/connections-of-subscriber/ });
  await bench.connect({ subscriber: 't' });
  t.match(bench.hub.refusal({ ...identity, subscriber: 'u' }), { status: 503, message: /notifications\/subscribers/ });
  t.same(bench.counted, ['notifications/connections-of-subscriber', 'notifications/subscribers']);
  // Each was let in while there was room, and another came first.
  for (const late of [
    await bench.connect({ isShared: true }),
    await bench.connect({ subscriber: 'u' }),
    await bench.connect({ topic: 'b' }),
  ])
    t.match(late, { code: 1013, reason: /notifications\/(connections-of-subscriber|subscribers)/ });
  t.equal(bench.hub.counts.subscribers, 2);
  const narrow = new Bench({ connections: 1 });
  await narrow.connect();
  t.match(await narrow.connect({ subscriber: 't' }), { code: 1013, reason: /notifications\/connections/ });
  t.same([narrow.hub.counts.connections, narrow.hub.counts.subscribers], [1, 1]);
});

t.test('a volatile topic drops the oldest above its bound, and ends with its client', async (t) => {
  const bench = new Bench({ windowMessages: 2, volatileChars: 100 });
  const client = await bench.connect({ topic: 'a~' });
  for (let source = 0; source < 20; source += 1) bench.append('a~', source);
  t.ok(bench.counted.includes('notifications/volatile-bytes'));
  for (let round = 0; round < 10; round += 1) client.acknowledge();
  t.equal(bench.hub.counts.backlogMessages <= 5, true);
  client.socket.closed();
  await until('it is gone', () => bench.hub.counts.topics === 0);
  // A socket that closes while its subscriber is being made.
  const gone = new Client();
  const identity = { tenant: TENANT, topic: 'a~', subscriber: 's', isShared: false, consumer: undefined };
  bench.hub.open(identity, gone, '').closed();
  await until('its subscriber is made', () => bench.hub.counts.subscribers === 1);
  await bench.ticks(5);
  t.equal(bench.hub.counts.subscribers, 1, 'one that is being connected has some time');
  bench.clock = 61_000;
  await bench.ticks(5);
  await until('it is gone', () => bench.hub.counts.topics === 0);
  for (const topic of ['a~', 'b~', 'c'])
    t.equal(await bench.hub.unsubscribe({ tenant: TENANT, topic }, 'unknown'), false);
  t.equal(bench.hub.counts.topics, 0, 'who unsubscribes a stranger leaves nothing behind');
});

t.test('a client of a volatile subscriber that comes back takes the place of its connection', async (t) => {
  const bench = new Bench({ connectionsOfSubscriber: 1 });
  const named = { topic: 'a~', isShared: true, consumer: 'one' };
  const former = await bench.connect(named);
  t.equal(bench.hub.refusal({ tenant: TENANT, subscriber: 's', ...named }), undefined, 'though there is room for one');
  const again = await bench.connect(named);
  bench.append('a~', 1);
  t.same([former.code, again.code, again.frames.length], [1000, 0, 1]);
});

t.test('a home that leaves a volatile topic leaves its records to the next one', async (t) => {
  let isHome = true;
  const bench = new Bench({}, { isHome: () => isHome });
  const client = await bench.connect({ topic: 'a~' });
  const records = [...bench.records];
  t.equal(records.length, 1);
  isHome = false;
  await bench.ticks(1);
  t.same([client.code, bench.hub.counts.topics, bench.hub.counts.connections], [1012, 0, 0]);
  await new Promise(setImmediate);
  t.same([...bench.records], records);
});

t.test('what a store that has lost chunks has now, or still, is read by all', async (t) => {
  const chunks: TopicChunk[] = [];
  const opened: number[] = [];
  let isOlder = false;
  const open = (_ref: TopicRef, after: number): TopicFacts => {
    opened.push(after);
    return {
      lastSeq: isOlder ? 5 : 30,
      size: 0,
      count: 0,
      ...(isOlder ? { lost: { keptFrom: 2, keptThrough: 5 } } : {}),
    };
  };
  const read = (_ref: TopicRef, after: number): TopicChunk[] => chunks.filter(({ seq }) => seq > after);
  const trim = async (): Promise<Trimmed> => ({ removed: [], isMore: false, isGone: isOlder });
  const bench = new Bench({}, { topics: { kept: () => [], open, close: () => undefined, read, trim } });
  bench.forwarding.topics = () => [{ tenant: TENANT, topic: 'a' }];
  const client = await bench.connect();
  const id = [...bench.records.keys()].find((key) => key.includes('a'));
  t.ok(id !== undefined && bench.records.size === 1);
  bench.records.set(`${id}lagging`, JSON.stringify({ seq: 4, index: 0, since: 0 }));
  for (let seq = 2; seq <= 5; seq += 1)
    chunks.push({ seq, at: 1, messages: [`/t1/events/1\nCREATE\n\n{"id":"${seq}"}`] });
  isOlder = true;
  await bench.ticks(1);
  t.same([client.code, opened], [1012, [0]]);
  await bench.ticks(1);
  isOlder = false;
  t.same(opened, [0, 30]);
  const seen = async (subscriber: string): Promise<string[]> =>
    (await bench.connect({ subscriber })).frames.map((frame) => /"id":"(\d)"/.exec(frame)?.[1] ?? '');
  t.same(await seen('s'), ['2', '3', '4', '5'], 'its sequences begin anew');
  t.same(await seen('slagging'), ['4', '5'], 'goes on where it was');
});

t.test('a tenant that is deleted ends its consumers, and nothing of its topics stays', async (t) => {
  const bench = new Bench();
  const clients = [await bench.connect({ topic: 'a' }), await bench.connect({ topic: 'b~' })];
  bench.append('a', 1);
  bench.hub.forgetTenant(TENANT);
  t.same(
    clients.map(({ code }) => code),
    [1008, 1008],
  );
  t.same([bench.hub.counts.connections, bench.hub.backlogs(TENANT, 10)], [0, []]);
});

t.test('topics that a cluster keeps without a subscriber are looked for and closed', async (t) => {
  const closed: string[] = [];
  const topics = {
    kept: () => ['a', 'b'].map((topic) => ({ tenant: TENANT, topic })),
    open: () => ({ lastSeq: 1, size: 0, count: 0 }),
    close: ({ topic }: TopicRef) => void closed.push(topic),
    read: () => [],
    trim: async () => ({ removed: [], isMore: false }),
  };
  const bench = new Bench({}, { topics, isHome: ({ topic }) => topic !== 'b' });
  await bench.ticks(3_601);
  t.same(closed, ['a']);
});

t.test('what the store removed by age is told once, though nothing is acknowledged', async (t) => {
  const lost: number[] = [];
  const trimming = new Trimming({
    topics: {
      trim: async (_ref, { through }) => ({
        removed: [{ seq: 9, size: 0, count: Math.max(0, 9 - through), at: 0 }],
        isMore: false,
      }),
    },
    limits: NOTIFICATION_LIMITS,
    keptOf: () => undefined,
    onLost: (_topic, _limit, messages) => void lost.push(messages),
    now: () => 2 * NOTIFICATION_LIMITS.topicAgeMs,
  });
  const topic = new Topic({ tenant: TENANT, topic: 'a' }, { lastSeq: 20, size: 0, count: 0 });
  topic.subscribers.set('s', { position: { seq: 3, index: 0 }, skip: () => undefined } as never);
  for (let round = 0; round < 2; round += 1) await trimming.trim(topic);
  t.same(lost, [7]);
});

const forwardingOf = (rows: readonly NotificationSubscription[], counted: string[] = []): Forwarding => {
  const forwarding = new Forwarding({
    documents: { list: () => rows.map((one) => ({ id: subscriptionKey(one), value: JSON.stringify(one) })) },
    hierarchy: { ancestors: () => [] },
    tenantId: () => 't1',
    refusals: { count: (limit) => void counted.push(limit) },
    log,
    now: () => 0,
  });
  for (const one of rows) forwarding.subscribed({ tenant: TENANT, topic: one.subscription }, 's');
  return forwarding;
};

t.test('a group is parted into chunks, each with the sequence of its last record', async (t) => {
  const told = [30_000, 30_000, 10, 10].map((chars, index) => ({
    seq: [11, 12, 13, 13][index],
    notification: notice({ entity: { id: String(index), c8y_X: 'x'.repeat(chars) } }),
  }));
  const group = await forwardingOf([subscription({})]).forward(told);
  t.same(
    group?.documents.map(({ id, value }) => [factsOfKey(id).seq, messagesOf(value).length]),
    [
      [12, 2],
      [13, 2],
    ],
  );
});

t.test('a measurement of a row has the entity that REST shows, whatever its fragment is called', async (t) => {
  const wanting = { wantsMeasurements: () => true } as unknown as Forwarder;
  for (const fragment of ['c8y_T', 'self', 'source']) {
    const values = [{ fragment, series: 'T', value: 1.5, unit: 'C' }];
    const sent = { tenant: TENANT, source: 100, id: 5, time: 0, receivedAt: 0, type: fragment, document: '', values };
    const record = encodeMeasurement({ ...sent, mode: PROCESSING_MODE.PERSISTENT });
    const found = forwardedMeasurement(wanting, record, 0);
    if (found === undefined) throw new Error('nothing is forwarded');
    for (const base of ['http://h', BASE_PLACE])
      t.equal(
        linkedEntity(found, found.text(), base),
        linkedEntity({ area: 'measurements' }, found.text(), base),
        fragment,
      );
    t.equal(new Forwarded(found).type, fragment);
  }
});

t.test('a large object in many topics: copies above a bound of the group are short', async (t) => {
  const counted: string[] = [];
  const rows = Array.from({ length: 20 }, (_, index) => subscription({ id: String(index), subscription: `t${index}` }));
  const forwarding = forwardingOf(rows, counted);
  const entity = { id: '5', source: { id: SOURCE }, c8y_Large: 'x'.repeat(2_700_000) };
  const group = await forwarding.forward([{ seq: 1, notification: notice({ entity }) }]);
  const least = new Forwarded(notice({ entity: { ...entity, id: '6', name: 'x'.repeat(60_000) } }));
  t.same(JSON.parse(leastText('t1', 'alarms', least).split('\n')[3].replaceAll('\u0001', '')), {
    self: '/alarm/alarms/6',
    id: '6',
    source: { self: '/inventory/managedObjects/100', id: SOURCE },
  });
  const sizes = (group?.documents ?? []).map(({ value }) => value.length);
  t.equal(sizes.length, 20);
  t.ok(sizes.reduce((sum, size) => sum + size, 0) < 33 * 1_048_576);
  t.equal(sizes.filter((size) => size > 2_000_000).length, 12);
  t.same(
    counted,
    Array.from({ length: 8 }, () => 'notifications/group-bytes'),
  );
});
