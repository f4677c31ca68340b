import { Element, numberOf, PmmlError } from '../../document/element.ts';
import type { Place } from '../../document/problems.ts';
import type { Collector } from '../../document/reader.ts';
import { Column, TextPool } from '../tree/columns.ts';

/** The neurons of a layer and their connections, in the order of the document. */
export class PackedNeurons {
  /** Without their connections. */
  readonly neurons: Element[] = [];
  /** Ids of the neurons that connections come from, by number. */
  readonly ids = new TextPool();
  connections = 0;
  readonly from = new Column(Int32Array, -1);
  readonly weight = new Column(Float64Array, Number.NaN);
  /** Number of connections until the end of each neuron. */
  readonly end = new Column(Int32Array, 0);
}

/** What collects the neurons of a layer; elsewhere a Neuron means nothing. */
export function neuronCollector(parent: Element): Collector | undefined {
  return parent.name === 'NeuralLayer' ? new NeuronCollector(parent) : undefined;
}

/** Packs connections while the document is read, so that those of a large network never stand in memory as elements. */
class NeuronCollector implements Collector {
  readonly #layer: Element;
  readonly #packed: PackedNeurons;
  #isOpen = false;

  constructor(layer: Element) {
    this.#layer = layer;
    this.#packed = layer.packed instanceof PackedNeurons ? layer.packed : new PackedNeurons();
  }

  open(name: string, attributes: ReadonlyMap<string, string>, place: Omit<Place, 'name'>): boolean {
    if (name === 'Con') {
      this.#connect(attributes, { name, ...place });
      return true;
    }
    if (name !== 'Neuron') return false;
    if (this.#isOpen) throw new PmmlError({ name, ...place }, 'is not expected in a Neuron');
    this.#isOpen = true;
    this.#packed.neurons.push(new Element(name, attributes, place, this.#layer));
    return true;
  }

  #connect(attributes: ReadonlyMap<string, string>, place: Place): void {
    const packed = this.#packed;
    const from = attributes.get('from');
    if (from === undefined) throw new PmmlError(place, "the attribute 'from' is missing");
    const text = attributes.get('weight');
    if (text === undefined) throw new PmmlError(place, "the attribute 'weight' is missing");
    const weight = numberOf(text);
    if (weight === undefined) throw new PmmlError(place, `'weight' is '${text}', which is not a number`);
    packed.from.set(packed.connections, packed.ids.add(from));
    packed.weight.set(packed.connections++, weight);
  }

  /** Content of vendors. */
  child(): void {}

  close(name: string): void {
    if (name !== 'Neuron') return;
    const packed = this.#packed;
    packed.end.set(packed.neurons.length - 1, packed.connections);
  }

  result(): PackedNeurons {
    return this.#packed;
  }
}
