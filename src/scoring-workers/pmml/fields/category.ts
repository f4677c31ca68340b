import type { Element } from '../document/element.ts';
import type { Problems } from '../document/problems.ts';
import type { Field } from './field.ts';
import type { Row } from './row.ts';
import { castText } from './types.ts';

/** The field has another value than those asked for. */
const OTHER = -1;
/** The field has no value. */
export const MISSING = -2;

/** Index of a record's value in a list of values of the document; `OTHER` or `MISSING` where there is none. */
export type CategoryIndex = (row: Row) => number;

/**
 * Looks a field's value up among texts of the document, which are read as the field's type. The first of equal ones is
 * found. A text that is not of the type equals no value; it is reported as a warning.
 */
export function categoryIndex(
  field: Field,
  texts: readonly string[],
  from: Element,
  problems: Problems,
): CategoryIndex {
  const { slot, type, ensure } = field;
  if (type === 'string') return textIndex(field, texts);
  const indexes = new Map<number, number>();
  texts.forEach((text, index) => {
    const value = castText(text, type);
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number !== 'number' || Number.isNaN(number))
      problems.warn(from, `'${text}' is not a value of the type ${type} of '${field.name}'`);
    else if (!indexes.has(number)) indexes.set(number, index);
  });
  return (row) => {
    if (ensure !== undefined) ensure(row);
    const number = row.numbers[slot] as number;
    if (Number.isNaN(number)) return MISSING;
    return indexes.get(number) ?? OTHER;
  };
}

function textIndex(field: Field, texts: readonly string[]): CategoryIndex {
  const { slot, dictionary, ensure, value } = field;
  if (dictionary === undefined) {
    const indexes = new Map<unknown, number>();
    texts.forEach((text, index) => {
      if (!indexes.has(text)) indexes.set(text, index);
    });
    return (row) => {
      const text = value(row);
      return text === undefined ? MISSING : (indexes.get(text) ?? OTHER);
    };
  }
  const codes = texts.map((text) => dictionary.add(text));
  const size = codes.reduce((highest, code) => Math.max(highest, code), -1) + 1;
  const find = size <= TABLE_FACTOR * texts.length + TABLE_MIN ? inTable(codes, size) : inMap(codes);
  return (row) => {
    if (ensure !== undefined) ensure(row);
    const code = row.numbers[slot] as number;
    return Number.isNaN(code) ? MISSING : find(code);
  };
}

/** Codes stand in a table where not much of it stays empty: many models ask for few of many texts each. */
const TABLE_FACTOR = 4;
const TABLE_MIN = 64;

function inTable(codes: readonly number[], size: number): (code: number) => number {
  const indexes = new Int32Array(size).fill(OTHER);
  codes.forEach((code, index) => {
    if (indexes[code] === OTHER) indexes[code] = index;
  });
  return (code) => (code >= 0 && code < size ? (indexes[code] as number) : OTHER);
}

function inMap(codes: readonly number[]): (code: number) => number {
  const indexes = new Map<number, number>();
  codes.forEach((code, index) => {
    if (!indexes.has(code)) indexes.set(code, index);
  });
  return (code) => indexes.get(code) ?? OTHER;
}
