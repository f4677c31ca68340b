import { type Element, PmmlError } from '../../document/element.ts';
import { CUMULATIVE_LINKS, identity, type InverseLink, inverseLogit } from '../links.ts';

export const NORMALIZATIONS = [
  'none',
  'simplemax',
  'softmax',
  'logit',
  'probit',
  'cloglog',
  'exp',
  'loglog',
  'cauchit',
] as const;

export type Normalization = (typeof NORMALIZATIONS)[number];

/** Makes probabilities of the values of the tables, in their place. */
export type Normalize = (values: Float64Array) => void;

export type Rounding = (number: number) => number;

/** What the value of a regression goes through. `softmax` of one value is its logit, as the standard says. */
export function normalizationOfNumber(method: Normalization, element: Element): InverseLink {
  switch (method) {
    case 'none':
      return identity;
    case 'softmax':
      return inverseLogit;
    case 'exp':
      return Math.exp;
    case 'simplemax':
      throw new PmmlError(element, "'normalizationMethod' is 'simplemax', which a regression of one value has not");
    default:
      return CUMULATIVE_LINKS[method];
  }
}

/**
 * What the values of a classification go through.
 *
 * @param categories How many there are
 * @param isOrdinal Whether the target's categories have an order: the values are of cumulative probabilities
 * @param round What every step is rounded with
 * @throws PmmlError where the method is none for such a target
 */
export function normalizationOfCategories(
  form: { readonly method: Normalization; readonly categories: number; readonly isOrdinal: boolean },
  round: Rounding,
  element: Element,
): Normalize {
  const { method, categories, isOrdinal } = form;
  switch (method) {
    case 'exp':
      throw new PmmlError(element, "'normalizationMethod' is 'exp', which a classification has not");
    case 'softmax':
      return (values) => softmax(values, round);
    case 'simplemax':
      return (values) => simplemax(values, round);
    default: {
      const link = method === 'none' ? identity : CUMULATIVE_LINKS[method];
      if (isOrdinal) return (values) => cumulative(values, link, round);
      if (categories === 2 || method === 'none') return (values) => restToLast(values, link, round);
      // More than two categories, each against all others.
      return (values) => {
        for (let i = 0; i < values.length; i++) values[i] = round(link(values[i] as number));
        simplemax(values, round);
      };
    }
  }
}

function simplemax(values: Float64Array, round: Rounding): void {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum = round(sum + (values[i] as number));
  for (let i = 0; i < values.length; i++) values[i] = round((values[i] as number) / sum);
}

function softmax(values: Float64Array, round: Rounding): void {
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if ((values[i] as number) > greatest) greatest = values[i] as number;
  for (let i = 0; i < values.length; i++) values[i] = round(Math.exp(round((values[i] as number) - greatest)));
  simplemax(values, round);
}

/** The last category takes what the others leave. */
function restToLast(values: Float64Array, link: InverseLink, round: Rounding): void {
  const last = values.length - 1;
  let sum = 0;
  for (let i = 0; i < last; i++) {
    const probability = round(link(values[i] as number));
    values[i] = probability;
    sum = round(sum + probability);
  }
  values[last] = round(1 - sum);
}

function cumulative(values: Float64Array, link: InverseLink, round: Rounding): void {
  const last = values.length - 1;
  let before = 0;
  for (let i = 0; i < last; i++) {
    const until = round(link(values[i] as number));
    values[i] = round(until - before);
    before = until;
  }
  values[last] = round(1 - before);
}
