/** Events (docs/spec/events.md). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { EntityDelete } from '../../model/commands/deletion.ts';
import type { EntityUpdate, EventCreate } from '../../model/commands/entities.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, splitMembers } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { ApiRequest } from '../request/request.ts';
import { loadDocument } from '../entities/load.ts';
import { deleteData } from '../lists/data-delete.ts';
import { documentPage } from '../../history/page.ts';
import { addParameters } from '../../history/parameters.ts';
import { addSources } from '../../history/objects-below.ts';
import { limitSources } from '../../history/access.ts';
import { listReaders } from '../lists/readers.ts';
import { filterValues } from '../lists/selecting-filters.ts';
import { countText } from '../lists/totals.ts';
import { eventChange, newEvent } from '../../model/entities/event.ts';
import { EXPORT_KINDS, EXPORT_PARAMETERS, EXPORT_TYPES, exportDocuments, exportFormat } from '../export/export.ts';
import {
  UNSTORED,
  dataTexts,
  namedSources,
  segment,
  sourceIdOf,
  unstoredText,
  type ViewRequest,
} from '../entities/text.ts';
import { sourceSelection } from '../lists/hierarchy.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { isOwner, reachOf, requireAnyReach, requireOwner } from '../lists/owner.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { CREATED, HIERARCHY, LAST_UPDATED, RANGE, REVERT, SOURCE, text } from '../request/schema/query-parameters.ts';
import { COUNT_TYPES, NO_CONTENT, counted, created, found, notStored } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Count } from '../../model/schema/parts.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

const READ = ['ROLE_EVENT_READ'];
const ADMIN = ['ROLE_EVENT_ADMIN'];
const OWN_FILTERS = {
  type: text('Exact type'),
  fragmentType: text('Has this top-level property'),
  fragmentValue: text('With fragmentType: its value is this text'),
  ...RANGE,
  ...CREATED,
  ...LAST_UPDATED,
};
const FILTERS = { ...SOURCE, ...HIERARCHY, ...OWN_FILTERS };

const eventUrl = (request: Pick<ViewRequest, 'baseUrl'>, id: string): string =>
  `${request.baseUrl}/event/events/${segment(id)}`;

/**
 * JSON texts of events, with links and the names of their sources. @param documents as stored. @throws PlatformError
 * `general/page-too-large`.
 */
export const eventTexts = (
  request: ViewRequest,
  documents: readonly { readonly entityId: string; readonly doc: string }[],
): Promise<string[]> => dataTexts(request, documents, (id) => eventUrl(request, id));

/** Links and name of the one source. */
async function namedSource(request: ApiRequest, members: Members): Promise<ReadonlyMap<string, string>> {
  const source = sourceIdOf(members);
  const sources = await namedSources(request, [source]);
  return new Map([['source', sources.get(source) ?? '{}']]);
}

const load = async (request: ApiRequest): Promise<Members> =>
  splitMembers(await loadDocument(request, 'event', request.params['id'], 'event/not-found'));

async function post(request: ApiRequest): Promise<Answer> {
  const { source, ...event } = newEvent(request.members());
  await requireOwner(request, source);
  const body: EventCreate = {
    id: String(request.platform.ids.nextBeside(request.tenant, Number(source))),
    ...event,
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.EVENT_CREATE, Number(source), body);
  if (!isStored(request.mode)) {
    const sent = splitMembers(doc);
    return notStored('event', unstoredText(sent, await namedSource(request, sent)));
  }
  const [answer] = request.wantsBody ? await eventTexts(request, [{ entityId: body.id, doc }]) : [''];
  return created('event', answer, eventUrl(request, body.id));
}

/** @throws PlatformError `general/invalid-parameter`: without the fragment a filter would be passed over. */
function requireFragmentOfValue({ query }: ApiRequest): void {
  const value = query.text('fragmentValue');
  if (value === undefined || query.has('fragmentType')) return;
  throw new PlatformError('general/invalid-parameter', {
    name: 'fragmentValue',
    value,
    limit: 'a value only together with fragmentType',
  });
}

async function filterOf(request: ApiRequest): Promise<HistoryFilter> {
  requireFragmentOfValue(request);
  const filter = new HistoryFilter(request.tenant);
  addSources(filter, await sourceSelection(request));
  addParameters(filter, 'events', filterValues(request.query, OWN_FILTERS));
  limitSources(filter, reachOf(request));
  return filter;
}

const EXPORTED = ['type', 'time', 'text', 'creationTime', 'lastUpdated'];

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const page = pageOf(request);
  await requireAnyReach(request, [request.query.text('source')]);
  const filter = await filterOf(request);
  const { query } = request;
  // Only ranges are reverted (docs/spec/events.md#lists).
  const isReverted = query.isTrue('revert') && (query.has('dateFrom') || query.has('dateTo'));
  const order = { isDescending: !isReverted };
  const format = exportFormat(request);
  if (format !== undefined) {
    const toTexts = (rows: readonly DocumentRow[]): Promise<string[]> => eventTexts(request, rows);
    return exportDocuments(request, format, page, { table: 'events', filter, order, members: EXPORTED, toTexts });
  }
  const { rows, total, isFull } = await documentPage(listReaders(request), 'events', filter, order, page);
  const items = await eventTexts(request, rows);
  return found('eventCollection', collectionText(request, page, { name: 'events', items, total, isFull }));
}

async function count(request: ApiRequest): Promise<Answer> {
  return counted(request, await countText(request, 'events', await filterOf(request)));
}

async function get(request: ApiRequest): Promise<Answer> {
  const members = await load(request);
  if (!request.isPrivileged && (await isOwner(request, sourceIdOf(members), members)) !== true)
    throw new PlatformError('security/forbidden');
  const [answer] = await eventTexts(request, [{ entityId: request.params['id'], doc: joinMembers(members) }]);
  return found('event', answer);
}

async function put(request: ApiRequest): Promise<Answer> {
  const stored = await load(request);
  const source = sourceIdOf(stored);
  await requireOwner(request, source, stored);
  const body: EntityUpdate = { id: request.params['id'], doc: eventChange(request.members(), stored) };
  const { doc } = await request.command<{ doc: string }>(COMMAND.EVENT_UPDATE, Number(source), body);
  const [answer] = await eventTexts(request, [{ entityId: body.id, doc }]);
  return found('event', answer);
}

async function remove(request: ApiRequest): Promise<Answer> {
  const stored = await load(request);
  const source = sourceIdOf(stored);
  await requireOwner(request, source, stored);
  const body: EntityDelete = { id: request.params['id'] };
  await request.command(COMMAND.EVENT_DELETE, Number(source), body);
  return NO_CONTENT;
}

function removeAll(request: ApiRequest): Promise<Answer> {
  requireFragmentOfValue(request);
  return deleteData(request, 'events', FILTERS, 'ROLE_EVENT_ADMIN');
}

export function eventRoutes(): Route[] {
  const area = 'event';
  const one = [{ status: 200, description: 'The event', mediaType: 'event' }];
  return [
    {
      method: 'POST',
      path: '/event/events',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Create an event',
      body: {
        schema: schemas.Event,
        mediaTypes: ['event'],
        example: { source: { id: '251' }, type: 'c8y_DoorOpen', time: '2024-05-02T10:00:00.000Z', text: 'Door open' },
      },
      answers: [{ status: 201, description: `Created; ${UNSTORED}`, mediaType: 'event', schema: 'writtenEvent' }],
      handle: post,
    },
    {
      method: 'GET',
      path: '/event/events',
      area,
      access: 'owner',
      roles: READ,
      summary: 'List events, newest first',
      query: { ...FILTERS, ...REVERT, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      produces: ['vendor', 'json', ...EXPORT_KINDS],
      answers: [
        { status: 200, description: 'A page of events', mediaType: 'eventCollection', contentTypes: EXPORT_TYPES },
      ],
      handle: list,
    },
    {
      method: 'DELETE',
      path: '/event/events',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete events by filters',
      changesAllThatMatch: true,
      query: FILTERS,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: removeAll,
    },
    {
      method: 'GET',
      path: '/event/events/count',
      area,
      access: 'owner',
      roles: READ,
      summary: 'Count events',
      query: FILTERS,
      produces: ['vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A number', contentTypes: COUNT_TYPES, json: Count, example: 3 }],
      handle: count,
    },
    {
      method: 'GET',
      path: '/event/events/{id}',
      area,
      access: 'owner',
      roles: READ,
      summary: 'Read an event',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: '/event/events/{id}',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Change text and fragments of an event',
      body: { schema: schemas.EventUpdate, mediaTypes: ['event'], example: { text: 'Door closed' } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: '/event/events/{id}',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Delete an event',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
