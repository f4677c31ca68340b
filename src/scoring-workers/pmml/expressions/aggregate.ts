import { type Element, PmmlError } from '../document/element.ts';
import { type Expression, ofNumbers, ofValues } from '../fields/expression.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import type { DataType, Value } from '../fields/types.ts';
import { maximum, mean, minimum, total } from './functions/collections.ts';

/**
 * `Aggregate` over a field that holds a collection. The records of a group come as one collection, so `groupField` says how it
 * was made and changes nothing here.
 */
export function compileAggregate(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const which = element.oneOf(
    'function',
    ['count', 'sum', 'average', 'min', 'max', 'multiset'] as const,
    element.required('function') as 'count',
  );
  if (element.attribute('sqlWhere') !== undefined)
    throw new PmmlError(element, "'sqlWhere' is not supported: filter the records before they are scored");
  const collection = (row: Row): readonly Value[] | undefined => {
    const value = field.value(row);
    if (value === undefined) return undefined;
    return typeof value === 'object' ? value : [value];
  };
  if (which === 'multiset') return ofValues(undefined, collection);
  if (which === 'count') return ofNumbers('integer', (row) => collection(row)?.length ?? Number.NaN);
  const type: DataType = which === 'average' || field.type === 'string' ? 'double' : field.type;
  const compute = { sum: total, average: mean, min: minimum, max: maximum }[which];
  return ofNumbers(type, (row) => {
    const numbers = collection(row)?.filter((value): value is number => typeof value === 'number');
    return numbers === undefined || numbers.length === 0 ? Number.NaN : compute(numbers);
  });
}
