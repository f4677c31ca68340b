import type { Value } from './types.ts';

/**
 * One record while it is scored. A field has a slot, an index into both arrays, given when the model is compiled. The row of
 * a model is used again for each record: `epoch` grows, and a slot that is computed on demand is valid when its stamp is
 * the epoch.
 */
export class Row {
  /** Numbers and booleans (1, 0), and the codes of texts (`Dictionary`); NaN is a missing value. */
  readonly numbers: Float64Array;
  /** Texts and collections; undefined where the slot holds a number or a missing value. */
  readonly values: (Value | undefined)[];
  readonly stamps: Float64Array;
  /** Slots that hold collections of the record: what puts only numbers into slots drops them first. */
  readonly collections: number[] = [];
  epoch = 0;
  /** Grows where a new series of records begins: what goes on from record to record (`BaselineModel`) begins anew. */
  series = 0;
  /** Calls of the document's functions for this record, which are bounded. */
  calls = 0;
  /** Steps that the open calls of functions are deep. */
  callDepth = 0;
  #callsEpoch = 0;

  constructor(slots: number) {
    this.numbers = new Float64Array(slots).fill(Number.NaN);
    this.values = new Array<Value | undefined>(slots).fill(undefined);
    this.stamps = new Float64Array(slots);
  }

  dropCollections(): void {
    for (const slot of this.collections) this.values[slot] = undefined;
    this.collections.length = 0;
  }

  /**
   * Counts a call of a function of the document.
   *
   * @throws InvalidRecord where the record needs more than 1,000,000
   */
  countCall(): void {
    if (this.#callsEpoch !== this.epoch) {
      this.#callsEpoch = this.epoch;
      this.calls = 0;
      this.callDepth = 0;
    }
    if (++this.calls > CALLS_MAX) throw new InvalidRecord(`functions are called more than ${CALLS_MAX} times`);
  }
}

const CALLS_MAX = 1_000_000;

/** Gives slots out while a model is compiled. */
export class Slots {
  #count = 0;

  take(): number {
    if (this.#count >= SLOTS_MAX) throw new RangeError(`a model has at most ${SLOTS_MAX} fields`);
    return this.#count++;
  }

  get count(): number {
    return this.#count;
  }
}

const SLOTS_MAX = 4_000_000;

/** The record has no valid result (`invalidValueTreatment="returnInvalid"`): all its outputs are missing. */
export class InvalidRecord extends Error {
  override readonly name = 'InvalidRecord';
}

/** Code of a text that no part of the model names. */
export const UNKNOWN_CODE = -1;

/**
 * The texts that a model compares a field with, by number, so that predicates compare numbers. It grows while the model is
 * compiled and not afterwards.
 */
export class Dictionary {
  readonly #codes = new Map<string, number>();

  /** The code of a text that the model names. */
  add(text: string): number {
    const known = this.#codes.get(text);
    if (known !== undefined) return known;
    const code = this.#codes.size;
    this.#codes.set(text, code);
    return code;
  }

  code(text: string): number {
    return this.#codes.get(text) ?? UNKNOWN_CODE;
  }

  get size(): number {
    return this.#codes.size;
  }
}
