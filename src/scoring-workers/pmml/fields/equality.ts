import type { Field } from './field.ts';
import type { Row } from './row.ts';
import { castText } from './types.ts';

/**
 * Whether a field has the value that a text of the document stands for: 1, 0, or NaN where the field is missing. A text that
 * is not of the field's type equals no value; of an integer field it may be a real number.
 */
export function equalsText(field: Field, text: string): (row: Row) => number {
  const { slot, type, dictionary, ensure, value } = field;
  if (type === 'string' && dictionary === undefined)
    return (row) => {
      const given = value(row);
      return given === undefined ? Number.NaN : given === text ? 1 : 0;
    };
  const wanted = dictionary === undefined ? numberOfText(text, field) : dictionary.add(text);
  if (ensure === undefined)
    return (row) => {
      const given = row.numbers[slot];
      return given === wanted ? 1 : given === given ? 0 : Number.NaN;
    };
  return (row) => {
    ensure(row);
    const given = row.numbers[slot];
    return given === wanted ? 1 : given === given ? 0 : Number.NaN;
  };
}

/** A text of the document as it would stand in the slot of a field of numbers or booleans; NaN where it cannot. */
export function numberOfText(text: string, field: { readonly type: Field['type'] }): number {
  const value = castText(text, field.type === 'integer' ? 'double' : field.type);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : Number.NaN;
}
