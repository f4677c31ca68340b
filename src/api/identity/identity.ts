/** External IDs (docs/spec/identity.md). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ExternalIdBind } from '../../model/commands/external-ids.ts';
import { PlatformError } from '../../model/errors.ts';
import { stringMember } from '../../model/documents/json-document.ts';
import { externalIdKey, externalIdOfKey, isExternalId, requireExternalId } from '../../model/entities/external-id.ts';
import { serialClaim } from '../../model/access/serial-claim.ts';
import { requireXId } from '../../smartrest/custom/collection.ts';
import {
  collectionIds,
  isCollectionType,
  requireRoomForCollection,
  X_ID_TYPE,
} from '../../smartrest/custom/collection-shares.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { quote, segment, sourceText, type ViewRequest } from '../entities/text.ts';
import { isOwner, requireOwner } from '../lists/owner.ts';
import { isNoPage } from '../../model/documents/page.ts';
import { PAGE_PARAMETERS, currentPageOf, pageOf, pageOfSize } from '../request/paging.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

const READ = ['ROLE_IDENTITY_READ'];
const ADMIN = ['ROLE_IDENTITY_ADMIN'];
/** External IDs of one managed object that are looked at; what is behind them is found by its own path only. */
const EXTERNAL_IDS_MAX = 100_000;
/**
 * Of those that operations carry, and of a page of the list when none is asked for: the list is shown whole
 * (docs/spec/identity.md#requests).
 */
const SHOWN_MAX = 2000;
const SEPARATOR = '\n';

const externalIdUrl = (request: ApiRequest, type: string, externalId: string): string =>
  `${request.baseUrl}/identity/externalIds/${segment(type)}/${segment(externalId)}`;

function externalIdText(request: ApiRequest, body: ExternalIdBind): string {
  const self = externalIdUrl(request, body.type, body.externalId);
  return `{"self":${quote(self)},"externalId":${quote(body.externalId)},"type":${quote(body.type)},"managedObject":${sourceText(
    request,
    body.managedObject,
  )}}`;
}

/** @returns the id of the managed object that has the external ID. */
async function boundObject(request: ApiRequest, type: string, externalId: string): Promise<string | undefined> {
  const text = await request.platform.documents.get('externalId', request.tenant, externalIdKey(type, externalId));
  return text === undefined ? undefined : (JSON.parse(text) as { managedObject: string }).managedObject;
}

/** The path has the parameters `type` and `externalId`. @throws PlatformError `identity/not-found`. */
async function load(request: ApiRequest): Promise<ExternalIdBind> {
  const { type, externalId } = request.params;
  const managedObject = isExternalId(type, externalId) ? await boundObject(request, type, externalId) : undefined;
  if (managedObject === undefined) throw new PlatformError('identity/not-found', { type, value: externalId });
  return { type, externalId, managedObject };
}

async function requireManagedObject(request: ApiRequest, id: string): Promise<void> {
  const exists =
    isEntityId(id) && (await request.platform.documents.get('managedObject', request.tenant, id)) !== undefined;
  if (!exists) throw new PlatformError('inventory/not-found', { id });
}

/** `{"externalIds":[{"type","externalId"}],"self"}` for the member `deviceExternalIDs` of operations. */
export async function externalIdsOf(request: ViewRequest, managedObject: string): Promise<string> {
  const ids = (await boundTo(request, managedObject)).map(({ type, externalId }) => ({ type, externalId }));
  return JSON.stringify({
    externalIds: ids,
    self: `${request.baseUrl}/identity/globalIds/${segment(managedObject)}/externalIds`,
  });
}

async function boundTo(request: ViewRequest, managedObject: string, limit = SHOWN_MAX): Promise<ExternalIdBind[]> {
  const prefix = `${managedObject}${SEPARATOR}`;
  const entries = await request.platform.documents.list('externalIdsOf', request.tenant, prefix, { limit });
  return entries.map((entry) => ({ ...externalIdOfKey(entry.id.slice(prefix.length)), managedObject }));
}

/** The external ID may make the object a template collection (docs/spec/smartrest.md#template-collections). */
async function requireRoomFor(type: string, { platform, tenant, principal, refusals }: ApiRequest): Promise<void> {
  if (!isCollectionType(type)) return;
  const others = await collectionIds(platform.documents, tenant, type);
  requireRoomForCollection(type, { others, by: principal }, refusals);
}

async function post(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await requireManagedObject(request, id);
  await requireOwner(request, id);
  const members = request.members();
  const body: ExternalIdBind = {
    type: stringMember(members, 'type') ?? '',
    externalId: stringMember(members, 'externalId') ?? '',
    managedObject: id,
    ...(isCollectionType(stringMember(members, 'type') ?? '') ? { by: request.principal.userName } : {}),
  };
  requireExternalId(body.type, body.externalId);
  if (body.type === X_ID_TYPE) requireXId(body.externalId);
  // A public client binds the X-ID of a collection that came with it.
  const isBound = isCollectionType(body.type) && (await boundObject(request, body.type, body.externalId)) === id;
  if (!isBound) {
    await requireRoomFor(body.type, request);
    await request.command(COMMAND.EXTERNAL_ID_BIND, `x:${externalIdKey(body.type, body.externalId)}`, {
      ...body,
      ...serialClaim(request.principal),
    });
  }
  return created('externalId', externalIdText(request, body), externalIdUrl(request, body.type, body.externalId));
}

async function list(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await requireManagedObject(request, id);
  if (!request.isPrivileged && (await isOwner(request, id)) !== true) throw new PlatformError('security/forbidden');
  const { query } = request;
  const isPaged = query.has('pageSize') || request.page !== undefined;
  const { size, current, offset } = isPaged ? pageOf(request) : pageOfSize(SHOWN_MAX, currentPageOf(query));
  const all = await boundTo(request, id, Math.min(EXTERNAL_IDS_MAX, offset + size + 1));
  const items = all.slice(offset, offset + size).map((bound) => externalIdText(request, bound));
  const self = `${request.baseUrl}/identity/globalIds/${segment(id)}/externalIds`;
  const link = (name: string, page: number): string =>
    `,${quote(name)}:${quote(`${self}?pageSize=${size}&currentPage=${page}`)}`;
  const links = `${all.length > offset + size ? link('next', current + 1) : ''}${current > 1 && !isNoPage({ current }) ? link('prev', current - 1) : ''}`;
  return found('externalIdCollection', `{"self":${quote(self)}${links},"externalIds":[${items.join(',')}]}`);
}

async function get(request: ApiRequest): Promise<Answer> {
  const bound = await load(request);
  if (!request.isPrivileged && (await isOwner(request, bound.managedObject)) !== true)
    throw new PlatformError('security/forbidden');
  return found('externalId', externalIdText(request, bound));
}

async function remove(request: ApiRequest): Promise<Answer> {
  const bound = await load(request);
  await requireOwner(request, bound.managedObject);
  if (!request.mayEndCollections && isCollectionType(bound.type))
    throw new PlatformError('smartrest/fixed-collection', { id: bound.managedObject });
  await request.command(COMMAND.EXTERNAL_ID_UNBIND, `x:${externalIdKey(bound.type, bound.externalId)}`, bound);
  return NO_CONTENT;
}

export function identityRoutes(): Route[] {
  const area = 'identity';
  return [
    {
      method: 'POST',
      path: '/identity/globalIds/{id}/externalIds',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Bind an external ID to a managed object',
      body: {
        schema: schemas.ExternalId,
        mediaTypes: ['externalId'],
        example: { type: 'c8y_Serial', externalId: 'pump-0815' },
      },
      answers: [{ status: 201, description: 'Bound', mediaType: 'externalId' }],
      handle: post,
    },
    {
      method: 'GET',
      path: '/identity/globalIds/{id}/externalIds',
      area,
      access: 'owner',
      roles: READ,
      summary: 'External IDs of a managed object, all of them unless a page is asked for',
      query: { pageSize: PAGE_PARAMETERS['pageSize'], currentPage: PAGE_PARAMETERS['currentPage'] },
      answers: [{ status: 200, description: 'The external IDs', mediaType: 'externalIdCollection' }],
      handle: list,
    },
    {
      method: 'GET',
      path: '/identity/externalIds/{type}/{externalId}',
      area,
      access: 'owner',
      roles: READ,
      summary: 'The managed object of an external ID',
      answers: [{ status: 200, description: 'The external ID', mediaType: 'externalId' }],
      handle: get,
    },
    {
      method: 'DELETE',
      path: '/identity/externalIds/{type}/{externalId}',
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Unbind an external ID',
      answers: [{ status: 204, description: 'Unbound' }],
      handle: remove,
    },
  ];
}
