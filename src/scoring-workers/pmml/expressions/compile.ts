import { type Element, PmmlError } from '../document/element.ts';
import type { Expression } from '../fields/expression.ts';
import { LookBack } from '../fields/look-back.ts';
import { Slots } from '../fields/row.ts';
import { type Names, Nesting, type Scope, type Table } from '../fields/scope.ts';
import { compileAggregate } from './aggregate.ts';
import { compileApply } from './apply.ts';
import { compileConstant, compileFieldRef } from './basic.ts';
import { compileDiscretize } from './discretize.ts';
import { compileLag } from './lag.ts';
import { compileMapValues } from './map-values.ts';
import { compileNormContinuous, compileNormDiscrete } from './normalize.ts';
import { compileTextIndex } from './text/text-index.ts';

/** Name of an element → what compiles it: the expressions of PMML 4.4 (docs/spec/pmml-expressions.md#expressions). */
const EXPRESSIONS: ReadonlyMap<string, (element: Element, scope: Scope) => Expression> = new Map([
  ['Constant', compileConstant],
  ['FieldRef', compileFieldRef],
  ['NormContinuous', compileNormContinuous],
  ['NormDiscrete', compileNormDiscrete],
  ['Discretize', compileDiscretize],
  ['MapValues', compileMapValues],
  ['TextIndex', compileTextIndex],
  ['Apply', compileApply],
  ['Aggregate', compileAggregate],
  ['Lag', compileLag],
]);

export const EXPRESSION_NAMES: readonly string[] = [...EXPRESSIONS.keys()];

/**
 * Compiles an expression among the names of a scope.
 *
 * @throws PmmlError where it is not what the standard allows, or names something that there is not
 */
export function compileExpression(element: Element, scope: Scope): Expression {
  const compile = EXPRESSIONS.get(element.name);
  if (compile === undefined)
    throw new PmmlError(element, `is not an expression: these are ${EXPRESSION_NAMES.join(', ')}`);
  const { nesting } = scope.names;
  nesting.enter(element);
  try {
    return compile(element, scope);
  } finally {
    nesting.leave();
  }
}

/** The expression in an element, such as a DerivedField; undefined where it has none. */
function findExpression(element: Element): Element | undefined {
  return element.children.find(({ name }) => EXPRESSIONS.has(name));
}

/** @throws PmmlError where the element has no expression */
function expressionOf(element: Element): Element {
  const found = findExpression(element);
  if (found === undefined) throw new PmmlError(element, `has no expression: one of ${EXPRESSION_NAMES.join(', ')}`);
  return found;
}

/** What all scopes of a document share. */
export function namesOf(options: {
  readonly slots?: Slots;
  readonly globals?: ReadonlyMap<string, Element>;
  readonly functions?: ReadonlyMap<string, Element>;
  readonly table?: (name: string) => Table | undefined;
  readonly customFunction?: Names['customFunction'];
}): Names {
  return {
    slots: options.slots ?? new Slots(),
    compile: compileExpression,
    expressionOf,
    findExpression,
    globals: options.globals ?? new Map(),
    functions: options.functions ?? new Map(),
    table: options.table ?? (() => undefined),
    customFunction: options.customFunction ?? (() => undefined),
    nesting: new Nesting(),
    lookBack: new LookBack(),
  };
}
