/**
 * Power loss of a whole cluster: nodes, NATS, Redis and ClickHouse lose power at the same time, with all that their disks had not written. What was
 * acknowledged is there exactly once. One replica of everything, and the settings that docs/durability.md asks for.
 */
import t from 'tap';
import { underLoad } from '../helpers/cluster-under-load.ts';
import { LossyDisk, lossyDisksFail } from '../helpers/lossy-disk.ts';
import { canSyncAlways } from '../helpers/nats-server.ts';
import { ClusterLoad } from '../helpers/running-cluster-load.ts';
import { delay, seeded } from '../helpers/server-process.ts';
import { until } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';

t.setTimeout(3_600_000);

const NODES = 2;
const DEVICES = 3;
const CUTS = Number(process.env['MILLRACE_POWER_CUTS'] ?? 1);
const RANDOM_MS = 3_000;

const skip = missing('nats-server', 'redis-server') || await lossyDisksFail();

t.test('power cuts at random moments of mixed load', { skip }, async (t) => {
  const random = seeded(t);
  // What nats-server before 2.10 does not do by itself, the mount does.
  const isMountSynchronous = !canSyncAlways();
  const disks = { nats: new LossyDisk(t, isMountSynchronous ? { mountOptions: 'sync' } : {}), others: new LossyDisk(t) };
  t.comment(isMountSynchronous ? 'NATS on a disk that is mounted with sync' : 'NATS with sync_interval: always');
  const load = await ClusterLoad.start(t, NODES, { MILLRACE_ACCEPT_POWER_LOSS: 'no' }, {
    appendfsync: 'always', within: { nats: disks.nats.path, others: disks.others.path }, jetStream: isMountSynchronous ? '' : 'sync_interval: always',
  });
  if (isMountSynchronous) {
    await until('the start warns of what NATS does by itself', () => load.cluster.nodes[0].errors.includes('NATS may lose acknowledged messages in a power failure'));
  }
  await underLoad(t, load, { devices: DEVICES }, async (cluster, _, t) => {
    for (let cut = 0; cut < CUTS; cut += 1) {
      await delay(random() * RANDOM_MS);
      const order = random() < 0.5 ? [disks.nats, disks.others] : [disks.others, disks.nats];
      for (const disk of order) disk.powerCut();
      await cluster.powerOff();
      for (const disk of order) await disk.restore();
      const startMs = Date.now();
      await cluster.powerOn();
      t.comment(`cut ${cut + 1}: complete again in ${Date.now() - startMs} ms`);
    }
  });
});
