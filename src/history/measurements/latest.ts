/** The latest value of some series of some sources (docs/spec/measurements.md#latest-values). */
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { HistoryFilter } from '../filter.ts';
import { addNames } from './rows.ts';

export interface LatestRow {
  readonly sourceId: string;
  readonly fragment: string;
  readonly series: string;
  readonly unitName: string;
  readonly latest: number;
  /** ms since 1970. */
  readonly timeMs: number | string;
}

/**
 * Devices that report now are found within the first of these. Of 100 sources with two values every 10 s the last hour
 * took a seventh of the time of a week, 12 million rows (2026-11-26). Only what is missing is looked for further back,
 * in times that were not read yet.
 */
const STEPS_MS = [3_600_000, 86_400_000];

/**
 * @param filterOf conditions but for the time, for these sources. @param names `<fragment>.<series>`. @param from
 * earlier values do not count, ms since 1970. @param now the same. @returns one row for each series of a source that
 * has a value, in no order.
 */
export async function latestValues(
  history: HistoryReader,
  filterOf: (sources: readonly string[]) => HistoryFilter,
  query: {
    readonly sources: readonly string[];
    readonly names: readonly string[];
    readonly from: number;
    readonly now: number;
  },
): Promise<LatestRow[]> {
  const { from, now } = query;
  const found = new Map<string, LatestRow>();
  let { sources, names } = query;
  const starts = [...STEPS_MS.map((step) => now - step).filter((start) => start > from), from];
  let end: number | undefined;
  for (const start of starts) {
    if (sources.length === 0) break;
    for (const row of await rowsBetween(history, filterOf(sources), names, start, end)) {
      const key = keyOf(row.sourceId, `${row.fragment}.${row.series}`);
      if (!found.has(key)) found.set(key, row);
    }
    const lacks = (source: string, name: string): boolean => !found.has(keyOf(source, name));
    sources = sources.filter((source) => query.names.some((name) => lacks(source, name)));
    names = names.filter((name) => sources.some((source) => lacks(source, name)));
    end = start - 1;
  }
  return [...found.values()];
}

export const keyOf = (source: string, name: string): string => `${source}\n${name}`;

/** @param start and end inclusive. */
function rowsBetween(
  history: HistoryReader,
  filter: HistoryFilter,
  names: readonly string[],
  start: number,
  end: number | undefined,
): Promise<LatestRow[]> {
  filter.time('time', start, end).add("fragment != ''");
  addNames(filter, names);
  const sql =
    'SELECT toString(source) AS sourceId, fragment, series, argMax(unit, time) AS unitName, ' +
    'argMax(value, time) AS latest, toString(toUnixTimestamp64Milli(max(time))) AS timeMs ' +
    `FROM measurements WHERE ${filter.where} GROUP BY source, fragment, series ` +
    `HAVING concat(fragment, '.', series) IN ${filter.bind('Array(String)', names)}`;
  return history.query<LatestRow>(filter.statement(['measurements'], sql));
}
