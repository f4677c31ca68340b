import type { MutantTable } from './mutant.ts';

export const SMARTREST: readonly MutantTable[] = [];
