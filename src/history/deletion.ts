/** What is selected to be deleted: the filter of lists, and what was there when the deletion came. */
import type { DataDelete } from '../model/commands/deletion.ts';
import type { HistoryStatement, HistoryTable } from '../ports/history-reader.ts';
import type { Before, MeasurementDeletion } from '../ports/stores/history-writer.ts';
import { HistoryFilter } from './filter.ts';
import { OF_VALUES, addParameters, deletionValues, isAboutChanges } from './parameters.ts';

/** Whether there is a row that the condition selects: one row or none. */
export const anyRow = (table: string, where: string): string =>
  `SELECT 1 AS found FROM ${table} WHERE ${where} LIMIT 1`;

/**
 * All rows of the measurements of which one is selected. They are in one part, which is replaced as a whole: the inner
 * query finds all of them or none.
 */
export const ofWholeMeasurements = (where: string): string =>
  `tenant = {tenant:UInt32} AND id IN (SELECT id FROM measurements WHERE ${where})`;

/** How many rows of the tenant the table has (`found`), deleted entities' included. */
export function rowsOfTenant(table: HistoryTable, tenant: number): HistoryStatement {
  const filter = new HistoryFilter(tenant);
  return filter.statement([table], `SELECT count() AS found FROM ${table} WHERE ${filter.where}`);
}

/**
 * Adds: was there when a command came. What came later may be in the table.
 * @param seq of the command: what was changed since has a later version, whatever the clocks of the nodes say.
 * @param createdUntil by the clock of the gateway, ms since 1970: what was changed since but created before counts,
 * too; undefined where it may have come to match only by the change.
 */
export function addBefore(filter: HistoryFilter, seq: number, createdUntil: number | undefined): HistoryFilter {
  const isOlder = `version <= ${filter.bind('UInt64', seq)}`;
  if (createdUntil === undefined) return filter.add(isOlder);
  const created = `creation_time <= fromUnixTimestamp64Milli(${filter.bind('Int64', createdUntil)}, 'UTC')`;
  return filter.add(`(${isOlder} OR ${created})`);
}

/** The conditions of a DELETE (docs/spec/conventions.md#deleting-collections). @throws WrongParameter. */
function deletionFilter(table: DataDelete['table'], tenant: number, filter: DataDelete['filter']): HistoryFilter {
  return addParameters(new HistoryFilter(tenant), table, deletionValues(table, filter));
}

type Deletion = Pick<MeasurementDeletion, 'tenant' | 'filter' | 'seq'>;

/** What it selects, and the condition on the rows that go. @throws WrongParameter. */
export function measurementsOf({ tenant, filter, seq }: Deletion): {
  readonly found: HistoryFilter;
  readonly condition: string;
} {
  const found = deletionFilter('measurements', tenant, filter);
  found.add(`seq <= ${found.bind('UInt64', seq)}`);
  const isOfValues = OF_VALUES.some((name) => name in filter);
  return { found, condition: isOfValues ? ofWholeMeasurements(found.where) : found.where };
}

/** The first of them (`id`, `source`) behind the id `after`. @throws WrongParameter. */
export function firstMeasurementsOf(deletion: Deletion, after: number, limit: number): HistoryStatement {
  const { found } = measurementsOf(deletion);
  found.add(`id > ${found.bind('UInt64', after)}`);
  return found.statement(
    ['measurements'],
    `SELECT DISTINCT id, source FROM measurements WHERE ${found.where} ORDER BY id LIMIT ${limit}`,
  );
}

/**
 * The first entities (`id`, `source`) behind the id `after`.
 * @throws WrongParameter.
 */
export function firstEntitiesOf(
  tenant: number,
  { table, filter }: DataDelete,
  { after, before, limit }: { after: number; before?: Before | undefined; limit: number },
): HistoryStatement {
  const found = deletionFilter(table, tenant, filter);
  if (before !== undefined) addBefore(found, before.seq, isAboutChanges(Object.keys(filter)) ? undefined : before.time);
  found.add(`id > ${found.bind('UInt64', after)}`);
  return found.statement(
    [table],
    `SELECT id, source FROM ${table} FINAL WHERE ${found.where} ORDER BY id LIMIT ${limit}`,
  );
}
