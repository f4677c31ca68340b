import { type Clustering, kMeans, squaredDistance } from './k-means.ts';
import { generator } from '../pmml/math/random.ts';
import { type SeriesTable, tableOf } from './series.ts';

export interface TrainedCluster {
  readonly centroid: readonly number[];
  /** Names of the series in it, in the order in which they were given. */
  readonly members: readonly string[];
}

const SEED = 1;
const CLUSTERS_MAX = 20;
/** Starts of k-means for each number of clusters; the best is kept. */
const STARTS = 5;
/** Series that the silhouette looks at; of more a part of them, spread evenly. */
const SILHOUETTE_SERIES_MAX = 1_000;
/** Values that are compared before no more clusters are tried: some 20 seconds. */
const WORK_MAX = 10_000_000_000;
/** A division with a lower silhouette is none: all series are one cluster. */
const SILHOUETTE_MIN = 0.25;

/**
 * Groups series by their shape. The number of clusters, at most 20, is the one with the highest mean silhouette (Rousseeuw
 * 1987); where no division is a clear one, all are one cluster. The same series give the same result.
 *
 * @param series values by name; of different lengths too (`tableOf`)
 * @throws TrainingError where they cannot be clustered
 */
export function trainClusters(series: ReadonlyMap<string, readonly number[]>): TrainedCluster[] {
  const table = tableOf(series);
  const random = generator(SEED);
  let best = kMeans(table, 1, random);
  let highest = SILHOUETTE_MIN;
  const most = Math.min(CLUSTERS_MAX, table.names.length - 1, distinctRows(table));
  let work = 0;
  for (let k = 2; k <= most && work < WORK_MAX; k++) {
    const clustering = bestOf(table, k, random);
    work += clustering.work * STARTS;
    const silhouette = silhouetteOf(table, clustering, k);
    if (silhouette > highest) {
      highest = silhouette;
      best = clustering;
    }
  }
  return clustersOf(table, best);
}

function bestOf(table: SeriesTable, k: number, random: () => number): Clustering {
  let best = kMeans(table, k, random);
  for (let start = 1; start < STARTS; start++) {
    const other = kMeans(table, k, random);
    if (other.inertia < best.inertia) best = other;
  }
  return best;
}

/** Rows that differ, counted up to the most clusters there may be. */
function distinctRows({ values, length, names }: SeriesTable): number {
  const seen: number[] = [];
  for (let row = 0; row < names.length && seen.length < CLUSTERS_MAX; row++)
    if (!seen.some((other) => squaredDistance(values, row * length, values, other * length, length) === 0))
      seen.push(row);
  return seen.length;
}

/** Mean silhouette: how much nearer series are to their own cluster than to the next one, from -1 to 1. */
function silhouetteOf({ values, length, names }: SeriesTable, { members }: Clustering, k: number): number {
  const step = Math.max(1, Math.ceil(names.length / SILHOUETTE_SERIES_MAX));
  const rows: number[] = [];
  for (let row = 0; row < names.length; row += step) rows.push(row);
  let sum = 0;
  for (const row of rows) {
    const sums = new Float64Array(k);
    const counts = new Int32Array(k);
    for (const other of rows) {
      if (other === row) continue;
      const cluster = members[other] as number;
      sums[cluster] =
        (sums[cluster] as number) + Math.sqrt(squaredDistance(values, row * length, values, other * length, length));
      counts[cluster] = (counts[cluster] as number) + 1;
    }
    const own = members[row] as number;
    if (counts[own] === 0) continue;
    const inside = (sums[own] as number) / (counts[own] as number);
    let outside = Number.POSITIVE_INFINITY;
    for (let cluster = 0; cluster < k; cluster++)
      if (cluster !== own && (counts[cluster] as number) > 0)
        outside = Math.min(outside, (sums[cluster] as number) / (counts[cluster] as number));
    const most = Math.max(inside, outside);
    if (Number.isFinite(outside) && most > 0) sum += (outside - inside) / most;
  }
  return sum / rows.length;
}

/** Clusters in the order of their first members. */
function clustersOf(table: SeriesTable, { centroids, members }: Clustering): TrainedCluster[] {
  const byCluster = new Map<number, string[]>();
  table.names.forEach((name, row) => {
    const cluster = members[row] as number;
    const known = byCluster.get(cluster);
    if (known === undefined) byCluster.set(cluster, [name]);
    else known.push(name);
  });
  return [...byCluster].map(([cluster, names]) => ({
    centroid: [...centroids.subarray(cluster * table.length, (cluster + 1) * table.length)],
    members: names,
  }));
}
