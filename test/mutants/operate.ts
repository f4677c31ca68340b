import type { MutantTable } from './mutant.ts';

export const OPERATE: readonly MutantTable[] = [];
