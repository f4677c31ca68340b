/** What tenants have used, as it is shown (document 4 section 6.4): one row of the history as members, and all tenants by day as CSV. */
import type { HistoryReader } from '../model/command.ts';
import { csvField } from '../model/csv.ts';
import { textLines } from '../model/text-lines.ts';
import type { Tenant } from './tenants.ts';

export interface UsageRow {
  readonly day: string;
  readonly alarms_created: number; readonly alarms_updated: number; readonly events_created: number; readonly events_updated: number;
  readonly measurements_created: number; readonly inventories_created: number; readonly inventories_updated: number;
  readonly requests: number; readonly device_requests: number;
  readonly device_count: number; readonly device_endpoint_count: number; readonly device_with_children_count: number; readonly storage_size: number;
}

/** Days, `YYYY-MM-DD`, both inclusive. */
export interface DayRange { readonly from: string; readonly to: string }

/** Of the table `tenant_usage`: increments that add up. */
export const USAGE_SUMS = `sum(alarms_created) AS alarms_created, sum(alarms_updated) AS alarms_updated, sum(events_created) AS events_created,
  sum(events_updated) AS events_updated, sum(measurements_created) AS measurements_created, sum(inventories_created) AS inventories_created,
  sum(inventories_updated) AS inventories_updated, sum(requests) AS requests, sum(device_requests) AS device_requests`;
/** Of the table `tenant_sizes`. */
export const USAGE_SIZES = 'device_count, device_endpoint_count, device_with_children_count, storage_size';

/** Of a row of the store; also bounds what one piece of its answer holds. */
const LINE_LENGTH_MAX = 16 * 1_048_576;
const OF_DAYS = 'day >= {from:Date} AND day <= {to:Date}';
const REPORT = `SELECT tenant, toString(day) AS day, u.*, s.* FROM (
  SELECT tenant, day, ${USAGE_SUMS} FROM tenant_usage WHERE ${OF_DAYS} GROUP BY tenant, day) AS u
FULL JOIN (SELECT tenant, day, ${USAGE_SIZES} FROM tenant_sizes FINAL WHERE ${OF_DAYS}) AS s USING (tenant, day) ORDER BY tenant, day`;
const IS_ANY = `SELECT tenant FROM tenant_usage WHERE ${OF_DAYS} LIMIT 1`;

/** The members of the API that are counted. */
export function usageCounts(row: UsageRow): Readonly<Record<string, number>> {
  const total = row.alarms_created + row.alarms_updated + row.events_created + row.events_updated + row.measurements_created
    + row.inventories_created + row.inventories_updated;
  return {
    alarmsCreatedCount: row.alarms_created, alarmsUpdatedCount: row.alarms_updated, eventsCreatedCount: row.events_created,
    eventsUpdatedCount: row.events_updated, measurementsCreatedCount: row.measurements_created, inventoriesCreatedCount: row.inventories_created,
    inventoriesUpdatedCount: row.inventories_updated, totalResourceCreateAndUpdateCount: total, deviceCount: row.device_count,
    deviceEndpointCount: row.device_endpoint_count, deviceWithChildrenCount: row.device_with_children_count, deviceRequestCount: row.device_requests,
    requestCount: row.requests, storageSize: row.storage_size,
  };
}

const ZEROS = Object.fromEntries(`${USAGE_SIZES}, alarms_created, alarms_updated, events_created, events_updated, measurements_created,
  inventories_created, inventories_updated, requests, device_requests`.split(/,\s*/).map((name) => [name, 0])) as unknown as UsageRow;
const COUNTS = Object.keys(usageCounts(ZEROS));

/** Whether anything was counted in these days. */
export async function isAnyUsage(history: Pick<HistoryReader, 'query'>, range: DayRange): Promise<boolean> {
  return (await history.query(IS_ANY, { ...range })).length > 0;
}

/**
 * All tenants by day as CSV: a line for each tenant and day of use, in the order of the tenants' numbers.
 * @param tenantOf by number; rows of tenants that are gone are left out.
 */
export async function* usageReport(history: Pick<HistoryReader, 'stream'>, range: DayRange,
  tenantOf: (number: number) => Tenant | undefined): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${['tenantId', 'parentTenantId', 'tenantDomain', 'tenantCompany', 'day', ...COUNTS].join(',')}\r\n`);
  const rows = await history.stream(REPORT, { ...range }, 'JSONEachRow');
  for await (const lines of textLines(rows, LINE_LENGTH_MAX)) yield Buffer.from(lines.map((line) => reportLine(line, tenantOf)).join(''));
}

/** '' for a tenant that is gone. */
function reportLine(line: string, tenantOf: (number: number) => Tenant | undefined): string {
  const row = JSON.parse(line) as UsageRow & { readonly tenant: number };
  const tenant = tenantOf(row.tenant);
  if (tenant === undefined) return '';
  const names = [tenant.id, tenant.parent ?? '', tenant.domain ?? '', tenant.company ?? ''].map(csvField);
  return `${[...names, row.day, ...Object.values(usageCounts(row))].join(',')}\r\n`;
}
