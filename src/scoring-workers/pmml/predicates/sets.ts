import type { Field } from '../fields/field.ts';
import { numberOfText } from '../fields/equality.ts';
import type { Row } from '../fields/row.ts';
import { ensured } from './simple.ts';
import { FALSE, type Predicate, TRUE, UNKNOWN } from './predicate.ts';

/** Whole numbers below this are looked up in a bitmap, others in a set. */
const BITMAP_MAX = 4_096;

/** Whether the number in the field's slot is one of those that the texts stand for; not asked of missing values. */
export function membership(field: Field, texts: readonly string[]): (given: number) => boolean {
  const { dictionary } = field;
  const numbers = texts.map((text) => (dictionary === undefined ? numberOfText(text, field) : dictionary.add(text)));
  const isSmall = numbers.every((number) => Number.isInteger(number) && number >= 0 && number < BITMAP_MAX);
  if (!isSmall) {
    const set = new Set(numbers);
    return (given) => set.has(given);
  }
  const bitmap = new Uint8Array(numbers.reduce((highest, number) => Math.max(highest, number + 1), 0));
  for (const number of numbers) bitmap[number] = 1;
  return (given) => bitmap[given] === 1;
}

/** `SimpleSetPredicate`: whether the field has one of the values. */
export function setPredicate(field: Field, texts: readonly string[], isIn: boolean): Predicate {
  const [inside, outside] = isIn ? ([TRUE, FALSE] as const) : ([FALSE, TRUE] as const);
  if (field.type === 'string' && field.dictionary === undefined) {
    const set = new Set<unknown>(texts);
    return (row) => {
      const value = field.value(row);
      return value === undefined ? UNKNOWN : set.has(value) ? inside : outside;
    };
  }
  const { slot } = field;
  const isMember = membership(field, texts);
  return ensured(field, (row: Row) => {
    const given = row.numbers[slot];
    return Number.isNaN(given) ? UNKNOWN : isMember(given) ? inside : outside;
  });
}
