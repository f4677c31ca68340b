/** Events (docs/spec/events.md): what of a body is taken, whichever way it came. */
import { joinMembers, stringMember } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { changedMembers, newDocument, requiredSource, requiredTime } from './body-rules.ts';

const AREA = 'event';
/** Members that no change has: lists tell events by them. */
export const EVENT_FIXED_FIELDS = ['source', 'type', 'time', 'creationTime'] as const;
const FIXED = ['id', ...EVENT_FIXED_FIELDS, 'lastUpdated'];

export interface NewEvent {
  readonly source: string;
  readonly type: string;
  /** ms since 1970. */
  readonly time: number;
  readonly doc: string;
}

/**
 * @param members fit the schema of an event.
 * @throws PlatformError `validation/invalid-field` or `source/not-found`.
 */
export function newEvent(members: Members): NewEvent {
  const time = requiredTime(members, AREA);
  const source = requiredSource(members, AREA);
  return { source, type: stringMember(members, 'type') ?? '', time, doc: newDocument(members, AREA) };
}

/**
 * @param sent fit the schema of a change. @returns the document of the change.
 * @throws PlatformError `validation/invalid-field` for a fixed member with another value.
 */
export const eventChange = (sent: Members, stored: Members): string =>
  joinMembers(changedMembers(sent, stored, AREA, FIXED));
