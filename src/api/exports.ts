/** Exports under way, bounded, and their queries, which leave room for those of lists. Each node of a cluster counts for itself. */
import { refusedBy } from '../model/errors.ts';
import type { Principal } from '../model/principal.ts';
import type { Refusals } from '../model/refusals.ts';

/** Each holds some MB of texts for as long as its client reads. */
export const EXPORTS_MAX = { user: 5, tenant: 10, server: 20 } as const;
/** Queries of exports at one time; the embedded engine has three sessions for reads. */
const QUERIES_MAX = 2;

export class Exports {
  readonly #refusals: Refusals;
  readonly #counts = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];
  #queries = 0;

  constructor(refusals: Refusals) {
    this.#refusals = refusals;
  }

  /** Exports under way. */
  get count(): number {
    return this.#counts.get('') ?? 0;
  }

  /** An export begins. @returns to be called when it has ended. @throws PlatformError `general/busy` when there are too many. */
  begin({ tenantNumber, userName }: Pick<Principal, 'tenantNumber' | 'userName'>): () => void {
    const places = [['user', `${tenantNumber}/${userName}`], ['tenant', String(tenantNumber)], ['server', '']] as const;
    for (const [name, key] of places) {
      if ((this.#counts.get(key) ?? 0) < EXPORTS_MAX[name]) continue;
      const limit = `exports/of-${name}`;
      this.#refusals.count(limit);
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

  /** Runs a bounded query of an export, which has at most one at a time; in the order in which they come. */
  async query<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#queries >= QUERIES_MAX) await new Promise<void>((resolve) => { this.#waiting.push(resolve); });
    else this.#queries += 1;
    try {
      return await run();
    } finally {
      // Whoever waited takes the place over.
      const next = this.#waiting.shift();
      if (next === undefined) this.#queries -= 1;
      else next();
    }
  }
}
