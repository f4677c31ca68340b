/** Port: told of rows of measurements that the history store deletes. */
export interface DeletionWatch {
  /**
   * Rows of the tenant are about to be deleted, or may still be: until `release`, which the caller promises. Repeatable.
   * @param deletion names it. @param sources the only ones that it is about; absent for all.
   */
  hold(tenant: number, deletion: string, sources?: readonly number[]): void;
  /**
   * What is held ended in an error, and the store may go on with it: held until the store is seen to delete nothing of
   * the tenant.
   */
  leave(tenant: number, deletion: string): void;
  /** They are deleted. */
  release(tenant: number, deletion: string): void;
}
