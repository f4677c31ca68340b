/** Port of the history store for reading. */

export type HistoryTable =
  | 'measurements'
  | 'managed_objects'
  | 'events'
  | 'alarms'
  | 'operations'
  | 'audits'
  | 'tenant_usage'
  | 'tenant_sizes';

/** What a query reads, so that it waits for no other rows. */
export interface HistoryQuery {
  /** Every table that the statement names; of the engine's own tables none. */
  readonly tables: readonly HistoryTable[];
  /** The only tenant whose rows it reads; undefined for all tenants. */
  readonly tenant?: number | undefined;
  /** The only source whose data it reads. Managed objects that decide about rights do not count. */
  readonly source?: number | undefined;
}

/** A SELECT of src/history. */
export interface HistoryStatement extends HistoryQuery {
  /** With `{name:Type}` places. `{tenant:UInt32}` is `tenant`. */
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly tenant: number | undefined;
}

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
   * @param asker absent for the server's own queries, which take turns as the tenant of the statement and have no time
   * limit.
   * @throws PlatformError `general/history-unavailable`, `general/query-too-large`, `general/busy`.
   */
  query<Row>(statement: HistoryStatement, asker?: QueryAsker): Promise<Row[]>;
  /** The same as a stream of text in `format` (CSV, JSONEachRow). */
  stream(statement: HistoryStatement, format: string): Promise<AsyncIterable<Uint8Array>>;
}

export interface BytesOptions {
  /** As in `query`; its signal ends the reading. */
  readonly asker?: QueryAsker;
  /** Of the result, which is held whole. */
  readonly bytesMax: number;
  /** Memory of the caller in which the result is, where it fits: reused, it spares the collection of garbage. */
  readonly room?: Uint8Array;
}

export interface BytesReader {
  /**
   * The result of a SELECT of the server's own work as rows of numbers (RowBinary), whole. It takes turns as `query`, and
   * reads what is visible: a query before it has waited for what was acknowledged.
   * @returns the beginning of the room, or memory of its own, which begins at a multiple of 8 bytes.
   * @throws PlatformError as `query`; `general/query-too-large` for a result beyond `bytesMax`.
   */
  bytes(statement: HistoryStatement, options: BytesOptions): Promise<Uint8Array>;
}
