import { readTexts } from '../document/arrays.ts';
import { type Element, PmmlError } from '../document/element.ts';
import type { Scope } from '../fields/scope.ts';
import { FALSE, type Predicate, TRUE, type Truth, UNKNOWN } from './predicate.ts';
import { setPredicate } from './sets.ts';
import { OPERATORS, predicateOf, simpleTest } from './simple.ts';

export const PREDICATE_NAMES: readonly string[] = [
  'SimplePredicate',
  'SimpleSetPredicate',
  'CompoundPredicate',
  'True',
  'False',
];

/** The predicate in an element, such as a Segment; undefined where it has none. */
export function findPredicate(element: Element): Element | undefined {
  return element.children.find(({ name }) => PREDICATE_NAMES.includes(name));
}

/**
 * Compiles a predicate among the names of a scope, in three-valued logic (docs/spec/pmml-expressions.md#predicates).
 *
 * @throws PmmlError where it is not what the standard allows, or names a field that there is not
 */
export function compilePredicate(element: Element, scope: Scope): Predicate {
  switch (element.name) {
    case 'True':
      return () => TRUE;
    case 'False':
      return () => FALSE;
    case 'SimplePredicate':
      return predicateOf(
        simpleTest(
          scope.field(element.required('field'), element),
          element.oneOf('operator', OPERATORS, element.required('operator') as 'equal'),
          element.attribute('value'),
          element,
        ),
      );
    case 'SimpleSetPredicate':
      return compileSet(element, scope);
    case 'CompoundPredicate':
      return compileCompound(element, scope);
    default:
      throw new PmmlError(element, `is not a predicate: these are ${PREDICATE_NAMES.join(', ')}`);
  }
}

function compileSet(element: Element, scope: Scope): Predicate {
  const field = scope.field(element.required('field'), element);
  const operators = ['isIn', 'isNotIn'] as const;
  const operator = element.oneOf('booleanOperator', operators, element.required('booleanOperator') as 'isIn');
  const array = element.child('Array') ?? element.children.find(({ name }) => name.endsWith('-Array'));
  if (array === undefined) throw new PmmlError(element, 'has no Array');
  return setPredicate(field, readTexts(array), operator === 'isIn');
}

function compileCompound(element: Element, scope: Scope): Predicate {
  const operators = ['and', 'or', 'xor', 'surrogate'] as const;
  const operator = element.oneOf('booleanOperator', operators, element.required('booleanOperator') as 'and');
  const members = compileMembers(element, scope);
  switch (operator) {
    case 'and':
      return (row) => combined(members, FALSE, row);
    case 'or':
      return (row) => combined(members, TRUE, row);
    case 'xor':
      return (row) => {
        let isTrue = false;
        for (const member of members) {
          const truth = member(row);
          if (truth === UNKNOWN) return UNKNOWN;
          if (truth === TRUE) isTrue = !isTrue;
        }
        return isTrue ? TRUE : FALSE;
      };
    default:
      return (row) => {
        for (const member of members) {
          const truth = member(row);
          if (truth !== UNKNOWN) return truth;
        }
        return UNKNOWN;
      };
  }
}

/** The predicates in a CompoundPredicate, in order. */
export function compileMembers(element: Element, scope: Scope): readonly Predicate[] {
  const { nesting } = scope.names;
  nesting.enter(element);
  try {
    const members = element.childrenOf(...PREDICATE_NAMES).map((child) => compilePredicate(child, scope));
    if (members.length === 0) throw new PmmlError(element, `has no predicate: one of ${PREDICATE_NAMES.join(', ')}`);
    return members;
  } finally {
    nesting.leave();
  }
}

/** `wins` decides at once; an unknown member counts where none decided. */
function combined(
  members: readonly Predicate[],
  wins: typeof TRUE | typeof FALSE,
  row: Parameters<Predicate>[0],
): Truth {
  let isUnknown = false;
  for (const member of members) {
    const truth = member(row);
    if (truth === wins) return wins;
    if (truth === UNKNOWN) isUnknown = true;
  }
  return isUnknown ? UNKNOWN : wins === TRUE ? FALSE : TRUE;
}
