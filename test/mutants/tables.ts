/** All rules that `npm run mutants` takes out, by area. */
import { HTTP } from './http.ts';
import { JOURNAL } from './journal.ts';
import { LIVE } from './live.ts';
import { MQTT } from './mqtt.ts';
import type { MutantTable } from './mutant.ts';
import { OPERATE } from './operate.ts';
import { SMARTREST } from './smartrest.ts';

export const TABLES: readonly MutantTable[] = [...OPERATE, ...JOURNAL, ...MQTT, ...SMARTREST, ...HTTP, ...LIVE];
