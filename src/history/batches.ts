/**
 * The rows of exports, in the order of the table's key: pieces of bounded size, each with a query of its own that
 * begins behind the last row of the one before. Nothing of the history is held while a client reads.
 */
import type { HistoryStatement } from '../ports/history-reader.ts';
import type { HistoryFilter, MutableTable } from './filter.ts';
import { textBatches } from './page.ts';
import type { ExportReaders } from './readers.ts';

export type ExportRow = readonly string[];

/** Narrow rows that are read at once, in the engine's memory and ours. */
const PIECE_KEYS = 20_000;

/**
 * The keys of the tables behind the tenant (store/clickhouse/schema.ts): read in this order nothing is sorted, and they
 * are the same in all versions of an entity.
 */
const KEYS: Readonly<Record<MutableTable, readonly KeyColumn[]>> = {
  events: ['source', 'time', 'id'],
  alarms: ['source', 'id'],
  operations: ['id'],
  audits: ['time', 'id'],
  managed_objects: ['id'],
};

/** Where a row is in the order of a key. Of tables whose key has neither, source and time are any text. */
export interface KeyRow {
  readonly entityId: string;
  readonly sourceId: string;
  readonly at: string | number;
  readonly part?: number;
}
type KeyColumn = 'source' | 'time' | 'id' | 'part';

/** Ids and texts of the documents that match. */
export async function* documentBatches(
  readers: ExportReaders,
  table: MutableTable,
  filter: HistoryFilter,
): AsyncGenerator<readonly ExportRow[]> {
  for await (const keys of keyPieces(readers, table, filter)) {
    for await (const rows of textBatches(readers, table, filter, keys))
      yield rows.map(({ entityId, doc }) => [entityId, doc]);
  }
}

async function* keyPieces(
  readers: ExportReaders,
  table: MutableTable,
  filter: HistoryFilter,
): AsyncGenerator<readonly KeyRow[]> {
  const key = KEYS[table];
  const columns =
    `toString(id) AS entityId, ${key.includes('source') ? 'toString(source)' : "''"} AS sourceId, ` +
    `${key.includes('time') ? 'toUnixTimestamp64Milli(time)' : '0'} AS at`;
  yield* piecesOf<KeyRow>(readers, { rowsMax: PIECE_KEYS }, (after) => {
    const piece = filter.copy();
    if (after !== undefined) piece.addOfKey(behind(piece, key, after));
    const sql = `SELECT ${columns} FROM ${table} FINAL ${piece.clauses(table)} ORDER BY tenant, ${key.join(', ')} LIMIT ${PIECE_KEYS}`;
    return piece.statement([table], sql);
  });
}

/** Rows behind one, in the order of the columns. */
export function behind(filter: HistoryFilter, columns: readonly KeyColumn[], after: KeyRow): string {
  const values: Readonly<Record<KeyColumn, string>> = {
    // Ids of audit records are beyond what a number holds.
    id: `toUInt64(${filter.bind('String', after.entityId)})`,
    source: filter.bind('UInt64', Number(after.sourceId)),
    time: `fromUnixTimestamp64Milli(${filter.bind('Int64', Number(after.at))}, 'UTC')`,
    part: filter.bind('UInt16', after.part ?? 0),
  };
  // Written out: the engine finds a range of its key in this, and in a comparison of tuples not always.
  const steps = columns.map((column, index) => [
    ...columns.slice(0, index).map((before) => `${before} = ${values[before]}`),
    `${column} > ${values[column]}`,
  ]);
  return `(${steps.map((step) => step.join(' AND ')).join(' OR ')})`;
}

/**
 * @param options.rowsMax of a statement; a piece with fewer is the last, unless `mayBeCut`: then one without any is.
 */
interface PieceOptions {
  readonly rowsMax: number;
  readonly mayBeCut?: boolean;
}

/**
 * Runs the statement that `statementBehind` makes for the last row of the piece before, until there is nothing more.
 */
export async function* piecesOf<Row>(
  readers: ExportReaders,
  { rowsMax, mayBeCut = false }: PieceOptions,
  statementBehind: (after: Row | undefined) => HistoryStatement,
): AsyncGenerator<readonly Row[]> {
  let after: Row | undefined;
  // What was acknowledged before the export began is in its first piece's time; later pieces wait for nothing.
  for (let { history } = readers; ; history = readers.later) {
    const statement = statementBehind(after);
    const rows = await readers.inTurn(() => history.query<Row>(statement));
    after = rows.at(-1);
    if (after === undefined) return;
    yield rows;
    if (!mayBeCut && rows.length < rowsMax) return;
  }
}
