import { type Element, PmmlError } from '../document/element.ts';
import { castText, DATA_TYPES, type DataType, type OpType, type Value } from './types.ts';

/** One end of an interval and the other; a missing margin is open to infinity. */
export interface Interval {
  readonly left: number;
  readonly right: number;
  readonly isLeftClosed: boolean;
  readonly isRightClosed: boolean;
}

/** A field of the DataDictionary: its type and its domain. */
export interface DataField {
  readonly element: Element;
  readonly name: string;
  readonly type: DataType;
  readonly optype: OpType;
  /** Declared valid values in their order; empty: not declared. */
  readonly valid: readonly Value[];
  /** Values that count as missing, and as invalid; a mark that is not of the type is its text. */
  readonly missing: ReadonlySet<Value>;
  readonly invalid: ReadonlySet<Value>;
  readonly intervals: readonly Interval[];
  /** Text of a valid value → what to show in its place. */
  readonly displayValues: ReadonlyMap<string, string>;
  /** Whether a value that is of the type is in the declared domain. */
  isValid(value: Value): boolean;
}

const OPTYPES = ['categorical', 'ordinal', 'continuous'] as const;
const CLOSURES = ['openOpen', 'openClosed', 'closedOpen', 'closedClosed'] as const;

export function dataTypeOf(element: Element, name = 'dataType'): DataType | undefined {
  const text = element.attribute(name);
  if (text === undefined) return undefined;
  const type = DATA_TYPES.find((known) => known === text);
  if (type === undefined) throw new PmmlError(element, `'${name}' is '${text}', which is not a data type`);
  return type;
}

export function opTypeOf(element: Element): OpType | undefined {
  const text = element.attribute('optype');
  return text === undefined ? undefined : element.oneOf('optype', OPTYPES, 'continuous');
}

export const opTypeFor = (type: DataType): OpType =>
  type === 'string' || type === 'boolean' ? 'categorical' : 'continuous';

/** @throws PmmlError where the element is not what the standard allows */
export function readDataField(element: Element): DataField {
  const name = element.required('name');
  const given = opTypeOf(element);
  const type = dataTypeOf(element) ?? (given === 'continuous' ? 'double' : 'string');
  const optype = given ?? opTypeFor(type);
  const valid: Value[] = [];
  const missing = new Set<Value>();
  const invalid = new Set<Value>();
  const displayValues = new Map<string, string>();
  for (const child of element.childrenOf('Value')) {
    const text = child.required('value');
    const property = child.oneOf('property', ['valid', 'invalid', 'missing'] as const, 'valid');
    if (property !== 'valid') (property === 'missing' ? missing : invalid).add(castText(text, type) ?? text);
    else {
      const value = castText(text, type);
      if (value === undefined) throw new PmmlError(child, `'${text}' is no ${type}`);
      valid.push(value);
      const display = child.attribute('displayValue');
      if (display !== undefined) displayValues.set(text, display);
    }
  }
  const intervals = element.childrenOf('Interval').map(readInterval);
  const validSet = new Set<Value>(valid);
  const isValid = (value: Value): boolean => {
    if (Array.isArray(value)) return value.every((one) => isValid(one as Value));
    if (typeof value === 'number' && Number.isNaN(value)) return false;
    if (validSet.size === 0 && intervals.length === 0) return true;
    if (validSet.has(value)) return true;
    return typeof value === 'number' && intervals.some((interval) => contains(interval, value));
  };
  return { element, name, type, optype, valid, missing, invalid, intervals, displayValues, isValid };
}

/** An `Interval`, of a data field or of `Discretize`. */
export function readInterval(element: Element): Interval {
  const closure = element.oneOf('closure', CLOSURES, 'closedClosed');
  return {
    left: element.number('leftMargin', Number.NEGATIVE_INFINITY),
    right: element.number('rightMargin', Number.POSITIVE_INFINITY),
    isLeftClosed: closure.startsWith('closed'),
    isRightClosed: closure.endsWith('Closed'),
  };
}

function contains(interval: Interval, value: number): boolean {
  return (
    (interval.isLeftClosed ? value >= interval.left : value > interval.left) &&
    (interval.isRightClosed ? value <= interval.right : value < interval.right)
  );
}
