/** A rule, how to take it out of a source, and the tests that must fail then; `npm run mutants` (bin/mutants.mjs) tries them. */

/** [what stands in the source exactly once, what stands there without the rule]. */
export type Change = readonly [string, string];

export interface Mutant {
  /** The rule in words, as a reader knows it from the specification; unique. */
  readonly rule: string;
  /** The source, from the root: `src/…ts`. */
  readonly file: string;
  readonly changes: readonly Change[];
  /** Test files without `test/` and `.test.ts`; the first that fails is enough. */
  readonly tests: readonly string[];
  /** For tests that run with a cluster in the place of the server. */
  readonly cluster?: boolean;
}

export interface MutantTable {
  /** The part of the specification or of the documentation. */
  readonly heading: string;
  readonly mutants: readonly Mutant[];
}
