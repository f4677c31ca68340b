/**
 * Whole collections as CSV, JSON lines or Parquet, with the filters of their lists: read in the order in which the
 * history keeps them, piece by piece (source.ts), and sent as fast as the client reads, so that any length needs the
 * same memory. With `pageSize` it is that page of the list.
 */
import Type from 'typebox';
import { isActive } from '../../accounts/tenants/tenants.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { csvText } from '../../model/documents/csv.ts';
import { formatTime, parseTime } from '../../model/documents/iso-time.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { PlatformError } from '../../model/errors.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import type { ApiRequest } from '../request/request.ts';
import { documentPage } from '../../history/page.ts';
import type { TimeOrder } from '../../history/page.ts';
import { exportReaders, listReaders } from '../lists/readers.ts';
import { namedSources } from '../entities/text.ts';
import { documentBatches } from '../../history/batches.ts';
import type { ExportRow } from '../../history/batches.ts';
import type { HistoryFilter } from '../../history/filter.ts';
import type { Page } from '../../model/documents/page.ts';
import { ParquetWriter, groupRoom } from './parquet.ts';
import type { ParquetColumn } from './parquet.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { ANSWERED } from '../request/answer.ts';

const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
export const EXPORT_PARAMETERS: QueryParameters = {
  format: {
    schema: Type.Enum([...EXPORT_FORMATS]),
    description: 'The whole collection in this format, whatever Accept says; with pageSize one page of it',
  },
};
export const EXPORT_TYPES = ['text/csv', 'application/x-ndjson', 'application/vnd.apache.parquet'] as const;
export const EXPORT_KINDS = ['ndjson', 'csv', 'parquet'] as const;

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv;charset=UTF-8',
  ndjson: 'application/x-ndjson;charset=UTF-8',
  parquet: 'application/vnd.apache.parquet',
};
/** Rows that are made into text at once. */
const BATCH_ROWS = 200;

type Value = string | number;

/** What becomes of the rows of a collection. */
export interface ExportShape {
  readonly columns: readonly ParquetColumn[];
  /** Values of the columns, row by row; a row may give several or none. */
  values(rows: readonly ExportRow[]): Promise<readonly (readonly Value[])[]>;
  /** JSON texts, one for each entity. */
  texts(rows: readonly ExportRow[]): Promise<readonly string[]>;
}

/** What is asked for; undefined for a page in JSON. */
export function exportFormat(request: ApiRequest): ExportFormat | undefined {
  const asked = request.query.text('format') as ExportFormat | undefined;
  if (asked !== undefined) return asked;
  return EXPORT_FORMATS.find((format) => format === request.kind);
}

/** Begins the answer: a file of the collection's name. */
function streamFile(request: ApiRequest, format: ExportFormat): void {
  const segments = request.route.path.split('/').filter((segment) => !segment.startsWith('{'));
  const name = `${segments.at(-1) ?? ''}.${format}`;
  request.stream(200, CONTENT_TYPES[format], ['Content-Disposition', attachmentHeader(name)]);
}

/**
 * Answers with rows that come in batches. The first is read before anything is sent: what is refused then is an answer
 * of its own.
 */
export async function exportRows(
  request: ApiRequest,
  format: ExportFormat,
  shape: ExportShape,
  batches: AsyncIterator<readonly ExportRow[]>,
): Promise<typeof ANSWERED> {
  const ended = request.platform.exports.begin(request.principal);
  try {
    const hasRecord = (await userOf(request)) !== undefined;
    let next = await batches.next();
    streamFile(request, format);
    const all = (async function* continued() {
      for (; next.done !== true; next = await batches.next()) {
        await requireAccess(request, hasRecord);
        yield next.value;
      }
    })();
    void request.exchange.pipe(untilOver(request, pieces(format, shape, all))).finally(ended);
  } catch (error) {
    ended();
    throw error;
  }
  return ANSWERED;
}

/** Name of the counter and in the log. */
const ACCESS_ENDED = 'exports/access-ended';

const userOf = ({ platform, principal }: ApiRequest): string | undefined | Promise<string | undefined> =>
  platform.documents.get('user', principal.tenantNumber, principal.userName);

/**
 * An export may take hours: it is broken off when its tenant is suspended, or its user disabled or deleted, meanwhile.
 * @param hasRecord those of bootstrap users are elsewhere. @throws PlatformError 401.
 */
async function requireAccess(request: ApiRequest, hasRecord: boolean): Promise<void> {
  const { platform, principal } = request;
  // What is for everybody.
  if (principal.tenantNumber === 0) return;
  if (isActive(platform.tenants.byNumber(principal.tenantNumber))) {
    const text = hasRecord ? await userOf(request) : '{"enabled":true}';
    if (text !== undefined && (JSON.parse(text) as StoredUser).enabled) return;
  }
  request.refused(ACCESS_ENDED);
  throw new PlatformError('security/unauthorized');
}

/** Answers with a page, whose rows are read already. */
export function exportPage(
  request: ApiRequest,
  format: ExportFormat,
  shape: ExportShape,
  batches: Iterable<readonly ExportRow[]>,
): typeof ANSWERED {
  streamFile(request, format);
  void request.exchange.pipe(
    untilOver(
      request,
      pieces(
        format,
        shape,
        (async function* asRead() {
          yield* batches;
        })(),
      ),
    ),
  );
  return ANSWERED;
}

/** @throws PlatformError `general/invalid-parameter` for an order that an export without `pageSize` has not. */
export function requireOwnOrder(
  { query }: ApiRequest,
  wanted?: { readonly name: string; readonly value: string },
): void {
  const { name, value } = wanted ?? { name: 'revert', value: 'true' };
  if (query.has('pageSize') || (wanted === undefined && !query.isTrue('revert'))) return;
  const limit = 'no order in an export of the whole list, which has its own; pageSize asks for a page';
  throw new PlatformError('general/invalid-parameter', { name, value, limit });
}

/** An export that breaks because its client has left is not an error. */
async function* untilOver(
  request: ApiRequest,
  parts: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  try {
    yield* parts;
  } catch (error) {
    if (!request.exchange.isOver) throw error;
  }
}

async function* pieces(
  format: ExportFormat,
  shape: ExportShape,
  batches: AsyncIterable<readonly ExportRow[]>,
): AsyncGenerator<string | Uint8Array> {
  if (format === 'ndjson') {
    for await (const batch of batches) {
      const texts = await shape.texts(batch);
      if (texts.length > 0) yield `${texts.join('\n')}\n`;
    }
  } else if (format === 'csv') {
    yield `${shape.columns.map(({ name }) => csvText(name)).join(',')}\r\n`;
    for await (const batch of batches)
      yield (await shape.values(batch)).map((row) => csvLine(row, shape.columns)).join('');
  } else {
    yield* parquetPieces(shape, batches);
  }
}

async function* parquetPieces(
  shape: ExportShape,
  batches: AsyncIterable<readonly ExportRow[]>,
): AsyncGenerator<Uint8Array> {
  const writer = new ParquetWriter(shape.columns);
  let rows: (readonly Value[])[] = [];
  let bytes = 0;
  let groups = 0;
  for await (const batch of batches) {
    for (const row of await shape.values(batch)) {
      rows.push(row);
      for (const value of row) bytes += typeof value === 'string' ? value.length : 8;
      const room = groupRoom(groups);
      if (rows.length < room.rows && bytes < room.bytes) continue;
      yield writer.rowGroup(rows);
      groups += 1;
      rows = [];
      bytes = 0;
    }
  }
  if (rows.length > 0) yield writer.rowGroup(rows);
  yield writer.end();
}

const csvValue = (value: Value, { type }: ParquetColumn): string =>
  type === 'time' ? formatTime(Number(value)) : csvText(String(value));

const csvLine = (row: readonly Value[], columns: readonly ParquetColumn[]): string =>
  `${row.map((value, index) => csvValue(value, columns[index])).join(',')}\r\n`;

/** A collection of documents: members with columns of their own, and all others as one JSON object. */
export interface DocumentExport {
  readonly table: 'events' | 'alarms' | 'operations' | 'audits' | 'managed_objects';
  readonly filter: HistoryFilter;
  /** Of the list. */
  readonly order: string | TimeOrder;
  readonly members: readonly string[];
  readonly toTexts: (
    rows: readonly { readonly entityId: string; readonly doc: string }[],
  ) => Promise<readonly string[]>;
}

const TYPE_OF_MEMBER: Readonly<Record<string, ParquetColumn['type']>> = {
  time: 'time',
  creationTime: 'time',
  lastUpdated: 'time',
  count: 'integer',
};
/** The object that an entity belongs to, by table. */
const SOURCE_MEMBERS: Readonly<Partial<Record<DocumentExport['table'], string>>> = {
  events: 'source',
  alarms: 'source',
  audits: 'source',
  operations: 'deviceId',
};

/** Answers with the page that is asked for, or with the whole list. */
export async function exportDocuments(
  request: ApiRequest,
  format: ExportFormat,
  page: Page,
  list: DocumentExport,
): Promise<typeof ANSWERED> {
  const { table, filter, order } = list;
  const shape = documentShape(request, list);
  requireOwnOrder(request);
  if (!request.query.has('pageSize'))
    return exportRows(request, format, shape, documentBatches(exportReaders(request), table, filter));
  const { rows } = await documentPage(listReaders(request), table, filter, order, { ...page, wantsTotal: false });
  return exportPage(request, format, shape, batchesOf(rows.map(({ entityId, doc }) => [entityId, doc])));
}

function* batchesOf(rows: readonly ExportRow[]): Generator<readonly ExportRow[]> {
  for (let start = 0; start < rows.length; start += BATCH_ROWS) yield rows.slice(start, start + BATCH_ROWS);
}

function documentShape(request: ApiRequest, { table, members, toTexts }: DocumentExport): ExportShape {
  const sourceMember = SOURCE_MEMBERS[table];
  const hasDevice = sourceMember !== undefined && table !== 'audits';
  const names = [
    'id',
    ...(sourceMember === undefined ? [] : [sourceMember]),
    ...(hasDevice ? ['device_name'] : []),
    ...members,
    'fragments',
  ];
  // Members of clients may be called like a column that is made here.
  const known = new Set(['id', 'self', ...(sourceMember === undefined ? [] : [sourceMember]), ...members]);
  return {
    columns: names.map((name) => ({ name, type: TYPE_OF_MEMBER[name] ?? 'string' })),
    texts: (rows) => toTexts(rows.map(([entityId, doc]) => ({ entityId, doc }))),
    async values(rows) {
      const entities = rows.map(([id, doc]) => ({ id, members: splitMembers(doc) }));
      const sources = entities.map((entity) =>
        sourceMember === undefined ? '' : sourceOf(entity.members, sourceMember),
      );
      const devices = hasDevice ? await namedSources(request, sources) : new Map<string, string>();
      return entities.map((entity, index) =>
        names.map((name) => {
          if (name === 'id') return entity.id;
          if (name === sourceMember) return sources[index];
          if (name === 'device_name')
            return stringMember(splitMembers(devices.get(sources[index]) ?? '{}'), 'name') ?? '';
          if (name === 'fragments') return joinMembers([...entity.members].filter(([member]) => !known.has(member)));
          return valueOf(entity.members, name);
        }),
      );
    },
  };
}

function sourceOf(members: Members, name: string): string {
  const text = members.get(name);
  return text?.startsWith('{') === true
    ? (stringMember(splitMembers(text), 'id') ?? '')
    : (stringMember(members, name) ?? '');
}

function valueOf(members: Members, name: string): Value {
  const type = TYPE_OF_MEMBER[name] ?? 'string';
  const text = stringMember(members, name);
  if (type === 'time') return (text === undefined ? undefined : parseTime(text)) ?? 0;
  if (type === 'integer') return Number(members.get(name) ?? 0) || 0;
  return text ?? members.get(name) ?? '';
}
