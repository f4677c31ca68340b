/** Audit records (docs/spec/audit.md). They cannot be changed or deleted. */
import type { AuditCreate } from '../../actors/runtime/audit.ts';
import { AUDIT_ID_BIT } from '../../actors/runtime/context.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { APPLICATION_HEADERS, applicationOf } from '../request/application-key.ts';
import { limitSources } from '../../history/access.ts';
import { documentPage } from '../../history/page.ts';
import { addParameters } from '../../history/parameters.ts';
import { newDocument, requiredTime, sentSource } from '../../model/entities/body-rules.ts';
import { entityText, managedObjectUrl, quote, segment, sourceIdOf } from '../entities/text.ts';
import { EXPORT_KINDS, EXPORT_PARAMETERS, EXPORT_TYPES, exportDocuments, exportFormat } from '../export/export.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { isOwner, reachOf } from '../lists/owner.ts';
import { listReaders } from '../lists/readers.ts';
import { filterValues } from '../lists/selecting-filters.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { RANGE, REVERT, text } from '../request/schema/query-parameters.ts';
import { created, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const READ = ['ROLE_AUDIT_READ', 'ROLE_AUDIT_ADMIN'];
const ADMIN = ['ROLE_AUDIT_ADMIN'];
const FILTERS = {
  application: text('Name or key of the application'),
  source: text('Id of what it is about'),
  type: text('Exact type'),
  user: text('Name of the user'),
  ...RANGE,
};
/** Ids of the server's own records are up to 2^63. */
const AUDIT_ID = /^[1-9]\d{0,18}$/;
/** Beginnings of types in both spellings (docs/spec/conventions.md#spellings). */
const SPELLINGS = ['com_platform_model_', 'com_cumulocity_model_'];
/** Records of an alarm that its history shows, the latest ones. */
const HISTORY_MAX = 100;
const HISTORY_TYPES: Readonly<Record<string, string>> = {
  'Alarm raised': 'alarm_AlarmRaised',
  'Alarm updated': 'alarm_AlarmChanged',
};

/** Where the sources of records of a type are, undefined for nowhere; those of other types are managed objects. */
const SOURCES: Readonly<Record<string, ((tenant: string) => string) | undefined>> = {
  Alarm: () => '/alarm/alarms/',
  Application: () => '/application/applications/',
  BulkOperation: () => '/devicecontrol/bulkoperations/',
  Event: () => '/event/events/',
  Group: (tenant) => `/user/${segment(tenant)}/groups/`,
  InventoryRole: () => '/user/inventoryroles/',
  Operation: () => '/devicecontrol/operations/',
  Option: () => '/tenant/options/',
  // Rules and runs of retention, subscriptions and more.
  SYSTEM: undefined,
  Tenant: () => '/tenant/tenants/',
  TenantAuthConfig: () => '/tenant/loginOptions/',
  TrustedCertificates: undefined,
  User: (tenant) => `/user/${segment(tenant)}/users/`,
  UserAuthentication: (tenant) => `/user/${segment(tenant)}/users/`,
};

/** Types whose records are about something else than a managed object, whatever id it has. */
const NOT_OF_OBJECTS = Object.keys(SOURCES);

const auditUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}/audit/auditRecords/${segment(id)}`;

function sourceText(request: ApiRequest, type: string, id: string): string {
  const toUrl = (): string | undefined => {
    if (!Object.hasOwn(SOURCES, type)) return managedObjectUrl(request, id);
    const path = SOURCES[type]?.(request.principal.tenant);
    return path === undefined ? undefined : `${request.baseUrl}${path}${segment(id)}`;
  };
  const self = toUrl();
  return self === undefined ? `{"id":${quote(id)}}` : `{"id":${quote(id)},"self":${quote(self)}}`;
}

/** @param replaced members that take the place of stored ones. */
function auditText(
  request: ApiRequest,
  id: string,
  members: Members,
  replaced: readonly (readonly [string, string])[] = [],
): string {
  const source = sourceIdOf(members);
  const all = new Map(replaced);
  if (source !== '') all.set('source', sourceText(request, stringMember(members, 'type') ?? '', source));
  return entityText(auditUrl(request, id), id, members, all);
}

/**
 * The `history` of an alarm: its audit records, oldest first, with the types of docs/spec/audit.md#fields. Those that
 * clients have posted are not among them: a client could write them in the name of another user.
 */
export async function alarmHistoryText(request: ApiRequest, id: string): Promise<string> {
  const filter = addParameters(new HistoryFilter(request.tenant), 'audits', { source: id, type: 'Alarm' });
  filter.addOfKey(`id >= ${filter.bind('UInt64', String(AUDIT_ID_BIT))}`);
  const page = { size: HISTORY_MAX, current: 1, offset: 0, wantsTotal: false };
  const { rows } = await documentPage(listReaders(request), 'audits', filter, { isDescending: true }, page);
  const prefix = SPELLINGS[request.accept.isBranded ? 1 : 0];
  const records = [...rows].reverse().map(({ entityId, doc }) => {
    const members = splitMembers(doc);
    const name = HISTORY_TYPES[stringMember(members, 'activity') ?? ''];
    return auditText(request, entityId, members, name === undefined ? [] : [['type', quote(prefix + name)]]);
  });
  const self = `${request.baseUrl}/audit/auditRecords?source=${segment(id)}`;
  return `{"self":${quote(self)},"auditRecords":[${records.join(',')}]}`;
}

/** A type, in the other spelling too. */
function typesOf(type: string | undefined): string[] {
  if (type === undefined) return [];
  const prefix = SPELLINGS.find((candidate) => type.startsWith(candidate));
  return prefix === undefined ? [type] : SPELLINGS.map((spelling) => spelling + type.slice(prefix.length));
}

const EXPORTED = ['type', 'activity', 'text', 'time', 'user', 'application', 'severity', 'creationTime'];

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { query } = request;
  const page = pageOf(request);
  const filter = new HistoryFilter(request.tenant);
  addParameters(filter, 'audits', { ...filterValues(query, FILTERS), type: typesOf(query.text('type')) });
  if (!request.isPrivileged) {
    filter.add(`type NOT IN ${filter.bind('Array(String)', NOT_OF_OBJECTS)}`, 'type');
    limitSources(filter, reachOf(request), 'toUInt64OrZero(source)');
  }
  const order = { isDescending: !query.isTrue('revert') };
  const format = exportFormat(request);
  if (format !== undefined) {
    const toTexts = (rows: readonly DocumentRow[]): Promise<readonly string[]> =>
      Promise.resolve(rows.map(({ entityId, doc }) => auditText(request, entityId, splitMembers(doc))));
    return exportDocuments(request, format, page, { table: 'audits', filter, order, members: EXPORTED, toTexts });
  }
  const { rows, total, isFull } = await documentPage(listReaders(request), 'audits', filter, order, page);
  const items = rows.map(({ entityId, doc }) => auditText(request, entityId, splitMembers(doc)));
  return found('auditRecordCollection', collectionText(request, page, { name: 'auditRecords', items, total, isFull }));
}

async function load(request: ApiRequest): Promise<DocumentRow> {
  const { id } = request.params;
  if (AUDIT_ID.test(id) && BigInt(id) < 1n << 63n) {
    const filter = new HistoryFilter(request.tenant);
    filter.add(`id = ${filter.bind('UInt64', id)}`);
    const {
      rows: [row],
    } = await documentPage(listReaders(request), 'audits', filter, 'id', {
      size: 1,
      current: 1,
      offset: 0,
      wantsTotal: false,
    });
    if (row !== undefined) return row;
  }
  throw new PlatformError('audit/not-found', { id });
}

async function isOfOwnObject(request: ApiRequest, members: Members): Promise<boolean> {
  return (
    !NOT_OF_OBJECTS.includes(stringMember(members, 'type') ?? '') &&
    (await isOwner(request, sourceIdOf(members), members)) === true
  );
}

async function get(request: ApiRequest): Promise<Answer> {
  const { entityId, doc } = await load(request);
  const members = splitMembers(doc);
  if (!request.isPrivileged && !(await isOfOwnObject(request, members))) throw new PlatformError('security/forbidden');
  return found('auditRecord', auditText(request, entityId, members));
}

async function post(request: ApiRequest): Promise<Answer> {
  const members = new Map(request.members());
  requiredTime(members, 'audit');
  members.set('source', `{"id":${quote(sentSource(members))}}`);
  const { application } = applicationOf(request);
  if (application !== undefined && !members.has('application')) members.set('application', quote(application));
  const body: AuditCreate = {
    id: String(request.platform.ids.next()),
    doc: newDocument(members, 'audit'),
    user: request.principal.userName,
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.AUDIT_CREATE, TENANT_KEY, body);
  return created('auditRecord', auditText(request, body.id, splitMembers(doc)), auditUrl(request, body.id));
}

export function auditRoutes(): Route[] {
  const area = 'audit';
  const path = '/audit/auditRecords';
  return [
    {
      method: 'GET',
      path,
      area,
      access: 'owner',
      roles: READ,
      summary: 'List audit records, newest first',
      query: { ...FILTERS, ...REVERT, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      produces: ['vendor', 'json', ...EXPORT_KINDS],
      answers: [
        {
          status: 200,
          description: 'A page of audit records',
          mediaType: 'auditRecordCollection',
          contentTypes: EXPORT_TYPES,
        },
      ],
      handle: list,
    },
    {
      method: 'POST',
      path,
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Write an audit record',
      headers: APPLICATION_HEADERS,
      body: {
        schema: schemas.AuditRecord,
        mediaTypes: ['auditRecord'],
        example: {
          type: 'Inventory',
          activity: 'Firmware approved',
          text: 'The firmware 2.1 was approved',
          time: '2024-05-02T10:00:00.000Z',
          source: { id: '251' },
          severity: 'INFORMATION',
        },
      },
      answers: [{ status: 201, description: 'Written', mediaType: 'auditRecord' }],
      handle: post,
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      area,
      access: 'owner',
      roles: READ,
      summary: 'Read an audit record',
      answers: [{ status: 200, description: 'The audit record', mediaType: 'auditRecord' }],
      handle: get,
    },
  ];
}
