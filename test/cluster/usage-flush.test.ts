/** Who reads usage statistics has all nodes write down what they have counted. */
import t from 'tap';
import { UsageFlush } from '../../src/cluster/peers/usage-flush.ts';
import { silentLog } from '../helpers/stores/nats-server.ts';
import { InMemoryCluster } from './memory/ports.ts';

t.test('every node writes before the answer', async (t) => {
  const cluster = new InMemoryCluster();
  const written: string[] = [];
  const warnings: string[] = [];
  const log = {
    ...silentLog,
    warn: (details: object) => {
      warnings.push((details as { node: string }).node);
    },
  } as typeof silentLog;
  let failure: Error | undefined;
  const members = ['a', 'b', 'c'].map((name) => ({ nodeId: name }));
  const nodes = Object.fromEntries(
    members.map(({ nodeId }) => [
      nodeId,
      new UsageFlush(
        {
          flush: async () => {
            await new Promise((resolve) => {
              setImmediate(resolve);
            });
            if (failure !== undefined && nodeId === 'a') throw failure;
            written.push(nodeId);
          },
        },
        { messages: cluster.node(nodeId, undefined, nodeId).messages, leases: { members: members as never }, log },
      ),
    ]),
  );
  await nodes['a'].flush();
  t.same(written.sort(), ['a', 'b', 'c']);
  cluster.kill('b');
  written.length = 0;
  await nodes['c'].flush();
  t.same(written.sort(), ['a', 'c'], 'one that is gone does not hold up the answer');
  t.same(warnings, ['b'], 'and is told');
  failure = new Error('the history is away');
  await t.rejects(nodes['a'].flush(), failure, 'nothing can be read either');
});
