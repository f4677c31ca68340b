/** The writing side of the history store on ClickHouse. */
import { anyRow, firstEntitiesOf, firstMeasurementsOf, measurementsOf } from '../../history/deletion.ts';
import { storedMeasurements } from '../../history/measurements/rows.ts';
import { WrongParameter } from '../../history/parameters.ts';
import { HistoryRefusal, SELECT_PAGE, StatementFailed } from '../../ports/stores/history-writer.ts';
import type {
  Before,
  HistoryWriter,
  MeasurementBlock,
  MeasurementDeletion,
  StatementState,
} from '../../ports/stores/history-writer.ts';
import { sourcesOf } from '../../model/commands/deletion.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { DeletionWatch } from '../../ports/deletion-watch.ts';
import { exceptionCodeOf } from './adapter.ts';
import type { ClickHouse } from './adapter.ts';
import { refusing } from './history-refusals.ts';
import { advance, carryOut, deletingTenants } from './mutations.ts';
import { encodeNative } from './native-columns.ts';
import type { NativeColumn } from './native-columns.ts';
import { deletingHead } from './projections.ts';
import { MEMORY_OF_ALL, TOO_LARGE } from './query-failures.ts';
import { HistoryTables, TENANT_TABLES } from './tables.ts';

/** Disks that are not of this machine say 2^64 - 1. */
const FREE_BYTES = `SELECT minOrNull(free) AS freeBytes FROM (
  SELECT policy_name, sum(toFloat64(unreserved_space)) AS free
  FROM (SELECT policy_name, arrayJoin(disks) AS disk FROM system.storage_policies) AS policies INNER JOIN system.disks AS disks ON disks.name = policies.disk
  WHERE policy_name IN (SELECT storage_policy FROM system.tables WHERE database = currentDatabase() AND storage_policy != '')
  GROUP BY policy_name)`;
const LINE_FEED = 0x0a;
/** Bytes of a block of measurements whose memory the next one uses again: new memory makes V8 collect the whole heap. */
const BLOCK_BYTES_KEPT = 8 * 1_048_576;
/** What the client says when a request has no answer within its time. */
const TIMED_OUT = 'Timeout error.';

export class ClickHouseHistoryWriter implements HistoryWriter {
  readonly #clickHouse: ClickHouse;
  readonly #tables: HistoryTables;
  readonly #watch: DeletionWatch | undefined;
  /** Holds the block of the last insert, which has ended. */
  #spare: Buffer | undefined;

  /** @param watch told of deletions of measurements. */
  constructor(clickHouse: ClickHouse, watch?: DeletionWatch) {
    this.#clickHouse = clickHouse;
    this.#watch = watch;
    this.#tables = new HistoryTables(clickHouse);
  }

  createTables(): Promise<void> {
    return this.#tables.create();
  }

  /**
   * Free bytes for the tables: of the disks of their storage policy together; of the one with least where there are
   * several. Infinity when no table is there.
   */
  async freeBytes(): Promise<number> {
    const [{ freeBytes }] = await this.#clickHouse.query<{ freeBytes: number | null }>(FREE_BYTES);
    return freeBytes ?? Number.POSITIVE_INFINITY;
  }

  async insertMeasurements(columns: MeasurementBlock, token: string): Promise<void> {
    await this.createTables();
    const native = nativeColumns(columns);
    const room = this.#spare;
    this.#spare = undefined;
    const body = encoded(native, columns.rowCount, room);
    // Late data may be of any month, each of which is a partition.
    await refusing(
      this.#clickHouse.insertNative(
        'measurements',
        native.map((column) => column.name),
        body,
        { insert_deduplication_token: token, max_partitions_per_insert_block: 0 },
      ),
    );
    // Only behind an answer: a request without one may still be read from this memory.
    this.#keep(room !== undefined && body.buffer === room.buffer ? room : body);
  }

  #keep(block: Buffer): void {
    if (block.length <= BLOCK_BYTES_KEPT) this.#spare = block;
  }

  async storedMeasurements({ id, seq, shard, rowCount }: MeasurementBlock): Promise<ReadonlyMap<number, number>> {
    await this.createTables();
    const ranges = new Map<number, Bounds>();
    for (let row = 0; row < rowCount; row += 1) widen(ranges, shard[row], seq[row]);
    const ids = new Map<number, Bounds>();
    for (let row = 0; row < rowCount; row += 1) widen(ids, 0, id[row]);
    const { sql, params } = storedMeasurements(ranges, ids.get(0) ?? [0, 0]);
    const rows = await this.#clickHouse.queryForWrite<{ id: number; seq: number }>(sql, params);
    return new Map(rows.map((row) => [row.seq, row.id]));
  }

  async insertRows(table: string, texts: readonly string[]): Promise<void> {
    await this.createTables();
    await refusing(
      this.#clickHouse.insertText(table, 'JSONEachRow', linesOf(texts), { date_time_input_format: 'best_effort' }),
    );
  }

  async deleteMeasurements(deletion: MeasurementDeletion, isBegun: boolean): Promise<StatementState> {
    const { tenant, seq, receivedAt } = deletion;
    const mark = `data-deletion/${tenant}/${seq}/${receivedAt}`;
    try {
      const state = await this.#deleteMeasurements(deletion, mark, isBegun);
      // It may have been begun before.
      if (state === 'done') this.#watch?.release(tenant, mark);
      return state;
    } catch (error) {
      this.#watch?.leave(tenant, mark);
      throw error;
    }
  }

  async #deleteMeasurements(deletion: MeasurementDeletion, mark: string, isBegun: boolean): Promise<StatementState> {
    await this.createTables();
    const { tenant, filter } = deletion;
    const { found, condition } = refusedWrong(() => measurementsOf(deletion));
    const { where, params } = found;
    const table = 'measurements';
    // Most deleted objects never measured anything, ids may name nothing, and a mutation looks at every part.
    const isOfSome = ['source', 'sources', 'id', 'ids'].some((name) => filter[name] !== undefined);
    if (isOfSome && !isBegun && (await ofOne(this.#clickHouse.query(anyRow(table, where), params))).length === 0)
      return 'done';
    this.#watch?.hold(tenant, mark, sourcesOf(filter));
    return advance(this.#clickHouse, { table, head: `DELETE FROM ${table} WHERE`, condition, params }, mark, isBegun);
  }

  /** Tenants whose measurements are being deleted, also by what an earlier process began; undefined when one is unknown. */
  async deletingTenants(): Promise<ReadonlySet<number> | undefined> {
    await this.createTables();
    return deletingTenants(this.#clickHouse, 'measurements');
  }

  async selectMeasurements(
    deletion: MeasurementDeletion,
    afterId: number,
    limit: number,
  ): Promise<{ id: number; source: number }[]> {
    await this.createTables();
    const { sql, params } = refusedWrong(() => firstMeasurementsOf(deletion, afterId, limit));
    return ofOne(this.#clickHouse.query<{ id: number; source: number }>(sql, params));
  }

  /** Rows of a tenant that exists no more. Repeatable. */
  async deleteTenant(tenant: number): Promise<void> {
    await this.createTables();
    const name = `tenant/${tenant}`;
    this.#watch?.hold(tenant, name);
    try {
      for (const table of TENANT_TABLES) {
        const statement = { ...deletingHead(table), condition: 'tenant = {tenant:UInt32}', params: { tenant } };
        await carryOut(this.#clickHouse, statement, name);
      }
    } catch (error) {
      this.#watch?.leave(tenant, name);
      throw error;
    }
    this.#watch?.release(tenant, name);
  }

  async select(
    tenant: number,
    table: Exclude<DataDelete['table'], 'measurements'>,
    filter: DataDelete['filter'],
    afterId: number,
    before?: Before,
  ): Promise<{ id: number; source: number }[]> {
    await this.createTables();
    const { sql, params } = refusedWrong(() =>
      firstEntitiesOf(tenant, { table, filter }, { after: afterId, before, limit: SELECT_PAGE }),
    );
    return ofOne(this.#clickHouse.query<{ id: number; source: number }>(sql, params));
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

/** @throws HistoryRefusal what cannot be encoded today cannot be encoded tomorrow. */
function encoded(columns: readonly NativeColumn[], rows: number, room: Buffer | undefined): Buffer {
  try {
    return encodeNative(columns, rows, room);
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

function nativeColumns(columns: MeasurementBlock): NativeColumn[] {
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
    ...(columns.hasTails ? [dictionary('tail', columns.tails.values, columns.tail)] : []),
  ];
}

/** @throws HistoryRefusal in place of WrongParameter: it would be wrong again. */
function refusedWrong<Value>(build: () => Value): Value {
  try {
    return build();
  } catch (error) {
    throw error instanceof WrongParameter ? new HistoryRefusal(error.message, 0, true) : error;
  }
}

/** Each text and a line feed. Joined they would be one large string in new memory, which costs ten times as much. */
function linesOf(texts: readonly string[]): Buffer {
  const lines = Buffer.allocUnsafe(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text) + 1, 0));
  let at = 0;
  for (const text of texts) {
    at += lines.write(text, at);
    lines[at] = LINE_FEED;
    at += 1;
  }
  return lines;
}
