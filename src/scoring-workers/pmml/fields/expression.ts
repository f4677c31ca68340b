import { InvalidRecord, type Row } from './row.ts';
import { castText, type DataType, isNumeric, textOf, type Value } from './types.ts';
import { numberOf } from '../document/element.ts';

/**
 * A compiled expression. `type` is undefined where only the value tells it. Both functions give the same result:
 * `number` for those who compute (NaN: missing; a boolean is 1 or 0), `value` for the others (undefined: missing).
 */
export interface Expression {
  readonly type: DataType | undefined;
  readonly number: (row: Row) => number;
  readonly value: (row: Row) => Value | undefined;
  /** The same value for every record, held here; undefined where it depends on the record. */
  readonly constant?: { readonly value: Value | undefined };
}

/** An expression whose values stand as numbers: of any type but `string`. */
export function ofNumbers(type: DataType, number: (row: Row) => number): Expression {
  if (type === 'boolean')
    return {
      type,
      number,
      value: (row) => {
        const result = number(row);
        return Number.isNaN(result) ? undefined : result !== 0;
      },
    };
  return {
    type,
    number,
    value: (row) => {
      const result = number(row);
      return Number.isNaN(result) ? undefined : result;
    },
  };
}

/** An expression of texts, collections, or of a type that is not known before. */
export function ofValues(type: DataType | undefined, value: (row: Row) => Value | undefined): Expression {
  return {
    type,
    value,
    number: (row) => {
      const result = value(row);
      if (typeof result === 'number') return result;
      if (typeof result === 'boolean') return result ? 1 : 0;
      return Number.NaN;
    },
  };
}

export function constant(type: DataType | undefined, value: Value | undefined): Expression {
  const held = { value };
  if (type !== undefined && isNumeric(type)) {
    const number = value === undefined ? Number.NaN : Number(value);
    return { type, number: () => number, value: () => value, constant: held };
  }
  return { ...ofValues(type, () => value), constant: held };
}

/** A text of the document in place of a missing value: of the type where it can be one, else as it stands. */
export function replacementOf(text: string, type: DataType | undefined): Expression {
  const value = castText(text, type ?? 'string');
  return value === undefined ? constant('string', text) : constant(type ?? 'string', value);
}

/** The expression, and what stands in its place where it is missing. */
export function orElse(expression: Expression, other: Expression): Expression {
  const { type } = expression;
  if (type !== undefined && isNumeric(type) && other.type === type) {
    const { number } = expression;
    return ofNumbers(type, (row) => {
      const result = number(row);
      return Number.isNaN(result) ? other.number(row) : result;
    });
  }
  return ofValues(type === other.type ? type : undefined, (row) => expression.value(row) ?? other.value(row));
}

/**
 * The value as a number to compute with; NaN where it is missing.
 *
 * @throws InvalidRecord (the function) where it is a boolean, or a text that is not a number
 */
export function numberFrom(expression: Expression): (row: Row) => number {
  const { type, value } = expression;
  if (type !== undefined && type !== 'boolean' && isNumeric(type)) return expression.number;
  return (row) => {
    const given = value(row);
    if (given === undefined) return Number.NaN;
    const number = typeof given === 'string' ? numberOf(given) : given;
    if (typeof number === 'number') return number;
    throw new InvalidRecord(`'${textOf(given, type)}' is not a number`);
  };
}

/** The value as a text; undefined where it is missing. */
export function textFrom(expression: Expression): (row: Row) => string | undefined {
  const { type, value } = expression;
  return (row) => {
    const given = value(row);
    if (given === undefined || typeof given === 'string') return given;
    return textOf(given, type);
  };
}

/** Whether the value is missing. */
export function isMissingIn({ value }: Expression): (row: Row) => boolean {
  return (row) => value(row) === undefined;
}
