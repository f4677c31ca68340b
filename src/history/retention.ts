/** What retention selects in the history: the filter of lists and DELETE, and conditions of its own. */
import type { RetentionTarget } from '../model/entities/retention.ts';
import { ANY } from '../model/entities/retention.ts';
import type { HistoryStatement } from '../ports/history-reader.ts';
import type { EntityKind, RowKind } from '../ports/stores/retention-history.ts';
import { ofWholeMeasurements } from './deletion.ts';
import { HistoryFilter } from './filter.ts';
import { addParameters } from './parameters.ts';

type Kind = RowKind | EntityKind;

/** Tables that retention reads, by kind of data. */
export const RETENTION_TABLES = {
  MEASUREMENT: 'measurements',
  AUDIT: 'audits',
  EVENT: 'events',
  ALARM: 'alarms',
  OPERATION: 'operations',
} as const;

const OPERATION_OVER = "status IN ('SUCCESSFUL', 'FAILED')";
/** What is still open is kept, however old. */
const OVER: Readonly<Partial<Record<Kind, string>>> = { ALARM: "status = 'CLEARED'", OPERATION: OPERATION_OVER };

/**
 * Audit records are the history of their alarm (docs/spec/alarms.md#history), which is kept while it is open: so are
 * they.
 */
const NO_OPEN_HISTORY =
  "NOT (type = 'Alarm' AND source IN (SELECT toString(id) FROM alarms FINAL WHERE tenant = {tenant:UInt32} AND status != 'CLEARED'))";

/** Whether single values decide: a measurement has others beside them. */
export const isByFragment = ({ fragmentType }: RetentionTarget): boolean => fragmentType !== ANY;

/** The target as a condition on the kind's table, in parentheses. */
function selects(filter: HistoryFilter, kind: Kind, { before, type, source, fragmentType }: RetentionTarget): string {
  const wanted = Object.entries({ type, source, fragmentType }).filter(([, value]) => value !== ANY);
  const condition = filter.apart(() => {
    addParameters(filter, RETENTION_TABLES[kind], { before, ...Object.fromEntries(wanted) });
    const over = OVER[kind];
    if (over !== undefined) filter.add(over);
    if (kind !== 'AUDIT') return;
    filter.reads('alarms');
    filter.add(NO_OPEN_HISTORY);
  });
  return `(${condition})`;
}

/** Selects the target but none of the others. */
function filterOf(
  kind: Kind,
  tenant: number,
  target: RetentionTarget,
  others: readonly RetentionTarget[] = [],
): HistoryFilter {
  const filter = new HistoryFilter(tenant);
  filter.add(selects(filter, kind, target));
  for (const other of others) filter.add(`NOT ${selects(filter, kind, other)}`);
  return filter;
}

/** The first month behind `after` with rows that the target selects but none of the others: `through` and `rows`. */
export function nextMonth(
  kind: RowKind,
  tenant: number,
  target: RetentionTarget,
  after: string,
  others: readonly RetentionTarget[],
): HistoryStatement {
  const table = RETENTION_TABLES[kind];
  const filter = filterOf(kind, tenant, target, others);
  if (after !== '') filter.add(`_partition_id > ${filter.bind('String', after)}`);
  // One row for each measurement where no condition looks at single values.
  const count = kind === 'MEASUREMENT' && !isByFragment(target) ? 'countIf(part = 0)' : 'uniqExact(id)';
  return filter.statement(
    [table],
    `SELECT _partition_id AS through, ${count} AS rows FROM ${table} WHERE ${filter.where} GROUP BY through ORDER BY through LIMIT 1`,
  );
}

/**
 * How many measurements of one month (`rows`) the target selects but none of the others. A measurement is others' when
 * one of its rows has their fragment: whole measurements are removed. A month has all rows of each.
 */
export function restOfMonth(
  tenant: number,
  target: RetentionTarget,
  month: string,
  others: readonly RetentionTarget[],
): HistoryStatement {
  const ofHeads = others.filter((other) => !isByFragment(other));
  const filter = filterOf('MEASUREMENT', tenant, target, ofHeads);
  const inMonth = `_partition_id = ${filter.bind('String', month)}`;
  const ofValues = others.filter(isByFragment).map((other) => selects(filter, 'MEASUREMENT', other));
  return filter.statement(
    ['measurements'],
    `SELECT uniqExact(id) AS rows FROM measurements WHERE ${inMonth} AND ${filter.where} AND id NOT IN
     (SELECT id FROM measurements WHERE ${inMonth} AND tenant = {tenant:UInt32} AND (${ofValues.join(' OR ')}))`,
  );
}

/** Names of the parts of a month (`part`) that hold nothing but rows of the target. */
export function partsOfMonth(kind: RowKind, tenant: number, target: RetentionTarget, month: string): HistoryStatement {
  const table = RETENTION_TABLES[kind];
  const filter = filterOf(kind, tenant, target);
  return filter.statement(
    [table],
    `SELECT _part AS part FROM ${table} WHERE _partition_id = ${filter.bind('String', month)}
     GROUP BY part HAVING countIf(NOT (${filter.where})) = 0`,
  );
}

/** Rows that go with the target in a month: a filter with the month, and the condition of a DELETE within it. */
export function rowsOfMonth(
  kind: RowKind,
  tenant: number,
  target: RetentionTarget,
  month: string,
): { readonly found: HistoryFilter; readonly condition: string } {
  const filter = filterOf(kind, tenant, target);
  const condition = filter.where;
  const found = filter.add(`_partition_id = ${filter.bind('String', month)}`);
  // All values of a measurement go, also those of other fragments.
  const isOfValues = kind === 'MEASUREMENT' && isByFragment(target);
  return { found, condition: isOfValues ? ofWholeMeasurements(found.where) : condition };
}

/** Entities of the target (`id`, `source`) behind the id `after`, in the order of their ids. */
export function entitiesOf(
  kind: EntityKind,
  tenant: number,
  target: RetentionTarget,
  { after, through, limit }: { readonly after: string; readonly through?: string; readonly limit: number },
): HistoryStatement {
  const table = RETENTION_TABLES[kind];
  const filter = filterOf(kind, tenant, target);
  filter.add(`id > ${filter.bind('UInt64', Number(after))}`);
  if (through !== undefined) filter.add(`id <= ${filter.bind('UInt64', Number(through))}`);
  return filter.statement(
    [table],
    `SELECT id, source FROM ${table} FINAL WHERE ${filter.where} ORDER BY id LIMIT ${filter.bind('UInt32', limit)}`,
  );
}

/** How many entities (`total`) the target selects but none of the others. */
export function countOf(
  kind: EntityKind,
  tenant: number,
  target: RetentionTarget,
  others: readonly RetentionTarget[],
): HistoryStatement {
  const table = RETENTION_TABLES[kind];
  const filter = filterOf(kind, tenant, target, others);
  return filter.statement([table], `SELECT count() AS total FROM ${table} FINAL WHERE ${filter.where}`);
}

/** Those of the bulk operations (`bulk`) that have operations which are not over. */
export function bulkOperationsUnderWay(tenant: number, ids: readonly string[]): HistoryStatement {
  const filter = new HistoryFilter(tenant).idIn('bulk', ids).add(`NOT (${OPERATION_OVER})`);
  return filter.statement(['operations'], `SELECT DISTINCT bulk FROM operations FINAL WHERE ${filter.where}`);
}
