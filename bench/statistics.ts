/** Median, spread and percentiles of the load suite. Pure. */

/** @returns the middle value; NaN for no values. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** @returns (largest - smallest) / median: how far the rounds lie apart. */
export function spread(values: readonly number[]): number {
  const middle = median(values);
  if (values.length < 2 || middle === 0) return 0;
  return (Math.max(...values) - Math.min(...values)) / middle;
}

/** Below this many microseconds each value has its own bucket. */
const LINEAR_LIMIT = 64;
/** Buckets of each doubling above: a value is known to 1/32, about 3 %. */
const BUCKETS_PER_DOUBLING = 32;
const BUCKET_COUNT = LINEAR_LIMIT + BUCKETS_PER_DOUBLING * 26;

/** Counts durations in microseconds (up to 2^31) without an allocation per value. */
export class Histogram {
  private readonly buckets = new Uint32Array(BUCKET_COUNT);
  count = 0;
  maximumMicros = 0;

  add(micros: number): void {
    const value = micros < 0 ? 0 : micros | 0;
    this.buckets[bucketOf(value)]!++;
    this.count++;
    if (value > this.maximumMicros) this.maximumMicros = value;
  }

  /** @param share 0 to 1. @returns the upper edge of the bucket that holds it, in milliseconds; NaN when empty. */
  percentileMs(share: number): number {
    if (this.count === 0) return Number.NaN;
    const wanted = Math.max(1, Math.ceil(this.count * share));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      seen += this.buckets[bucket]!;
      if (seen >= wanted) return Math.min(upperEdge(bucket), this.maximumMicros) / 1000;
    }
    return this.maximumMicros / 1000;
  }

  /** @returns the numbers that travel to the report. */
  summary(): LatencySummary {
    return {
      count: this.count,
      p50Ms: this.percentileMs(0.5),
      p99Ms: this.percentileMs(0.99),
      maximumMs: this.maximumMicros / 1000,
    };
  }
}

export interface LatencySummary {
  count: number;
  p50Ms: number;
  p99Ms: number;
  maximumMs: number;
}

function bucketOf(value: number): number {
  if (value < LINEAR_LIMIT) return value;
  const exponent = 31 - Math.clz32(value);
  return (
    LINEAR_LIMIT + (exponent - 6) * BUCKETS_PER_DOUBLING + ((value >>> (exponent - 5)) & (BUCKETS_PER_DOUBLING - 1))
  );
}

function upperEdge(bucket: number): number {
  if (bucket < LINEAR_LIMIT) return bucket;
  const exponent = 6 + Math.floor((bucket - LINEAR_LIMIT) / BUCKETS_PER_DOUBLING);
  const step = (bucket - LINEAR_LIMIT) % BUCKETS_PER_DOUBLING;
  return 2 ** exponent + (step + 1) * 2 ** (exponent - 5);
}
