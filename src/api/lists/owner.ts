/**
 * Who may read and write managed objects and their data without a global role: the owner (docs/spec/login.md#rights),
 * and users with an inventory role or a device permission for it or for something above it
 * (docs/spec/users.md#inventory-roles).
 */
import type { Access, Reach } from '../../history/access.ts';
import { DEVICE_USER_PREFIX, isDeviceUser } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { grantsFor, isOwnedBy, mayAccess, typesAtOrAbove } from '../../model/access/inventory-access.ts';
import { ANY } from '../../model/access/inventory-grant.ts';
import type { WantedAccess } from '../../model/access/inventory-grant.ts';
import { dropNulls } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { AGENT_LINKS } from '../../model/entities/operation.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import type { ApiRequest } from '../request/request.ts';
import { loadDocument } from '../entities/load.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { descendantsUpTo } from './hierarchy.ts';

/** Objects below a device that its lists show. */
const CHILDREN_MAX = 2_000;
const CHILDREN_LIMIT = 'http/children-of-device';

/** Scope of inventory permissions by the area of the route; all others are about the managed object itself. */
const SCOPES: Readonly<Record<string, WantedAccess['scope']>> = {
  alarm: 'ALARM',
  audit: 'AUDIT',
  event: 'EVENT',
  measurement: 'MEASUREMENT',
  devicecontrol: 'OPERATION',
};

const wantedBy = (request: ApiRequest): WantedAccess => ({
  scope: SCOPES[request.route.area] ?? 'MANAGED_OBJECT',
  permission: request.method === 'GET' ? 'READ' : 'ADMIN',
});

/** What a POST wants to create, when it is one JSON object. */
function sentEntity(request: ApiRequest): Members | undefined {
  const { body } = request.route;
  return request.method === 'POST' && body !== undefined && (body.form ?? 'json') === 'json'
    ? dropNulls(new Map(request.members()))
    : undefined;
}

/**
 * @param entity what is read or written, for permissions that hold for one type only; by default the body of a POST.
 * @returns whether the principal owns the object or has a permission for it; undefined when the object does not exist.
 */
export async function isOwner(
  request: ApiRequest,
  managedObject: string,
  entity?: Members,
): Promise<boolean | undefined> {
  if (!isEntityId(managedObject)) return undefined;
  const { documents } = request.platform;
  const doc = await documents.get('managedObject', request.tenant, managedObject);
  if (doc === undefined) return undefined;
  return mayAccess(
    documents,
    request.principal,
    { id: managedObject, doc },
    wantedBy(request),
    entity ?? sentEntity(request),
  );
}

/**
 * Lets through a user with one of the route's roles, the owner, and a user with a permission for the object; what does not exist is
 * left to the caller.
 * @throws PlatformError 403.
 */
export async function requireOwner(request: ApiRequest, managedObject: string, entity?: Members): Promise<void> {
  if (request.isPrivileged) return;
  if ((await isOwner(request, managedObject, entity)) === false) throw new PlatformError('security/forbidden');
}

/**
 * Whether the route's roles, the owner rule or a permission let the principal do with a managed object what he asks
 * for.
 */
export async function mayReach(request: ApiRequest, id: string, doc: string): Promise<boolean> {
  return (
    request.isPrivileged || mayAccess(request.platform.documents, request.principal, { id, doc }, wantedBy(request))
  );
}

/**
 * What the deletion of an object may take along from below it: everything for users with a role of the route or a
 * permission for all types there. Devices and rows of SmartREST 1.0 take no template collection.
 */
export async function deletionRights(
  request: ApiRequest,
  id: string,
): Promise<{ readonly owner?: string; readonly types?: readonly string[]; readonly keepsCollections?: boolean }> {
  const collections = request.mayEndCollections ? {} : { keepsCollections: true };
  if (request.isPrivileged) return collections;
  const types = await typesAtOrAbove(request.platform.documents, request.principal, id, wantedBy(request));
  if (types.includes(ANY)) return collections;
  return { ...collections, owner: request.principal.userName, ...(types.length === 0 ? {} : { types }) };
}

/**
 * An entity that fits all permissions that hold for one type only: whether a user may see some of an object's data.
 */
export function typesHeld(request: ApiRequest): Members {
  return new Map(grantsFor(request.principal, wantedBy(request)).map(({ type }) => [type, '{}']));
}

/** Whether the route's answer is a list of which a registered device gets a part. */
export function isListOfDevice(request: ApiRequest): boolean {
  const { route, principal } = request;
  if (principal.ownRoles === undefined || request.method !== 'GET' || route.access !== 'owner' || request.isPrivileged)
    return false;
  return route.query?.['pageSize'] !== undefined || /\/(?:count|latest)$/.test(route.path);
}

/**
 * Before a list is read: finds what is below the device that asks, by links of devices and additions. A list for a
 * device with more below it than is looked up shows what it owns.
 */
export async function findChildrenOfDevice(request: ApiRequest): Promise<void> {
  const {
    principal,
    platform: { documents },
    tenant,
  } = request;
  if (!isDeviceUser(principal.userName)) return;
  const bound = await documents.get(
    'externalId',
    tenant,
    `${SERIAL_TYPE}\n${principal.userName.slice(DEVICE_USER_PREFIX.length)}`,
  );
  const root = bound === undefined ? undefined : (JSON.parse(bound) as { managedObject: string }).managedObject;
  const doc = root === undefined ? undefined : await documents.get('managedObject', tenant, root);
  if (root === undefined || doc === undefined || !isOwnedBy(principal, doc)) return;
  const found = await descendantsUpTo(request, root, AGENT_LINKS, CHILDREN_MAX);
  if (found === undefined) request.refused(CHILDREN_LIMIT);
  else request.childrenOfDevice = found.map(Number);
}

/**
 * Of lists of alarms, events and operations, which hide what the user may not see: refuses a user who would see nothing,
 * whatever they hold (docs/spec/login.md#rights).
 * @param named managed objects that the request asks for.
 * @throws PlatformError 403 without one of the route's roles, a permission of that kind for any object, or a named
 * object of the user's; a device reads the list of its data.
 */
export async function requireAnyReach(request: ApiRequest, named: readonly (string | undefined)[]): Promise<void> {
  const { principal, platform, tenant } = request;
  if (request.isPrivileged || request.isOfDevice || grantsFor(principal, wantedBy(request)).length > 0) return;
  const ids = named.filter((id) => id !== undefined && isEntityId(id)) as string[];
  const texts = ids.length === 0 ? [] : await platform.documents.getMany('managedObject', tenant, ids);
  if (!texts.some((text) => text !== undefined && isOwnedBy(principal, text)))
    throw new PlatformError('security/forbidden');
}

/** What the user may reach without one of the route's roles. */
export function accessOf(request: ApiRequest): Access {
  const wanted = wantedBy(request);
  const grants = grantsFor(request.principal, wanted).map(({ type, root }) => ({ type, root }));
  return { owner: request.principal.userName, ...wanted, grants };
}

/** The same for a list; undefined for a user with one of the route's roles, who reaches everything. */
export function reachOf(request: ApiRequest): Reach | undefined {
  return request.isPrivileged ? undefined : { access: accessOf(request), children: request.childrenOfDevice };
}

/** @returns the stored text. @throws PlatformError `inventory/not-found`, also for other texts than ids. */
export const loadManagedObject = (request: ApiRequest, id: string): Promise<string> =>
  loadDocument(request, 'managedObject', id, 'inventory/not-found');
