import type { MutantTable } from './mutant.ts';

export const LIVE: readonly MutantTable[] = [];
