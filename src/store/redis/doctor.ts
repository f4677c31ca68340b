/** Checks of Redis for `millrace doctor`: what is found on each server, and how to mend it. */
import type { Redis } from 'ioredis';
import type { Finding } from '../../ports/finding.ts';
import type { Log } from '../../ports/log.ts';
import { RedisConnection, redisProblem } from './connection.ts';
import { checkRedisRights } from './doctor-rights.ts';
import { POWER_LOSS_REMEDY } from './durability.ts';
import { describeRedisTarget } from '../../config/redis.ts';
import type { RedisTarget } from '../../config/redis.ts';
import { TLS_REMEDY } from '../../config/tls-files.ts';

const VERSION_MIN = [6, 2] as const;
const CLOCK_DIFFERENCE_MAX_MS = 5_000;
/** A script waits for one round trip, a commit of a shard for one script. */
const ROUND_TRIP_SLOW_MS = 20;
const ROUND_TRIPS = 5;
const NAME = 'redis';
/** What is found is said, not logged. */
const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => NO_LOG };

/** `isLossAccepted`: the operator accepts what a power failure takes. */
export interface RedisDoctorOptions {
  readonly prefix: string;
  readonly timeoutMs?: number;
  readonly isLossAccepted?: boolean;
}

/**
 * Connects, looks, tries what the user may do, and disconnects. Keys of its own begin with `doctor-` behind their tag,
 * and are removed.
 */
export async function checkRedis(target: RedisTarget, options: RedisDoctorOptions): Promise<Finding[]> {
  const { prefix, timeoutMs = 5_000, isLossAccepted = false } = options;
  const connection = new RedisConnection({ target, log: NO_LOG, name: 'millrace-doctor', commandTimeoutMs: timeoutMs });
  try {
    await connection.ready(timeoutMs);
  } catch (error) {
    connection.close();
    return [
      { state: 'fail', name: NAME, fact: (error as Error).message, remedy: connectRemedy((error as Error).message) },
    ];
  }
  try {
    const findings: Finding[] = [{ state: 'ok', name: NAME, fact: `${describeRedisTarget(target)} answers` }];
    for (const [node, client] of connection.masters())
      findings.push(...(await checkServer(node, client, isLossAccepted)));
    findings.push(...(await checkRedisRights(connection, prefix)));
    return findings;
  } catch (error) {
    return [{ state: 'fail', name: NAME, fact: redisProblem(error), remedy: 'see the log of Redis' }];
  } finally {
    connection.close();
  }
}

function connectRemedy(problem: string): string {
  if (problem.includes('NOPERM')) return 'permit the user what docs/internals/redis.md lists';
  return /certificate|self.signed|altname|ssl|tls:/i.test(problem)
    ? `check rediss:// and ${TLS_REMEDY}`
    : 'start Redis, or set --redis to where it is (with user, password and rediss:// if it wants them)';
}

async function checkServer(node: string, client: Redis, isLossAccepted: boolean): Promise<Finding[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUND_TRIPS; round += 1) {
    const began = performance.now();
    await unlessRefused(client.ping());
    times.push(performance.now() - began);
  }
  const roundTripMs = Math.min(...times);
  const text = await unlessRefused(client.info());
  // Named with the other commands that are not permitted.
  if (text === undefined) return [];
  const info = readInfo(text);
  return [
    checkVersion(node, info),
    checkEviction(node, info),
    checkPersistence(node, info, {
      appendfsync: await setting(client, 'appendfsync'),
      save: await setting(client, 'save'),
      isLossAccepted,
    }),
    checkClock(node, Number(info.get('server_time_usec')) / 1_000 - Date.now()),
    {
      state: roundTripMs > ROUND_TRIP_SLOW_MS ? 'warn' : 'ok',
      name: NAME,
      fact: `${node} answers in ${roundTripMs.toFixed(1)} ms`,
      remedy: 'run Redis nearer to the nodes: every commit of a shard waits for it',
    },
  ];
}

/** Undefined where the user may not use the command. @throws what else is wrong. */
async function unlessRefused(answer: Promise<string>): Promise<string | undefined> {
  try {
    return await answer;
  } catch (error) {
    if ((error as Error).message.startsWith('NOPERM')) return undefined;
    throw error;
  }
}

function checkVersion(node: string, info: ReadonlyMap<string, string>): Finding {
  const version = info.get('redis_version') ?? 'unknown';
  const parts = version.split('.').map(Number);
  const isNew = parts[0] > VERSION_MIN[0] || (parts[0] === VERSION_MIN[0] && parts[1] >= VERSION_MIN[1]);
  return {
    state: isNew ? 'ok' : 'fail',
    name: NAME,
    fact: `${node} has version ${version}`,
    remedy: `install Redis ${VERSION_MIN.join('.')} or newer`,
  };
}

function checkEviction(node: string, info: ReadonlyMap<string, string>): Finding {
  const policy = info.get('maxmemory_policy');
  const isSafe = policy === 'noeviction';
  const limit =
    info.get('maxmemory') === '0' ? 'no limit of memory' : `a limit of ${info.get('maxmemory_human') ?? ''}`;
  return {
    state: isSafe ? 'ok' : 'fail',
    name: NAME,
    fact: `${node} has ${limit} and maxmemory-policy ${policy ?? 'unknown'}`,
    remedy: 'set maxmemory-policy noeviction: any other throws documents of devices away when memory is short',
  };
}

interface Persistence {
  readonly appendfsync: string | undefined;
  readonly save: string | undefined;
  readonly isLossAccepted: boolean;
}

function checkPersistence(
  node: string,
  info: ReadonlyMap<string, string>,
  { appendfsync, save, isLossAccepted }: Persistence,
): Finding {
  const remedy = 'set appendonly yes and appendfsync always';
  if (info.get('aof_enabled') === '1') {
    if (info.get('aof_last_write_status') !== 'ok') {
      return {
        state: 'fail',
        name: NAME,
        fact: `${node} cannot write its AOF`,
        remedy: 'see its log and its disk: it refuses writes until it can',
      };
    }
    const fact = `${node} has appendonly on, appendfsync ${appendfsync ?? 'unknown'}`;
    if (appendfsync === 'always') return { state: 'ok', name: NAME, fact };
    return {
      state: isLossAccepted || appendfsync === undefined ? 'warn' : 'fail',
      name: NAME,
      fact,
      remedy: POWER_LOSS_REMEDY,
    };
  }
  if (save === '') {
    return {
      state: 'fail',
      name: NAME,
      fact: `${node} writes nothing to disk: after its restart all state is gone, and the journal is never trimmed`,
      remedy,
    };
  }
  return {
    state: isLossAccepted ? 'warn' : 'fail',
    name: NAME,
    remedy: POWER_LOSS_REMEDY,
    fact: `${node} has appendonly off: after its crash everything since its last snapshot is replayed from the journal, which is kept that long`,
  };
}

function checkClock(node: string, differenceMs: number): Finding {
  if (Number.isNaN(differenceMs)) return { state: 'ok', name: NAME, fact: `${node} does not tell its time` };
  const isNear = Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MAX_MS;
  return {
    state: isNear ? 'ok' : 'warn',
    name: NAME,
    fact: `the clock of ${node} differs by ${(differenceMs / 1_000).toFixed(1)} s`,
    remedy: 'synchronise the clocks (NTP): times in logs do not fit together',
  };
}

const readInfo = (text: string): Map<string, string> =>
  new Map(
    text
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );

/** Undefined where CONFIG is not permitted. */
async function setting(client: Redis, name: string): Promise<string | undefined> {
  try {
    return ((await client.call('CONFIG', ['GET', name])) as string[])[1];
  } catch {
    // Managed servers refuse it.
    return undefined;
  }
}
