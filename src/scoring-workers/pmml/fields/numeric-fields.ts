import { type Element, PmmlError } from '../document/element.ts';
import type { Field } from './field.ts';
import type { Row } from './row.ts';
import type { Scope } from './scope.ts';
import { isNumeric } from './types.ts';

/**
 * A field that a model computes with.
 *
 * @throws PmmlError where there is none of this name, or where it holds texts
 */
export function numericField(scope: Scope, name: string, from: Element): Field {
  const field = scope.field(name, from);
  if (!isNumeric(field.type)) throw new PmmlError(from, `'${name}' is a field of texts; numbers are needed here`);
  return field;
}

/** Computes the fields that are computed on demand, each once; undefined where none of them is. */
export function ensureFields(fields: Iterable<Field>): ((row: Row) => void) | undefined {
  const ensures = new Set<(row: Row) => void>();
  for (const { ensure } of fields) if (ensure !== undefined) ensures.add(ensure);
  if (ensures.size === 0) return undefined;
  const list = [...ensures];
  return (row) => {
    for (let i = 0; i < list.length; i++) (list[i] as (row: Row) => void)(row);
  };
}
