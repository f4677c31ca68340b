/** What a node of a cluster opens: its connections to NATS, Redis and ClickHouse, and the adapters over them. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../ports/log.ts';
import { ClickHouse } from '../../store/clickhouse/adapter.ts';
import { ClickHouseHistoryWriter } from '../../store/clickhouse/writer.ts';
import { NatsBlobs } from '../../store/nats/blobs.ts';
import { NatsConnection } from '../../store/nats/connection.ts';
import { findNatsDurability } from '../../store/nats/durability.ts';
import { JOURNAL_SPARE_BYTES, NatsJournal } from '../../store/nats/journal.ts';
import { NatsLeases } from '../../store/nats/leases.ts';
import { NatsNodeMessages } from '../../store/nats/node-messages.ts';
import { NatsFilesRoom } from '../../store/nats/room.ts';
import { QuarantineFile } from '../../store/files/quarantine.ts';
import { RedisConnection } from '../../store/redis/connection.ts';
import { RedisDurability } from '../../store/redis/durability.ts';
import { RedisIds } from '../../store/redis/ids.ts';
import { readRedisTarget } from '../../config/redis.ts';
import { tlsFilesOf } from '../../config/tls-files.ts';
import { ClusterDisks } from './cluster-disks.ts';
import { rolesOf } from './node-roles.ts';

const QUARANTINE_FILE = 'quarantine.jsonl';
/** Each of the three servers has to answer within this time at the start. */
const START_TIMEOUT_MS = 30_000;
/** Reads and claims of gateways fail after this time: the client is told to come again. */
const GATEWAY_TIMEOUT_MS = 2_000;
export type ClusterConfig = Config & { readonly nats: string; readonly redis: string; readonly clickhouse: string };

/** What has been opened, to be closed again in the other order. */
export class Opened {
  readonly #closers: (() => unknown)[] = [];

  add<Part>(part: Part, close: (part: Part) => unknown): Part {
    this.#closers.push(() => close(part));
    return part;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

export interface Adapters {
  readonly nats: NatsConnection;
  readonly owners: RedisConnection;
  readonly gateways: RedisConnection;
  readonly journal: NatsJournal;
  readonly leases: NatsLeases;
  readonly messages: NatsNodeMessages;
  readonly durability: RedisDurability;
  readonly clickHouse: ClickHouse;
  /** The same server, only to be asked whether it answers. */
  readonly clickHouseProbe: ClickHouse;
  readonly writer: ClickHouseHistoryWriter;
  readonly ids: RedisIds;
  readonly disks: ClusterDisks;
  readonly blobs: NatsBlobs;
  readonly filesRoom: NatsFilesRoom;
  readonly quarantine: QuarantineFile;
  readonly opened: Opened;
}

export async function openAdapters(config: ClusterConfig, data: string, log: Log, opened: Opened): Promise<Adapters> {
  const prefix = config.clusterPrefix;
  const name = (config.nodeName ?? hostname()).replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 63);
  // Unique for each start: what an earlier process of this node still had under way belongs to another node then.
  const nodeId = `${name}-${randomBytes(4).toString('hex')}`;
  const replicas = config.natsReplicas;
  const roles = rolesOf(config);
  const tls = tlsFilesOf(config);
  const nats = opened.add(
    await NatsConnection.open(
      {
        servers: config.nats,
        name: nodeId,
        ...(config.natsCredentials === undefined ? {} : { credentialsFile: config.natsCredentials }),
        ...tls,
      },
      { log, timeoutMs: START_TIMEOUT_MS },
    ),
    (connection) => connection.close(),
  );
  watchNatsDurability(config, nats, log);
  const target = readRedisTarget(config.redis, tls);
  const owners = opened.add(new RedisConnection({ target, log, name: `${nodeId}-owners` }), (connection) =>
    connection.close(),
  );
  const gateways = opened.add(
    new RedisConnection({
      target,
      log,
      name: `${nodeId}-gateways`,
      autoPipelining: true,
      commandTimeoutMs: GATEWAY_TIMEOUT_MS,
    }),
    (connection) => connection.close(),
  );
  await Promise.all([owners.ready(START_TIMEOUT_MS), gateways.ready(START_TIMEOUT_MS)]);
  const clickHouse = opened.add(await openClickHouse(config, log), (client) => client.close());
  const clickHouseProbe = opened.add(
    new ClickHouse({ url: config.clickhouse, log, tls, connectionsMax: 1, requestTimeoutMs: config.leaseTimeMs }),
    (client) => client.close(),
  );
  const messages = opened.add(new NatsNodeMessages({ connection: nats, prefix, nodeId, log }), (all) => all.close());
  const journal = opened.add(
    await NatsJournal.open({
      connection: nats,
      prefix,
      nodeId,
      replicas,
      maxBytes: config.journalMaxBytes + JOURNAL_SPARE_BYTES,
      log,
    }),
    (all) => all.close(),
  );
  const leases = await NatsLeases.open({
    connection: nats,
    prefix,
    nodeId,
    roles,
    replicas,
    log,
    leaseMs: config.leaseTimeMs,
  });
  const durability = opened.add(
    new RedisDurability(owners, log, { isLossAccepted: config.acceptPowerLoss === 'yes' }),
    (all) => all.stop(),
  );
  const ids = opened.add(await RedisIds.open({ connection: gateways, prefix, log }), (all) => all.stop());
  const writer = new ClickHouseHistoryWriter(clickHouse);
  const disks = new ClusterDisks({
    data,
    freeBytesMin: config.diskFreeMinBytes,
    warnBytes: config.diskFreeWarnBytes,
    historyFreeBytes: () => writer.freeBytes(),
    log,
  });
  const blobs = await NatsBlobs.open({ connection: nats, prefix, replicas, refusal: () => disks.refusal });
  const filesRoom = await NatsFilesRoom.open({
    connection: nats,
    servers: config.nats,
    monitors: config.natsMonitor,
    replicas,
    log,
    journalBytesMax: config.journalMaxBytes + JOURNAL_SPARE_BYTES,
    journalBytes: () => journal.sizeBytes,
    unknownBytesMax: config.tenantFilesMaxBytes > 0 ? Number.POSITIVE_INFINITY : config.journalMaxBytes,
    filesBytes: () => blobs.bytes(),
  });
  const quarantine = await QuarantineFile.open(join(data, QUARANTINE_FILE));
  return {
    nats,
    owners,
    gateways,
    journal,
    leases,
    messages,
    durability,
    clickHouse,
    clickHouseProbe,
    writer,
    ids,
    disks,
    blobs,
    filesRoom,
    quarantine,
    opened,
  };
}

/** Makes the database when it is missing. */
async function openClickHouse(config: ClusterConfig, log: Log): Promise<ClickHouse> {
  const database = config.clickhouseDatabase;
  const server = { url: config.clickhouse, log, tls: tlsFilesOf(config) };
  const first = new ClickHouse(server);
  try {
    for (const end = performance.now() + START_TIMEOUT_MS; ; ) {
      try {
        await first.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
        break;
      } catch (error) {
        if (performance.now() > end)
          throw new Error(`ClickHouse (--clickhouse) does not answer: ${(error as Error).message}`);
        await new Promise((resolveWait) => {
          setTimeout(resolveWait, 500);
        });
      }
    }
  } finally {
    await first.close();
  }
  return new ClickHouse({ ...server, database });
}

/**
 * Says what `millrace doctor` says, at the start and when it is another loss after NATS was away. Neither waits for it.
 */
function watchNatsDurability(config: ClusterConfig, connection: NatsConnection, log: Log): void {
  const { nats: servers, natsMonitor: monitors, natsReplicas: replicas } = config;
  const isAccepted = config.acceptPowerLoss === 'yes';
  const message = 'NATS may lose acknowledged messages in a power failure';
  let said: string | undefined;
  const look = async (): Promise<void> => {
    const { version } = connection.core.info!;
    const {
      state,
      fact,
      remedy,
      isUnknown = false,
    } = await findNatsDurability({ servers, monitors, version, replicas, isAccepted });
    // A server that is away for now tells nothing: that is not another loss.
    if (fact === said || (isUnknown && said !== undefined)) return;
    said = fact;
    if (state === 'ok') return;
    if (isAccepted) log.info({ fact }, `${message}, which --accept-power-loss accepts`);
    else log.warn({ fact, remedy }, message);
  };
  void look();
  connection.onReconnected(() => void look());
}
