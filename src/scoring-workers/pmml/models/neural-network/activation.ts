import { type Element, PmmlError } from '../../document/element.ts';
import { identity, inverseLogit } from '../links.ts';

/** What a neuron makes of its weighted sum. */
export type Activation = (sum: number) => number;

export const ACTIVATIONS = [
  'threshold',
  'logistic',
  'tanh',
  'identity',
  'exponential',
  'reciprocal',
  'square',
  'Gauss',
  'sine',
  'cosine',
  'Elliott',
  'arctan',
  'rectifier',
  'radialBasis',
] as const;

export type ActivationName = (typeof ACTIVATIONS)[number];

/** An attribute of a layer, or of the network where the layer has none. */
export function ofLayer(layer: Element, network: Element, name: string): Element | undefined {
  if (layer.attribute(name) !== undefined) return layer;
  return network.attribute(name) !== undefined ? network : undefined;
}

/** @throws PmmlError where neither layer nor network has one */
export function activationName(layer: Element, network: Element): ActivationName {
  const from = ofLayer(layer, network, 'activationFunction');
  if (from === undefined) throw new PmmlError(layer, "neither it nor the network has an 'activationFunction'");
  return from.oneOf('activationFunction', ACTIVATIONS, 'logistic');
}

/** The function of all activations but `radialBasis`, which does not take a weighted sum. */
export function activationOf(
  name: Exclude<ActivationName, 'radialBasis'>,
  layer: Element,
  network: Element,
): Activation {
  switch (name) {
    case 'threshold': {
      const threshold = (ofLayer(layer, network, 'threshold') ?? network).number('threshold', 0);
      return (sum) => (Number.isNaN(sum) ? sum : sum > threshold ? 1 : 0);
    }
    case 'logistic':
      return inverseLogit;
    case 'tanh':
      return Math.tanh;
    case 'identity':
      return identity;
    case 'exponential':
      return Math.exp;
    case 'reciprocal':
      return (sum) => 1 / sum;
    case 'square':
      return (sum) => sum * sum;
    case 'Gauss':
      return (sum) => Math.exp(-(sum * sum));
    case 'sine':
      return Math.sin;
    case 'cosine':
      return Math.cos;
    case 'Elliott':
      return (sum) => sum / (1 + Math.abs(sum));
    case 'arctan':
      return (sum) => (2 * Math.atan(sum)) / Math.PI;
    case 'rectifier':
      return (sum) => Math.max(0, sum);
  }
}
