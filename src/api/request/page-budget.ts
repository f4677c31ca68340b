/** Adds up what a page of records holds, before it is built: small requests may ask for large answers. */
import { PlatformError } from '../../model/errors.ts';
import { PAGE_BYTES_LIMIT, PAGE_BYTES_MAX } from '../../pacing/page-limits.ts';
import type { ApiRequest } from './request.ts';

/** Of one page, in characters. */
export const pageBytesMaxOf = ({ platform }: Pick<ApiRequest, 'platform' | 'refusals'>): number =>
  platform.config.pageBytesMax ?? PAGE_BYTES_MAX;

export class PageBudget {
  readonly #request: Pick<ApiRequest, 'platform' | 'refusals'>;
  readonly #limit: number;
  #left: number;

  constructor(request: Pick<ApiRequest, 'platform' | 'refusals'>) {
    this.#request = request;
    this.#limit = pageBytesMaxOf(request);
    this.#left = this.#limit;
  }

  /** @throws PlatformError `general/page-too-large`. */
  take(characters: number): void {
    this.#left -= characters;
    if (this.#left >= 0) return;
    this.#request.refusals.count(PAGE_BYTES_LIMIT, {});
    throw new PlatformError('general/page-too-large', { limit: this.#limit });
  }
}

/** Texts made one after the other. @throws PlatformError `general/page-too-large`. */
export function textsWithin<Item>(
  request: Pick<ApiRequest, 'platform' | 'refusals'>,
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
