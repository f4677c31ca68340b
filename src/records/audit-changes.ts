/**
 * What audit records say about changes of records: groups, applications, options and the like
 * (docs/spec/audit.md#fields, `changes`).
 */
import { changesBetween, describeListChanges, describeUnlisted } from '../model/entities/changes.ts';
import type { AuditEntry } from '../model/commands/records.ts';
import { splitMembers } from '../model/documents/json-document.ts';
import type { Members } from '../model/documents/json-document.ts';

/** Members of records that hold an object as text: its members count as those of the record. */
const NESTED = new Set(['doc', 'fragments']);
/** What the server keeps for itself, or what never changes. */
const NOT_TOLD: ReadonlySet<string> = new Set([
  'id',
  'number',
  'isDomainOfTenant',
  'ownerNumber',
  'targets',
  'done',
  'missing',
  'nextAt',
  'planned',
  'counts',
  'startsAt',
]);

function membersOf(record: object | undefined): Members {
  const members: Members = new Map();
  for (const [name, value] of splitMembers(JSON.stringify(record ?? {}))) {
    if (NESTED.has(name))
      for (const [inner, text] of splitMembers(JSON.parse(value) as string)) members.set(inner, text);
    else if (!NOT_TOLD.has(name)) members.set(name, value);
  }
  return members;
}

/**
 * The entry with what differs between two states of a record.
 * @param before undefined for a new one. @param options.isTold the text of an update says it too.
 */
export function withChanges(
  entry: AuditEntry,
  before: object | undefined,
  after: object | undefined,
  { isTold = true } = {},
): AuditEntry {
  const [old, next] = [membersOf(before), membersOf(after)];
  const changes = changesBetween(old, next, new Set());
  if (changes.listed.length === 0) return entry;
  const isUpdate = isTold && before !== undefined && after !== undefined;
  const said = isUpdate ? `: ${describeListChanges(changes, old, next)}` : describeUnlisted(changes);
  return { ...entry, changes: changes.listed, text: `${entry.text}${said}` };
}
