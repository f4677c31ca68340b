/** Alarms (document 1 Alarm and Alarms; document 4 sections 5.3 and 5.4). */
import Type from 'typebox';
import { ALARM_SEVERITIES, ALARM_STATUSES } from '../model/alarm.ts';
import { COMMAND } from '../model/command.ts';
import type { AlarmCreate, AlarmUpdate } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { joinMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { deleteData } from './data-delete.ts';
import { changedMembers, newDocument, requiredTime, sentSource } from './entity-changes.ts';
import { isEntityId } from './entity-id.ts';
import { entityText, namedSources, quote, segment, sourceIdOf } from './entity-text.ts';
import { sourcesOf } from './hierarchy.ts';
import { HistoryFilter, countDocuments, queryDocuments, totalOf } from './history-filter.ts';
import { JSON_TYPE } from './media-types.ts';
import { isOwner, requireOwner } from './owner.ts';
import { PAGE_PARAMETERS, PAGE_SIZE_MAX, collectionText, pageOf } from './paging.ts';
import type { Page } from './paging.ts';
import { CREATED, HIERARCHY, LAST_UPDATED, RANGE, REVERT, SOURCE, flag, list as listParameter } from './query-parameters.ts';
import { created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import * as schemas from './schemas.ts';

const READ = ['ROLE_ALARM_READ'];
const ADMIN = ['ROLE_ALARM_ADMIN'];
const FIXED = [
  'id',
  'source',
  'type',
  'time',
  'creationTime',
  'lastUpdated',
  'count',
  'firstOccurrenceTime',
  'firstOccurenceTime',
  'history',
];
const FILTERS = {
  ...SOURCE,
  ...HIERARCHY,
  status: listParameter(Type.Enum([...ALARM_STATUSES]), 'Statuses, comma separated'),
  severity: listParameter(Type.Enum([...ALARM_SEVERITIES]), 'Severities, comma separated'),
  type: listParameter(Type.String(), 'Types, comma separated'),
  resolved: flag('true: CLEARED; false: ACTIVE and ACKNOWLEDGED; wins over status'),
  ...RANGE,
  ...CREATED,
  ...LAST_UPDATED,
};
const FILTER_NAMES = Object.keys(FILTERS);
/** Updates of a bulk change that are under way at once. */
const BULK_CONCURRENCY = 64;

/** Types are keys of the open alarms. */
export const ALARM_TYPE_BYTES_MAX = 1000;
/** Characters of a refused type that its answer repeats. */
const SHOWN_TYPE_LENGTH_MAX = 100;

const alarmUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}/alarm/alarms/${segment(id)}`;

async function alarmTexts(
  request: ApiRequest,
  documents: readonly { readonly entityId: string; readonly doc: string }[],
  withHistory = false,
): Promise<string[]> {
  const alarms = documents.map(({ entityId, doc }) => ({ entityId, members: splitMembers(doc) }));
  const sources = await namedSources(
    request,
    alarms.map(({ members }) => sourceIdOf(members)),
  );
  return alarms.map(({ entityId, members }) => {
    const source = sourceIdOf(members);
    const replaced = new Map([['source', sources.get(source) ?? '{}']]);
    if (withHistory) {
      const self = `${request.baseUrl}/audit/auditRecords?source=${segment(source)}`;
      replaced.set('history', `{"self":${quote(self)},"auditRecords":[]}`);
    }
    return entityText(alarmUrl(request, entityId), entityId, members, replaced);
  });
}

async function load(request: ApiRequest): Promise<Members> {
  const { id } = request.params;
  const doc = isEntityId(id) ? await request.platform.documents.get('alarm', request.tenant, id) : undefined;
  if (doc === undefined) throw new PlatformError('alarm/not-found', { id });
  return splitMembers(doc);
}

/** @throws PlatformError `validation/invalid-field` for a type that no key has room for. */
function requiredType(members: Members): string {
  const type = stringMember(members, 'type') ?? '';
  if (Buffer.byteLength(type) <= ALARM_TYPE_BYTES_MAX) return type;
  throw new PlatformError('validation/invalid-field', {
    area: 'alarm',
    name: 'type',
    value: `${type.slice(0, SHOWN_TYPE_LENGTH_MAX)}…`,
    limit: `at most ${ALARM_TYPE_BYTES_MAX} bytes`,
  });
}

async function post(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const time = requiredTime(members, 'alarm');
  const source = sentSource(members);
  if (!isEntityId(source)) throw new PlatformError('source/not-found', { area: 'alarm', id: source });
  await requireOwner(request, source);
  const body: AlarmCreate = {
    id: String(request.platform.ids.next()),
    type: requiredType(members),
    time,
    severity: stringMember(members, 'severity') ?? '',
    status: stringMember(members, 'status') ?? 'ACTIVE',
    doc: newDocument(members, 'alarm', ['count', 'firstOccurrenceTime', 'firstOccurenceTime', 'history']),
    user: request.principal.userName,
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.ALARM_CREATE, Number(source), body);
  // A repeat answers with the alarm that is open already.
  const id = stringMember(splitMembers(doc), 'id') ?? 'null';
  const [answer] = await alarmTexts(request, [{ entityId: id, doc }]);
  return created('alarm', answer, alarmUrl(request, id));
}

async function filterOf(request: ApiRequest): Promise<HistoryFilter> {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  const sources = await sourcesOf(request);
  if (sources !== undefined) filter.idIn('source', sources);
  const statuses = query.isTrue('resolved') ? ['CLEARED'] : query.isFalse('resolved') ? ['ACTIVE', 'ACKNOWLEDGED'] : query.list('status');
  return filter
    .textIn('status', statuses)
    .textIn('severity', query.list('severity'))
    .textIn('type', query.list('type'))
    .time('time', query.time('dateFrom'), query.time('dateTo'))
    .time('creation_time', query.time('createdFrom'), query.time('createdTo'))
    .time('last_updated', query.time('lastUpdatedFrom'), query.time('lastUpdatedTo'))
    .ownedSources(request, 'source');
}

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const filter = await filterOf(request);
  const total = await totalOf(request, 'alarms', filter, page);
  const order = request.query.isTrue('revert') ? 'time, id' : 'time DESC, id DESC';
  const items = await alarmTexts(request, await queryDocuments(request, 'alarms', filter, order, page));
  return found('alarmCollection', collectionText(request, page, { name: 'alarms', items, total }));
}

async function count(request: ApiRequest): Promise<Answer> {
  return { status: 200, contentType: JSON_TYPE, text: String(await countDocuments(request, 'alarms', await filterOf(request))) };
}

async function get(request: ApiRequest): Promise<Answer> {
  const members = await load(request);
  if (!request.isPrivileged && (await isOwner(request, sourceIdOf(members))) !== true) throw new PlatformError('security/forbidden');
  const [answer] = await alarmTexts(request, [{ entityId: request.params['id'], doc: joinMembers(members) }], true);
  return found('alarm', answer);
}

async function put(request: ApiRequest): Promise<Answer> {
  const stored = await load(request);
  const source = sourceIdOf(stored);
  await requireOwner(request, source);
  const changes = changedMembers(request.members(), stored, 'alarm', FIXED);
  const body: AlarmUpdate = { id: request.params['id'], doc: joinMembers(changes), user: request.principal.userName };
  const { doc } = await request.command<{ doc: string }>(COMMAND.ALARM_UPDATE, Number(source), body);
  const [answer] = await alarmTexts(request, [{ entityId: body.id, doc }]);
  return found('alarm', answer);
}

/** Changes the status of all alarms that match, page by page in the order of their ids. */
async function putAll(request: ApiRequest): Promise<Answer> {
  if (!FILTER_NAMES.some((name) => request.query.has(name))) {
    throw new PlatformError('general/invalid-parameter', { name: 'query', value: '', limit: 'at least one filter' });
  }
  const doc = `{"status":${request.members().get('status') ?? ''}}`;
  const user = request.principal.userName;
  for (let after = 0; ; ) {
    const filter = await filterOf(request);
    filter.add(`id > ${filter.bind('UInt64', after)}`);
    const page: Page = { size: PAGE_SIZE_MAX, current: 1, offset: 0, wantsTotal: false };
    const rows = await queryDocuments(request, 'alarms', filter, 'id', page);
    for (let start = 0; start < rows.length; start += BULK_CONCURRENCY) {
      await Promise.all(
        rows.slice(start, start + BULK_CONCURRENCY).map((row) => {
          const body: AlarmUpdate = { id: row.entityId, doc, user };
          return request.command(COMMAND.ALARM_UPDATE, Number(sourceIdOf(splitMembers(row.doc))), body).catch(ignoreMissing);
        }),
      );
    }
    if (rows.length < PAGE_SIZE_MAX) return { status: 200, text: '' };
    after = Number(rows[rows.length - 1].entityId);
  }
}

/** An alarm that was deleted meanwhile needs no change. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof PlatformError) || error.code !== 'alarm/not-found') throw error;
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
      body: {
        schema: schemas.Alarm,
        mediaTypes: ['alarm'],
        example: { source: { id: '251' }, type: 'c8y_Overheat', time: '2024-05-02T10:00:00.000Z', text: 'Too hot', severity: 'MAJOR' },
      },
      answers: [{ status: 201, description: 'Created or counted', mediaType: 'alarm' }],
      handle: post,
    },
    {
      method: 'GET',
      path: '/alarm/alarms',
      area,
      access: 'owner',
      roles: READ,
      summary: 'List alarms, newest first',
      query: { ...FILTERS, ...REVERT, ...PAGE_PARAMETERS },
      answers: [{ status: 200, description: 'A page of alarms', mediaType: 'alarmCollection' }],
      handle: list,
    },
    {
      method: 'PUT',
      path: '/alarm/alarms',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Change the status of all alarms that match',
      query: FILTERS,
      body: { schema: schemas.AlarmStatusChange, mediaTypes: ['alarm'], example: { status: 'CLEARED' } },
      answers: [{ status: 200, description: 'Changed' }],
      handle: putAll,
    },
    {
      method: 'DELETE',
      path: '/alarm/alarms',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete alarms by filters',
      query: FILTERS,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: (request) => deleteData(request, 'alarms', FILTER_NAMES, 'ROLE_ALARM_ADMIN'),
    },
    {
      method: 'GET',
      path: '/alarm/alarms/count',
      area,
      access: 'owner',
      roles: READ,
      summary: 'Count alarms',
      query: FILTERS,
      produces: ['vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A number', contentTypes: ['application/json'] }],
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
      body: { schema: schemas.AlarmUpdate, mediaTypes: ['alarm'], example: { status: 'ACKNOWLEDGED' } },
      answers: one,
      handle: put,
    },
  ];
}
