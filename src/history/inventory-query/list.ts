/** A query of the inventory's language as conditions and order of a list (docs/spec/queries.md). */
import { lookUpHierarchy } from './hierarchy.ts';
import type { HierarchyReaders } from './hierarchy.ts';
import { parseInventoryQuery } from './parser.ts';
import { QueryCompiler } from './sql.ts';
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
