/** Operations of devices (docs/spec/operations.md). */
import Type from 'typebox';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { OperationCreate, OperationUpdate } from '../../model/commands/entities.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { OPERATION_STATUSES, newOperation, operationChange } from '../../model/entities/operation.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ApiRequest } from '../request/request.ts';
import { loadDocument } from '../entities/load.ts';
import { APPLICATION_HEADERS, applicationOf } from '../request/application-key.ts';
import { deleteData } from '../lists/data-delete.ts';
import { limitSources } from '../../history/access.ts';
import { documentPage } from '../../history/page.ts';
import { addParameters } from '../../history/parameters.ts';
import { softwareListInPlace, withSoftwareList } from '../../model/entities/software-in-place.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { idText, isEntityId } from '../../model/entities/entity-id.ts';
import { UNSTORED, entityText, quote, segment, unstoredText, type ViewRequest } from '../entities/text.ts';
import { EXPORT_KINDS, EXPORT_PARAMETERS, EXPORT_TYPES, exportDocuments, exportFormat } from '../export/export.ts';
import { addDevicesOfAgent } from '../lists/hierarchy.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { externalIdsOf } from '../identity/identity.ts';
import { isOwner, reachOf, requireAnyReach, requireOwner } from '../lists/owner.ts';
import { listReaders } from '../lists/readers.ts';
import { filterValues } from '../lists/selecting-filters.ts';
import { PageBudget, textsWithin } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { RANGE, REVERT, text } from '../request/schema/query-parameters.ts';
import { created, found, notStored } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

const READ = ['ROLE_DEVICE_CONTROL_READ'];
const ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const AREA = 'devicecontrol';
const OWN_FILTERS = {
  deviceId: text('Exact device'),
  status: { schema: Type.Enum([...OPERATION_STATUSES]), description: 'Status' },
  fragmentType: text('Has this fragment'),
  bulkOperationId: text('Created by this bulk operation'),
  ...RANGE,
};
const FILTERS = { agentId: text('Operations of the agent and its child devices'), ...OWN_FILTERS };

/** Devices whose external IDs are read at once. */
const DEVICES_AT_ONCE = 100;

const operationUrl = (request: ViewRequest, id: string): string =>
  `${request.baseUrl}/devicecontrol/operations/${segment(id)}`;
const deviceOf = (members: Members): string => idText(members.get('deviceId'));

/** @param documents as stored. @throws PlatformError `general/page-too-large`. */
export async function operationTexts(
  request: ViewRequest,
  documents: readonly { readonly entityId: string; readonly doc: string }[],
): Promise<string[]> {
  const operations = documents.map(({ entityId, doc }) => ({ entityId, members: splitMembers(doc) }));
  const devices = [...new Set(operations.map(({ members }) => deviceOf(members)))];
  const objects = await request.platform.documents.getMany('managedObject', request.tenant, devices);
  const names = new Map(
    devices.map((device, index) => {
      const object = objects[index];
      return [device, object === undefined ? undefined : stringMember(splitMembers(object), 'name')];
    }),
  );
  const externalIds = new Map<string, string>();
  const budget = new PageBudget(request);
  for (let from = 0; from < devices.length; from += DEVICES_AT_ONCE) {
    const some = devices.slice(from, from + DEVICES_AT_ONCE);
    const texts = await Promise.all(some.map((device) => externalIdsOf(request, device)));
    texts.forEach((text, index) => {
      budget.take(text.length);
      externalIds.set(some[index], text);
    });
  }
  return textsWithin(request, operations, ({ entityId, members }) => {
    const device = deviceOf(members);
    const replaced = new Map<string, string>();
    const name = names.get(device);
    if (name !== undefined) replaced.set('deviceName', quote(name));
    const ids = externalIds.get(device);
    if (ids !== undefined) replaced.set('deviceExternalIDs', ids);
    return entityText(operationUrl(request, entityId), entityId, members, replaced);
  });
}

/**
 * As the caller gets them: a device's user sees what the device is to do (docs/spec/software.md#operations).
 * @throws PlatformError `general/page-too-large`.
 */
async function shownTexts(request: ApiRequest, documents: Parameters<typeof operationTexts>[1]): Promise<string[]> {
  const { ownRoles, userName } = request.principal;
  if (ownRoles === undefined && !isDeviceUser(userName)) return operationTexts(request, documents);
  const budget = new PageBudget(request);
  const shown: { entityId: string; doc: string }[] = [];
  for (const { entityId, doc } of documents) {
    const members = splitMembers(doc);
    const list = await softwareListInPlace(request.platform.documents, request.tenant, members);
    budget.take(list?.length ?? 0);
    shown.push({ entityId, doc: list === undefined ? doc : joinMembers(withSoftwareList(members, list)) });
  }
  return operationTexts(request, shown);
}

const load = async (request: ApiRequest): Promise<Members> =>
  splitMembers(await loadDocument(request, 'operation', request.params['id'], 'devicecontrol/not-found'));

async function post(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const device = deviceOf(members);
  if (!isEntityId(device)) throw new PlatformError('source/not-found', { area: AREA, id: device });
  await requireOwner(request, device);
  // SmartREST 501 to 503 take the oldest one of a device: that with the smallest id.
  const [id] = await request.platform.ids.nextBesideInOrder(request.tenant, [Number(device)]);
  const body: OperationCreate = {
    id: String(id),
    doc: newOperation(members),
    user: request.principal.userName,
    ...applicationOf(request),
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.OPERATION_CREATE, Number(device), body);
  if (request.mode === PROCESSING_MODE.TRANSIENT)
    return notStored('operation', request.wantsBody ? unstoredText(splitMembers(doc)) : '');
  const [answer] = await operationTexts(request, [{ entityId: body.id, doc }]);
  return created('operation', answer, operationUrl(request, body.id));
}

async function filterOf(request: ApiRequest): Promise<HistoryFilter> {
  const filter = new HistoryFilter(request.tenant);
  addParameters(filter, 'operations', filterValues(request.query, OWN_FILTERS));
  limitSources(filter, reachOf(request));
  const agent = request.query.text('agentId');
  if (agent !== undefined) await addDevicesOfAgent(request, filter, agent);
  return filter;
}

const EXPORTED = ['status', 'creationTime', 'bulkOperationId', 'description', 'failureReason'];

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const page = pageOf(request);
  await requireAnyReach(request, [request.query.text('deviceId'), request.query.text('agentId')]);
  const filter = await filterOf(request);
  const order = { isDescending: request.query.isTrue('revert') };
  const format = exportFormat(request);
  if (format !== undefined) {
    const toTexts = (rows: readonly DocumentRow[]): Promise<readonly string[]> => shownTexts(request, rows);
    return exportDocuments(request, format, page, { table: 'operations', filter, order, members: EXPORTED, toTexts });
  }
  const { rows, total, isFull } = await documentPage(listReaders(request), 'operations', filter, order, page);
  const items = await shownTexts(request, rows);
  return found('operationCollection', collectionText(request, page, { name: 'operations', items, total, isFull }));
}

async function get(request: ApiRequest): Promise<Answer> {
  const members = await load(request);
  if (!request.isPrivileged && (await isOwner(request, deviceOf(members), members)) !== true)
    throw new PlatformError('security/forbidden');
  const [answer] = await shownTexts(request, [{ entityId: request.params['id'], doc: joinMembers(members) }]);
  return found('operation', answer);
}

async function put(request: ApiRequest): Promise<Answer> {
  const stored = await load(request);
  const device = deviceOf(stored);
  // Neither what it was nor what it becomes may have a command that the user has no permission for.
  await requireOwner(request, device, new Map([...stored, ...request.members()]));
  const body: OperationUpdate = {
    id: request.params['id'],
    doc: operationChange(request.members(), stored),
    user: request.principal.userName,
    ...applicationOf(request),
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.OPERATION_UPDATE, Number(device), body);
  const [answer] = await shownTexts(request, [{ entityId: request.params['id'], doc }]);
  return found('operation', answer);
}

async function remove(request: ApiRequest): Promise<Answer> {
  await request.platform.bulkOperations.keepCounts(
    request.tenant,
    request.history,
    request.query.text('bulkOperationId'),
  );
  return deleteData(request, 'operations', FILTERS, 'ROLE_DEVICE_CONTROL_ADMIN');
}

export function operationRoutes(): Route[] {
  const one = [{ status: 200, description: 'The operation', mediaType: 'operation' }];
  return [
    {
      method: 'POST',
      path: '/devicecontrol/operations',
      area: AREA,
      access: 'owner',
      roles: ADMIN,
      summary: 'Create an operation for a device',
      headers: APPLICATION_HEADERS,
      body: {
        schema: schemas.Operation,
        mediaTypes: ['operation'],
        example: { deviceId: '251', description: 'Restart', c8y_Restart: {} },
      },
      answers: [
        { status: 201, description: `Created; ${UNSTORED}`, mediaType: 'operation', schema: 'writtenOperation' },
      ],
      handle: post,
    },
    {
      method: 'GET',
      path: '/devicecontrol/operations',
      area: AREA,
      access: 'owner',
      roles: READ,
      summary: 'List operations, oldest first',
      query: { ...FILTERS, ...REVERT, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      produces: ['vendor', 'json', ...EXPORT_KINDS],
      answers: [
        {
          status: 200,
          description: 'A page of operations',
          mediaType: 'operationCollection',
          contentTypes: EXPORT_TYPES,
        },
      ],
      handle: list,
    },
    {
      method: 'DELETE',
      path: '/devicecontrol/operations',
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete operations by filters',
      changesAllThatMatch: true,
      query: FILTERS,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
    {
      method: 'GET',
      path: '/devicecontrol/operations/{id}',
      area: AREA,
      access: 'owner',
      roles: READ,
      summary: 'Read an operation',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: '/devicecontrol/operations/{id}',
      area: AREA,
      access: 'owner',
      roles: ADMIN,
      summary: 'Change the status of an operation',
      headers: APPLICATION_HEADERS,
      body: { schema: schemas.OperationUpdate, mediaTypes: ['operation'], example: { status: 'SUCCESSFUL' } },
      answers: one,
      handle: put,
    },
  ];
}
