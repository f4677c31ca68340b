/** Collections of the API, which all have pages and statistics. */
import { getJson } from '../api/json.ts';
import { queryText } from '../route.ts';
import type { Query } from '../route.ts';
import { PAGE_SIZE } from './managed-object.ts';

interface Page {
  readonly statistics?: { readonly totalElements?: number | null };
}

export interface Collection<Row> {
  readonly load: (page: number, signal?: AbortSignal, pageSize?: number) => Promise<readonly Row[]>;
  /** undefined where the server does not count. */
  readonly count: (signal?: AbortSignal) => Promise<number | undefined>;
}

/** The request of a page, for "Copy as" too. */
export const pagePath = (path: string, page: number, query: Query = {}, pageSize = PAGE_SIZE): string =>
  path + queryText({ ...query, pageSize, currentPage: page });

/** How a list reads the collection. @param member of the answer that has the rows. */
export function collectionAt<Row>(path: string, member: string, query: Query = {}): Collection<Row> {
  return {
    load: async (page, signal, pageSize) =>
      (await getJson<Readonly<Record<string, Row[]>>>(pagePath(path, page, query, pageSize), signal))[member],
    count: async (signal) =>
      (await getJson<Page>(path + queryText({ ...query, pageSize: 1, withTotalElements: 'true' }), signal)).statistics
        ?.totalElements ?? undefined,
  };
}

/** References of users, groups and roles wrap what they refer to. */
export const unwrapped =
  <Row>(name: string) =>
  (references: readonly unknown[]): Row[] =>
    references.map((reference) => (reference as Record<string, Row>)[name]);

/** All rows of a collection that is short by its nature, such as groups and roles. */
export async function wholeOf<Row>(collection: Collection<Row>, signal?: AbortSignal): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let page = 1; page <= WHOLE_PAGES_MAX; page += 1) {
    const found = await collection.load(page, signal);
    rows.push(...found);
    if (found.length < PAGE_SIZE) break;
  }
  return rows;
}

/** 1,000 rows: longer collections have lists with pages. */
const WHOLE_PAGES_MAX = 10;
