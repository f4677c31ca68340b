/** Groups of users (docs/spec/users.md#groups): their stored form, and those that every tenant begins with. */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { DEVICES_GROUP, DEVICE_ROLES } from '../../model/entities/device-request.ts';
import { ROLES } from '../../model/access/roles.ts';
import { changeRecords, retried } from '../../records/records.ts';
import type { RecordPorts } from '../../records/records.ts';
import { memberKey } from '../../actors/handlers/users/user.ts';

/** A group as stored in the collection `group`, by its id. */
export interface StoredGroup {
  readonly id: number;
  readonly name: string;
  readonly roles: readonly string[];
  /** Further members as sent (description, customProperties, devicePermissions, applications). */
  readonly doc: string;
}

/** Record that stands for a name: no two groups have the same. */
const groupNameKey = (name: string): string => `n\n${name}`;
/** Begins with the groups, which have digits, only. */
export const isGroupKey = (key: string): boolean => /^\d+$/.test(key);
/** Written with the predefined groups: one that was deleted is not made again by the next start. */
export const GROUPS_MADE_KEY = 'predefined';

export const ADMINS_GROUP = 1;

/** What a device user gets, however it registers. */
export async function rightsOfDevices(
  documents: Pick<DocumentReader, 'get'>,
  tenant: number,
): Promise<Pick<UserPut, 'addGroups' | 'addRoles'>> {
  const hasGroup = (await documents.get('group', tenant, String(DEVICES_GROUP))) !== undefined;
  return hasGroup ? { addGroups: [DEVICES_GROUP] } : { addRoles: DEVICE_ROLES };
}

const of = (areas: readonly string[], levels: readonly string[]): string[] =>
  areas.flatMap((area) => levels.map((level) => `ROLE_${area}_${level}`)).filter((role) => ROLES.includes(role));

const DATA = [
  'INVENTORY',
  'MANAGED_OBJECT',
  'IDENTITY',
  'MEASUREMENT',
  'EVENT',
  'ALARM',
  'DEVICE_CONTROL',
  'BULK_OPERATION',
  'BINARY',
];
const OWN = of(['USER_MANAGEMENT'], ['OWN_READ', 'OWN_ADMIN']);
const reads = (areas: readonly string[]): string[] => of(areas, ['READ']);
const all = (areas: readonly string[]): string[] => of(areas, ['READ', 'ADMIN', 'CREATE']);

/**
 * Ids are the same in every tenant. `admins` has all roles; what the others have is the smallest that fits their names.
 */
const PREDEFINED_GROUPS: readonly {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly roles: readonly string[];
}[] = [
  { id: ADMINS_GROUP, name: 'admins', description: 'All permissions', roles: ROLES },
  {
    id: DEVICES_GROUP,
    name: 'devices',
    description: 'Registered devices',
    // Data and operations of its own objects a device reaches as their owner.
    roles: [
      'ROLE_DEVICE',
      'ROLE_INVENTORY_CREATE',
      'ROLE_INVENTORY_READ',
      'ROLE_IDENTITY_READ',
      'ROLE_IDENTITY_ADMIN',
      'ROLE_BINARY_CREATE',
      'ROLE_BINARY_READ',
    ],
  },
  {
    id: 3,
    name: 'business',
    description: 'Uses devices and their data, administers nothing',
    roles: [...all(DATA), ...reads(['AUDIT', 'USER_MANAGEMENT']), ...OWN],
  },
  { id: 4, name: 'readers', description: 'Reads all data', roles: [...reads([...DATA, 'AUDIT']), ...OWN] },
  {
    id: 5,
    name: 'Device Management User',
    description: 'Uses devices',
    roles: [
      ...all(['INVENTORY', 'IDENTITY', 'DEVICE_CONTROL', 'BULK_OPERATION', 'BINARY', 'ALARM', 'EVENT']),
      ...reads(['MEASUREMENT', 'AUDIT']),
      ...OWN,
    ],
  },
  {
    id: 6,
    name: 'Cockpit User',
    description: 'Uses data of devices',
    roles: [...reads(DATA), ...all(['ALARM']), ...OWN],
  },
  {
    id: 7,
    name: 'CEP Manager',
    description: 'Administers event processing',
    roles: [...all(['CEP_MANAGEMENT']), ...OWN],
  },
  {
    id: 8,
    name: 'Global Manager',
    description: 'Reads and writes all data',
    roles: [...all([...DATA, 'AUDIT']), ...OWN],
  },
  {
    id: 9,
    name: 'Global Reader',
    description: 'Reads all data',
    roles: [...reads([...DATA, 'AUDIT', 'OPTION_MANAGEMENT', 'RETENTION_RULE', 'USER_MANAGEMENT']), ...OWN],
  },
  {
    id: 10,
    name: 'Global User Manager',
    description: 'Administers all users',
    roles: of(['USER_MANAGEMENT'], ['READ', 'ADMIN', 'CREATE', 'OWN_READ', 'OWN_ADMIN']),
  },
  {
    id: 11,
    name: 'Shared User Manager',
    description: 'Creates and administers subusers',
    roles: of(['USER_MANAGEMENT'], ['CREATE', 'OWN_READ', 'OWN_ADMIN']),
  },
  {
    id: 12,
    name: 'Tenant Manager',
    description: 'Administers applications, options, retention and the tenant',
    roles: [
      ...all(['APPLICATION_MANAGEMENT', 'OPTION_MANAGEMENT', 'RETENTION_RULE']),
      ...reads(['TENANT_STATISTICS']),
      'ROLE_TENANT_ADMIN',
      ...OWN,
    ],
  },
];

/** Inventory roles that every tenant begins with (docs/spec/users.md#inventory-roles). */
const PREDEFINED_INVENTORY_ROLES: readonly {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly { readonly scope: string; readonly type: string; readonly permission: string }[];
}[] = [
  {
    id: 1,
    name: 'Reader',
    description: 'Reads all data of the devices',
    permissions: [{ scope: '*', type: '*', permission: 'READ' }],
  },
  {
    id: 2,
    name: 'Manager',
    description: 'Manages devices, but sends no operations',
    permissions: [
      { scope: '*', type: '*', permission: 'READ' },
      { scope: 'MANAGED_OBJECT', type: '*', permission: 'ADMIN' },
      { scope: 'ALARM', type: '*', permission: 'ADMIN' },
      { scope: 'EVENT', type: '*', permission: 'ADMIN' },
      { scope: 'MEASUREMENT', type: '*', permission: 'ADMIN' },
    ],
  },
  {
    id: 3,
    name: 'Operations: All',
    description: 'Sends operations of every kind',
    permissions: [{ scope: 'OPERATION', type: '*', permission: 'ADMIN' }],
  },
  {
    id: 4,
    name: 'Operations: Restart Device',
    description: 'Restarts devices',
    permissions: [{ scope: 'OPERATION', type: 'c8y_Restart', permission: 'ADMIN' }],
  },
];

/** An inventory role as stored in the collection `inventoryRole`, by its id. */
export interface StoredInventoryRole {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly {
    readonly id: number;
    readonly scope: string;
    readonly type: string;
    readonly permission: string;
  }[];
}
const inventoryRoleNameKey = groupNameKey;

/** An assignment as stored in the collection `inventoryAssignment`, by `<user>\n<id>`. */
export interface StoredAssignment {
  readonly id: number;
  readonly managedObject: string;
  readonly roles: readonly number[];
}

/**
 * Records of the groups and inventory roles of a new tenant: to be stored together, when GROUPS_MADE_KEY is not there.
 */
export function predefinedRecords(): { collection: 'group' | 'inventoryRole'; id: string; value: string }[] {
  return [
    { collection: 'group', id: GROUPS_MADE_KEY, value: '1' },
    ...PREDEFINED_GROUPS.flatMap(({ id, name, description, roles }) => {
      const group: StoredGroup = { id, name, roles: [...new Set(roles)], doc: JSON.stringify({ description }) };
      return [
        { collection: 'group' as const, id: String(id), value: JSON.stringify(group) },
        { collection: 'group' as const, id: groupNameKey(name), value: String(id) },
      ];
    }),
    ...PREDEFINED_INVENTORY_ROLES.flatMap(({ id, name, description, permissions }) => {
      const role: StoredInventoryRole = {
        id,
        name,
        description,
        permissions: permissions.map((permission, index) => ({ id: index + 1, ...permission })),
      };
      return [
        { collection: 'inventoryRole' as const, id: String(id), value: JSON.stringify(role) },
        { collection: 'inventoryRole' as const, id: inventoryRoleNameKey(name), value: String(id) },
      ];
    }),
  ];
}

/** Members of a deleted group that are removed with one command. */
const MEMBERS_AT_ONCE = 1_000;

/**
 * Of a group that is deleted. Its users keep the id, which means nothing any more and is never given again; a crash
 * here leaves entries that no caller reads.
 */
export async function removeMembers(ports: RecordPorts, tenant: number, group: number): Promise<void> {
  const removeSome = async (): Promise<boolean> => {
    const limit = MEMBERS_AT_ONCE;
    const rows = await ports.documents.list('groupMember', tenant, memberKey(group, ''), { limit });
    if (rows.length === 0) return false;
    await changeRecords(
      ports,
      tenant,
      rows.map(({ id, value }) => ({ collection: 'groupMember', id, expected: value, value: undefined })),
    );
    return true;
  };
  while (await retried(ports, removeSome));
}
