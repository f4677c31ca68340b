import type { Row } from '../../fields/row.ts';
import type { PlainEntries } from '../model.ts';
import { type Predicate, TRUE, UNKNOWN } from '../../predicates/predicate.ts';

/** What an entry of a program does. Heads from 0 are the slot of a plain comparison, all others have their kind in the low bits. */
const LEAF = 0;
/** The number in a slot that holds it is less than the operand. */
export const PLAIN = -1;
/** The same of a field that is computed on demand. */
export const LESS = 1;
export const EQUAL = 2;
export const IN_SET = 3;
export const MISSING = 4;
/** A predicate of its own, such as a compound one. */
export const PREDICATE = 5;
/** Counts a step that was taken because a value is missing. */
export const COUNT = 6;
/** Goes on at an entry that has another place. */
const JUMP = 7;
const KIND_BITS = 3;
const KIND = 7;

/** The record goes to no node and gets no prediction. */
export const NULL_OUTCOME = 0x3fffffff;

/** A field whose slot is read, after it has been computed where it is computed on demand. */
export interface TestedField {
  readonly slot: number;
  readonly ensure: ((row: Row) => void) | undefined;
}

/**
 * A test of a graph of tests. Targets from 0 are tests, those below 0 the node (`~target`) where a record stays. `yes` of an
 * order is where the number is less than the operand.
 */
export interface GraphTest {
  readonly kind: number;
  /** Of a plain test its slot, else the number of its field or predicate. */
  readonly subject: number;
  readonly operand: number;
  yes: number;
  no: number;
  unknown: number;
}

export interface Graph {
  readonly tests: readonly GraphTest[];
  readonly start: number;
  readonly fields: readonly TestedField[];
  readonly predicates: readonly Predicate[];
  readonly sets: readonly ((given: number) => boolean)[];
  /** What a node says as a number, of a regression. */
  score(node: number): number;
}

/**
 * A tree as entries in one array: the test that follows when one is true stands beside it, so a walk goes forward in memory, and
 * a leaf holds its score. An entry is an operand of 64 bits, a head and a target of 32 bits each.
 */
export class Program {
  readonly #operands: Float64Array;
  /** The same memory: head and target of entry n at 4n + 2 and 4n + 3. */
  readonly #heads: Int32Array;
  /** Where to go on when a value is missing. */
  readonly #unknown: Int32Array;
  readonly #start: number;
  readonly #isPlain: boolean;
  readonly #fields: readonly TestedField[];
  readonly #predicates: readonly Predicate[];
  readonly #sets: readonly ((given: number) => boolean)[];
  /** Steps of the last walk that missing values made. */
  missingSteps = 0;
  readonly bytes: number;
  readonly tests: number;

  constructor(graph: Graph) {
    const layout = new Layout(graph);
    this.#operands = layout.operands;
    this.#heads = new Int32Array(layout.operands.buffer);
    this.#unknown = layout.unknown;
    this.#start = layout.start;
    this.#isPlain = graph.tests.every(({ kind }) => kind === PLAIN);
    this.#fields = graph.fields;
    this.#predicates = graph.predicates;
    this.#sets = graph.sets;
    const closures = graph.predicates.length + graph.sets.length + graph.fields.length;
    this.tests = graph.tests.length;
    this.bytes = this.#operands.byteLength + this.#unknown.byteLength + CLOSURE_BYTES * closures;
  }

  /** @returns the leaf entry where the record ends */
  walk(row: Row): number {
    const { numbers } = row;
    const operands = this.#operands;
    const heads = this.#heads;
    let at = this.#start;
    for (;;) {
      const head = heads[4 * at + 2];
      if (head >= 0) {
        const given = numbers[head];
        if (given < operands[2 * at]) at++;
        else if (given === given) at = heads[4 * at + 3];
        else at = this.#unknown[at];
      } else {
        if ((~head & KIND) === LEAF) return at;
        at = this.#special(row, ~head, at);
      }
    }
  }

  /** The entries where all tests are plain comparisons, for a function that is made of them. */
  get plainEntries(): PlainEntries | undefined {
    if (!this.#isPlain) return undefined;
    return { operands: this.#operands, heads: this.#heads, start: this.#start };
  }

  /** Node of a leaf entry, or NULL_OUTCOME. */
  node(leaf: number): number {
    return this.#heads[4 * leaf + 3];
  }

  /** Score of a leaf entry, of a regression. */
  score(leaf: number): number {
    return this.#operands[2 * leaf];
  }

  #special(row: Row, head: number, at: number): number {
    const kind = head & KIND;
    const subject = head >> KIND_BITS;
    if (kind >= PREDICATE) return this.#other(row, kind, subject, at);
    const { slot, ensure } = this.#fields[subject];
    if (ensure !== undefined && row.stamps[slot] !== row.epoch) ensure(row);
    const given = row.numbers[slot];
    const operand = this.#operands[2 * at];
    if (kind === MISSING)
      return Number.isNaN(given) && row.values[slot] === undefined ? at + 1 : this.#heads[4 * at + 3];
    if (Number.isNaN(given)) return this.#unknown[at];
    const isTrue = kind === LESS ? given < operand : kind === EQUAL ? given === operand : this.#sets[operand](given);
    return isTrue ? at + 1 : this.#heads[4 * at + 3];
  }

  #other(row: Row, kind: number, subject: number, at: number): number {
    if (kind === COUNT) {
      this.missingSteps++;
      return at + 1;
    }
    if (kind === JUMP) return this.#heads[4 * at + 3];
    const truth = this.#predicates[subject](row);
    return truth === TRUE ? at + 1 : truth === UNKNOWN ? this.#unknown[at] : this.#heads[4 * at + 3];
  }
}

const CLOSURE_BYTES = 200;

/** Gives the tests of a graph their places. */
class Layout {
  operands: Float64Array;
  readonly unknown: Int32Array;
  readonly start: number;
  readonly #graph: Graph;
  #heads: Int32Array;
  #count = 0;
  /** Entry of each test; -1: it has none yet. */
  readonly #places: Int32Array;
  /** Leaf entries for values that are missing, by node. */
  readonly #leaves = new Map<number, number>();
  /** Entry, and the test that it belongs to. */
  readonly #tests: number[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
    const { tests } = graph;
    this.operands = new Float64Array(2 * (2 * tests.length + 1));
    this.#heads = new Int32Array(this.operands.buffer);
    this.#places = new Int32Array(tests.length).fill(-1);
    this.start = this.#emit(graph.start);
    const unknown: number[] = [];
    // Targets of missing values may need entries of their own, which have such targets again.
    for (let i = 0; i < this.#tests.length; i += 2) {
      const test = graph.tests[this.#tests[i + 1]];
      if (test.kind !== COUNT) unknown.push(this.#tests[i], this.#entryOf(test.unknown));
    }
    this.operands = this.operands.slice(0, 2 * this.#count);
    this.unknown = new Int32Array(this.#count);
    for (let i = 0; i < unknown.length; i += 2) this.unknown[unknown[i]] = unknown[i + 1];
  }

  #entryOf(target: number): number {
    if (target >= 0) return this.#places[target] === -1 ? this.#emit(target) : this.#places[target];
    let leaf = this.#leaves.get(target);
    if (leaf === undefined) {
      leaf = this.#leaf(~target);
      this.#leaves.set(target, leaf);
    }
    return leaf;
  }

  /** Emits a target and all that it leads to when no value is missing. Without recursion: a tree may be deep. */
  #emit(first: number): number {
    const start = this.#count;
    const waiting: number[] = [first, -1];
    while (waiting.length > 0) {
      const from = waiting.pop() as number;
      let target = waiting.pop() as number;
      if (from !== -1) this.#heads[4 * from + 3] = this.#count;
      while (target >= 0 && this.#places[target] === -1) {
        const test = this.#graph.tests[target];
        const entry = this.#add(headOf(test), test.operand, 0);
        this.#places[target] = entry;
        this.#tests.push(entry, target);
        if (test.kind !== COUNT) waiting.push(test.no, entry);
        target = test.yes;
      }
      if (target < 0) this.#leaf(~target);
      else this.#add(~JUMP, 0, this.#places[target]);
    }
    return start;
  }

  #leaf(node: number): number {
    return this.#add(~LEAF, node === NULL_OUTCOME ? Number.NaN : this.#graph.score(node), node);
  }

  #add(head: number, operand: number, target: number): number {
    const entry = this.#count++;
    if (2 * entry >= this.operands.length) {
      const larger = new Float64Array(this.operands.length * 2);
      larger.set(this.operands);
      this.operands = larger;
      this.#heads = new Int32Array(larger.buffer);
    }
    this.operands[2 * entry] = operand;
    this.#heads[4 * entry + 2] = head;
    this.#heads[4 * entry + 3] = target;
    return entry;
  }
}

/** @param head below 0 */
export const isJump = (head: number): boolean => (~head & KIND) === JUMP;

const headOf = ({ kind, subject }: GraphTest): number => (kind === PLAIN ? subject : ~((subject << KIND_BITS) | kind));
