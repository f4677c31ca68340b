/** Alarms (docs/spec/alarms.md). */
import { alarmChange, newAlarm } from '../../model/entities/alarm.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { AlarmCreate, AlarmUpdate } from '../../model/commands/entities.ts';
import type { PrefixBound } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, memberText, splitMembers, stringMember, stringOf } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isAlarmStored } from '../../model/commands/processing-mode.ts';
import { ALARM_FILTERS, alarmSelection } from './selection.ts';
import { BULK_CHANGES_MAX, BULK_CHANGE_PREFIX, alarmFilter } from '../../history/alarm-selection.ts';
import type { BulkAlarmChange } from '../../history/alarm-selection.ts';
import { alarmQueryText } from '../../history/inventory-query/list.ts';
import { limitSources, ownsObjects } from '../../history/access.ts';
import { requireShort } from '../lists/query-length.ts';
import { listReaders } from '../lists/readers.ts';
import type { ApiRequest } from '../request/request.ts';
import { loadDocument } from '../entities/load.ts';
import { APPLICATION_HEADERS, applicationOf } from '../request/application-key.ts';
import { alarmHistoryText } from '../audits/audits.ts';
import { deleteData } from '../lists/data-delete.ts';
import { documentPage } from '../../history/page.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import {
  UNSTORED,
  dataTexts,
  namedSources,
  segment,
  sourceIdOf,
  unstoredText,
  type ViewRequest,
} from '../entities/text.ts';
import {
  EXPORT_KINDS,
  EXPORT_PARAMETERS,
  EXPORT_TYPES,
  exportDocuments,
  exportFormat,
  requireOwnOrder,
} from '../export/export.ts';
import { countText } from '../lists/totals.ts';
import type { DocumentRow, HistoryFilter } from '../../history/filter.ts';
import { accessOf, isOwner, reachOf, requireAnyReach, requireOwner } from '../lists/owner.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { REVERT, text } from '../request/schema/query-parameters.ts';
import { addJob } from '../../records/jobs.ts';
import { recordPorts } from '../request/record-ports.ts';
import { COUNT_TYPES, counted, created, found, notStored } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Count } from '../../model/schema/parts.ts';
import * as schemas from '../../model/entities/body-schemas.ts';
import { selectingFilters } from '../lists/selecting-filters.ts';

const READ = ['ROLE_ALARM_READ'];
const ADMIN = ['ROLE_ALARM_ADMIN'];
/** By the server's clock: `lastUpdatedFrom` of the change that takes this one back. */
const REQUESTED_AT = 'X-Millrace-Requested-At';
/**
 * A change of many alarms is waited for this long; then it goes on behind the answer
 * (docs/spec/alarms.md#changes-of-many).
 */
const BULK_WAIT_MS = 500;
const BULK_POLL_MS = 10;
/** Changes of many under way in a tenant. */
const BULK_BOUND: PrefixBound = {
  collection: 'job',
  prefix: BULK_CHANGE_PREFIX,
  maximum: BULK_CHANGES_MAX,
  limit: 'alarms/bulk-changes',
  error: 'general/busy',
};

const alarmUrl = (request: Pick<ViewRequest, 'baseUrl'>, id: string): string =>
  `${request.baseUrl}/alarm/alarms/${segment(id)}`;

/** @param documents as stored. @throws PlatformError `general/page-too-large`. */
export const alarmTexts = (
  request: ViewRequest,
  documents: readonly { readonly entityId: string; readonly doc: string }[],
  history?: string,
): Promise<string[]> =>
  dataTexts(
    request,
    documents,
    (id) => alarmUrl(request, id),
    history === undefined ? undefined : new Map([['history', history]]),
  );

const load = async (request: ApiRequest): Promise<Members> =>
  splitMembers(await loadDocument(request, 'alarm', request.params['id'], 'alarm/not-found'));

async function post(request: ApiRequest): Promise<Answer> {
  const { source, ...alarm } = newAlarm(request.members());
  await requireOwner(request, source);
  const body: AlarmCreate = {
    id: String(request.platform.ids.nextBeside(request.tenant, Number(source))),
    ...alarm,
    user: request.principal.userName,
    ...applicationOf(request),
  };
  const { doc, isSuppressed } = await request.command<{ doc: string; isSuppressed?: boolean }>(
    COMMAND.ALARM_CREATE,
    Number(source),
    body,
  );
  if (isSuppressed === true || !isAlarmStored(request.mode))
    return unstored(request, source, splitMembers(doc), isSuppressed === true);
  // A repeat answers with the alarm that is open already.
  const id = stringOf(memberText(doc, 'id')) ?? 'null';
  const [answer] = request.wantsBody ? await alarmTexts(request, [{ entityId: id, doc }]) : [''];
  return created('alarm', answer, alarmUrl(request, id));
}

/** Of a suppressed alarm the link says that there is none (docs/spec/availability.md#maintenance). */
async function unstored(request: ApiRequest, source: string, members: Members, isSuppressed: boolean): Promise<Answer> {
  const sources = await namedSources(request, [source]);
  const replaced = new Map([['source', sources.get(source) ?? '{}']]);
  const text = unstoredText(members, replaced);
  return notStored(
    'alarm',
    isSuppressed ? `{"self":${JSON.stringify(alarmUrl(request, 'null'))},${text.slice(1)}` : text,
  );
}

/** Of lists and counts; changes of many and deletions take no `query`. */
const QUERY = { query: text("Query language: $filter=(status eq 'ACTIVE') $orderby=severity asc,time.date desc") };

/** What the request selects, and the SQL of the order that its query asks for. */
async function filterOf(request: ApiRequest): Promise<{ filter: HistoryFilter; order: string | undefined }> {
  const filter = alarmFilter(request.tenant, await alarmSelection(request));
  limitSources(filter, reachOf(request));
  const query = request.query.text('query');
  if (query === undefined) return { filter, order: undefined };
  const { condition, order } = alarmQueryText(query, filter);
  requireShort(request, (condition ?? '').length + (order ?? '').length);
  if (condition !== undefined) filter.add(condition);
  return { filter, order };
}

const EXPORTED = ['type', 'time', 'text', 'status', 'severity', 'count', 'creationTime', 'lastUpdated'];

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const page = pageOf(request);
  await requireAnyReach(request, [request.query.text('source')]);
  const { filter, order: asked } = await filterOf(request);
  const order = asked ?? { isDescending: !request.query.isTrue('revert') };
  const format = exportFormat(request);
  if (format !== undefined) {
    if (asked !== undefined) requireOwnOrder(request, { name: 'query', value: request.query.text('query') ?? '' });
    const toTexts = (rows: readonly DocumentRow[]): Promise<readonly string[]> => alarmTexts(request, rows);
    return exportDocuments(request, format, page, { table: 'alarms', filter, order, members: EXPORTED, toTexts });
  }
  const { rows, total, isFull } = await documentPage(listReaders(request), 'alarms', filter, order, page);
  const items = await alarmTexts(request, rows);
  return found('alarmCollection', collectionText(request, page, { name: 'alarms', items, total, isFull }));
}

async function count(request: ApiRequest): Promise<Answer> {
  return counted(request, await countText(request, 'alarms', (await filterOf(request)).filter));
}

async function get(request: ApiRequest): Promise<Answer> {
  const members = await load(request);
  if (!request.isPrivileged && (await isOwner(request, sourceIdOf(members), members)) !== true)
    throw new PlatformError('security/forbidden');
  const { id } = request.params;
  const [answer] = await alarmTexts(
    request,
    [{ entityId: id, doc: joinMembers(members) }],
    await alarmHistoryText(request, id),
  );
  return found('alarm', answer);
}

async function put(request: ApiRequest): Promise<Answer> {
  const stored = await load(request);
  const source = sourceIdOf(stored);
  await requireOwner(request, source, stored);
  const body: AlarmUpdate = {
    id: request.params['id'],
    doc: alarmChange(request.members(), stored),
    user: request.principal.userName,
    ...applicationOf(request),
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.ALARM_UPDATE, Number(source), body);
  const [answer] = await alarmTexts(request, [{ entityId: body.id, doc }]);
  return found('alarm', answer);
}

/**
 * Changes the status of all alarms that match. The owner, and who may administrate alarms by an inventory role, only
 * changes those of what he may reach, as he sees those alone in a list (docs/spec/alarms.md#changes-of-many).
 * @throws PlatformError 403 for whom neither a global nor an inventory role allows it, and who owns nothing.
 */
async function putAll(request: ApiRequest): Promise<Answer> {
  const { platform, tenant, principal } = request;
  if (
    !request.isPrivileged &&
    accessOf(request).grants.length === 0 &&
    !(await ownsObjects(platform.history, tenant, principal.userName))
  )
    throw new PlatformError('security/forbidden');
  if (selectingFilters(request.query, ALARM_FILTERS).length === 0) {
    throw new PlatformError('general/invalid-parameter', { name: 'query', value: '', limit: 'at least one filter' });
  }
  const change: Omit<BulkAlarmChange, 'seq'> = {
    status: stringMember(request.members(), 'status') ?? '',
    selection: { ...(await alarmSelection(request)), ...(request.isPrivileged ? {} : { access: accessOf(request) }) },
    user: request.principal.userName,
    ...applicationOf(request),
    requestedAt: platform.now(),
    after: 0,
  };
  const id = `${BULK_CHANGE_PREFIX}${String(await platform.ids.nextInOrder()).padStart(16, '0')}`;
  await addJob(recordPorts(request), tenant, id, change, BULK_BOUND);
  const headers = [REQUESTED_AT, formatTime(change.requestedAt)];
  for (let waitedMs = 0; waitedMs < BULK_WAIT_MS; waitedMs += BULK_POLL_MS) {
    if ((await platform.documents.get('job', tenant, id)) === undefined) return { status: 200, text: '', headers };
    await new Promise((resolve) => {
      setTimeout(resolve, BULK_POLL_MS);
    });
  }
  return { status: 202, text: '', headers };
}

export function alarmRoutes(): Route[] {
  const area = 'alarm';
  const one = [{ status: 200, description: 'The alarm', mediaType: 'alarm' }];
  return [
    {
      method: 'POST',
      path: '/alarm/alarms',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Create an alarm, or count a repeat of an open one',
      headers: APPLICATION_HEADERS,
      body: {
        schema: schemas.Alarm,
        mediaTypes: ['alarm'],
        example: {
          source: { id: '251' },
          type: 'c8y_Overheat',
          time: '2024-05-02T10:00:00.000Z',
          text: 'Too hot',
          severity: 'MAJOR',
        },
      },
      answers: [
        { status: 201, description: `Created or counted; ${UNSTORED}`, mediaType: 'alarm', schema: 'writtenAlarm' },
      ],
      handle: post,
    },
    {
      method: 'GET',
      path: '/alarm/alarms',
      area,
      access: 'owner',
      roles: READ,
      summary: 'List alarms, newest first',
      query: { ...ALARM_FILTERS, ...QUERY, ...REVERT, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      produces: ['vendor', 'json', ...EXPORT_KINDS],
      answers: [
        { status: 200, description: 'A page of alarms', mediaType: 'alarmCollection', contentTypes: EXPORT_TYPES },
      ],
      handle: list,
    },
    {
      method: 'PUT',
      path: '/alarm/alarms',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Change the status of all alarms that match',
      changesAllThatMatch: true,
      headers: APPLICATION_HEADERS,
      query: ALARM_FILTERS,
      body: { schema: schemas.AlarmStatusChange, mediaTypes: ['alarm'], example: { status: 'CLEARED' } },
      answers: [
        { status: 200, description: `Changed; ${REQUESTED_AT} has the time of the request` },
        { status: 202, description: `Being changed; ${REQUESTED_AT} has the time of the request` },
      ],
      handle: putAll,
    },
    {
      method: 'DELETE',
      path: '/alarm/alarms',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete alarms by filters',
      changesAllThatMatch: true,
      query: ALARM_FILTERS,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: (request) => deleteData(request, 'alarms', ALARM_FILTERS, 'ROLE_ALARM_ADMIN'),
    },
    {
      method: 'GET',
      path: '/alarm/alarms/count',
      area,
      access: 'owner',
      roles: READ,
      summary: 'Count alarms',
      query: { ...ALARM_FILTERS, ...QUERY },
      produces: ['vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A number', contentTypes: COUNT_TYPES, json: Count, example: 3 }],
      handle: count,
    },
    {
      method: 'GET',
      path: '/alarm/alarms/{id}',
      area,
      access: 'owner',
      roles: READ,
      summary: 'Read an alarm with its history',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: '/alarm/alarms/{id}',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Change status, severity, text or fragments',
      headers: APPLICATION_HEADERS,
      body: { schema: schemas.AlarmUpdate, mediaTypes: ['alarm'], example: { status: 'ACKNOWLEDGED' } },
      answers: one,
      handle: put,
    },
  ];
}
