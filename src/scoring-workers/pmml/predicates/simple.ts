import { PmmlError } from '../document/element.ts';
import type { Place } from '../document/problems.ts';
import { numberOfText } from '../fields/equality.ts';
import type { Field } from '../fields/field.ts';
import type { Row } from '../fields/row.ts';
import type { Value } from '../fields/types.ts';
import { FALSE, type Predicate, TRUE, type Truth, UNKNOWN } from './predicate.ts';

export const OPERATORS = [
  'equal',
  'notEqual',
  'lessThan',
  'lessOrEqual',
  'greaterThan',
  'greaterOrEqual',
  'isMissing',
  'isNotMissing',
] as const;

export type Operator = (typeof OPERATORS)[number];

/**
 * A test of the number in a field's slot: of a number, a truth, or the code of a text. NaN in the slot is a missing value, which
 * only the last two operators decide.
 */
export interface SlotTest {
  readonly field: Field;
  readonly operator: Operator;
  /** NaN: no value of the field is equal to it. */
  readonly operand: number;
}

/** What a SimplePredicate tests: a slot, or what only a function of the row can tell, such as the order of texts. */
export type SimpleTest = SlotTest | { readonly field: Field; readonly predicate: Predicate };

const ORDERED: ReadonlySet<Operator> = new Set(['lessThan', 'lessOrEqual', 'greaterThan', 'greaterOrEqual']);

/**
 * The test of a field against a text of the document, which is read as the field's type.
 *
 * @throws PmmlError where an order is asked for and the text is not of the type
 */
export function simpleTest(field: Field, operator: Operator, text: string | undefined, from: Place): SimpleTest {
  if (operator === 'isMissing' || operator === 'isNotMissing') return { field, operator, operand: Number.NaN };
  if (text === undefined) throw new PmmlError(from, `has no 'value' for the operator '${operator}'`);
  if (ORDERED.has(operator)) {
    if (field.optype === 'ordinal' && field.order.length > 0) {
      const ranked = rankPredicate(field, operator, text);
      if (ranked !== undefined) return { field, predicate: ranked };
    }
    if (field.type === 'string') return { field, predicate: textPredicate(field, operator, text) };
    const operand = numberOfText(text, field);
    if (Number.isNaN(operand))
      throw new PmmlError(
        from,
        `'value' is '${text}', which is not a value of the type ${field.type} of '${field.name}'`,
      );
    return { field, operator, operand };
  }
  if (field.type !== 'string') return { field, operator, operand: numberOfText(text, field) };
  if (field.dictionary === undefined) return { field, predicate: textPredicate(field, operator, text) };
  return { field, operator, operand: field.dictionary.add(text) };
}

/** Compares by the order in which the field's values are declared; undefined where the text is not among them. */
function rankPredicate(field: Field, operator: Operator, text: string): Predicate | undefined {
  const ranks = new Map<Value, number>(field.order.map((value, index) => [value, index]));
  const wanted = field.type === 'string' ? text : numberOfText(text, field);
  const rank = ranks.get(field.type === 'boolean' ? wanted === 1 : wanted);
  if (rank === undefined) return undefined;
  const decide = decision(operator);
  return (row) => {
    const value = field.value(row);
    if (value === undefined) return UNKNOWN;
    const here = ranks.get(value);
    return here !== undefined && decide(here - rank) ? TRUE : FALSE;
  };
}

function textPredicate(field: Field, operator: Operator, text: string): Predicate {
  const decide = decision(operator);
  return (row) => {
    const value = field.value(row);
    if (typeof value !== 'string') return value === undefined ? UNKNOWN : FALSE;
    return decide(value < text ? -1 : value > text ? 1 : 0) ? TRUE : FALSE;
  };
}

function decision(operator: Operator): (order: number) => boolean {
  switch (operator) {
    case 'equal':
      return (order) => order === 0;
    case 'notEqual':
      return (order) => order !== 0;
    case 'lessThan':
      return (order) => order < 0;
    case 'lessOrEqual':
      return (order) => order <= 0;
    case 'greaterThan':
      return (order) => order > 0;
    default:
      return (order) => order >= 0;
  }
}

/** A test as a predicate of its own. */
export function predicateOf(test: SimpleTest): Predicate {
  if ('predicate' in test) return test.predicate;
  const { field, operator, operand } = test;
  const { slot } = field;
  const compare = comparison(operator, operand, slot);
  return ensured(field, compare);
}

/** Fields that are computed on demand are computed before the test. */
export function ensured({ ensure }: Field, predicate: Predicate): Predicate {
  if (ensure === undefined) return predicate;
  return (row) => {
    ensure(row);
    return predicate(row);
  };
}

/** One closure for each operator: the test of a number is on the way of every record. */
function comparison(operator: Operator, operand: number, slot: number): Predicate {
  const unequal = (given: number): Truth => (given === given ? FALSE : UNKNOWN);
  switch (operator) {
    case 'equal':
      return (row) => {
        const given = row.numbers[slot];
        return given === operand ? TRUE : unequal(given);
      };
    case 'notEqual':
      return (row) => {
        const given = row.numbers[slot];
        return given === operand ? FALSE : given === given ? TRUE : UNKNOWN;
      };
    case 'lessThan':
      return (row) => {
        const given = row.numbers[slot];
        return given < operand ? TRUE : unequal(given);
      };
    case 'lessOrEqual':
      return (row) => {
        const given = row.numbers[slot];
        return given <= operand ? TRUE : unequal(given);
      };
    case 'greaterThan':
      return (row) => {
        const given = row.numbers[slot];
        return given > operand ? TRUE : unequal(given);
      };
    case 'greaterOrEqual':
      return (row) => {
        const given = row.numbers[slot];
        return given >= operand ? TRUE : unequal(given);
      };
    case 'isMissing':
      return (row) => (isMissing(row, slot) ? TRUE : FALSE);
    default:
      return (row) => (isMissing(row, slot) ? FALSE : TRUE);
  }
}

/** A collection stands beside NaN. */
const isMissing = (row: Row, slot: number): boolean =>
  Number.isNaN(row.numbers[slot]) && row.values[slot] === undefined;
