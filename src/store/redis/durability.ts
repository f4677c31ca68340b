/**
 * Which commits Redis could not lose any more, found by watching INFO of every server that takes writes. An
 * acknowledged commit is in the memory of one server; when it reaches disk depends on the server's settings. Rules and
 * their proof: docs/internals/redis.md, "What is on disk".
 */
import type { Redis } from 'ioredis';
import type { Log } from '../../ports/log.ts';
import type { RedisConnection } from './connection.ts';
import { slotOf } from './keys.ts';

const INTERVAL_MS = 1_500;
/** With `appendfsync everysec`: written within 2 s even when the disk is slow, a sync begun within 1 s more. */
const EVERYSEC_AGE_MS = 3_200;
/** Between two looks that find no sync under way there was one for everything older, as far as one was needed. */
const LOOKS_APART_MS = 1_200;
/** With `appendfsync no` the kernel writes after 30 s and a little. */
const KERNEL_AGE_MS = 60_000;
/** INFO gives times of snapshots in whole seconds. */
const SNAPSHOT_MARGIN_MS = 2_000;

/** What INFO and CONFIG said. Times are of performance.now(). */
export interface DurabilityLook {
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly runId: string;
  /** How changes reach the disk: AOF by `appendfsync`, snapshots only, or not at all. */
  readonly mode: 'always' | 'everysec' | 'no' | 'snapshot' | 'none';
  /** CONFIG was refused: `mode` is the slower of the usual ones. */
  readonly isModeGuessed?: true;
  readonly isWriteOk: boolean;
  /** A sync is under way, or is held back by a rewrite. */
  readonly isSyncing: boolean;
  /** When the last good snapshot was begun; undefined when there is none. */
  readonly snapshotAt?: number;
  /** Bytes of replication sent, and the least that a connected replica has confirmed (undefined: there is none). */
  readonly offset: number;
  readonly replicaOffset?: number;
}

const LOSS = 'Redis may lose acknowledged commits when it loses power together with the nodes';
export const POWER_LOSS_REMEDY =
  'set appendonly yes and appendfsync always: when Redis and the nodes lose power together, older state loses follow-ups ' +
  'between devices and stores rows twice; --accept-power-loss yes accepts that';
const GUESSED_REMEDY =
  'permit the user CONFIG GET, or see to it where Redis is managed that it has appendonly yes and appendfsync always; ' +
  '--accept-power-loss yes accepts less';

/** What a server loses in a power failure of it and of all nodes, in words; undefined when it loses nothing. */
function powerLossOf({ mode, isModeGuessed }: DurabilityLook): string | undefined {
  if (mode === 'always') return undefined;
  if (mode === 'snapshot' || mode === 'none') return 'appendonly is off';
  return isModeGuessed === true
    ? 'appendonly is on; appendfsync is not known, since CONFIG GET is refused'
    : `appendfsync is ${mode}`;
}

interface NodeState {
  runId: string;
  idle: DurabilityLook | undefined;
  settledAt: number;
}

export class RedisDurability {
  readonly #connection: RedisConnection;
  readonly #log: Log;
  readonly #nodes = new Map<string, NodeState>();
  readonly #timer: NodeJS.Timeout;
  readonly #isLossAccepted: boolean;
  /** What a power failure takes, as it was said, by server. */
  readonly #saidLosses = new Map<string, string>();
  #isLooking = false;
  #isWarned = false;

  /**
   * @param options.intervalMs between looks; for tests. `isLossAccepted`: the operator accepts what a power failure
   * takes.
   */
  constructor(
    connection: RedisConnection,
    log: Log,
    options: { readonly intervalMs?: number; readonly isLossAccepted?: boolean } = {},
  ) {
    this.#connection = connection;
    this.#log = log;
    this.#isLossAccepted = options.isLossAccepted ?? false;
    this.#timer = setInterval(() => {
      void this.#lookAtAll();
    }, options.intervalMs ?? INTERVAL_MS);
    this.#timer.unref();
    void this.#lookAtAll();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Whatever the server of `key` acknowledged before this time (performance.now()) is safe; -Infinity while nothing is
   * known.
   */
  settledAt(key: string): number {
    const node = this.#connection.nodeOfSlot(slotOf(key));
    return (node === undefined ? undefined : this.#nodes.get(node)?.settledAt) ?? -Infinity;
  }

  async #lookAtAll(): Promise<void> {
    if (this.#isLooking || this.#connection.unavailable !== undefined) return;
    this.#isLooking = true;
    try {
      await Promise.all(
        [...this.#connection.masters()].map(async ([name, node]) => {
          const look = await lookAt(node);
          this.#nodes.set(name, judgeLook(this.#nodes.get(name), look));
          this.#sayLoss(name, look);
          if (look.mode !== 'none' || this.#isWarned) return;
          this.#isWarned = true;
          this.#log.warn(
            { node: name },
            'Redis has written nothing to disk since its start: the journal is not trimmed; set appendonly yes',
          );
        }),
      );
    } catch (error) {
      this.#log.debug({ error: (error as Error).message }, 'Redis was not asked what is on its disk');
    } finally {
      this.#isLooking = false;
    }
  }

  /** Once, and again when it has changed: another server may have taken over, with settings of its own. */
  #sayLoss(node: string, look: DurabilityLook): void {
    const fact = powerLossOf(look);
    if (fact === this.#saidLosses.get(node)) return;
    if (fact === undefined) {
      this.#saidLosses.delete(node);
      return;
    }
    this.#saidLosses.set(node, fact);
    if (this.#isLossAccepted) this.#log.info({ node, fact }, `${LOSS}, which --accept-power-loss accepts`);
    else this.#log.warn({ node, fact, remedy: look.isModeGuessed === true ? GUESSED_REMEDY : POWER_LOSS_REMEDY }, LOSS);
  }
}

/** What is known about a server after one more look. */
export function judgeLook(before: NodeState | undefined, look: DurabilityLook): NodeState {
  const state: NodeState =
    before !== undefined && before.runId === look.runId
      ? { ...before }
      : { runId: look.runId, idle: undefined, settledAt: -Infinity };
  if (!look.isWriteOk) return { ...state, idle: undefined };
  if (look.isSyncing) return state;
  const { idle } = state;
  if (idle === undefined) return { ...state, idle: look };
  if (look.sentAt - idle.receivedAt < LOOKS_APART_MS) return state;
  // What the master had sent at the earlier look has reached every replica by now.
  if (look.replicaOffset !== undefined && look.replicaOffset < idle.offset) return state;
  const settledAt = ((): number => {
    switch (look.mode) {
      case 'always':
        return idle.sentAt;
      case 'everysec':
        return idle.sentAt - EVERYSEC_AGE_MS;
      case 'no':
        return idle.sentAt - KERNEL_AGE_MS;
      case 'snapshot':
        return Math.min(idle.sentAt, (look.snapshotAt ?? -Infinity) - SNAPSHOT_MARGIN_MS);
      default:
        return -Infinity;
    }
  })();
  return { runId: look.runId, idle: look, settledAt: Math.max(state.settledAt, settledAt) };
}

async function lookAt(node: Redis): Promise<DurabilityLook> {
  const sentAt = performance.now();
  const [text, config] = await Promise.all([
    node.info(),
    // Managed servers refuse CONFIG: then the slower of the usual settings is taken.
    (node.call('CONFIG', ['GET', '*append*fsync*']) as Promise<string[]>).catch(() => [] as string[]),
  ]);
  return readLook(text, config, { sentAt, receivedAt: performance.now() });
}

/** @param config names and values in turn, empty when they are not known. */
export function readLook(
  text: string,
  config: readonly string[],
  times: { readonly sentAt: number; readonly receivedAt: number },
): DurabilityLook {
  const info = new Map(
    text
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
  const setting = (name: string): string | undefined => config[config.indexOf(name) + 1 || config.length];
  const isAof = info.get('aof_enabled') === '1';
  const appendfsync = setting('appendfsync');
  const saved = Number(info.get('rdb_last_save_time') ?? 0);
  const serverNow = Number(info.get('server_time_usec') ?? 0) / 1_000;
  // Before the first snapshot of its life the server gives the time of its start.
  const hasSnapshot =
    info.get('rdb_last_bgsave_status') === 'ok' && Number(info.get('rdb_last_bgsave_time_sec') ?? -1) >= 0;
  const began = saved * 1_000 - Number(info.get('rdb_last_bgsave_time_sec')) * 1_000;
  const replicas = [...info]
    .filter(([name]) => /^slave\d+$/.test(name))
    .map(([, value]) => Number(/offset=(\d+)/.exec(value)?.[1] ?? 0));
  return {
    ...times,
    runId: info.get('run_id') ?? '',
    mode: isAof
      ? appendfsync === 'always' || appendfsync === 'no'
        ? appendfsync
        : 'everysec'
      : hasSnapshot
        ? 'snapshot'
        : 'none',
    ...(isAof && appendfsync === undefined ? { isModeGuessed: true } : {}),
    isWriteOk: isAof ? info.get('aof_last_write_status') === 'ok' : info.get('rdb_last_bgsave_status') === 'ok',
    isSyncing:
      isAof &&
      (Number(info.get('aof_pending_bio_fsync') ?? 0) > 0 ||
        (info.get('aof_rewrite_in_progress') === '1' && setting('no-appendfsync-on-rewrite') !== 'no')),
    ...(hasSnapshot && serverNow > 0 ? { snapshotAt: times.sentAt + began - serverNow } : {}),
    offset: Number(info.get('master_repl_offset') ?? 0),
    ...(replicas.length === 0 ? {} : { replicaOffset: Math.min(...replicas) }),
  };
}
