/** Events (docs/spec/events.md): checks of their typed fields. */
import { TIME_RULE, parseEntityTime } from '../documents/entity-time.ts';
import { PlatformError } from '../errors.ts';
import { stringMember, type Members } from '../documents/json-document.ts';

/** Mandatory members of a new event but `source`, in the order in which the message lists the missing ones. */
const MANDATORY = ['text', 'time', 'type'] as const;

export interface NewEvent {
  readonly type: string;
  readonly text: string;
  /** ms since 1970. */
  readonly time: number;
}

/**
 * Reads the typed members of a new event; `source` is the caller's, since on MQTT it may be missing.
 * @throws PlatformError `validation/mandatory-fields` or `validation/invalid-field`.
 */
export function checkNewEvent(members: Members): NewEvent {
  const missing = MANDATORY.filter((name) => !members.has(name) || members.get(name) === 'null');
  if (missing.length > 0) throw new PlatformError('validation/mandatory-fields', { names: missing.join(',') });
  const timeText = textField(members, 'time');
  const time = parseEntityTime(timeText);
  if (time === undefined) throw invalid('time', timeText, TIME_RULE);
  const type = textField(members, 'type');
  if (type === '') throw invalid('type', type, 'a text that is not empty');
  return { type, text: textField(members, 'text'), time };
}

/** Members of an event that no change has: lists tell events by them. */
export const EVENT_FIXED_FIELDS = ['source', 'type', 'time', 'creationTime'] as const;

/** Checks the members of a change. @throws PlatformError `validation/invalid-field` for a fixed field. */
export function checkEventUpdate(members: Members): void {
  for (const name of EVENT_FIXED_FIELDS)
    if (members.has(name)) throw invalid(name, members.get(name) as string, 'no change');
}

function textField(members: Members, name: string): string {
  const text = stringMember(members, name);
  if (text === undefined) throw invalid(name, members.get(name) ?? '', 'a text');
  return text;
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'event', name, value, limit });
