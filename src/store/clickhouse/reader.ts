/** The reading side of the history store on ClickHouse. */
import { rowsOfTenant } from '../../history/deletion.ts';
import { PlatformError } from '../../model/errors.ts';
import { PAGE_BYTES_MAX } from '../../pacing/page-limits.ts';
import type {
  BytesOptions,
  BytesReader,
  HistoryQuery,
  HistoryReader,
  HistoryStatement,
  QueryAsker,
} from '../../ports/history-reader.ts';
import type { Log } from '../../ports/log.ts';
import { exceptionCodeOf, ResultTooLong } from './adapter.ts';
import type { ClickHouse } from './adapter.ts';
import type { HistoryBounds } from './history-bounds.ts';
import { LIMIT_OF, MEMORY_OF_ALL, TOO_LARGE } from './query-failures.ts';
import { TENANT_TABLES } from './tables.ts';

/** A query waits this long for what was acknowledged before it. */
const VISIBLE_TIMEOUT_MS = 10_000;
/**
 * The engine's number of a result that is larger than `max_result_bytes` of its statement, which only pages of lists
 * have.
 */
const TOO_MANY_BYTES = 396;
/** ClickHouse's MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED and TOO_MANY_SIMULTANEOUS_QUERIES. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [202, 'too many queries are under way'],
  [241, 'the queries under way need all memory'],
]);
/** Makes tables before they are read. */
interface Tables {
  createTables(): Promise<void>;
}
type MakeVisible = (timeoutMs: number, query: HistoryQuery) => Promise<void>;

function reasonOf(error: unknown, code: number | undefined): string {
  if (code !== undefined) return REASONS.get(code) ?? `it refused the query with its code ${code}`;
  const name: unknown = (error as { code?: unknown }).code;
  return typeof name === 'string' ? `no connection (${name})` : 'it gave no answer in time';
}

/** Values of a statement's places. */
const boundOf = ({ params, tenant }: HistoryStatement): Readonly<Record<string, unknown>> =>
  tenant === undefined ? params : { ...params, tenant };

/** The server itself, which takes turns as the tenant of the statement. */
const ownAsker = ({ tenant }: HistoryStatement): QueryAsker => ({ tenant: tenant ?? 0, user: '' });

/** Reads with "read your writes": what was acknowledged before the call is made visible first. */
export class ClickHouseHistoryReader implements HistoryReader, BytesReader {
  readonly #clickHouse: ClickHouse;
  readonly #tables: Tables;
  readonly #makeVisible: MakeVisible;
  readonly #log: Pick<Log, 'warn'>;
  readonly #bounds: HistoryBounds | undefined;

  /** @param bounds of all readers of the process together; none when absent. */
  constructor(
    clickHouse: ClickHouse,
    tables: Tables,
    makeVisible: MakeVisible,
    log: Pick<Log, 'warn'>,
    bounds?: HistoryBounds,
  ) {
    this.#clickHouse = clickHouse;
    this.#log = log;
    this.#bounds = bounds;
    this.#tables = tables;
    this.#makeVisible = makeVisible;
  }

  query<Row>(statement: HistoryStatement, asker?: QueryAsker): Promise<Row[]> {
    const { sql } = statement;
    const { tenant, user, signal } = asker ?? ownAsker(statement);
    const settings =
      user === '' || this.#bounds === undefined ? {} : { max_execution_time: this.#bounds.queryMsMax / 1_000 };
    return this.#told(asker, async () => {
      await this.#visible(statement, asker);
      await this.#tables.createTables();
      return this.#inTurn({ tenant, user, ...(signal === undefined ? {} : { signal }) }, () =>
        this.#clickHouse.query<Row>(sql, boundOf(statement), settings, signal),
      );
    });
  }

  bytes(statement: HistoryStatement, { asker, ...options }: BytesOptions): Promise<Uint8Array> {
    const turn = asker ?? ownAsker(statement);
    return this.#told(asker, () =>
      this.#inTurn(turn, () =>
        this.#clickHouse.bytes(statement.sql, boundOf(statement), { ...options, signal: turn.signal }),
      ),
    );
  }

  /** Errors of the engine as clients are told them. */
  async #told<Result>(asker: QueryAsker | undefined, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      if (error instanceof ResultTooLong) throw new PlatformError('general/query-too-large', { reason: error.message });
      if (exceptionCodeOf(error) === TOO_MANY_BYTES)
        throw new PlatformError('general/page-too-large', { limit: PAGE_BYTES_MAX });
      throw this.#unavailable(error, asker);
    }
  }

  /** Waits for what was acknowledged before. */
  async #visible(statement: HistoryStatement, asker?: QueryAsker): Promise<void> {
    try {
      await this.#makeVisible(VISIBLE_TIMEOUT_MS, statement);
    } catch (error) {
      const { tenant, user } = asker ?? {};
      this.#log.warn(
        { error: (error as Error).message, tables: statement.tables, tenant, user },
        'the history store is behind what was acknowledged: a query was refused',
      );
      if (typeof (error as { code?: unknown }).code === 'string') throw error;
      throw new PlatformError('general/history-unavailable', {
        reason: `it has not taken in within ${VISIBLE_TIMEOUT_MS / 1_000} s what was acknowledged before`,
      });
    }
  }

  /**
   * Runs one query in the turn of its tenant and user. The time limit is for users: the server's own queries have that
   * of the connection.
   */
  async #inTurn<Result>({ tenant, user, signal }: QueryAsker, run: () => Promise<Result>): Promise<Result> {
    if (this.#bounds === undefined) return run();
    const { turns } = this.#bounds;
    await turns.begin(tenant, user, signal);
    try {
      return await run();
    } finally {
      turns.end(tenant, user);
    }
  }

  /** What the engine says of a statement is for the log: it tells of tables, addresses and sizes. */
  #unavailable(error: unknown, asker?: QueryAsker): PlatformError {
    if (asker?.signal?.aborted === true)
      return new PlatformError('general/history-unavailable', { reason: 'the client has left' });
    const code = exceptionCodeOf(error);
    if (code === undefined && this.#bounds?.isPaused?.() === true)
      return new PlatformError('general/history-unavailable', {
        reason: 'a backup copies its files; try again in some seconds',
      });
    const { tenant, user } = asker ?? {};
    if (code !== undefined)
      this.#log.warn({ code, error: (error as Error).message, tenant, user }, 'the history store refused a query');
    const tooLarge =
      code === undefined || MEMORY_OF_ALL.test((error as Error).message) ? undefined : TOO_LARGE.get(code);
    if (code !== undefined && tooLarge !== undefined) {
      this.#bounds?.refusals.count(LIMIT_OF.get(code) as string, { tenant, user, reason: tooLarge });
      return new PlatformError('general/query-too-large', { reason: tooLarge });
    }
    return new PlatformError('general/history-unavailable', { reason: reasonOf(error, code) });
  }

  /** Whether there are rows of a tenant, deleted entities' included. */
  async hasTenant(tenant: number): Promise<boolean> {
    for (const table of TENANT_TABLES) {
      const [{ found }] = await this.query<{ found: number }>(rowsOfTenant(table, tenant));
      if (found > 0) return true;
    }
    return false;
  }

  async stream(statement: HistoryStatement, format: string): Promise<AsyncIterable<Uint8Array>> {
    try {
      await this.#visible(statement);
      await this.#tables.createTables();
      return await this.#clickHouse.stream(statement.sql, boundOf(statement), format);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      throw this.#unavailable(error);
    }
  }
}
