/** Counts what subscribers lose and what is refused, and says so in the log, but not once per message. */
import type { Principal } from '../../model/access/principal.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';

/** Between two lines about the same limit. */
const LOG_INTERVAL_MS = 10_000;

/** What the server tells the metrics. */
export interface RealtimeMetrics {
  /** Messages handed to transports. */
  delivered(count: number): void;
  /** A message that a subscriber lost by a limit. */
  lost(limit: string): void;
}

/** Of the user of a session, for the log. */
export const refusedOf = (principal: Principal | undefined): Refused => ({
  tenant: principal?.tenant,
  user: principal?.userName,
});

export class LossReport {
  readonly #refusals: Refusals;
  readonly #metrics: RealtimeMetrics | undefined;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #byLimit = new Map<string, { count: number; loggedAt: number }>();

  constructor(options: { refusals: Refusals; metrics: RealtimeMetrics | undefined; log: Log; now: () => number }) {
    this.#refusals = options.refusals;
    this.#metrics = options.metrics;
    this.#log = options.log;
    this.#now = options.now;
  }

  /** A message was dropped for one subscriber. */
  lost(limit: string, refused: Refused): void {
    this.#metrics?.lost(limit);
    this.refused(limit, refused);
  }

  /** A request, session or connection was refused or ended. */
  refused(limit: string, refused: Refused): void {
    this.#refusals.count(limit, refused);
    let entry = this.#byLimit.get(limit);
    if (entry === undefined) {
      entry = { count: 0, loggedAt: Number.NEGATIVE_INFINITY };
      this.#byLimit.set(limit, entry);
    }
    entry.count += 1;
    const now = this.#now();
    if (now - entry.loggedAt < LOG_INTERVAL_MS) return;
    this.#log.warn({ limit, count: entry.count }, 'a limit of the real-time interface was reached');
    entry.count = 0;
    entry.loggedAt = now;
  }
}
