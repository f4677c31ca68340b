/**
 * Whole collections as CSV, JSON lines or Parquet, with the filters of their lists: read from the history in the order in which it keeps them and
 * sent as fast as the client reads, so that any length needs the same memory. With `pageSize` it is that page alone.
 */
import Type from 'typebox';
import { csvField } from '../model/csv.ts';
import { formatTime, parseTime } from '../model/iso-time.ts';
import { joinMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { textLines } from '../model/text-lines.ts';
import type { ApiRequest } from './api-request.ts';
import { namedSources } from './entity-text.ts';
import type { HistoryFilter } from './history-filter.ts';
import { pageOf } from './paging.ts';
import { ParquetWriter } from './parquet.ts';
import type { ParquetColumn } from './parquet.ts';
import type { QueryParameters } from './query-values.ts';
import { ANSWERED } from './route.ts';

export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
export const EXPORT_PARAMETERS: QueryParameters = {
  format: { schema: Type.Enum([...EXPORT_FORMATS]), description: 'The whole collection in this format, whatever Accept says; with pageSize one page of it' },
};
export const EXPORT_TYPES = ['text/csv', 'application/x-ndjson', 'application/vnd.apache.parquet'] as const;
export const EXPORT_KINDS = ['ndjson', 'csv', 'parquet'] as const;

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv;charset=UTF-8', ndjson: 'application/x-ndjson;charset=UTF-8', parquet: 'application/vnd.apache.parquet',
};
/** Rows that are made into text at once. */
const BATCH_ROWS = 200;
/** A row group of Parquet ends at one of these. */
const GROUP_ROWS = 10_000;
const GROUP_BYTES = 8 * 1024 * 1024;
/** One row of the history, that is one document. */
const LINE_LENGTH_MAX = 64 * 1024 * 1024;

type Value = string | number;
export type ExportRow = readonly string[];

/** What becomes of the rows of a collection. */
export interface ExportShape {
  readonly columns: readonly ParquetColumn[];
  /** Values of the columns, row by row; a row may give several or none. */
  values(rows: readonly ExportRow[]): Promise<readonly (readonly Value[])[]>;
  /** JSON texts, one for each entity. */
  texts(rows: readonly ExportRow[]): Promise<readonly string[]>;
}

/** How a collection of the history is exported. */
export interface ExportPlan extends ExportShape {
  /** SELECT of text columns, without LIMIT; in the order of the table's key, so that nothing is sorted. */
  readonly sql: string;
  readonly filter: HistoryFilter;
  readonly columnCount: number;
  /** Rows that belong together, for instance those of one measurement, have the same key: they are not torn apart. */
  keyOf?(row: ExportRow): string;
}

/** What is asked for; undefined for a page in JSON. */
export function exportFormat(request: ApiRequest): ExportFormat | undefined {
  const asked = request.query.text('format') as ExportFormat | undefined;
  if (asked !== undefined) return asked;
  return EXPORT_FORMATS.find((format) => format === request.kind);
}

/** Answers with the export. */
export async function exportRows(request: ApiRequest, format: ExportFormat, plan: ExportPlan): Promise<typeof ANSWERED> {
  const { filter } = plan;
  const page = request.query.has('pageSize') ? pageOf(request) : undefined;
  const limit = page === undefined ? '' : ` LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;
  const source = await request.history.stream(`${plan.sql}${limit}`, filter.params, 'TabSeparated');
  request.stream(200, CONTENT_TYPES[format]);
  // A client that leaves ends the query at once, not only with its next piece.
  request.exchange.onAborted(() => end(source));
  void request.exchange.pipe(untilOver(request, pieces(format, plan, batchesOf(plan, source))));
  return ANSWERED;
}

/** The same for rows that are read already. */
export function exportBatch(request: ApiRequest, format: ExportFormat, plan: ExportPlan, rows: readonly ExportRow[]): typeof ANSWERED {
  exportParts(request, format, plan, (async function* inParts() { yield rows; })());
  return ANSWERED;
}

/** Answers with rows that come in parts. */
export function exportParts(request: ApiRequest, format: ExportFormat, shape: ExportShape, parts: AsyncIterable<readonly ExportRow[]>): void {
  request.stream(200, CONTENT_TYPES[format]);
  void request.exchange.pipe(untilOver(request, pieces(format, shape, parts)));
}

function end(source: AsyncIterable<Uint8Array>): void {
  if ('destroy' in source) (source as { destroy(): void }).destroy();
}

/** What breaks since the client has left is no error. */
async function* untilOver(request: ApiRequest, parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
  try {
    yield* parts;
  } catch (error) {
    if (!request.exchange.isOver) throw error;
  }
}

async function* pieces(format: ExportFormat, shape: ExportShape, batches: AsyncIterable<readonly ExportRow[]>): AsyncGenerator<string | Uint8Array> {
  if (format === 'ndjson') {
    for await (const batch of batches) {
      const texts = await shape.texts(batch);
      if (texts.length > 0) yield `${texts.join('\n')}\n`;
    }
  } else if (format === 'csv') {
    yield `${shape.columns.map(({ name }) => csvField(name)).join(',')}\r\n`;
    for await (const batch of batches) yield (await shape.values(batch)).map((row) => csvLine(row, shape.columns)).join('');
  } else {
    yield* parquetPieces(shape, batches);
  }
}

async function* parquetPieces(shape: ExportShape, batches: AsyncIterable<readonly ExportRow[]>): AsyncGenerator<Uint8Array> {
  const writer = new ParquetWriter(shape.columns);
  yield writer.head;
  let rows: (readonly Value[])[] = [];
  let bytes = 0;
  for await (const batch of batches) {
    for (const row of await shape.values(batch)) {
      rows.push(row);
      for (const value of row) bytes += typeof value === 'string' ? value.length : 8;
    }
    if (rows.length < GROUP_ROWS && bytes < GROUP_BYTES) continue;
    yield await writer.rowGroup(rows);
    rows = [];
    bytes = 0;
  }
  if (rows.length > 0) yield await writer.rowGroup(rows);
  yield writer.tail;
}

/** Rows of a TabSeparated result. @throws Error for what is no row: the engine's error in the middle of it. */
async function* batchesOf(plan: ExportPlan, source: AsyncIterable<Uint8Array>): AsyncGenerator<readonly ExportRow[]> {
  let rows: ExportRow[] = [];
  for await (const lines of textLines(source, LINE_LENGTH_MAX)) {
    for (const line of lines) {
      rows.push(rowOf(line, plan.columnCount));
      if (rows.length < BATCH_ROWS) continue;
      const cut = wholeRows(plan, rows);
      if (cut === 0) continue;
      yield rows.slice(0, cut);
      rows = rows.slice(cut);
    }
  }
  if (rows.length > 0) yield rows;
}

/** How many of the rows are certain to be complete: the last key may go on. */
function wholeRows({ keyOf }: ExportPlan, rows: readonly ExportRow[]): number {
  if (keyOf === undefined) return rows.length;
  const last = keyOf(rows[rows.length - 1]);
  let cut = rows.length;
  while (cut > 0 && keyOf(rows[cut - 1]) === last) cut -= 1;
  return cut;
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', 0: '\0', a: '\x07', v: '\v' };

function rowOf(line: string, columnCount: number): ExportRow {
  const fields = line.split('\t');
  if (fields.length !== columnCount) throw new Error(`an export broke off: ${line.slice(0, 500)}`);
  return fields.map((field) => (field.includes('\\') ? field.replace(/\\(.)/gs, (_all, letter: string) => ESCAPES[letter] ?? letter) : field));
}

const csvValue = (value: Value, { type }: ParquetColumn): string => (type === 'time' ? formatTime(Number(value)) : csvField(String(value)));

const csvLine = (row: readonly Value[], columns: readonly ParquetColumn[]): string =>
  `${row.map((value, index) => csvValue(value, columns[index])).join(',')}\r\n`;

/** A collection of documents: members with columns of their own, and all others as one JSON object. */
export interface DocumentExport {
  readonly table: 'events' | 'alarms' | 'operations' | 'audits' | 'managed_objects';
  readonly filter: HistoryFilter;
  readonly members: readonly string[];
  readonly toTexts: (rows: readonly { readonly entityId: string; readonly doc: string }[]) => Promise<readonly string[]>;
}

/** The keys of the tables (store/schema.ts): read in this order nothing is sorted, but for alarms, whose key begins with the source. */
const ORDERS: Readonly<Record<DocumentExport['table'], string>> = {
  events: 'tenant, source, time, id', alarms: 'tenant, id', operations: 'tenant, id', audits: 'tenant, time, id', managed_objects: 'tenant, id',
};
const TYPE_OF_MEMBER: Readonly<Record<string, ParquetColumn['type']>> = { time: 'time', creationTime: 'time', lastUpdated: 'time', count: 'integer' };
/** The object that an entity belongs to, by table. */
const SOURCE_MEMBERS: Readonly<Partial<Record<DocumentExport['table'], string>>> = {
  events: 'source', alarms: 'source', audits: 'source', operations: 'deviceId',
};

export function documentPlan(request: ApiRequest, { table, filter, members, toTexts }: DocumentExport): ExportPlan {
  const sourceMember = SOURCE_MEMBERS[table];
  const hasDevice = sourceMember !== undefined && table !== 'audits';
  const names = ['id', ...(sourceMember === undefined ? [] : [sourceMember]), ...(hasDevice ? ['device_name'] : []), ...members, 'fragments'];
  const known = new Set(['id', 'self', ...names, 'deviceName']);
  return {
    sql: `SELECT toString(id), doc FROM ${table} FINAL ${filter.clauses(table)} ORDER BY ${ORDERS[table]}`, filter, columnCount: 2,
    columns: names.map((name) => ({ name, type: TYPE_OF_MEMBER[name] ?? 'string' })),
    texts: (rows) => toTexts(rows.map(([entityId, doc]) => ({ entityId, doc }))),
    async values(rows) {
      const entities = rows.map(([id, doc]) => ({ id, members: splitMembers(doc) }));
      const sources = entities.map((entity) => (sourceMember === undefined ? '' : sourceOf(entity.members, sourceMember)));
      const devices = hasDevice ? await namedSources(request, sources) : new Map<string, string>();
      return entities.map((entity, index) => names.map((name) => {
        if (name === 'id') return entity.id;
        if (name === sourceMember) return sources[index];
        if (name === 'device_name') return stringMember(splitMembers(devices.get(sources[index]) ?? '{}'), 'name') ?? '';
        if (name === 'fragments') return joinMembers([...entity.members].filter(([member]) => !known.has(member)));
        return valueOf(entity.members, name);
      }));
    },
  };
}

function sourceOf(members: Members, name: string): string {
  const text = members.get(name);
  return text?.startsWith('{') === true ? stringMember(splitMembers(text), 'id') ?? '' : stringMember(members, name) ?? '';
}

function valueOf(members: Members, name: string): Value {
  const type = TYPE_OF_MEMBER[name] ?? 'string';
  const text = stringMember(members, name);
  if (type === 'time') return (text === undefined ? undefined : parseTime(text)) ?? 0;
  if (type === 'integer') return Number(members.get(name) ?? 0) || 0;
  return text ?? members.get(name) ?? '';
}
