/**
 * One of three masters of a Redis Cluster is killed: the nodes stay in service for the shards of the others, and say
 * what is away.
 */
import t from 'tap';
import { startRedisCluster } from '../../helpers/stores/redis-server.ts';
import type { RedisCluster } from '../../helpers/stores/redis-server.ts';
import { RunningCluster } from '../../helpers/cluster/running.ts';
import { Rest } from '../../helpers/running/server.ts';
import { PASSWORD, USER } from '../../helpers/process/server.ts';
import { until } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const TRIED = 30;

t.test('one of three masters is killed', { skip: missing('nats-server', 'redis-server') }, async (t) => {
  let redis: RedisCluster | undefined;
  const cluster = await RunningCluster.start(t, {
    nodes: 2,
    passwords: { admin: PASSWORD, management: 'mill-Race-8' },
    flags: ['--answer-timeout-ms', '1000'],
    environmentOf: async (): Promise<Record<string, string>> => {
      redis ??= await startRedisCluster(t, '--maxmemory-policy', 'noeviction');
      return { MILLRACE_REDIS: redis.url };
    },
  });
  const health = async (url: string): Promise<{ status: number; documents: { ready: boolean; away?: string } }> => {
    const answer = await fetch(`${url}/health/ready`);
    return {
      status: answer.status,
      documents: ((await answer.json()) as { parts: { documents: { ready: boolean } } }).parts.documents,
    };
  };
  const rest = new Rest(cluster.nodes[0].url, USER, PASSWORD);
  const post = async (): Promise<number> => (await rest.post('/inventory/managedObjects', { type: 'probe' })).status;
  await redis!.servers[2].kill();
  const all = (): Promise<Awaited<ReturnType<typeof health>>[]> =>
    Promise.all(cluster.nodes.map(({ url }) => health(url)));
  // The shards of the killed one may all be of one node.
  await until(
    'it is noticed',
    async () => (await all()).some(({ documents }) => !documents.ready || documents.away !== undefined),
    60_000,
  );
  const states = await all();
  t.same(
    states.map(({ status }) => status),
    [200, 200],
    JSON.stringify(states),
  );
  t.match(states.map(({ documents }) => documents.away).join(), /Redis: /);
  const answers: number[] = [];
  for (let count = 0; count < TRIED && !answers.includes(201); count += 1) answers.push(await post());
  t.ok(answers.includes(201), `shards of the others are served: ${answers.join()}`);
  await redis!.servers[2].start();
  await until(
    'nothing is away',
    async () => (await all()).every(({ status, documents }) => status === 200 && documents.away === undefined),
    60_000,
  );
});
