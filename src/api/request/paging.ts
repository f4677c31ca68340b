/** Pages of collections (docs/spec/paging.md). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { PAGE_BYTES_LIMIT } from '../../pacing/page-limits.ts';
import { CURRENT_PAGE_MAX, isNoPage } from '../../model/documents/page.ts';
import type { Page } from '../../model/documents/page.ts';
import type { ApiRequest } from './request.ts';
import { pageBytesMaxOf } from './page-budget.ts';
import type { QueryParameters, QueryValues } from './schema/query-values.ts';
import { withoutEnd } from '../../model/documents/text-end.ts';

export const PAGE_SIZE_DEFAULT = 5;
/** Larger values are cut to it without error. */
export const PAGE_SIZE_MAX = 2000;
/**
 * What `@c8y/client` asks for behind the last page and before the first one: no page, not the first. Loops end with an
 * empty one (docs/spec/paging.md#pages).
 */
const NO_PAGE = 'null';

export const PAGE_PARAMETERS: QueryParameters = {
  pageSize: {
    schema: Type.Integer({ minimum: 1, default: PAGE_SIZE_DEFAULT }),
    description: `Entities of a page, at most ${PAGE_SIZE_MAX}`,
  },
  currentPage: {
    schema: Type.Integer({ minimum: 1, maximum: CURRENT_PAGE_MAX, default: 1 }),
    description: 'Number of the page, from 1; `null`, for a page that is not there, is answered with an empty one',
    alsoTakes: NO_PAGE,
  },
  withTotalPages: { schema: Type.Boolean({ default: false }), description: 'Adds statistics.totalPages' },
  withTotalElements: { schema: Type.Boolean({ default: false }), description: 'Adds statistics.totalElements' },
};

export function pageOf(request: ApiRequest): Page {
  if (request.page !== undefined) return request.page;
  const { query } = request;
  const size = Math.min(PAGE_SIZE_MAX, query.integer('pageSize') ?? PAGE_SIZE_DEFAULT);
  return {
    ...pageOfSize(size, currentPageOf(query)),
    wantsTotal: query.isTrue('withTotalPages') || query.isTrue('withTotalElements'),
  };
}

/** @returns the number of the page that is asked for, from 1. */
export const currentPageOf = (query: QueryValues): number =>
  query.text('currentPage') === NO_PAGE ? CURRENT_PAGE_MAX : (query.integer('currentPage') ?? 1);

/** @param current from 1. */
export const pageOfSize = (size: number, current: number): Page => ({
  size,
  current,
  offset: (current - 1) * size,
  wantsTotal: false,
});

export interface Collection {
  /** Name of the array, for instance `alarms`. */
  readonly name: string;
  readonly items: readonly string[];
  /**
   * Needed when the page wants totals; undefined is shown as null then: not for who sees a part of the inventory alone
   * (docs/spec/paging.md#totals).
   */
  readonly total?: number | undefined;
  /** Whether there may be more: usually that the page is full. */
  readonly isFull?: boolean;
}

/**
 * @param bytes length of the texts of a page, or of those that are there already. @throws PlatformError
 * `general/page-too-large`.
 */
export function requirePageBytes(request: ApiRequest, bytes: number): void {
  const limit = pageBytesMaxOf(request);
  if (bytes <= limit) return;
  request.refused(PAGE_BYTES_LIMIT);
  throw new PlatformError('general/page-too-large', { limit });
}

/**
 * @returns JSON text of the collection with its links and statistics. @throws PlatformError `general/page-too-large`.
 */
export function collectionText(request: ApiRequest, page: Page, collection: Collection): string {
  // Pages of an export are cut by its own sizes (api/page-export.ts).
  if (request.page === undefined)
    requirePageBytes(
      request,
      collection.items.reduce((sum, { length }) => sum + length, 0),
    );
  const { query } = request;
  const { total } = collection;
  const link = (current: number): string => JSON.stringify(pageLink(request, page.size, current));
  const isFull = collection.isFull ?? collection.items.length >= page.size;
  const isLast = !isFull || (total !== undefined && page.current * page.size >= total);
  const statistics: Record<string, number | null> = { currentPage: page.current, pageSize: page.size };
  if (query.isTrue('withTotalPages'))
    statistics['totalPages'] = total === undefined ? null : Math.ceil(total / page.size);
  if (query.isTrue('withTotalElements')) statistics['totalElements'] = total ?? null;
  const next = isLast ? '' : `"next":${link(page.current + 1)},`;
  const prev = page.current > 1 ? `"prev":${link(page.current - 1)},` : '';
  const items = collection.items.join(',');
  // Where the items themselves have that name, statistics have no place.
  const shown = collection.name === 'statistics' ? '' : `"statistics":${JSON.stringify(statistics)},`;
  return `{"self":${link(page.current)},${next}${isNoPage(page) ? '' : prev}${shown}${JSON.stringify(collection.name)}:[${items}]}`;
}

/** Absolute URL with all parameters as they were sent, but for the page. */
function pageLink(request: ApiRequest, size: number, current: number): string {
  const { path, queryText } = request.exchange;
  const others = queryText.split('&').filter((pair) => pair !== '' && !/^(pageSize|currentPage)(=|$)/.test(pair));
  return `${request.baseUrl}${withoutEnd(path, '/')}?${[...others, `pageSize=${size}`, `currentPage=${current}`].join('&')}`;
}
