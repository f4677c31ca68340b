/**
 * Grants: rights that begin at one managed object (docs/spec/users.md#inventory-roles). Where they hold:
 * inventory-access.ts.
 */
export const GRANT_SCOPES = ['ALARM', 'AUDIT', 'EVENT', 'MANAGED_OBJECT', 'MEASUREMENT', 'OPERATION', '*'] as const;
export const GRANT_PERMISSIONS = ['ADMIN', 'READ', '*'] as const;
export type GrantScope = (typeof GRANT_SCOPES)[number];
export type GrantPermission = (typeof GRANT_PERMISSIONS)[number];
export const ANY = '*';

/** Grants of one user that count; further ones are left out, and counted as `accounts/inventory-grants`. */
export const GRANTS_MAX = 1_000;

export interface InventoryGrant {
  /** Id of the managed object that it begins at. */
  readonly root: number;
  readonly scope: GrantScope;
  readonly permission: GrantPermission;
  /** `*`, or the type or a fragment that the entity must have. */
  readonly type: string;
}

/** What a user wants to do. ADMIN does not imply READ. */
export interface WantedAccess {
  readonly scope: Exclude<GrantScope, '*'>;
  readonly permission: Exclude<GrantPermission, '*'>;
}

/** Areas of the global roles that open a scope for all objects. */
const AREAS: Readonly<Record<WantedAccess['scope'], readonly string[]>> = {
  ALARM: ['ALARM'],
  AUDIT: ['AUDIT'],
  EVENT: ['EVENT'],
  MANAGED_OBJECT: ['INVENTORY', 'MANAGED_OBJECT'],
  MEASUREMENT: ['MEASUREMENT'],
  OPERATION: ['DEVICE_CONTROL'],
};

/** Global roles each of which gives it for all objects. */
export const globalRolesFor = ({ scope, permission }: WantedAccess): string[] =>
  AREAS[scope].map((area) => `ROLE_${area}_${permission}`);

/** Text form of older clients: `<scope>:<type>:<permission>`. @returns undefined for anything else. */
export function parseDevicePermission(text: string): Omit<InventoryGrant, 'root'> | undefined {
  const [scope, type, permission, ...more] = text.split(':');
  if (more.length > 0 || !type || !isOneOf(GRANT_SCOPES, scope) || !isOneOf(GRANT_PERMISSIONS, permission))
    return undefined;
  return { scope, type, permission };
}

function isOneOf<Value extends string>(values: readonly Value[], text: string | undefined): text is Value {
  return (values as readonly (string | undefined)[]).includes(text);
}

/** What a grant allows, right by right. */
export function accessesOf({ scope, permission }: Pick<InventoryGrant, 'scope' | 'permission'>): WantedAccess[] {
  const scopes = scope === ANY ? GRANT_SCOPES.filter((one) => one !== ANY) : [scope];
  const permissions = permission === ANY ? GRANT_PERMISSIONS.filter((one) => one !== ANY) : [permission];
  return scopes.flatMap((one) => permissions.map((other) => ({ scope: one, permission: other })));
}
