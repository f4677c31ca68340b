/** Queries of the inventory's language as part of a list (docs/spec/queries.md). */
import { childrenCondition } from '../../history/inventory-query/hierarchy.ts';
import { queryText } from '../../history/inventory-query/list.ts';
import type { ChildKind } from '../../model/commands/links.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { linkedIds } from '../lists/hierarchy.ts';
import type { HistoryFilter } from '../../history/filter.ts';

/**
 * Characters of SQL of one query: the engine takes about 8 ms for 1,000 before it reads a row, and refuses a whole
 * statement above 262,144.
 */
const SQL_LENGTH_MAX = 131_072;
const SQL_LENGTH_LIMIT = 'inventory/query-length';
/** Parents of one object that a filter by child looks at. */
const PARENTS_MAX = 2000;

/** Parameters that ask for the parents of an object. */
export const CHILD_FILTERS: Readonly<Record<string, ChildKind>> = {
  childAssetId: 'childAssets',
  childDeviceId: 'childDevices',
  childAdditionId: 'childAdditions',
};

/** Ids of the parents of the object that the parameter `name` of CHILD_FILTERS names. */
export async function parentsOfChild(request: ApiRequest, name: string): Promise<string[]> {
  const child = request.query.text(name) ?? '';
  return isEntityId(child) ? linkedIds(request, 'parents', child, CHILD_FILTERS[name], PARENTS_MAX) : [];
}

/**
 * Adds the conditions of `query`.
 * @returns its order, SQL. @throws PlatformError `inventory/invalid-query`.
 */
export async function addInventoryQuery(request: ApiRequest, filter: HistoryFilter, query: string): Promise<string> {
  const { platform, tenant, history } = request;
  const { condition, order } = await queryText(query, { tenant, documents: platform.documents, history }, filter);
  requireShort(request, (condition ?? '1').length + order.length);
  if (condition !== undefined) filter.add(condition);
  return order;
}

/** @throws PlatformError `inventory/invalid-query` for what the engine would work on too long before it reads a row. */
function requireShort({ platform }: ApiRequest, length: number): void {
  if (length <= SQL_LENGTH_MAX) return;
  platform.refusals.count(SQL_LENGTH_LIMIT);
  const limit = `${SQL_LENGTH_MAX} (${SQL_LENGTH_LIMIT})`;
  const reason = `its conditions and orders make ${length} characters of SQL, more than ${limit}; use fewer of them or shorter paths`;
  throw new PlatformError('inventory/invalid-query', { reason });
}

/** Adds that objects are children of `parent`. */
export async function addChildrenOf(
  request: ApiRequest,
  filter: HistoryFilter,
  parent: string,
  kind: ChildKind,
): Promise<void> {
  const { platform, tenant, history } = request;
  filter.add(
    await childrenCondition([Number(parent)], [kind], { tenant, documents: platform.documents, history }, filter),
  );
}
