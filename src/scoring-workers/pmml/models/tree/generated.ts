/** Trees of a document that are walked often become functions of WebAssembly. */
import type { Row } from '../../fields/row.ts';
import type { Names } from '../../fields/scope.ts';
import type { NumberSource, PlainEntries } from '../model.ts';
import { isJump } from './program.ts';
import { leafFunctions, NUMBERS_MAX, numbersFunction, treeMemory } from './tree-module.ts';

/** Walks after which a tree is worth a function of its own: one that scores a few records is not. */
const WALKS_BEFORE = 500;
/** Longer functions gain less. The tests of a document all stand in memory as code. */
const TESTS_MAX = 1_000;
const DEPTH_MAX = 64;
const DOCUMENT_TESTS_MAX = 200_000;
const GENERATED_TEST_BYTES = 100;

/** @returns the entry where the record ends */
export type Walk = (row: Row) => number;

/** Fills the numbers of all models for the record; false where it cannot. */
export type Fill = (row: Row, values: Float64Array) => boolean;

interface WalkedTree {
  readonly entries: PlainEntries;
  leaf: (() => number) | undefined;
}

/** The trees of one document. Their functions are only for records that have a number in each slot that one of them reads. */
export class GeneratedTrees {
  readonly #places = new Map<number, number>();
  #slots: readonly number[] = [];
  readonly #trees: WalkedTree[] = [];
  #areGenerated = false;
  #epoch = -1;
  #isComplete = false;
  #tests = 0;
  #reserved = 0;

  /** @returns bytes that the functions of a tree with `tests` may take later, as far as the document has room for them */
  reserve(tests: number): number {
    this.#reserved += tests;
    return tests > TESTS_MAX || this.#reserved > DOCUMENT_TESTS_MAX ? 0 : tests * GENERATED_TEST_BYTES;
  }

  /** A walk that becomes a function once one of the trees was walked often. A record with a missing value goes on with the walk. */
  later(entries: PlainEntries, walk: Walk): Walk {
    const tree: WalkedTree = { entries, leaf: undefined };
    this.#trees.push(tree);
    let walks = 0;
    return (row) => {
      if (tree.leaf !== undefined && this.#look(row)) return tree.leaf();
      if (++walks === WALKS_BEFORE) this.#generate();
      return walk(row);
    };
  }

  /** Numbers of several models, by one function once they have been asked for often. */
  filledLater(sources: readonly NumberSource[]): Fill {
    let asked = 0;
    let fill: (() => void) | undefined;
    return (row, values) => {
      if (fill === undefined) {
        if (++asked === WALKS_BEFORE) fill = this.#fillOf(sources);
        return false;
      }
      if (!this.#look(row)) return false;
      fill();
      const { results } = treeMemory();
      for (let i = 0; i < values.length; i++) values[i] = results[i] as number;
      return true;
    };
  }

  /** Gives the trees their functions, as many as the document has room for. */
  #generate(): void {
    if (this.#areGenerated) return;
    this.#areGenerated = true;
    const taken = this.#trees.filter(({ entries }) => this.#take([entries]));
    const functions = whereAllowed(() =>
      leafFunctions(
        taken.map(({ entries }) => entries),
        this.#placeOf,
      ),
    );
    for (const [index, tree] of taken.entries()) tree.leaf = functions?.[index];
  }

  #fillOf(sources: readonly NumberSource[]): (() => void) | undefined {
    if (sources.length > NUMBERS_MAX || !this.#take(sources.map(({ entries }) => entries))) return undefined;
    return whereAllowed(() => numbersFunction(sources, this.#placeOf));
  }

  readonly #placeOf = (slot: number): number => this.#places.get(slot) as number;

  /** @returns false where the document has no room for the tests of these trees */
  #take(trees: readonly PlainEntries[]): boolean {
    const slots = new Set<number>();
    let tests = this.#tests;
    for (const entries of trees) {
      const count = countTests(entries, slots);
      tests += count;
      if (count > TESTS_MAX || tests > DOCUMENT_TESTS_MAX) return false;
    }
    const added = [...slots].filter((slot) => !this.#places.has(slot));
    if (this.#slots.length + added.length > NUMBERS_MAX) return false;
    this.#tests = tests;
    if (added.length === 0) return true;
    for (const slot of added) this.#places.set(slot, this.#places.size);
    this.#slots = [...this.#places.keys()];
    this.#epoch = -1;
    return true;
  }

  /** Puts the numbers of the record where the functions read them. @returns false where one is missing */
  #look({ epoch, numbers }: Row): boolean {
    if (epoch === this.#epoch) return this.#isComplete;
    const slots = this.#slots;
    const { inputs } = treeMemory();
    this.#epoch = epoch;
    this.#isComplete = false;
    for (let i = 0; i < slots.length; i++) {
      const number = numbers[slots[i] as number] as number;
      if (Number.isNaN(number)) return false;
      inputs[i] = number;
    }
    this.#isComplete = true;
    return true;
  }
}

/** @param slots takes the slots that the tests read @returns more than TESTS_MAX where the tree is too large or too deep */
function countTests({ heads, start }: PlainEntries, slots: Set<number>): number {
  let tests = 0;
  const count = (at: number, depth: number): void => {
    const slot = heads[4 * at + 2] as number;
    if (tests > TESTS_MAX) return;
    if (slot < 0) {
      if (isJump(slot)) count(heads[4 * at + 3] as number, depth);
      return;
    }
    tests += depth > DEPTH_MAX ? TESTS_MAX + 1 : 1;
    slots.add(slot);
    count(at + 1, depth + 1);
    count(heads[4 * at + 3] as number, depth + 1);
  };
  count(start, 0);
  return tests;
}

/** @returns undefined where the process may not reserve the addresses that WebAssembly takes: the walk is there */
function whereAllowed<Made>(make: () => Made): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const DOCUMENTS = new WeakMap<Names, GeneratedTrees>();

export function generatedTreesOf(names: Names): GeneratedTrees {
  let known = DOCUMENTS.get(names);
  if (known === undefined) {
    known = new GeneratedTrees();
    DOCUMENTS.set(names, known);
  }
  return known;
}
