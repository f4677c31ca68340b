/**
 * Sees shards that commands wait for in vain: without an owner, or of this node and not in service. Each take-over is
 * that for a moment; one that lasts is a fault, which devices of other shards do not notice.
 */
import { SHARD_COUNT } from '../../ingest/journal/command-record.ts';
import type { Log } from '../../ports/log.ts';

/** Longer than a lease and a take-over. */
const UNSERVED_MS = 30_000;

export class ServiceWatch {
  readonly #isServed: (shard: number) => boolean;
  readonly #log: Log;
  /** When each was first seen so. */
  readonly #since = new Map<number, number>();
  #unserved: readonly number[] = [];

  /** @param isServed false for a shard that this node does not serve though it is its own, or that has no owner. */
  constructor(isServed: (shard: number) => boolean, log: Log) {
    this.#isServed = isServed;
    this.#log = log;
  }

  /** Shards that were not served for 30 s. */
  get unserved(): readonly number[] {
    return this.#unserved;
  }

  /** To be called about each second. @param now monotonic, ms. */
  look(now: number): void {
    for (let shard = 0; shard < SHARD_COUNT; shard += 1) {
      if (this.#isServed(shard)) this.#since.delete(shard);
      else if (!this.#since.has(shard)) this.#since.set(shard, now);
    }
    const before = this.#unserved;
    this.#unserved = [...this.#since].filter(([, since]) => now - since >= UNSERVED_MS).map(([shard]) => shard);
    if (this.#unserved.some((shard) => !before.includes(shard)))
      this.#log.error({ shards: this.#unserved }, 'commands to these shards are not handled');
    else if (before.length > 0 && this.#unserved.length === 0)
      this.#log.info({ shards: before }, 'every shard is served again');
  }
}
