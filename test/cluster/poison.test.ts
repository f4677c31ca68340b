/** Several nodes at a block that the history store refuses; what one promises is in test/ingest/projector-contract.ts. */
import t from 'tap';
import type { Test } from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { HistoryRefusal } from '../../src/ports/stores/history-writer.ts';
import { until } from '../actors/platform.ts';
import type { FakeHistory } from '../ingest/fake-history.ts';
import { TestCluster } from './memory/nodes.ts';

/** The store refuses these values and ids. */
const POISON = 666;
const refusal = (): HistoryRefusal => new HistoryRefusal('Code: 469. value 666', 469, true);
const refusesPoison: FakeHistory['refuses'] = ({ value, id, deleted }) =>
  value === POISON || id === POISON || deleted === String(POISON) ? refusal() : undefined;
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);
const values = (cluster: TestCluster): number[] =>
  cluster.history.values.map(({ value }) => value).sort((x, y) => x - y);
const asideOf = (cluster: TestCluster) => cluster.all.flatMap(({ quarantine }) => quarantine.entries);
const valueOf = ({ row }: { row: unknown }): number => (row as { values: { value: number }[] }).values[0].value;

/** Sources of different shards that the first node owns. */
async function two(t: Test, count = 5): Promise<{ cluster: TestCluster; sources: number[] }> {
  const cluster = await TestCluster.of(t, 2, { intervalMs: 3_600_000, rowsMax: 10_000 });
  const sources = range(1, 200)
    .filter((source) => cluster.ownerOf(source) === cluster.nodes[0])
    .filter((source, index, all) => all.findIndex((other) => shardOf(1, other) === shardOf(1, source)) === index)
    .slice(0, count);
  return { cluster, sources };
}

t.test('two nodes repeat a refused block at the same time: the same parts', async (t) => {
  const cluster = await TestCluster.of(t, 3, { intervalMs: 3_600_000, rowsMax: 10_000 });
  const [first, second, third] = cluster.nodes;
  const sources = range(1, 300).filter((source) => cluster.ownerOf(source) === first);
  cluster.history.refuses = refusesPoison;
  const sent = range(0, 40).map((value) => (value === 11 || value === 30 ? POISON : value));
  for (const [index, value] of sent.entries()) await second.measure(sources[index], value);
  let isKilled = false;
  cluster.history.before = (call) => {
    if (isKilled || !call.startsWith('measurements')) return undefined;
    isKilled = true;
    first.kill();
    return new Promise(() => undefined);
  };
  void first.node.visible(5_000).catch(() => undefined);
  await until(() => isKilled);
  await third.node.visible(20_000);
  t.same(
    values(cluster),
    sent.filter((value) => value !== POISON),
  );
  const aside = [second, third].map(({ quarantine }) => quarantine.entries.map(({ seq }) => seq).sort((x, y) => x - y));
  t.ok(
    aside.some((seqs) => seqs.length === 2),
    'each in the file of at least one node',
  );
  t.equal(new Set(aside.flat()).size, 2);
  await until(() => cluster.store.blocks.size === 0);
});

t.test(
  'a node that comes back to a block which others have inserted in parts does not insert it as a whole',
  async (t) => {
    const { cluster, sources } = await two(t);
    const [first, second] = cluster.nodes;
    for (const value of range(0, 10)) await second.measure(sources[value % 5], value);
    // Away for the first node, and refused for its successors.
    let isAway = true;
    cluster.history.before = (call) => {
      if (!call.startsWith('measurements') || !isAway) return;
      throw new Error('away');
    };
    void first.node.visible(5_000).catch(() => undefined);
    await until(() => first.node.projector.lastError === 'away');
    first.becomeZombie();
    cluster.history.refuses = ({ value }) => (value === 3 ? refusal() : undefined);
    isAway = false;
    await second.node.visible(20_000);
    cluster.history.refuses = () => undefined;
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    t.same(
      values(cluster),
      range(0, 10).filter((value) => value !== 3),
    );
    t.same(new Set(asideOf(cluster).map(valueOf)), new Set([3]));
  },
);
