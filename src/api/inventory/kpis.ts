/** Entries of the data point library for one object (docs/spec/inventory.md#data-points). */
import { limitObjects } from '../../history/access.ts';
import { HistoryFilter } from '../../history/filter.ts';
import { measuredNames } from '../../history/measurements/rows.ts';
import { documentPage } from '../../history/page.ts';
import { listReaders } from '../lists/readers.ts';
import { loadManagedObject, reachOf } from '../lists/owner.ts';
import type { Answer } from '../request/answer.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { found } from '../request/reply.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { INVENTORY_READ } from '../../model/access/roles.ts';
import { requireReadable } from './managed-objects.ts';
import { CHILD_PARAMETERS, managedObjectTexts } from './text.ts';

/** Fragment of an entry: `fragment` and `series` say which data points it describes. */
const KPI_FRAGMENT = 'c8y_Kpi';

/** By id. Only those that the caller may read, as in other lists. */
async function list(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await requireReadable(request, await loadManagedObject(request, id));
  const page = pageOf(request);
  const series = await measuredNames(request.history, request.tenant, id, 'series');
  const filter = new HistoryFilter(request.tenant).fragment(KPI_FRAGMENT);
  const named = ['fragment', 'series'].map((member) => `JSONExtractString(doc, '${KPI_FRAGMENT}', '${member}')`);
  filter.add(`concat(${named.join(", '.', ")}) IN ${filter.bind('Array(String)', series)}`);
  limitObjects(filter, reachOf(request));
  const { rows, total, isFull } = await documentPage(listReaders(request), 'managed_objects', filter, 'id', page);
  const items = await managedObjectTexts(request, rows);
  return found(
    'managedObjectCollection',
    collectionText(request, page, { name: 'managedObjects', items, total, isFull }),
  );
}

export function kpiRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/inventory/managedObjects/{id}/kpis',
      area: 'inventory',
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Entries of the data point library (fragment c8y_Kpi) for the series that the object has',
      query: { ...CHILD_PARAMETERS, ...PAGE_PARAMETERS },
      answers: [{ status: 200, description: 'A page of entries', mediaType: 'managedObjectCollection' }],
      handle: list,
    },
  ];
}
