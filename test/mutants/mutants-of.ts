import type { Mutant } from './mutant.ts';

/** [rule, what stands in the source, what stands there without the rule, and further changes]. */
export type Rule = readonly [rule: string, ...changes: string[]];

/** Rules of one source that the same tests hold. */
export const mutantsOf = (file: string, tests: readonly string[], ...rules: readonly Rule[]): Mutant[] => rules.map(([rule, ...texts]) => ({
  rule, file, tests, changes: texts.flatMap((text, index) => (index % 2 === 0 ? [[text, texts[index + 1]] as const] : [])) }));
