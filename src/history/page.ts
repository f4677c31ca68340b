/**
 * One page of the documents of a list. The history tells which entities are on it, from its narrow columns; their texts
 * come from the documents, which have them by id. So a page costs the same work whatever stands before it, but for the
 * narrow rows that have to be passed over.
 */
import { PlatformError } from '../model/errors.ts';
import type { Collection } from '../model/commands/collections.ts';
import { BOUNDED_RESULT, PAGE_BYTES_LIMIT, PAGE_BYTES_MAX } from '../pacing/page-limits.ts';
import { IN_PARTITIONS } from './filter.ts';
import type { DocumentRow, HistoryFilter, MutableTable } from './filter.ts';
import { isNoPage } from '../model/documents/page.ts';
import type { Page } from '../model/documents/page.ts';
import type { HistoryStatement } from '../ports/history-reader.ts';
import type { ListReaders } from './readers.ts';
import { cachedTotal, countStatement } from './totals.ts';

/** By the time of the entities, equal ones by id. */
export interface TimeOrder {
  readonly isDescending: boolean;
}

export interface DocumentPage {
  readonly rows: readonly DocumentRow[];
  /** All that match, when the page wants it. */
  readonly total: number | undefined;
  /** Whether there may be more. */
  readonly isFull: boolean;
}

/** Where texts are by id; those of audit records are in the history only. */
const COLLECTIONS: Readonly<Partial<Record<MutableTable, Collection>>> = {
  managed_objects: 'managedObject',
  alarms: 'alarm',
  events: 'event',
  operations: 'operation',
};
/** The column of a time order. */
const TIME_COLUMNS: Readonly<Partial<Record<MutableTable, string>>> = {
  alarms: 'time',
  events: 'time',
  audits: 'time',
  operations: 'creation_time',
};
/**
 * Tables of which the engine can read the latest or earliest rows without looking at the others: it keeps an order by
 * time (store/clickhouse/schema.ts). `keys` are the same in all versions of an entity, tombstones included; `others`
 * can be asked for too. `moves`: versions may have other times.
 */
const BY_TIME: Readonly<
  Partial<
    Record<
      MutableTable,
      { readonly keys: readonly string[]; readonly others: readonly string[]; readonly moves: boolean }
    >
  >
> = {
  events: { keys: ['source', 'time'], others: ['type', 'fragments', 'creation_time', 'last_updated'], moves: false },
  audits: { keys: ['time'], others: ['type', 'user', 'application'], moves: false },
  alarms: {
    keys: ['source'],
    others: ['time', 'type', 'status', 'severity', 'creation_time', 'last_updated', 'fragments'],
    moves: true,
  },
};
/** Rows that are read beyond those of the page, for versions that are no longer true. */
const WINDOW_SLACK = 1_000;
/** No window is larger: reading everything costs little more then. */
const WINDOW_MAX = 1_000_000;
/**
 * Verifying a row of a type costs as much as reading this number of rows of the table with FINAL, which passes over other types
 * before it merges (docs/internals/performance.md). Rows of a fragment or of a time of creation are cheaper to verify: they stand
 * closer together, or are not passed over before.
 */
const ROWS_OF_ONE_VERIFIED = 400;
/** Up to this number, rows are verified without asking how large the table is. */
const VERIFIED_ALWAYS = 10_000;
/** Texts that are asked for at once, and what they may have together. */
const TEXTS_AT_ONCE = 100;
const TEXTS_AT_ONCE_BYTES = 8 * 1024 * 1024;
/**
 * Texts that the history is asked for at once by an export: a statement takes 30 ms, and bounds its result by itself.
 */
const STORED_AT_ONCE = 1_000;
/** Estimate of what a key takes in memory. */
const KEY_BYTES = 120;
/** A batch of an export is complete with one of these. */
const BATCH_ROWS = 200;
const BATCH_LENGTH = 4 * 1024 * 1024;

export interface Key {
  readonly entityId: string;
  readonly at: number | string;
}
/** With the number of rows in the window, and the latest time there. */
interface WindowKey extends Key {
  readonly seen: number | string;
  readonly edge: number | string;
}

/**
 * @param order SQL of the ORDER BY clause, from the code only, or by time. @throws PlatformError
 * `general/page-too-large`.
 */
export async function documentPage(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  order: string | TimeOrder,
  page: Page,
): Promise<DocumentPage> {
  // Before values are bound for the page: pages of all sizes share the total.
  const counting = page.wantsTotal && !filter.isOfPart ? countStatement(table, filter) : undefined;
  const keys = isNoPage(page) ? [] : await knownKeys(readers, table, filter, order, page);
  const total = counting === undefined ? undefined : await totalOf(readers, counting, page, keys.length);
  const rows = await refusalsCounted(readers, textsOf(readers, table, filter, keys));
  return { rows, total, isFull: keys.length >= page.size };
}

/** A page that is not full tells how many there are. */
function totalOf(readers: ListReaders, counting: HistoryStatement, page: Page, found: number): Promise<number> {
  const isLast = found < page.size && (found > 0 || page.offset === 0);
  return isLast ? Promise.resolve(page.offset + found) : cachedTotal(readers, counting);
}

/** As keysOf, from memory where nothing has changed since. */
function knownKeys(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  order: string | TimeOrder,
  page: Page,
): Promise<readonly Key[]> {
  const read = (): Promise<readonly Key[]> => keysOf(readers, table, filter, order, page);
  if (readers.known === undefined) return read();
  const name = JSON.stringify([table, filter.where, order, page.offset, page.size]);
  return readers.known.answer(filter.statement([table], name), read, (keys) => keys.length * KEY_BYTES);
}

async function keysOf(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  order: string | TimeOrder,
  page: Page,
): Promise<readonly Key[]> {
  const timeColumn = TIME_COLUMNS[table];
  if (typeof order !== 'string') {
    const inWindow = await keysInWindow(readers, table, filter, order, page);
    if (inWindow !== undefined) return inWindow;
  }
  const at = timeColumn === undefined ? 'id' : `toUnixTimestamp64Milli(${timeColumn})`;
  const direction = typeof order === 'string' || !order.isDescending ? '' : ' DESC';
  const sorted = typeof order === 'string' ? order : `${timeColumn}${direction}, id${direction}`;
  const clauses = `${filter.clauses(table)} ORDER BY ${sorted} ${limits(filter, page)} ${IN_PARTITIONS}`;
  return readers.history.query<Key>(
    filter.statement([table], `SELECT toString(id) AS entityId, ${at} AS at FROM ${table} FINAL ${clauses}`),
  );
}

const limits = (filter: HistoryFilter, page: Page): string =>
  `LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;

/**
 * Reads the first rows by time and takes the last version of each entity, or, where that does not tell all, verifies
 * them.
 * @returns undefined where this is not possible, where reading the whole table costs less, or where too many rows are
 * no longer true.
 */
async function keysInWindow(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  order: TimeOrder,
  page: Page,
): Promise<readonly Key[] | undefined> {
  const byTime = BY_TIME[table];
  const parts = byTime === undefined ? undefined : filter.parts(byTime.keys, byTime.others);
  const rowsMax = page.offset + page.size + WINDOW_SLACK;
  if (byTime === undefined || parts === undefined || rowsMax > WINDOW_MAX) return undefined;
  const direction = order.isDescending ? 'DESC' : 'ASC';
  const timeColumn = TIME_COLUMNS[table] as string;
  const entity = `${timeColumn} ${direction}, id ${direction}`;
  // All columns of the key in one direction: only then it is read in its order. Those before the time are the same in
  // all rows.
  const read = ['tenant', ...(filter.isOfOne('source') ? ['source'] : []), timeColumn, 'id', 'version']
    .map((name) => `${name} ${direction}`)
    .join(', ');
  const first = `ORDER BY ${read} LIMIT ${filter.bind('UInt64', rowsMax)}`;
  if (byTime.moves || parts.others !== '') {
    if (
      filter.isOn('type') &&
      rowsMax > VERIFIED_ALWAYS &&
      rowsMax * ROWS_OF_ONE_VERIFIED > (await storedRows(readers, table))
    )
      return undefined;
    const columns = [...new Set([...byTime.keys, timeColumn, 'id'])].join(', ');
    const candidates = `SELECT ${columns}, version FROM ${table} WHERE ${parts.keys}${parts.others} AND deleted = 0 ${first}`;
    return verifiedKeys(
      readers,
      { table, timeColumn, entity, candidates, key: [...byTime.keys, 'id'].join(', ') },
      filter,
      rowsMax,
      page,
    );
  }
  const sql =
    `SELECT toString(id) AS entityId, toUnixTimestamp64Milli(${timeColumn}) AS at, seen, edge FROM (` +
    `SELECT *, count() OVER () AS seen, toUnixTimestamp64Milli(max(${timeColumn}) OVER ()) AS edge FROM (` +
    `SELECT id, ${timeColumn}, version, deleted FROM ${table} WHERE ${parts.keys} ${first}) ` +
    `ORDER BY ${entity}, version DESC LIMIT 1 BY ${timeColumn}, id) WHERE deleted = 0 ORDER BY ${entity} ${limits(filter, page)}`;
  const found = await readers.history.query<WindowKey>(filter.statement([table], sql));
  return isWhole(found, rowsMax, page, order.isDescending) ? found : undefined;
}

/** Of all tenants, versions included. */
const storedRows = (readers: ListReaders, table: MutableTable): Promise<number> =>
  cachedTotal(readers, {
    sql: 'SELECT sum(rows) AS total FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String}',
    params: { table },
    tables: [],
    tenant: undefined,
  });

/** Statements of a window whose rows match but may be versions that are no longer true. */
interface Candidates {
  readonly table: MutableTable;
  readonly timeColumn: string;
  /** Of the ORDER BY clause. */
  readonly entity: string;
  readonly candidates: string;
  /** Columns of the table's key behind the tenant, and the id. */
  readonly key: string;
}

/** Leaves out rows of which there is a later version. */
async function verifiedKeys(
  readers: ListReaders,
  { table, timeColumn, entity, candidates, key }: Candidates,
  filter: HistoryFilter,
  rowsMax: number,
  page: Page,
): Promise<readonly Key[] | undefined> {
  const latest = `SELECT id, max(version) FROM ${table} WHERE tenant = {tenant:UInt32} AND (${key}) IN (SELECT ${key} FROM (${candidates})) GROUP BY id`;
  const sql =
    `SELECT toString(id) AS entityId, toUnixTimestamp64Milli(${timeColumn}) AS at, seen ` +
    `FROM (SELECT *, count() OVER () AS seen FROM (${candidates})) WHERE (id, version) IN (${latest}) ` +
    `ORDER BY ${entity} LIMIT 1 BY id ${limits(filter, page)}`;
  const found = await readers.history.query<Omit<WindowKey, 'edge'>>(filter.statement([table], sql));
  if (found.length >= page.size) return found;
  const [row] =
    found.length > 0
      ? found
      : await readers.history.query<{ seen: number | string }>(
          filter.statement([table], `SELECT count() AS seen FROM (${candidates})`),
        );
  return row === undefined || Number(row.seen) >= rowsMax ? undefined : found;
}

/**
 * Whether nothing behind the window belongs to the page, nor decides about what is on it. Read forwards, the versions
 * of an entity ascend: the window may end before the last one of its last entity.
 */
function isWhole(found: readonly WindowKey[], rowsMax: number, page: Page, isDescending: boolean): boolean {
  if (found.length === 0) return false;
  if (Number(found[0].seen) < rowsMax) return true;
  return found.length >= page.size && (isDescending || Number(found[found.length - 1].at) < Number(found[0].edge));
}

/** @throws PlatformError `general/page-too-large`. */
async function textsOf(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  keys: readonly Key[],
): Promise<DocumentRow[]> {
  const collection = COLLECTIONS[table];
  const texts = new Map<string, string>();
  let bytes = 0;
  const missing: Key[] = [];
  const atOnce = textsAtOnce(readers);
  for (let start = 0; start < keys.length; start += atOnce) {
    const some = keys.slice(start, start + atOnce);
    const found =
      collection === undefined
        ? []
        : await readers.documents.getMany(
            collection,
            readers.tenant,
            some.map(({ entityId }) => entityId),
          );
    some.forEach((key, index) => {
      const doc = found[index];
      if (doc === undefined) missing.push(key);
      else texts.set(key.entityId, doc);
      bytes += doc?.length ?? 0;
    });
    if (bytes > PAGE_BYTES_MAX) throw new PlatformError('general/page-too-large', { limit: PAGE_BYTES_MAX });
  }
  if (missing.length > 0)
    for (const { entityId, doc } of await storedTexts(readers, table, filter, missing)) texts.set(entityId, doc);
  return keys.flatMap(({ entityId }) => {
    const doc = texts.get(entityId);
    return doc === undefined ? [] : [{ entityId, doc }];
  });
}

/** How large they are is known when they are there only. */
const textsAtOnce = ({ textBytesMax }: ListReaders): number =>
  Math.max(1, Math.min(TEXTS_AT_ONCE, Math.floor(TEXTS_AT_ONCE_BYTES / textBytesMax)));

/** Texts of any number of documents, in their order and in batches of a few MB. Deleted ones are left out. */
export async function* textBatches(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  keys: readonly Key[],
): AsyncGenerator<readonly DocumentRow[]> {
  const atOnce = COLLECTIONS[table] === undefined ? STORED_AT_ONCE : textsAtOnce(readers);
  let batch: DocumentRow[] = [];
  let length = 0;
  for (let start = 0; start < keys.length; start += atOnce) {
    for await (const row of fewTexts(readers, table, filter, keys.slice(start, start + atOnce))) {
      batch.push(row);
      length += row.doc.length;
      if (length < BATCH_LENGTH && batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
      length = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** Halves what is too large for one answer of the history. */
async function* fewTexts(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  keys: readonly Key[],
): AsyncGenerator<DocumentRow> {
  let rows: readonly DocumentRow[];
  try {
    // Values are bound for each statement: the filter of the export is not to grow with it.
    rows = await textsOf(readers, table, filter.copy(), keys);
  } catch (error) {
    if (keys.length === 1 || !(error instanceof PlatformError) || error.code !== 'general/page-too-large') throw error;
    const half = keys.length >> 1;
    yield* fewTexts(readers, table, filter, keys.slice(0, half));
    yield* fewTexts(readers, table, filter, keys.slice(half));
    return;
  }
  yield* rows;
}

/** Texts as the history has them. Times and ids narrow what it reads. */
function storedTexts(
  readers: ListReaders,
  table: MutableTable,
  filter: HistoryFilter,
  keys: readonly Key[],
): Promise<DocumentRow[]> {
  const timeColumn = TIME_COLUMNS[table];
  const distinct = filter.bind('Array(Int64)', [...new Set(keys.map(({ at }) => Number(at)))]);
  const times =
    timeColumn === undefined || table === 'alarms' || table === 'operations'
      ? ''
      : ` AND ${timeColumn} IN (SELECT fromUnixTimestamp64Milli(arrayJoin(${distinct}), 'UTC'))`;
  // Ids of audit records are beyond what a number holds.
  const ids = `id IN (SELECT toUInt64(arrayJoin(${filter.bind(
    'Array(String)',
    keys.map(({ entityId }) => entityId),
  )})))`;
  const sql = `SELECT toString(id) AS entityId, doc FROM ${table} FINAL WHERE ${filter.where}${times} AND ${ids} LIMIT ${filter.bind('UInt32', keys.length)}`;
  return readers.history.query<DocumentRow>(filter.statement([table], `${sql}${BOUNDED_RESULT}`));
}

/** Counts a page that is refused for its size. */
export async function refusalsCounted<Result>(
  { refusals, tenant }: Pick<ListReaders, 'refusals' | 'tenant'>,
  result: Promise<Result>,
): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'general/page-too-large')
      refusals.count(PAGE_BYTES_LIMIT, { tenant });
    throw error;
  }
}
