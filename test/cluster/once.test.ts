/** What a take-over does not do again: counting and telling of measurements, commands whose handler fails. */
import t from 'tap';
import { encodeCommand, shardOf } from '../../src/ingest/journal/command-record.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { NOW, openPlatform, until } from '../actors/platform.ts';
import { TestCluster } from './memory/nodes.ts';
import type { TestNode } from './memory/nodes.ts';

const toldOf = ({ notifications }: TestNode): number[] =>
  notifications
    .filter(({ area }) => area === 'measurements')
    .map(({ text }) => (JSON.parse(text()) as { f: { s: { value: number } } }).f.s.value);
const sum = (all: readonly number[]): number => all.reduce((total, count) => total + count, 0);

t.test('measurements are counted once, whoever takes the shard over', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const owner = cluster.ownerOf(1);
  const gateway = cluster.nodes.find((node) => node !== owner) as TestNode;
  for (let value = 0; value < 5; value += 1) await gateway.measure(1, value);
  await until(() => toldOf(owner).length === 5);
  t.equal(owner.countedCount, 0, 'not before it is saved that they were handled');
  for (const one of owner.node.owners) one.savePassed();
  await until(() => owner.countedCount === 5);
  // Two groups of which nobody knows that they were handled.
  for (let value = 5; value < 7; value += 1) await gateway.measure(1, value);
  await until(() => toldOf(owner).length === 7);
  owner.kill();
  await cluster.settled();
  for (const { node } of cluster.nodes) for (const one of node.owners) one.savePassed();
  const counted = (): number => sum(cluster.all.map(({ countedCount }) => countedCount));
  await until(() => counted() >= 7);
  await cluster.nodes[0].request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: 1,
    body: { id: '1', owner: 'ada', doc: '{}' },
  });
  t.equal(counted(), 7);
  t.same(cluster.nodes.flatMap(toldOf), [5, 6], 'told again: only what was not saved');
});

t.test('a planned hand-over repeats nothing, a shard that is loaded anew tells nothing again', async (t) => {
  const cluster = await TestCluster.of(t, 2);
  const owner = cluster.ownerOf(1);
  const other = cluster.nodes.find((node) => node !== owner) as TestNode;
  for (let value = 0; value < 3; value += 1) await other.measure(1, value);
  await until(() => toldOf(owner).length === 3);
  const shard = owner.node.owners.findIndex(({ shard: one }) => one === cluster.shared.stored.at(-1)?.shard);
  const epoch = owner.ports.leases.owned.get(shard) as number;
  await owner.node.owners[shard].acquire(epoch);
  await other.measure(1, 3);
  await until(() => toldOf(owner).length === 4);
  t.same(toldOf(owner), [0, 1, 2, 3]);
  await owner.node.stop();
  await other.measure(1, 4);
  await until(() => toldOf(other).length > 0);
  for (const one of other.node.owners) one.savePassed();
  await until(() => sum(cluster.all.map(({ countedCount }) => countedCount)) === 5);
  t.same(toldOf(other), [4]);
});

t.test(
  'documents that come back with an older position: what is in the history is not inserted again, by the next owner either',
  async (t) => {
    const cluster = await TestCluster.of(t, 2);
    const owner = cluster.ownerOf(1);
    const other = cluster.nodes.find((node) => node !== owner) as TestNode;
    const shard = shardOf(1, 1);
    const stored = cluster.store.shards[shard];
    const visible = (): Promise<void> => other.node.visible(20_000);
    await other.measure(1, 0);
    await visible();
    const state = cluster.keepState(shard);
    for (let value = 1; value < 40; value += 1) await other.measure(1, value);
    await visible();
    t.equal(cluster.history.values.length, 40);
    state.lose();
    // Nothing is inserted meanwhile: the next owner finds what this one knows.
    cluster.history.before = () => {
      throw new Error('away');
    };
    await other.measure(1, 40);
    await until(() => {
      for (const one of owner.node.owners) one.savePassed();
      return state.isLost && stored.values.has('meta/0/uncertain');
    }, 'the older state was noticed');
    owner.kill();
    cluster.history.before = () => undefined;
    await cluster.settled();
    await other.measure(1, 41);
    await visible();
    t.same(
      cluster.history.values.map(({ value }) => value).sort((x, y) => x - y),
      Array.from({ length: 42 }, (_, value) => value),
    );
  },
);

/** What no gateway sends: the handler fails on it. */
const failing = { kind: COMMAND.MANAGED_OBJECT_CREATE, key: 5, body: null as never };
const right = { ...failing, body: { id: '5', owner: 'ada', doc: '{"n":1}' } };

t.test('a command whose handler fails is set aside, the shard goes on, its next owner too', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const owner = cluster.ownerOf(5);
  const gateway = cluster.nodes.find((node) => node !== owner) as TestNode;
  await t.rejects(gateway.request(failing), { code: 'general/internal', status: 500 });
  await gateway.request(right);
  t.match(owner.quarantine.entries, [
    { kind: 'command', table: 'commands', code: 0, error: /./, row: { kind: failing.kind, key: 5, receivedAt: NOW } },
  ]);
  t.same([owner.node.commandsSetAsideCount, gateway.node.commandsSetAsideCount], [1, 0]);
  t.ok(owner.node.commandsCount >= 2);
  t.same(
    [owner.node.ownedCount, owner.node.inServiceCount, owner.node.followUpsCount],
    [owner.ownedShards.length, owner.ownedShards.length, 0],
  );
  await cluster.settled();
  owner.kill();
  await cluster.settled();
  await gateway.request({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: 5,
    body: { doc: '{"n":2}', mayChangeOwner: false },
  });
  t.match(cluster.store.snapshot()['managedObject/1/5'], /"n":2/);
  await t.rejects(
    gateway.request({ ...failing, kind: 250 as never, body: {} }),
    { code: 'general/internal' },
    'nor one that nobody knows',
  );
  // As the follow-up of another shard: its sender hears that it is done.
  await gateway.node.commands.deliver({ ...failing, tenant: 1, mode: 0, receivedAt: NOW }, '1-0000000000004096-0');
});

t.test('so in one process, but for a store that cannot be read', async (t) => {
  const platform = openPlatform(t);
  await t.rejects(platform.request(failing), { code: 'general/internal' });
  await platform.request(right);
  t.match(platform.get('managedObject', '5'), { n: 1 });
  t.equal(platform.actors.setAsideCount, 1);
  platform.documents.get = () => {
    throw new Error('damaged');
  };
  t.throws(
    () =>
      platform.actors.handleGroup(
        1_000,
        encodeCommand({ ...right, kind: COMMAND.MANAGED_OBJECT_UPDATE, tenant: 1, mode: 0, receivedAt: NOW }),
      ),
    /damaged/,
  );
});
