import { arrayIn, readNumbers, readSparse, type SparseNumbers } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import { categoryIndex } from '../../fields/category.ts';
import type { Row } from '../../fields/row.ts';
import { isNumeric } from '../../fields/types.ts';
import type { ModelContext } from '../model.ts';
import type { Kernel } from './kernel.ts';

/** Sparse vectors together become dense up to this many values. */
const DENSE_VALUES_MAX = 4_000_000;

type Read = (row: Row) => number;

/** The vector of a record, by `VectorFields`. */
export class RecordVector {
  readonly values: Float64Array;
  readonly #reads: readonly Read[];

  constructor(dictionary: Element, context: ModelContext) {
    const fields = dictionary.child('VectorFields');
    const children = fields?.childrenOf('FieldRef', 'CategoricalPredictor') ?? [];
    if (children.length === 0) throw new PmmlError(dictionary, 'has no VectorFields with FieldRef in it');
    this.#reads = children.map((child) =>
      child.name === 'FieldRef' ? number(child, context) : category(child, context),
    );
    this.values = new Float64Array(children.length);
  }

  /** @returns false where a field is missing */
  read(row: Row): boolean {
    for (let i = 0; i < this.#reads.length; i++) {
      const value = (this.#reads[i] as Read)(row);
      if (Number.isNaN(value)) return false;
      this.values[i] = value;
    }
    return true;
  }
}

function number(reference: Element, context: ModelContext): Read {
  const expression = context.expression(reference);
  if (expression.type !== undefined && !isNumeric(expression.type))
    throw new PmmlError(reference, `'${reference.attribute('field')}' is a field of texts; numbers are needed here`);
  return expression.number;
}

/** 1 times the coefficient where the field has the value, else 0. */
function category(predictor: Element, context: ModelContext): Read {
  const name = predictor.attribute('field') ?? predictor.required('name');
  const field = context.scope.field(name, predictor);
  const index = categoryIndex(field, [predictor.required('value')], predictor, context.problems);
  const coefficient = predictor.number('coefficient', 1);
  return (row) => {
    const found = index(row);
    return found === 0 ? coefficient : found === -1 ? 0 : Number.NaN;
  };
}

/** The vectors of the dictionary, and the kernel of each with a record's vector. */
export class SupportVectors {
  readonly ids: ReadonlyMap<string, number>;
  /** Kernel of each vector with the record that was computed last. */
  readonly kernels: Float64Array;
  readonly #size: number;
  readonly #kernel: Kernel;
  /** All vectors one after the other; undefined where they stay sparse. */
  readonly #dense: Float64Array | undefined;
  readonly #sparse: readonly SparseNumbers[];

  constructor(dictionary: Element, size: number, kernel: Kernel, denseValuesMax = DENSE_VALUES_MAX) {
    const instances = dictionary.childrenOf('VectorInstance');
    const ids = new Map<string, number>();
    for (const instance of instances) {
      const id = instance.required('id');
      if (ids.has(id)) throw new PmmlError(instance, `there is another vector '${id}'`);
      ids.set(id, ids.size);
    }
    this.ids = ids;
    this.#size = size;
    this.#kernel = kernel;
    this.kernels = new Float64Array(instances.length);
    const arrays = instances.map(arrayIn);
    const isDense =
      arrays.every(({ name }) => !name.endsWith('SparseArray')) || instances.length * size <= denseValuesMax;
    this.#dense = isDense ? new Float64Array(instances.length * size) : undefined;
    const sparse: SparseNumbers[] = [];
    arrays.forEach((array, i) => {
      const values = isDense ? readNumbers(array, size) : readSparse(array, size);
      if (values.length !== size)
        throw new PmmlError(array, `has ${values.length} values; there are ${size} VectorFields`);
      if (values instanceof Float64Array) this.#dense?.set(values, i * size);
      else if (values.byDefault === 0) sparse.push(values);
      else
        throw new PmmlError(
          array,
          `'defaultValue' is ${values.byDefault}; with ${instances.length} vectors of ${size} values only 0 is possible`,
        );
    });
    this.#sparse = sparse;
  }

  get bytes(): number {
    const sparse = this.#sparse.reduce((sum, { indexes }) => sum + 100 + indexes.length * 12, 0);
    return this.kernels.length * 80 + (this.#dense?.length ?? 0) * 8 + sparse;
  }

  /** Fills `kernels` for a record. */
  compute(record: Float64Array): void {
    const { isOfDistance, apply } = this.#kernel;
    const kernels = this.kernels;
    const dense = this.#dense;
    const square = dense === undefined && isOfDistance ? product(record, record, 0) : undefined;
    for (let i = 0; i < kernels.length; i++) {
      let value: number;
      if (dense === undefined) value = ofSparse(record, this.#sparse[i] as SparseNumbers, square);
      else if (isOfDistance) value = distance(record, dense, i * this.#size);
      else value = product(record, dense, i * this.#size);
      kernels[i] = apply(value);
    }
  }
}

function product(record: Float64Array, dense: Float64Array, from: number): number {
  let sum = 0;
  for (let i = 0; i < record.length; i++) sum += (record[i] as number) * (dense[from + i] as number);
  return sum;
}

function distance(record: Float64Array, dense: Float64Array, from: number): number {
  let sum = 0;
  for (let i = 0; i < record.length; i++) {
    const difference = (record[i] as number) - (dense[from + i] as number);
    sum += difference * difference;
  }
  return sum;
}

/**
 * Product, or with `square`, the record's product with itself, the squared distance: only where the vector is not 0, so that
 * the time does not grow with the number of fields.
 */
function ofSparse(record: Float64Array, { indexes, values }: SparseNumbers, square: number | undefined): number {
  let sum = square ?? 0;
  for (let i = 0; i < indexes.length; i++) {
    const own = record[indexes[i] as number] as number;
    const other = values[i] as number;
    sum += square === undefined ? own * other : (own - other) * (own - other) - own * own;
  }
  return sum;
}
