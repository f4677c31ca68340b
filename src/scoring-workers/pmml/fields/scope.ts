import { type Element, PmmlError } from '../document/element.ts';
import type { Expression } from './expression.ts';
import { dataTypeOf, opTypeFor, opTypeOf } from './data-field.ts';
import { type Field, makeField, onceForRecord, store } from './field.ts';
import { Dictionary, type Slots } from './row.ts';
import { castInput, type DataType, isNumeric } from './types.ts';

/** Compiles the expression of a derived field among the names of a scope. */
export type CompileExpression = (element: Element, scope: Scope) => Expression;

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
}

/**
 * The names that a model sees: its mining fields, its derived fields, outputs of models before it in a chain, and what the
 * model around it sees. A derived field is compiled when something refers to it, so one that nobody uses costs nothing.
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

  constructor(
    names: Names,
    options: { parent?: Scope; locals?: ReadonlyMap<string, Element>; isTransparent?: boolean } = {},
  ) {
    this.names = names;
    this.#parent = options.parent;
    this.#locals = options.locals ?? new Map();
    this.#isTransparent = options.parent !== undefined && (options.isTransparent ?? true);
  }

  /** A field of this scope. A later one with the same name takes its place. */
  declare(field: Field, name = field.name): void {
    this.#fields.set(name, field);
  }

  /**
   * The field of a name.
   *
   * @throws PmmlError at `from` where there is none, or where it refers to itself
   */
  field(name: string, from: Element): Field {
    const field = this.find(name, from);
    if (field === undefined) throw new PmmlError(from, `there is no field '${name}'`);
    return field;
  }

  find(name: string, from: Element): Field | undefined {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const local = this.#locals.get(name);
    if (local !== undefined) return this.#derive(name, local, from);
    if (!this.#isTransparent) {
      const global = this.names.globals.get(name);
      if (global !== undefined) return this.#derive(name, global, from);
    }
    return this.#parent?.find(name, from);
  }

  #derive(name: string, element: Element, from: Element): Field {
    if (this.#under.has(name)) throw new PmmlError(from, `the derived field '${name}' refers to itself`);
    if (this.#under.size > DEPTH_MAX)
      throw new PmmlError(from, `derived fields refer to each other over more than ${DEPTH_MAX} steps`);
    this.#under.add(name);
    try {
      const field = derivedField(name, element, this);
      this.#fields.set(name, field);
      return field;
    } finally {
      this.#under.delete(name);
    }
  }
}

const DEPTH_MAX = 500;

function derivedField(name: string, element: Element, scope: Scope): Field {
  const expression = scope.names.compile(scope.names.expressionOf(element), scope);
  const type = dataTypeOf(element) ?? expression.type ?? 'double';
  const optype = opTypeOf(element) ?? opTypeFor(type);
  return computedField({ name, type, optype, expression, slots: scope.names.slots });
}

/** A field that is computed from an expression, once for each record, and cast to its type. */
export function computedField(form: {
  readonly name: string;
  readonly type: DataType;
  readonly optype: Field['optype'];
  readonly expression: Expression;
  readonly slots: Slots;
}): Field {
  const { name, type, optype, expression, slots } = form;
  const slot = slots.take();
  const dictionary = isNumeric(type) ? undefined : new Dictionary();
  const ensure = onceForRecord(slot, computation(slot, type, expression, dictionary));
  return makeField({ name, type, optype, slot, dictionary, ensure });
}

function computation(slot: number, type: DataType, expression: Expression, dictionary: Dictionary | undefined) {
  const { number, value } = expression;
  const isSameArithmetic = expression.type === type && isNumeric(type) && type !== 'float';
  const isWidened = type === 'double' && (expression.type === 'integer' || expression.type === 'float');
  if (isSameArithmetic || isWidened)
    return (row: Parameters<typeof number>[0]): void => {
      row.numbers[slot] = number(row);
    };
  return (row: Parameters<typeof number>[0]): void => {
    const computed = value(row);
    if (computed === undefined || Array.isArray(computed)) store(row, slot, computed, dictionary);
    else store(row, slot, castComputed(computed as number | string | boolean, type), dictionary);
  };
}

/** A computed value as a field's type: a real number becomes an integer by rounding, as it is the nearest one. */
function castComputed(value: number | string | boolean, type: DataType): ReturnType<typeof castInput> {
  if (type === 'integer' && typeof value === 'number') return Number.isFinite(value) ? Math.round(value) : undefined;
  return castInput(value, type);
}
