/**
 * Who may read and write managed objects and their data without a global role: the owner (docs/spec/login.md#rights),
 * and who has an inventory role or a device permission for it or for something above it
 * (docs/spec/users.md#inventory-roles).
 */
import { belowSql } from '../../history/objects-below.ts';
import { DEVICE_USER_PREFIX, isDeviceUser } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { grantsFor, isByTypeAlone, isOwnedBy, mayAccess, typesAtOrAbove } from '../../model/access/inventory-access.ts';
import { ANY } from '../../model/access/inventory-grant.ts';
import type { WantedAccess } from '../../model/access/inventory-grant.ts';
import { dropNulls } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { AGENT_LINKS } from '../../model/entities/operation.ts';
import { SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { descendantsUpTo } from './hierarchy.ts';
import type { HistoryFilter } from './filter.ts';

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
 * @returns whether the principal owns the object or has a permission for it; undefined when there is no such object.
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
 * Lets through who has one of the route's roles, owns the object or has a permission for it; what does not exist is
 * left to the caller.
 * @throws PlatformError 403.
 */
export async function requireOwner(request: ApiRequest, managedObject: string, entity?: Members): Promise<void> {
  if (request.isPrivileged) return;
  if ((await isOwner(request, managedObject, entity)) === false) throw new PlatformError('security/forbidden');
}

/**
 * Whether a user, by default the principal, owns any managed object: also one that was made a moment ago, whatever the
 * request says about flushing.
 */
export async function ownsObjects(
  { platform, tenant, principal }: ApiRequest,
  userName = principal.userName,
): Promise<boolean> {
  const sql = 'SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND owner = {owner:String} LIMIT 1';
  return (await platform.history.query(sql, { tenant, owner: userName })).length > 0;
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
 * What the deletion of an object may take along from below it: everything for who has a role of the route or a
 * permission for all types there.
 */
export async function deletionRights(
  request: ApiRequest,
  id: string,
): Promise<{ readonly owner?: string; readonly types?: readonly string[] }> {
  if (request.isPrivileged) return {};
  const types = await typesAtOrAbove(request.platform.documents, request.principal, id, wantedBy(request));
  if (types.includes(ANY)) return {};
  return { owner: request.principal.userName, ...(types.length === 0 ? {} : { types }) };
}

/**
 * An entity that fits all permissions that hold for one type only: whether somebody may see some of an object's data.
 */
export function typesHeld(request: ApiRequest): Members {
  return new Map(grantsFor(request.principal, wantedBy(request)).map(({ type }) => [type, '{}']));
}

/**
 * How a permission for one type is written for a table where it is no matter of a type or a fragment in their columns.
 * A measurement is several rows, one of which has the fragment.
 * @param place of the type. @param below condition on the managed object.
 */
const TYPED: Readonly<Record<string, (place: string, below: string) => string>> = {
  MEASUREMENT: (place, below) =>
    `(type = ${place} OR (source, time, id) IN ` +
    `(SELECT source, time, id FROM measurements WHERE tenant = {tenant:UInt32} AND fragment = ${place} AND ${below}))`,
  OPERATION: (place) => `has(fragments, ${place})`,
};

/**
 * The condition of lists for who has none of the route's roles: rows of managed objects that he owns or has a
 * permission for, at them or above them. Follows the links of managed objects downwards inside of the statement.
 * @param column the managed object.
 */
export function accessibleCondition(
  request: ApiRequest,
  filter: HistoryFilter,
  column: string,
  isInventory = false,
): string {
  const condition = conditionOfAccess(accessOf(request), filter, column, isInventory);
  const children = request.childrenOfDevice;
  return children.length === 0 ? condition : `(${condition} OR ${column} IN ${filter.bind('Array(UInt64)', children)})`;
}

/**
 * Limits a list to data of managed objects that the principal owns or has a permission for, unless it has a global
 * role.
 */
export function limitToOwnedSources(request: ApiRequest, filter: HistoryFilter, column: string): void {
  if (!request.isPrivileged) filter.ofPart(accessibleCondition(request, filter, column));
}

/** The same for the managed objects themselves. */
export function limitToAccessibleObjects(request: ApiRequest, filter: HistoryFilter): void {
  if (!request.isPrivileged) filter.ofPart(accessibleCondition(request, filter, 'id', true));
}

/** Whether the route's answer is a list of which a registered device gets a part. */
export function isListOfDevice(request: ApiRequest): boolean {
  const { route, principal } = request;
  if (principal.ownRoles === undefined || request.method !== 'GET' || route.access !== 'owner' || request.isPrivileged)
    return false;
  return route.query?.['pageSize'] !== undefined || route.path.endsWith('/count');
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
  if (found === undefined) request.platform.refusals.count(CHILDREN_LIMIT);
  else request.childrenOfDevice = found.map(Number);
}

/** What somebody without a global role may reach, as a value that can be stored. */
export interface Access {
  readonly owner: string;
  readonly scope: WantedAccess['scope'];
  /** Absent from changes of many alarms that an older version began. */
  readonly permission?: WantedAccess['permission'];
  readonly grants: readonly { readonly type: string; readonly root: number }[];
}

export function accessOf(request: ApiRequest): Access {
  const wanted = wantedBy(request);
  const grants = grantsFor(request.principal, wanted).map(({ type, root }) => ({ type, root }));
  return { owner: request.principal.userName, ...wanted, grants };
}

function typedCondition({ scope, permission = 'READ' }: Access, place: string, below: string): string {
  if (isByTypeAlone({ scope, permission })) return `type = ${place}`;
  return TYPED[scope]?.(place, below) ?? `(type = ${place} OR has(fragments, ${place}))`;
}

/** As `accessibleCondition`. */
export function conditionOfAccess(access: Access, filter: HistoryFilter, column: string, isInventory = false): string {
  const owner = filter.bind('String', access.owner);
  const conditions = [
    isInventory
      ? `owner = ${owner}`
      : `${column} IN (SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND owner = ${owner})`,
  ];
  const rootsOfType = new Map<string, number[]>();
  for (const { type, root } of access.grants) rootsOfType.set(type, [...(rootsOfType.get(type) ?? []), root]);
  for (const [type, roots] of rootsOfType) {
    const below = `${column} IN (${belowSql(filter.bind('Array(UInt64)', [...new Set(roots)]))})`;
    const place = type === '*' ? '' : filter.bind('String', type);
    conditions.push(type === '*' ? below : `(${below} AND ${typedCondition(access, place, below)})`);
  }
  return `(${conditions.join(' OR ')})`;
}

/** @returns the stored text. @throws PlatformError `inventory/not-found`, also for what is no id. */
export async function loadManagedObject(request: ApiRequest, id: string): Promise<string> {
  const text = isEntityId(id) ? await request.platform.documents.get('managedObject', request.tenant, id) : undefined;
  if (text === undefined) throw new PlatformError('inventory/not-found', { id });
  return text;
}
