import type { Row } from '../../fields/row.ts';
import type { NodeDistribution } from './nodes.ts';

const ROOT_TWO_PI = Math.sqrt(2 * Math.PI);

/** Density of a value, by the parameters that the record's row gives. */
export function densityOf(distribution: NodeDistribution, row: Row, x: number): number {
  const [a, b, c] = distribution.parameters.map((parameter) => parameter.number(row)) as [number, number, number];
  switch (distribution.name) {
    case 'NormalDistributionForBN':
      return Math.exp(-((x - a) ** 2) / (2 * b)) / (ROOT_TWO_PI * Math.sqrt(b));
    case 'LognormalDistributionForBN':
      return x <= 0 ? 0 : Math.exp(-((Math.log(x) - a) ** 2) / (2 * b)) / (x * ROOT_TWO_PI * Math.sqrt(b));
    case 'UniformDistributionForBN':
      return x >= a && x <= b ? 1 / (b - a) : 0;
    case 'TriangularDistributionForBN': {
      const mode = modeOf(a, b, c);
      if (x < b || x > c) return 0;
      if (x === mode) return 2 / (c - b);
      return x < mode ? (2 * (x - b)) / ((c - b) * (mode - b)) : (2 * (c - x)) / ((c - b) * (c - mode));
    }
  }
}

/** A value at random; `random` gives numbers from 0 to 1. */
export function sampleOf(distribution: NodeDistribution, row: Row, random: () => number): number {
  const [a, b, c] = distribution.parameters.map((parameter) => parameter.number(row)) as [number, number, number];
  switch (distribution.name) {
    case 'NormalDistributionForBN':
      return a + Math.sqrt(b) * normal(random);
    case 'LognormalDistributionForBN':
      return Math.exp(a + Math.sqrt(b) * normal(random));
    case 'UniformDistributionForBN':
      return a + (b - a) * random();
    case 'TriangularDistributionForBN': {
      const mode = modeOf(a, b, c);
      const at = random();
      const turn = (mode - b) / (c - b);
      return at < turn ? b + Math.sqrt(at * (c - b) * (mode - b)) : c - Math.sqrt((1 - at) * (c - b) * (c - mode));
    }
  }
}

/** The peak of a triangle from its mean and ends. */
function modeOf(mean: number, lower: number, upper: number): number {
  return Math.min(Math.max(3 * mean - lower - upper, lower), upper);
}

/** By Box and Muller. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
