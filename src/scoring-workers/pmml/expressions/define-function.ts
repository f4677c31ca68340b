import { type Element, PmmlError } from '../document/element.ts';
import { dataTypeOf, opTypeFor, opTypeOf } from '../fields/data-field.ts';
import { type Expression, ofNumbers, ofValues } from '../fields/expression.ts';
import { type Field, makeField, store } from '../fields/field.ts';
import { Dictionary, InvalidRecord, type Row } from '../fields/row.ts';
import { castComputed, type Names, Scope } from '../fields/scope.ts';
import { type DataType, isNumeric, type Value } from '../fields/types.ts';

/** Steps that open calls of functions that call themselves may be deep in each other: each is as deep as its function. */
const CALL_DEPTH_MAX = 2_000;

/** A function of the document, compiled for arguments of certain types. */
interface UserFunction {
  readonly parameters: readonly Field[];
  /** Unknown while the function is compiled, where it calls itself. */
  body: Expression | undefined;
  type: DataType | undefined;
  steps: number;
  /** It calls itself, directly or through others: its parameters are kept while it does. */
  isRecursive: boolean;
}

/** The functions of one document: those compiled, by name and types of arguments, and those being compiled. */
interface Library {
  readonly compiled: Map<string, UserFunction>;
  readonly open: UserFunction[];
}

const LIBRARIES = new WeakMap<Names, Library>();

/**
 * Compiles the call of a function that the document defines (`DefineFunction`). Its parameters have slots of their own; a body
 * is compiled once for each combination of argument types.
 */
export function compileUserCall(
  definition: Element,
  args: readonly Expression[],
  from: Element,
  names: Names,
): Expression {
  const parameters = definition.childrenOf('ParameterField');
  const name = definition.required('name');
  if (args.length !== parameters.length)
    throw new PmmlError(from, `'${name}' has ${args.length} arguments; it takes ${parameters.length}`);
  const types = parameters.map((parameter, index) => dataTypeOf(parameter) ?? args[index].type ?? 'string');
  const called = userFunction(definition, name, types, from, names);
  return callOf(called, name, args);
}

function userFunction(
  definition: Element,
  name: string,
  types: readonly DataType[],
  from: Element,
  names: Names,
): UserFunction {
  let library = LIBRARIES.get(names);
  if (library === undefined) {
    library = { compiled: new Map(), open: [] };
    LIBRARIES.set(names, library);
  }
  const { compiled, open } = library;
  const key = JSON.stringify([name, ...types]);
  const known = compiled.get(key);
  if (known !== undefined) {
    const opened = open.indexOf(known);
    if (opened === -1) names.nesting.refer(known.steps, from);
    else for (const between of open.slice(opened)) between.isRecursive = true;
    return known;
  }
  const scope = new Scope(names, { locals: localsOf(definition), isFunction: true });
  const parameters = definition.childrenOf('ParameterField').map((parameter, index) => {
    const type = types[index];
    const field = makeField({
      name: parameter.required('name'),
      type,
      optype: opTypeOf(parameter) ?? opTypeFor(type),
      slot: names.slots.take(),
      dictionary: isNumeric(type) ? undefined : new Dictionary(),
    });
    scope.declare(field);
    return field;
  });
  const type = dataTypeOf(definition);
  const made: UserFunction = { parameters, body: undefined, type, steps: 1, isRecursive: false };
  compiled.set(key, made);
  open.push(made);
  try {
    const { result, steps } = names.nesting.measure(from, () => names.compile(names.expressionOf(definition), scope));
    made.body = result;
    made.type = type ?? result.type;
    made.steps = steps;
  } finally {
    open.pop();
  }
  return made;
}

/** DerivedFields inside of a function, which some producers write: they see its parameters. */
function localsOf(definition: Element): ReadonlyMap<string, Element> {
  return new Map(definition.childrenOf('DerivedField').map((field) => [field.required('name'), field]));
}

function callOf(called: UserFunction, name: string, args: readonly Expression[]): Expression {
  const { parameters } = called;
  const value = (row: Row): Value | undefined => {
    // All are evaluated before one is stored: an argument may hold a call of the same function.
    const given = args.map((arg) => arg.value(row));
    row.countCall();
    if (called.isRecursive) return recursiveCall(row, called, name, () => setParameters(row, parameters, given, args));
    setParameters(row, parameters, given, args);
    return resultOf(row, called);
  };
  const { type } = called;
  if (type === undefined || !isNumeric(type)) return ofValues(type, value);
  return ofNumbers(type, (row) => {
    const result = value(row);
    return result === undefined ? Number.NaN : Number(result);
  });
}

/** The function may be open already: what its parameters hold then is kept and put back. */
function recursiveCall(row: Row, called: UserFunction, name: string, setAll: () => void): Value | undefined {
  const { parameters, steps } = called;
  const kept = parameters.map((parameter) => parameter.value(row));
  setAll();
  row.callDepth += steps;
  try {
    if (row.callDepth > CALL_DEPTH_MAX)
      throw new InvalidRecord(`${name}: calls lie in each other over more than ${CALL_DEPTH_MAX} steps`);
    return resultOf(row, called);
  } finally {
    row.callDepth -= steps;
    for (let i = 0; i < parameters.length; i++) store(row, parameters[i].slot, kept[i], parameters[i].dictionary);
  }
}

function setParameters(
  row: Row,
  parameters: readonly Field[],
  given: readonly (Value | undefined)[],
  args: readonly Expression[],
): void {
  for (let i = 0; i < parameters.length; i++) setParameter(row, parameters[i], given[i], args[i].type);
}

function setParameter(row: Row, parameter: Field, value: Value | undefined, from: DataType | undefined): void {
  const { slot, type, dictionary } = parameter;
  const isAsItIs = value === undefined || typeof value === 'object' || from === type;
  store(row, slot, isAsItIs ? value : castComputed(value, type, from), dictionary);
}

function resultOf(row: Row, { body, type }: UserFunction): Value | undefined {
  const result = body?.value(row);
  if (result === undefined || typeof result === 'object' || type === undefined || type === body?.type) return result;
  return castComputed(result, type, body?.type);
}
