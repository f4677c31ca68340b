/** Users, groups and roles as the console reads and changes them, and what a person may give. */
import { changeJson, getJson, pathOf } from '../../../core/api/json.ts';
import { hasRole } from '../../../core/api/rights.ts';
import { tenant } from '../../../core/api/session.ts';
import { serverUrl } from '../../../core/places.ts';
import { collectionAt, unwrapped, wholeOf } from '../../../core/server/collection.ts';

export interface Role {
  readonly id: string;
}

interface RoleReferences {
  readonly references: readonly { readonly role: Role }[];
}

export interface Group {
  readonly id: number;
  readonly name: string;
  readonly description?: string | null;
  readonly roles?: RoleReferences;
}

export interface User {
  readonly id: string;
  readonly userName: string;
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly owner?: string | null;
  readonly enabled: boolean;
  readonly shouldResetPassword: boolean;
  readonly twoFactorAuthenticationEnabled: boolean;
  readonly lastPasswordChange?: string;
  readonly groups?: { readonly references: readonly { readonly group: Group }[] };
}

export const SCOPES = ['*', 'ALARM', 'AUDIT', 'EVENT', 'MANAGED_OBJECT', 'MEASUREMENT', 'OPERATION'] as const;
export const PERMISSIONS = ['READ', 'ADMIN', '*'] as const;

export interface Permission {
  readonly scope: (typeof SCOPES)[number];
  readonly permission: (typeof PERMISSIONS)[number];
  readonly type?: string;
}

export interface InventoryRole {
  readonly id: number;
  readonly name: string;
  readonly description?: string | null;
  readonly permissions: readonly Permission[];
}

export interface Assignment {
  readonly id: number;
  readonly managedObject: string;
  readonly roles: readonly InventoryRole[];
}

interface Origin {
  readonly kind: 'user' | 'group' | 'inventoryRole';
  readonly name?: string;
}

/** Of `…/effectiveRights`: what a user may do, and where it comes from. */
export interface EffectiveRights {
  readonly roles: readonly {
    readonly name: string;
    readonly holds: 'EVERYWHERE' | 'OWN';
    readonly from: readonly Origin[];
  }[];
  readonly grants: readonly {
    readonly managedObject: { readonly id: string };
    readonly scope: string;
    readonly permission: string;
    readonly type: string;
    readonly from: Origin;
  }[];
  readonly uncountedGrants: number;
}

export const USER_ADMIN = ['ROLE_USER_MANAGEMENT_ADMIN'] as const;
export const USER_CREATE = ['ROLE_USER_MANAGEMENT_ADMIN', 'ROLE_USER_MANAGEMENT_CREATE'] as const;

const tenantId = (): string => tenant.peek()?.name ?? '';

export const userPath = (name: string): string => pathOf`/user/${tenantId()}/users/${name}`;
export const groupPath = (id: number | string): string => pathOf`/user/${tenantId()}/groups/${id}`;
export const usersPath = (): string => pathOf`/user/${tenantId()}/users`;
export const groupsPath = (): string => pathOf`/user/${tenantId()}/groups`;
export const INVENTORY_ROLES_PATH = '/user/inventoryroles';

export const readGroups = (signal?: AbortSignal): Promise<readonly Group[]> =>
  wholeOf(collectionAt<Group>(groupsPath(), 'groups'), signal);

export const readInventoryRoles = (signal?: AbortSignal): Promise<readonly InventoryRole[]> =>
  wholeOf(collectionAt<InventoryRole>(INVENTORY_ROLES_PATH, 'roles'), signal);

export const readRoles = (signal?: AbortSignal): Promise<readonly Role[]> =>
  wholeOf(collectionAt<Role>('/user/roles', 'roles'), signal);

export const readGroupsOf = async (name: string, signal?: AbortSignal): Promise<readonly Group[]> =>
  unwrapped<Group>('group')(await wholeOf(collectionAt(`${userPath(name)}/groups`, 'references'), signal));

export const readUser = (name: string, signal?: AbortSignal): Promise<User> => getJson(userPath(name), signal);

/** Whether the user is in the group now. */
export const isMember = async (groupId: number, userName: string): Promise<boolean> =>
  (await readGroupsOf(userName)).some(({ id }) => id === groupId);

export async function join(groupId: number, userName: string): Promise<void> {
  await changeJson('POST', `${groupPath(groupId)}/users`, { user: { self: serverUrl(userPath(userName)) } });
}

export async function leave(groupId: number, userName: string): Promise<void> {
  await changeJson('DELETE', `${groupPath(groupId)}/users/${encodeURIComponent(userName)}`);
}

export async function giveRole(groupId: number, role: string): Promise<void> {
  await changeJson('POST', `${groupPath(groupId)}/roles`, { role: { self: serverUrl(pathOf`/user/roles/${role}`) } });
}

export async function takeRole(groupId: number, role: string): Promise<void> {
  await changeJson('DELETE', `${groupPath(groupId)}/roles/${encodeURIComponent(role)}`);
}

export const rolesOf = (group: Group): readonly string[] =>
  (group.roles?.references ?? []).map(({ role }) => role.id).sort();

/** The first role that the person lacks, and so cannot give. */
export const lackedRole = (roles: readonly string[]): string | undefined => roles.find((role) => !hasRole(role));

export interface RoleRow {
  readonly area: string;
  /** The role of each level, by the place of the level in LEVELS. */
  readonly roles: readonly (string | undefined)[];
}

/** The usual ends of a role's name, as columns of the matrix. */
export const LEVELS = ['READ', 'CREATE', 'UPDATE', 'ADMIN'] as const;
const ROLE = new RegExp(`^ROLE_(.+)_(${LEVELS.join('|')})$`);

/** Roles as a table of areas and levels, and those whose names have another form. */
export function roleMatrix(roles: readonly string[]): {
  readonly rows: readonly RoleRow[];
  readonly others: readonly string[];
} {
  const areas = new Map<string, (string | undefined)[]>();
  const others: string[] = [];
  for (const role of [...roles].sort()) {
    const found = ROLE.exec(role);
    if (found === null) {
      others.push(role);
      continue;
    }
    const row = areas.get(found[1]) ?? LEVELS.map(() => undefined);
    row[LEVELS.findIndex((level) => level === found[2])] = role;
    areas.set(found[1], row);
  }
  return { rows: [...areas].map(([area, found]) => ({ area, roles: found })), others };
}

/** `MANAGED_OBJECT` as people read it. */
export const areaText = (area: string): string => {
  const lower = area.replaceAll('_', ' ').toLowerCase();
  return lower.charAt(0).toUpperCase() + lower.slice(1);
};
