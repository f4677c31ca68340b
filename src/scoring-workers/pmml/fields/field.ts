import type { Expression } from './expression.ts';
import { type Dictionary, type Row, UNKNOWN_CODE } from './row.ts';
import { type DataType, isNumeric, type OpType, type Value } from './types.ts';

/**
 * A field that expressions, predicates and models refer to. Its value stands in its slot: of an input from the beginning,
 * of every other field after `ensure`, which computes it once for each record. Who reads `row.numbers[slot]` itself calls
 * `ensure` first.
 */
export interface Field extends Expression {
  readonly name: string;
  readonly type: DataType;
  readonly optype: OpType;
  readonly slot: number;
  readonly ensure: ((row: Row) => void) | undefined;
  /** Of a text field: what its codes mean; `row.numbers[slot]` holds the code. */
  readonly dictionary: Dictionary | undefined;
  /** Declared values in their order, of ordinal fields for comparisons. */
  readonly order: readonly Value[];
  /** Steps that its evaluation goes deep, of a field that is computed. */
  readonly depth?: number;
  /** Whether a value is in the domain that the dictionary of data declares. */
  isValid(value: Value): boolean;
}

export interface FieldForm {
  readonly name: string;
  readonly type: DataType;
  readonly optype: OpType;
  readonly slot: number;
  readonly dictionary: Dictionary | undefined;
  readonly order?: readonly Value[];
  readonly isValid?: (value: Value) => boolean;
  readonly ensure?: (row: Row) => void;
}

const everyValue = (): boolean => true;

/** A field over its slot. */
export function makeField(form: FieldForm): Field {
  const { name, type, optype, slot, dictionary, ensure } = form;
  const base = {
    name,
    type,
    optype,
    slot,
    dictionary,
    ensure,
    order: form.order ?? [],
    isValid: form.isValid ?? everyValue,
  };
  const numberIn = (row: Row): number => row.numbers[slot] as number;
  const booleanIn = (row: Row): Value | undefined => {
    const held = row.values[slot];
    if (held !== undefined) return held;
    const number = row.numbers[slot] as number;
    return Number.isNaN(number) ? undefined : number !== 0;
  };
  const valueIn = (row: Row): Value | undefined => {
    const held = row.values[slot];
    if (held !== undefined) return held;
    const number = row.numbers[slot] as number;
    return Number.isNaN(number) ? undefined : number;
  };
  const textIn = (row: Row): Value | undefined => row.values[slot];
  const read = !isNumeric(type) ? textIn : type === 'boolean' ? booleanIn : valueIn;
  const number = isNumeric(type) ? numberIn : (): number => Number.NaN;
  if (ensure === undefined) return { ...base, number, value: read };
  return {
    ...base,
    number: (row) => {
      ensure(row);
      return number(row);
    },
    value: (row) => {
      ensure(row);
      return read(row);
    },
  };
}

/** Puts a value into a slot; a text beside its code, a collection beside NaN. */
export function store(row: Row, slot: number, value: Value | undefined, dictionary: Dictionary | undefined): void {
  if (typeof value === 'number') {
    row.numbers[slot] = value;
    row.values[slot] = undefined;
  } else if (value === undefined) {
    row.numbers[slot] = Number.NaN;
    row.values[slot] = undefined;
  } else if (typeof value === 'string') {
    row.numbers[slot] = dictionary === undefined ? UNKNOWN_CODE : dictionary.code(value);
    row.values[slot] = value;
  } else if (typeof value === 'boolean') {
    row.numbers[slot] = value ? 1 : 0;
    row.values[slot] = undefined;
  } else {
    row.numbers[slot] = Number.NaN;
    row.values[slot] = value;
    row.collections.push(slot);
  }
}

/** Computes a slot once for each record; what throws has no value, and throws when it is asked for again. */
export function onceForRecord(slot: number, compute: (row: Row) => void): (row: Row) => void {
  return (row) => {
    if (row.stamps[slot] === row.epoch) return;
    compute(row);
    row.stamps[slot] = row.epoch;
  };
}
