/** What a statement says of itself, against its text. */
import type { HistoryStatement, HistoryTable } from '../../src/ports/history-reader.ts';

const TABLES: Readonly<Record<HistoryTable, true>> = {
  measurements: true,
  managed_objects: true,
  events: true,
  alarms: true,
  operations: true,
  audits: true,
  tenant_usage: true,
  tenant_sizes: true,
};

/** @throws Error when the statement reads other tables than it says, or the rows of other tenants. */
export function checkStatement({ sql, tables, tenant, params }: HistoryStatement): void {
  const named = [...sql.matchAll(/\b(?:FROM|JOIN) (\w+)/g)].map(([, name]) => name);
  const read = [...new Set(named.filter((name) => Object.hasOwn(TABLES, name)))].sort();
  if (read.join() !== [...tables].sort().join()) throw new Error(`${sql} says that it reads ${tables.join()}`);
  const isOfTenant = sql.includes('{tenant:UInt32}');
  if (isOfTenant !== (tenant !== undefined)) throw new Error(`${sql} says that it is of tenant ${tenant}`);
  if ('tenant' in params && params['tenant'] !== tenant) throw new Error(`${sql} binds another tenant`);
}
