/** Alarms (docs/spec/alarms.md): their words and the checks of their typed fields. */
import { TIME_RULE, parseEntityTime } from '../documents/entity-time.ts';
import { PlatformError } from '../errors.ts';
import { stringMember, type Members } from '../documents/json-document.ts';
import { KEY_TEXT_RULE, isKeyText } from '../documents/key-text.ts';

export const ALARM_SEVERITIES = ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'] as const;
export type AlarmSeverity = (typeof ALARM_SEVERITIES)[number];

export const ALARM_STATUSES = ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'] as const;
export type AlarmStatus = (typeof ALARM_STATUSES)[number];

/**
 * Members that a PUT may not change (docs/spec/alarms.md#fields): they belong to the alarm from its start or are kept
 * by the server. The text is not one of them: the documentation of `@c8y/client` changes it.
 */
export const ALARM_FIXED_FIELDS = [
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

/** Mandatory members of a new alarm but `source`, in the order in which the message lists the missing ones. */
const MANDATORY = ['severity', 'text', 'time', 'type'] as const;

export interface NewAlarm {
  readonly type: string;
  readonly text: string;
  readonly severity: AlarmSeverity;
  readonly status: AlarmStatus;
  /** ms since 1970. */
  readonly time: number;
}

/**
 * Reads the typed members of a new alarm; `source` is the caller's, since on MQTT it may be missing.
 * @throws PlatformError `validation/mandatory-fields` or `validation/invalid-field`.
 */
export function checkNewAlarm(members: Members): NewAlarm {
  const missing = MANDATORY.filter((name) => !members.has(name) || members.get(name) === 'null');
  if (missing.length > 0) throw new PlatformError('validation/mandatory-fields', { names: missing.join(',') });
  const severity = textField(members, 'severity');
  const status = members.has('status') ? textField(members, 'status') : 'ACTIVE';
  const timeText = textField(members, 'time');
  const time = parseEntityTime(timeText);
  if (!isAlarmSeverity(severity)) throw invalid('severity', severity, `one of ${ALARM_SEVERITIES.join(', ')}`);
  if (!isAlarmStatus(status)) throw invalid('status', status, `one of ${ALARM_STATUSES.join(', ')}`);
  if (time === undefined) throw invalid('time', timeText, TIME_RULE);
  return { type: checkAlarmType(textField(members, 'type')), text: textField(members, 'text'), severity, status, time };
}

/** @returns the type. @throws PlatformError `validation/invalid-field`. */
export function checkAlarmType(type: string): string {
  if (!isAlarmType(type)) throw invalid('type', type, ALARM_TYPE_RULE);
  return type;
}

/**
 * Checks the members of a PUT.
 * @throws PlatformError `validation/invalid-field` for a fixed field, an unknown severity or status, or a member of
 * wrong type.
 */
export function checkAlarmUpdate(members: Members): void {
  for (const name of ALARM_FIXED_FIELDS) {
    if (members.has(name)) throw invalid(name, members.get(name) as string, 'no change');
  }
  if (members.has('text')) textField(members, 'text');
  if (members.has('severity')) {
    const severity = textField(members, 'severity');
    if (!isAlarmSeverity(severity)) throw invalid('severity', severity, `one of ${ALARM_SEVERITIES.join(', ')}`);
  }
  if (members.has('status')) {
    const status = textField(members, 'status');
    if (!isAlarmStatus(status)) throw invalid('status', status, `one of ${ALARM_STATUSES.join(', ')}`);
  }
}

function textField(members: Members, name: string): string {
  const value = stringMember(members, name);
  if (value === undefined) throw invalid(name, members.get(name) as string, 'a text');
  return value;
}

function invalid(name: string, value: string, limit: string): PlatformError {
  return new PlatformError('validation/invalid-field', { area: 'alarm', name, value, limit });
}
