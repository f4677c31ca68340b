/** Totals of lists, as the history counts them. */
import type { KnownAnswers } from '../ports/known-answers.ts';
import type { HistoryReader, HistoryStatement } from '../ports/history-reader.ts';
import { IN_PARTITIONS } from './filter.ts';
import type { HistoryFilter, MutableTable } from './filter.ts';
import type { TotalCache } from './total-cache.ts';

/** What counts, and what knows what was counted. */
interface Counters {
  readonly history: HistoryReader;
  readonly known?: KnownAnswers | undefined;
}

/** Runs a statement that tells one `total`, unless it is known. @param count runs it. */
export function cachedTotal(
  { history, known, totals }: Counters & { readonly totals: TotalCache },
  statement: HistoryStatement,
  count: () => Promise<number> = () => exactTotal({ history, known }, statement),
): Promise<number> {
  const { sql, tenant, params } = statement;
  return totals.total(JSON.stringify([sql, tenant, params]), count);
}

/** The same, exact however large it is. */
function exactTotal({ history, known }: Counters, statement: HistoryStatement): Promise<number> {
  const count = (): Promise<number> => countOf(history, statement);
  return known === undefined ? count() : known.answer(statement, count, () => 0);
}

/** Runs a statement that tells one `total`. */
export async function countOf(history: HistoryReader, statement: HistoryStatement): Promise<number> {
  const [row] = await history.query<{ total: number | string }>(statement);
  return Number(row?.total ?? 0);
}

/** A SELECT of how many rows match, as `total`. */
export const countStatement = (table: MutableTable, filter: HistoryFilter): HistoryStatement =>
  filter.statement([table], `SELECT count() AS total FROM ${table} FINAL ${filter.clauses(table)} ${IN_PARTITIONS}`);

/** @returns how many rows match. */
export const countDocuments = (counters: Counters, table: MutableTable, filter: HistoryFilter): Promise<number> =>
  exactTotal(counters, countStatement(table, filter));
