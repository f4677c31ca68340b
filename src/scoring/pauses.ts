/** Models whose tasks run out of time again and again: they pause, so that they do not hold the threads for ever. */
import { LRUCache } from 'lru-cache';
import { upTo } from '../pacing/lru-bound.ts';

/** Tasks of a model that ran out of time within `WITHIN_MS`; then it pauses for as long. */
export const LATE_TASKS_MAX = 3;
const WITHIN_MS = 3_600_000;
/** Models that are remembered. */
const MODELS_MAX = 10_000;

export class Pauses {
  /** When the tasks ran out of time, ms since 1970. */
  readonly #late = new LRUCache<string, readonly number[]>(upTo(MODELS_MAX));
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A task of the model ran out of time. @param key of the model since its activation */
  add(key: string): void {
    const now = this.#now();
    const former = (this.#late.get(key) ?? []).filter((at) => at > now - WITHIN_MS);
    this.#late.set(key, [...former, now].slice(-LATE_TASKS_MAX));
  }

  /** @returns when its pause ends, ms since 1970; undefined: it does not pause */
  untilOf(key: string): number | undefined {
    const late = this.#late.get(key) ?? [];
    const [first = 0] = late;
    const last = late.at(-1) ?? 0;
    if (late.length < LATE_TASKS_MAX || last - first >= WITHIN_MS) return undefined;
    return last + WITHIN_MS > this.#now() ? last + WITHIN_MS : undefined;
  }
}
