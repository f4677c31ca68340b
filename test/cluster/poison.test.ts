/**
 * What the history store refuses for what it is, in a cluster: set aside alone by the node that inserts it, everything
 * else exactly once.
 */
import t from 'tap';
import type { Test } from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { HistoryRefusal } from '../../src/ports/stores/history-writer.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { until } from '../actors/platform.ts';
import type { FakeHistory } from '../ingest/fake-history.ts';
import { crashPlaces, rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';
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

t.test('one measurement of a block over several shards is refused: the others are inserted once', async (t) => {
  const { cluster, sources } = await two(t);
  const [first, second] = cluster.nodes;
  cluster.history.refuses = refusesPoison;
  for (const value of range(0, 100)) await second.measure(sources[value % 5], value === 63 ? POISON : value);
  let calls = 0;
  cluster.history.before = (call) => {
    if (call.startsWith('measurements')) calls += 1;
  };
  await second.node.visible(5_000);
  t.same(
    values(cluster),
    range(0, 100).filter((value) => value !== 63),
  );
  t.ok(calls <= 20, `${calls} inserts for one in 100`);
  t.match(first.quarantine.entries, [
    {
      kind: 'measurement',
      table: 'measurements',
      shard: shardOf(1, sources[3]),
      code: 469,
      error: /666/,
      row: { source: sources[3] },
    },
  ]);
  t.same(second.quarantine.entries, []);
  t.same(
    [first.node.projector.setAsideCount, first.node.projector.lastError, first.node.projector.pendingRows],
    [1, undefined, 0],
  );
  t.ok(first.node.projector.insertErrorsCount > 5);
  await until(() => cluster.store.blocks.size === 0, 'no block is left');
  const shard = shardOf(1, sources[3]);
  t.ok((first.node.projector.position(shard) as number) >= first.quarantine.entries[0].seq);
  await second.measure(sources[0], 1_000);
  await second.node.visible(5_000);
  t.ok(cluster.history.log.at(-1)?.match(/^measurements [^/]*$/), 'the next block is a block again');
});

t.test('a row and a DELETE are refused: the shard goes on behind them', async (t) => {
  const {
    cluster,
    sources: [source],
  } = await two(t);
  const [first, second] = cluster.nodes;
  cluster.history.refuses = refusesPoison;
  await second.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: POISON,
    body: { id: String(POISON), owner: 'ada', doc: '{}' },
  });
  await second.request({
    kind: COMMAND.DATA_DELETE,
    key: POISON,
    body: { table: 'measurements', filter: { source: String(POISON) } },
  });
  await second.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: source,
    body: { id: String(source), owner: 'ada', doc: '{}' },
  });
  await second.measure(POISON, 1);
  await second.node.visible(5_000);
  const owner = cluster.ownerOf(POISON);
  t.match(owner.quarantine.entries, [
    { kind: 'row', table: 'managed_objects', id: POISON, code: 469 },
    { kind: 'deletion', table: 'measurements', shard: shardOf(1, POISON) },
  ]);
  t.same(cluster.history.ids('managed_objects'), [source]);
  t.same(values(cluster), [1]);
  t.equal(first.quarantine.count + second.quarantine.count, 2);
});

t.test('only what stays refused is set aside', async (t) => {
  const {
    cluster,
    sources: [source],
  } = await two(t);
  const [first, second] = cluster.nodes;
  let tries = 0;
  cluster.history.refuses = () => (++tries <= 2 ? new HistoryRefusal('Code: 36. BAD_ARGUMENTS', 36, false) : undefined);
  for (const value of range(0, 5)) await second.measure(source, value);
  await second.node.visible(5_000);
  t.same([values(cluster), first.quarantine.count], [range(0, 5), 0]);
  first.quarantine.isFull = true;
  cluster.history.refuses = refusesPoison;
  await second.measure(source, POISON);
  await second.measure(source, 5);
  await t.rejects(second.node.visible(300));
  t.match(first.node.projector.lastError, /quarantine is full/);
  t.ok(first.node.projector.lagGroups > 0);
  first.quarantine.isFull = false;
  await second.node.visible(10_000);
  t.same([values(cluster), first.quarantine.count, first.node.projector.lagGroups], [range(0, 6), 1, 0]);
});

t.test(
  'killed at each step of the halving: the next owners go on with its parts, also when the store has changed its mind',
  async (t) => {
    for (const isCured of [false, true]) {
      const places = crashPlaces();
      for (let crashAt = places.first; ; crashAt += places.by) {
        const { cluster, sources } = await two(t, 4);
        const [first, second] = cluster.nodes;
        cluster.history.refuses = refusesPoison;
        for (const value of range(0, 12)) await second.measure(sources[value % 4], value === 7 ? POISON : value);
        let step = 0;
        let isKilled = false;
        const hook = (): Promise<void> | void => {
          if (isKilled) return undefined;
          step += 1;
          if (step < crashAt) return undefined;
          isKilled = true;
          if (isCured) cluster.history.refuses = () => undefined;
          first.kill();
          return new Promise(() => undefined);
        };
        cluster.history.before = hook;
        cluster.history.after = hook;
        cluster.store.onSplit = () => {
          void hook();
        };
        void first.node.visible(5_000).catch(() => undefined);
        await until(
          () =>
            isKilled ||
            ((first.node.projector.position(shardOf(1, sources[3])) as number) > 0 && cluster.store.blocks.size === 0),
        );
        await second.measure(sources[0], 100);
        await second.node.visible(20_000);
        const isThere = values(cluster).includes(POISON);
        t.same(
          values(cluster),
          [...range(0, 7), ...range(8, 12), 100, ...(isThere ? [POISON] : [])],
          `step ${crashAt}`,
        );
        t.ok(isThere || asideOf(cluster).length > 0, `step ${crashAt}: in the table or set aside`);
        t.ok(asideOf(cluster).every((entry) => valueOf(entry) === POISON));
        await until(() => cluster.store.blocks.size === 0, 'nothing is left of it');
        if (isKilled) continue;
        t.ok(crashAt > 15, `${crashAt} steps`);
        break;
      }
    }
  },
);

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

t.test('random poison, nodes killed', async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const cluster = await TestCluster.of(t, 3, { intervalMs: 3, rowsMax: 40 });
  const isPoison = (value: number): boolean => value % 13 === 0;
  cluster.history.partitionOf = ({ seq }) => seq % 2;
  cluster.history.loses = () => random.below(40) === 0;
  cluster.history.refuses = ({ value }) => (value !== undefined && isPoison(value) ? refusal() : undefined);
  const acknowledged: number[] = [];
  for (let value = 0; value < rounds(150, 600); value += 1) {
    const node = cluster.nodes[random.below(3)];
    const done = node.measure(1 + random.below(40), value).then(
      () => {
        acknowledged.push(value);
      },
      () => undefined,
    );
    if (random.below(4) === 0)
      await Promise.race([
        done,
        new Promise((resolve) => {
          setTimeout(resolve, 50);
        }),
      ]);
    if (value % 75 === 74) {
      cluster.nodes[random.below(3)].kill();
      await cluster.join();
    }
  }
  await cluster.settled();
  await cluster.nodes[0].node.visible(30_000);
  const stored = values(cluster);
  t.equal(new Set(stored).size, stored.length, 'none twice');
  t.same(stored.filter(isPoison), []);
  const aside = asideOf(cluster).map(valueOf);
  t.same(
    aside.filter((value) => !isPoison(value)),
    [],
  );
  const there = new Set([...stored, ...aside]);
  t.same(
    acknowledged.filter((value) => !there.has(value)),
    [],
    `${acknowledged.length} acknowledged, none lost`,
  );
});
