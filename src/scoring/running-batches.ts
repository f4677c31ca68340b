/** Batches under way on this node: how many there may be, and how far they are (docs/spec/scoring.md#batch). */
import { refusedBy } from '../model/errors.ts';
import { Shares } from '../pacing/shares.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { Asker } from './asker.ts';
import { BATCHES_MAX, SCORING_LIMIT } from './limits.ts';

export interface RunningBatch {
  /** Of this node since its start. */
  readonly id: string;
  readonly tenant: number;
  readonly user: string;
  readonly groupName: string | undefined;
  /** Of a group, the model that is applied now. */
  modelName: string;
  /** That are scored; of a group each record counts with each model. */
  records: number;
  /** ms since 1970. */
  readonly startedAt: number;
}

export class RunningBatches {
  readonly #refusals: Refusals;
  readonly #shares: Shares;
  readonly #running = new Set<RunningBatch>();
  #lastId = 0;

  constructor(refusals: Refusals, isOnlyTenant?: () => boolean) {
    this.#refusals = refusals;
    this.#shares = new Shares(SCORING_LIMIT.BATCHES, BATCHES_MAX, isOnlyTenant);
  }

  get count(): number {
    return this.#shares.used;
  }

  /** Give it back with `end`. @throws PlatformError 503 when too many are under way */
  begin(
    { tenant, user }: Asker,
    { modelName, groupName }: { readonly modelName: string; readonly groupName?: string },
    startedAt: number,
  ): RunningBatch {
    const limit = this.#shares.take(tenant, user);
    if (limit !== undefined) {
      this.#refusals.count(limit, { tenant, user });
      throw refusedBy(limit);
    }
    this.#lastId += 1;
    const batch = { id: String(this.#lastId), tenant, user, groupName, modelName, records: 0, startedAt };
    this.#running.add(batch);
    return batch;
  }

  end(batch: RunningBatch): void {
    if (this.#running.delete(batch)) this.#shares.give(batch.tenant, batch.user);
  }

  /** The oldest first. */
  of(tenant: number): RunningBatch[] {
    return [...this.#running].filter((batch) => batch.tenant === tenant);
  }
}
