/**
 * Totals of large collections, kept for 10 s (docs/spec/paging.md#totals): counting them reads the keys of all that
 * match, and dashboards ask for them again and again. Small collections are counted each time, so that a client that
 * adds an entity sees it counted.
 */
import { LRUCache } from 'lru-cache';
import { upTo } from '../pacing/lru-bound.ts';

/** Smaller totals are not kept. */
export const KEPT_FROM = 100_000;
export const KEPT_MS = 10_000;
const TOTALS_MAX = 1_000;

export class TotalCache {
  readonly #now: () => number;
  readonly #known: LRUCache<string, { readonly total: number; readonly until: number }>;
  readonly #underWay = new Map<string, Promise<number>>();

  /** @param now ms since 1970. */
  constructor(now: () => number, totalsMax = TOTALS_MAX) {
    this.#now = now;
    this.#known = new LRUCache(upTo(totalsMax));
  }

  get size(): number {
    return this.#known.size;
  }

  /** @param key names what is counted, the tenant and all conditions included. */
  async total(key: string, count: () => Promise<number>): Promise<number> {
    const known = this.#known.get(key);
    if (known !== undefined && this.#now() < known.until) return known.total;
    // The count of another caller may have begun before this caller's last change: take only a large one. When it
    // fails, count again.
    const running = this.#underWay.get(key);
    if (running !== undefined) {
      const theirs = await running.catch(() => 0);
      if (theirs >= KEPT_FROM) return theirs;
    }
    const counting = count();
    this.#underWay.set(key, counting);
    try {
      const total = await counting;
      this.#keep(key, total);
      return total;
    } finally {
      if (this.#underWay.get(key) === counting) this.#underWay.delete(key);
    }
  }

  #keep(key: string, total: number): void {
    if (total < KEPT_FROM) this.#known.delete(key);
    else this.#known.set(key, { total, until: this.#now() + KEPT_MS });
  }
}
