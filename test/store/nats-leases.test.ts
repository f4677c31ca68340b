/** Shard ownership on JetStream: even, handed over, replaced when its owner dies, and never with two owners at once. */
import t from 'tap';
import { NatsConnection } from '../../src/store/nats-connection.ts';
import { NatsLeases } from '../../src/store/nats-leases.ts';
import { eventually } from '../cluster/shard-journal-contract.ts';
import { silentLog, startNats, startNatsProxy } from '../helpers/nats-server.ts';
import { missing } from '../helpers/tools.ts';

const skip = missing('nats-server');
/** Long enough that a machine that stands still for a moment loses nothing. */
const LEASE_MS = 2_000;

/** A time in which a node took itself for the owner, by this process's monotonic clock. */
interface Interval { readonly node: string; readonly shard: number; readonly epoch: number; readonly from: number; through: number }

const running = new Set<TestNode>();
t.afterEach(async () => {
  for (const node of running) await node.kill();
});

class TestNode {
  readonly nodeId: string;
  readonly leases: NatsLeases;
  readonly connection: NatsConnection;
  readonly calls: string[] = [];
  readonly #intervals: Interval[];
  acquireMs = 0;
  failures = 0;

  static async start(url: string, nodeId: string, intervals: Interval[], roles: readonly ('gateway' | 'shard')[] = ['gateway', 'shard']): Promise<TestNode> {
    const connection = await NatsConnection.open({ servers: url, name: nodeId }, { log: silentLog });
    const leases = await NatsLeases.open({ connection, prefix: 'test', nodeId, roles, replicas: 1, log: silentLog, leaseMs: LEASE_MS });
    const node = new TestNode(nodeId, leases, connection, intervals);
    running.add(node);
    await leases.join({
      onAcquired: async (shard, epoch) => {
        node.calls.push(`acquired ${shard}`);
        intervals.push({ node: nodeId, shard, epoch, from: performance.now(), through: Number.POSITIVE_INFINITY });
        if (node.acquireMs > 0) await new Promise((resolve) => { setTimeout(resolve, node.acquireMs); });
        if (node.failures > 0) {
          node.failures -= 1;
          throw new Error('not now');
        }
      },
      onRelease: async (shard) => {
        node.calls.push(`release ${shard}`);
        await new Promise((resolve) => { setTimeout(resolve, 2); });
        node.end(shard);
      },
      onLost: (shard) => { node.calls.push(`lost ${shard}`); node.end(shard); },
      onChanged: () => {},
    });
    return node;
  }

  private constructor(nodeId: string, leases: NatsLeases, connection: NatsConnection, intervals: Interval[]) {
    this.nodeId = nodeId;
    this.leases = leases;
    this.connection = connection;
    this.#intervals = intervals;
  }

  end(shard: number): void {
    const open = this.#intervals.findLast((interval) => interval.node === this.nodeId && interval.shard === shard);
    if (open && open.through > performance.now()) open.through = performance.now();
  }

  /** As kill -9: what it owned is over at that moment. */
  async kill(): Promise<void> {
    running.delete(this);
    for (const shard of [...this.leases.owned.keys()]) this.end(shard);
    await this.leases.abandon();
    await this.connection.close();
  }

  async leave(): Promise<void> {
    running.delete(this);
    await this.leases.leave();
    await this.connection.close();
  }

  count(kind: string): number {
    return this.calls.filter((call) => call.startsWith(kind)).length;
  }
}

const sizes = (nodes: readonly TestNode[]): number[] => nodes.map(({ leases }) => leases.owned.size).sort((a, b) => a - b);
const spread = (nodes: readonly TestNode[], want: readonly number[]): Promise<boolean> =>
  eventually(`${want}, there are ${sizes(nodes)}`, () => JSON.stringify(sizes(nodes)) === JSON.stringify(want));

/** Intervals of one shard do not overlap, and epochs grow. */
function overlaps(intervals: readonly Interval[]): string[] {
  const faults: string[] = [];
  for (let shard = 0; shard < 64; shard += 1) {
    const ofShard = intervals.filter((interval) => interval.shard === shard).sort((a, b) => a.from - b.from);
    for (let index = 1; index < ofShard.length; index += 1) {
      const [former, next] = [ofShard[index - 1], ofShard[index]];
      if (former.through > next.from) faults.push(`shard ${shard}: ${former.node} until ${former.through}, ${next.node} from ${next.from}`);
      if (former.epoch >= next.epoch) faults.push(`shard ${shard}: epoch ${next.epoch} after ${former.epoch}`);
    }
  }
  return faults;
}

t.test('three nodes: join, leave, die', { skip }, async (t) => {
  const server = await startNats(t);
  const intervals: Interval[] = [];
  const a = await TestNode.start(server.url, 'a', intervals);
  await spread([a], [64]);
  const b = await TestNode.start(server.url, 'b', intervals);
  await spread([a, b], [32, 32]);
  t.equal(a.count('lost'), 0, 'handed over, not lost');
  const c = await TestNode.start(server.url, 'c', intervals);
  await spread([a, b, c], [21, 21, 22]);
  t.same([a.count('lost'), b.count('lost'), b.count('acquired'), c.count('acquired')], [0, 0, 32, c.leases.owned.size], 'nothing moves that need not');
  const gateway = await TestNode.start(server.url, 'g', intervals, ['gateway']);
  for (const node of [a, b, c, gateway]) {
    await eventually('the same owners everywhere', () => Array.from({ length: 64 }, (_, shard) => shard).every((shard) => {
      const owner = node.leases.ownerOf(shard);
      return owner !== undefined && [a, b, c].find(({ nodeId }) => nodeId === owner)!.leases.owned.has(shard);
    }));
    await eventually('members', () => node.leases.members.map(({ nodeId }) => nodeId).sort().join() === 'a,b,c,g');
  }
  t.equal(gateway.leases.owned.size, 0);
  await c.leave();
  await spread([a, b], [32, 32]);
  t.same([c.count('lost'), c.leases.members.length > 0], [0, true]);
  await eventually('gone', () => !a.leases.members.some(({ nodeId }) => nodeId === 'c'));
  await b.kill();
  await spread([a], [64]);
  t.same(overlaps(intervals), []);
  await a.leave();
  await gateway.leave();
  const d = await TestNode.start(server.url, 'd', intervals);
  await spread([d], [64]);
  t.same(overlaps(intervals), []);
  await d.leave();
});

t.test('a node without a connection gives up before another takes', { skip }, async (t) => {
  const server = await startNats(t);
  const proxy = await startNatsProxy(t, server);
  const intervals: Interval[] = [];
  const a = await TestNode.start(server.url, 'a', intervals);
  const b = await TestNode.start(proxy.url, 'b', intervals);
  await spread([a, b], [32, 32]);
  proxy.cut(true);
  await spread([a, b], [0, 64]);
  t.equal(b.count('lost'), 32);
  t.equal(b.leases.ownerOf(0) === 'b', false);
  proxy.cut(false);
  await spread([a, b], [32, 32]);
  // Acknowledgements of heartbeats are lost, though they arrive: it cannot know, and gives up as well.
  proxy.dropAnswers(true);
  await eventually('given up', () => b.count('lost') === 64);
  proxy.dropAnswers(false);
  await spread([a, b], [32, 32]);
  t.same(overlaps(intervals), []);
  await b.leave();
  await a.leave();
});

t.test('NATS is restarted: shortly, nothing is lost; for long, everybody gives up and takes again', { skip }, async (t) => {
  const server = await startNats(t);
  const intervals: Interval[] = [];
  const nodes = [await TestNode.start(server.url, 'a', intervals), await TestNode.start(server.url, 'b', intervals)];
  await spread(nodes, [32, 32]);
  await server.kill();
  await eventually('given up', () => nodes.every(({ leases }) => leases.owned.size === 0));
  await server.start();
  await spread(nodes, [32, 32]);
  t.same(overlaps(intervals), []);
  for (const node of nodes) await node.leave();
});

t.test('a shard that cannot be taken into service is given up and tried again', { skip }, async (t) => {
  const server = await startNats(t);
  const intervals: Interval[] = [];
  const a = await TestNode.start(server.url, 'a', intervals);
  await spread([a], [64]);
  const b = await TestNode.start(server.url, 'b', intervals);
  b.failures = 5;
  b.acquireMs = 5;
  await spread([a, b], [32, 32]);
  await eventually('all are owned', () => Array.from({ length: 64 }, (_, shard) => a.leases.ownerOf(shard)).every((owner) => owner !== undefined));
  t.equal(b.failures, 0);
  t.equal(b.count('lost'), 5);
  t.same(overlaps(intervals), []);
  await Promise.all([a.leave(), b.leave()]);
});

t.test('nodes come and go at random', { skip }, async (t) => {
  const server = await startNats(t);
  const intervals: Interval[] = [];
  const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((nodeId) => TestNode.start(server.url, nodeId, intervals)));
  await spread(nodes, [16, 16, 16, 16]);
  const [a, b, c, d] = nodes;
  await Promise.all([a.kill(), b.leave()]);
  const e = await TestNode.start(server.url, 'e', intervals);
  await spread([c, d, e], [21, 21, 22]);
  await Promise.all([c.leave(), d.leave()]);
  await spread([e], [64]);
  t.same(overlaps(intervals), []);
  await e.leave();
});

t.test('a node that lacks a server: others take its shards, and give them back', { skip }, async (t) => {
  const server = await startNats(t);
  const intervals: Interval[] = [];
  const [a, b] = [await TestNode.start(server.url, 'a', intervals), await TestNode.start(server.url, 'b', intervals)];
  await spread([a, b], [32, 32]);
  b.leases.lack('history');
  await spread([b], [0]);
  await spread([a], [64]);
  t.equal(b.count('lost'), 0, 'handed over');
  t.match(a.leases.members.find(({ nodeId }) => nodeId === 'b'), { lacks: 'history' });
  b.leases.lack(undefined);
  await spread([a, b], [32, 32]);
  // Nothing can be finished without documents.
  a.leases.lack('documents');
  await spread([a], [0]);
  t.equal(a.count('lost'), 32, 'given up');
  await spread([b], [64]);
  t.same(overlaps(intervals), []);
  // Now both: nobody is better, and nothing moves.
  const taken = b.count('acquired');
  b.leases.lack('documents');
  await new Promise((resolve) => { setTimeout(resolve, LEASE_MS * 2); });
  t.same([sizes([a, b]), b.count('acquired')], [[0, 64], taken]);
  b.leases.lack(undefined);
  a.leases.lack(undefined);
  await spread([a, b], [32, 32]);
  await a.leave();
  await b.kill();
});
