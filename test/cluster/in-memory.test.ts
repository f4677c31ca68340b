/** The in-memory cluster keeps the promises of the ports that it stands for. */
import t from 'tap';
import { JournalUnavailable } from '../../src/cluster/shard-journal.ts';
import { InMemoryCluster, InMemoryJournal } from './in-memory.ts';
import type { InMemoryNode } from './in-memory.ts';
import { nodeMessagesContract } from './node-messages-contract.ts';
import { groupOf, readShard, shardJournalContract } from './shard-journal-contract.ts';

shardJournalContract(t, 'in memory', async () => {
  const cluster = new InMemoryCluster();
  return {
    open: async (nodeId) => ({ journal: cluster.node(nodeId, ['gateway'], nodeId).journal, close: async () => {} }),
  };
});

nodeMessagesContract(t, 'in memory', async () => {
  const cluster = new InMemoryCluster();
  const [a, b] = ['a-1', 'b-2'].map((nodeId) => cluster.node(nodeId, ['gateway'], nodeId).messages);
  return { a, b };
});

t.test('a lost acknowledgement, a full journal, a node cut off', async (t) => {
  const cluster = new InMemoryCluster({ journalMaxBytes: 1_000 });
  const node = cluster.node();
  (node.journal as InMemoryJournal).acknowledgementsToLose = 2;
  const first = await node.journal.append(1, 'one', groupOf(1, 1), 1);
  t.equal((await readShard(node.journal, 1)).length, 1);
  await t.rejects(node.journal.append(1, 'two', groupOf(2, 1, 2_000), 1), new JournalUnavailable('journal/bytes'));
  cluster.cut(node.nodeId);
  t.equal(node.journal.unavailable, 'journal/unreachable');
  await t.rejects(node.journal.append(1, 'three', groupOf(3, 1), 1), new JournalUnavailable('journal/unreachable'));
  cluster.mend(node.nodeId);
  t.ok(await node.journal.append(1, 'three', groupOf(3, 1), 1) > first);
});

interface Watched { readonly node: InMemoryNode; readonly calls: string[] }

async function joined(cluster: InMemoryCluster, name: string): Promise<Watched> {
  const node = cluster.node(name);
  const calls: string[] = [];
  await node.leases.join({
    onAcquired: async (shard, epoch) => { calls.push(`acquired ${shard} ${epoch}`); },
    onRelease: async (shard) => { calls.push(`release ${shard}`); },
    onLost: (shard) => { calls.push(`lost ${shard}`); },
    onChanged: () => {},
  });
  await cluster.settled();
  return { node, calls };
}

t.test('leases: join, leave, kill, cut', async (t) => {
  const cluster = new InMemoryCluster();
  const a = await joined(cluster, 'a');
  t.equal(a.node.leases.owned.size, 64);
  const b = await joined(cluster, 'b');
  const c = await joined(cluster, 'c');
  const sizes = (): number[] => [a, b, c].map(({ node }) => node.leases.owned.size).sort();
  t.same(sizes(), [21, 21, 22]);
  t.equal(a.node.leases.members.length, 3);
  await c.node.leases.leave();
  t.same(sizes(), [0, 32, 32]);
  t.equal(c.calls.filter((call) => call.startsWith('release')).length >= 21, true);
  cluster.cut(b.node.nodeId);
  await cluster.settled();
  t.same([b.calls.filter((call) => call.startsWith('lost')).length, b.node.leases.owned.size, a.node.leases.owned.size], [32, 0, 64]);
  cluster.mend(b.node.nodeId);
  await cluster.settled();
  t.same(sizes(), [0, 32, 32]);
  cluster.kill(a.node.nodeId);
  await cluster.settled();
  t.equal(b.node.leases.owned.size, 64);
  t.same(new Set([...b.node.leases.owned.keys()].map((shard) => b.node.leases.ownerOf(shard))), new Set([b.node.nodeId]));
  const epochs = b.calls.filter((call) => call.startsWith('acquired')).map((call) => Number(call.split(' ')[2]));
  t.same(epochs, [...epochs].sort((one, other) => one - other), 'epochs grow');
});

t.test('messages: answers, broadcasts, unreachable nodes', async (t) => {
  const cluster = new InMemoryCluster();
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const heard: string[] = [];
  for (const { messages, nodeId } of [a, b]) messages.listen('news', (payload, from) => { heard.push(`${nodeId} ${Buffer.from(payload)} ${from}`); });
  b.messages.answer('ask', async (payload, from) => Buffer.from(`${Buffer.from(payload)} from ${from}`));
  b.messages.answer('fail', async () => { throw new Error('not today'); });
  t.equal(Buffer.from(await a.messages.request(b.nodeId, 'ask', Buffer.from('x'), 1_000)).toString(), `x from ${a.nodeId}`);
  await t.rejects(a.messages.request(b.nodeId, 'fail', Buffer.from('x'), 1_000), { message: 'not today' });
  await t.rejects(a.messages.request('nobody', 'ask', Buffer.from('x'), 1_000), /nobody/);
  a.messages.broadcast('news', Buffer.from('1'));
  a.messages.send(b.nodeId, 'news', Buffer.from('2'));
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  t.same(heard.sort(), [`${a.nodeId} 1 ${a.nodeId}`, `${b.nodeId} 1 ${a.nodeId}`, `${b.nodeId} 2 ${a.nodeId}`].sort());
  cluster.cut(b.nodeId);
  await t.rejects(a.messages.request(b.nodeId, 'ask', Buffer.from('x'), 1_000), /ask/);
  let isBack = false;
  b.messages.onReconnected(() => { isBack = true; });
  cluster.mend(b.nodeId);
  t.ok(isBack);
});
