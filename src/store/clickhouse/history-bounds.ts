/** What bounds the queries of the history: turns by tenant and user, and the time of one query. */
import type { Refusals } from '../../ports/refusals.ts';
import { Turns } from '../../pacing/turns.ts';

export interface HistoryBounds {
  readonly turns: Turns;
  /** Longest time that a query of a request runs, and longest wait for its turn; milliseconds. */
  readonly queryMsMax: number;
  readonly refusals: Refusals;
  /** The engine stands still for a backup. */
  readonly isPaused?: () => boolean;
}

/** Queries at once. A user, and a tenant, leave room to others however long their queries run. */
const RUNNING = {
  embedded: { all: 5, ofTenant: 4, ofUser: 3 },
  /** Of the client's 32 connections: the rest is for inserts and for the server's own queries. */
  server: { all: 24, ofTenant: 18, ofUser: 12 },
} as const;
/** Sessions of the embedded engine for reads: one more than the turns, for the server's own queries. */
export const READ_SESSIONS = RUNNING.embedded.all + 1;
const WAITING = { all: 2_000, ofUser: 250 } as const;

/** Names of the limits, as in answers and counters. */
export const HISTORY_LIMIT = {
  WAITING: 'history/queries-waiting',
  OF_USER: 'history/queries-of-user',
  WAIT: 'history/queries-wait',
  TIME: 'history/query-time',
  MEMORY: 'history/query-memory',
} as const;

/** @param engine `embedded`, or `server` for a ClickHouse server, of which each node has its own turns. */
export function historyBounds(
  engine: keyof typeof RUNNING,
  queryMsMax: number,
  refusals: Refusals,
  isPaused?: () => boolean,
): HistoryBounds {
  const turns = new Turns({
    refusals,
    running: RUNNING[engine],
    waiting: WAITING,
    waitMsMax: queryMsMax,
    limits: { all: HISTORY_LIMIT.WAITING, ofUser: HISTORY_LIMIT.OF_USER, wait: HISTORY_LIMIT.WAIT },
  });
  return { turns, queryMsMax, refusals, ...(isPaused === undefined ? {} : { isPaused }) };
}
