/** The page of a collection that a request asks for (document 1 Conventions 7). */
export interface Page {
  readonly size: number;
  /** From 1. */
  readonly current: number;
  readonly offset: number;
  readonly wantsTotal: boolean;
}
