/** Checks of the servers that a node of a cluster needs, all at the same time: NATS, Redis, ClickHouse. */
import type { Config } from '../../config/config.ts';
import type { Finding } from '../../ports/finding.ts';
import type { Log } from '../../ports/log.ts';
import { checkClickHouse } from '../../store/clickhouse/doctor.ts';
import { checkNats } from '../../store/nats/doctor.ts';
import { JOURNAL_SPARE_BYTES } from '../../store/nats/journal.ts';
import { checkRedis } from '../../store/redis/doctor.ts';
import { readRedisTarget } from '../../config/redis.ts';
import { tlsFilesOf } from '../../config/tls-files.ts';

/** Each of the checks has limits of its own, which together are below this one. */
const TIME_LIMIT_MS = 30_000;
/** What is found is said, not logged. */
const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => NO_LOG };

/** @returns what was found; empty without settings of a cluster or a ClickHouse server. */
export async function clusterFindings(config: Config, timeLimitMs = TIME_LIMIT_MS): Promise<Finding[]> {
  const { nats, redis, clickhouse, natsCredentials } = config;
  const tls = tlsFilesOf(config);
  const checks: Promise<Finding[]>[] = [];
  if (nats !== undefined) {
    const settings = {
      servers: nats,
      name: 'millrace-doctor',
      ...(natsCredentials === undefined ? {} : { credentialsFile: natsCredentials }),
      ...tls,
    };
    const wanted = {
      prefix: config.clusterPrefix,
      replicas: config.natsReplicas,
      journalMaxBytes: config.journalMaxBytes + JOURNAL_SPARE_BYTES,
      tenantFilesMaxBytes: config.tenantFilesMaxBytes,
      monitors: config.natsMonitor,
      isLossAccepted: config.acceptPowerLoss === 'yes',
    };
    checks.push(limited('NATS', timeLimitMs, () => checkNats(settings, wanted, NO_LOG)));
  }
  if (redis !== undefined) {
    const options = { prefix: config.clusterPrefix, isLossAccepted: config.acceptPowerLoss === 'yes' };
    checks.push(limited('redis', timeLimitMs, () => checkRedis(readRedisTarget(redis, tls), options)));
  }
  if (clickhouse !== undefined) {
    checks.push(
      limited('ClickHouse', timeLimitMs, () =>
        checkClickHouse({ url: clickhouse, database: config.clickhouseDatabase, tls }),
      ),
    );
  }
  return (await Promise.all(checks)).flat();
}

/** A check that neither ends nor fails is a finding too, and so is one that fails otherwise than it should. */
async function limited(name: string, timeLimitMs: number, check: () => Promise<Finding[]>): Promise<Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding[]>((resolve) => {
    timer = setTimeout(
      () =>
        resolve([
          {
            state: 'fail',
            name,
            fact: `not done after ${timeLimitMs / 1_000} s`,
            remedy: 'it takes connections and does not answer: see its log, its load and its disk',
          },
        ]),
      timeLimitMs,
    );
  });
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return [
      { state: 'fail', name, fact: (error as Error).message, remedy: `correct the setting --${name.toLowerCase()}` },
    ];
  } finally {
    clearTimeout(timer);
  }
}
