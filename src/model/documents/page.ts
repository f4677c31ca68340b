/** The page of a collection that a request asks for (docs/spec/paging.md#pages). */
export interface Page {
  readonly size: number;
  /** From 1. */
  readonly current: number;
  readonly offset: number;
  readonly wantsTotal: boolean;
}
