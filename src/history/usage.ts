/**
 * What tenants have used (docs/spec/statistics.md): sums of the counters and sizes that are kept by day, what devices
 * sent, and what a tenant has at the moment.
 */
import type { HistoryReader, HistoryTable } from '../ports/history-reader.ts';
import { DEVICE_MARKER } from './objects-below.ts';

/** Columns of the table `tenant_usage`, increments that add up. */
export const USAGE_COUNTERS = [
  'alarms_created',
  'alarms_updated',
  'events_created',
  'events_updated',
  'measurements_created',
  'inventories_created',
  'inventories_updated',
  'requests',
  'device_requests',
] as const;
export type UsageCounter = (typeof USAGE_COUNTERS)[number];
/** Columns of the table `tenant_sizes`. */
const USAGE_SIZES = ['device_count', 'device_endpoint_count', 'device_with_children_count', 'storage_size'] as const;
/** What a row of usage has: numbers, in this order. */
export const USAGE_COLUMNS = [...USAGE_COUNTERS, ...USAGE_SIZES] as const;
/** `day` is '' for several days together. */
export type UsageRow = { readonly day: string } & Readonly<Record<(typeof USAGE_COLUMNS)[number], number>>;

/** Days, `YYYY-MM-DD`, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const TABLES: readonly HistoryTable[] = ['tenant_usage', 'tenant_sizes'];
const OF_DAYS = 'day >= {from:Date} AND day <= {to:Date}';
const BETWEEN = `tenant = {tenant:UInt32} AND ${OF_DAYS}`;
const OF_SOME = `tenant IN {tenants:Array(UInt32)} AND ${OF_DAYS}`;
const SUMS = USAGE_COUNTERS.map((name) => `sum(${name}) AS ${name}`).join(', ');
const SIZES = USAGE_SIZES.join(', ');
const LAST_SIZES = USAGE_SIZES.map((name) => `argMax(${name}, day) AS ${name}`).join(', ');
/** A day without any use has no row. */
const DAILY = `SELECT toString(day) AS day, u.*, s.* FROM (SELECT day, ${SUMS} FROM tenant_usage WHERE ${BETWEEN} GROUP BY day) AS u
FULL JOIN (SELECT day, ${SIZES} FROM tenant_sizes FINAL WHERE ${BETWEEN}) AS s USING (day) ORDER BY day`;
/** Counters add up; sizes are the last that are known in the range. */
const SUMMARY = `SELECT '' AS day, u.*, s.* FROM (SELECT ${SUMS} FROM tenant_usage WHERE ${BETWEEN}) AS u
CROSS JOIN (SELECT ${LAST_SIZES} FROM tenant_sizes FINAL WHERE ${BETWEEN}) AS s`;
/** The same of many tenants; one without any use has no row. */
const SUMMARIES = `SELECT tenant, '' AS day, u.*, s.* FROM (SELECT tenant, ${SUMS} FROM tenant_usage WHERE ${OF_SOME} GROUP BY tenant) AS u
FULL JOIN (SELECT tenant, ${LAST_SIZES} FROM tenant_sizes FINAL WHERE ${OF_SOME} GROUP BY tenant) AS s USING (tenant)`;
const columnsOf = (names: readonly string[]): string =>
  USAGE_COLUMNS.map((name) => `${names.includes(name) ? name : '0'} AS c_${name}`).join(', ');
/** A tenant may have sizes of a day without any use, and use without sizes. */
const REPORT = `SELECT tenant, day, ${USAGE_COLUMNS.map((name) => `sum(c_${name})`).join(', ')} FROM (
  SELECT tenant, day, ${columnsOf(USAGE_COUNTERS)} FROM tenant_usage WHERE ${OF_DAYS}
  UNION ALL SELECT tenant, day, ${columnsOf(USAGE_SIZES)} FROM tenant_sizes FINAL WHERE ${OF_DAYS}
) GROUP BY tenant, day ORDER BY tenant, day`;
const IS_ANY = `SELECT tenant FROM tenant_usage WHERE ${OF_DAYS} LIMIT 1`;

/** @returns a row for each day of use. */
export const dailyUsage = (history: HistoryReader, tenant: number, range: DayRange): Promise<UsageRow[]> =>
  history.query<UsageRow>({ sql: DAILY, params: { ...range }, tables: TABLES, tenant });

/** @returns all days together; undefined when nothing was counted. */
export async function usageSummary(
  history: HistoryReader,
  tenant: number,
  range: DayRange,
): Promise<UsageRow | undefined> {
  const [row] = await history.query<UsageRow>({ sql: SUMMARY, params: { ...range }, tables: TABLES, tenant });
  return row;
}

/** The same of some tenants, whose numbers are a value of the statement; those without any use are left out. */
export const usageSummaries = (
  history: HistoryReader,
  tenants: readonly number[],
  range: DayRange,
): Promise<(UsageRow & { readonly tenant: number })[]> =>
  history.query({ sql: SUMMARIES, params: { tenants, ...range }, tables: TABLES, tenant: undefined });

/** Whether anything was counted in these days. */
export async function isAnyUsage(history: Pick<HistoryReader, 'query'>, range: DayRange): Promise<boolean> {
  const statement = { sql: IS_ANY, params: { ...range }, tables: ['tenant_usage'], tenant: undefined } as const;
  return (await history.query(statement)).length > 0;
}

/** Tenant, day and USAGE_COLUMNS of all tenants by number and day, as lines of TabSeparated. */
export const usageLines = (
  history: Pick<HistoryReader, 'stream'>,
  range: DayRange,
): Promise<AsyncIterable<Uint8Array>> =>
  history.stream({ sql: REPORT, params: { ...range }, tables: TABLES, tenant: undefined }, 'TabSeparated');

/** Measurements by their time, events and alarms by their creation. */
const BY_DEVICE = `SELECT toString(source) AS deviceId, sum(messages) AS count FROM (
  SELECT source, count() AS messages FROM measurements
    WHERE tenant = {tenant:UInt32} AND part = 0
    AND time >= fromUnixTimestamp64Milli({from:Int64}) AND time < fromUnixTimestamp64Milli({to:Int64}) GROUP BY source
  UNION ALL SELECT source, count() AS messages FROM events FINAL WHERE tenant = {tenant:UInt32}
    AND creation_time >= fromUnixTimestamp64Milli({from:Int64}) AND creation_time < fromUnixTimestamp64Milli({to:Int64}) GROUP BY source
  UNION ALL SELECT source, sum(alarms.count) AS messages FROM alarms FINAL WHERE tenant = {tenant:UInt32}
    AND creation_time >= fromUnixTimestamp64Milli({from:Int64}) AND creation_time < fromUnixTimestamp64Milli({to:Int64}) GROUP BY source
) GROUP BY source ORDER BY source LIMIT {limit:UInt32} OFFSET {offset:UInt64}`;

/** What each device sent, by id. @param range.to exclusive; both ms since 1970. */
export const messagesByDevice = (
  history: HistoryReader,
  tenant: number,
  range: { readonly from: number; readonly to: number },
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly deviceId: string; readonly count: number }[]> =>
  history.query({
    sql: BY_DEVICE,
    params: { ...range, ...page },
    tables: ['measurements', 'events', 'alarms'],
    tenant,
  });

/** A device has the marker; those that are a parent of another one have children. */
const DEVICES = `WITH devices AS (SELECT id, parents FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND has(fragments, '${DEVICE_MARKER}'))
SELECT count() AS device_count, countIf(id IN (SELECT arrayJoin(parents) FROM devices)) AS device_with_children_count,
  device_count - device_with_children_count AS device_endpoint_count FROM devices`;
const PARTS =
  'SELECT table, sum(bytes_on_disk) AS bytes, sum(rows) AS rows FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table';
const SIZED_TABLES = ['measurements', 'managed_objects', 'events', 'alarms', 'operations', 'audits'] as const;
const ROWS = SIZED_TABLES.map(
  (table) => `SELECT '${table}' AS table, count() AS rows FROM ${table} WHERE tenant = {tenant:UInt32}`,
).join(' UNION ALL ');
const BINARIES = `SELECT sum(JSONExtractUInt(doc, 'length')) AS bytes FROM managed_objects FINAL
WHERE tenant = {tenant:UInt32} AND has(fragments, 'c8y_IsBinary')`;

/** @returns columns of `tenant_sizes` about devices. */
export async function deviceCounts(history: Pick<HistoryReader, 'query'>, tenant: number): Promise<object | undefined> {
  const [row] = await history.query<object>({ sql: DEVICES, params: {}, tables: ['managed_objects'], tenant });
  return row;
}

/** @returns bytes on disk: of each table the tenant's share by rows, and the content of binaries. */
export async function storageBytes(history: Pick<HistoryReader, 'query'>, tenant: number): Promise<number> {
  const parts = { sql: PARTS, params: {}, tables: [], tenant: undefined };
  const tables = await history.query<{ table: string; bytes: number; rows: number }>(parts);
  const rows = { sql: ROWS, params: {}, tables: SIZED_TABLES, tenant };
  const shares = await history.query<{ table: string; rows: number }>(rows);
  const binaries = { sql: BINARIES, params: {}, tables: ['managed_objects'], tenant } as const;
  const [{ bytes }] = await history.query<{ bytes: number }>(binaries);
  const ofTable = (share: { readonly table: string; readonly rows: number }): number => {
    const all = tables.find(({ table }) => table === share.table);
    return all === undefined || all.rows === 0 ? 0 : (all.bytes * share.rows) / all.rows;
  };
  return Math.round(shares.reduce((sum, share) => sum + ofTable(share), bytes));
}
