import { type Element, PmmlError } from '../document/element.ts';
import { dataTypeOf, readInterval } from '../fields/data-field.ts';
import { constant, type Expression, numberFrom, ofValues, replacementOf } from '../fields/expression.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import type { DataType } from '../fields/types.ts';

const NO_BIN = -1;

/** `Discretize`: the name of the first bin that holds the number. */
export function compileDiscretize(element: Element, scope: Scope): Expression {
  const number = numberFrom(scope.field(element.required('field'), element));
  const type = dataTypeOf(element) ?? 'string';
  const bins = element.childrenOf('DiscretizeBin');
  const intervals = bins.map((bin) => {
    const interval = bin.child('Interval');
    if (interval === undefined) throw new PmmlError(bin, 'has no Interval');
    return readInterval(interval);
  });
  const lefts = Float64Array.from(intervals, ({ left }) => left);
  const rights = Float64Array.from(intervals, ({ right }) => right);
  const closures = Uint8Array.from(intervals, (one) => (one.isLeftClosed ? 1 : 0) | (one.isRightClosed ? 2 : 0));
  const binOf = (x: number): number => {
    for (let i = 0; i < lefts.length; i++) {
      const closure = closures[i];
      const isRight = x > lefts[i] || ((closure & 1) !== 0 && x === lefts[i]);
      if (isRight && (x < rights[i] || ((closure & 2) !== 0 && x === rights[i]))) return i;
    }
    return NO_BIN;
  };
  const values = bins.map((bin) => replacementOf(bin.required('binValue'), type));
  const byDefault = optional(element.attribute('defaultValue'), type);
  const missing = optional(element.attribute('mapMissingTo'), type);
  const chosen = (row: Row): Expression => {
    const x = number(row);
    if (Number.isNaN(x)) return missing;
    const bin = binOf(x);
    return bin === NO_BIN ? byDefault : values[bin];
  };
  return {
    ...ofValues(type, (row) => chosen(row).value(row)),
    number: (row) => chosen(row).number(row),
  };
}

const optional = (text: string | undefined, type: DataType): Expression =>
  text === undefined ? constant(type, undefined) : replacementOf(text, type);
