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

/** With more values the history is asked: they are grouped between two messages, for 7 ms (2026-11-26). */
const VALUES_MAX = 20_000;

/** Of a series. */
interface Name {
  readonly fragment: string;
  readonly series: string;
  /** Place among all of the answer, as the engine orders texts. */
  rank: number;
}

interface Group {
  readonly bucket: number;
  readonly name: Name;
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
  const { from, to, functions } = range;
  const results = functions.map((name) => EXACT[name]);
  if (results.includes(undefined)) return undefined;
  const measurements = await recentSince(readers, { source, from, to });
  if (measurements === undefined) return undefined;
  if (measurements.reduce((sum, { values }) => sum + values.length, 0) > VALUES_MAX) return undefined;
  const groups = groupsOf(measurements, range, new Names(measurements, names), valuesMax);
  return groups.slice(0, valuesMax).map((group) => ({
    bucket: group.bucket,
    fragment: group.name.fragment,
    series: group.name.series,
    unitName: group.unitName,
    seen: group.seen,
    results: results.map((result) => result?.(group) ?? null),
  }));
}

/** Names of series that are wanted. */
class Names {
  readonly #byFragment = new Map<string, Map<string, Name>>();

  /** @param wanted `<fragment>.<series>`; all when there are none. */
  constructor(measurements: readonly RecentMeasurement[], wanted: readonly string[]) {
    const isWanted = new Set(wanted);
    for (const { values } of measurements)
      for (const { fragment, series } of values) {
        if (wanted.length > 0 && !isWanted.has(`${fragment}.${series}`)) continue;
        let ofFragment = this.#byFragment.get(fragment);
        if (ofFragment === undefined) this.#byFragment.set(fragment, (ofFragment = new Map()));
        if (!ofFragment.has(series)) ofFragment.set(series, { fragment, series, rank: 0 });
      }
    this.#rank();
  }

  get(fragment: string, series: string): Name | undefined {
    return this.#byFragment.get(fragment)?.get(series);
  }

  /** By bytes. */
  #rank(): void {
    const names = [...this.#byFragment.values()]
      .flatMap((ofFragment) => [...ofFragment.values()])
      .map((name) => ({ name, fragment: Buffer.from(name.fragment), series: Buffer.from(name.series) }));
    names.sort(
      (one, other) => Buffer.compare(one.fragment, other.fragment) || Buffer.compare(one.series, other.series),
    );
    names.forEach(({ name }, rank) => {
      name.rank = rank;
    });
  }
}

/**
 * @param measurements newest first.
 * @returns groups by bucket, then by name: all of the first buckets until these have `groupsMax` or more.
 */
function groupsOf(
  measurements: readonly RecentMeasurement[],
  { durationMs, originMs, isDescending }: SeriesRange,
  names: Names,
  groupsMax: number,
): Group[] {
  const found: Group[] = [];
  let ofBucket = new Map<Name, Group>();
  const endBucket = (): void => {
    for (const group of [...ofBucket.values()].sort((one, other) => one.name.rank - other.name.rank)) found.push(group);
    ofBucket = new Map();
  };
  let bucket = NaN;
  for (let place = 0; place < measurements.length; place += 1) {
    const { time, values } = measurements[isDescending ? place : measurements.length - 1 - place];
    const past = durationMs === 0 ? 0 : (((time - originMs) % durationMs) + durationMs) % durationMs;
    if (time - past !== bucket) {
      endBucket();
      if (found.length >= groupsMax) return found;
      bucket = time - past;
    }
    for (const { fragment, series, value, unit } of values) {
      const name = names.get(fragment, series);
      if (name === undefined) continue;
      const group = ofBucket.get(name);
      if (group === undefined) {
        ofBucket.set(name, { bucket, name, unitName: unit, min: value, max: value, seen: 1 });
      } else {
        group.min = Math.min(group.min, value);
        group.max = Math.max(group.max, value);
        group.seen += 1;
        // That of the oldest, as the engine tells it.
        if (isDescending) group.unitName = unit;
      }
    }
  }
  endBucket();
  return found;
}
