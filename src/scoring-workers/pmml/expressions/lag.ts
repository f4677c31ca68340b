import { type Element, PmmlError } from '../document/element.ts';
import { type Expression, ofNumbers, ofValues } from '../fields/expression.ts';
import type { Field } from '../fields/field.ts';
import { LOOK_BACK_MAX } from '../fields/look-back.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { isNumeric, type Value } from '../fields/types.ts';
import { deviation, maximum, mean, median, minimum, product, total } from './functions/collections.ts';

const AGGREGATES = { avg: mean, max: maximum, median, min: minimum, product, stddev: deviation, sum: total } as const;

/**
 * `Lag`: the field's value some records before, or an aggregate of as many records before. It looks back over the records of
 * one series (`Row.series`) whose block fields are alike; of a field that holds a collection, over the collection.
 */
export function compileLag(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const steps = element.number('n', 1);
  if (!Number.isInteger(steps) || steps < 0 || steps > LOOK_BACK_MAX)
    throw new PmmlError(element, `'n' is ${steps}; it may be 0 to ${LOOK_BACK_MAX}`);
  const aggregate = element.oneOf('aggregate', ['none', ...KEYS] as const, 'none');
  const blocks = element.childrenOf('BlockIndicator').map((block) => scope.field(block.required('field'), block));
  const records = scope.names.lookBack.add(steps, field.ensure !== undefined);
  if (records > LOOK_BACK_MAX)
    throw new PmmlError(element, `with the others it looks back over ${records} records; it may be ${LOOK_BACK_MAX}`);
  const before = lookBack(field, steps, blocks);
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

/** Values of the up to `steps` records before this one, the oldest first. */
function lookBack(field: Field, steps: number, blocks: readonly Field[]): (row: Row) => readonly (Value | undefined)[] {
  let values: (Value | undefined)[] = [];
  /** The value of the record that was asked for last: it belongs to those before once another record comes. */
  let current: Value | undefined;
  let block: readonly (Value | undefined)[] = [];
  let epoch = -1;
  let series = -1;
  return (row) => {
    const value = field.value(row);
    if (typeof value === 'object') return value.slice(Math.max(0, value.length - 1 - steps), -1);
    if (row.epoch === epoch && row.series === series) return values;
    const here = blocks.map((one) => one.value(row));
    const isSame = row.series === series && here.every((one, index) => one === block[index]);
    if (!isSame) values = [];
    else {
      values.push(current);
      if (values.length > steps) values.shift();
    }
    current = value;
    block = here;
    epoch = row.epoch;
    series = row.series;
    return values;
  };
}
