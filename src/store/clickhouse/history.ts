/** The history store on ClickHouse: both sides of it, over the one adapter adapter.ts (design 4 and 5). */
import { HistoryRefusal, SELECT_PAGE, StatementFailed } from '../../ingest/projector/history-writer.ts';
import type {
  Before,
  HistoryWriter,
  MeasurementDeletion,
  StatementState,
} from '../../ingest/projector/history-writer.ts';
import type { MeasurementColumns } from '../../ingest/measurements/columns.ts';
import type { HistoryQuery } from '../../ingest/projector/history-query.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { HistoryReader, QueryAsker } from '../../ports/history-reader.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import { PAGE_BYTES_MAX } from '../../pacing/page-limits.ts';
import { parseTime } from '../../model/documents/iso-time.ts';
import { exceptionCodeOf } from './adapter.ts';
import type { ClickHouse } from './adapter.ts';
import { HISTORY_LIMIT } from './history-bounds.ts';
import type { HistoryBounds } from './history-bounds.ts';
import { refusing } from './history-refusals.ts';
import { advance, carryOut } from './mutations.ts';
import { encodeNative } from './native-columns.ts';
import type { NativeColumn } from './native-columns.ts';
import { addProjections, deletingHead } from './projections.ts';
import { synchroniseParts } from './part-durability.ts';
import { ADDED_COLUMNS, TABLES, TUNING, USAGE_TABLES } from './schema.ts';

/** A query waits this long for what was acknowledged before it. */
const VISIBLE_TIMEOUT_MS = 10_000;
/**
 * The engine's number of a result that is larger than `max_result_bytes` of its statement, which only pages of lists
 * have.
 */
const TOO_MANY_BYTES = 396;
/** Tables with rows of tenants. */
export const TENANT_TABLES: readonly string[] = Object.entries({ ...TABLES, ...USAGE_TABLES })
  .filter(([, definition]) => definition.includes('tenant UInt32'))
  .map(([table]) => table);
/** Filters of a DELETE that ask for what an entity's changes may change. */
const CHANGING = [
  'status',
  'severity',
  'resolved',
  'fragmentType',
  'fragmentValue',
  'lastUpdatedFrom',
  'lastUpdatedTo',
];
/**
 * Filters of measurements that ask for what differs between the values of one: all of it goes when one of them matches.
 */
const OF_VALUES = ['fragmentType', 'valueFragmentType', 'valueFragmentSeries'];
/** Disks that are not of this machine say 2^64 - 1. */
const FREE_BYTES = `SELECT minOrNull(free) AS freeBytes FROM (
  SELECT policy_name, sum(toFloat64(unreserved_space)) AS free
  FROM (SELECT policy_name, arrayJoin(disks) AS disk FROM system.storage_policies) AS policies INNER JOIN system.disks AS disks ON disks.name = policies.disk
  WHERE policy_name IN (SELECT storage_policy FROM system.tables WHERE database = currentDatabase() AND storage_policy != '')
  GROUP BY policy_name)`;
/** What the client says when a request has no answer within its time. */
const TIMED_OUT = 'Timeout error.';
/** ClickHouse's UNKNOWN_SETTING. */
const UNKNOWN_SETTING = 115;

export class ClickHouseHistoryWriter implements HistoryWriter {
  readonly #clickHouse: ClickHouse;
  #tablesReady = false;

  constructor(clickHouse: ClickHouse) {
    this.#clickHouse = clickHouse;
  }

  /** Creates what is missing of the tables, once. */
  async createTables(): Promise<void> {
    if (this.#tablesReady) return;
    for (const statement of [...Object.values(TABLES), ...Object.values(USAGE_TABLES), ...ADDED_COLUMNS])
      await this.#clickHouse.command(statement);
    await synchroniseParts(this.#clickHouse);
    for (const statement of TUNING) await this.#clickHouse.command(statement).catch(passUnknownSetting);
    await addProjections(this.#clickHouse);
    this.#tablesReady = true;
  }

  /**
   * Free bytes for the tables: of the disks of their storage policy together; of the one with least where there are
   * several. Infinity when no table is there.
   */
  async freeBytes(): Promise<number> {
    const [{ freeBytes }] = await this.#clickHouse.query<{ freeBytes: number | null }>(FREE_BYTES);
    return freeBytes ?? Number.POSITIVE_INFINITY;
  }

  async insertMeasurements(columns: MeasurementColumns, token: string): Promise<void> {
    await this.createTables();
    const native = nativeColumns(columns);
    const body = encoded(native, columns.rowCount);
    // Late data may be of any month, each of which is a partition.
    await refusing(
      this.#clickHouse.insertNative(
        'measurements',
        native.map((column) => column.name),
        body,
        { insert_deduplication_token: token, max_partitions_per_insert_block: 0 },
      ),
    );
  }

  async storedMeasurements({ id, seq, shard, rowCount }: MeasurementColumns): Promise<ReadonlyMap<number, number>> {
    await this.createTables();
    const ranges = new Map<number, Bounds>();
    for (let row = 0; row < rowCount; row += 1) widen(ranges, shard[row], seq[row]);
    const ids = new Map<number, Bounds>();
    for (let row = 0; row < rowCount; row += 1) widen(ids, 0, id[row]);
    // A shard's range has no rows of another block: the result is not larger than this block.
    const where = Array.from(
      ranges,
      ([number, [first, last]]) => `(shard = ${number} AND seq BETWEEN ${first} AND ${last})`,
    ).join(' OR ');
    const [firstId, lastId] = ids.get(0) ?? [0, 0];
    const rows = await this.#clickHouse.queryForWrite<{ id: number; seq: number }>(
      `SELECT DISTINCT id, seq FROM measurements WHERE id BETWEEN {firstId:UInt64} AND {lastId:UInt64} AND (${where})`,
      { firstId, lastId },
    );
    return new Map(rows.map((row) => [row.seq, row.id]));
  }

  async insertRows(table: string, texts: readonly string[]): Promise<void> {
    await this.createTables();
    await refusing(
      this.#clickHouse.insertText(table, 'JSONEachRow', texts.join('\n'), { date_time_input_format: 'best_effort' }),
    );
  }

  async deleteMeasurements(
    { tenant, filter, seq, receivedAt }: MeasurementDeletion,
    isBegun: boolean,
  ): Promise<StatementState> {
    await this.createTables();
    const { where, params } = deleteFilter('measurements', tenant, filter);
    const selected = `${where} AND seq <= {seq:UInt64}`;
    // Most objects that are deleted never measured anything, and a mutation looks at every part.
    const isOfSources = filter.source !== undefined || filter.sources !== undefined;
    if (isOfSources && !isBegun && !(await this.#isAny(selected, { ...params, seq }))) return 'done';
    // All rows of a measurement are in one part, which is replaced as a whole: the inner query finds all of them or
    // none.
    const ofAll = `tenant = {tenant:UInt32} AND id IN (SELECT id FROM measurements WHERE ${selected})`;
    const condition = OF_VALUES.some((name) => name in filter) ? ofAll : selected;
    const statement = {
      table: 'measurements',
      head: 'DELETE FROM measurements WHERE',
      condition,
      params: { ...params, seq },
    };
    return advance(this.#clickHouse, statement, `data-deletion/${tenant}/${seq}/${receivedAt}`, isBegun);
  }

  async #isAny(where: string, params: Record<string, unknown>): Promise<boolean> {
    return (
      (await ofOne(this.#clickHouse.query(`SELECT 1 FROM measurements WHERE ${where} LIMIT 1`, params))).length > 0
    );
  }

  async selectMeasurements(
    { tenant, filter, seq }: MeasurementDeletion,
    afterId: number,
    limit: number,
  ): Promise<{ id: number; source: number }[]> {
    await this.createTables();
    const { where, params } = deleteFilter('measurements', tenant, filter);
    return ofOne(
      this.#clickHouse.query<{ id: number; source: number }>(
        `SELECT DISTINCT id, source FROM measurements WHERE ${where} AND seq <= {seq:UInt64} AND id > {after:UInt64} ORDER BY id LIMIT {limit:UInt32}`,
        { ...params, seq, after: afterId, limit },
      ),
    );
  }

  /** Rows of a tenant that exists no more. Repeatable. */
  async deleteTenant(tenant: number): Promise<void> {
    await this.createTables();
    for (const table of TENANT_TABLES)
      await carryOut(this.#clickHouse, {
        ...deletingHead(table),
        condition: 'tenant = {tenant:UInt32}',
        params: { tenant },
      });
  }

  async select(
    tenant: number,
    table: Exclude<DataDelete['table'], 'measurements'>,
    filter: DataDelete['filter'],
    afterId: number,
    before?: Before,
  ): Promise<{ id: number; source: number }[]> {
    await this.createTables();
    const { where, params } = deleteFilter(table, tenant, filter);
    let wasThere = '';
    if (before) {
      // What was changed since may have come to match only by that.
      const isSure = !CHANGING.some((name) => name in filter);
      wasThere = ` AND (version <= {beforeSeq:UInt64}${isSure ? ' OR creation_time <= fromUnixTimestamp64Milli({beforeTime:Int64})' : ''})`;
      params.beforeSeq = before.seq;
      if (isSure) params.beforeTime = before.time;
    }
    return ofOne(
      this.#clickHouse.query<{ id: number; source: number }>(
        `SELECT id, source FROM ${table} FINAL WHERE ${where}${wasThere} AND id > {after:UInt64} ORDER BY id LIMIT ${SELECT_PAGE}`,
        { ...params, after: afterId },
      ),
    );
  }
}

/**
 * Settles as `refusing`; with StatementFailed where the query alone needs more memory or time than the engine gives:
 * others may succeed.
 */
async function ofOne<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await refusing(call);
  } catch (error) {
    const { message } = error as Error;
    const code = exceptionCodeOf(error);
    const isTooLarge = code === undefined ? message === TIMED_OUT : TOO_LARGE.has(code) && !MEMORY_OF_ALL.test(message);
    throw isTooLarge ? new StatementFailed(message) : error;
  }
}

/** An older server is slower, but right. */
function passUnknownSetting(error: unknown): void {
  if (exceptionCodeOf(error) !== UNKNOWN_SETTING) throw error;
}

/** @throws HistoryRefusal what cannot be encoded today cannot be encoded tomorrow. */
function encoded(columns: readonly NativeColumn[], rows: number): Buffer {
  try {
    return encodeNative(columns, rows);
  } catch (error) {
    throw new HistoryRefusal(`not to be encoded: ${(error as Error).message}`, 0, true);
  }
}

type Bounds = [first: number, last: number];

function widen(bounds: Map<number, Bounds>, key: number, value: number): void {
  const known = bounds.get(key);
  if (known === undefined) {
    bounds.set(key, [value, value]);
    return;
  }
  known[0] = Math.min(known[0], value);
  known[1] = Math.max(known[1], value);
}

const dictionary = (name: string, values: readonly string[], indices: Uint16Array): NativeColumn => ({
  name,
  type: 'LowCardinality(String)',
  data: { kind: 'dictionary', values, indices },
});
const integers = (name: string, type: string, values: Float64Array): NativeColumn => ({
  name,
  type,
  data: { kind: 'integers', values },
});

function nativeColumns(columns: MeasurementColumns): NativeColumn[] {
  return [
    { name: 'tenant', type: 'UInt32', data: { kind: 'fixed', values: columns.tenant } },
    integers('source', 'UInt64', columns.source),
    integers('time', "DateTime64(3, 'UTC')", columns.time),
    integers('id', 'UInt64', columns.id),
    { name: 'part', type: 'UInt16', data: { kind: 'fixed', values: columns.part } },
    dictionary('type', columns.types.values, columns.type),
    dictionary('fragment', columns.fragments.values, columns.fragment),
    dictionary('series', columns.seriesNames.values, columns.series),
    { name: 'value', type: 'Float64', data: { kind: 'fixed', values: columns.value } },
    dictionary('unit', columns.units.values, columns.unit),
    { name: 'doc', type: 'String', data: { kind: 'bytes', bytes: columns.documents, lengths: columns.documentLength } },
    { name: 'shard', type: 'UInt8', data: { kind: 'fixed', values: columns.shard } },
    integers('seq', 'UInt64', columns.seq),
    ...(columns.hasForms ? [integers('form', 'UInt64', columns.form)] : []),
  ];
}

/** WHERE of the DELETE filters (docs/spec/conventions.md#deleting-collections). Values are bound. */
function deleteFilter(
  table: DataDelete['table'],
  tenant: number,
  filter: DataDelete['filter'],
): { where: string; params: Record<string, unknown> } {
  const conditions = ['tenant = {tenant:UInt32}'];
  const params: Record<string, unknown> = { tenant };
  const add = (condition: string, name: string, value: unknown): void => {
    conditions.push(condition);
    params[name] = value;
  };
  const time = table === 'operations' ? 'creation_time' : 'time';
  const bound = (column: string, operator: string, name: string): void => {
    const ms = parseTime(filter[name]);
    if (ms === undefined)
      throw new HistoryRefusal(`a DELETE with ${name}=${filter[name]} reached the history store`, 0, true);
    add(`${column} ${operator} fromUnixTimestamp64Milli({${name}:Int64})`, name, ms);
  };
  for (const name of Object.keys(filter)) {
    switch (name) {
      case 'source':
      case 'deviceId':
        add(`source = {${name}:UInt64}`, name, filter[name]);
        break;
      case 'sources':
        add('source IN {sources:Array(UInt64)}', name, filter[name].split(',').map(Number));
        break;
      case 'bulkOperationId':
        add('bulk = {bulkOperationId:UInt64}', name, filter[name]);
        break;
      case 'id':
        add('id = {id:UInt64}', name, filter[name]);
        break;
      // Only alarms take lists of types (docs/spec/alarms.md#lists).
      case 'type':
        add('has({type:Array(String)}, type)', name, table === 'alarms' ? filter[name].split(',') : [filter[name]]);
        break;
      case 'status':
      case 'severity':
        add(`has({${name}:Array(String)}, ${name})`, name, filter[name].split(','));
        break;
      case 'resolved':
        conditions.push(filter[name] === 'true' ? "status = 'CLEARED'" : "status != 'CLEARED'");
        break;
      case 'valueFragmentType':
        add('fragment = {valueFragmentType:String}', name, filter[name]);
        break;
      // Of measurements any property counts, with values or without (docs/spec/measurements.md#filters).
      case 'fragmentType':
        add(
          table === 'measurements'
            ? '(fragment = {fragmentType:String} OR JSONHas(doc, {fragmentType:String}))'
            : 'has(fragments, {fragmentType:String})',
          name,
          filter[name],
        );
        break;
      // With fragmentType: a text, or the JSON of another value (docs/spec/events.md#lists).
      case 'fragmentValue':
        add(
          '(JSONExtractString(doc, {fragmentType:String}) = {fragmentValue:String} OR JSONExtractRaw(doc, {fragmentType:String}) = {fragmentValue:String})',
          name,
          filter[name],
        );
        break;
      case 'valueFragmentSeries':
        add('series = {valueFragmentSeries:String}', name, filter[name]);
        break;
      case 'dateFrom':
        bound(time, '>=', name);
        break;
      case 'dateTo':
        bound(time, '<=', name);
        break;
      case 'createdFrom':
        bound('creation_time', '>=', name);
        break;
      case 'createdTo':
        bound('creation_time', '<=', name);
        break;
      case 'lastUpdatedFrom':
        bound('last_updated', '>=', name);
        break;
      case 'lastUpdatedTo':
        bound('last_updated', '<=', name);
        break;
      default:
        throw new HistoryRefusal(`a DELETE by ${name} reached the history store`, 0, true);
    }
  }
  return { where: conditions.join(' AND '), params };
}

/** The condition by which our statements ask for one source. */
const ONE_SOURCE = / AND source = \{(\w+):UInt64\}/;

/**
 * What a statement of ours reads: the tables that it names and, where it reads measurements of one source only, that
 * source.
 */
function queryOf(sql: string, params: Readonly<Record<string, unknown>>): HistoryQuery {
  const name = ONE_SOURCE.exec(sql)?.[1];
  const source = name === undefined ? undefined : Number(params[name]);
  const tenant = typeof params.tenant === 'number' ? params.tenant : undefined;
  return { tables: Object.keys(TABLES).filter((table) => sql.includes(table)), source, tenant };
}

type MakeVisible = (timeoutMs: number, query: HistoryQuery) => Promise<void>;

/** ClickHouse's MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED and TOO_MANY_SIMULTANEOUS_QUERIES. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [202, 'too many queries are under way'],
  [241, 'the queries under way need all memory'],
]);
/** What the engine refuses for the query itself, by its numbers: it would refuse it again. */
const TOO_LARGE: ReadonlyMap<number, string> = new Map([
  [241, `it needs more memory than one may take (${HISTORY_LIMIT.MEMORY}); ask for less, with narrower filters`],
  [
    159,
    `it took too long (${HISTORY_LIMIT.TIME}, --history-query-max-ms); ask for less, with a narrower dateFrom and dateTo`,
  ],
]);
const LIMIT_OF: ReadonlyMap<number, string> = new Map([
  [241, HISTORY_LIMIT.MEMORY],
  [159, HISTORY_LIMIT.TIME],
]);
/** Of all queries together, not of this one. */
const MEMORY_OF_ALL = /\(total\)/;

function reasonOf(error: unknown, code: number | undefined): string {
  if (code !== undefined) return REASONS.get(code) ?? `it refused the query with its code ${code}`;
  const name: unknown = (error as { code?: unknown }).code;
  return typeof name === 'string' ? `no connection (${name})` : 'it gave no answer in time';
}

/** Reads with "read your writes": what was acknowledged before the call is made visible first. */
export class ClickHouseHistoryReader implements HistoryReader {
  readonly #clickHouse: ClickHouse;
  readonly #writer: ClickHouseHistoryWriter;
  readonly #makeVisible: MakeVisible;
  readonly #log: Pick<Log, 'warn'>;
  readonly #bounds: HistoryBounds | undefined;

  /** @param bounds of all readers of the process together; none when absent. */
  constructor(
    clickHouse: ClickHouse,
    writer: ClickHouseHistoryWriter,
    makeVisible: MakeVisible,
    log: Pick<Log, 'warn'>,
    bounds?: HistoryBounds,
  ) {
    this.#clickHouse = clickHouse;
    this.#log = log;
    this.#bounds = bounds;
    this.#writer = writer;
    this.#makeVisible = makeVisible;
  }

  async query<Row>(sql: string, params: Readonly<Record<string, unknown>>, asker?: QueryAsker): Promise<Row[]> {
    try {
      await this.#makeVisible(VISIBLE_TIMEOUT_MS, queryOf(sql, params));
      await this.#writer.createTables();
      return await this.#inTurn<Row>(
        sql,
        params,
        asker ?? { tenant: typeof params.tenant === 'number' ? params.tenant : 0, user: '' },
      );
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      if (exceptionCodeOf(error) === TOO_MANY_BYTES)
        throw new PlatformError('general/page-too-large', { limit: PAGE_BYTES_MAX });
      throw this.#unavailable(error, asker);
    }
  }

  /**
   * Runs one query in the turn of its tenant and user. The time limit is for users: the server's own queries have that
   * of the connection.
   */
  async #inTurn<Row>(
    sql: string,
    params: Readonly<Record<string, unknown>>,
    { tenant, user, signal }: QueryAsker,
  ): Promise<Row[]> {
    if (this.#bounds === undefined) return this.#clickHouse.query<Row>(sql, params, {}, signal);
    const { turns, queryMsMax } = this.#bounds;
    await turns.begin(tenant, user, signal);
    try {
      return await this.#clickHouse.query<Row>(
        sql,
        params,
        user === '' ? {} : { max_execution_time: queryMsMax / 1_000 },
        signal,
      );
    } finally {
      turns.end(tenant, user);
    }
  }

  /** What the engine says of a statement is for the log: it tells of tables, addresses and sizes. */
  #unavailable(error: unknown, asker?: QueryAsker): PlatformError {
    if (asker?.signal?.aborted === true)
      return new PlatformError('general/history-unavailable', { reason: 'the client has left' });
    const code = exceptionCodeOf(error);
    const { tenant, user } = asker ?? {};
    if (code !== undefined)
      this.#log.warn({ code, error: (error as Error).message, tenant, user }, 'the history store refused a query');
    const tooLarge =
      code === undefined || MEMORY_OF_ALL.test((error as Error).message) ? undefined : TOO_LARGE.get(code);
    if (code !== undefined && tooLarge !== undefined) {
      this.#bounds?.refusals.count(LIMIT_OF.get(code) as string);
      return new PlatformError('general/query-too-large', { reason: tooLarge });
    }
    return new PlatformError('general/history-unavailable', { reason: reasonOf(error, code) });
  }

  /** Whether there are rows of a tenant, deleted entities' included. */
  async hasTenant(tenant: number): Promise<boolean> {
    for (const table of TENANT_TABLES) {
      const [{ found }] = await this.query<{ found: number }>(
        `SELECT count() AS found FROM ${table} WHERE tenant = {tenant:UInt32}`,
        { tenant },
      );
      if (found > 0) return true;
    }
    return false;
  }

  async stream(
    sql: string,
    params: Readonly<Record<string, unknown>>,
    format: string,
  ): Promise<AsyncIterable<Uint8Array>> {
    try {
      await this.#makeVisible(VISIBLE_TIMEOUT_MS, queryOf(sql, params));
      await this.#writer.createTables();
      return await this.#clickHouse.stream(sql, params, format);
    } catch (error) {
      throw this.#unavailable(error);
    }
  }
}
