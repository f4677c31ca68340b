/** Devices and groups of the inventory that are looked for by what they are. */
import { DEVICE_USER_PREFIX } from '../model/entities/device-request.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import { HistoryFilter } from './filter.ts';
import { DEVICE_MARKER } from './objects-below.ts';
import { countDocuments } from './totals.ts';

/** @returns how many devices a tenant has. */
export function countDevices(history: HistoryReader, tenant: number): Promise<number> {
  return countDocuments({ history }, 'managed_objects', new HistoryFilter(tenant).fragment(DEVICE_MARKER));
}

/** Whether a tenant has a device. Reads no more than finds one. */
export async function hasDevices(history: HistoryReader, tenant: number): Promise<boolean> {
  const filter = new HistoryFilter(tenant).fragment(DEVICE_MARKER);
  const sql = `SELECT id FROM managed_objects FINAL ${filter.clauses('managed_objects')} LIMIT 1`;
  return (await history.query(filter.statement(['managed_objects'], sql))).length > 0;
}

const newest = (table: string, final: string): string =>
  `SELECT max(toUnixTimestamp64Milli(time)) AS at FROM ${table}${final} WHERE tenant = {tenant:UInt32} AND source = {source:UInt64}`;
const NEWEST = `SELECT max(at) AS newest FROM (${newest('measurements', '')} UNION ALL ${newest('events', ' FINAL')} UNION ALL ${newest('alarms', ' FINAL')})`;

/** @returns the latest time of the device's data, ms since 1970; 0 without any. */
export async function newestData(history: HistoryReader, tenant: number, id: string): Promise<number> {
  const source = Number(id);
  const [row] = await history.query<{ newest: number | string }>({
    sql: NEWEST,
    params: { source },
    tables: ['measurements', 'events', 'alarms'],
    tenant,
    source,
  });
  return Number(row?.newest ?? 0);
}

export interface DeviceRow {
  readonly deviceId: string;
  readonly deviceType: string;
  readonly deviceParents: readonly string[];
}

/** @returns those of the managed objects that exist. */
export function deviceRows(history: HistoryReader, tenant: number, ids: readonly string[]): Promise<DeviceRow[]> {
  const sql = `SELECT toString(id) AS deviceId, type AS deviceType, arrayMap(parent -> toString(parent), parents) AS deviceParents FROM managed_objects FINAL
WHERE tenant = {tenant:UInt32} AND has({ids:Array(UInt64)}, id)`;
  return history.query<DeviceRow>({ sql, params: { ids: ids.map(Number) }, tables: ['managed_objects'], tenant });
}

/**
 * @returns id of the first group of that name below the parent, or, without one, at the top. Groups that devices have
 * made do not count: their owner would get at what is put there.
 */
export async function groupNamed(
  history: HistoryReader,
  { tenant, parent, name }: { readonly tenant: number; readonly parent?: string; readonly name: string },
): Promise<string | undefined> {
  const place = parent === undefined ? "type = 'c8y_DeviceGroup'" : 'has(parents, {parent:UInt64})';
  const sql =
    `SELECT toString(id) AS groupId FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND name = {name:String} AND ${place} ` +
    `AND has(fragments, 'c8y_IsDeviceGroup') AND NOT startsWith(owner, '${DEVICE_USER_PREFIX}') ORDER BY id LIMIT 1`;
  const params = { name, ...(parent === undefined ? {} : { parent: Number(parent) }) };
  const [found] = await history.query<{ groupId: string }>({ sql, params, tables: ['managed_objects'], tenant });
  return found?.groupId;
}
