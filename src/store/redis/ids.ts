/**
 * Ids from blocks that are reserved in Redis. Ids of different nodes interleave; each is given once, also when Redis
 * loses its last second: after every start of a Redis server the next block begins far behind what may have been
 * reserved and forgotten. Ids in order are reserved by the same script when they are needed, behind all blocks of all
 * nodes.
 */
import { shardOf, shardOfId } from '../../ingest/journal/command-record.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { IdSource } from '../../ports/id-source.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import { idBeside } from '../id-blocks.ts';
import { RedisScript, redisProblem } from './connection.ts';
import type { RedisConnection } from './connection.ts';

/** An id beside an actor uses up 64 of them: a block is enough for 65,000 events, and 2^53 for 2,000 million blocks. */
const BLOCK_SIZE = 4_194_304;
/**
 * The next block is reserved when this many are left: some seconds of the highest load, in which Redis may be started
 * anew.
 */
const RESERVE_AT = 2_097_152;
const FIRST_ID = 1_000;
/**
 * More than all nodes reserve in the time that a crash of Redis can undo: 4,096 blocks. 2^53 is enough for 500,000
 * starts.
 */
const SKIP_AFTER_START = 4_096 * BLOCK_SIZE;
const RETRY_MS = 200;
/**
 * Reserved for each id in order beside an actor: the next one of a shard is at most 144 ids away, as shards are spread
 * by the golden ratio.
 */
const BESIDE_RESERVED = 256;

/**
 * KEYS 1: hash `next` and `run`, the run of the server that reserved last. ARGV 1 size, 2 least first id, 3 skip.
 * Answers the first id. A server has a new run id after each start, and a replica that is promoted has its own.
 */
const RESERVE = new RedisScript(`
  local run = redis.call('INFO', 'server'):match('run_id:(%w+)')
  local stored = redis.call('HMGET', KEYS[1], 'next', 'run')
  local first = tonumber(stored[1] or '0')
  if stored[2] and stored[2] ~= run then first = first + tonumber(ARGV[3]) end
  if first < tonumber(ARGV[2]) then first = tonumber(ARGV[2]) end
  redis.call('HSET', KEYS[1], 'next', string.format('%.0f', first + tonumber(ARGV[1])), 'run', run)
  return string.format('%.0f', first)`);

export interface RedisIdsOptions {
  readonly connection: RedisConnection;
  readonly prefix: string;
  readonly log: Log;
  /** Every id is above this one: the largest that a store taken over has used. */
  readonly above?: number;
}

export class RedisIds implements IdSource {
  readonly #options: RedisIdsOptions;
  #next = 0;
  #end = 0;
  /** Behind the last ids that were given in order. */
  #orderedEnd = 0;
  /** The block behind the one in use. */
  #following: number | undefined;
  #isReserving = false;
  #isStopped = false;

  private constructor(options: RedisIdsOptions) {
    this.#options = options;
  }

  /** Reserves the first block; waits for Redis at most `timeoutMs`. @throws Error when it does not answer. */
  static async open(options: RedisIdsOptions, timeoutMs = 10_000): Promise<RedisIds> {
    const ids = new RedisIds(options);
    for (const end = performance.now() + timeoutMs; ; ) {
      try {
        ids.#next = await ids.#reserveBlock();
        ids.#end = ids.#next + BLOCK_SIZE;
        return ids;
      } catch (error) {
        if (performance.now() > end) throw new Error(`no block of ids could be reserved: ${redisProblem(error)}`);
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS / 4);
      });
    }
  }

  /** @throws Error when the reserved ids have ended while Redis was away. */
  next(): number {
    if (this.#end - this.#next < RESERVE_AT && this.#following === undefined && !this.#isReserving)
      void this.#reserve();
    if (this.#next >= this.#end) this.#useFollowing();
    const id = this.#next;
    this.#next += 1;
    return id;
  }

  peek(): number {
    if (this.#next >= this.#end) this.#useFollowing();
    return this.#next;
  }

  nextBeside(tenant: number, key: ActorKey): number {
    return idBeside(this, tenant, key);
  }

  async nextInOrder(): Promise<number> {
    return this.#reserveInOrder(1);
  }

  async nextBesideInOrder(tenant: number, keys: readonly ActorKey[]): Promise<number[]> {
    const found: number[] = [];
    while (found.length < keys.length) {
      const count = (keys.length - found.length) * BESIDE_RESERVED;
      const first = await this.#reserveInOrder(count);
      for (let id = first; id < first + count && found.length < keys.length; id += 1) {
        if (shardOfId(tenant, id) === shardOf(tenant, keys[found.length])) found.push(id);
      }
    }
    return found;
  }

  /** Ends the repetition of a reservation. */
  stop(): void {
    this.#isStopped = true;
  }

  #useFollowing(): void {
    if (this.#following === undefined) throw new Error('no reserved ids are left: Redis does not answer');
    this.#next = this.#following;
    this.#end = this.#next + BLOCK_SIZE;
    this.#following = undefined;
  }

  async #reserve(): Promise<void> {
    this.#isReserving = true;
    for (let isTold = false; !this.#isStopped; ) {
      try {
        this.#following = await this.#reserveBlock();
        break;
      } catch (error) {
        if (!isTold)
          this.#options.log.warn(
            { problem: redisProblem(error) },
            'no block of ids could be reserved in Redis; it is tried again',
          );
        isTold = true;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS).unref();
      });
    }
    this.#isReserving = false;
  }

  #reserveBlock(): Promise<number> {
    return this.#run(BLOCK_SIZE);
  }

  /** @throws PlatformError `general/documents-unavailable`; ids whose answer was lost stay unused. */
  async #reserveInOrder(count: number): Promise<number> {
    const first = await this.#run(count).catch((error: unknown) => {
      throw new PlatformError('general/documents-unavailable', { reason: redisProblem(error) });
    });
    this.#orderedEnd = Math.max(this.#orderedEnd, first + count);
    return first;
  }

  /**
   * What was reserved and whose answer was lost stays unused. Ids of this node grow even if Redis comes back with older
   * state.
   */
  async #run(count: number): Promise<number> {
    const { connection, prefix, above = 0 } = this.#options;
    const least = Math.max(FIRST_ID, above + 1, this.#end, this.#orderedEnd);
    const first = Number(
      await connection.run(RESERVE, [`${prefix}:ids`], [String(count), String(least), String(SKIP_AFTER_START)]),
    );
    if (!Number.isSafeInteger(first + count)) throw new Error(`the ids of Redis have reached ${first}`);
    return first;
  }
}
