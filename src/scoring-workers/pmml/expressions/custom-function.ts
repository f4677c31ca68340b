import { type Expression, ofValues } from '../fields/expression.ts';
import { InvalidRecord } from '../fields/row.ts';
import type { CustomFunction } from '../fields/scope.ts';
import { textOf, type Value } from '../fields/types.ts';

/** A call of a function that was uploaded: its type is known by its result alone. A missing argument is null. */
export function compileCustomCall(call: CustomFunction, name: string, args: readonly Expression[]): Expression {
  return ofValues(undefined, (row) => call(args.map((arg) => plain(arg.value(row), arg, name))));
}

const TIMES: ReadonlySet<Expression['type']> = new Set(['date', 'time', 'dateTime'] as const);

/** Dates and times stand as they are written in PMML. */
function plain(value: Value | undefined, { type }: Expression, name: string): string | number | boolean | null {
  if (value === undefined) return null;
  if (typeof value === 'object') throw new InvalidRecord(`${name}: an argument is a collection`);
  return TIMES.has(type) ? textOf(value, type) : value;
}
