import { normalCdf } from '../math/normal.ts';

/** From a linear predictor to a probability or a mean. */
export type InverseLink = (y: number) => number;

export const inverseLogit: InverseLink = (y) => 1 / (1 + Math.exp(-y));
const inverseProbit: InverseLink = (y) => normalCdf(y);
const inverseCloglog: InverseLink = (y) => 1 - Math.exp(-Math.exp(y));
const inverseLoglog: InverseLink = (y) => Math.exp(-Math.exp(-y));
const inverseCauchit: InverseLink = (y) => 0.5 + Math.atan(y) / Math.PI;
export const identity: InverseLink = (y) => y;

/** Links of cumulative probabilities, of ordinal targets too. */
export const CUMULATIVE_LINKS = {
  logit: inverseLogit,
  probit: inverseProbit,
  cloglog: inverseCloglog,
  loglog: inverseLoglog,
  cauchit: inverseCauchit,
} as const;
