/**
 * Parameters of static templates (docs/spec/smartrest.md#inventory-templates): their types, and the check of a row
 * against them.
 */
import { ALARM_SEVERITIES, ALARM_TYPE_RULE, isAlarmSeverity, isAlarmType } from '../../model/entities/alarm.ts';
import { parseEntityTime, TIME_RULE } from '../../model/documents/entity-time.ts';
import {
  isMeasurementName,
  isMeasurementText,
  MEASUREMENT_NAME_RULE,
  MEASUREMENT_TEXT_BYTES_MAX,
} from '../../model/entities/measurement.ts';
import { FRAGMENT_NAME_RULE, isFragmentName, NOT_FRAGMENTS } from '../../model/entities/fragments.ts';
import { parseNumber } from '../../model/documents/number-scan.ts';
import type { Effect, RowContext } from '../effects/effects.ts';
import { shorten, SmartRestError } from '../rows/error.ts';
import { isSerial, SERIAL_RULE } from '../rows/serial.ts';

/**
 * `label`: the type or unit of a measurement; `name`: of its fragments and series; `fragment`: of other entities;
 * `free`: a fragment of alarms and events, which none of their own fields is.
 */
export type ParameterType =
  | 'text'
  | 'label'
  | 'serial'
  | 'name'
  | 'fragment'
  | 'free'
  | 'number'
  | 'integer'
  | 'id'
  | 'time'
  | 'alarmType'
  | 'severity'
  | 'boolean';

export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly mandatory: boolean;
  /** What an empty or omitted parameter means, in words. */
  readonly default?: string;
}

/** Parameters of a row that passed the check. */
export interface RowValues {
  /** The single parameters in order, `''` where nothing was sent. */
  readonly single: readonly string[];
  /** The repeated groups in order, each as long as `repeated`, without wholly empty ones. */
  readonly groups: readonly (readonly string[])[];
}

export interface StaticTemplate {
  readonly id: string;
  /** What it does, in a few words; also in docs/internals/smartrest.md. */
  readonly effect: string;
  readonly parameters: readonly Parameter[];
  /** Parameters that may be repeated any number of times behind the others. */
  readonly repeated?: readonly Parameter[];
  readonly repeatedAtLeastOnce?: boolean;
  /** Empty values before others count: they have a place of their own. */
  readonly keepsPlaces?: boolean;
  readonly interpret: (values: RowValues, context: RowContext, id: string) => Effect[];
}

/** `name:type` with `*` behind a mandatory one: `parameter('value*', 'number')`. */
export function parameter(name: string, type: ParameterType = 'text', defaultText?: string): Parameter {
  const mandatory = name.endsWith('*');
  const bare = mandatory ? name.slice(0, -1) : name;
  return defaultText === undefined
    ? { name: bare, type, mandatory }
    : { name: bare, type, mandatory, default: defaultText };
}

const LIMITS: Readonly<Record<ParameterType, string>> = {
  text: 'a text that is not empty',
  label: `a text of 1 to ${MEASUREMENT_TEXT_BYTES_MAX} bytes`,
  serial: SERIAL_RULE,
  name: MEASUREMENT_NAME_RULE,
  fragment: FRAGMENT_NAME_RULE,
  free: `${FRAGMENT_NAME_RULE}, not a field such as type or text`,
  number: 'a decimal number',
  integer: 'a whole number',
  id: 'the id of an operation, digits only',
  time: `${TIME_RULE} such as 2024-05-02T10:00:00.000Z`,
  alarmType: ALARM_TYPE_RULE,
  severity: `one of ${ALARM_SEVERITIES.join(', ')}`,
  boolean: 'true or false',
};

function isOfType(value: string, type: ParameterType): boolean {
  switch (type) {
    case 'text':
      return true;
    case 'label':
      return isMeasurementText(value);
    case 'serial':
      return isSerial(value);
    case 'name':
      return isMeasurementName(value);
    case 'fragment':
      return isFragmentName(value);
    case 'free':
      return isFragmentName(value) && !NOT_FRAGMENTS.has(value);
    case 'number':
      return parseNumber(value) !== undefined;
    case 'integer':
      return /^[+-]?\d{1,15}$/.test(value);
    case 'id':
      return /^\d{1,16}$/.test(value);
    case 'time':
      return parseEntityTime(value) !== undefined;
    case 'alarmType':
      return isAlarmType(value);
    case 'severity':
      return isAlarmSeverity(value);
    case 'boolean':
      return value === 'true' || value === 'false';
  }
}

/**
 * Checks `fields` (the message id first) against the parameters of `template`.
 * @throws SmartRestError 45 that names the parameter, its value and what it takes.
 */
export function bindParameters(template: StaticTemplate, fields: readonly string[]): RowValues {
  const { id, parameters, repeated } = template;
  const single = parameters.map((wanted, index) => check(id, wanted, fields[index + 1] ?? '', wanted.name));
  const groups: string[][] = [];
  const firstRepeated = parameters.length + 1;
  if (repeated === undefined) {
    for (let index = firstRepeated; index < fields.length; index += 1) {
      if (fields[index] === '') continue;
      throw new SmartRestError(
        45,
        id,
        `Wrong number of parameters: ${id} takes ${parameters.length}, got ${fields.length - 1}`,
      );
    }
    return { single, groups };
  }
  const end = fields.findLastIndex((value) => value !== '') + 1;
  for (let index = firstRepeated; index < end; index += repeated.length) {
    const isEmpty = repeated.every((_, offset) => (fields[index + offset] ?? '') === '');
    if (isEmpty && template.keepsPlaces !== true) continue;
    const number = groups.length + 1;
    groups.push(
      repeated.map((wanted, offset) => check(id, wanted, fields[index + offset] ?? '', `${wanted.name} (${number}.)`)),
    );
  }
  if (template.repeatedAtLeastOnce === true && groups.length === 0) {
    throw new SmartRestError(
      45,
      id,
      `The parameter ${repeated[0].name} is missing; it takes ${LIMITS[repeated[0].type]}`,
    );
  }
  return { single, groups };
}

function check(id: string, wanted: Parameter, value: string, name: string): string {
  if (value === '') {
    const limit = LIMITS[wanted.type === 'serial' ? 'text' : wanted.type];
    if (wanted.mandatory) throw new SmartRestError(45, id, `The parameter ${name} is missing; it takes ${limit}`);
  } else if (!isOfType(value, wanted.type)) {
    throw new SmartRestError(
      45,
      id,
      `The parameter ${name} has the value ${shorten(value)}; it takes ${LIMITS[wanted.type]}`,
    );
  }
  return value;
}

/** Time of a checked parameter, ms since 1970. */
export function timeOf(value: string, context: RowContext): number {
  return value === '' ? context.now : (parseEntityTime(value) as number);
}

/** JSON text of an object; members whose text is undefined are left out. */
export function objectText(members: readonly (readonly [string, string | undefined])[]): string {
  const texts: string[] = [];
  for (const [name, text] of members) {
    if (text !== undefined) texts.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${texts.join(',')}}`;
}

/** JSON string, or undefined for a parameter that was not sent. */
export function textOrAbsent(value: string): string | undefined {
  return value === '' ? undefined : JSON.stringify(value);
}
