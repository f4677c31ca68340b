/**
 * Blocks over several shards: begun by one node, settled by another; what the store of the blocks decides is what
 * happens.
 */
import t from 'tap';
import type { Test } from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { NOW, until } from '../actors/platform.ts';
import { projectorContract } from '../ingest/projector-contract.ts';
import { TestCluster } from './memory/nodes.ts';
import { TwoNodes } from './memory/projector-place.ts';

projectorContract(t, 'a node of a cluster', async (t) => new TwoNodes(t));

/** Two nodes; the first has the shards of two sources. */
async function two(t: Test): Promise<{ cluster: TestCluster; sources: number[] }> {
  const cluster = await TestCluster.of(t, 2, { intervalMs: 3_600_000, rowsMax: 10_000 });
  const sources = Array.from({ length: 100 }, (_, index) => index + 1)
    .filter((source) => cluster.ownerOf(source) === cluster.nodes[0])
    .filter((source, index, all) => all.findIndex((other) => shardOf(1, other) === shardOf(1, source)) === index)
    .slice(0, 5);
  return { cluster, sources };
}

const values = (cluster: TestCluster): number[] =>
  cluster.history.values.map(({ value }) => value).sort((x, y) => x - y);

for (const side of ['before', 'after'] as const) {
  t.test(`killed ${side} the insert: the next owners insert the same block, once`, async (t) => {
    const { cluster, sources } = await two(t);
    const [first, second] = cluster.nodes;
    for (const [index, source] of sources.entries()) await second.measure(source, index);
    // Rows of a mutable table of the same shards.
    await second.request({
      kind: COMMAND.MANAGED_OBJECT_CREATE,
      key: sources[0],
      body: { id: String(sources[0]), owner: 'ada', doc: '{}' },
    });
    let token = '';
    cluster.history[side] = (call) => {
      if (!call.startsWith('measurements')) return undefined;
      // Long enough for all shards of the block to have their next owner.
      if (token !== '')
        return new Promise((resolve) => {
          setTimeout(resolve, 50);
        });
      token = call;
      first.kill();
      return new Promise(() => undefined);
    };
    void first.node.visible(5_000).catch(() => undefined);
    await until(() => token !== '');
    await second.measure(sources[0], 100);
    await second.node.visible(20_000);
    t.same(values(cluster), [0, 1, 2, 3, 4, 100]);
    const times = cluster.history.log.filter((call) => call === token).length;
    t.equal(times, 1, 'with its token, for all its shards at once; what its next owner finds there it does not insert');
    t.same(cluster.history.ids('managed_objects'), [sources[0]]);
    await until(() => cluster.store.blocks.size === 0, 'and nothing is left of it');
  });
}

t.test('a node that lost a shard before the decision abandons the block, after it inserts it', async (t) => {
  const { cluster, sources } = await two(t);
  const [first, second] = cluster.nodes;
  for (const [index, source] of sources.entries()) await second.measure(source, index);
  const shard = shardOf(1, sources[0]);
  // Lost while the block is written down: the epoch is another one when its progress is written.
  let isTaken = false;
  cluster.store.beforeCommit = (at, changes) => {
    if (isTaken || !changes.some(({ id, value }) => id === 'projector' && value?.includes('token'))) return;
    isTaken = true;
    if (at !== shard) return;
  };
  cluster.store.shards[shard].epoch = 1_000_000;
  void first.node.visible(500).catch(() => undefined);
  await until(() => isTaken && !first.node.owners[shard].isInService, 'fenced');
  await until(() => cluster.history.values.length === sources.length - 1, 'its other shards go on in another block');
  t.notOk(values(cluster).includes(0));
  t.ok(first.documents.fencedCount > 0);
  cluster.store.shards[shard].epoch = 0;
  await first.node.owners[shard].acquire(1_000_001);
  await second.node.visible(20_000);
  t.same(values(cluster), [0, 1, 2, 3, 4]);
});

t.test('a block that shards still name is not trimmed', async (t) => {
  const { cluster, sources } = await two(t);
  const [first, second] = cluster.nodes;
  for (const [index, source] of sources.entries()) await second.measure(source, index);
  await first.node.visible(5_000);
  await until(() => cluster.store.blocks.size === 0);
  const shard = shardOf(1, sources[0]);
  const position = first.node.projector.position(shard) as number;
  await second.documents.begin('theirs', [
    { shard, firstSeq: position - 10, lastSeq: position },
    { shard: shardOf(1, 't'), firstSeq: 1, lastSeq: 2 },
  ]);
  await second.documents.decide('theirs', 'insert');
  t.equal((await first.node.trimBounds(0)).get(shard), position - 11);
  await first.node.trimBounds(40_000);
  t.equal((await first.node.trimBounds(80_000)).get(shard), position, 'until nobody names it');
});

t.test('markers of follow-ups go when their senders have forgotten', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const [node] = cluster.nodes;
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      node.request({
        kind: COMMAND.DEVICE_ENSURE,
        key: `x:c8y_Serial\nd${index}`,
        body: { type: 'c8y_Serial', externalId: `d${index}`, id: String(2_000 + index), owner: 'ada', doc: '{}' },
      }),
    ),
  );
  await cluster.settled();
  const markers = (): string[] =>
    cluster.store.shards.flatMap(({ values: all }) =>
      [...all.keys()].filter((key) => key.startsWith('meta/0/handled/')),
    );
  t.ok(markers().length > 40);
  await until(() => Object.keys(cluster.store.snapshot()).every((key) => !key.startsWith('pending/')));
  for (const { node: one } of cluster.nodes) for (const owner of one.owners) await owner.sweep();
  t.same(markers(), []);
  const create = {
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    tenant: 1,
    key: 2_000,
    mode: 0 as const,
    receivedAt: NOW,
    body: { id: '2000', owner: 'eve', doc: '{"again":1}' },
  };
  await node.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 2_000, body: {} });
  await node.node.commands.deliver(create, `${shardOf(1, 'x:c8y_Serial\nd0')}-0000000000004096-0`);
  t.equal(cluster.store.snapshot()['managedObject/1/2000'], undefined, 'a late copy has no effect');
});
