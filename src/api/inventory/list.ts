/** Lists of the inventory (docs/spec/inventory.md#lists). */
import type { ApiRequest } from '../request/request.ts';
import { documentPage } from '../../history/page.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import {
  EXPORT_KINDS,
  EXPORT_PARAMETERS,
  EXPORT_TYPES,
  exportDocuments,
  exportFormat,
  requireOwnOrder,
} from '../export/export.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { addRoots, limitObjects } from '../../history/access.ts';
import { textCondition } from '../../history/inventory-query/text-search.ts';
import { addParameters } from '../../history/parameters.ts';
import { countDocuments } from '../../history/totals.ts';
import { listReaders } from '../lists/readers.ts';
import { CHILD_FILTERS, addInventoryQuery, parentsOfChild } from './query.ts';
import { CHILD_PARAMETERS, managedObjectTexts } from './text.ts';
import { INVENTORY_READ } from '../../model/access/roles.ts';
import { reachOf } from '../lists/owner.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { flag, text } from '../request/schema/query-parameters.ts';
import { COUNT_TYPES, counted, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Count } from '../../model/schema/parts.ts';

const FILTERS = {
  ids: text('Ids, comma separated; unknown ones are left out, and an empty list has none'),
  type: text('Exact type'),
  fragmentType: text('Has this top-level property'),
  owner: text('Exact owner'),
  text: text('Some property is equal to or starts with this text'),
  query: text("Query language: $filter=(name eq 'a*' and has(c8y_IsDevice)) $orderby=name desc"),
  q: text('Query language, devices only'),
  childAssetId: text('Parents of this asset'),
  childDeviceId: text('Parents of this device'),
  childAdditionId: text('Parents of this addition'),
  onlyRoots: flag('Only objects without parents, or without such as the caller may read'),
};

interface ListFilter {
  readonly filter: HistoryFilter;
  /** SQL of the ORDER BY clause. */
  readonly order: string;
}

async function filterOf(request: ApiRequest): Promise<ListFilter> {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  let order = 'id';
  // A list of no ids asks for none: who makes it of an empty list does not want all.
  if (query.isGiven('ids')) {
    addParameters(filter, 'managed_objects', { ids: query.list('ids') });
    const ids = query.list('ids').filter(isEntityId).map(Number);
    if (ids.length > 0) order = `indexOf(${filter.bind('Array(UInt64)', ids)}, id)`;
  }
  // A query takes the place of the type (docs/spec/inventory.md#lists).
  for (const name of ['query', 'q']) {
    const text = query.text(name);
    if (text !== undefined) order = await addInventoryQuery(request, filter, text);
  }
  // Also without a condition.
  if (query.isGiven('q')) filter.fragment('c8y_IsDevice');
  addParameters(filter, 'managed_objects', {
    type: query.has('query') || query.has('q') ? undefined : query.text('type'),
    fragmentType: query.text('fragmentType'),
    owner: query.text('owner'),
  });
  const wanted = query.text('text');
  if (wanted !== undefined) filter.add(textCondition(wanted, filter));
  for (const name of Object.keys(CHILD_FILTERS))
    if (query.has(name)) filter.idIn('id', await parentsOfChild(request, name));
  if (query.isTrue('onlyRoots')) addRoots(filter, reachOf(request));
  limitObjects(filter, reachOf(request));
  return { filter, order };
}

/** @throws PlatformError `general/invalid-parameter`: see `requireOwnOrder`. */
function requireOwnQueryOrder(request: ApiRequest, order: string): void {
  const name = request.query.has('q') ? 'q' : 'query';
  const value = request.query.text(name);
  if (value !== undefined && order !== 'id') requireOwnOrder(request, { name, value });
}

const EXPORTED = ['type', 'name', 'owner', 'creationTime', 'lastUpdated'];

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const page = pageOf(request);
  const { filter, order } = await filterOf(request);
  const format = exportFormat(request);
  if (format !== undefined) {
    requireOwnQueryOrder(request, order);
    const toTexts = (rows: readonly DocumentRow[]): Promise<readonly string[]> => managedObjectTexts(request, rows);
    return exportDocuments(request, format, page, {
      table: 'managed_objects',
      filter,
      order,
      members: EXPORTED,
      toTexts,
    });
  }
  const { rows, total, isFull } = await documentPage(listReaders(request), 'managed_objects', filter, order, page);
  const items = await managedObjectTexts(request, rows);
  return found(
    'managedObjectCollection',
    collectionText(request, page, { name: 'managedObjects', items, total, isFull }),
  );
}

async function count(request: ApiRequest): Promise<Answer> {
  return counted(
    request,
    String(await countDocuments(listReaders(request), 'managed_objects', (await filterOf(request)).filter)),
  );
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
      query: { ...FILTERS, ...CHILD_PARAMETERS, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      produces: ['vendor', 'json', ...EXPORT_KINDS],
      answers: [
        {
          status: 200,
          description: 'A page of managed objects',
          mediaType: 'managedObjectCollection',
          contentTypes: EXPORT_TYPES,
        },
      ],
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
      answers: [{ status: 200, description: 'A number', contentTypes: COUNT_TYPES, json: Count, example: 3 }],
      handle: count,
    },
  ];
}
