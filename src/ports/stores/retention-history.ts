/** Port of what retention reads and removes in the history. Implemented in src/store/clickhouse/retention.ts. */
import type { RetentionChunk, RetentionTarget } from '../../model/entities/retention.ts';

/** Entities that are removed one by one, by commands to their actors. */
export type EntityKind = 'EVENT' | 'ALARM' | 'OPERATION';
/** Kinds that are rows only. */
export type RowKind = 'MEASUREMENT' | 'AUDIT';

export interface RetentionHistory {
  /**
   * @returns the first month behind `after` that has rows of the target, and how many the target selects but none of
   * the others.
   */
  nextMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined>;
  /**
   * Removes what the target selects in one month. @param requireRoom throws when nothing may be written that need not
   * be.
   */
  removeMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    month: string,
    requireRoom?: () => void,
  ): Promise<void>;
  /** @returns entities of the target behind the id `after`, in the order of their ids. */
  entities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    range: { after: string; through?: string; limit: number },
  ): Promise<{ id: number; source: number }[]>;
  /** @returns how many entities the target selects but none of the others. */
  countEntities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    others: readonly RetentionTarget[],
  ): Promise<number>;
  /** @returns those of the bulk operations that have operations which are not over. */
  bulkOperationsUnderWay(tenant: number, ids: readonly string[]): Promise<Set<string>>;
}
