/**
 * What POST and PUT of events, alarms and operations have in common: times, fixed fields, the document for the command.
 */
import { PlatformError } from '../errors.ts';
import { TIME_RULE, parseEntityTime } from '../documents/entity-time.ts';
import { joinMembers, splitMembers, stringMember } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { FRAGMENT_NAME_RULE, isFragmentName } from './fragments.ts';
import { idText, isEntityId } from './entity-id.ts';

/** Members that the server keeps: of a POST they are ignored. */
const SERVER_KEPT = ['id', 'self', 'creationTime', 'lastUpdated'];

/** @returns ms since 1970. @throws PlatformError `validation/invalid-field`. */
export function requiredTime(members: Members, area: string): number {
  const text = stringMember(members, 'time') ?? '';
  const time = parseEntityTime(text);
  if (time === undefined) {
    throw new PlatformError('validation/invalid-field', { area, name: 'time', value: text, limit: TIME_RULE });
  }
  return time;
}

/** @returns the id in `source`. @throws PlatformError `source/not-found` when no object can have it. */
export function requiredSource(members: Members, area: string): string {
  const id = sentSource(members);
  if (!isEntityId(id)) throw new PlatformError('source/not-found', { area, id });
  return id;
}

/** @returns the id in `source`, as it was sent. */
export function sentSource(members: Members): string {
  return idText(splitMembers(members.get('source') ?? '{}').get('id'));
}

/**
 * Document of a new entity: what was sent but for `removed` and what the server keeps. @throws PlatformError for a
 * refused name.
 */
export function newDocument(members: Members, area: string, removed: readonly string[] = []): string {
  requireNames(members, area);
  const kept = [...members].filter(([name]) => !SERVER_KEPT.includes(name) && !removed.includes(name));
  return joinMembers(kept);
}

/** Names of fragments (docs/spec/conventions.md#names). @throws PlatformError `validation/invalid-field`. */
export function requireNames(members: Members, area: string): void {
  for (const name of members.keys()) {
    if (!isFragmentName(name)) {
      throw new PlatformError('validation/invalid-field', {
        area,
        name: 'name of a fragment',
        value: name,
        limit: FRAGMENT_NAME_RULE,
      });
    }
  }
}

/**
 * Members of a PUT without those that may not change: equal ones are left out, different ones refused.
 * @param fixed names; times are compared as times, references by their id.
 * @param derived names of what is made anew for each answer: a client that sends back what it has read has them too,
 * and changes nothing by it.
 * @throws PlatformError `validation/invalid-field`.
 */
export function changedMembers(
  sent: Members,
  stored: Members,
  area: string,
  fixed: readonly string[],
  derived: readonly string[] = [],
): Members {
  requireNames(sent, area);
  const changes: Members = new Map(sent);
  for (const name of ['self', ...derived]) changes.delete(name);
  for (const name of fixed) {
    const value = changes.get(name);
    if (value === undefined) continue;
    if (!isSame(name, value, stored.get(name))) {
      throw new PlatformError('validation/invalid-field', {
        area,
        name,
        value,
        limit: `no change (it is ${stored.get(name) ?? 'absent'})`,
      });
    }
    changes.delete(name);
  }
  return changes;
}

function isSame(name: string, value: string, stored: string | undefined): boolean {
  if (value === stored) return true;
  if (stored === undefined) return value === 'null';
  if (value.startsWith('{') && stored.startsWith('{') && name === 'source') {
    return idText(splitMembers(value).get('id')) === idText(splitMembers(stored).get('id'));
  }
  if (value.startsWith('"') && stored.startsWith('"')) {
    const times = [value, stored].map((text) => parseEntityTime(JSON.parse(text) as string));
    return times[0] !== undefined && times[0] === times[1];
  }
  // Ids that a client sends as numbers.
  return idText(value) === idText(stored);
}
