import type { Row } from './row.ts';
import { type DataType, isNumeric, type Value } from './types.ts';

/**
 * A compiled expression. `type` is undefined where only the value tells it. Both functions give the same result:
 * `number` for those who compute (NaN: missing; a boolean is 1 or 0), `value` for the others (undefined: missing).
 */
export interface Expression {
  readonly type: DataType | undefined;
  readonly number: (row: Row) => number;
  readonly value: (row: Row) => Value | undefined;
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
  if (type !== undefined && isNumeric(type)) {
    const number = value === undefined ? Number.NaN : Number(value);
    return { type, number: () => number, value: () => value };
  }
  return ofValues(type, () => value);
}
