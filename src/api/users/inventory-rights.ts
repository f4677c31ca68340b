/**
 * A user gives only rights over the inventory that he has, as with roles: not by device permissions, by inventory
 * roles, by groups, nor by taking over a user with them. Global roles hold for all objects, grants for their object and
 * all below. What one owns is not his to give: a grant also holds for what is below.
 */
import { effectiveRights, rightsBeyondDevice } from '../../accounts/users/effective-rights.ts';
import type { StoredInventoryRole } from '../../accounts/users/groups.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { PlatformError } from '../../model/errors.ts';
import { holds } from '../../model/access/inventory-access.ts';
import { accessesOf, globalRolesFor } from '../../model/access/inventory-grant.ts';
import type { GrantPermission, GrantScope, InventoryGrant, WantedAccess } from '../../model/access/inventory-grant.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { ownsObjects } from '../../history/access.ts';
import { peopleSteps } from '../../records/steps.ts';
import { USER_ADMIN, isDevice, requireRoles } from './text.ts';

/** What the owner of an object may do with it. */
const OF_OWNER = { scope: '*', permission: '*' } as const;

const isGlobal = (request: ApiRequest, wanted: WantedAccess): boolean => request.hasRole(...globalRolesFor(wanted));

/** @throws PlatformError 403 when the caller lacks one of them. */
export async function requireGrants(request: ApiRequest, grants: readonly InventoryGrant[]): Promise<void> {
  const { principal, platform } = request;
  const known = new Set<string>();
  for (const grant of grants) {
    for (const wanted of accessesOf(grant)) {
      if (isGlobal(request, wanted)) continue;
      const key = JSON.stringify([grant.root, grant.type, wanted.scope, wanted.permission]);
      if (known.has(key)) continue;
      if (!(await holds(platform.documents, principal, grant, wanted))) throw new PlatformError('security/forbidden');
      known.add(key);
    }
  }
}

/** Of an inventory role, for one object. @throws PlatformError 403. */
export function requireGrantsOfRole(
  request: ApiRequest,
  { permissions }: Pick<StoredInventoryRole, 'permissions'>,
  managedObject: string,
): Promise<void> {
  return requireGrants(
    request,
    permissions.map(({ scope, type, permission }) => ({
      root: Number(managedObject),
      type,
      scope: scope as GrantScope,
      permission: permission as GrantPermission,
    })),
  );
}

/** For all objects: what an inventory role says holds wherever it was assigned. @throws PlatformError 403. */
export function requireEverywhere(
  request: ApiRequest,
  permissions: readonly { readonly scope: string; readonly permission: string }[],
): void {
  const accesses = permissions.flatMap(({ scope, permission }) =>
    accessesOf({ scope: scope as GrantScope, permission: permission as GrantPermission }),
  );
  if (!accesses.every((wanted) => isGlobal(request, wanted))) throw new PlatformError('security/forbidden');
}

/**
 * Who could take over a user would have its rights. @throws PlatformError 403 when the user has a role or a grant that
 * the caller lacks.
 */
export async function requireRightsOf(request: ApiRequest, user: StoredUser): Promise<void> {
  const {
    platform: { documents },
    refusals,
  } = request;
  const { roles, grants } = await effectiveRights(documents, request.tenant, user, refusals);
  requireRoles(request, [...roles]);
  if (user.userName !== request.principal.userName) await requireGrants(request, grants);
}

/**
 * Who registers a device anew takes over its user, and who deletes an object may delete or disable the user that owns
 * it: he needs the rights of that user but for those that registration gives to every device.
 * @param tenant of the user; grants of the caller count in his own only. @throws PlatformError 403.
 */
export async function requireRightsOfDevice(
  request: ApiRequest,
  userName: string,
  tenant = request.tenant,
): Promise<void> {
  const {
    platform: { documents },
    refusals,
  } = request;
  const isOwn = tenant === request.tenant;
  const stored =
    isOwn && userName === request.principal.userName ? undefined : await documents.get('user', tenant, userName);
  if (stored === undefined) return;
  const { roles, grants } = await rightsBeyondDevice(documents, tenant, JSON.parse(stored) as StoredUser, refusals);
  requireRoles(request, [...roles]);
  if (isOwn) await requireGrants(request, grants);
  else requireEverywhere(request, grants);
}

/**
 * The holder of a name owns the objects and the users that were made under it. Users of devices come by registration,
 * or from who administers all users.
 * @throws PlatformError 403 for a name that would give more than the caller has.
 */
export async function requireNameWithoutRights(request: ApiRequest, userName: string): Promise<void> {
  const isOpen = request.hasRole(...USER_ADMIN) || !(isDevice(userName) || (await ownsUsers(request, userName)));
  if (!isOpen) throw new PlatformError('security/forbidden');
  if (accessesOf(OF_OWNER).every((wanted) => isGlobal(request, wanted))) return;
  if (await ownsObjects(request.platform.history, request.tenant, userName))
    throw new PlatformError('security/forbidden');
}

/** Whether users name it as `owner` or `delegatedBy`: they stay when their owner is deleted. */
async function ownsUsers({ platform, tenant }: ApiRequest, userName: string): Promise<boolean> {
  for await (const rows of peopleSteps({ documents: platform.documents, tenant })) {
    for (const { value } of rows) {
      const members = splitMembers((JSON.parse(value) as StoredUser).doc);
      if (stringMember(members, 'owner') === userName || stringMember(members, 'delegatedBy') === userName) return true;
    }
  }
  return false;
}
