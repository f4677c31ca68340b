/** Port of the history store for reading. */

/** Who asks for a query: tenants take turns, and so do the users of a tenant. */
export interface QueryAsker {
  /** Number of the tenant. */
  readonly tenant: number;
  readonly user: string;
  /** Aborts when the client has left: the query waits and runs no longer. */
  readonly signal?: AbortSignal;
}

export interface HistoryReader {
  /**
   * Runs a SELECT after everything acknowledged before this call has become visible (read your writes).
   * `sql` has `{name:Type}` places, values are bound. Tables: see src/store/clickhouse/schema.ts.
   * @param asker absent for the server's own queries, which take turns as the tenant of the parameters and have no time
   * limit.
   * @throws PlatformError `general/history-unavailable`, `general/query-too-large`, `general/busy`.
   */
  query<Row>(sql: string, params: Readonly<Record<string, unknown>>, asker?: QueryAsker): Promise<Row[]>;
  /** The same as a stream of text in `format` (CSV, JSONEachRow). */
  stream(sql: string, params: Readonly<Record<string, unknown>>, format: string): Promise<AsyncIterable<Uint8Array>>;
}
