import type { Row } from '../../fields/row.ts';
import { type Predicate, TRUE, UNKNOWN } from '../../predicates/predicate.ts';

/** What a test does with the number in a slot; the number of its field or predicate stands above these bits. */
export const LESS = 0;
export const EQUAL = 1;
export const IN_SET = 2;
export const MISSING = 3;
/** A predicate of its own, such as a compound one. */
export const PREDICATE = 4;
/** Counts a step that was taken because a value is missing. */
export const COUNT = 5;
/** The field is computed on demand: what stands above the bits is its number among those. */
export const LAZY = 8;
export const OPERATION_BITS = 4;
const OPERATION = 7;

/** Numbers of a test in the code: its head, and where to go on when it is true, false and unknown. */
export const STRIDE = 4;

/** The record goes to no node: there is no prediction. */
export const NULL_OUTCOME = 0x3fffffff;

/** A field that is computed on demand, before its slot is read. */
export interface LazySlot {
  readonly slot: number;
  readonly ensure: (row: Row) => void;
}

export interface ProgramForm {
  readonly code: ArrayLike<number>;
  readonly operands: ArrayLike<number>;
  readonly start: number;
  readonly isPlain: boolean;
  readonly lazy: readonly LazySlot[];
  readonly predicates: readonly Predicate[];
  readonly sets: readonly ((given: number) => boolean)[];
}

/**
 * A tree as tests in one array. A target from 0 is the next test, one below 0 the node (`~target`) where the record stays. Tests
 * stand in the order of the nodes, so a walk goes forward in memory and allocates nothing.
 */
export class Program {
  readonly #code: Int32Array;
  readonly #operands: Float64Array;
  readonly #start: number;
  /** All tests are comparisons of slots that hold their number. */
  readonly #isPlain: boolean;
  readonly #lazy: readonly LazySlot[];
  readonly #predicates: readonly Predicate[];
  readonly #sets: readonly ((given: number) => boolean)[];
  /** Steps of the last walk that missing values made. */
  missingSteps = 0;
  readonly bytes: number;

  constructor(form: ProgramForm) {
    this.#code = Int32Array.from(form.code);
    this.#operands = Float64Array.from(form.operands);
    this.#start = form.start;
    this.#lazy = form.lazy;
    this.#predicates = form.predicates;
    this.#sets = form.sets;
    this.#isPlain = form.isPlain;
    const closures = form.predicates.length + form.sets.length + form.lazy.length;
    this.bytes = this.#code.byteLength + this.#operands.byteLength + CLOSURE_BYTES * closures;
  }

  /** @returns the node where the record stays, or NULL_OUTCOME */
  walk(row: Row): number {
    return this.#isPlain ? this.#walkPlain(row.numbers) : this.#walkAny(row);
  }

  #walkPlain(numbers: Float64Array): number {
    const code = this.#code;
    const operands = this.#operands;
    let at = this.#start;
    while (at >= 0) {
      const base = at << 2;
      const given = numbers[code[base] >> OPERATION_BITS];
      if (given < operands[at]) at = code[base + 1];
      else if (given === given) at = code[base + 2];
      else at = code[base + 3];
    }
    return ~at;
  }

  #walkAny(row: Row): number {
    const code = this.#code;
    const operands = this.#operands;
    const { numbers } = row;
    this.missingSteps = 0;
    let at = this.#start;
    while (at >= 0) {
      const base = at << 2;
      const head = code[base];
      const operation = head & OPERATION;
      let slot = head >> OPERATION_BITS;
      if ((head & LAZY) !== 0) {
        const lazy = this.#lazy[slot];
        slot = lazy.slot;
        if (row.stamps[slot] !== row.epoch) lazy.ensure(row);
      }
      if (operation > IN_SET) {
        at = this.#special(row, operation, slot, base);
        continue;
      }
      const given = numbers[slot];
      const operand = operands[at];
      if (operation === LESS ? given < operand : operation === EQUAL ? given === operand : this.#isIn(operand, given))
        at = code[base + 1];
      else if (given === given) at = code[base + 2];
      else at = code[base + 3];
    }
    return ~at;
  }

  #isIn(set: number, given: number): boolean {
    return given === given && this.#sets[set](given);
  }

  #special(row: Row, operation: number, slot: number, base: number): number {
    const code = this.#code;
    if (operation === COUNT) {
      this.missingSteps++;
      return code[base + 1];
    }
    if (operation === MISSING) {
      const isMissing = Number.isNaN(row.numbers[slot]) && row.values[slot] === undefined;
      return code[base + (isMissing ? 1 : 2)];
    }
    const truth = this.#predicates[slot](row);
    return code[base + (truth === TRUE ? 1 : truth === UNKNOWN ? 3 : 2)];
  }
}

const CLOSURE_BYTES = 200;
