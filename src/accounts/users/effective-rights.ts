/**
 * What a user may do: the union over direct roles, groups, inventory roles and device permissions (docs/spec/users.md).
 */
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { DEVICE_ROLES, DEVICES_GROUP } from '../../model/entities/device-request.ts';
import { GRANTS_MAX, parseDevicePermission } from '../../model/access/inventory-grant.ts';
import type { GrantPermission, GrantScope, InventoryGrant } from '../../model/access/inventory-grant.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { deviceScope, globalRoles } from './device-scope.ts';
import type { StoredAssignment, StoredGroup, StoredInventoryRole } from './groups.ts';

const GRANTS_LIMIT = 'accounts/inventory-grants';

export interface EffectiveRights {
  /** Direct ones and those of the groups. */
  readonly roles: ReadonlySet<string>;
  readonly grants: readonly InventoryGrant[];
  readonly groups: readonly StoredGroup[];
}

/** What gives a right: the user himself, a group, or an inventory role that was assigned to him. */
export type RightOrigin =
  | { readonly kind: 'user' }
  | { readonly kind: 'group' | 'inventoryRole'; readonly id: number; readonly name: string };

export interface OriginatedGrant extends InventoryGrant {
  readonly from: RightOrigin;
}

/** @returns the groups of a user that exist, by their ids. */
export async function groupsOf(
  documents: DocumentReader,
  tenant: number,
  user: Pick<StoredUser, 'groups'>,
): Promise<StoredGroup[]> {
  const ids = user.groups ?? [];
  if (ids.length === 0) return [];
  const texts = await documents.getMany('group', tenant, ids.map(String));
  return texts.filter((text) => text !== undefined).map((text) => JSON.parse(text) as StoredGroup);
}

export async function effectiveRights(
  documents: DocumentReader,
  tenant: number,
  user: StoredUser,
  refusals: Refusals,
): Promise<EffectiveRights> {
  const groups = await groupsOf(documents, tenant, user);
  const roles = new Set([...user.roles, ...groups.flatMap((group) => group.roles)]);
  const grants = await originatedGrants(documents, tenant, user, groups);
  // Fewer rights than assigned, never more.
  if (grants.length > GRANTS_MAX) refusals.count(GRANTS_LIMIT, { tenant, user: user.userName });
  const counted = grants.slice(0, GRANTS_MAX).map(({ from: _origin, ...grant }): InventoryGrant => grant);
  return { roles, grants: counted, groups };
}

/** All grants of a user with what gives them; the first `GRANTS_MAX` count. @param groups those of the user. */
export async function originatedGrants(
  documents: DocumentReader,
  tenant: number,
  user: StoredUser,
  groups: readonly StoredGroup[],
): Promise<OriginatedGrant[]> {
  const ofDoc = (doc: string, from: RightOrigin): OriginatedGrant[] =>
    devicePermissionGrants(doc).map((grant) => ({ ...grant, from }));
  return [
    ...ofDoc(user.doc, { kind: 'user' }),
    ...groups.flatMap(({ id, name, doc }) => ofDoc(doc, { kind: 'group', id, name })),
    ...(await assignedGrants(documents, tenant, user.userName)),
  ];
}

/** The rights of a device user but for those that registration gives to every device. */
export async function rightsBeyondDevice(
  documents: DocumentReader,
  tenant: number,
  user: StoredUser,
  refusals: Refusals,
): Promise<Pick<EffectiveRights, 'roles' | 'grants'>> {
  const group = await documents.get('group', tenant, String(DEVICES_GROUP));
  const ofDevices = group === undefined ? DEVICE_ROLES : (JSON.parse(group) as StoredGroup).roles;
  const groups = (user.groups ?? []).filter((id) => id !== DEVICES_GROUP);
  const { roles, grants } = await effectiveRights(documents, tenant, { ...user, groups }, refusals);
  return { roles: new Set([...roles].filter((role) => !ofDevices.includes(role))), grants };
}

/** Of the member `devicePermissions` of a user or a group; what is not a permission was refused when it was sent. */
export function devicePermissionGrants(doc: string): InventoryGrant[] {
  const text = doc.includes('"devicePermissions"') ? splitMembers(doc).get('devicePermissions') : undefined;
  if (text === undefined || text === 'null') return [];
  const grants: InventoryGrant[] = [];
  for (const [root, entries] of Object.entries(JSON.parse(text) as Record<string, readonly string[]>)) {
    for (const entry of entries) {
      const permission = parseDevicePermission(entry);
      if (permission !== undefined) grants.push({ root: Number(root), ...permission });
    }
  }
  return grants;
}

async function assignedGrants(documents: DocumentReader, tenant: number, userName: string): Promise<OriginatedGrant[]> {
  const rows = await documents.list('inventoryAssignment', tenant, `${userName}\n`, { limit: GRANTS_MAX });
  if (rows.length === 0) return [];
  const assignments = rows.map(({ value }) => JSON.parse(value) as StoredAssignment);
  const ids = [...new Set(assignments.flatMap(({ roles }) => roles))].map(String);
  const texts = await documents.getMany('inventoryRole', tenant, ids);
  const roles = new Map(
    texts
      .filter((text) => text !== undefined)
      .map((text) => {
        const role = JSON.parse(text) as StoredInventoryRole;
        return [role.id, role];
      }),
  );
  return assignments.flatMap(({ managedObject, roles: assigned }) =>
    assigned.flatMap((id) =>
      (roles.get(id)?.permissions ?? []).map((permission) => ({
        root: Number(managedObject),
        type: permission.type,
        scope: permission.scope as GrantScope,
        permission: permission.permission as GrantPermission,
        from: { kind: 'inventoryRole' as const, id, name: roles.get(id)?.name ?? '' },
      })),
    ),
  );
}

/** The principal of a user whose credentials are right. */
export async function principalOf(
  documents: DocumentReader,
  tenant: { readonly id: string; readonly number: number },
  user: StoredUser,
  refusals: Refusals,
): Promise<Principal> {
  const [{ roles, grants, groups }, scope] = await Promise.all([
    effectiveRights(documents, tenant.number, user, refusals),
    deviceScope(documents, tenant.number, user),
  ]);
  const { userName, service } = user;
  const rolesOf = (id: number): readonly string[] => groups.find((group) => group.id === id)?.roles ?? [];
  const ofDevice = scope === undefined ? { roles } : { roles: globalRoles(user, rolesOf, scope), ownRoles: roles };
  return {
    tenant: tenant.id,
    tenantNumber: tenant.number,
    userName,
    ...ofDevice,
    tokenGeneration: user.tokenGeneration ?? 0,
    ...(grants.length > 0 ? { grants } : {}),
    ...(service === undefined ? {} : { serviceOwner: service.owner }),
  };
}
