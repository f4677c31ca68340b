/** Series of the last hours of one source, from its newest measurements in memory (ports/recent-measurements.ts). */
import type { ListReaders } from '../readers.ts';
import type { RecentMeasurement } from '../../ports/recent-measurements.ts';
import { recentSince } from './recent-page.ts';
import type { SeriesFunction, SeriesRange, SeriesRow } from './series.ts';

/** What is computed here to the last digit as by the engine, which adds up in another order. */
const EXACT: Readonly<Partial<Record<SeriesFunction, (group: Group) => number>>> = {
  min: ({ min }) => min,
  max: ({ max }) => max,
  count: ({ seen }) => seen,
};

/** With more values the history is asked: they are put in order between two messages. */
const VALUES_MAX = 20_000;

interface Group {
  readonly bucket: number;
  readonly fragment: string;
  readonly series: string;
  unitName: string;
  min: number;
  max: number;
  seen: number;
}

/**
 * @param names `<fragment>.<series>`; all when there are none. @param valuesMax more are not needed.
 * @returns as SeriesReader.read; undefined when the history is to be asked.
 */
export async function recentSeries(
  readers: ListReaders,
  source: number,
  range: SeriesRange,
  names: readonly string[],
  valuesMax: number,
): Promise<SeriesRow[] | undefined> {
  const { from, to, functions, isDescending } = range;
  const results = functions.map((name) => EXACT[name]);
  if (results.includes(undefined)) return undefined;
  const measurements = await recentSince(readers, { source, from, to });
  if (measurements === undefined) return undefined;
  if (measurements.reduce((sum, { values }) => sum + values.length, 0) > VALUES_MAX) return undefined;
  const groups = groupsOf(measurements, range, new Set(names));
  const rows = inOrder(groups, isDescending).slice(0, valuesMax);
  return rows.map((group) => ({ ...group, results: results.map((result) => result?.(group) ?? null) }));
}

function groupsOf(
  measurements: readonly RecentMeasurement[],
  { durationMs, originMs }: SeriesRange,
  names: ReadonlySet<string>,
): Group[] {
  const groups = new Map<string, Group>();
  for (const { time, values } of measurements) {
    const past = durationMs === 0 ? 0 : (((time - originMs) % durationMs) + durationMs) % durationMs;
    for (const { fragment, series, value, unit } of values) {
      const name = `${fragment}.${series}`;
      if (names.size > 0 && !names.has(name)) continue;
      const bucket = time - past;
      const key = `${bucket}\n${fragment}\n${series}`;
      const group = groups.get(key);
      if (group === undefined) {
        groups.set(key, { bucket, fragment, series, unitName: unit, min: value, max: value, seen: 1 });
      } else {
        group.min = Math.min(group.min, value);
        group.max = Math.max(group.max, value);
        group.seen += 1;
        // Newest first: that of the oldest stays, as the engine tells it.
        group.unitName = unit;
      }
    }
  }
  return [...groups.values()];
}

/** By bucket, then by names as the engine orders texts. */
function inOrder(groups: Group[], isDescending: boolean): Group[] {
  const bytes = new Map<string, Buffer>();
  const bytesOf = (text: string): Buffer => {
    const known = bytes.get(text) ?? Buffer.from(text);
    bytes.set(text, known);
    return known;
  };
  const sign = isDescending ? -1 : 1;
  return groups.sort(
    (one, other) =>
      sign * (one.bucket - other.bucket) ||
      Buffer.compare(bytesOf(one.fragment), bytesOf(other.fragment)) ||
      Buffer.compare(bytesOf(one.series), bytesOf(other.series)),
  );
}
