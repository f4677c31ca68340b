/**
 * A histogram of latencies with a fixed size: 32 buckets for each power of two, so at most 3 % off, up to about an
 * hour.
 */
const SUB_BUCKETS_LOG2 = 5;
const SUB_BUCKETS = 1 << SUB_BUCKETS_LOG2;
const MICROSECONDS_MAX = 2 ** 32 - 1;
const BUCKETS = (32 - SUB_BUCKETS_LOG2 + 1) * SUB_BUCKETS;

export class Histogram {
  count = 0;
  private readonly buckets = new Uint32Array(BUCKETS);

  /** @param microseconds beyond the range counts as its end. */
  add(microseconds: number): void {
    this.buckets[bucketOf(microseconds)] += 1;
    this.count += 1;
  }

  /** Upper bound of the bucket that holds the share (0 to 1) of all values, in microseconds; 0 when there is none. */
  percentile(share: number): number {
    let left = Math.max(1, Math.ceil(this.count * share));
    if (this.count === 0) return 0;
    for (let index = 0; index < BUCKETS; index += 1) {
      left -= this.buckets[index];
      if (left <= 0) return upperBound(index);
    }
    return MICROSECONDS_MAX;
  }

  clear(): void {
    this.buckets.fill(0);
    this.count = 0;
  }
}

function bucketOf(microseconds: number): number {
  const value = Math.min(Math.max(0, Math.floor(microseconds)), MICROSECONDS_MAX) >>> 0;
  if (value < SUB_BUCKETS) return value;
  const shift = 31 - Math.clz32(value) - SUB_BUCKETS_LOG2;
  return ((shift + 1) << SUB_BUCKETS_LOG2) + (value >>> shift) - SUB_BUCKETS;
}

function upperBound(index: number): number {
  if (index < SUB_BUCKETS) return index;
  const shift = (index >> SUB_BUCKETS_LOG2) - 1;
  return ((index & (SUB_BUCKETS - 1)) + SUB_BUCKETS + 1) * 2 ** shift - 1;
}
