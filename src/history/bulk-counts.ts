/**
 * What became of the operations of bulk operations, as the history counts them, and what of it is kept in their
 * records.
 */
import {
  BULK_OPERATIONS,
  bulkKey,
  bulkWatchedKey,
  countsWithDeleted,
  isOverAsCounted,
} from '../model/entities/bulk-operation.ts';
import type { OperationCounts, StoredBulkOperation } from '../model/entities/bulk-operation.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import type { RecordChange } from '../model/commands/records.ts';
import type { OperationStatus } from '../model/entities/operation.ts';

/** @param ids of bulk operations. @returns counts of the operations that are there, by bulk operation. */
export async function operationCounts(
  history: HistoryReader,
  tenant: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, OperationCounts>> {
  if (ids.length === 0) return new Map();
  const sql =
    'SELECT toString(bulk) AS bulkId, status, count() AS total FROM operations FINAL WHERE tenant = {tenant:UInt32} ' +
    'AND bulk IN {bulks:Array(UInt64)} GROUP BY bulk, status';
  const rows = await history.query<{ bulkId: string; status: OperationStatus; total: number | string }>({
    sql,
    params: { bulks: ids.map(Number) },
    tables: ['operations'],
    tenant,
  });
  const counts = new Map<string, Record<string, number>>();
  for (const { bulkId, status, total } of rows) counts.set(bulkId, { ...counts.get(bulkId), [status]: Number(total) });
  return counts;
}

/** @returns ids of the latest bulk operations that have operations of the device, at most `limit`. */
export async function bulkOperationsOf(
  history: HistoryReader,
  tenant: number,
  device: string,
  limit: number,
): Promise<string[]> {
  const sql =
    'SELECT toString(bulk) AS bulkId FROM operations FINAL WHERE tenant = {tenant:UInt32} AND source = {device:UInt64} AND bulk > 0 ' +
    'GROUP BY bulk ORDER BY bulk DESC LIMIT {limit:UInt32}';
  const source = Number(device);
  const params = { device: source, limit };
  const rows = await history.query<{ bulkId: string }>({ sql, params, tables: ['operations'], tenant, source });
  return rows.map(({ bulkId }) => bulkId);
}

const STATUSES = ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED'] as const;
const isSame = (one: OperationCounts = {}, other: OperationCounts): boolean =>
  STATUSES.every((status) => (one[status] ?? 0) === (other[status] ?? 0));

/**
 * The changes that keep what was counted, none when nothing is new. Who deletes operations makes them before.
 * @param text of the record. @param isWatched whether it has a record that goes when all is over. @param
 * options.isAllSeen see `isOverAsCounted`.
 * @param options.plannedCount operations that are there and not yet ticked off.
 */
export function keptCountsOf(
  text: string,
  isWatched: boolean,
  live: OperationCounts,
  { isAllSeen = false, plannedCount = 0 }: { readonly isAllSeen?: boolean; readonly plannedCount?: number } = {},
): { changes: RecordChange[]; isOver: boolean } {
  const stored = JSON.parse(text) as StoredBulkOperation;
  const counts = countsWithDeleted({ ...stored, done: stored.done + plannedCount }, live, isAllSeen);
  const isOver = isOverAsCounted(stored, counts, isAllSeen);
  const changes: RecordChange[] = [];
  if (!isSame(stored.counts, counts)) {
    changes.push({
      collection: BULK_OPERATIONS,
      id: bulkKey(stored.id),
      expected: text,
      value: JSON.stringify({ ...stored, counts }),
    });
  }
  if (isOver && isWatched)
    changes.push({ collection: BULK_OPERATIONS, id: bulkWatchedKey(stored.id), expected: '1', value: undefined });
  return { changes, isOver };
}

/**
 * The changes that keep what was counted of one before some of its operations are deleted: none when it is gone, or has
 * not begun.
 */
export async function countsToKeep(
  documents: DocumentReader,
  tenant: number,
  id: string,
  live: OperationCounts,
): Promise<RecordChange[]> {
  const [text, watched] = await documents.getMany(BULK_OPERATIONS, tenant, [bulkKey(id), bulkWatchedKey(id)]);
  const stored = text === undefined ? undefined : (JSON.parse(text) as StoredBulkOperation);
  if (text === undefined || stored?.nextAt === undefined) return [];
  // They would hide that others are gone.
  const planned = stored.counts === undefined ? [] : (stored.planned ?? []);
  const operations =
    planned.length === 0
      ? []
      : await documents.getMany(
          'operation',
          tenant,
          planned.map(([, operation]) => operation),
        );
  const plannedCount = operations.filter((operation) => operation !== undefined).length;
  return keptCountsOf(text, watched !== undefined, live, { plannedCount }).changes;
}
