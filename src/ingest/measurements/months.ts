/**
 * Months (UTC) of the times of measurements. The history store keeps each month in parts of its own, and writes and
 * synchronises a part for each month of an insert: the number of months bounds what an insert costs.
 */
const MONTHS_OF_YEAR = 12;

/** @param ms milliseconds since 1970. @returns a number that is the month's alone. */
export function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * MONTHS_OF_YEAR + date.getUTCMonth();
}

/** Distinct months of some times. */
export class Months {
  readonly #max: number;
  readonly #known = new Set<number>();
  /** The month that was seen last: nearly always that of the next time, too. */
  #startMs = Number.POSITIVE_INFINITY;
  #endMs = Number.NEGATIVE_INFINITY;

  /** @param max distinct months at which it is full. */
  constructor(max: number) {
    this.#max = max;
  }

  /** @param ms milliseconds since 1970, from 1900 to 2299. */
  add(ms: number): void {
    if (ms >= this.#startMs && ms < this.#endMs) return;
    const date = new Date(ms);
    const year = date.getUTCFullYear();
    const month = date.getUTCMonth();
    this.#startMs = Date.UTC(year, month, 1);
    this.#endMs = Date.UTC(year, month + 1, 1);
    this.#known.add(monthOf(ms));
  }

  get isFull(): boolean {
    return this.#known.size >= this.#max;
  }

  get count(): number {
    return this.#known.size;
  }

  clear(): void {
    this.#known.clear();
    this.#startMs = Number.POSITIVE_INFINITY;
    this.#endMs = Number.NEGATIVE_INFINITY;
  }
}
