/** A page of connections goes on from node to node, and nodes that do not answer are named. */
import t from 'tap';
import { ConnectionPages } from '../../../src/cluster/peers/connection-pages.ts';
import type { ConnectionQuery, DeviceConnectionRow } from '../../../src/ports/device-connections.ts';
import { InMemoryCluster } from '../memory/ports.ts';
import type { InMemoryNode } from '../memory/ports.ts';

const rowOf = (node: string, index: number): DeviceConnectionRow =>
  ({ clientId: `${node}${index}`, node }) as DeviceConnectionRow;

function pagesOf(ports: InMemoryNode, name: string, count: number): ConnectionPages {
  const local = (_tenant: number, { offset, limit }: ConnectionQuery) => ({
    total: count,
    rows: Array.from({ length: count }, (_, index) => rowOf(name, index)).slice(offset, offset + limit),
  });
  return new ConnectionPages({ ...ports, local });
}

t.test('over three nodes', async (t) => {
  const cluster = new InMemoryCluster();
  const [a, b, c] = ['a', 'b', 'c'].map((id) => cluster.node(id, ['gateway', 'shard'], id));
  const pages = [pagesOf(a, 'a', 3), pagesOf(b, 'b', 0), pagesOf(c, 'c', 4)];
  const join = ({ leases }: InMemoryNode): Promise<void> =>
    leases.join({
      onAcquired: async () => undefined,
      onRelease: async () => undefined,
      onLost: () => undefined,
      onChanged: () => undefined,
    });
  for (const node of [a, b, c]) await join(node);
  const idsOf = async (offset: number, limit: number, asked = pages[2]): Promise<unknown[]> => {
    const { total, rows, silentNodes } = await asked.page(1, { text: '', offset, limit });
    return [total, rows.map(({ clientId }) => clientId).join(), silentNodes];
  };
  t.same(await idsOf(0, 2), [7, 'a0,a1', []]);
  t.same(await idsOf(2, 3), [7, 'a2,c0,c1', []], 'over the end of a node');
  t.same(await idsOf(2, 3, pages[0]), [7, 'a2,c0,c1', []], 'the same wherever it is asked');
  t.same(await idsOf(5, 10), [7, 'c2,c3', []]);
  t.same(await idsOf(7, 10), [7, '', []]);
  await join(cluster.node('d', ['gateway'], 'd'));
  t.same(await idsOf(6, 1), [7, 'c3', ['d']], 'a node that does not answer');
});
