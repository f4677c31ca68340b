/** Rows of measurements (store/clickhouse/schema.ts). */
import type { HistoryReader, HistoryStatement, QueryAsker } from '../../ports/history-reader.ts';
import type { MeasurementSearch } from '../../ports/measurement-search.ts';
import type { HistoryFilter } from '../filter.ts';

/** One value of a measurement, as selected by MEASUREMENT_COLUMNS. */
export interface MeasurementRow {
  readonly entityId: string;
  readonly sourceId: string;
  readonly timeMs: string | number;
  readonly type: string;
  readonly fragment: string;
  readonly series: string;
  readonly value: number;
  readonly unit: string;
  readonly doc: string;
  readonly formText: string;
  /** In the first row of a measurement; '' where it has none (ingest/measurements/form.ts). */
  readonly tail: string;
}

/** 64-bit numbers as text: they survive every form of result. */
export const MEASUREMENT_COLUMNS =
  'toString(id) AS entityId, toString(source) AS sourceId, toString(toUnixTimestamp64Milli(time)) AS timeMs, ' +
  'type, fragment, series, value, unit, doc, toString(form) AS formText, tail';

/** @returns all values of one measurement; none when it does not exist. */
export function measurementRows(
  history: Pick<HistoryReader, 'query'>,
  tenant: number,
  id: string,
  asker?: QueryAsker,
): Promise<MeasurementRow[]> {
  const sql = `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE tenant = {tenant:UInt32} AND id = {id:UInt64} ORDER BY part`;
  return history.query<MeasurementRow>({ sql, params: { id: Number(id) }, tables: ['measurements'], tenant }, asker);
}

export const measurementSearch = (history: Pick<HistoryReader, 'query'>): MeasurementSearch => ({
  find: async (id, asker) => {
    const [first] = await measurementRows(history, asker.tenant, id, asker);
    return first && { source: Number(first.sourceId), timeMs: Number(first.timeMs) };
  },
});

/**
 * Leaves out values of fragments and series that none of the names has: the engine compares the texts of these columns
 * once for each part. Pairs of both that are not a name stay, and everything where a name may be divided in two ways.
 * @param names `<fragment>.<series>`.
 */
export function addNames(filter: HistoryFilter, names: readonly string[]): void {
  const parts = names.map((name) => name.split('.', 3));
  if (parts.some(({ length }) => length !== 2)) return;
  filter.textIn('fragment', [...new Set(parts.map(([fragment]) => fragment))]);
  filter.textIn('series', [...new Set(parts.map(([, series]) => series))]);
}

/** Names that are told of one source. */
const NAMES_MAX = 10_000;
const NAMES = { fragments: 'fragment', series: "concat(fragment, '.', series)" } as const;

/** @returns names of the fragments, or `<fragment>.<series>`, that the measurements of the source have. */
export async function measuredNames(
  history: HistoryReader,
  tenant: number,
  id: string,
  what: keyof typeof NAMES,
): Promise<string[]> {
  const sql =
    `SELECT DISTINCT ${NAMES[what]} AS name FROM measurements WHERE tenant = {tenant:UInt32} AND source = {source:UInt64} ` +
    `AND fragment != '' ORDER BY name LIMIT ${NAMES_MAX}`;
  const source = Number(id);
  const statement = { sql, params: { source }, tables: ['measurements'], tenant, source } as const;
  return (await history.query<{ name: string }>(statement)).map(({ name }) => name);
}

type Bounds = readonly [first: number, last: number];

/**
 * Which records of a block are stored (`seq`, with the `id` of the measurement). A shard's range has no rows of another
 * block: the result is not larger than this one.
 */
export function storedMeasurements(
  sequences: ReadonlyMap<number, Bounds>,
  [firstId, lastId]: Bounds,
): Pick<HistoryStatement, 'sql' | 'params'> {
  const ofShards = Array.from(
    sequences,
    ([shard, [first, last]]) => `(shard = ${shard} AND seq BETWEEN ${first} AND ${last})`,
  );
  return {
    sql: `SELECT DISTINCT id, seq FROM measurements WHERE id BETWEEN {firstId:UInt64} AND {lastId:UInt64} AND (${ofShards.join(' OR ')})`,
    params: { firstId, lastId },
  };
}
