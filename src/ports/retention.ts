import type { RunTrigger, RunWish } from '../model/entities/retention.ts';

/** Port: what the resources need of the part that carries out runs. */
export interface RetentionPort {
  /** Days of the default rule, 0 for none. */
  readonly defaultDays: number;
  /**
   * Plans a run. @throws PlatformError `retention/running` when there is one already, 503 `records/changes-at-once`.
   * @returns its id.
   */
  begin(tenant: number, trigger: RunTrigger, options: RunWish): Promise<string>;
}
