/** Repeatable randomness: tests print the seed, MILLRACE_TEST_SEED runs one again. */
export class Random {
  readonly seed: number;
  private state: number;

  constructor(seed = Number(process.env.MILLRACE_TEST_SEED ?? Date.now() % 1_000_000_007)) {
    this.seed = seed;
    this.state = seed | 0;
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }
}
