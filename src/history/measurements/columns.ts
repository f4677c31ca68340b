/** Measurements of many devices in columns: one query for many of them. */
import type { HistoryReader } from '../../ports/history-reader.ts';

/** Devices whose values are counted in one query. */
const DEVICES_COUNTED = 1_000;
/** Values that one query reads: some 16 MiB. */
const VALUES_AT_ONCE = 500_000;
/** Times of one device by columns: more times are left out. */
const CELLS_MAX = 20_000_000;

export interface ColumnsQuery {
  readonly tenant: number;
  /** ms since 1970; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** A column each: a series of a fragment, or of measurements of a type. */
  readonly columns: readonly MeasuredColumn[];
  /** Values of one device that are read: the first in the order of time. */
  readonly valuesMax: number;
}

export interface MeasuredColumn {
  readonly type: string;
  readonly series: string;
}

/** Values of one device: for each time that has one a row, in the order of time. */
export interface DeviceColumns {
  readonly deviceId: string;
  /** ms since 1970. */
  readonly times: readonly number[];
  /** Of each column a value for each time; NaN: none. */
  readonly columns: readonly Float64Array[];
  /** It has more values than are read. */
  readonly isCut: boolean;
}

interface SeriesRow {
  readonly sourceId: string;
  readonly type: string;
  readonly fragment: string;
  readonly series: string;
  readonly times: readonly (number | string)[];
  readonly numbers: readonly number[];
}

const RANGE =
  'tenant = {tenant:UInt32} AND source IN ({sources:Array(UInt64)}) AND time >= fromUnixTimestamp64Milli({from:Int64}) ' +
  'AND time < fromUnixTimestamp64Milli({to:Int64}) AND series IN ({series:Array(String)}) ' +
  'AND (fragment IN ({types:Array(String)}) OR type IN ({types:Array(String)}))';

/** Values of devices, in the order of their ids as they are given; a device without any comes with no times. */
export async function* deviceColumns(
  history: HistoryReader,
  query: ColumnsQuery,
  devices: readonly string[],
): AsyncGenerator<DeviceColumns> {
  const { columns, valuesMax } = query;
  const params = {
    from: query.from,
    to: query.to,
    series: [...new Set(columns.map(({ series }) => series))],
    types: [...new Set(columns.map(({ type }) => type))],
    valuesMax,
  };
  for (let at = 0; at < devices.length; at += DEVICES_COUNTED) {
    const some = devices.slice(at, at + DEVICES_COUNTED);
    const counts = await countValues(history, query.tenant, params, some);
    for (const part of parts(some, counts, valuesMax)) {
      const rows = await readRows(
        history,
        query.tenant,
        params,
        part.filter((id) => (counts.get(id) ?? 0) > 0),
      );
      for (const deviceId of part)
        yield joined(deviceId, rows.get(deviceId) ?? [], columns, (counts.get(deviceId) ?? 0) > valuesMax);
    }
  }
}

type Params = Readonly<Record<string, unknown>>;

async function countValues(
  history: HistoryReader,
  tenant: number,
  params: Params,
  devices: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await history.query<{ sourceId: string; count: number | string }>({
    sql: `SELECT toString(source) AS sourceId, count() AS count FROM measurements WHERE ${RANGE} GROUP BY source`,
    params: { ...params, sources: devices.map(Number) },
    tables: ['measurements'],
    tenant,
  });
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

async function readRows(
  history: HistoryReader,
  tenant: number,
  params: Params,
  devices: readonly string[],
): Promise<ReadonlyMap<string, SeriesRow[]>> {
  if (devices.length === 0) return new Map();
  const inner =
    `SELECT source, time, type, fragment, series, value FROM measurements WHERE ${RANGE} ` +
    `ORDER BY source, time, id, part LIMIT {valuesMax:UInt32} BY source`;
  const rows = await history.query<SeriesRow>({
    sql:
      'SELECT toString(source) AS sourceId, type, fragment, series, groupArray(toUnixTimestamp64Milli(time)) AS times, ' +
      `groupArray(value) AS numbers FROM (${inner}) GROUP BY source, type, fragment, series`,
    params: { ...params, sources: devices.map(Number) },
    tables: ['measurements'],
    tenant,
  });
  const byDevice = new Map<string, SeriesRow[]>();
  for (const row of rows) {
    const known = byDevice.get(row.sourceId);
    if (known === undefined) byDevice.set(row.sourceId, [row]);
    else known.push(row);
  }
  return byDevice;
}

/** Values of the same time are one record. Of several values of a column at one time the last one counts. */
function joined(
  deviceId: string,
  rows: readonly SeriesRow[],
  wanted: readonly MeasuredColumn[],
  isCut: boolean,
): DeviceColumns {
  const fitting = wanted.map(({ type, series }) =>
    rows.filter((row) => row.series === series && (row.fragment === type || row.type === type)),
  );
  const found = new Set<number>();
  for (const row of new Set(fitting.flat())) for (const time of row.times) found.add(Number(time));
  const timesMax = Math.floor(CELLS_MAX / wanted.length);
  const all = [...found].sort((a, b) => a - b);
  const times = all.slice(0, timesMax);
  const places = new Map(times.map((time, place) => [time, place]));
  // Columns of the same series are one.
  const known = new Map<string, Float64Array>();
  const columns = fitting.map((some, i) => {
    const key = JSON.stringify(wanted[i]);
    const column = known.get(key) ?? columnOf(some, places);
    known.set(key, column);
    return column;
  });
  return { deviceId, times, columns, isCut: isCut || all.length > times.length };
}

function columnOf(rows: readonly SeriesRow[], places: ReadonlyMap<number, number>): Float64Array {
  const column = new Float64Array(places.size).fill(Number.NaN);
  for (const row of rows)
    row.times.forEach((time, i) => {
      const place = places.get(Number(time));
      if (place !== undefined) column[place] = row.numbers[i] as number;
    });
  return column;
}
