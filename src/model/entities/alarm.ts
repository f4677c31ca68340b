/** Alarms (docs/spec/alarms.md): their words and the checks of their typed fields. */
import { PlatformError } from '../errors.ts';
import { joinMembers, stringMember, type Members } from '../documents/json-document.ts';
import { changedMembers, newDocument, requiredSource, requiredTime } from './body-rules.ts';
import { KEY_TEXT_RULE, isKeyText } from '../documents/key-text.ts';

const AREA = 'alarm';

export const ALARM_SEVERITIES = ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'] as const;
export type AlarmSeverity = (typeof ALARM_SEVERITIES)[number];

export const ALARM_STATUSES = ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'] as const;
export type AlarmStatus = (typeof ALARM_STATUSES)[number];

/**
 * Members that a PUT may not change (docs/spec/alarms.md#fields): they belong to the alarm from its start or are kept
 * by the server. The text is not one of them: the documentation of `@c8y/client` changes it.
 */
const ALARM_FIXED_FIELDS = [
  'type',
  'time',
  'source',
  'creationTime',
  'count',
  'firstOccurrenceTime',
  'firstOccurenceTime',
] as const;

/** UTF-8 bytes of a type: it is part of the key of the open alarms. */
export const ALARM_TYPE_BYTES_MAX = 1_000;
export const ALARM_TYPE_RULE = `a text of 1 to ${ALARM_TYPE_BYTES_MAX} bytes ${KEY_TEXT_RULE}`;
export const isAlarmType = (text: string): boolean =>
  text !== '' &&
  isKeyText(text) &&
  (text.length * 3 <= ALARM_TYPE_BYTES_MAX || Buffer.byteLength(text) <= ALARM_TYPE_BYTES_MAX);

export const isAlarmSeverity = (text: string): text is AlarmSeverity =>
  (ALARM_SEVERITIES as readonly string[]).includes(text);
export const isAlarmStatus = (text: string): text is AlarmStatus =>
  (ALARM_STATUSES as readonly string[]).includes(text);
/** Open alarms take up repeats of their type and are found by it (SmartREST 305, 306). */
export const OPEN_ALARM_STATUSES: readonly AlarmStatus[] = ['ACTIVE', 'ACKNOWLEDGED'];
export const isOpenStatus = (status: string): boolean => (OPEN_ALARM_STATUSES as readonly string[]).includes(status);

/** Members that the server writes, and that a POST does not set. */
const NOT_SENT = ['count', 'firstOccurrence', 'firstOccurrenceTime', 'firstOccurenceTime', 'history'];
const FIXED = [...ALARM_FIXED_FIELDS, 'id', 'lastUpdated'];
/** Made anew for each answer or live update. */
const DERIVED = ['firstOccurrence', 'history'];

export interface NewAlarm {
  readonly source: string;
  readonly type: string;
  readonly severity: string;
  readonly status: string;
  /** ms since 1970. */
  readonly time: number;
  readonly doc: string;
}

/**
 * @param members fit the schema of an alarm.
 * @throws PlatformError `validation/invalid-field` or `source/not-found`.
 */
export function newAlarm(members: Members): NewAlarm {
  const time = requiredTime(members, AREA);
  const type = stringMember(members, 'type') ?? '';
  if (!isAlarmType(type))
    throw new PlatformError('validation/invalid-field', {
      area: AREA,
      name: 'type',
      value: type,
      limit: ALARM_TYPE_RULE,
    });
  return {
    source: requiredSource(members, AREA),
    type,
    time,
    severity: stringMember(members, 'severity') ?? '',
    status: stringMember(members, 'status') ?? 'ACTIVE',
    doc: newDocument(members, AREA, NOT_SENT),
  };
}

/**
 * @param sent fit the schema of a change. @returns the document of the change.
 * @throws PlatformError `validation/invalid-field` for a fixed member with another value.
 */
export const alarmChange = (sent: Members, stored: Members): string =>
  joinMembers(changedMembers(sent, stored, AREA, FIXED, DERIVED));
