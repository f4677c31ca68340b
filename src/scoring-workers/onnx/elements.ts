/**
 * The types of the elements of tensors: how a value of JSON becomes one and back. What JSON cannot say is a text in
 * both directions: NaN, the infinities, whole numbers beyond 2^53 - 1. docs/spec/scoring.md#values-of-tensors
 */
import { fromHalf, toHalf } from './half.ts';

/** Arrays that onnxruntime takes and gives for the data of a tensor. */
export type TensorData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | string[];

export interface ElementType {
  /** As onnxruntime-common calls it. */
  readonly runtimeName: string;
  create(length: number): TensorData;
  /**
   * Writes the values of one innermost array. @returns the index of the first value that this type does not take, -1
   * when it took all.
   */
  write(data: TensorData, at: number, values: readonly unknown[]): number;
  /** A value as it stands in JSON. */
  read(data: TensorData, at: number): unknown;
  /** What it takes, for messages. */
  readonly takes: string;
}

const SPECIAL_NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

const numberText = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

function floatType(runtimeName: string, create: (length: number) => Float32Array | Float64Array): ElementType {
  return {
    runtimeName,
    create,
    write(data, at, values) {
      const numbers = data as Float64Array;
      for (let index = 0; index < values.length; index++) {
        const value = values[index];
        if (typeof value === 'number') numbers[at + index] = value;
        else {
          const special = SPECIAL_NUMBERS.get(value);
          if (special === undefined) return index;
          numbers[at + index] = special;
        }
      }
      return -1;
    },
    read: (data, at) => numberText((data as Float64Array)[at]),
    takes: 'numbers, "NaN", "Infinity" and "-Infinity"',
  };
}

const HALF: ElementType = {
  runtimeName: 'float16',
  create: (length) => new Uint16Array(length),
  write(data, at, values) {
    const halves = data as Uint16Array;
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      const number = typeof value === 'number' ? value : SPECIAL_NUMBERS.get(value);
      if (number === undefined) return index;
      halves[at + index] = toHalf(number);
    }
    return -1;
  },
  read: (data, at) => numberText(fromHalf((data as Uint16Array)[at])),
  takes: 'numbers, "NaN", "Infinity" and "-Infinity"',
};

function intType(
  runtimeName: string,
  create: (length: number) => TensorData,
  minimum: number,
  maximum: number,
): ElementType {
  return {
    runtimeName,
    create,
    write(data, at, values) {
      const numbers = data as Int32Array;
      for (let index = 0; index < values.length; index++) {
        const value = values[index];
        if (!Number.isInteger(value) || (value as number) < minimum || (value as number) > maximum) return index;
        numbers[at + index] = value as number;
      }
      return -1;
    },
    read: (data, at) => (data as Int32Array)[at],
    takes: `whole numbers from ${minimum} to ${maximum}`,
  };
}

const WHOLE_NUMBER = /^-?\d{1,20}$/;

function longType(
  runtimeName: string,
  create: (length: number) => BigInt64Array | BigUint64Array,
  minimum: bigint,
  maximum: bigint,
): ElementType {
  return {
    runtimeName,
    create,
    write(data, at, values) {
      const numbers = data as BigInt64Array;
      for (let index = 0; index < values.length; index++) {
        const value = values[index];
        // A number beyond 2^53 - 1 has lost digits already when its JSON was read.
        const isReadable = typeof value === 'string' ? WHOLE_NUMBER.test(value) : Number.isSafeInteger(value);
        if (!isReadable) return index;
        const long = BigInt(value as string | number);
        if (long < minimum || long > maximum) return index;
        numbers[at + index] = long;
      }
      return -1;
    },
    read(data, at) {
      const long = (data as BigInt64Array)[at];
      const number = Number(long);
      return Number.isSafeInteger(number) ? number : String(long);
    },
    takes: `whole numbers from ${minimum} to ${maximum}, as texts beyond 2^53 - 1`,
  };
}

const BOOL: ElementType = {
  runtimeName: 'bool',
  create: (length) => new Uint8Array(length),
  write(data, at, values) {
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      if (value !== true && value !== false && value !== 0 && value !== 1) return index;
      (data as Uint8Array)[at + index] = Number(value);
    }
    return -1;
  },
  read: (data, at) => (data as Uint8Array)[at] !== 0,
  takes: 'true, false, 1 and 0',
};

const STRING: ElementType = {
  runtimeName: 'string',
  create: (length) => new Array<string>(length).fill(''),
  write(data, at, values) {
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      if (typeof value !== 'string') return index;
      (data as string[])[at + index] = value;
    }
    return -1;
  },
  read: (data, at) => (data as string[])[at],
  takes: 'texts',
};

/** By the name that ONNX gives them. Others (complex, bfloat16, eight and four bits) onnxruntime-node does not pass. */
export const ELEMENT_TYPES: ReadonlyMap<string, ElementType> = new Map([
  ['float', floatType('float32', (length) => new Float32Array(length))],
  ['double', floatType('float64', (length) => new Float64Array(length))],
  ['float16', HALF],
  ['int8', intType('int8', (length) => new Int8Array(length), -(2 ** 7), 2 ** 7 - 1)],
  ['uint8', intType('uint8', (length) => new Uint8Array(length), 0, 2 ** 8 - 1)],
  ['int16', intType('int16', (length) => new Int16Array(length), -(2 ** 15), 2 ** 15 - 1)],
  ['uint16', intType('uint16', (length) => new Uint16Array(length), 0, 2 ** 16 - 1)],
  ['int32', intType('int32', (length) => new Int32Array(length), -(2 ** 31), 2 ** 31 - 1)],
  ['uint32', intType('uint32', (length) => new Uint32Array(length), 0, 2 ** 32 - 1)],
  ['int64', longType('int64', (length) => new BigInt64Array(length), -(2n ** 63n), 2n ** 63n - 1n)],
  ['uint64', longType('uint64', (length) => new BigUint64Array(length), 0n, 2n ** 64n - 1n)],
  ['bool', BOOL],
  ['string', STRING],
]);
