import { type Element, numberOf, PmmlError } from '../document/element.ts';
import { dataTypeOf } from '../fields/data-field.ts';
import { constant, type Expression, orElse, replacementOf } from '../fields/expression.ts';
import type { Scope } from '../fields/scope.ts';
import { castText, type DataType } from '../fields/types.ts';

/** `Constant`: a literal. Without a type it is an integer or a real number where it looks like one, else a text. */
export function compileConstant(element: Element): Expression {
  const { text } = element;
  const type = dataTypeOf(element) ?? guessType(text);
  if (element.flag('missing', false)) return constant(type, undefined);
  const value = castText(text, type);
  if (value === undefined) throw new PmmlError(element, `'${text}' is not a value of the type ${type}`);
  return constant(type, value);
}

function guessType(text: string): DataType {
  if (/^\s*[+-]?\d+\s*$/.test(text)) return 'integer';
  return numberOf(text) === undefined ? 'string' : 'double';
}

/** `FieldRef`: the value of a field, and what stands in its place where it is missing. */
export function compileFieldRef(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const missing = element.attribute('mapMissingTo');
  return missing === undefined ? field : orElse(field, replacementOf(missing, field.type));
}
