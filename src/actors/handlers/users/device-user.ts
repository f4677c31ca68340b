/**
 * Who may end the user of a device together with its object. Decided by the tenant's actor: the deletion of a hierarchy
 * finds its owners one by one.
 */
import { DEVICE_ROLES, DEVICES_GROUP } from '../../../model/entities/device-request.ts';
import { accessesOf, globalRolesFor } from '../../../model/access/inventory-grant.ts';
import { splitMembers } from '../../../model/documents/json-document.ts';
import type { ActorContext } from '../../runtime/context.ts';
import type { StoredUser } from '../../../model/entities/stored-user.ts';

/** Of a stored group. */
interface Group {
  readonly roles: readonly string[];
  readonly doc: string;
}

/** A right of any kind over any object. */
const EVERY_GRANT = { scope: '*', permission: '*' } as const;

function groupOf(context: ActorContext, id: number): Group | undefined {
  const text = context.get('group', String(id));
  return text === undefined ? undefined : (JSON.parse(text) as Group);
}

const groupsOf = (context: ActorContext, ids: readonly number[]): Group[] =>
  ids.map((id) => groupOf(context, id)).filter((group) => group !== undefined);

function rolesOf(context: ActorContext, userName: string): ReadonlySet<string> {
  const text = context.get('user', userName);
  if (text === undefined) return new Set();
  const user = JSON.parse(text) as StoredUser;
  return new Set([...user.roles, ...groupsOf(context, user.groups ?? []).flatMap(({ roles }) => roles)]);
}

const hasDevicePermissions = (doc: string): boolean =>
  !['{}', 'null', undefined].includes(splitMembers(doc).get('devicePermissions'));

/**
 * Whether `by` has the rights of a device user but for those that registration gives to every device. For rights over
 * parts of the inventory the global roles are asked: what is above an object is known to other actors.
 */
export function mayEndDeviceUser(context: ActorContext, user: StoredUser, by: string | undefined): boolean {
  if (by === user.userName) return true;
  const groups = groupsOf(
    context,
    (user.groups ?? []).filter((id) => id !== DEVICES_GROUP),
  );
  const allowed = new Set([
    ...(groupOf(context, DEVICES_GROUP)?.roles ?? DEVICE_ROLES),
    ...(by === undefined ? [] : rolesOf(context, by)),
  ]);
  if (![...user.roles, ...groups.flatMap(({ roles }) => roles)].every((role) => allowed.has(role))) return false;
  const hasGrants =
    [user, ...groups].some(({ doc }) => hasDevicePermissions(doc)) ||
    context.list('inventoryAssignment', `${user.userName}\n`).length > 0;
  return (
    !hasGrants || accessesOf(EVERY_GRANT).every((wanted) => globalRolesFor(wanted).some((role) => allowed.has(role)))
  );
}
