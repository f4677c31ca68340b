/**
 * Totals of large collections, kept for 10 s (docs/spec/paging.md#totals): counting them reads the keys of all that
 * match, and dashboards ask for them again and again. Those of small collections are counted each time, so that who
 * adds one sees it counted.
 */
/** Smaller totals are not kept. */
export const KEPT_FROM = 100_000;
export const KEPT_MS = 10_000;
const TOTALS_MAX = 1_000;

export class TotalCache {
  readonly #now: () => number;
  readonly #totalsMax: number;
  /** The one counted longest ago first. */
  readonly #known = new Map<string, { readonly total: number; readonly until: number }>();
  readonly #underWay = new Map<string, Promise<number>>();

  /** @param now ms since 1970. */
  constructor(now: () => number, totalsMax = TOTALS_MAX) {
    this.#now = now;
    this.#totalsMax = totalsMax;
  }

  get size(): number {
    return this.#known.size;
  }

  /** @param key names what is counted, the tenant and all conditions included. */
  async total(key: string, count: () => Promise<number>): Promise<number> {
    const known = this.#known.get(key);
    if (known !== undefined && this.#now() < known.until) return known.total;
    // Another caller's count may have begun before the caller's last change: it is taken for a large one only. Its
    // failure is its own.
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
    this.#known.delete(key);
    if (total < KEPT_FROM) return;
    if (this.#known.size >= this.#totalsMax) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, { total, until: this.#now() + KEPT_MS });
  }
}
