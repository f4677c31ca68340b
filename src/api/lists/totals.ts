/** Totals of lists, as the history counts them. */
import type { ApiRequest } from '../request/request.ts';

/**
 * Runs a statement that tells one `total`, unless it is known. @param sql with places for `params`, the tenant among
 * them.
 */
export function cachedTotal(
  request: ApiRequest,
  sql: string,
  params: Readonly<Record<string, unknown>>,
): Promise<number> {
  return request.platform.totals.total(JSON.stringify([sql, params]), () => countOf(request, sql, params));
}

export async function countOf(
  request: ApiRequest,
  sql: string,
  params: Readonly<Record<string, unknown>>,
): Promise<number> {
  const [row] = await request.history.query<{ total: number | string }>(sql, params);
  return Number(row?.total ?? 0);
}
