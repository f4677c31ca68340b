/**
 * The inventory: managed objects one by one (docs/spec/inventory.md#single-objects).
 * Lists: list.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedObjectDelete } from '../../actors/handlers/inventory/managed-object.ts';
import { INVENTORY_ADMIN, INVENTORY_CREATE, INVENTORY_READ } from '../../model/access/roles.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ManagedObjectCreate, ManagedObjectUpdate } from '../../model/commands/entities.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isStoredAs } from '../../model/commands/processing-mode.ts';
import { measuredNames } from '../../history/measurements/rows.ts';
import type { ApiRequest } from '../request/request.ts';
import { DeviceRegistration } from '../../accounts/registration/registration.ts';
import { managedObjectChange, newManagedObject } from '../../model/entities/managed-object.ts';
import { UNSTORED, managedObjectUrl, unstoredText } from '../entities/text.ts';
import { requireRightsOfDevice } from '../users/inventory-rights.ts';
import { CHILD_PARAMETERS, managedObjectText } from './text.ts';
import { deletionRights, loadManagedObject, requireOwner } from '../lists/owner.ts';
import { flag } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, created, found, notStored } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { isDevice } from '../users/text.ts';
import { requireXId, sentXId } from '../../smartrest/custom/collection.ts';
import { requireTemplates } from '../../smartrest/one/collection.ts';
import { collectionIds, requireRoomForCollection, X_ID_TYPE } from '../../smartrest/custom/collection-shares.ts';
import { externalIdKey } from '../../model/entities/external-id.ts';
import { withBothMarkers } from '../../model/entities/agent-marker.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

/** How often, and with which pause, a new object is looked for whose external ID is there. */
const LOOKS_MAX = 40;
const LOOK_AGAIN_MS = 50;

/**
 * @throws PlatformError 403 for who neither has a role of the route nor owns the object nor has a permission for it.
 */
export async function requireReadable(request: ApiRequest, doc: string): Promise<void> {
  await requireOwner(request, stringMember(splitMembers(doc), 'id') ?? '');
}

/**
 * Creates an object. @param more.parent links it below as part of its creation. @param more.members instead of the
 * body.
 * @param more.adminRoles who may name another owner.
 */
export async function createManagedObject(
  request: ApiRequest,
  more: Pick<ManagedObjectCreate, 'parent' | 'binary'> & {
    readonly members?: Members;
    readonly adminRoles?: readonly string[];
  } = {},
): Promise<{ id: string; doc: string }> {
  const { members = request.members(), adminRoles = INVENTORY_ADMIN, parent, binary } = more;
  requireTemplates(members);
  const { doc: sent, owner: sentOwner } = newManagedObject(members);
  const owner = sentOwner !== undefined && request.hasRole(...adminRoles) ? sentOwner : request.principal.userName;
  const body: ManagedObjectCreate = {
    id: String(request.platform.ids.next()),
    owner,
    doc: sent,
    ...(parent === undefined ? {} : { parent }),
    ...(binary === undefined ? {} : { binary }),
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.MANAGED_OBJECT_CREATE, Number(body.id), body);
  if (parent?.isRequired === true && isStoredAs(COMMAND.MANAGED_OBJECT_CREATE, request.mode))
    await requireKept(request, body.id, parent);
  return { id: body.id, doc };
}

/**
 * The link was a part of the creation: where it was refused, because the parent was deleted at the same moment, the
 * object is gone again.
 */
async function requireKept(request: ApiRequest, id: string, parent: { readonly id: string }): Promise<void> {
  const {
    platform: { documents },
    tenant,
  } = request;
  if ((await documents.get('managedObject', tenant, id)) !== undefined) return;
  await loadManagedObject(request, parent.id);
  throw new PlatformError('inventory/not-linked', { child: id, parent: parent.id });
}

/** The answer to a creation. @param withText whether the object is in it. */
export async function createdManagedObject(
  request: ApiRequest,
  { id, doc }: { id: string; doc: string },
  withText: boolean,
): Promise<Answer> {
  if (!isStoredAs(COMMAND.MANAGED_OBJECT_CREATE, request.mode))
    return notStored('managedObject', withText ? unstoredText(withBothMarkers(splitMembers(doc))) : '');
  return created(
    'managedObject',
    withText ? await managedObjectText(request, id, doc, { isNew: true }) : '',
    managedObjectUrl(request, id),
  );
}

/** A template collection comes with its X-ID, an external ID (docs/spec/smartrest.md#template-collections). */
async function createCollection(request: ApiRequest, xid: string): Promise<{ id: string; doc: string }> {
  const { documents, ids } = request.platform;
  const members = request.members();
  requireXId(xid);
  requireTemplates(members);
  const others = await collectionIds(documents, request.tenant, X_ID_TYPE);
  requireRoomForCollection(X_ID_TYPE, { others, by: request.principal }, request.refusals);
  const { doc, owner } = newManagedObject(members);
  const { id, created: isNew } = await request.command<{ id: string; created: boolean }>(
    COMMAND.DEVICE_ENSURE,
    `x:${externalIdKey(X_ID_TYPE, xid)}`,
    {
      by: request.principal.userName,
      type: X_ID_TYPE,
      externalId: xid,
      id: String(ids.next()),
      owner: owner !== undefined && request.hasRole(...INVENTORY_ADMIN) ? owner : request.principal.userName,
      doc,
    },
  );
  if (!isNew) throw new PlatformError('identity/duplicate', { type: X_ID_TYPE, value: xid });
  return { id, doc: await madeBehind(request, id) };
}

/**
 * The document of a new object, which its actor makes behind the one of its external ID. @throws PlatformError
 * `general/refused`.
 */
export async function madeBehind(
  { platform: { documents }, tenant }: Pick<ApiRequest, 'platform' | 'tenant'>,
  id: string,
): Promise<string> {
  for (let tries = 1; tries <= LOOKS_MAX; tries += 1) {
    const stored = await documents.get('managedObject', tenant, id);
    if (stored !== undefined) return stored;
    await delay(LOOK_AGAIN_MS);
  }
  throw refusedBy('identity/object-not-there');
}

async function post(request: ApiRequest): Promise<Answer> {
  const xid = sentXId(request.members());
  if (xid !== undefined && isStoredAs(COMMAND.MANAGED_OBJECT_CREATE, request.mode))
    return createdManagedObject(request, await createCollection(request, xid), request.wantsBody);
  const makesDevice = isStoredAs(COMMAND.MANAGED_OBJECT_CREATE, request.mode) && request.members().has('c8y_IsDevice');
  const made = makesDevice ? await createDevice(request) : await createManagedObject(request);
  return createdManagedObject(request, made, request.wantsBody);
}

/** The first device of a user that was registered for a group joins it (docs/spec/device-registration.md#credentials). */
async function createDevice(request: ApiRequest): Promise<{ id: string; doc: string }> {
  const registration = new DeviceRegistration(request.platform);
  const { userName } = request.principal;
  const group = await registration.groupToJoin(request.tenant, userName);
  if (group === undefined) return createManagedObject(request);
  const made = await createManagedObject(request, { parent: { id: group, kind: 'childAssets' } });
  await registration.joined(request.tenant, userName);
  return made;
}

async function get(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const doc = await loadManagedObject(request, id);
  await requireReadable(request, doc);
  return found('managedObject', await managedObjectText(request, id, doc));
}

async function put(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await loadManagedObject(request, id);
  await requireOwner(request, id);
  const members = request.members();
  if ([...members.keys()].every((name) => name === 'id')) return heartbeat(request, id);
  requireTemplates(members);
  const body: ManagedObjectUpdate = {
    doc: managedObjectChange(members),
    mayChangeOwner: request.hasRole(...INVENTORY_ADMIN),
    mayChangeTemplates: request.hasRole(...INVENTORY_ADMIN) && request.mayEndCollections,
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.MANAGED_OBJECT_UPDATE, Number(id), body);
  if (!request.wantsBody) return found('managedObject', '');
  const isStored = isStoredAs(COMMAND.MANAGED_OBJECT_UPDATE, request.mode);
  return found(
    'managedObject',
    isStored ? await managedObjectText(request, id, doc) : unstoredText(withBothMarkers(splitMembers(doc))),
  );
}

/**
 * A PUT of `{}` or of the id alone: the device is heard, nothing is written, and little is said about it
 * (docs/spec/availability.md#messages).
 */
async function heartbeat(request: ApiRequest, id: string): Promise<Answer> {
  await request.hear(Number(id));
  return found('managedObject', request.wantsBody ? JSON.stringify({ self: managedObjectUrl(request, id), id }) : '');
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const doc = await loadManagedObject(request, id);
  await requireOwner(request, id);
  const { query } = request;
  const withDeviceUser = query.isTrue('withDeviceUser');
  const owner = stringMember(splitMembers(doc), 'owner') ?? '';
  // Of those below it their actor decides, which knows them.
  if (withDeviceUser && isDevice(owner)) await requireRightsOfDevice(request, owner);
  const body: ManagedObjectDelete = {
    cascade: query.isTrue('cascade') || query.isTrue('forceCascade'),
    forceCascade: query.isTrue('forceCascade'),
    withDeviceUser,
    ...(withDeviceUser ? { by: request.principal.userName } : {}),
    ...(await deletionRights(request, id)),
  };
  if (body.cascade === true || splitMembers(doc).has('c8y_IsDevice'))
    await request.platform.bulkOperations.keepCountsOfObject(
      request.tenant,
      request.history,
      id,
      body.cascade === true,
    );
  await request.command(COMMAND.MANAGED_OBJECT_DELETE, Number(id), body);
  return NO_CONTENT;
}

/** Names of fragments, or of fragments with their series, that the measurements of the object have. */
async function supported(request: ApiRequest, what: 'fragments' | 'series', member: string): Promise<Answer> {
  const { id } = request.params;
  await requireReadable(request, await loadManagedObject(request, id));
  const names = await measuredNames(request.history, request.tenant, id, what);
  return found('managedObject', JSON.stringify({ [member]: names }));
}

export function managedObjectRoutes(): Route[] {
  const area = 'inventory';
  const path = '/inventory/managedObjects/{id}';
  const one = [{ status: 200, description: 'The managed object', mediaType: 'managedObject' }];
  return [
    {
      method: 'POST',
      path: '/inventory/managedObjects',
      area,
      access: 'roles',
      roles: INVENTORY_CREATE,
      summary: 'Create a managed object',
      body: {
        schema: schemas.ManagedObject,
        mediaTypes: ['managedObject'],
        example: { name: 'Pump 1', type: 'acme_Pump', c8y_IsDevice: {}, com_cumulocity_model_Agent: {} },
      },
      answers: [
        {
          status: 201,
          description: `Created; ${UNSTORED}`,
          mediaType: 'managedObject',
          schema: 'writtenManagedObject',
        },
      ],
      handle: post,
    },
    {
      method: 'GET',
      path,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Read a managed object',
      query: CHILD_PARAMETERS,
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary:
        'Merge fragments into a managed object; null removes one; an empty object is a heartbeat, answered with id and self',
      query: CHILD_PARAMETERS,
      body: { schema: schemas.ManagedObject, mediaTypes: ['managedObject'], example: { name: 'Pump 2' } },
      answers: [{ ...one[0], schema: 'writtenManagedObject' }],
      handle: put,
    },
    {
      method: 'DELETE',
      path,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary: 'Delete a managed object with its data',
      query: {
        cascade: flag('Delete the hierarchy below'),
        forceCascade: flag('As cascade, also objects with other parents'),
        withDeviceUser: flag('Delete the device user too'),
      },
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
    {
      method: 'GET',
      path: `${path}/supportedMeasurements`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Fragments that measurements of the object have',
      answers: [{ ...one[0], schema: 'supportedMeasurements' }],
      handle: (request) => supported(request, 'fragments', 'c8y_SupportedMeasurements'),
    },
    {
      method: 'GET',
      path: `${path}/supportedSeries`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: 'Series that measurements of the object have',
      answers: [{ ...one[0], schema: 'supportedSeries' }],
      handle: (request) => supported(request, 'series', 'c8y_SupportedSeries'),
    },
  ];
}
