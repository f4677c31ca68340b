/** Changes of bulk operations (src/jobs/bulk-operations/changes.ts). */
import type { StoredBulkOperation } from '../model/entities/bulk-operation.ts';
import type { HistoryReader } from './history-reader.ts';

/** By whom, in the tenant with this number. */
export interface BulkOperationUser {
  readonly tenant: number;
  readonly user: string;
}

/** What becomes of one; `next` takes its place. */
export interface BulkOperationChange {
  readonly changed: StoredBulkOperation;
  readonly next?: StoredBulkOperation;
}

export interface BulkOperationPort {
  /** @throws PlatformError 404. */
  read(tenant: number, id: string): Promise<StoredBulkOperation>;
  /** @throws PlatformError 422 where as many are under way as a tenant may have. */
  create(by: BulkOperationUser, stored: StoredBulkOperation): Promise<void>;
  /**
   * @param decide may be asked again, since another writer may have changed it meanwhile.
   * @returns what was changed, or what takes its place. @throws PlatformError 404, and what `decide` throws.
   */
  update(
    by: BulkOperationUser,
    id: string,
    decide: (stored: StoredBulkOperation) => Promise<BulkOperationChange>,
  ): Promise<StoredBulkOperation>;
  /** What is not yet created is never created; operations that are there stay. @throws PlatformError 404. */
  cancel(by: BulkOperationUser, id: string): Promise<void>;
  /**
   * Before operations are deleted: what became of them stays in the progress of their bulk operations.
   * @param history counts the operations. @param id of the only bulk operation whose operations are deleted; without it
   * those of all that are not over may be.
   */
  keepCounts(tenant: number, history: HistoryReader, id: string | undefined): Promise<void>;
  /**
   * The same before a managed object is deleted with its operations. Does not fail where the history is not there.
   * @param withOthers whether objects below it are deleted too.
   */
  keepCountsOfObject(tenant: number, history: HistoryReader, id: string, withOthers: boolean): Promise<void>;
}
