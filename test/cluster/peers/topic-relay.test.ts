/** Topics of Notifications 2.0 between nodes: what NATS does not take ends no node. */
import t from 'tap';
import { ConsumerRelay } from '../../../src/cluster/peers/consumer-relay.ts';
import { TopicRelay } from '../../../src/cluster/peers/topic-relay.ts';
import type { TopicChunk, TopicRef } from '../../../src/model/entities/notifications/topic.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { NO_SOCKET } from '../../../src/realtime/notifications/consumer.ts';
import type { ConsumerChannel } from '../../../src/realtime/notifications/consumer.ts';
import type { ConsumerIdentity } from '../../../src/realtime/notifications/hub.ts';
import { silentLog } from '../../actors/platform.ts';
import { until } from '../../helpers/until.ts';
import { InMemoryCluster } from '../memory/ports.ts';
import type { InMemoryMessages } from '../memory/ports.ts';

const MESSAGE = `/t1/events/1\nCREATE\n\n{"id":"1","x":"${'x'.repeat(400_000)}"}`;
const HUGE = `/t1/events/1\nCREATE\n\n{"id":"2","x":"${'x'.repeat(2_000_000)}"}`;

t.test('a chunk above max_payload', async (t) => {
  const cluster = new InMemoryCluster();
  const [home, owner] = ['home', 'owner'].map((name) => cluster.node(name, undefined, name));
  const taken: string[] = [];
  const counted: string[] = [];
  const relayOf = ({ messages }: typeof home, stored: (chunk: TopicChunk) => TopicChunk[]): TopicRelay =>
    new TopicRelay({
      messages,
      leases: { owned: new Map(), members: [], ownerOf: () => 'home' },
      documents: { get: () => undefined },
      forwarding: () => ({
        onForwarded: (_topic: TopicRef, chunk: TopicChunk) => void taken.push(...chunk.messages),
        subscribed: () => undefined,
        recordsChanged: () => undefined,
        loaded: () => Promise.resolve(),
      }),
      store: (_topic, chunk) => Promise.resolve(stored(chunk)),
      refusals: { count: (limit) => void counted.push(limit) },
      log: silentLog,
    });
  relayOf(home, () => []);
  const relay = relayOf(owner, (chunk) => [chunk]);
  const store = (topic: string, messages: readonly string[]): Promise<void> =>
    relay.store([
      [
        { tenant: 1, topic },
        { seq: 1, at: 1, messages },
      ],
    ]);
  await store('a~', [MESSAGE, MESSAGE, MESSAGE, HUGE]);
  await until('all of a volatile topic have come', () => taken.length === 4);
  t.same(taken.slice(0, 3), [MESSAGE, MESSAGE, MESSAGE], 'in order');
  t.equal(taken[3], '/t1/events/1\nCREATE\n\n{"id":"2"}');
  t.same(counted, ['notifications/message-bytes']);
  await store('a', [HUGE]);
  t.equal(counted.length, 2, 'of a persistent topic it is in the store: it is not told');
  (owner.messages as InMemoryMessages).payloadBytesMax = 10;
  await store('a~', [MESSAGE]);
  t.equal(counted.length, 3, 'what can never be sent is lost');
});

t.test('a frame above max_payload to a consumer of another node', async (t) => {
  const cluster = new InMemoryCluster();
  const [home, edge] = ['home', 'edge'].map((name) => cluster.node(name, undefined, name));
  const counted: string[] = [];
  const frames: string[] = [];
  let channel: ConsumerChannel | undefined;
  const relayOf = ({ messages }: typeof home): ConsumerRelay =>
    new ConsumerRelay({
      messages,
      topics: { homeOf: () => 'home', isHome: () => messages.nodeId === 'home' },
      hub: {
        refusal: () => undefined,
        unsubscribe: async (_topic, name) => name === 's',
        open: (_identity, opened) => {
          channel = opened;
          return { message: () => undefined, drained: () => undefined, closed: () => undefined };
        },
      },
      refusals: { count: (limit) => void counted.push(limit) },
      log: silentLog,
    });
  relayOf(home);
  const identity: ConsumerIdentity = { tenant: 1, topic: 'a', subscriber: 's', isShared: false, consumer: undefined };
  relayOf(edge).open(
    identity,
    { send: (text) => frames.push(text) > 0, cork: (callback) => callback(), end: () => undefined },
    'http://base',
  );
  await until('it is open', () => channel !== undefined);
  t.ok(channel?.send(`AAAA\n${HUGE}`));
  await until('its frame has come', () => frames.length === 1);
  t.equal(frames[0], 'AAAA\n/t1/events/1\nCREATE\n\n{"id":"2"}');
  t.same(counted, ['notifications/message-bytes']);
  const removed = ['s', 'none'].map((subscriber) => relayOf(edge).unsubscribe({ tenant: 1, topic: 'a', subscriber }));
  t.same(await Promise.all(removed), [true, false], 'the home says whether it had the subscriber');
  (home.messages as InMemoryMessages).payloadBytesMax = 10;
  t.doesNotThrow(() => channel?.send(`AAAA\n${MESSAGE}`));
});

t.test('what the home says against a consumer comes with its close code', async (t) => {
  const cluster = new InMemoryCluster();
  const [home, edge] = ['home', 'edge'].map((name) => cluster.node(name, undefined, name));
  let isHome = true;
  let refusal = new PlatformError('notifications/bound', { limit: 'notifications/connections' });
  const relayOf = ({ messages }: typeof home): ConsumerRelay =>
    new ConsumerRelay({
      messages,
      topics: { homeOf: () => 'home', isHome: () => isHome },
      hub: { refusal: () => refusal, unsubscribe: async () => false, open: () => NO_SOCKET },
      refusals: { count: () => undefined },
      log: silentLog,
    });
  relayOf(home);
  const relay = relayOf(edge);
  const identity: ConsumerIdentity = { tenant: 1, topic: 'a', subscriber: 's', isShared: false, consumer: undefined };
  const opened = (): Promise<string> =>
    new Promise((resolve) => {
      const end = (code: number, reason: string): void => resolve(`${code} ${reason}`);
      relay.open(identity, { send: () => true, cork: (callback) => callback(), end }, 'http://base');
    });
  t.match(await opened(), /^1013 .*notifications\/connections/);
  refusal = new PlatformError('notifications/connected', { subscriber: 's' });
  t.match(await opened(), /^1008 .*s/);
  isHome = false;
  t.equal(await opened(), '1013 another node serves the topic now: try again');
});

t.test('a client takes frames again, though its node could not say so', async (t) => {
  const cluster = new InMemoryCluster();
  const [home, edge] = ['home', 'edge'].map((name) => cluster.node(name, undefined, name));
  let channel: ConsumerChannel | undefined;
  let drainedCount = 0;
  let takes = false;
  const relayOf = ({ messages }: typeof home): ConsumerRelay =>
    new ConsumerRelay({
      messages,
      topics: { homeOf: () => 'home', isHome: () => messages.nodeId === 'home' },
      hub: {
        refusal: () => undefined,
        unsubscribe: async (_topic, name) => name === 's',
        open: (_identity, opened) => {
          channel = opened;
          return { message: () => undefined, drained: () => void (drainedCount += 1), closed: () => undefined };
        },
      },
      refusals: { count: () => undefined },
      log: silentLog,
      lookMs: 10,
    });
  relayOf(home);
  const identity: ConsumerIdentity = { tenant: 1, topic: 'a', subscriber: 's', isShared: false, consumer: undefined };
  const relay = relayOf(edge);
  const socket = relay.open(
    identity,
    { send: () => takes, cork: (callback) => callback(), end: () => undefined },
    'http://base',
  );
  await until('it is open', () => channel !== undefined);
  channel?.send('AAAA\none');
  await until('the home knows that it is blocked', () => channel?.send('BBBB\ntwo') === false);
  relay.start();
  t.teardown(() => relay.stop());
  const { messages } = edge;
  const { send } = messages;
  // NATS was away.
  messages.send = () => undefined;
  takes = true;
  socket.drained();
  messages.send = send;
  await until('the next look tells it', () => drainedCount === 1);
  t.equal(channel?.send('CCCC\nthree'), true);
});
