import type { SeriesTable } from './series.ts';

export interface Clustering {
  /** Row after row. */
  readonly centroids: Float64Array;
  /** Cluster of each series. */
  readonly members: Int32Array;
  /** Sum of squared distances to the centroids. */
  readonly inertia: number;
  /** Values that were compared, about: what it cost. */
  readonly work: number;
}

const ROUNDS_MAX = 100;

/**
 * k-means with starts chosen by k-means++ (Arthur and Vassilvitskii 2007), then Lloyd's rounds until nothing changes. An
 * empty cluster takes the series that is farthest from its own.
 */
export function kMeans(table: SeriesTable, k: number, random: () => number): Clustering {
  const { names } = table;
  const centroids = starts(table, k, random);
  const members = new Int32Array(names.length).fill(-1);
  const distances = new Float64Array(names.length);
  let rounds = 1;
  for (; rounds < ROUNDS_MAX; rounds++) {
    const hasChanged = assign(table, centroids, k, members, distances);
    if (!hasChanged) break;
    update(table, centroids, k, members, distances);
  }
  assign(table, centroids, k, members, distances);
  const inertia = distances.reduce((sum, distance) => sum + distance, 0);
  return { centroids, members, inertia, work: rounds * k * table.values.length };
}

export function squaredDistance(a: Float64Array, at: number, b: Float64Array, bAt: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) {
    const difference = (a[at + i] as number) - (b[bAt + i] as number);
    sum += difference * difference;
  }
  return sum;
}

function starts({ values, length, names }: SeriesTable, k: number, random: () => number): Float64Array {
  const centroids = new Float64Array(k * length);
  const copy = (row: number, cluster: number): void =>
    centroids.set(values.subarray(row * length, (row + 1) * length), cluster * length);
  copy(Math.floor(random() * names.length), 0);
  const nearest = new Float64Array(names.length).fill(Number.POSITIVE_INFINITY);
  for (let cluster = 1; cluster < k; cluster++) {
    let all = 0;
    for (let row = 0; row < names.length; row++) {
      const distance = squaredDistance(values, row * length, centroids, (cluster - 1) * length, length);
      nearest[row] = Math.min(nearest[row] as number, distance);
      all += nearest[row] as number;
    }
    copy(drawn(nearest, all, random), cluster);
  }
  return centroids;
}

/** A row, the likelier the farther it is from the centroids so far. */
function drawn(nearest: Float64Array, all: number, random: () => number): number {
  let left = random() * all;
  for (let row = 0; row < nearest.length; row++) {
    left -= nearest[row] as number;
    if (left < 0) return row;
  }
  return nearest.length - 1;
}

function assign(
  { values, length, names }: SeriesTable,
  centroids: Float64Array,
  k: number,
  members: Int32Array,
  distances: Float64Array,
): boolean {
  let hasChanged = false;
  for (let row = 0; row < names.length; row++) {
    let best = 0;
    let lowest = Number.POSITIVE_INFINITY;
    for (let cluster = 0; cluster < k; cluster++) {
      const distance = squaredDistance(values, row * length, centroids, cluster * length, length);
      if (distance < lowest) {
        lowest = distance;
        best = cluster;
      }
    }
    if (members[row] !== best) hasChanged = true;
    members[row] = best;
    distances[row] = lowest;
  }
  return hasChanged;
}

function update(
  { values, length, names }: SeriesTable,
  centroids: Float64Array,
  k: number,
  members: Int32Array,
  distances: Float64Array,
): void {
  const counts = new Int32Array(k);
  centroids.fill(0);
  for (let row = 0; row < names.length; row++) {
    const cluster = members[row] as number;
    counts[cluster] = (counts[cluster] as number) + 1;
    for (let i = 0; i < length; i++)
      centroids[cluster * length + i] =
        (centroids[cluster * length + i] as number) + (values[row * length + i] as number);
  }
  for (let cluster = 0; cluster < k; cluster++) {
    const count = counts[cluster] as number;
    if (count === 0) {
      const farthest = distances.indexOf(distances.reduce((most, distance) => Math.max(most, distance), 0));
      centroids.set(values.subarray(farthest * length, (farthest + 1) * length), cluster * length);
      distances[farthest] = 0;
    } else
      for (let i = 0; i < length; i++)
        centroids[cluster * length + i] = (centroids[cluster * length + i] as number) / count;
  }
}
