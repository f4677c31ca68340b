import type { Field } from './field.ts';
import type { Row } from './row.ts';
import type { Value } from './types.ts';

/** Records before one that a model may look back to. */
export const LOOK_BACK_MAX = 10_000;

/** Values of one field in the records before, those of one block: each record counts, scored or refused. */
class History {
  readonly #field: Field;
  readonly #steps: number;
  readonly #blocks: readonly Field[];
  #values: (Value | undefined)[] = [];
  #block: readonly (Value | undefined)[] = [];
  #nextValue: Value | undefined;
  #nextBlock: readonly (Value | undefined)[] = [];

  constructor(field: Field, steps: number, blocks: readonly Field[]) {
    this.#field = field;
    this.#steps = steps;
    this.#blocks = blocks;
  }

  /** Values of the up to `steps` records before the one in the row, the oldest first, until the next record. */
  before(row: Row): readonly (Value | undefined)[] {
    return this.#isOfBlock(this.#blocks.map((one) => one.value(row))) ? this.#values : [];
  }

  /** Reads the row; `push` follows, when all histories have read: one may read another. */
  read(row: Row): void {
    this.#nextValue = valueOrMissing(this.#field, row);
    this.#nextBlock = this.#blocks.map((one) => valueOrMissing(one, row));
  }

  push(): void {
    if (!this.#isOfBlock(this.#nextBlock)) this.clear();
    this.#block = this.#nextBlock;
    this.#values.push(this.#nextValue);
    if (this.#values.length > this.#steps) this.#values.shift();
  }

  clear(): void {
    this.#values = [];
  }

  #isOfBlock(block: readonly (Value | undefined)[]): boolean {
    return block.every((one, index) => one === this.#block[index]);
  }
}

function valueOrMissing(field: Field, row: Row): Value | undefined {
  try {
    return field.value(row);
  } catch {
    // The record that has no such value was told, where its result needs the value: to later ones it is missing.
    return undefined;
  }
}

/** How far back the expressions of a document look (`Lag`), and what they see there. */
export class LookBack {
  readonly #histories: History[] = [];
  #longest = 0;
  #sum = 0;
  #isNested = false;

  /** @param isNested the field that is looked back at may look back itself: the steps add up then @returns `records` */
  add(steps: number, isNested: boolean): number {
    this.#longest = Math.max(this.#longest, steps);
    this.#sum += steps;
    this.#isNested ||= isNested;
    return this.records;
  }

  keep(field: Field, steps: number, blocks: readonly Field[]): History {
    const history = new History(field, steps, blocks);
    this.#histories.push(history);
    return history;
  }

  /** Records that a part of a file needs in front. */
  get records(): number {
    return this.#isNested ? this.#sum : this.#longest;
  }

  /** Whether there is a history to keep. */
  get hasHistories(): boolean {
    return this.#histories.length > 0;
  }

  /** The record in the row is over, and another one of its series comes. */
  advance(row: Row): void {
    for (const history of this.#histories) history.read(row);
    for (const history of this.#histories) history.push();
  }

  /** Another series begins: no record is before its first one. */
  clear(): void {
    for (const history of this.#histories) history.clear();
  }
}
