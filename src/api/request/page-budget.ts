/** Adds up what a page of records holds, before it is built: small requests may ask for large answers. */
import { PlatformError } from '../../model/errors.ts';
import { PAGE_BYTES_LIMIT, PAGE_BYTES_MAX } from '../../pacing/page-limits.ts';
import type { ApiRequest } from './request.ts';

export class PageBudget {
  readonly #request: Pick<ApiRequest, 'platform'>;
  #left = PAGE_BYTES_MAX;

  constructor(request: Pick<ApiRequest, 'platform'>) {
    this.#request = request;
  }

  /** @throws PlatformError `general/page-too-large`. */
  take(characters: number): void {
    this.#left -= characters;
    if (this.#left >= 0) return;
    this.#request.platform.refusals.count(PAGE_BYTES_LIMIT);
    throw new PlatformError('general/page-too-large', { limit: PAGE_BYTES_MAX });
  }
}

/** Texts made one after the other. @throws PlatformError `general/page-too-large`. */
export function textsWithin<Item>(
  request: Pick<ApiRequest, 'platform'>,
  items: readonly Item[],
  textOf: (item: Item) => string,
): string[] {
  const budget = new PageBudget(request);
  return items.map((item) => {
    const text = textOf(item);
    budget.take(text.length);
    return text;
  });
}
