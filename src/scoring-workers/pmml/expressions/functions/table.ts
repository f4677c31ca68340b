import { ARITHMETIC } from './arithmetic.ts';
import type { BuiltIn } from './built-in.ts';
import { DATES } from './dates.ts';
import { LOGIC } from './logic.ts';
import { STRINGS } from './strings.ts';

/** The built-in functions of PMML 4.4 by name (docs/spec/pmml-expressions.md#functions). */
export const BUILT_INS: ReadonlyMap<string, BuiltIn> = new Map([...ARITHMETIC, ...LOGIC, ...STRINGS, ...DATES]);
