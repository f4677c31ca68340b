/** Types of the values that custom templates take (docs/spec/smartrest.md#request-templates). */
import { ALARM_SEVERITIES, ALARM_STATUSES, isAlarmSeverity, isAlarmStatus } from '../../model/entities/alarm.ts';
import { OPERATION_STATUSES } from '../../model/entities/operation.ts';
import { parseEntityTime, TIME_RULE } from '../../model/documents/entity-time.ts';
import { parseNumber, toJsonNumber } from '../../model/documents/number-scan.ts';

interface ValueType {
  /** What it takes, in words. */
  readonly rule: string;
  /** @returns JSON text, undefined for a value that is not of the type. The empty value is the caller's. */
  readonly toJson: (value: string) => string | undefined;
}

const quoted =
  (isOfType: (value: string) => boolean): ValueType['toJson'] =>
  (value) =>
    isOfType(value) ? JSON.stringify(value) : undefined;

/** Whole numbers keep their digits, but for a sign and zeros in front that JSON has not. */
const whole =
  (pattern: RegExp): ValueType['toJson'] =>
  (value) => {
    const found = pattern.exec(value);
    if (found === null) return undefined;
    return found[1] === '-' && found[2] !== '0' ? `-${found[2]}` : found[2];
  };

const TYPES = {
  STRING: { rule: 'a text', toJson: (value) => JSON.stringify(value) },
  DATE: { rule: TIME_RULE, toJson: quoted((value) => parseEntityTime(value) !== undefined) },
  NUMBER: {
    rule: 'a decimal number',
    toJson: (value) => (parseNumber(value) === undefined ? undefined : toJsonNumber(value)),
  },
  INTEGER: { rule: 'a whole number of up to 30 digits', toJson: whole(/^([+-]?)0*(\d{1,30})$/) },
  UNSIGNED: { rule: 'a whole number from 0, of up to 30 digits', toJson: whole(/^([+]?)0*(\d{1,30})$/) },
  /** Sends nothing. */
  FLAG: { rule: 'nothing', toJson: () => undefined },
  SEVERITY: { rule: `one of ${ALARM_SEVERITIES.join(', ')}`, toJson: quoted(isAlarmSeverity) },
  ALARMSTATUS: { rule: `one of ${ALARM_STATUSES.join(', ')}`, toJson: quoted(isAlarmStatus) },
  OPERATIONSTATUS: {
    rule: `one of ${OPERATION_STATUSES.join(', ')}`,
    toJson: quoted((value) => (OPERATION_STATUSES as readonly string[]).includes(value)),
  },
} as const satisfies Readonly<Record<string, ValueType>>;

export type ValueTypeName = keyof typeof TYPES;
export const VALUE_TYPE_NAMES = Object.keys(TYPES) as readonly ValueTypeName[];
export const isValueTypeName = (name: string): name is ValueTypeName => Object.hasOwn(TYPES, name);
export const VALUE_TYPES: Readonly<Record<ValueTypeName, ValueType>> = TYPES;
export const isNumberType = (name: ValueTypeName): boolean =>
  name === 'NUMBER' || name === 'INTEGER' || name === 'UNSIGNED';
