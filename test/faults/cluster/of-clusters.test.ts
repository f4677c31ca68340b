/**
 * Nodes over three NATS servers with three copies of everything and three masters of Redis Cluster: one of them is
 * killed under load, and comes back.
 */
import t from 'tap';
import { underLoad } from '../../helpers/cluster/under-load.ts';
import { ClusterLoad, acknowledgedAgain } from '../../helpers/cluster/load.ts';
import { delay, seeded } from '../../helpers/process/server.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 2;
const DEVICES = 3;
const REDIS_AWAY_MS = 1_500;
/** The recommended one for three NATS servers. */
const ENVIRONMENT = { MILLRACE_LEASE_TIME_MS: '10000', MILLRACE_ANSWER_TIMEOUT_MS: '5000' };

const skip = missing('nats-server', 'redis-server');
const load = skip === false ? await ClusterLoad.start(t, NODES, ENVIRONMENT, { areServersClustered: true }) : undefined;

t.test('kill -9 of one Redis master of three', { skip }, async (t) => {
  const random = seeded(t);
  await underLoad(t, load!, { devices: DEVICES }, async (cluster) => {
    await delay(random() * 500);
    await cluster.restart(cluster.redisServers[Math.floor(random() * 3)], REDIS_AWAY_MS);
  });
});

t.test('kill -9 of one NATS server of three: the others go on without it', { skip }, async (t) => {
  const random = seeded(t);
  await underLoad(t, load!, { devices: DEVICES }, async (cluster, devices, t) => {
    const server = cluster.natsServers[Math.floor(random() * 3)];
    await server.kill();
    t.comment(`every device acknowledged after ${await acknowledgedAgain(devices)} ms without ${server.url}`);
    await cluster.restart(server, 0);
  });
});
