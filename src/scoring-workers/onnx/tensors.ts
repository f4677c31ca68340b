/** Tensors from nested arrays of JSON, and nested arrays from tensors. docs/spec/scoring.md#values-of-tensors */
import type { ElementType, TensorData } from './elements.ts';
import { ELEMENT_TYPES } from './elements.ts';
import type { Dimension, OnnxValue, ZipMap } from './model-head.ts';

/** The request does not fit the model: its text names the input, what it takes and what came. */
export class InputError extends Error {}

/** Elements of one input, and of all outputs. */
export const ELEMENTS_MAX = 16 * 1024 * 1024;
/** Levels of nested arrays that are looked at: one more than any shape has. */
const LEVELS_MAX = 65;
/** Dimensions that a message shows. */
const SHOWN_DIMENSIONS_MAX = 16;

export interface TensorValue {
  readonly type: ElementType;
  readonly data: TensorData;
  readonly dims: readonly number[];
}

/** An input with the way of its elements. */
export interface OnnxInput extends OnnxValue {
  readonly elementType: ElementType;
}

/** Of `tensor(float)`; undefined for what is not a tensor, or one of elements that cannot be passed. */
export function elementTypeOf(value: OnnxValue): ElementType | undefined {
  const name = /^tensor\((.*)\)$/.exec(value.type)?.[1];
  return name === undefined ? undefined : ELEMENT_TYPES.get(name);
}

function shapeText(shape: readonly Dimension[]): string {
  const shown = shape.slice(0, SHOWN_DIMENSIONS_MAX).map((dimension) => dimension ?? '?');
  return `[${shown.join(',')}${shape.length > shown.length ? ',…' : ''}]`;
}

/**
 * One input.
 * @param free what free dimensions with a name have in the inputs before this one; completed here.
 * @throws InputError when value and input differ in shape or type.
 */
export function tensorOf(input: OnnxInput, value: unknown, free: Map<string, number>): TensorValue {
  const type = input.elementType;
  const dims = dimsOf(value);
  checkShape(input, dims, free);
  const length = dims.reduce((product, dimension) => product * dimension, 1);
  if (length > ELEMENTS_MAX)
    throw new InputError(`The input '${input.name}' has ${length} elements; at most ${ELEMENTS_MAX} are taken.`);
  const data = type.create(length);
  const writer = new Writer(input, type, dims, data);
  if (dims.length === 0) writer.write([value], 0);
  else writer.writeNested(value as readonly unknown[], 0);
  return { type, data, dims };
}

/** By the first element of each level; `writeNested` compares the others. */
function dimsOf(value: unknown): number[] {
  const dims: number[] = [];
  for (let inner = value; Array.isArray(inner) && dims.length < LEVELS_MAX; inner = inner[0]) dims.push(inner.length);
  return dims;
}

function checkShape({ name, shape }: OnnxValue, dims: readonly number[], free: Map<string, number>): void {
  if (shape === undefined) return;
  const differs =
    dims.length !== shape.length ||
    shape.some((expected, index) => typeof expected === 'number' && expected !== dims[index]);
  if (differs)
    throw new InputError(`The input '${name}' has the shape ${shapeText(shape)}; the given one is ${shapeText(dims)}.`);
  shape.forEach((dimension, index) => {
    if (typeof dimension !== 'string') return;
    const before = free.get(dimension);
    if (before !== undefined && before !== dims[index])
      throw new InputError(
        `The input '${name}' has the shape ${shapeText(shape)}, where ${dimension} is ${before} in another input; the given one is ${shapeText(dims)}.`,
      );
    free.set(dimension, dims[index]);
  });
}

/** Fills the data of one tensor from nested arrays. */
class Writer {
  readonly #input: OnnxValue;
  readonly #type: ElementType;
  readonly #dims: readonly number[];
  readonly #data: TensorData;
  #at = 0;

  constructor(input: OnnxValue, type: ElementType, dims: readonly number[], data: TensorData) {
    this.#input = input;
    this.#type = type;
    this.#dims = dims;
    this.#data = data;
  }

  writeNested(values: readonly unknown[], level: number): void {
    if (level === this.#dims.length - 1) {
      this.write(values, this.#at);
      this.#at += values.length;
      return;
    }
    const length = this.#dims[level + 1];
    for (const value of values) {
      if (!Array.isArray(value) || value.length !== length)
        throw new InputError(
          `The arrays of the input '${this.#input.name}' have different lengths: the shape ${shapeText(this.#dims)} of the first ones wants ${length} at each place of level ${level + 1}.`,
        );
      this.writeNested(value, level + 1);
    }
  }

  write(values: readonly unknown[], at: number): void {
    const wrong = this.#type.write(this.#data, at, values);
    if (wrong < 0) return;
    throw new InputError(
      `The input '${this.#input.name}' has the type ${this.#input.type} and takes ${this.#type.takes}; element ${at + wrong} is ${shortText(values[wrong])}.`,
    );
  }
}

const SHORT_LENGTH = 40;

/** A value for a message. */
export function shortText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > SHORT_LENGTH ? `${text.slice(0, SHORT_LENGTH)}…` : text;
}

/** Nested arrays of a tensor, one level for a dimension; the value itself when there is none. */
export function nestedOf({ type, data, dims }: TensorValue): unknown {
  if (dims.length === 0) return type.read(data, 0);
  let at = 0;
  const level = (index: number): unknown[] => {
    const length = dims[index];
    const values = new Array<unknown>(length);
    if (index === dims.length - 1) for (let place = 0; place < length; place++) values[place] = type.read(data, at++);
    else for (let place = 0; place < length; place++) values[place] = level(index + 1);
    return values;
  };
  return level(0);
}

/**
 * What a ZipMap makes of its tensor: for each row an object from label to number.
 * @throws InputError when the tensor has not a column for each label.
 */
export function rowsOf({ labels, output }: ZipMap, { type, data, dims }: TensorValue): unknown[] {
  const columns = dims.at(-1) ?? 0;
  if (dims.length < 1 || dims.length > 2 || columns !== labels.length)
    throw new InputError(
      `The output '${output}' pairs ${labels.length} labels with a tensor of the shape ${shapeText(dims)}.`,
    );
  const count = dims.length === 1 ? 1 : dims[0];
  return Array.from({ length: count }, (_, row) =>
    Object.fromEntries(labels.map((label, column) => [label, type.read(data, row * columns + column)])),
  );
}
