/** Lists of the inventory (document 4 section 2.2). */
import { PlatformError } from '../model/errors.ts';
import type { ChildKind } from '../model/command.ts';
import type { ApiRequest } from './api-request.ts';
import { isEntityId } from './entity-id.ts';
import { linkedIds } from './hierarchy.ts';
import { HistoryFilter, countDocuments, queryDocuments, totalOf } from './history-filter.ts';
import { CHILD_PARAMETERS, managedObjectText } from './managed-object-text.ts';
import { INVENTORY_READ } from './managed-objects.ts';
import { JSON_TYPE } from './media-types.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import { flag, text } from './query-parameters.ts';
import { found } from './reply.ts';
import type { Answer, Route } from './route.ts';

/** Parents of one object that a filter by child looks at. */
const PARENTS_MAX = 2000;

const CHILD_FILTERS: Readonly<Record<string, ChildKind>> = {
  childAssetId: 'childAssets',
  childDeviceId: 'childDevices',
  childAdditionId: 'childAdditions',
};

const FILTERS = {
  ids: text('Ids, comma separated; unknown ones are left out'),
  type: text('Exact type'),
  fragmentType: text('Has this top-level property'),
  owner: text('Exact owner'),
  text: text('Some property is equal to or starts with this text'),
  query: text('Query language'),
  q: text('Query language, devices only'),
  childAssetId: text('Parents of this asset'),
  childDeviceId: text('Parents of this device'),
  childAdditionId: text('Parents of this addition'),
  onlyRoots: flag('Only objects without parents'),
};

async function filterOf(request: ApiRequest): Promise<HistoryFilter> {
  const { query } = request;
  if (query.has('query') || query.has('q'))
    throw new PlatformError('inventory/invalid-query', { reason: 'the query language is not available yet' });
  const filter = new HistoryFilter(request.tenant);
  if (query.has('ids')) filter.idIn('id', query.list('ids'));
  filter.text('type', query.text('type')).fragment(query.text('fragmentType')).text('owner', query.text('owner'));
  const wanted = query.text('text');
  if (wanted !== undefined) {
    // A value in the document's text begins behind a colon, a bracket or a comma.
    const value = JSON.stringify(wanted).slice(0, -1);
    filter.add(
      `multiSearchAny(doc, ${filter.bind('Array(String)', [`:${value}`, `[${value}`, `,${value}`, `:${wanted},`, `:${wanted}}`])})`,
    );
  }
  for (const [name, kind] of Object.entries(CHILD_FILTERS)) {
    const child = query.text(name);
    if (child !== undefined) filter.idIn('id', isEntityId(child) ? await linkedIds(request, 'parents', child, kind, PARENTS_MAX) : []);
  }
  if (query.isTrue('onlyRoots')) filter.add('empty(parents)');
  if (!request.isPrivileged) filter.text('owner', request.principal.userName);
  return filter;
}

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const filter = await filterOf(request);
  const total = await totalOf(request, 'managed_objects', filter, page);
  const ids = request.query.list('ids').filter(isEntityId).map(Number);
  const order = ids.length === 0 ? 'id' : `indexOf(${filter.bind('Array(UInt64)', ids)}, id)`;
  const rows = await queryDocuments(request, 'managed_objects', filter, order, page);
  const items: string[] = [];
  for (const row of rows) items.push(await managedObjectText(request, row.entityId, row.doc));
  return found('managedObjectCollection', collectionText(request, page, { name: 'managedObjects', items, total }));
}

async function count(request: ApiRequest): Promise<Answer> {
  return { status: 200, contentType: JSON_TYPE, text: String(await countDocuments(request, 'managed_objects', await filterOf(request))) };
}

export function managedObjectListRoutes(): Route[] {
  const area = 'inventory';
  return [
    {
      method: 'GET',
      path: '/inventory/managedObjects',
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'List managed objects by id',
      query: { ...FILTERS, ...CHILD_PARAMETERS, ...PAGE_PARAMETERS },
      answers: [{ status: 200, description: 'A page of managed objects', mediaType: 'managedObjectCollection' }],
      handle: list,
    },
    {
      method: 'GET',
      path: '/inventory/managedObjects/count',
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Count managed objects',
      query: FILTERS,
      produces: ['vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A number', contentTypes: ['application/json'] }],
      handle: count,
    },
  ];
}
