/**
 * Nodes that cannot be part of the cluster as they were started, or cannot do what they are asked: they say so at once.
 */
import t from 'tap';
import { RunningCluster } from '../../helpers/cluster/running.ts';
import type { ClusterNodeProcess } from '../../helpers/cluster/running.ts';
import { Rest } from '../../helpers/running/server.ts';
import { PASSWORD, USER } from '../../helpers/process/server.ts';
import { until } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server', 'redis-server');
const cluster =
  skip === false
    ? await RunningCluster.start(t, { nodes: 1, passwords: { admin: PASSWORD, management: 'mill-Race-8' } })
    : undefined;

async function further(
  t: { teardown(run: () => unknown): void },
  name: string,
  flags: readonly string[],
): Promise<ClusterNodeProcess> {
  const node = cluster!.further(name, flags);
  t.teardown(() => node.kill());
  node.launch();
  return node;
}

t.test('a node with another secret key does not start', { skip }, async (t) => {
  const other = await further(t, 'other', ['--secret-key', 'another-key-than-that-of-the-other-nodes']);
  await until('it ends', () => !other.isAlive, 60_000);
  t.equal(await other.stop(), 1, other.errors);
  t.match(other.errors, /the server could not start: --secret-key is another one than that of the cluster/);
  t.notMatch(other.errors, /another-key-than|one-key-for-all/);
});

t.test('without a node that takes shards commands are refused at once', { skip }, async (t) => {
  const front = await further(t, 'front', ['--roles', 'gateway', '--answer-timeout-ms', '2000']);
  await front.listening();
  const [owner] = cluster!.nodes;
  const rest = new Rest(front.url, USER, PASSWORD);
  await rest.create('/inventory/managedObjects', { name: 'before' });
  t.equal(await owner.stop(), 0);
  // The first ones may still wait for the owner that has just left.
  await until(
    'commands are refused',
    async () => {
      const answer = await rest.post('/inventory/managedObjects', { name: 'nobody decides' });
      return answer.status === 503 && answer.text.includes('cluster/no-shard-role');
    },
    60_000,
  );
  const answer = await fetch(`${front.url}/inventory/managedObjects`, {
    method: 'POST',
    body: '{}',
    headers: {
      authorization: `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`,
      'content-type': 'application/json',
    },
  });
  t.equal(answer.status, 503);
  t.match(answer.headers.get('retry-after'), /^\d+$/);
  t.match(await answer.text(), /cluster\/no-shard-role \(no node of the cluster has the role shard/);
  owner.launch();
  await owner.listening();
  await until(
    'it is decided again',
    async () => (await rest.post('/inventory/managedObjects', { name: 'after' })).status === 201,
    60_000,
  );
  t.equal(await front.stop(), 0);
});
