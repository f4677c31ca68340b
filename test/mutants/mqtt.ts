import type { MutantTable } from './mutant.ts';

export const MQTT: readonly MutantTable[] = [];
