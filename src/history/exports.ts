/**
 * Exports under way, bounded, and their queries, which leave room for those of lists. Each node of a cluster counts for
 * itself.
 */
import { refusedBy } from '../model/errors.ts';
import type { Principal } from '../model/access/principal.ts';
import type { Refusals } from '../ports/refusals.ts';
import { Turns } from '../pacing/turns.ts';

type Holder = Pick<Principal, 'tenantNumber' | 'userName'>;

/** Each holds some MB of texts for as long as its client reads. */
export const EXPORTS_MAX = { user: 5, tenant: 10, server: 20 } as const;
/** Queries of exports at one time; the embedded engine runs five queries (store/clickhouse/history-bounds.ts). */
const QUERIES_MAX = 2;

export class Exports {
  readonly #refusals: Refusals;
  readonly #counts = new Map<string, number>();
  readonly #turns: Turns;

  constructor(refusals: Refusals) {
    this.#refusals = refusals;
    const { user, server } = EXPORTS_MAX;
    this.#turns = new Turns({
      refusals,
      running: { all: QUERIES_MAX },
      waiting: { all: server, ofUser: user },
      limits: { all: 'exports/of-server', ofUser: 'exports/of-user' },
    });
  }

  /** Exports under way. */
  get count(): number {
    return this.#counts.get('') ?? 0;
  }

  /**
   * An export begins. @returns to be called when it has ended. @throws PlatformError `general/busy` when there are too
   * many.
   */
  begin({ tenantNumber, userName }: Holder): () => void {
    const places = [
      ['user', `${tenantNumber}/${userName}`],
      ['tenant', String(tenantNumber)],
      ['server', ''],
    ] as const;
    for (const [name, key] of places) {
      if ((this.#counts.get(key) ?? 0) < EXPORTS_MAX[name]) continue;
      const limit = `exports/of-${name}`;
      this.#refusals.count(limit, { tenant: tenantNumber, user: userName });
      throw refusedBy(limit);
    }
    for (const [, key] of places) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      for (const [, key] of places) {
        const rest = (this.#counts.get(key) ?? 0) - 1;
        if (rest > 0) this.#counts.set(key, rest);
        else this.#counts.delete(key);
      }
    };
  }

  /**
   * Runs a bounded query of an export, which has at most one at a time. Tenants take turns, and so do the users of a
   * tenant.
   */
  async query<Result>(
    { tenantNumber, userName }: Holder,
    run: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    await this.#turns.begin(tenantNumber, userName, signal);
    try {
      return await run();
    } finally {
      this.#turns.end(tenantNumber, userName);
    }
  }
}
