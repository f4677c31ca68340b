/** Rows of the mutable tables (store/clickhouse/schema.ts) as JSON text, made from a document's members. */
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { joinMembers, quotedName, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { TIME_MAX, TIME_MIN, isEntityTime } from '../../model/documents/entity-time.ts';
import { formatTime, parseTime } from '../../model/documents/iso-time.ts';
import { NOT_FRAGMENTS } from '../../model/entities/fragments.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';

/**
 * Of data: what means something in a kind of data is not a fragment there. Any other name is one: an event may have a
 * `status` or a `name`.
 */
const NOT_FRAGMENTS_OF = {
  events: new Set(['id', 'self', 'type', 'creationTime', 'lastUpdated', 'source', 'time', 'text']),
  alarms: new Set([
    'id',
    'self',
    'type',
    'creationTime',
    'lastUpdated',
    'source',
    'time',
    'text',
    'status',
    'severity',
    'count',
    'firstOccurrenceTime',
    'firstOccurenceTime',
  ]),
  operations: new Set([
    'id',
    'self',
    'creationTime',
    'deviceId',
    'deviceName',
    'status',
    'bulkOperationId',
    'failureReason',
    'description',
  ]),
} as const;

/** Names of the members that are fragments, as JSON text. */
function fragmentNames(members: Members, others: ReadonlySet<string>): string {
  let names = '';
  for (const name of members.keys())
    if (!others.has(name)) names += names === '' ? quotedName(name) : `,${quotedName(name)}`;
  return `[${names}]`;
}

/**
 * One row that the history store cannot read would hold up all that follow: `\\ud800` in a name is replaced, the
 * document keeps it.
 */
const withoutLoneSurrogates = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value;

/** Id of a bulk operation, 0 for anything that is none. */
function bulkOperationId(members: Members): number {
  const id = Number(stringMember(members, 'bulkOperationId') ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

/** @param columns `"name":value` of each, in JSON, but for those that all rows have. */
function row(command: JournalCommand, table: string, columns: string, tenant = command.tenant): HistoryRow {
  const { seq, shard } = command;
  const text = `{"tenant":${tenant},${columns},"version":${seq},"shard":${shard},"seq":${seq}}`;
  return {
    table,
    seq,
    text: text.includes('\\ud') ? JSON.stringify(JSON.parse(text) as object, withoutLoneSurrogates) : text,
  };
}

/**
 * JSON text of a DateTime64(3) as ClickHouse reads it. Times outside of its years are moved to its edge; the document
 * keeps what was sent.
 */
const dateTime = (ms: number): string => columnOfIso(formatTime(Math.min(Math.max(ms, TIME_MIN), TIME_MAX)));

/** @param iso `2024-05-02T10:00:00.000Z` */
const columnOfIso = (iso: string): string => `"${iso.slice(0, 10)} ${iso.slice(11, 23)}"`;

/** What `formatTime` writes of a time, and nothing else that is one. */
const isIso = (time: string): boolean =>
  time.length === 24 && time[10] === 'T' && time[19] === '.' && time.endsWith('Z');

function memberTime(members: Members, name: string, otherwise: number): string {
  const text = stringMember(members, name);
  const ms = text === undefined ? undefined : parseTime(text);
  if (text === undefined || ms === undefined) return dateTime(otherwise);
  return isIso(text) && isEntityTime(ms) ? columnOfIso(text) : dateTime(ms);
}

/** JSON text of a member that holds a string, `""` for any other. */
function textColumn(members: Members, name: string): string {
  const text = members.get(name);
  if (text === undefined || !text.startsWith('"')) return '""';
  return text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text;
}

/** @param doc the members joined, where the caller has it. */
export function managedObjectRow(
  command: JournalCommand,
  id: string,
  members: Members,
  parents: readonly string[],
  doc = joinMembers(members),
): HistoryRow {
  const columns =
    `"id":${Number(id)},"type":${textColumn(members, 'type')},"name":${textColumn(members, 'name')},` +
    `"owner":${textColumn(members, 'owner')},"creation_time":${memberTime(members, 'creationTime', command.receivedAt)},` +
    `"last_updated":${memberTime(members, 'lastUpdated', command.receivedAt)},` +
    `"fragments":${fragmentNames(members, NOT_FRAGMENTS)},"parents":[${parents.map(Number).join(',')}],` +
    `"doc":${JSON.stringify(doc)},"deleted":0`;
  return row(command, 'managed_objects', columns);
}

/** Row of an event, alarm or operation. @param entity.doc the members joined, where the caller has it. */
export function entityRow(
  command: JournalCommand,
  table: 'events' | 'alarms' | 'operations',
  entity: { id: string; source: number; members: Members; doc?: string },
): HistoryRow {
  const { members, doc = joinMembers(members) } = entity;
  const common =
    `"id":${Number(entity.id)},"source":${entity.source},` +
    `"creation_time":${memberTime(members, 'creationTime', command.receivedAt)},` +
    `"fragments":${fragmentNames(members, NOT_FRAGMENTS_OF[table])},"doc":${JSON.stringify(doc)},"deleted":0`;
  const status = (): string => `"status":${textColumn(members, 'status')}`;
  if (table === 'operations') return row(command, table, `${common},${status()},"bulk":${bulkOperationId(members)}`);
  const timed =
    `${common},"type":${textColumn(members, 'type')},"time":${memberTime(members, 'time', command.receivedAt)},` +
    `"last_updated":${memberTime(members, 'lastUpdated', command.receivedAt)}`;
  if (table === 'events') return row(command, table, timed);
  const count = JSON.stringify(Number(members.get('count') ?? 1));
  return row(command, table, `${timed},${status()},"severity":${textColumn(members, 'severity')},"count":${count}`);
}

/** Row of an audit record. @param members of the entity, with `creationTime`. */
export function auditRow(command: JournalCommand, id: string, members: Members): HistoryRow {
  // Ids of the server's own are beyond what a number holds.
  const columns =
    `"id":"${id}","source":${textColumn(parsedSource(members), 'id')},"type":${textColumn(members, 'type')},` +
    `"time":${memberTime(members, 'time', command.receivedAt)},` +
    `"creation_time":${memberTime(members, 'creationTime', command.receivedAt)},"user":${textColumn(members, 'user')},` +
    `"application":${textColumn(members, 'application')},"doc":${JSON.stringify(joinMembers(members))},"deleted":0`;
  return row(command, 'audits', columns);
}

function parsedSource(members: Members): Members {
  const text = members.get('source');
  return text?.startsWith('{') ? splitMembers(text) : new Map();
}

/** Row of an entry of the server's own. */
export function auditEntryRow(command: JournalCommand, id: string, entry: AuditEntry): HistoryRow {
  const now = formatTime(command.receivedAt);
  const { source, tenant = command.tenant, type, activity, text, user, application, changes } = entry;
  // Member by member: copying the others of an entry took 10 µs.
  const doc = {
    type,
    activity,
    text,
    changes,
    user,
    application,
    severity: entry.severity ?? 'INFORMATION',
    time: now,
    creationTime: now,
    source: source === undefined ? undefined : { id: source },
  };
  const time = dateTime(command.receivedAt);
  const columns =
    `"id":"${id}","source":${JSON.stringify(source ?? '')},"type":${JSON.stringify(type)},"time":${time},` +
    `"creation_time":${time},"user":${JSON.stringify(user ?? '')},"application":${JSON.stringify(application ?? '')},` +
    `"doc":${JSON.stringify(JSON.stringify(doc))},"deleted":0`;
  return row(command, 'audits', columns, tenant);
}

/**
 * Tombstone. Columns of the sorting key must be those of the row that it ends (time of an event), partitions too
 * (creation_time).
 */
export function deletedRow(
  command: JournalCommand,
  table: string,
  id: string,
  source: number | undefined,
  members: Members,
): HistoryRow {
  const columns =
    `"id":${Number(id)},${source === undefined ? '' : `"source":${source},`}` +
    `${members.has('time') ? `"time":${memberTime(members, 'time', 0)},` : ''}` +
    `"creation_time":${memberTime(members, 'creationTime', command.receivedAt)},"doc":"{}","deleted":1`;
  return row(command, table, columns);
}
