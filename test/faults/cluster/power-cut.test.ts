/**
 * Power loss of a cluster, of all its parts at the same time and of one NATS server of three, with all that the disks
 * had not written. What was acknowledged is there exactly once. With the settings that docs/internals/durability.md asks for.
 */
import t from 'tap';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { underLoad } from '../../helpers/cluster/under-load.ts';
import { LossyDisk, lossyDisksFail } from '../../helpers/stores/lossy-disk.ts';
import { canSyncAlways, silentLog } from '../../helpers/stores/nats-server.ts';
import type { NatsServer } from '../../helpers/stores/nats-server.ts';
import { ClusterLoad, acknowledgedAgain } from '../../helpers/cluster/load.ts';
import { delay, seeded } from '../../helpers/process/server.ts';
import { until } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 2;
const DEVICES = 3;
const CUTS = Number(process.env['MILLRACE_POWER_CUTS'] ?? 1);
const RANDOM_MS = 3_000;
const CAUGHT_UP_MS = 60_000;

t.setTimeout(300_000 + 60_000 * CUTS);

const skip = missing('nats-server', 'redis-server') || (await lossyDisksFail());

t.test('power cuts at random moments of mixed load', { skip }, async (t) => {
  const random = seeded(t);
  // What nats-server before 2.10 does not do by itself, the mount does.
  const isMountSynchronous = !canSyncAlways();
  const disks = {
    nats: new LossyDisk(t, isMountSynchronous ? { mountOptions: 'sync' } : {}),
    others: new LossyDisk(t),
  };
  t.comment(isMountSynchronous ? 'NATS on a disk that is mounted with sync' : 'NATS with sync_interval: always');
  const load = await ClusterLoad.start(
    t,
    NODES,
    { MILLRACE_ACCEPT_POWER_LOSS: 'no' },
    {
      appendfsync: 'always',
      within: { nats: disks.nats.path, others: disks.others.path },
      jetStream: isMountSynchronous ? '' : 'sync_interval: always',
    },
  );
  if (isMountSynchronous) {
    await until('the start warns of what NATS does by itself', () =>
      load.cluster.nodes[0].errors.includes('NATS may lose acknowledged messages in a power failure'),
    );
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

interface Copies {
  readonly name: string;
  readonly leader: string | undefined;
  readonly copies: readonly { current: boolean; offline?: boolean; lag?: number }[];
}

async function streamsOf({ manager }: NatsConnection): Promise<Copies[]> {
  const streams: Copies[] = [];
  for await (const {
    config: { name },
    cluster,
  } of manager.streams.list())
    streams.push({ name, leader: cluster?.leader, copies: cluster?.replicas ?? [] });
  return streams;
}

/** Resolves when every server has all of every stream. @returns the server that leads the journal. */
async function caughtUp(servers: readonly NatsServer[], connection: NatsConnection): Promise<NatsServer> {
  let streams: Copies[] = [];
  const leader = (): string => streams.find(({ name }) => name.endsWith('_JOURNAL'))?.leader ?? '';
  await until(
    'all copies are complete',
    async () => {
      // Without a leader there is no answer.
      streams = await streamsOf(connection).catch(() => []);
      return (
        leader() !== '' &&
        streams.every(
          ({ copies }) =>
            copies.length === 2 &&
            copies.every(({ current, offline = false, lag = 0 }) => current && !offline && lag === 0),
        )
      );
    },
    CAUGHT_UP_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(streams)}`);
  });
  return servers[Number(leader().slice(1))];
}

t.test(
  'three replicas that synchronise each second: power cuts of one server, then of the one that leads',
  { skip },
  async (t) => {
    const random = seeded(t);
    const isMountTimed = !canSyncAlways();
    // As sync_interval: 1s: the file system writes everything, data too, each second.
    const disks = [0, 1, 2].map(() => new LossyDisk(t, isMountTimed ? { mountOptions: 'commit=1,nodelalloc' } : {}));
    t.comment(isMountTimed ? 'NATS on disks that are written each second' : 'NATS with sync_interval: 1s');
    const load = await ClusterLoad.start(
      t,
      NODES,
      { MILLRACE_LEASE_TIME_MS: '10000', MILLRACE_ANSWER_TIMEOUT_MS: '5000' },
      { within: { nats: disks.map(({ path }) => path) }, jetStream: isMountTimed ? '' : 'sync_interval: 1s' },
    );
    const servers = load.cluster.natsServers;
    const connection = await NatsConnection.open(
      { servers: servers.map(({ url }) => url).join(), name: 'test' },
      { log: silentLog },
    );
    t.teardown(() => connection.close());
    await underLoad(t, load, { devices: DEVICES }, async (cluster, devices, t) => {
      for (const which of ['a follower', 'the leader']) {
        const leader = await caughtUp(servers, connection);
        const cut =
          which === 'the leader' ? leader : servers[(servers.indexOf(leader) + 1 + Math.floor(random() * 2)) % 3];
        await delay(random() * 1_000);
        const disk = disks[servers.indexOf(cut)];
        disk.powerCut();
        await cut.kill();
        const withoutMs = await acknowledgedAgain(devices);
        await disk.restore();
        const startMs = Date.now();
        await cluster.restart(cut, 0);
        await caughtUp(servers, connection);
        t.comment(
          `${which}: acknowledged ${withoutMs} ms later without it, complete ${Date.now() - startMs} ms after its start`,
        );
      }
    });
  },
);
