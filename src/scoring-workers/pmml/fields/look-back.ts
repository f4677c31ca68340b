/** Records before one that a model may look back to. */
export const LOOK_BACK_MAX = 10_000;

/** How far back the expressions of a document look (`Lag`): records that a part of a file needs in front. */
export class LookBack {
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

  get records(): number {
    return this.#isNested ? this.#sum : this.#longest;
  }
}
