/** One session on several nodes: who opens it takes it from whoever has it. */
import t from 'tap';
import { SessionTakeover } from '../../src/cluster/gateway/session-takeover.ts';
import { DEFAULT_LIMITS } from '../../src/mqtt/wire/limits.ts';
import { SessionRegistry } from '../../src/mqtt/sessions/registry.ts';
import type { SessionOwner } from '../../src/mqtt/sessions/owner.ts';
import { TimerWheel } from '../../src/mqtt/sessions/timer-wheel.ts';
import { silentLog } from '../helpers/stores/nats-server.ts';
import { MemorySessionStore } from '../mqtt/helpers/memory-session-store.ts';
import { connectionRegistryContract } from './contracts/connection-registry.ts';
import { InMemoryRegistry } from './memory/registry.ts';
import { InMemoryCluster } from './memory/ports.ts';

function setUp(names: readonly string[]) {
  const cluster = new InMemoryCluster();
  const registry = new InMemoryRegistry();
  const store = new MemorySessionStore();
  const members = new Set<string>();
  const nodes = names.map((name) => {
    const { nodeId, messages } = cluster.node(name);
    members.add(nodeId);
    const takeover = new SessionTakeover({ registry, messages, isMember: (id) => members.has(id), log: silentLog });
    const sessions = new SessionRegistry(
      {
        store,
        limits: DEFAULT_LIMITS,
        limitHit: () => undefined,
        now: Date.now,
        clock: { isBelieved: true, read: async () => Date.now() },
      },
      new TimerWheel(),
      takeover,
    );
    takeover.start(sessions);
    /** A connection as the registry sees it. */
    const connect = async (
      key: string,
      isClean = false,
      expirySeconds = 3_600,
      meanwhile: (owner: SessionOwner) => void = () => undefined,
    ) => {
      const owner = {
        isClosed: false as boolean,
        get isOver(): boolean {
          return owner.isClosed;
        },
        canSend: true,
        inFlightMax: 10,
        sendPublish: () => true,
        sendPubrel: () => undefined,
        sendPubrec: () => undefined,
        sendPubcomp: () => undefined,
        resume: () => undefined,
        disconnect: () => undefined,
        session: undefined as any,
        takenOver: () => {
          owner.isClosed = true;
          if (owner.session) sessions.detach(owner.session, owner);
        },
      } satisfies SessionOwner & Record<string, unknown>;
      const opening = sessions.open(owner, { tenantNumber: 1, key, isClean, expirySeconds });
      meanwhile(owner);
      const opened = await opening;
      owner.session = opened?.session;
      return { owner, opened };
    };
    return { nodeId, takeover, sessions, connect };
  });
  return { nodes, registry, store, members, cluster };
}

connectionRegistryContract(t, 'in memory', async () => {
  const registry = new InMemoryRegistry();
  return { a: registry, b: registry, forget: async () => registry.forget() };
});

t.test('a session that is opened on another node moves there with its subscriptions', async (t) => {
  const {
    nodes: [a, b],
    registry,
  } = setUp(['a', 'b']);
  const first = await a.connect('device');
  first.opened!.session.subscriptions = new Map([['s/ds', 1]]);
  await a.sessions.saved(first.opened!.session);
  const second = await b.connect('device');
  t.ok(first.owner.isClosed, 'the older connection is closed');
  t.ok(second.opened!.isPresent, 'the session is present');
  t.same([...second.opened!.session.subscriptions!], [['s/ds', 1]]);
  t.notOk(a.sessions.isInMemory(1, 'device'), 'it left the first node');
  t.equal(registry.held.get('1/device')!.nodeId, b.nodeId);
  t.ok(await a.takeover.isInMemory(1, 'device'), 'every node knows that somebody has it');
  const third = await a.connect('device');
  t.ok(second.owner.isClosed);
  t.ok(third.opened!.isPresent, 'and back');
});

t.test('also one without a connection, whose time must not run out on the node that it left', async (t) => {
  const {
    nodes: [a, b],
  } = setUp(['a', 'b']);
  const first = await a.connect('device');
  first.owner.takenOver();
  t.ok(a.sessions.isInMemory(1, 'device'));
  t.ok((await b.connect('device')).opened!.isPresent);
  t.notOk(a.sessions.isInMemory(1, 'device'));
});

t.test('a node that died gives nothing up and holds nobody up', async (t) => {
  const {
    nodes: [a, b],
    members,
    cluster,
  } = setUp(['a', 'b']);
  await a.connect('device');
  members.delete(a.nodeId);
  cluster.cut(a.nodeId);
  t.ok((await b.connect('device')).opened!.isPresent);
});

t.test('a node that has just begun, and is not known to all as a member yet, is asked all the same', async (t) => {
  const {
    nodes: [a, b],
    members,
  } = setUp(['a', 'b']);
  const first = await a.connect('device');
  members.delete(a.nodeId);
  t.ok((await b.connect('device')).opened!.isPresent);
  t.ok(first.owner.isClosed);
  t.notOk(a.sessions.isInMemory(1, 'device'));
});

t.test(
  'a node that was taken for dead: what it has of the session is old, whoever comes back to it and whatever it says',
  async (t) => {
    const {
      nodes: [a, b],
      cluster,
      store,
    } = setUp(['a', 'b']);
    const first = await a.connect('device');
    cluster.cut(a.nodeId);
    const second = await b.connect('device');
    second.opened!.session.subscriptions = new Map([['s/ds', 1]]);
    await b.sessions.saved(second.opened!.session);
    cluster.mend(a.nodeId);
    t.ok(a.sessions.isInMemory(1, 'device'));
    first.opened!.session.subscriptions = new Map([['s/e', 1]]);
    await t.rejects(a.sessions.saved(first.opened!.session), { code: 'mqtt/session-elsewhere' });
    t.ok(first.owner.isClosed, 'its connection learns that it is over');
    t.notOk(a.sessions.isInMemory(1, 'device'));
    t.same([...store.entries.get('1/device')!.subscriptions.keys()], ['s/ds']);

    const third = await a.connect('device');
    t.ok(second.owner.isClosed);
    cluster.cut(a.nodeId);
    const fourth = await b.connect('device');
    store.addReceived(1, 'device', 7);
    fourth.opened!.session.received = new Map([[7, null]]);
    cluster.mend(a.nodeId);
    // The client comes back to the node that has an older state of its session in memory.
    const fifth = await a.connect('device');
    t.ok(fourth.owner.isClosed, 'the other node is asked to give it up');
    t.not(fifth.opened!.session, third.opened!.session);
    t.same(
      [
        fifth.opened!.isPresent,
        [...fifth.opened!.session.received!.keys()],
        [...fifth.opened!.session.subscriptions!.keys()],
      ],
      [true, [7], ['s/ds']],
    );
    t.notOk(b.sessions.isInMemory(1, 'device'));
    t.notOk(fifth.owner.isClosed);

    cluster.cut(a.nodeId);
    const sixth = await b.connect('device');
    cluster.mend(a.nodeId);
    const seventh = await a.connect('device', true);
    t.ok(sixth.owner.isClosed, 'a clean session is one everywhere');
    t.same([seventh.opened!.isPresent, seventh.opened!.session.subscriptions], [false, undefined]);

    cluster.cut(a.nodeId);
    const eighth = await b.connect('device');
    cluster.mend(a.nodeId);
    const ninth = await a.connect('device', true, 0);
    t.ok(eighth.owner.isClosed, 'also one that is not kept');
    t.notOk(ninth.opened!.isPresent);
    t.notOk(store.entries.has('1/device'), 'nothing is left that a later connection would find');
  },
);

t.test('a clean start on the node that has the session is one for all nodes', async (t) => {
  const {
    nodes: [a, b],
    registry,
  } = setUp(['a', 'b']);
  await a.connect('device');
  const clean = await a.connect('device', true);
  t.equal(registry.held.get('1/device')?.nodeId, a.nodeId);
  t.ok(await b.takeover.isInMemory(1, 'device'), 'its time does not run');
  await b.connect('device');
  t.ok(clean.owner.isClosed);
});

t.test('a connection that has gone while it opened an old session takes it from nobody', async (t) => {
  const {
    nodes: [a, b],
    cluster,
    store,
  } = setUp(['a', 'b']);
  await a.connect('device');
  cluster.cut(a.nodeId);
  const good = await b.connect('device');
  cluster.mend(a.nodeId);
  let open = (): void => undefined;
  store.gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gone = a.connect('device', false, 3_600, (owner) => owner.takenOver());
  store.gate = undefined;
  open();
  t.equal((await gone).opened, undefined);
  t.notOk(good.owner.isClosed);
  t.notOk(a.sessions.isInMemory(1, 'device'));
});

t.test('a registry that has forgotten, or not: claims of others stay', async (t) => {
  const {
    nodes: [a, b],
    registry,
    cluster,
  } = setUp(['a', 'b']);
  await b.connect('device');
  cluster.cut(b.nodeId);
  await a.connect('device');
  cluster.mend(b.nodeId);
  registry.connected();
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  t.equal(registry.held.get('1/device')!.nodeId, a.nodeId);
});

t.test('opened on many nodes at once: one has it in the end, nobody hangs', async (t) => {
  const { nodes, registry } = setUp(['a', 'b', 'c']);
  const all = await Promise.all(Array.from({ length: 12 }, (_, index) => nodes[index % 3].connect('device')));
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  const open = all.filter(({ owner, opened }) => opened !== undefined && !owner.isClosed);
  t.ok(open.length <= 1, `${open.length} connections are left`);
  const holder = registry.held.get('1/device');
  const having = nodes.filter(({ sessions }) => sessions.isInMemory(1, 'device'));
  t.ok(having.length <= 1, `${having.length} nodes have it`);
  if (having.length === 1) t.equal(holder?.nodeId, having[0].nodeId);
});

t.test('a registry that has forgotten is told again', async (t) => {
  const {
    nodes: [a],
    registry,
  } = setUp(['a']);
  await a.connect('one');
  await a.connect('two');
  registry.forget();
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  t.same([...registry.held.keys()].sort(), ['1/one', '1/two']);
  // An older claim of the same node has come back: the session could not release it.
  registry.held.set('1/one', { nodeId: a.nodeId, connectionId: 'older' });
  registry.connected();
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  t.not(registry.held.get('1/one')!.connectionId, 'older');
});
