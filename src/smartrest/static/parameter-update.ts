/**
 * Static template 408: an event with new values of a device's parameters (docs/spec/smartrest.md#data-templates). Each
 * value has a path of names joined by dots, and a type.
 */
import { isAlarmSeverity, isAlarmStatus, ALARM_SEVERITIES, ALARM_STATUSES } from '../../model/entities/alarm.ts';
import { isFragmentName, NOT_FRAGMENTS } from '../../model/entities/fragments.ts';
import { PARAMETER_UPDATE as TYPE } from '../../model/entities/parameter-state.ts';
import { OPERATION_STATUSES } from '../../model/entities/operation.ts';
import { parseEntityTime, TIME_RULE } from '../../model/documents/entity-time.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { parseNumber, toJsonNumber } from '../../model/documents/number-scan.ts';
import type { RowContext } from '../effects/effects.ts';
import { shorten, SmartRestError } from '../rows/error.ts';
import { objectText, parameter, timeOf, type StaticTemplate } from './parameters.ts';

/** Names of a path. */
const DEPTH_MAX = 20;
const PATH_RULE = `1 to ${DEPTH_MAX} names joined by dots, the first not a field of events`;

/** A type of values: what it takes in words, and the JSON text of a value; undefined for another one. */
interface ValueType {
  readonly rule: string;
  readonly text: (value: string, context: RowContext) => string | undefined;
}

const quoted = (isOne: (value: string) => boolean, rule: string): ValueType => ({
  rule,
  text: (value) => (isOne(value) ? JSON.stringify(value) : undefined),
});
const number = (form: RegExp, rule: string): ValueType => ({
  rule,
  text: (value) => {
    return form.test(value) && parseNumber(value) !== undefined ? toJsonNumber(value) : undefined;
  },
});

const VALUE_TYPES: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  ['STRING', quoted(() => true, 'a text')],
  [
    'DATE',
    {
      rule: TIME_RULE,
      text: (value, { now }) => {
        const time = value === '' ? now : parseEntityTime(value);
        return time === undefined ? undefined : JSON.stringify(formatTime(time));
      },
    },
  ],
  ['NUMBER', number(/^/, 'a decimal number')],
  ['INTEGER', number(/^[+-]?\d{1,15}$/, 'a whole number')],
  ['UNSIGNED', number(/^\+?\d{1,15}$/, 'a whole number that is not negative')],
  ['BOOLEAN', { rule: 'true or false', text: (value) => (value === 'true' || value === 'false' ? value : undefined) }],
  ['FLAG', { rule: 'no value', text: (value) => (value === '' ? '{}' : undefined) }],
  ['SEVERITY', quoted(isAlarmSeverity, `one of ${ALARM_SEVERITIES.join(', ')}`)],
  ['ALARMSTATUS', quoted(isAlarmStatus, `one of ${ALARM_STATUSES.join(', ')}`)],
  [
    'OPERATIONSTATUS',
    quoted(
      (value) => (OPERATION_STATUSES as readonly string[]).includes(value),
      `one of ${OPERATION_STATUSES.join(', ')}`,
    ),
  ],
]);
/** Types that mean something without a value; one of the others is null then. */
const WITHOUT_VALUE: ReadonlySet<string> = new Set(['DATE', 'FLAG']);

/** Members of an object that is being built: JSON texts, or further ones. */
type Tree = Map<string, string | Tree>;

export const PARAMETER_UPDATE: StaticTemplate = {
  id: '408',
  effect: `event ${TYPE}; with changeDetect only when a value is not known`,
  parameters: [
    parameter('text', 'text', "Parameter '<fragment>' was updated"),
    parameter('time', 'time', 'now'),
    parameter('changeDetect', 'boolean', 'false'),
  ],
  repeated: [parameter('path*'), parameter('type*'), parameter('value')],
  repeatedAtLeastOnce: true,
  interpret: ({ single: [sentText, sentTime, changeDetect], groups }, context, id) => {
    const time = timeOf(sentTime, context);
    const tree: Tree = new Map();
    for (const [path, type, value] of groups) place(tree, path, valueText(type, value, path, context, id), id);
    const fragments = new Map([...tree].map(([name, value]) => [name, textOf(value)]));
    const names = [...fragments.keys()].map((name) => `'${name}'`);
    const text =
      sentText ||
      (names.length === 1 ? `Parameter ${names[0]} was updated` : `Parameters ${names.join(', ')} were updated`);
    const doc = objectText([
      ['type', JSON.stringify(TYPE)],
      ['time', JSON.stringify(formatTime(time))],
      ['text', JSON.stringify(text)],
      ...fragments,
    ]);
    return [{ kind: 'event', type: TYPE, text, time, doc, ...(changeDetect === 'true' ? { unlessKnown: true } : {}) }];
  },
};

/** @throws SmartRestError 45. */
function valueText(type: string, value: string, path: string, context: RowContext, id: string): string {
  const known = VALUE_TYPES.get(type.toUpperCase());
  if (known === undefined) {
    const types = [...VALUE_TYPES.keys()].join(', ');
    throw new SmartRestError(45, id, `The type of ${shorten(path)} is ${shorten(type)}; it takes one of ${types}`);
  }
  if (value === '' && !WITHOUT_VALUE.has(type.toUpperCase())) return 'null';
  const text = known.text(value, context);
  if (text === undefined)
    throw new SmartRestError(45, id, `${shorten(path)} has the value ${shorten(value)}; ${type} takes ${known.rule}`);
  return text;
}

/** Puts a value where its path says. @throws SmartRestError 45. */
function place(tree: Tree, path: string, value: string, id: string): void {
  const names = path.split('.');
  if (names.length > DEPTH_MAX || !names.every(isFragmentName) || NOT_FRAGMENTS.has(names[0]))
    throw new SmartRestError(45, id, `The path has the value ${shorten(path)}; it takes ${PATH_RULE}`);
  let at = tree;
  for (const name of names.slice(0, -1)) {
    const next = at.get(name) ?? new Map<string, string | Tree>();
    if (typeof next === 'string')
      throw new SmartRestError(45, id, `The path ${shorten(path)} goes through a value of another path`);
    at.set(name, next);
    at = next;
  }
  const last = names[names.length - 1];
  if (typeof (at.get(last) ?? '') !== 'string')
    throw new SmartRestError(45, id, `The path ${shorten(path)} takes the place of values of other paths`);
  at.set(last, value);
}

const textOf = (value: string | Tree): string =>
  typeof value === 'string' ? value : objectText([...value].map(([name, inner]) => [name, textOf(inner)] as const));
