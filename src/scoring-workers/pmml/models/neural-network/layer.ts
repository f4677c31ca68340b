import { type Element, PmmlError } from '../../document/element.ts';
import { identity } from '../links.ts';
import { PackedNeurons } from './collector.ts';
import { type Activation, activationName, activationOf, ofLayer } from './activation.ts';

type Rounding = (number: number) => number;

/** Neurons by id: index in the array of activations, which holds inputs and neurons in document order. */
export type NeuronIndexes = Map<string, number>;

/** Gives an id its place. */
export function addNeuron(indexes: NeuronIndexes, element: Element): void {
  const id = element.required('id');
  if (indexes.has(id)) throw new PmmlError(element, `there is another neuron '${id}'`);
  indexes.set(id, indexes.size);
}

/** A compiled layer: connections of all its neurons one after the other. */
export class Layer {
  readonly #first: number;
  readonly #count: number;
  /** Where the connections of each neuron end. */
  readonly #ends: Int32Array;
  readonly #sources: Int32Array;
  readonly #weights: Float64Array;
  readonly #biases: Float64Array;
  /** First source where every neuron is connected with the same row of neurons in order; -1 otherwise. */
  readonly #denseFrom: number;
  readonly #activation: Activation | undefined;
  /** Of radial basis neurons: what the squared distance is divided by, and the logarithm of the altitude's power. */
  readonly #divisors: Float64Array | undefined;
  readonly #heights: Float64Array | undefined;
  readonly #normalize: ((values: Float64Array, from: number, to: number, round: Rounding) => void) | undefined;
  readonly #round: Rounding | undefined;

  /** @param indexes gets the neurons of this layer */
  constructor(layer: Element, network: Element, indexes: NeuronIndexes, isFloat: boolean) {
    const { packed } = layer;
    if (!(packed instanceof PackedNeurons)) throw new PmmlError(layer, 'has no Neuron');
    const { neurons } = packed;
    this.#first = indexes.size;
    this.#count = neurons.length;
    this.#ends = packed.end.packed(neurons.length);
    this.#sources = sourcesOf(packed, this.#ends, indexes);
    this.#round = isFloat ? Math.fround : undefined;
    const round = this.#round ?? identity;
    this.#weights = packed.weight.packed(packed.connections);
    if (isFloat) this.#weights.forEach((weight, i, weights) => (weights[i] = Math.fround(weight)));
    this.#biases = Float64Array.from(neurons, (neuron) => round(neuron.number('bias', 0)));
    this.#denseFrom = denseFrom(this.#sources, this.#ends);
    const name = activationName(layer, network);
    if (name === 'radialBasis') {
      const inherited = (neuron: Element, attribute: string): Element =>
        neuron.attribute(attribute) === undefined ? (ofLayer(layer, network, attribute) ?? neuron) : neuron;
      this.#divisors = Float64Array.from(neurons, (neuron) => {
        const width = inherited(neuron, 'width').requiredNumber('width');
        return -2 * width * width;
      });
      this.#heights = Float64Array.from(neurons, (neuron, i) => {
        const altitude = inherited(neuron, 'altitude').number('altitude', 1);
        return ((this.#ends[i] as number) - (this.#ends[i - 1] ?? 0)) * Math.log(altitude);
      });
    } else this.#activation = activationOf(name, layer, network);
    const normalization = (ofLayer(layer, network, 'normalizationMethod') ?? network).oneOf(
      'normalizationMethod',
      ['none', 'simplemax', 'softmax'] as const,
      'none',
    );
    this.#normalize = normalization === 'none' ? undefined : normalization === 'softmax' ? softmax : simplemax;
  }

  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#first + this.#count;
  }

  get bytes(): number {
    return this.#sources.length * 12 + this.#count * 40;
  }

  /** Computes the activations of this layer's neurons from those before. */
  evaluate(values: Float64Array): void {
    const activation = this.#activation;
    if (activation === undefined) this.#radialBasis(values);
    else if (this.#round !== undefined) this.#single(values, activation, this.#round);
    else if (this.#denseFrom !== -1) this.#dense(values, activation);
    else this.#sparse(values, activation);
    this.#normalize?.(values, this.#first, this.#first + this.#count, this.#round ?? identity);
  }

  /** Four neurons at a time: their sums do not wait for each other, and each adds in the order of the document. */
  #dense(values: Float64Array, activation: Activation): void {
    const weights = this.#weights;
    const biases = this.#biases;
    const from = this.#denseFrom;
    const count = this.#count;
    const first = this.#first;
    const width = weights.length / count;
    let i = 0;
    let at = 0;
    for (; i + 4 <= count; i += 4, at += 4 * width) {
      let sum0 = 0;
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let j = 0; j < width; j++) {
        const value = values[from + j] as number;
        sum0 += (weights[at + j] as number) * value;
        sum1 += (weights[at + width + j] as number) * value;
        sum2 += (weights[at + 2 * width + j] as number) * value;
        sum3 += (weights[at + 3 * width + j] as number) * value;
      }
      values[first + i] = activation(sum0 + (biases[i] as number));
      values[first + i + 1] = activation(sum1 + (biases[i + 1] as number));
      values[first + i + 2] = activation(sum2 + (biases[i + 2] as number));
      values[first + i + 3] = activation(sum3 + (biases[i + 3] as number));
    }
    for (; i < count; i++, at += width) {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += (weights[at + j] as number) * (values[from + j] as number);
      values[first + i] = activation(sum + (biases[i] as number));
    }
  }

  #sparse(values: Float64Array, activation: Activation): void {
    const weights = this.#weights;
    const sources = this.#sources;
    let at = 0;
    for (let i = 0; i < this.#count; i++) {
      let sum = 0;
      for (const end = this.#ends[i] as number; at < end; at++)
        sum += (weights[at] as number) * (values[sources[at] as number] as number);
      values[this.#first + i] = activation(sum + (this.#biases[i] as number));
    }
  }

  /** The same with every step rounded to 32 bits. */
  #single(values: Float64Array, activation: Activation, round: Rounding): void {
    let at = 0;
    for (let i = 0; i < this.#count; i++) {
      let sum = 0;
      for (const end = this.#ends[i] as number; at < end; at++)
        sum = round(sum + round((this.#weights[at] as number) * (values[this.#sources[at] as number] as number)));
      values[this.#first + i] = round(activation(round(sum + (this.#biases[i] as number))));
    }
  }

  #radialBasis(values: Float64Array): void {
    const round = this.#round ?? identity;
    let at = 0;
    for (let i = 0; i < this.#count; i++) {
      let sum = 0;
      for (const end = this.#ends[i] as number; at < end; at++) {
        const difference = round((values[this.#sources[at] as number] as number) - (this.#weights[at] as number));
        sum = round(sum + round(difference * difference));
      }
      const exponent = sum / (this.#divisors?.[i] as number) + (this.#heights?.[i] as number);
      values[this.#first + i] = round(Math.exp(round(exponent)));
    }
  }
}

/** Indexes of the neurons that connections come from; the neurons of the layer get theirs, each after its connections. */
function sourcesOf(packed: PackedNeurons, ends: Int32Array, indexes: NeuronIndexes): Int32Array {
  const sources = packed.from.packed(packed.connections);
  /** By number of the id; an id that is not known yet may become known with a neuron of this layer. */
  const known: number[] = [];
  let at = 0;
  packed.neurons.forEach((neuron, i) => {
    for (const end = ends[i] as number; at < end; at++) {
      const number = sources[at] as number;
      const source = known[number] ?? indexes.get(packed.ids.text(number));
      if (source === undefined)
        throw new PmmlError(
          neuron,
          `no neuron before it has the id '${packed.ids.text(number)}', which a Con comes from`,
        );
      known[number] = source;
      sources[at] = source;
    }
    addNeuron(indexes, neuron);
  });
  return sources;
}

function denseFrom(sources: Int32Array, ends: Int32Array): number {
  const [from] = sources;
  const width = ends[0] as number;
  if (from === undefined || width * ends.length !== sources.length) return -1;
  for (let i = 0; i < sources.length; i++) if (sources[i] !== from + (i % width)) return -1;
  return from;
}

function simplemax(values: Float64Array, from: number, to: number, round: Rounding): void {
  let sum = 0;
  for (let i = from; i < to; i++) sum = round(sum + (values[i] as number));
  for (let i = from; i < to; i++) values[i] = round((values[i] as number) / sum);
}

function softmax(values: Float64Array, from: number, to: number, round: Rounding): void {
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) if ((values[i] as number) > greatest) greatest = values[i] as number;
  for (let i = from; i < to; i++) values[i] = round(Math.exp(round((values[i] as number) - greatest)));
  simplemax(values, from, to, round);
}
