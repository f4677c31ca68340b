import type { Row } from '../../fields/row.ts';
import type { Names } from '../../fields/scope.ts';
import type { NumberSource } from '../model.ts';

/** Walks after which a tree is worth a function of its own: one that scores a few records is not. */
const WALKS_BEFORE = 500;
/** The engine does not optimize longer functions, and the tests of a document all stand in memory as code. */
const TESTS_MAX = 1_000;
const DEPTH_MAX = 64;
const DOCUMENT_TESTS_MAX = 200_000;
const GENERATED_TEST_BYTES = 100;

/** A tree whose tests are all comparisons of slots, as its entries (see Program). */
export interface PlainEntries {
  readonly operands: Float64Array;
  readonly heads: Int32Array;
  readonly start: number;
}

/** The slots that generated functions of one document read: they are only for records that have a number in each. */
export class CompleteSlots {
  readonly #slots: number[] = [];
  readonly #known = new Set<number>();
  #epoch = -1;
  #isComplete = false;
  #tests = 0;
  #reserved = 0;

  /** @returns bytes that the functions of a tree with `tests` may take later, as far as the document has room for them */
  reserve(tests: number): number {
    this.#reserved += tests;
    return tests > TESTS_MAX || this.#reserved > DOCUMENT_TESTS_MAX ? 0 : tests * GENERATED_TEST_BYTES;
  }

  /** @returns false where the document has no room for more generated tests */
  add(slots: Iterable<number>, tests: number): boolean {
    if (this.#tests + tests > DOCUMENT_TESTS_MAX) return false;
    this.#tests += tests;
    for (const slot of slots)
      if (!this.#known.has(slot)) {
        this.#known.add(slot);
        this.#slots.push(slot);
      }
    this.#epoch = -1;
    return true;
  }

  isComplete(row: Row): boolean {
    if (row.epoch !== this.#epoch) this.#look(row);
    return this.#isComplete;
  }

  #look(row: Row): void {
    const { numbers } = row;
    const slots = this.#slots;
    this.#epoch = row.epoch;
    this.#isComplete = false;
    for (let i = 0; i < slots.length; i++) if (Number.isNaN(numbers[slots[i]])) return;
    this.#isComplete = true;
  }
}

const DOCUMENTS = new WeakMap<Names, CompleteSlots>();

export function completeSlotsOf(names: Names): CompleteSlots {
  let known = DOCUMENTS.get(names);
  if (known === undefined) {
    known = new CompleteSlots();
    DOCUMENTS.set(names, known);
  }
  return known;
}

export type Walk = (row: Row) => number;

/**
 * A walk that becomes a generated function once the tree has been walked often: nested comparisons, whose constants stand in
 * the code. A record with a missing value goes on with the walk.
 */
export function generatedLater(entries: PlainEntries, complete: CompleteSlots, walk: Walk): Walk {
  let walks = 0;
  let generated: ((numbers: Float64Array) => number) | undefined;
  return (row) => {
    if (generated !== undefined) return complete.isComplete(row) ? generated(row.numbers) : walk(row);
    if (++walks === WALKS_BEFORE) {
      const source = sourceOf(entries, (leaf) => leaf);
      if (source !== undefined && complete.add(source.slots, source.tests))
        generated = new Function('n', source.body) as (numbers: Float64Array) => number;
    }
    return walk(row);
  };
}

/**
 * A tree as the body of a function of `n`, the numbers of the slots. Only numbers of the tree stand in the text.
 *
 * @param resultOf what a leaf entry gives
 * @returns undefined where the tree is too large
 */
export function sourceOf(
  { operands, heads, start }: PlainEntries,
  resultOf: (leaf: number) => number,
): NumberSource | undefined {
  const slots = new Set<number>();
  let tests = 0;
  let isTooLarge = false;
  const code = (at: number, depth: number): string => {
    const slot = heads[4 * at + 2];
    if (slot < 0) return `return ${resultOf(at)};`;
    isTooLarge ||= ++tests > TESTS_MAX || depth > DEPTH_MAX;
    if (isTooLarge) return '';
    slots.add(slot);
    const yes = code(at + 1, depth + 1);
    return `if(n[${slot}]<${operands[2 * at]}){${yes}}else{${code(heads[4 * at + 3], depth + 1)}}`;
  };
  const body = code(start, 0);
  return isTooLarge ? undefined : { body, slots, tests };
}

/** Fills the numbers of all models for the record; false where it cannot. */
export type Fill = (row: Row, values: Float64Array) => boolean;

/** Numbers of several models, by one generated function once they have been asked for often. */
export function filledLater(sources: readonly (() => NumberSource | undefined)[], complete: CompleteSlots): Fill {
  let asked = 0;
  let generated: ((numbers: Float64Array, values: Float64Array) => void) | undefined;
  return (row, values) => {
    if (generated !== undefined) {
      if (!complete.isComplete(row)) return false;
      generated(row.numbers, values);
      return true;
    }
    if (++asked === WALKS_BEFORE) generated = generateAll(sources, complete);
    return false;
  };
}

function generateAll(sources: readonly (() => NumberSource | undefined)[], complete: CompleteSlots) {
  const bodies: string[] = [];
  const slots = new Set<number>();
  let tests = 0;
  for (const source of sources) {
    const made = source();
    if (made === undefined || tests + made.tests > DOCUMENT_TESTS_MAX) return undefined;
    tests += made.tests;
    for (const slot of made.slots) slots.add(slot);
    bodies.push(made.body);
  }
  if (!complete.add(slots, tests)) return undefined;
  const functions = bodies.map((body, index) => `function t${index}(n){${body}}`).join('\n');
  const calls = bodies.map((_, index) => `v[${index}]=t${index}(n);`).join('');
  return new Function(`${functions}\nreturn function(n,v){${calls}}`)() as (
    numbers: Float64Array,
    values: Float64Array,
  ) => void;
}
