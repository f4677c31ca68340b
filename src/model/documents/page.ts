/** The page of a collection that a request asks for (docs/spec/paging.md#pages). */
export interface Page {
  readonly size: number;
  /** From 1. */
  readonly current: number;
  readonly offset: number;
  readonly wantsTotal: boolean;
}

/** Keeps the offset far below 2^53. No list is as long. */
export const CURRENT_PAGE_MAX = 0x7fffffff;

/** Whether nothing can be on the page, so that a list does not look for it. */
export const isNoPage = ({ current }: Pick<Page, 'current'>): boolean => current >= CURRENT_PAGE_MAX;
