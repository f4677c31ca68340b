import { type Element, PmmlError } from '../document/element.ts';
import { type Expression, ofNumbers, ofValues } from '../fields/expression.ts';
import { LOOK_BACK_MAX } from '../fields/look-back.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { isNumeric, type Value } from '../fields/types.ts';
import { deviation, maximum, mean, median, minimum, product, total } from './functions/collections.ts';

const AGGREGATES = { avg: mean, max: maximum, median, min: minimum, product, stddev: deviation, sum: total } as const;

/**
 * `Lag`: the field's value some records before, or an aggregate of as many records before. It looks back over the records of
 * one series (`LookBack`) whose block fields are alike; of a field that holds a collection, over the collection.
 */
export function compileLag(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const steps = element.number('n', 1);
  if (!Number.isInteger(steps) || steps < 0 || steps > LOOK_BACK_MAX)
    throw new PmmlError(element, `'n' is ${steps}; it may be 0 to ${LOOK_BACK_MAX}`);
  const aggregate = element.oneOf('aggregate', ['none', ...KEYS] as const, 'none');
  const blocks = element.childrenOf('BlockIndicator').map((block) => scope.field(block.required('field'), block));
  const { lookBack } = scope.names;
  const records = lookBack.add(steps, field.ensure !== undefined);
  if (records > LOOK_BACK_MAX)
    throw new PmmlError(element, `with the others it looks back over ${records} records; it may be ${LOOK_BACK_MAX}`);
  const history = lookBack.keep(field, steps, blocks);
  const before = (row: Row): readonly (Value | undefined)[] => {
    const value = field.value(row);
    return typeof value === 'object' ? value.slice(Math.max(0, value.length - 1 - steps), -1) : history.before(row);
  };
  if (aggregate === 'none') {
    const value = (row: Row): Value | undefined => {
      const values = before(row);
      return values.length < steps ? undefined : values[values.length - steps];
    };
    if (steps === 0) return field;
    return ofValues(field.type, value);
  }
  const compute = AGGREGATES[aggregate];
  const isWhole = field.type === 'integer' && WHOLE.has(aggregate);
  return ofNumbers(
    isWhole ? 'integer' : isNumeric(field.type) && WHOLE.has(aggregate) ? field.type : 'double',
    (row) => {
      const numbers = before(row).filter((value): value is number => typeof value === 'number');
      return numbers.length === 0 ? Number.NaN : compute(numbers);
    },
  );
}

const KEYS = Object.keys(AGGREGATES) as (keyof typeof AGGREGATES)[];
/** Aggregates that keep the field's type. */
const WHOLE: ReadonlySet<string> = new Set(['max', 'min', 'product', 'sum']);
