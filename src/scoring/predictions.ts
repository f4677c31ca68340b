/** What models have predicted on this node since they were activated (docs/spec/scoring.md#metrics). */
import { LRUCache } from 'lru-cache';
import { upTo } from '../pacing/lru-bound.ts';
import type { PredictionCounts } from '../scoring-workers/protocol.ts';

/** Models whose predictions are remembered. */
const MODELS_MAX = 10_000;
/** Classes of a model that are counted by name; further ones are counted together. */
const CLASSES_MAX = 1_000;
const OTHER_CLASSES = 'others';
/** Predicted numbers of a model that are kept: up to this many the quartiles are exact, then those of a sample. */
const SAMPLE_MAX = 10_000;

/** A summary of predicted numbers. */
export interface NumberSummary {
  readonly count: number;
  readonly minimum: number;
  readonly firstQuartile: number;
  readonly median: number;
  readonly thirdQuartile: number;
  readonly maximum: number;
}

export interface PredictionSummary {
  readonly classes: ReadonlyMap<string, number>;
  readonly numbers: NumberSummary | undefined;
}

class OfModel {
  readonly classes = new Map<string, number>();
  readonly #sample: number[] = [];
  #count = 0;
  #minimum = Number.POSITIVE_INFINITY;
  #maximum = Number.NEGATIVE_INFINITY;

  add({ classes, numbers }: PredictionCounts, random: () => number): void {
    for (const [name, count] of classes) {
      const isCounted = this.classes.has(name) || this.classes.size < CLASSES_MAX;
      const counted = isCounted ? name : OTHER_CLASSES;
      this.classes.set(counted, (this.classes.get(counted) ?? 0) + count);
    }
    for (const number of numbers) this.#addNumber(number, random);
  }

  /** Every number has the same chance to be in the sample. */
  #addNumber(number: number, random: () => number): void {
    this.#count += 1;
    this.#minimum = Math.min(this.#minimum, number);
    this.#maximum = Math.max(this.#maximum, number);
    if (this.#sample.length < SAMPLE_MAX) this.#sample.push(number);
    else {
      const place = Math.floor(random() * this.#count);
      if (place < SAMPLE_MAX) this.#sample[place] = number;
    }
  }

  get numbers(): NumberSummary | undefined {
    if (this.#count === 0) return undefined;
    const sorted = Float64Array.from(this.#sample).sort();
    return {
      count: this.#count,
      minimum: this.#minimum,
      firstQuartile: quantile(sorted, 0.25),
      median: quantile(sorted, 0.5),
      thirdQuartile: quantile(sorted, 0.75),
      maximum: this.#maximum,
    };
  }
}

/** Between the two nearest values, as most programs for statistics do. */
function quantile(sorted: Float64Array, part: number): number {
  const place = (sorted.length - 1) * part;
  const below = Math.floor(place);
  const lower = sorted[below];
  const upper = sorted[Math.min(below + 1, sorted.length - 1)];
  return lower === upper ? lower : lower + (upper - lower) * (place - below);
}

export class Predictions {
  readonly #models = new LRUCache<string, OfModel>(upTo(MODELS_MAX));
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** @param key of the model: tenant and version. */
  add(key: string, counts: PredictionCounts): void {
    if (counts.classes.length === 0 && counts.numbers.length === 0) return;
    let model = this.#models.get(key);
    if (model === undefined) this.#models.set(key, (model = new OfModel()));
    model.add(counts, this.#random);
  }

  /** Undefined: nothing was predicted. */
  of(key: string): PredictionSummary | undefined {
    const model = this.#models.get(key);
    return model === undefined ? undefined : { classes: model.classes, numbers: model.numbers };
  }

  forget(key: string): void {
    this.#models.delete(key);
  }
}
