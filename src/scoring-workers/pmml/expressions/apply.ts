import { type Element, PmmlError, versionOf } from '../document/element.ts';
import { type Expression, ofValues, orElse, replacementOf } from '../fields/expression.ts';
import { InvalidRecord, type Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { compileCustomCall } from './custom-function.ts';
import { compileUserCall } from './define-function.ts';
import { BUILT_INS } from './functions/table.ts';
import type { BuiltIn } from './functions/built-in.ts';

const TREATMENTS = ['returnInvalid', 'asIs', 'asMissing'] as const;

/**
 * `Apply`: a call of a built-in function, of one that the document defines, or of one that was uploaded. `mapMissingTo` stands in place of the result where
 * an argument is missing, `defaultValue` where the function itself has none.
 */
export function compileApply(element: Element, scope: Scope): Expression {
  const name = element.required('function');
  const args = element.children.map((child) => scope.names.compile(child, scope));
  // In PMML 4.1 it stands in place of a missing result, as `defaultValue` does since.
  const isOfResult = versionOf(element).startsWith('4.1');
  const missing = isOfResult ? undefined : element.attribute('mapMissingTo');
  const byDefault = element.attribute('defaultValue') ?? (isOfResult ? element.attribute('mapMissingTo') : undefined);
  if (missing === undefined) return withDefault(compileCall(name, args, element, scope), byDefault);
  if (name === 'if') return conditionalWithMissing(args, missing, byDefault, element, scope);
  const { expressions, isComplete } = evaluatedBefore(args);
  const call = withDefault(compileCall(name, expressions, element, scope), byDefault);
  const other = replacementOf(missing, call.type);
  return ofValues(call.type === other.type ? call.type : undefined, (row) =>
    isComplete(row) ? call.value(row) : other.value(row),
  );
}

function withDefault(call: Expression, text: string | undefined): Expression {
  return text === undefined ? call : orElse(call, replacementOf(text, call.type));
}

function compileCall(name: string, args: readonly Expression[], element: Element, scope: Scope): Expression {
  const builtIn = BUILT_INS.get(name);
  if (builtIn !== undefined) return compileBuiltIn(builtIn, name, args, element);
  const definition = scope.names.functions.get(name);
  if (definition !== undefined) return compileUserCall(definition, args, element, scope.names);
  const custom = scope.names.customFunction(name);
  if (custom !== undefined) return compileCustomCall(custom, name, args);
  // Tools used functions of PMML 4.4 in documents of versions before by a name of their own.
  const early = name.startsWith('x-') ? BUILT_INS.get(name.slice(2)) : undefined;
  if (early !== undefined) return compileBuiltIn(early, name, args, element);
  throw new PmmlError(
    element,
    `'function' is '${name}', which is neither a built-in function, nor defined in the document, nor exported by one uploaded .js file; functions of JAR files are not run`,
  );
}

function compileBuiltIn(builtIn: BuiltIn, name: string, args: readonly Expression[], element: Element): Expression {
  const treatment = element.oneOf('invalidValueTreatment', TREATMENTS, 'returnInvalid');
  const { min, max } = builtIn;
  if (args.length < min || args.length > max) {
    const wanted = min === max ? `${min}` : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`;
    throw new PmmlError(element, `'${name}' has ${args.length} arguments; it takes ${wanted}`);
  }
  const refuse = (reason: string): never => {
    throw new PmmlError(element, `'${name}': ${reason}`);
  };
  if (treatment === 'returnInvalid') {
    const invalid = (result: number): number => {
      throw new InvalidRecord(`${name}: the result ${result} is not valid`);
    };
    return builtIn.compile({ name, args, invalid, refuse });
  }
  if (treatment === 'asMissing') return builtIn.compile({ name, args, invalid: () => Number.NaN, refuse });
  let isInvalid = false;
  const invalid = (result: number): number => {
    isInvalid = true;
    return result;
  };
  const call = builtIn.compile({ name, args, invalid, refuse });
  // As it is: a value that is not a number, and not a missing one.
  return {
    ...call,
    value: (row) => {
      isInvalid = false;
      return call.value(row) ?? (isInvalid ? Number.NaN : undefined);
    },
  };
}

/** Arguments that are evaluated once, before the call: `isComplete` does it and says whether none is missing. */
function evaluatedBefore(args: readonly Expression[]): {
  readonly expressions: readonly Expression[];
  readonly isComplete: (row: Row) => boolean;
} {
  let held: (ReturnType<Expression['value']> | undefined)[] = [];
  const expressions = args.map((arg, index): Expression => {
    const { value, number } = ofValues(arg.type, () => held[index]);
    return { ...arg, value, number };
  });
  const isComplete = (row: Row): boolean => {
    const values = args.map((arg) => arg.value(row));
    held = values;
    return !values.includes(undefined);
  };
  return { expressions, isComplete };
}

/** `if` evaluates only the branch that is chosen, so only that one may be missing. */
function conditionalWithMissing(
  args: readonly Expression[],
  missing: string,
  byDefault: string | undefined,
  element: Element,
  scope: Scope,
): Expression {
  const [condition, ...branches] = args;
  if (condition === undefined) throw new PmmlError(element, "'if' has no arguments; it takes 2 to 3");
  const { expressions, isComplete } = evaluatedBefore([condition]);
  const mapped = branches.map((branch) => orElse(branch, replacementOf(missing, branch.type)));
  const call = withDefault(compileCall('if', [...expressions, ...mapped], element, scope), byDefault);
  const other = replacementOf(missing, call.type);
  return ofValues(call.type === other.type ? call.type : undefined, (row) =>
    isComplete(row) ? call.value(row) : other.value(row),
  );
}
