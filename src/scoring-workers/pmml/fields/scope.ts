import { type Element, PmmlError } from '../document/element.ts';
import type { Expression } from './expression.ts';
import { dataTypeOf, opTypeFor, opTypeOf } from './data-field.ts';
import { type Field, makeField, onceForRecord, store } from './field.ts';
import type { LookBack } from './look-back.ts';
import { Dictionary, type Row, type Slots } from './row.ts';
import { castInput, castText, type DataType, isNumeric, textOf, textOfReal, type Value } from './types.ts';

/** Compiles the expression of a derived field among the names of a scope. */
export type CompileExpression = (element: Element, scope: Scope) => Expression;

/** A table that stands outside of the document: rows of texts by column. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * A function that was uploaded: values and results are those of JSON that are no objects, a missing argument is null.
 * @throws Error where it fails, which refuses the model and not a record
 */
export type CustomFunction = (
  args: readonly (string | number | boolean | null)[],
) => string | number | boolean | undefined;

/** What all scopes of one document share. */
export interface Names {
  readonly slots: Slots;
  readonly compile: CompileExpression;
  /** The first child of a derived field that is an expression. */
  readonly expressionOf: (element: Element) => Element;
  /** The same, where there may be none. */
  readonly findExpression: (element: Element) => Element | undefined;
  /** DerivedFields of the TransformationDictionary by name. */
  readonly globals: ReadonlyMap<string, Element>;
  /** DefineFunctions of the TransformationDictionary by name. */
  readonly functions: ReadonlyMap<string, Element>;
  /** An uploaded table by the name that a TableLocator gives. */
  readonly table: (name: string) => Table | undefined;
  /** An uploaded function by the name that an Apply gives. */
  readonly customFunction: (name: string) => CustomFunction | undefined;
  readonly nesting: Nesting;
  readonly lookBack: LookBack;
}

/** Steps over which expressions, derived fields and functions may refer to each other. */
const DEPTH_MAX = 1_000;

/** How deep expressions lie in each other, through fields and functions too: as deep as their evaluation goes. */
export class Nesting {
  #depth = 0;
  #deepest = 0;

  /** @throws PmmlError where what is meant lies too deep */
  enter(from: Element): void {
    this.#depth++;
    this.refer(0, from);
  }

  leave(): void {
    this.#depth--;
  }

  /** Something is used that was compiled before and is `steps` deep. */
  refer(steps: number, from: Element): void {
    const reached = this.#depth + steps;
    if (reached > DEPTH_MAX)
      throw new PmmlError(from, `expressions and fields refer to each other over more than ${DEPTH_MAX} steps`);
    if (reached > this.#deepest) this.#deepest = reached;
  }

  /** Does the work and says how many steps deep it went. */
  measure<Result>(from: Element, work: () => Result): { readonly result: Result; readonly steps: number } {
    const before = this.#deepest;
    this.enter(from);
    this.#deepest = this.#depth;
    try {
      const result = work();
      return { result, steps: this.#deepest - this.#depth + 1 };
    } finally {
      this.leave();
      this.#deepest = Math.max(before, this.#deepest);
    }
  }
}

/**
 * The names that a model sees: its mining fields, its derived fields, outputs of models before it in a chain, and what the
 * model around it sees. A derived field is compiled when something refers to it, so one without a use costs nothing.
 *
 * A DerivedField of the TransformationDictionary is compiled in the scope that refers to it, because it sees the mining fields
 * of that model with their treatment.
 */
export class Scope {
  readonly names: Names;
  readonly #parent: Scope | undefined;
  readonly #fields = new Map<string, Field>();
  readonly #locals: ReadonlyMap<string, Element>;
  /** Names whose fields are being compiled: one that comes again refers to itself. */
  readonly #under = new Set<string>();
  /** A scope that treats no values of its own takes the global fields of the scope around it. */
  readonly #isTransparent: boolean;
  /** The parameters of a function are all that it sees; they have other values at each call. */
  readonly #isFunction: boolean;

  constructor(
    names: Names,
    options: {
      parent?: Scope;
      locals?: ReadonlyMap<string, Element>;
      isTransparent?: boolean;
      isFunction?: boolean;
    } = {},
  ) {
    this.names = names;
    this.#parent = options.parent;
    this.#locals = options.locals ?? new Map();
    this.#isTransparent = options.parent !== undefined && (options.isTransparent ?? true);
    this.#isFunction = options.isFunction ?? false;
  }

  /** A field of this scope. A later one with the same name takes its place. */
  declare(field: Field, name = field.name): void {
    this.#fields.set(name, field);
  }

  /** The field of a name of this scope that something refers to. */
  known(name: string): Field | undefined {
    return this.#fields.get(name);
  }

  /**
   * The field of a name.
   *
   * @throws PmmlError at `from` where there is none, or where it refers to itself
   */
  field(name: string, from: Element): Field {
    const field = this.find(name, from);
    if (field === undefined) throw new PmmlError(from, `unknown field '${name}'`);
    return field;
  }

  find(name: string, from: Element): Field | undefined {
    const known = this.#fields.get(name);
    if (known !== undefined) {
      this.names.nesting.refer(known.depth ?? 0, from);
      return known;
    }
    const local = this.#locals.get(name);
    if (local !== undefined) return this.#derive(name, local, from);
    if (!this.#isTransparent && !this.#isFunction) {
      const global = this.names.globals.get(name);
      if (global !== undefined) return this.#derive(name, global, from);
    }
    return this.#parent?.find(name, from);
  }

  #derive(name: string, element: Element, from: Element): Field {
    if (this.#under.has(name)) throw new PmmlError(from, `the derived field '${name}' refers to itself`);
    this.#under.add(name);
    try {
      const { result, steps } = this.names.nesting.measure(from, () =>
        derivedField(name, element, this, this.#isFunction),
      );
      const field: Field = { ...result, depth: steps };
      this.#fields.set(name, field);
      return field;
    } finally {
      this.#under.delete(name);
    }
  }
}

function derivedField(name: string, element: Element, scope: Scope, isVolatile: boolean): Field {
  const expression = scope.names.compile(scope.names.expressionOf(element), scope);
  const type = dataTypeOf(element) ?? expression.type ?? 'double';
  const optype = opTypeOf(element) ?? opTypeFor(type);
  const order = element.childrenOf('Value').flatMap((child) => castText(child.required('value'), type) ?? []);
  return computedField({ name, type, optype, expression, slots: scope.names.slots, order, isVolatile });
}

/** DerivedFields by name. */
export function derivedFieldsOf(element: Element | undefined): ReadonlyMap<string, Element> {
  const fields = new Map<string, Element>();
  for (const child of element?.childrenOf('DerivedField') ?? []) {
    const name = child.attribute('name');
    if (name !== undefined) fields.set(name, child);
  }
  return fields;
}

/** A field that is computed from an expression, once for each record or (`isVolatile`) each time, and cast to its type. */
export function computedField(form: {
  readonly name: string;
  readonly type: DataType;
  readonly optype: Field['optype'];
  readonly expression: Expression;
  readonly slots: Slots;
  readonly order?: readonly Value[];
  readonly isVolatile?: boolean;
}): Field {
  const { name, type, optype, expression, slots } = form;
  const slot = slots.take();
  const dictionary = isNumeric(type) ? undefined : new Dictionary();
  const compute = computation(slot, type, expression, dictionary);
  const ensure =
    form.isVolatile === true
      ? (row: Row): void => {
          row.countCall();
          compute(row);
        }
      : onceForRecord(slot, compute);
  return makeField({ name, type, optype, slot, dictionary, ensure, order: form.order ?? [] });
}

function computation(slot: number, type: DataType, expression: Expression, dictionary: Dictionary | undefined) {
  const { number, value } = expression;
  const isSameArithmetic = expression.type === type && isNumeric(type) && type !== 'float';
  const isWidened = type === 'double' && (expression.type === 'integer' || expression.type === 'float');
  if (isSameArithmetic || isWidened)
    return (row: Row): void => {
      row.numbers[slot] = number(row);
    };
  return (row: Row): void => {
    const computed = value(row);
    if (computed === undefined || Array.isArray(computed)) store(row, slot, computed, dictionary);
    else store(row, slot, castComputed(computed as number | string | boolean, type, expression.type), dictionary);
  };
}

/**
 * A computed value, of the type `from` where that is known, as a field's type: a real number becomes an integer by rounding,
 * as it is the nearest one.
 *
 * @returns undefined where it cannot be one
 */
export function castComputed(value: number | string | boolean, type: DataType, from?: DataType): Value | undefined {
  if (typeof value === 'number') {
    if (type !== from && (from === 'date' || from === 'dateTime' || from === 'time'))
      return castText(textOf(value, from), type);
    if (type === 'string' && (from === 'double' || from === 'float')) return textOfReal(value, from);
    if (type === 'integer') return Number.isFinite(value) ? Math.round(value) : undefined;
  }
  return castInput(value, type);
}
