/**
 * What tenants have used, as it is shown (docs/spec/statistics.md): one row of the history as members, and all tenants
 * by day as CSV.
 */
import type { HistoryReader } from '../../ports/history-reader.ts';
import { csvText } from '../../model/documents/csv.ts';
import { textLines } from '../../model/documents/text-lines.ts';
import type { Tenant } from './tenants.ts';
import { USAGE_COUNTERS } from './usage.ts';

export interface UsageRow {
  readonly day: string;
  readonly alarms_created: number;
  readonly alarms_updated: number;
  readonly events_created: number;
  readonly events_updated: number;
  readonly measurements_created: number;
  readonly inventories_created: number;
  readonly inventories_updated: number;
  readonly requests: number;
  readonly device_requests: number;
  readonly device_count: number;
  readonly device_endpoint_count: number;
  readonly device_with_children_count: number;
  readonly storage_size: number;
}

/** Days, `YYYY-MM-DD`, both inclusive. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Of the table `tenant_usage`: increments that add up. */
export const USAGE_SUMS = `sum(alarms_created) AS alarms_created, sum(alarms_updated) AS alarms_updated, sum(events_created) AS events_created,
  sum(events_updated) AS events_updated, sum(measurements_created) AS measurements_created, sum(inventories_created) AS inventories_created,
  sum(inventories_updated) AS inventories_updated, sum(requests) AS requests, sum(device_requests) AS device_requests`;
/** Of the table `tenant_sizes`. */
export const USAGE_SIZES = 'device_count, device_endpoint_count, device_with_children_count, storage_size';

/** Of a row of the store; also bounds what one piece of its answer holds. */
const LINE_LENGTH_MAX = 16 * 1_048_576;
const OF_DAYS = 'day >= {from:Date} AND day <= {to:Date}';
/** What a row has: numbers, in this order. */
const COUNTERS = [...USAGE_COUNTERS, ...USAGE_SIZES.split(', ')];
const columnsOf = (names: readonly string[]): string =>
  COUNTERS.map((name) => `${names.includes(name) ? name : '0'} AS c_${name}`).join(', ');
/** A tenant may have sizes of a day without any use, and use without sizes. */
const REPORT = `SELECT tenant, day, ${COUNTERS.map((name) => `sum(c_${name})`).join(', ')} FROM (
  SELECT tenant, day, ${columnsOf(USAGE_COUNTERS)} FROM tenant_usage WHERE ${OF_DAYS}
  UNION ALL SELECT tenant, day, ${columnsOf(USAGE_SIZES.split(', '))} FROM tenant_sizes FINAL WHERE ${OF_DAYS}
) GROUP BY tenant, day ORDER BY tenant, day`;
const IS_ANY = `SELECT tenant FROM tenant_usage WHERE ${OF_DAYS} LIMIT 1`;

/** The members of the API that are counted. */
export function usageCounts(row: UsageRow): Readonly<Record<string, number>> {
  const total =
    row.alarms_created +
    row.alarms_updated +
    row.events_created +
    row.events_updated +
    row.measurements_created +
    row.inventories_created +
    row.inventories_updated;
  return {
    alarmsCreatedCount: row.alarms_created,
    alarmsUpdatedCount: row.alarms_updated,
    eventsCreatedCount: row.events_created,
    eventsUpdatedCount: row.events_updated,
    measurementsCreatedCount: row.measurements_created,
    inventoriesCreatedCount: row.inventories_created,
    inventoriesUpdatedCount: row.inventories_updated,
    totalResourceCreateAndUpdateCount: total,
    deviceCount: row.device_count,
    deviceEndpointCount: row.device_endpoint_count,
    deviceWithChildrenCount: row.device_with_children_count,
    deviceRequestCount: row.device_requests,
    requestCount: row.requests,
    storageSize: row.storage_size,
  };
}

/** Of a tenant that nothing was counted for. */
export const NO_USAGE = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as unknown as UsageRow;
const MEMBERS = Object.keys(usageCounts(NO_USAGE));

/** Whether anything was counted in these days. */
export async function isAnyUsage(history: Pick<HistoryReader, 'query'>, range: DayRange): Promise<boolean> {
  return (await history.query(IS_ANY, { ...range })).length > 0;
}

/**
 * All tenants by day as CSV: a line for each tenant and day of use, in the order of the tenants' numbers.
 * @param tenantOf by number; rows of tenants that are gone are left out.
 */
export async function* usageReport(
  history: Pick<HistoryReader, 'stream'>,
  range: DayRange,
  tenantOf: (number: number) => Tenant | undefined,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(
    `${['tenantId', 'parentTenantId', 'tenantDomain', 'tenantCompany', 'day', ...MEMBERS].join(',')}\r\n`,
  );
  const rows = await history.stream(REPORT, { ...range }, 'TabSeparated');
  for await (const lines of textLines(rows, LINE_LENGTH_MAX))
    yield Buffer.from(lines.map((line) => reportLine(line, tenantOf)).join(''));
}

/** '' for a tenant that is gone. @throws Error for what is no row: the engine's error in the middle of its answer. */
function reportLine(line: string, tenantOf: (number: number) => Tenant | undefined): string {
  const [number, day, ...fields] = line.split('\t');
  const counts = fields.map(Number);
  if (counts.length !== COUNTERS.length || counts.some(Number.isNaN))
    throw new Error(`a report broke off: ${line.slice(0, 500)}`);
  const tenant = tenantOf(Number(number));
  if (tenant === undefined) return '';
  const names = [tenant.id, tenant.parent ?? '', tenant.domain ?? '', tenant.company ?? ''].map(csvText);
  const row = Object.fromEntries(COUNTERS.map((name, index) => [name, counts[index]])) as unknown as UsageRow;
  return `${[...names, day, ...Object.values(usageCounts(row))].join(',')}\r\n`;
}
