import { type Element, PmmlError } from '../../document/element.ts';
import { CUMULATIVE_LINKS, identity, type InverseLink, inverseLogit } from '../links.ts';

export const LINKS = [
  'identity',
  'log',
  'logc',
  'logit',
  'probit',
  'cloglog',
  'loglog',
  'cauchit',
  'negbin',
  'oddspower',
  'power',
] as const;

/**
 * From the linear predictor of a generalized linear model to its mean.
 *
 * @throws PmmlError where the link or its parameter is missing
 */
export function readLink(element: Element): InverseLink {
  element.required('linkFunction');
  const link = element.oneOf('linkFunction', LINKS, 'identity');
  switch (link) {
    case 'identity':
      return identity;
    case 'log':
      return Math.exp;
    case 'logc':
      return (y) => 1 - Math.exp(y);
    case 'negbin': {
      const c = element.requiredNumber('distParameter');
      return (y) => 1 / (c * (Math.exp(-y) - 1));
    }
    case 'oddspower': {
      const d = element.requiredNumber('linkParameter');
      return d === 0 ? inverseLogit : (y) => 1 / (1 + (1 + d * y) ** (-1 / d));
    }
    case 'power': {
      const d = element.requiredNumber('linkParameter');
      return d === 0 ? Math.exp : (y) => y ** (1 / d);
    }
    default:
      return CUMULATIVE_LINKS[link];
  }
}

/** The link of an ordinal model. */
export function readCumulativeLink(element: Element): InverseLink {
  const links = Object.keys(CUMULATIVE_LINKS) as (keyof typeof CUMULATIVE_LINKS)[];
  if (element.attribute('cumulativeLink') === undefined)
    throw new PmmlError(element, "the attribute 'cumulativeLink' is missing");
  return CUMULATIVE_LINKS[element.oneOf('cumulativeLink', links, 'logit')];
}
