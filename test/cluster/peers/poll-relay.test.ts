/**
 * Long polls over any node: a session is on the node of its handshake, and its client's requests may come in at others.
 */
import t from 'tap';
import { PollRelay } from '../../../src/cluster/peers/poll-relay.ts';
import type { Member } from '../../../src/ports/cluster/leases.ts';
import { UNKNOWN_CLIENT } from '../../../src/realtime/bayeux/message.ts';
import { until } from '../../helpers/until.ts';
import {
  PollingClient,
  SocketClient,
  TestNotification,
  createWorld,
  deliveriesOf,
  principal,
} from '../../realtime/helpers.ts';
import type { Message, Poll, World } from '../../realtime/helpers.ts';
import { InMemoryCluster } from '../memory/ports.ts';
import type { InMemoryMessages } from '../memory/ports.ts';

interface RelayNode extends World {
  readonly relay: PollRelay;
  readonly counted: string[];
}

/** Nodes a, b and c, each with its own bus; a cut-off or killed one is no member. */
function createNodes(): { cluster: InMemoryCluster; members: Set<string>; a: RelayNode; b: RelayNode; c: RelayNode } {
  const cluster = new InMemoryCluster();
  const members = new Set(['a', 'b', 'c']);
  const leases = {
    get members(): Member[] {
      return [...members].map((nodeId) => ({ nodeId, roles: ['gateway'], isLeaving: false }));
    },
  };
  const node = (name: string): RelayNode => {
    const counted: string[] = [];
    const relay = new PollRelay({
      messages: cluster.node(name, undefined, name).messages,
      leases,
      refusals: {
        count: (limit) => {
          counted.push(limit);
        },
      },
      log: {
        debug() {},
        info() {},
        warn() {},
        error() {},
        isLevelEnabled: () => false,
        child() {
          return this;
        },
      },
      tickMs: 20,
    });
    t.teardown(() => relay.close());
    return Object.assign(createWorld({ elsewhere: relay }), { relay, counted });
  };
  return { cluster, members, a: node('a'), b: node('b'), c: node('c') };
}

/** The client of a session of `first`, at another node. */
function at(node: RelayNode, clientId: string, who = principal()): PollingClient {
  return Object.assign(new PollingClient(node, { principal: who }), { clientId });
}

const answered = async (poll: Poll): Promise<Message[]> => {
  await until('the poll is answered', () => poll.messages !== undefined);
  return poll.messages as Message[];
};
const ask = async (client: PollingClient, message: Message): Promise<Message> =>
  (await answered(await client.post([{ clientId: client.clientId, ...message }])))[0];
const publish = (node: RelayNode, text: string): void => {
  node.bus.publish(new TestNotification('measurements', '12', text));
  node.clock.turn();
};
/** A session on a with a connect held through b. */
async function held(
  nodes: ReturnType<typeof createNodes>,
): Promise<{ clientId: string; poll: Poll; overB: PollingClient; overC: PollingClient }> {
  const { a, b, c } = nodes;
  const client = new PollingClient(a);
  await client.handshake();
  const { clientId } = client;
  const [overB, overC] = [at(b, clientId), at(c, clientId)];
  await ask(overB, { channel: '/meta/subscribe', subscription: '/measurements/12' });
  await ask(overC, { channel: '/meta/connect' });
  const poll = await overB.connect();
  await until('a holds it', () => a.relay.counts.answering === 1);
  return { clientId, poll, overB, overC };
}

t.test('handshake, subscribe and connect each meet another node', async (t) => {
  const nodes = createNodes();
  const { a, b, c } = nodes;
  const client = new PollingClient(a);
  t.match(await client.handshake(), { successful: true, clientId: /^[0-9a-f]{40}$/ });
  t.match(
    await ask(at(b, client.clientId), { channel: '/meta/subscribe', id: '7', subscription: '/measurements/12' }),
    { id: '7', channel: '/meta/subscribe', successful: true, subscription: '/measurements/12' },
  );
  t.match(
    await ask(at(c, client.clientId), { channel: '/meta/connect' }),
    { successful: true },
    'the first connect is answered at once',
  );
  const poll = await at(b, client.clientId).connect();
  await until('it is held', () => a.relay.counts.answering === 1);
  t.equal(poll.messages, undefined);
  publish(a, '{"n":1}');
  t.match(deliveriesOf(await answered(poll)), [{ channel: '/measurements/12', data: { data: { n: 1 } } }]);
  publish(a, '{"n":2}');
  t.match(
    deliveriesOf(await answered(await at(c, client.clientId).connect())),
    [{ data: { data: { n: 2 } } }],
    'what waited comes through any node',
  );
  t.match(await ask(at(b, client.clientId), { channel: '/meta/unsubscribe', subscription: '/measurements/12' }), {
    successful: true,
  });
  t.match(await ask(at(c, client.clientId), { channel: '/meta/disconnect' }), { successful: true });
  t.match(await ask(at(b, client.clientId), { channel: '/meta/connect' }), UNKNOWN_CLIENT);
  for (const node of [a, b, c]) t.same([node.relay.counts, node.counted], [{ waiting: 0, answering: 0 }, []]);
});

t.test('a WebSocket that comes back to another node goes on with its session', async (t) => {
  const { a, b } = createNodes();
  const first = new SocketClient(a);
  await first.watch('/measurements/12');
  first.socket.closed();
  publish(a, '{"n":1}');
  const again = Object.assign(new SocketClient(b), { clientId: first.clientId });
  const frames: Message[] = [];
  const frame = async (what: string): Promise<Message[]> => {
    await until(what, () => {
      frames.push(...again.channel.take());
      return frames.length > 0;
    });
    return frames.splice(0);
  };
  const unknown = {
    channel: '/meta/subscribe',
    clientId: `0${first.clientId.slice(1)}`,
    subscription: [{ successful: true }],
  };
  again.socket.message(JSON.stringify([unknown]));
  t.match(await frame('a session that is not there'), [{ successful: false }]);
  t.same([again.socket.hasSession, again.socket.isBusy], [false, false], 'its WebSocket would be closed');
  again.socket.message(
    JSON.stringify([{ channel: '/meta/connect', connectionType: 'websocket', clientId: first.clientId }]),
  );
  const messages = await frame('what waited comes');
  t.match(deliveriesOf(messages), [{ data: { data: { n: 1 } } }]);
  t.match(
    messages.find(({ channel }) => channel === '/meta/connect'),
    { successful: true },
  );
  t.equal(again.socket.hasSession, true);
  again.socket.message(
    JSON.stringify([{ channel: '/meta/connect', connectionType: 'websocket', clientId: first.clientId }]),
  );
  await until('a holds the connect', () => a.relay.counts.answering === 1);
  again.socket.message(
    JSON.stringify([
      { id: '9', channel: '/meta/subscribe', clientId: first.clientId, subscription: '/measurements/13' },
    ]),
  );
  t.match(await frame('the subscription is answered meanwhile'), [
    { id: '9', channel: '/meta/subscribe', successful: true },
  ]);
  publish(a, '{"n":2}');
  t.match(deliveriesOf(await frame('the next one comes')), [{ data: { data: { n: 2 } } }]);
  again.socket.message(
    JSON.stringify([{ channel: '/meta/connect', connectionType: 'websocket', clientId: first.clientId }]),
  );
  await until('a holds the connect', () => a.relay.counts.answering === 1);
  again.socket.closed();
  await until('a knows that it has gone', () => a.relay.counts.answering === 0);
  publish(a, '{"n":3}');
  t.match(
    deliveriesOf(await answered(await at(b, first.clientId).connect())),
    [{ data: { data: { n: 3 } } }],
    'nothing was sent into the void',
  );
  const own = new SocketClient(b);
  t.match(await own.handshake(), { successful: true }, 'its own sessions are answered as ever');
});

t.test('frames that another node answers count as not yet answered', async (t) => {
  const { a, b } = createNodes();
  const first = new SocketClient(a);
  await first.handshake();
  const again = Object.assign(new SocketClient(b), { clientId: first.clientId });
  for (let count = 0; count <= 64; count += 1) {
    again.socket.message(
      JSON.stringify([{ channel: '/meta/subscribe', clientId: first.clientId, subscription: '/measurements/12' }]),
    );
  }
  t.match(again.channel.ended, /realtime\/websocket-pending/);
});

t.test("a session is its user's at every node", async (t) => {
  const { a, b } = createNodes();
  const client = new PollingClient(a);
  await client.handshake();
  t.match(await ask(at(b, client.clientId, principal('other')), { channel: '/meta/connect' }), UNKNOWN_CLIENT);
  t.match(await ask(at(b, client.clientId, principal('admin', [], 2)), { channel: '/meta/connect' }), UNKNOWN_CLIENT);
  const byMessage = new PollingClient(a, { principal: undefined });
  const ext = { 'com.cumulocity.authn': { token: Buffer.from('t1/admin:secret:1').toString('base64') } };
  await byMessage.handshake({ ext });
  const bare = Object.assign(new PollingClient(b, { principal: undefined }), { clientId: byMessage.clientId });
  t.match(
    await ask(bare, { channel: '/meta/subscribe', subscription: '/measurements/12' }),
    { successful: true },
    'a client that proved itself in its handshake',
  );
  bare.clientId = client.clientId;
  t.match(await ask(bare, { channel: '/meta/subscribe', subscription: '/measurements/12' }), UNKNOWN_CLIENT);
});

t.test('ids of no node, of two nodes and with a handshake are answered here', async (t) => {
  const { a, b } = createNodes();
  const client = new PollingClient(a);
  await client.handshake();
  t.match(await ask(at(b, `${client.clientId.slice(0, -8)}00000000`), { channel: '/meta/connect' }), UNKNOWN_CLIENT);
  const own = new PollingClient(b);
  await own.handshake();
  const mixed = await own.post(
    [client.clientId, own.clientId].map((clientId) => ({
      channel: '/meta/subscribe',
      clientId,
      subscription: '/measurements/12',
    })),
  );
  t.match(await answered(mixed), [UNKNOWN_CLIENT, { successful: true }]);
  const again = await own.post([{ channel: '/meta/handshake', clientId: client.clientId }]);
  const [{ clientId }] = await answered(again);
  t.equal(clientId.slice(-8), b.relay.clientIdEnd);
});

t.test('a long answer comes whole, and blanks go the same way', async (t) => {
  const nodes = createNodes();
  const { poll } = await held(nodes);
  nodes.a.clock.advance(600_000);
  await until('a blank', () => poll.blanks === 1);
  const text = '€😀'.repeat(120_000);
  publish(nodes.a, JSON.stringify({ text }));
  t.equal(deliveriesOf(await answered(poll))[0].data.data.text, text);
  t.equal(poll.sendCount, 1);
});

t.test('a client that goes is noticed by the node of its session: nothing is sent into the void', async (t) => {
  const nodes = createNodes();
  const { poll, overC } = await held(nodes);
  poll.abort();
  await until('a knows', () => nodes.a.relay.counts.answering === 0);
  publish(nodes.a, '{"n":1}');
  t.match(deliveriesOf(await answered(await overC.connect())), [{ data: { data: { n: 1 } } }]);
  t.equal(poll.sendCount, 0);
});

t.test('the node of the session dies: its clients are told to shake hands', async (t) => {
  const nodes = createNodes();
  const { poll, overC } = await held(nodes);
  nodes.cluster.kill('a');
  t.match(
    await ask(overC, { channel: '/meta/connect' }),
    { successful: false, error: /^503::/, advice: { reconnect: 'retry', interval: 1_000 } },
    'as long as it is a member',
  );
  t.same(nodes.c.counted, ['realtime/poll-relay']);
  nodes.members.delete('a');
  t.match(await answered(poll), [UNKNOWN_CLIENT]);
  t.match(await ask(overC, { channel: '/meta/connect' }), UNKNOWN_CLIENT);
});

t.test("the client's node dies: the session keeps what comes", async (t) => {
  const nodes = createNodes();
  const { overC } = await held(nodes);
  nodes.cluster.kill('b');
  nodes.members.delete('b');
  await until('a let go', () => nodes.a.relay.counts.answering === 0);
  publish(nodes.a, '{"n":1}');
  t.match(deliveriesOf(await answered(await overC.connect())), [{ data: { data: { n: 1 } } }]);
  t.same(nodes.a.counted, []);
});

t.test("an answer that does not reach the client's node is counted", async (t) => {
  const nodes = createNodes();
  await held(nodes);
  nodes.cluster.kill('b');
  publish(nodes.a, '{"n":1}');
  await until('counted', () => nodes.a.counted.length === 1);
  t.same(nodes.a.counted, ['realtime/poll-relay']);
  t.same(nodes.a.relay.counts, { waiting: 0, answering: 0 });
});

t.test('a node that stops answers what waits there, and the session goes on', async (t) => {
  const nodes = createNodes();
  const { poll, overC } = await held(nodes);
  nodes.b.server.close();
  t.match(await answered(poll), [
    { channel: '/meta/connect', successful: false, error: /^503::/, advice: { reconnect: 'retry' } },
  ]);
  const next = await overC.connect();
  await until('it is held through c', () => nodes.c.relay.counts.waiting === 1 && nodes.a.relay.counts.answering === 1);
  nodes.a.server.close();
  t.match(
    await answered(next),
    [{ successful: false, error: /^503::/, advice: { reconnect: 'handshake' } }],
    'when its own node stops it ends',
  );
});

t.test('after NATS was away both sides look whether the other still waits', async (t) => {
  const nodes = createNodes();
  const { poll, overC } = await held(nodes);
  const messagesOf = (name: string): InMemoryMessages => nodes.cluster.nodes.get(name)?.messages as InMemoryMessages;
  for (const handler of messagesOf('a').reconnected) handler();
  await new Promise((resolve) => {
    setImmediate(() => {
      setImmediate(resolve);
    });
  });
  t.equal(nodes.a.relay.counts.answering, 1, 'it does');
  for (const handler of messagesOf('b').reconnected) handler();
  t.match(await answered(poll), [{ successful: false, advice: { reconnect: 'retry' } }]);
  await until('a knows', () => nodes.a.relay.counts.answering === 0);
  publish(nodes.a, '{"n":1}');
  t.match(deliveriesOf(await answered(await overC.connect())), [{ data: { data: { n: 1 } } }]);
});

t.test('a poll that the node of the session gave up, because it could not say so, is answered', async (t) => {
  const nodes = createNodes();
  const { poll, overC } = await held(nodes);
  nodes.cluster.cut('a');
  publish(nodes.a, '{"n":1}');
  await until('a gave it up', () => nodes.a.counted.length === 1);
  publish(nodes.a, '{"n":2}');
  t.equal(poll.messages, undefined);
  nodes.cluster.mend('a');
  t.match(await answered(poll), [{ successful: false, error: /^503::/, advice: { reconnect: 'retry' } }]);
  t.match(deliveriesOf(await answered(await overC.connect())), [{ data: { data: { n: 2 } } }], 'the session went on');
});

t.test('while NATS is away nobody is taken for gone', async (t) => {
  const nodes = createNodes();
  const { poll, overB } = await held(nodes);
  for (const name of ['a', 'b', 'c']) nodes.cluster.cut(name);
  nodes.members.clear();
  t.match(
    await ask(overB, { channel: '/meta/connect' }),
    { error: /^503::/, advice: { reconnect: 'retry' } },
    'the session may still be there',
  );
  t.equal(nodes.a.relay.counts.answering, 1);
  t.equal(poll.messages, undefined);
  for (const name of ['a', 'b', 'c']) {
    nodes.members.add(name);
    nodes.cluster.mend(name);
  }
  t.match(await answered(poll), [{ error: /^503::/, advice: { reconnect: 'retry' } }]);
  await until('a knows', () => nodes.a.relay.counts.answering === 0);
  publish(nodes.a, '{"n":1}');
  t.match(deliveriesOf(await answered(await overB.connect())), [{ data: { data: { n: 1 } } }]);
});

t.test('a node that was asked and did not answer in time holds nothing for nobody', async (t) => {
  const nodes = createNodes();
  const { clientId } = await held(nodes);
  const messages = nodes.cluster.nodes.get('a')?.messages as InMemoryMessages;
  const answer = messages.answers.get('poll') as NonNullable<ReturnType<typeof messages.answers.get>>;
  messages.answers.set('poll', (payload, from) => {
    void answer(payload, from);
    throw new Error('the answer was lost');
  });
  const poll = await at(nodes.c, clientId).connect();
  t.match(await answered(poll), [{ error: /^503::/ }]);
  await until('a holds no poll of it', () => nodes.a.relay.counts.answering === 0);
});
