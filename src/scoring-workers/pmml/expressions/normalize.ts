import { type Element, PmmlError } from '../document/element.ts';
import { type Expression, numberFrom, ofNumbers } from '../fields/expression.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { equalsText } from '../fields/equality.ts';
import { UNKNOWN } from '../predicates/predicate.ts';
import { predicateOf, simpleTest } from '../predicates/simple.ts';

/** `NormContinuous`: a map that is linear between points, and goes on outside as `outliers` says. */
export function compileNormContinuous(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const outliers = element.oneOf('outliers', ['asIs', 'asMissingValues', 'asExtremeValues'] as const, 'asIs');
  const missing = element.number('mapMissingTo', Number.NaN);
  const points = element
    .childrenOf('LinearNorm')
    .map((point) => ({ orig: point.requiredNumber('orig'), norm: point.requiredNumber('norm') }));
  if (points.length < 2) throw new PmmlError(element, `has ${points.length} LinearNorm; two or more are needed`);
  if (points.some(({ orig }) => Number.isNaN(orig))) throw new PmmlError(element, "has an 'orig' that is not a number");
  // Tools write a z-score by the points 0 and the mean, which may be below 0.
  points.sort((a, b) => a.orig - b.orig);
  const origs = Float64Array.from(points, ({ orig }) => orig);
  const norms = Float64Array.from(points, ({ norm }) => norm);
  const last = origs.length - 1;
  const [lowest, highest] = [origs[0], origs[last]];
  const number = numberFrom(field);
  return ofNumbers('double', (row) => {
    const x = number(row);
    if (Number.isNaN(x)) return missing;
    if (outliers !== 'asIs') {
      if (x < lowest) return outliers === 'asMissingValues' ? missing : norms[0];
      if (x > highest) return outliers === 'asMissingValues' ? missing : norms[last];
    }
    return interpolate(origs, norms, x);
  });
}

/** Value of the line through the two points around x, or through the first or last two outside of all. */
function interpolate(origs: Float64Array, norms: Float64Array, x: number): number {
  let low = 0;
  let high = origs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (origs[middle] <= x) low = middle;
    else high = middle;
  }
  const width = origs[high] - origs[low];
  if (width === 0) return x < origs[low] ? norms[low] : norms[high];
  return norms[low] + ((x - origs[low]) / width) * (norms[high] - norms[low]);
}

/** `NormDiscrete`: 1 where the field has the value, with `thermometer` that or one behind it in the field's order; else 0. */
export function compileNormDiscrete(element: Element, scope: Scope): Expression {
  const field = scope.field(element.required('field'), element);
  const method = element.oneOf('method', ['indicator', 'thermometer'] as const, 'indicator');
  const missing = element.number('mapMissingTo', Number.NaN);
  const text = element.required('value');
  if (method === 'thermometer') {
    const isReached = predicateOf(simpleTest(field, 'greaterOrEqual', text, element));
    return ofNumbers('double', (row: Row) => {
      const truth = isReached(row);
      return truth === UNKNOWN ? missing : truth;
    });
  }
  const isEqual = equalsText(field, text);
  return ofNumbers('double', (row: Row) => {
    const truth = isEqual(row);
    return Number.isNaN(truth) ? missing : truth;
  });
}
