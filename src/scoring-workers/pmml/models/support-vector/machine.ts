import { type Element, PmmlError } from '../../document/element.ts';
import type { SupportVectors } from './vectors.ts';

/** One SupportVectorMachine: a sum of kernels, or of the record's own values. */
export class Machine {
  readonly targetCategory: string | undefined;
  readonly alternateTargetCategory: string | undefined;
  readonly threshold: number;
  readonly #coefficients: Float64Array;
  /** Which kernel each coefficient is multiplied with; undefined: the value of the same place in the record's vector. */
  readonly #vectors: Int32Array | undefined;
  readonly #constant: number;

  /** @param vectors undefined where the model is represented by coefficients of its fields */
  constructor(element: Element, vectors: SupportVectors | undefined, form: { size: number; threshold: number }) {
    this.targetCategory = element.attribute('targetCategory');
    this.alternateTargetCategory = element.attribute('alternateTargetCategory');
    this.threshold = element.number('threshold', form.threshold);
    const list = element.child('Coefficients');
    if (list === undefined) throw new PmmlError(element, 'has no Coefficients');
    this.#constant = list.number('absoluteValue', 0);
    this.#coefficients = Float64Array.from(list.childrenOf('Coefficient'), (one) => one.number('value', 0));
    this.#vectors = vectors === undefined ? undefined : readVectors(element, vectors);
    const wanted = this.#vectors?.length ?? form.size;
    if (this.#coefficients.length !== wanted)
      throw new PmmlError(
        element,
        `has ${this.#coefficients.length} coefficients for ${wanted} ${vectors === undefined ? 'fields' : 'support vectors'}`,
      );
  }

  get bytes(): number {
    return this.#coefficients.length * 12;
  }

  /** @param values kernels of all vectors, or the record's own vector */
  value(values: Float64Array): number {
    const coefficients = this.#coefficients;
    const vectors = this.#vectors;
    let sum = 0;
    if (vectors === undefined)
      for (let i = 0; i < coefficients.length; i++) sum += (coefficients[i] as number) * (values[i] as number);
    else
      for (let i = 0; i < coefficients.length; i++)
        sum += (coefficients[i] as number) * (values[vectors[i] as number] as number);
    return sum + this.#constant;
  }
}

function readVectors(element: Element, vectors: SupportVectors): Int32Array {
  const list = element.child('SupportVectors');
  if (list === undefined) throw new PmmlError(element, 'has no SupportVectors');
  return Int32Array.from(list.childrenOf('SupportVector'), (reference) => {
    const id = reference.required('vectorId');
    const index = vectors.ids.get(id);
    if (index === undefined) throw new PmmlError(reference, `no vector has the id '${id}'`);
    return index;
  });
}
