/**
 * A node that does not reach the documents, or the history, any more: others take its shards, nothing is lost and
 * nothing is there twice.
 */
import t from 'tap';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

const SOURCES = Array.from({ length: 60 }, (_, index) => 300 + index);
const inService = ({ node }: TestNode): number => node.owners.filter(({ isInService }) => isInService).length;
const create = (node: TestNode, id: number): Promise<unknown> =>
  node.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: id,
    body: { id: String(id), owner: 'ada', doc: '{"n":1}' },
  });

t.test('without documents: commands under way are carried out by the next owner, once', async (t) => {
  const cluster = await TestCluster.of(t, 2, { answerTimeoutMs: 500, intervalMs: 5 });
  const [cut, other] = cluster.nodes;
  const ofCut = SOURCES.filter((source) => cluster.ownerOf(source) === cut);
  cut.documents.cut();
  // The journal has them; their owner hangs in its commit.
  await Promise.all(
    ofCut.map(async (id) => {
      await t.rejects(create(other, id));
    }),
  );
  for (const [index, source] of SOURCES.entries()) await other.measure(source, index);
  t.equal(inService(cut), 32);
  cut.ports.leases.lack('documents');
  await cluster.shared.settled();
  t.same([inService(cut), inService(other), cut.ports.leases.owned.size], [0, 64, 0]);
  await until(
    () => ofCut.every((id) => cluster.store.snapshot()[`managedObject/1/${id}`] !== undefined),
    'the next owner has carried them out',
  );
  await other.node.visible(5_000);
  const { commitsCount } = cluster.store;
  cut.documents.mend();
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  t.equal(cluster.store.commitsCount, commitsCount, 'what its connection still delivers has no effect');
  t.equal(cut.ports.leases.owned.size, 0, 'nothing is taken back before it says so');
  cut.ports.leases.lack(undefined);
  await cluster.settled();
  t.same([inService(cut), inService(other)], [32, 32]);
  await create(other, 1_000);
  await cut.node.visible(5_000);
  t.same(
    cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
    SOURCES.map((_, index) => index),
  );
});

t.test('a node that is taking a shard over when it loses the documents lets go of it', async (t) => {
  const cluster = await TestCluster.of(t, 1);
  const joining = cluster.nodes[0];
  joining.documents.cut();
  const owner = joining.node.owners[0];
  const taking = owner.acquire(1_000_000);
  owner.lose();
  await t.rejects(taking, 'the store still does not answer');
  t.equal(owner.isInService, false);
});

t.test('without the history: shards are handed over at once, and their rows are seen', async (t) => {
  const cluster = await TestCluster.of(t, 2, { intervalMs: 5 });
  const [cut, other] = cluster.nodes;
  let isAway = true;
  let waiting: (() => void)[] = [];
  cluster.history.before = () =>
    isAway
      ? new Promise<void>((resolve) => {
          waiting.push(resolve);
        })
      : undefined;
  for (const [index, source] of SOURCES.entries()) await other.measure(source, index);
  await until(() => waiting.length > 0, 'an insert is under way');
  isAway = false;
  cut.isHistoryAway = true;
  cut.ports.leases.lack('history');
  await cluster.shared.settled();
  t.same([inService(cut), inService(other)], [0, 64]);
  const inserts = waiting;
  waiting = [];
  for (const go of inserts) go();
  await other.node.visible(10_000);
  t.same(
    cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
    SOURCES.map((_, index) => index),
    'each once',
  );
  cut.isHistoryAway = false;
  cut.ports.leases.lack(undefined);
  await cluster.settled();
  t.same([inService(cut), inService(other)], [32, 32]);
});

t.test('where all lack the same, everybody keeps what he has', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const before = cluster.nodes.map(({ ownedShards }) => ownedShards);
  for (const { ports } of cluster.nodes) ports.leases.lack('history');
  await cluster.shared.settled();
  t.same(
    cluster.nodes.map(({ ownedShards }) => ownedShards.length),
    before.map(({ length }) => length),
  );
});

t.test('a node that leaves waits for a slow history once, not for each shard again', async (t) => {
  const cluster = await TestCluster.of(t, 2, { intervalMs: 5 });
  const [leaving, other] = cluster.nodes;
  let isSlow = true;
  const waiting: (() => void)[] = [];
  cluster.history.before = () =>
    isSlow
      ? new Promise<void>((resolve) => {
          waiting.push(resolve);
        })
      : undefined;
  for (const [index, source] of SOURCES.entries()) await other.measure(source, index);
  const stopped = leaving.node.stop();
  await until(() => inService(leaving) === 0, 'its shards are handed over');
  isSlow = false;
  for (const resolve of waiting) resolve();
  await stopped;
  await other.node.visible(5_000);
  t.same(
    cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
    SOURCES.map((_, index) => index),
  );
});
