/** Who receives operations through another node: asked of the node that has the session, and of nobody else. */
import t from 'tap';
import { OperationReceivers } from '../../src/cluster/gateway/operation-receivers.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { silentLog } from '../helpers/stores/nats-server.ts';
import { InMemoryCluster } from './memory/ports.ts';

const TENANT = 2;
const devices = new Map([
  [11, ['one']],
  [12, ['two', 'zwei']],
  [13, ['three']],
  [14, []],
]);

t.test('what other nodes receive, and not what this one does', async (t) => {
  const cluster = new InMemoryCluster();
  /** Serial -> node, and what the nodes receive. */
  const holders = new Map([
    ['one', 'a'],
    ['zwei', 'b'],
    ['three', 'c'],
  ]);
  const received = new Map<string, Set<number>>([
    ['a', new Set([11])],
    ['b', new Set([12])],
    ['c', new Set()],
  ]);
  const members = new Set(['a', 'b', 'c']);
  const asked: string[] = [];
  const nodes = Object.fromEntries(
    ['a', 'b', 'c'].map((name) => {
      const receivers = new OperationReceivers({
        messages: cluster.node(name, undefined, name).messages,
        isMember: (nodeId) => members.has(nodeId),
        log: silentLog,
        registry: {
          holder: async (tenant, serial) => {
            const nodeId = tenant === TENANT ? holders.get(serial) : undefined;
            return nodeId === undefined ? undefined : { nodeId, connectionId: 'session' };
          },
        },
      });
      receivers.start((tenant, source) => {
        asked.push(`${name} ${tenant} ${source}`);
        return tenant === TENANT && received.get(name)?.has(source) === true;
      });
      return [name, receivers];
    }),
  );
  const check = async (name: string, want: number[], more = devices): Promise<void> => {
    t.same([...(await nodes[name].receivedElsewhere(TENANT, more))].sort(), want, `asked by ${name}`);
  };
  await check('a', [12]);
  t.same(asked.sort(), ['b 2 12', 'c 2 13'], 'each node is asked for what it has');
  await check('b', [11]);
  await check('c', [11, 12]);
  await check('c', [], new Map());
  received.get('c')?.add(13);
  await check('a', [12, 13]);
  t.same([...(await nodes['a'].receivedElsewhere(3, devices))], [], 'tenants are apart');
  members.delete('b');
  await check('a', [13]);
  members.add('b');
  cluster.kill('b');
  await check('a', [13]);
});

t.test('without the registry nobody knows: it is not sent to two', async (t) => {
  const cluster = new InMemoryCluster();
  const away = new PlatformError('general/documents-unavailable', { reason: 'Redis is not connected' });
  const receivers = new OperationReceivers({
    messages: cluster.node('a').messages,
    isMember: () => true,
    log: silentLog,
    registry: { holder: () => Promise.reject(away) },
  });
  await t.rejects(receivers.receivedElsewhere(TENANT, devices), away);
});
