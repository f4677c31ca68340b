/**
 * Groups of the journal that change more at once than a commit takes: a small change of a large object writes all of
 * it.
 */
import t from 'tap';
import { shardOf } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

/** A sixteenth of CHANGE_BOUNDS. */
const bounds = { commandCharsMax: 2 ** 19, groupCharsMax: 2 ** 20 };
const COMMIT_CHARS_MAX = 2.5 * 2 ** 20;
/** Each counts for three times the object: some three commits. */
const CHANGES = 44;
const LARGE = 20_000;

const create = (node: TestNode, id: number, size: number): Promise<unknown> =>
  node.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: id,
    body: { id: String(id), owner: 'ada', doc: JSON.stringify({ large: 'x'.repeat(size), n: 0 }) },
  });
const change = (node: TestNode, id: number, doc: object): Promise<{ doc: string }> =>
  node.request<{ doc: string }>({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: id,
    body: { doc: JSON.stringify(doc), mayChangeOwner: false },
  });
const numberOf = (doc: string): number => (JSON.parse(doc) as { n: number }).n;
const committedSizes = (cluster: TestCluster): number[] => {
  const sizes: number[] = [];
  cluster.store.beforeCommit = (_shard, changes) => {
    sizes.push(changes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0));
  };
  return sizes;
};

t.test(
  'many small changes of one large object in one group: all are carried out, in order, in commits that are bounded',
  async (t) => {
    const cluster = await TestCluster.of(t, 2, { answerTimeoutMs: 20_000, bounds });
    const [first, second] = cluster.nodes;
    await create(first, 5, LARGE);
    const sizes = committedSizes(cluster);
    const measured = Array.from({ length: 5 }, (_, index) => second.measure(5, index));
    const answers = await Promise.all(
      Array.from({ length: CHANGES }, (_, index) => change(second, 5, { n: index + 1 })),
    );
    t.same(
      answers.map(({ doc }) => numberOf(doc)),
      Array.from({ length: CHANGES }, (_, index) => index + 1),
    );
    await Promise.all(measured);
    t.ok(Math.max(...sizes) < COMMIT_CHARS_MAX, `the largest commit had ${Math.max(...sizes)} characters`);
    await second.node.visible(20_000);
    t.equal(numberOf(cluster.store.snapshot()['managedObject/1/5']), CHANGES);
    t.match(
      (cluster.history.tables.get('managed_objects')?.get(5) as unknown as { doc: string }).doc,
      new RegExp(`"n":${CHANGES}\\b`),
    );
    t.same(cluster.history.values.map(({ value }) => value).sort(), [0, 1, 2, 3, 4], 'measurements among them once');
    // And the shard goes on as before.
    t.equal(numberOf((await change(first, 5, { n: -1 })).doc), -1);
  },
);

t.test('the owner is killed between the parts: the next one goes on behind them', async (t) => {
  const cluster = await TestCluster.of(t, 3, { answerTimeoutMs: 2_000, bounds });
  const owner = cluster.ownerOf(5) as TestNode;
  const [gateway] = cluster.nodes.filter((node) => node !== owner);
  await create(gateway, 5, LARGE);
  let commits = 0;
  cluster.store.beforeCommit = (shard, changes) => {
    if (shard === shardOf(1, 5) && changes.some(({ collection }) => collection === 'managedObject') && ++commits === 3)
      owner.kill();
  };
  const all = Array.from({ length: CHANGES }, (_, index) =>
    change(gateway, 5, { [`f${index}`]: index, n: index + 1 }).then(
      () => true,
      (error: { code: string }) => error.code,
    ),
  );
  // What was committed before the kill has no answer any more.
  t.same(
    [...new Set(await Promise.all(all))].filter(
      (result) => result !== true && result !== 'commands/answer-lost' && result !== 'commands/answer-timeout',
    ),
    [],
  );
  await until(() => numberOf(cluster.store.snapshot()['managedObject/1/5']) === CHANGES, 'all are carried out');
  const doc = JSON.parse(cluster.store.snapshot()['managedObject/1/5']) as Record<string, unknown>;
  t.equal(Object.keys(doc).filter((name) => /^f\d+$/.test(name)).length, CHANGES);
  await gateway.node.visible(20_000);
  t.match(
    (cluster.history.tables.get('managed_objects')?.get(5) as unknown as { doc: string }).doc,
    new RegExp(`"n":${CHANGES}\\b`),
  );
});

t.test('many large objects in one group', async (t) => {
  const cluster = await TestCluster.of(t, 2, { bounds });
  const [node] = cluster.nodes;
  const shard = shardOf(1, 5);
  const ids = Array.from({ length: 3_000 }, (_, index) => index + 1)
    .filter((id) => shardOf(1, id) === shard)
    .slice(0, 24);
  const sizes = committedSizes(cluster);
  await Promise.all(ids.map((id) => create(node, id, LARGE)));
  await Promise.all(ids.map((id) => change(node, id, { n: id })));
  t.ok(Math.max(...sizes) < COMMIT_CHARS_MAX, `the largest commit had ${Math.max(...sizes)} characters`);
  for (const id of ids) t.equal(numberOf(cluster.store.snapshot()[`managedObject/1/${id}`]), id);
});

t.test('a change that is too large by itself is refused and changes nothing', async (t) => {
  const cluster = await TestCluster.of(t, 2, { bounds });
  const [node] = cluster.nodes;
  const part = 'x'.repeat(30_000);
  await create(node, 5, LARGE);
  let refusal: { code: string; status: number; details: { size: number; limit: number } } | undefined;
  for (let index = 0; index < 20 && refusal === undefined; index += 1) {
    refusal = await change(node, 5, { [`part${index}`]: part, n: index + 1 }).then(
      () => undefined,
      (error: typeof refusal) => error,
    );
    if (refusal !== undefined) t.equal(numberOf(cluster.store.snapshot()['managedObject/1/5']), index, 'as before');
  }
  t.match(refusal, { code: 'general/change-too-large', status: 413, details: { limit: bounds.commandCharsMax } });
  t.ok((refusal?.details.size ?? 0) > bounds.commandCharsMax);
  t.equal(numberOf((await change(node, 5, { n: 77 })).doc), 77, 'smaller ones go on');
});

t.test('a large group: linked at once, deleted in commits that are bounded', async (t) => {
  const cluster = await TestCluster.of(t, 2, { answerTimeoutMs: 60_000 });
  const [node] = cluster.nodes;
  const ids = Array.from({ length: 600 }, (_, index) => index + 100);
  const group = (id: number): Promise<unknown> =>
    node.request({
      kind: COMMAND.MANAGED_OBJECT_CREATE,
      key: id,
      body: { id: String(id), owner: 'ada', doc: '{"c8y_IsDeviceGroup":{}}' },
    });
  await Promise.all([5, ...ids].map(group));
  let changes = 0;
  cluster.store.beforeCommit = (_shard, { length }) => {
    changes = Math.max(changes, length);
  };
  await node.request({
    kind: COMMAND.CHILD_ADD,
    key: 5,
    body: { kind: 'childAssets', children: ids.map(String), parent: '5' },
  });
  t.equal(Object.keys(cluster.store.snapshot()).filter((key) => key.startsWith('parents/')).length, ids.length);
  changes = 0;
  await node.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 5, body: {} });
  await cluster.settled();
  t.ok(changes < 1_700, `the largest commit had ${changes} changes`);
  await until(() => Object.keys(cluster.store.snapshot()).length === 0, 'the subgroups went along');
});

t.test('what a command sends counts for its size', async (t) => {
  const cluster = await TestCluster.of(t, 1, { bounds });
  const [node] = cluster.nodes;
  await create(node, 5, 1);
  const children = Array.from({ length: 4_000 }, (_, index) => String(index + 100));
  await t.rejects(
    node.request({ kind: COMMAND.CHILD_ADD, key: 5, body: { kind: 'childAssets', children, parent: '5' } }),
    { code: 'general/change-too-large' },
  );
  t.same(Object.keys(cluster.store.snapshot()), ['managedObject/1/5']);
});
