/** Rows of the mutable tables (store/clickhouse/schema.ts) as JSON text, made from a document's members. */
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { TIME_MAX, TIME_MIN } from '../../model/documents/entity-time.ts';
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

const fragmentNames = (members: Members, others: ReadonlySet<string>): string[] =>
  [...members.keys()].filter((name) => !others.has(name));

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

function columns(command: JournalCommand, table: string, values: object): HistoryRow {
  const row = { tenant: command.tenant, ...values, version: command.seq, shard: command.shard, seq: command.seq };
  const text = JSON.stringify(row);
  return { table, seq: command.seq, text: text.includes('\\ud') ? JSON.stringify(row, withoutLoneSurrogates) : text };
}

/** Most times of a row are the same. */
let lastTime = { ms: NaN, text: '' };

/**
 * DateTime64(3) as ClickHouse reads it from text. Times outside of its years are moved to its edge; the document keeps
 * what was sent.
 */
function dateTime(ms: number): string {
  if (ms === lastTime.ms) return lastTime.text;
  const text = new Date(Math.min(Math.max(ms, TIME_MIN), TIME_MAX)).toISOString().slice(0, 23).replace('T', ' ');
  lastTime = { ms, text };
  return text;
}
const memberTime = (members: Members, name: string, otherwise: number): string => {
  const text = stringMember(members, name);
  return dateTime((text === undefined ? undefined : parseTime(text)) ?? otherwise);
};

/** @param doc the members joined, where the caller has it. */
export function managedObjectRow(
  command: JournalCommand,
  id: string,
  members: Members,
  parents: readonly string[],
  doc = joinMembers(members),
): HistoryRow {
  return columns(command, 'managed_objects', {
    id: Number(id),
    type: stringMember(members, 'type') ?? '',
    name: stringMember(members, 'name') ?? '',
    owner: stringMember(members, 'owner') ?? '',
    creation_time: memberTime(members, 'creationTime', command.receivedAt),
    last_updated: memberTime(members, 'lastUpdated', command.receivedAt),
    fragments: fragmentNames(members, NOT_FRAGMENTS),
    parents: parents.map(Number),
    doc,
    deleted: 0,
  });
}

/** Row of an event, alarm or operation. @param entity.doc the members joined, where the caller has it. */
export function entityRow(
  command: JournalCommand,
  table: 'events' | 'alarms' | 'operations',
  entity: { id: string; source: number; members: Members; doc?: string },
): HistoryRow {
  const { members, doc = joinMembers(members) } = entity;
  const common = {
    id: Number(entity.id),
    source: entity.source,
    creation_time: memberTime(members, 'creationTime', command.receivedAt),
    fragments: fragmentNames(members, NOT_FRAGMENTS_OF[table]),
    doc,
    deleted: 0,
  };
  if (table === 'operations') {
    return columns(command, table, {
      ...common,
      status: stringMember(members, 'status') ?? '',
      bulk: bulkOperationId(members),
    });
  }
  const timed = {
    ...common,
    type: stringMember(members, 'type') ?? '',
    time: memberTime(members, 'time', command.receivedAt),
    last_updated: memberTime(members, 'lastUpdated', command.receivedAt),
  };
  if (table === 'events') return columns(command, table, timed);
  return columns(command, table, {
    ...timed,
    status: stringMember(members, 'status') ?? '',
    severity: stringMember(members, 'severity') ?? '',
    count: Number(members.get('count') ?? 1),
  });
}

/** Row of an audit record. @param members of the entity, with `creationTime`. */
export function auditRow(command: JournalCommand, id: string, members: Members): HistoryRow {
  const source = stringMember(parsedSource(members), 'id') ?? '';
  return columns(command, 'audits', {
    // Those of the server's own are beyond what a number holds.
    id,
    source,
    type: stringMember(members, 'type') ?? '',
    time: memberTime(members, 'time', command.receivedAt),
    creation_time: memberTime(members, 'creationTime', command.receivedAt),
    user: stringMember(members, 'user') ?? '',
    application: stringMember(members, 'application') ?? '',
    doc: joinMembers(members),
    deleted: 0,
  });
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
  return columns(command, 'audits', {
    tenant,
    id,
    source: source ?? '',
    type,
    time,
    creation_time: time,
    user: user ?? '',
    application: application ?? '',
    doc: JSON.stringify(doc),
    deleted: 0,
  });
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
  return columns(command, table, {
    id: Number(id),
    ...(source === undefined ? {} : { source }),
    ...(members.has('time') ? { time: memberTime(members, 'time', 0) } : {}),
    creation_time: memberTime(members, 'creationTime', command.receivedAt),
    doc: '{}',
    deleted: 1,
  });
}
