/** What the engine refuses for a query itself. */
import { HISTORY_LIMIT } from './history-bounds.ts';

/** What the engine refuses for the query itself, by its numbers: it would refuse it again. */
export const TOO_LARGE: ReadonlyMap<number, string> = new Map([
  [241, `it needs more memory than one may take (${HISTORY_LIMIT.MEMORY}); ask for less, with narrower filters`],
  [
    159,
    `it took too long (${HISTORY_LIMIT.TIME}, --history-query-max-ms); ask for less, with a narrower dateFrom and dateTo`,
  ],
]);
export const LIMIT_OF: ReadonlyMap<number, string> = new Map([
  [241, HISTORY_LIMIT.MEMORY],
  [159, HISTORY_LIMIT.TIME],
]);
/** Of all queries together, not of this one. */
export const MEMORY_OF_ALL = /\(total\)/;
