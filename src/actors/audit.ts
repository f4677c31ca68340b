/** Audit records as clients post them (document 4 section 5.7). Those of the server itself come from `ActorContext.audit`. */
import type { ActorContext } from './context.ts';
import { auditRow } from './rows.ts';
import type { AuditEntry } from '../model/command.ts';
import { joinMembers, mergeMembers, parseMembers } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { shapeTime } from '../model/entity-time.ts';
import { formatTime } from '../model/iso-time.ts';

/** `doc` holds the members as sent, `source` as an object with `id`. */
export interface AuditCreate { readonly id: string; readonly doc: string; readonly user: string }

export function createAuditRecord(context: ActorContext, body: AuditCreate): { doc: string } {
  const members = shapeTime(parseMembers(body.doc));
  mergeMembers(members, new Map([['creationTime', JSON.stringify(formatTime(context.command.receivedAt))]]));
  if (!members.has('user')) members.set('user', JSON.stringify(body.user));
  context.row(auditRow(context.command, body.id, members));
  return { doc: joinMembers(members) };
}

/** Changes of one entity that an audit record lists, and characters of a value that it repeats; more is cut. */
const CHANGES_MAX = 50;
const VALUE_LENGTH_MAX = 1_000;

type AuditChanges = NonNullable<AuditEntry['changes']>;

/** What differs between two states of an entity, but for `ignored` members, as `changes[]` of an audit record. */
export function changesBetween(before: Members, after: Members, ignored: ReadonlySet<string>): AuditChanges {
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => !ignored.has(name) && before.get(name) !== after.get(name));
  return names.slice(0, CHANGES_MAX).map((name) => {
    const [previous, next] = [before.get(name), after.get(name)];
    return {
      attribute: name, type: typeOf(next ?? previous as string),
      changeType: previous === undefined ? 'ADDED' : next === undefined ? 'REMOVED' : 'REPLACED',
      ...(previous === undefined ? {} : { previousValue: shown(previous) }), ...(next === undefined ? {} : { newValue: shown(next) }),
    };
  });
}

/** One sentence: `status changed from ACTIVE to CLEARED, text added`. */
export function describeChanges(changes: AuditChanges): string {
  return changes.map(({ attribute, changeType, previousValue, newValue }) =>
    (changeType === 'REPLACED' && [previousValue, newValue].every((value) => typeof value !== 'object')
      ? `${attribute} changed from ${String(previousValue)} to ${String(newValue)}`
      : `${attribute} ${changeType === 'REPLACED' ? 'changed' : changeType === 'ADDED' ? 'added' : 'removed'}`)).join(', ');
}

function typeOf(text: string): string {
  switch (text[0]) {
    case '"': return 'String';
    case '{': return 'Object';
    case '[': return 'Array';
    case 't': case 'f': return 'Boolean';
    default: return 'Number';
  }
}

const shown = (text: string): unknown => (text.length <= VALUE_LENGTH_MAX ? JSON.parse(text) as unknown : `${text.slice(0, VALUE_LENGTH_MAX)}…`);
