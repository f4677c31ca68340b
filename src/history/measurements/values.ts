/** Values of many devices as rows of plain memory (model/entities/scoring/measured-values.ts): one query for many devices. */
import { VALUE_ROW_BYTES, type ValueColumns } from '../../model/entities/scoring/measured-values.ts';
import type { BytesReader, HistoryReader, HistoryStatement, QueryAsker } from '../../ports/history-reader.ts';

/** Devices whose values are counted in one query. */
const DEVICES_COUNTED = 1_000;
/** Values that one query reads, 2 MB: a longer one holds up the writes of the engine beside it. */
const VALUES_AT_ONCE = 60_000;
/** Against the values that were counted: measurements may come between the counting and the reading. */
const GROWTH_MAX = 2;

export interface ValuesQuery {
  readonly tenant: number;
  /** ms since 1970; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly columns: ValueColumns;
  /** Values of one device that are read: the first in the order of time. */
  readonly valuesMax: number;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Some devices with all of their values. */
export interface DevicesValues {
  /** As they were given. */
  readonly devices: readonly string[];
  /** Those that have more values than are read. */
  readonly cut: readonly string[];
  /** Rows by source, and by time in each; rows of other series may be among them. */
  readonly rows: Uint8Array;
}

/** Each value is found by its fragment or by the type of its measurement. */
const RANGE =
  'tenant = {tenant:UInt32} AND source IN ({sources:Array(UInt64)}) AND time >= fromUnixTimestamp64Milli({from:Int64}) ' +
  'AND time < fromUnixTimestamp64Milli({to:Int64}) AND series IN ({series:Array(String)}) ' +
  'AND (fragment IN ({types:Array(String)}) OR type IN ({types:Array(String)}))';

/** A job is not waited for: the other threads of the engine stay with writes and with queries that are. */
const ONE_THREAD = 'SETTINGS max_threads = 1';

const place = (column: string, names: string): string =>
  `toUInt16(transform(${column}, {${names}:Array(String)}, {${names}Places:Array(UInt16)}, toUInt16(0)))`;

const ROWS =
  `SELECT source, toUnixTimestamp64Milli(time), ${place('fragment', 'types')}, ${place('type', 'types')}, ` +
  `${place('series', 'series')}, toUInt16(0), value FROM measurements WHERE ${RANGE} ` +
  `ORDER BY source, time, id, part LIMIT {valuesMax:UInt32} BY source ${ONE_THREAD}`;

/**
 * Values of devices, in the order of the devices: ids ascending. The rows are in memory that threads share; those of the
 * next ones take their place.
 */
export async function* valuesOf(
  history: Pick<HistoryReader, 'query'> & BytesReader,
  { tenant, from, to, columns: { types, series }, valuesMax, signal }: ValuesQuery,
  devices: readonly string[],
): AsyncGenerator<DevicesValues> {
  // The server's own work, which has no time limit.
  const asker: QueryAsker = { tenant, user: '', signal };
  const bytesMax = GROWTH_MAX * VALUE_ROW_BYTES * Math.max(VALUES_AT_ONCE, valuesMax);
  const room = new Uint8Array(new SharedArrayBuffer(VALUES_AT_ONCE * VALUE_ROW_BYTES));
  const params = { from, to, series, types, valuesMax, typesPlaces: places(types), seriesPlaces: places(series) };
  for (let at = 0; at < devices.length; at += DEVICES_COUNTED) {
    const some = devices.slice(at, at + DEVICES_COUNTED);
    const counts = await countValues(history, asker, params, some);
    for (const part of parts(some, counts, valuesMax)) {
      const sources = part.filter((id) => counts.has(id)).map(Number);
      const rows =
        sources.length === 0
          ? new Uint8Array()
          : await history.bytes(
              { sql: ROWS, params: { ...params, sources }, tables: ['measurements'], tenant },
              { asker, bytesMax, room },
            );
      yield { devices: part, cut: part.filter((id) => (counts.get(id) ?? 0) > valuesMax), rows };
    }
  }
}

const places = (names: readonly string[]): readonly number[] => names.map((_, index) => index + 1);

async function countValues(
  history: Pick<HistoryReader, 'query'>,
  asker: QueryAsker,
  params: Readonly<Record<string, unknown>>,
  devices: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const statement: HistoryStatement = {
    sql: `SELECT toString(source) AS sourceId, count() AS count FROM measurements WHERE ${RANGE} GROUP BY source ${ONE_THREAD}`,
    params: { ...params, sources: devices.map(Number) },
    tables: ['measurements'],
    tenant: asker.tenant,
  };
  const rows = await history.query<{ sourceId: string; count: number | string }>(statement, asker);
  return new Map(rows.map(({ sourceId, count }) => [sourceId, Number(count)]));
}

/** Devices that are read together: as many as have no more values than one query reads, at least one. */
function* parts(
  devices: readonly string[],
  counts: ReadonlyMap<string, number>,
  valuesMax: number,
): Generator<string[]> {
  let part: string[] = [];
  let sum = 0;
  for (const id of devices) {
    const count = Math.min(counts.get(id) ?? 0, valuesMax);
    if (part.length > 0 && sum + count > VALUES_AT_ONCE) {
      yield part;
      part = [];
      sum = 0;
    }
    part.push(id);
    sum += count;
  }
  if (part.length > 0) yield part;
}
