/**
 * What tenants have used, as it is shown (docs/spec/statistics.md): one row of the history as members, and all tenants
 * by day as CSV.
 */
import { USAGE_COLUMNS, usageLines } from '../../history/usage.ts';
import type { DayRange, UsageRow } from '../../history/usage.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import { csvText } from '../../model/documents/csv.ts';
import { textLines } from '../../model/documents/text-lines.ts';
import type { Tenant } from './tenants.ts';

/** Of a row of the store; also bounds what one piece of its answer holds. */
const LINE_LENGTH_MAX = 16 * 1_048_576;

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
export const NO_USAGE = Object.fromEntries(USAGE_COLUMNS.map((name) => [name, 0])) as unknown as UsageRow;
const MEMBERS = Object.keys(usageCounts(NO_USAGE));

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
  const rows = await usageLines(history, range);
  for await (const lines of textLines(rows, LINE_LENGTH_MAX))
    yield Buffer.from(lines.map((line) => reportLine(line, tenantOf)).join(''));
}

/**
 * '' for a tenant that is gone. @throws Error for what is not a row: the engine's error in the middle of its answer.
 */
function reportLine(line: string, tenantOf: (number: number) => Tenant | undefined): string {
  const [number, day, ...fields] = line.split('\t');
  const counts = fields.map(Number);
  if (counts.length !== USAGE_COLUMNS.length || counts.some(Number.isNaN))
    throw new Error(`a report broke off: ${line.slice(0, 500)}`);
  const tenant = tenantOf(Number(number));
  if (tenant === undefined) return '';
  const names = [tenant.id, tenant.parent ?? '', tenant.domain ?? '', tenant.company ?? ''].map(csvText);
  const row = Object.fromEntries(USAGE_COLUMNS.map((name, index) => [name, counts[index]])) as unknown as UsageRow;
  return `${[...names, day, ...Object.values(usageCounts(row))].join(',')}\r\n`;
}
