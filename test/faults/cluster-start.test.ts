/** Nodes that cannot be part of the cluster as they were started, or cannot do what they are asked: they say so at once. */
import t from 'tap';
import { RunningCluster } from '../helpers/running-cluster.ts';
import type { ClusterNodeProcess } from '../helpers/running-cluster.ts';
import { PASSWORD } from '../helpers/server-process.ts';
import { until } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

t.setTimeout(240_000);

const skip = missing('nats-server', 'redis-server');
const cluster = skip === false ? await RunningCluster.start(t, { nodes: 1, passwords: { admin: PASSWORD, management: 'mill-Race-8' } }) : undefined;

async function further(t: { teardown(run: () => unknown): void }, name: string, flags: readonly string[]): Promise<ClusterNodeProcess> {
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
