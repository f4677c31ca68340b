/** A query of the inventory's language as conditions and order of a list (docs/spec/queries.md). */
import { lookUpHierarchy } from './hierarchy.ts';
import type { HierarchyReaders } from './hierarchy.ts';
import { FUNCTIONS_OF_DATA, parseInventoryQuery } from './parser.ts';
import { ALARM_COLUMNS, QueryCompiler } from './sql.ts';
import type { ParameterBinder } from './sql.ts';

export interface QueryText {
  /** Undefined for a query without a filter. */
  readonly condition: string | undefined;
  /** Of the ORDER BY clause; `id` for none. */
  readonly order: string;
}

/** @throws PlatformError `inventory/invalid-query`. */
export async function queryText(query: string, readers: HierarchyReaders, binder: ParameterBinder): Promise<QueryText> {
  const { filter, order } = parseInventoryQuery(query);
  const conditions = await lookUpHierarchy(filter, readers, binder);
  const compiler = new QueryCompiler(binder, { conditions });
  return { condition: filter === undefined ? undefined : compiler.condition(filter), order: compiler.order(order) };
}

/**
 * The same over alarms, without functions of the hierarchy (docs/spec/alarms.md#queries). @returns undefined as order
 * of a query that has none. @throws PlatformError `inventory/invalid-query`.
 */
export function alarmQueryText(
  query: string,
  binder: ParameterBinder,
): Pick<QueryText, 'condition'> & { readonly order: string | undefined } {
  const { filter, order } = parseInventoryQuery(query, FUNCTIONS_OF_DATA);
  const compiler = new QueryCompiler(binder, { conditions: new Map() }, ALARM_COLUMNS);
  return {
    condition: filter === undefined ? undefined : compiler.condition(filter),
    order: order.length === 0 ? undefined : compiler.order(order),
  };
}
