/** Port: told of rows of measurements that the history store deletes. */
export interface DeletionWatch {
  /**
   * Rows of the tenant are about to be deleted, or may still be: until `release`, or until the store deletes nothing at
   * all. Repeatable. @param deletion names it.
   */
  hold(tenant: number, deletion: string): void;
  /** They are deleted. */
  release(tenant: number, deletion: string): void;
}
