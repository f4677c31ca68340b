import type { MutantTable } from './mutant.ts';

export const HTTP: readonly MutantTable[] = [];
