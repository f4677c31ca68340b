import { type Element, PmmlError } from '../document/element.ts';

/** Density or probability of a value. */
export type Density = (x: number) => number;

export const DISTRIBUTIONS = [
  'GaussianDistribution',
  'PoissonDistribution',
  'UniformDistribution',
  'AnyDistribution',
] as const;

const LOG_ROOT_TWO_PI = 0.9189385332046728;

/** A distribution with its logarithmic density. */
export interface Distribution {
  readonly mean: number;
  readonly variance: number;
  readonly logDensity: Density;
}

/** The distribution among the children of an element; of `AnyDistribution` only mean and variance are known, so it is taken as a normal one. */
export function readDistribution(parent: Element): Distribution {
  const [element] = parent.childrenOf(...DISTRIBUTIONS);
  if (element === undefined) throw new PmmlError(parent, `has none of ${DISTRIBUTIONS.join(', ')}`);
  if (element.name === 'PoissonDistribution') {
    const mean = element.requiredNumber('mean');
    if (!(mean > 0)) throw new PmmlError(element, `'mean' is '${mean}'; it is above 0`);
    return { mean, variance: mean, logDensity: (x) => x * Math.log(mean) - mean - logFactorial(x) };
  }
  if (element.name === 'UniformDistribution') {
    const lower = element.requiredNumber('lower');
    const upper = element.requiredNumber('upper');
    if (!(lower < upper)) throw new PmmlError(element, `'lower' is '${lower}', which is not below 'upper', '${upper}'`);
    const inside = -Math.log(upper - lower);
    return {
      mean: (lower + upper) / 2,
      variance: (upper - lower) ** 2 / 12,
      logDensity: (x) => (x >= lower && x <= upper ? inside : Number.NEGATIVE_INFINITY),
    };
  }
  const mean = element.requiredNumber('mean');
  const variance = element.requiredNumber('variance');
  if (!(variance > 0)) throw new PmmlError(element, `'variance' is '${variance}'; it is above 0`);
  const scale = -LOG_ROOT_TWO_PI - Math.log(variance) / 2;
  return { mean, variance, logDensity: (x) => scale - (x - mean) ** 2 / (2 * variance) };
}

/** ln(x!), of a value with a fraction by the gamma function. */
function logFactorial(x: number): number {
  if (x < 0) return Number.POSITIVE_INFINITY;
  if (Number.isInteger(x) && x < 170) {
    let product = 1;
    for (let i = 2; i <= x; i++) product *= i;
    return Math.log(product);
  }
  // Stirling's series, from a value that is large enough for it.
  let shift = 0;
  let z = x + 1;
  while (z < 12) shift += Math.log(z++);
  const inverse = 1 / z;
  const square = inverse * inverse;
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)));
  return (z - 0.5) * Math.log(z) - z + LOG_ROOT_TWO_PI + series - shift;
}
