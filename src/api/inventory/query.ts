/** Queries of the inventory's language as part of a list (docs/spec/queries.md). */
import { childrenCondition } from '../../history/inventory-query/hierarchy.ts';
import { queryText } from '../../history/inventory-query/list.ts';
import type { ChildKind } from '../../model/commands/links.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { linkedIds } from '../lists/hierarchy.ts';
import { requireShort } from '../lists/query-length.ts';
import type { HistoryFilter } from '../../history/filter.ts';

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
