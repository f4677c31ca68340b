/** The in-memory cluster keeps the promises of the ports that it stands for. */
import t from 'tap';
import { JournalUnavailable } from '../../../src/ports/cluster/journal.ts';
import { documentsContract } from '../../actors/documents-contract.ts';
import { blockStoreContract, clusterDocumentsContract } from '../contracts/documents.ts';
import { DocumentStore, NodeDocuments } from './documents.ts';
import { InMemoryCluster, InMemoryJournal } from './ports.ts';
import { nodeMessagesContract } from '../contracts/node-messages.ts';
import { groupOf, readShard, shardJournalContract } from '../contracts/shard-journal.ts';
import { shardLeasesContract } from '../contracts/shard-leases.ts';

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

shardLeasesContract(t, 'in memory', async () => {
  const cluster = new InMemoryCluster();
  return {
    settled: () => cluster.settled(),
    open: async (nodeId, roles) => ({
      leases: cluster.node(nodeId, roles, nodeId).leases,
      cut: (isCut) => {
        if (isCut) cluster.cut(nodeId);
        else cluster.mend(nodeId);
      },
      kill: async () => cluster.kill(nodeId),
      close: async () => {},
    }),
  };
});

documentsContract(t, 'a shard in memory', () => {
  const store = new DocumentStore({ isRouted: false });
  let epoch = 0;
  return {
    open: async () => {
      const documents = new NodeDocuments(store).open(7);
      await documents.takeOver((epoch += 1));
      return { documents, close: async () => documents.stop() };
    },
  };
});

clusterDocumentsContract(t, 'in memory', async () => {
  const store = new DocumentStore();
  return { open: async () => ({ documents: new NodeDocuments(store), close: async () => {} }) };
});

blockStoreContract(t, 'in memory', async () => {
  const store = new DocumentStore();
  return { a: new NodeDocuments(store), b: new NodeDocuments(store) };
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
  t.ok((await node.journal.append(1, 'three', groupOf(3, 1), 1)) > first);
});

t.test('messages: answers, broadcasts, unreachable nodes', async (t) => {
  const cluster = new InMemoryCluster();
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const heard: string[] = [];
  for (const { messages, nodeId } of [a, b])
    messages.listen('news', (payload, from) => {
      heard.push(`${nodeId} ${Buffer.from(payload)} ${from}`);
    });
  b.messages.answer('ask', async (payload, from) => Buffer.from(`${Buffer.from(payload)} from ${from}`));
  b.messages.answer('fail', async () => {
    throw new Error('not today');
  });
  t.equal(
    Buffer.from(await a.messages.request(b.nodeId, 'ask', Buffer.from('x'), 1_000)).toString(),
    `x from ${a.nodeId}`,
  );
  await t.rejects(a.messages.request(b.nodeId, 'fail', Buffer.from('x'), 1_000), { message: 'not today' });
  await t.rejects(a.messages.request('nobody', 'ask', Buffer.from('x'), 1_000), /nobody/);
  a.messages.broadcast('news', Buffer.from('1'));
  a.messages.send(b.nodeId, 'news', Buffer.from('2'));
  await new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
  t.same(heard.sort(), [`${a.nodeId} 1 ${a.nodeId}`, `${b.nodeId} 1 ${a.nodeId}`, `${b.nodeId} 2 ${a.nodeId}`].sort());
  cluster.cut(b.nodeId);
  await t.rejects(a.messages.request(b.nodeId, 'ask', Buffer.from('x'), 1_000), /ask/);
  let isBack = false;
  b.messages.onReconnected(() => {
    isBack = true;
  });
  cluster.mend(b.nodeId);
  t.ok(isBack);
});
