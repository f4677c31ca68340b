import type { Row } from '../fields/row.ts';

/** Result of a predicate in three-valued logic. */
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

export type Truth = typeof FALSE | typeof TRUE | typeof UNKNOWN;

export type Predicate = (row: Row) => Truth;
