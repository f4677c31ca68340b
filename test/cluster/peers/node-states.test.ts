/** Any node tells how all are; one that does not answer is named. */
import t from 'tap';
import { ClusterNodeStates } from '../../../src/cluster/peers/node-states.ts';
import type { Member } from '../../../src/ports/cluster/leases.ts';
import { InMemoryCluster } from '../memory/ports.ts';

t.test('three nodes, one of which is silent', async (t) => {
  const cluster = new InMemoryCluster();
  let nowMs = 0;
  let askedCount = 0;
  const members: Member[] = [];
  const states = ['b', 'a'].map((name) => {
    const { messages } = cluster.node(name, ['gateway'], `${name}-1`);
    members.push({ nodeId: messages.nodeId, roles: ['gateway'], isLeaving: name === 'b' });
    const local = () => {
      askedCount += 1;
      return { node: name, state: 'ready' as const, roles: ['gateway'], lag: 1, connections: 2 };
    };
    return new ClusterNodeStates({ messages, leases: { members }, local, now: () => nowMs });
  });
  members.push({ nodeId: 'c-1', roles: ['shard'], isLeaving: false });
  const wanted = [
    { node: 'a', state: 'ready', roles: ['gateway'], lag: 1, connections: 2 },
    { node: 'b', state: 'leaving', roles: ['gateway'], lag: 1, connections: 2 },
    { node: 'c-1', state: 'silent', roles: ['shard'] },
  ];
  t.same(await states[0].all(), wanted);
  t.same(await states[1].all(), wanted);
  t.equal(askedCount, 4);
  await states[0].all();
  t.equal(askedCount, 4, 'an answer of this second is shared');
  nowMs = 2_000;
  await states[0].all();
  t.equal(askedCount, 6);
});
