/** Schemas of users, groups, roles and logins (docs/spec/users.md). */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { GRANT_PERMISSIONS, GRANT_SCOPES } from '../../model/access/inventory-grant.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN, PASSWORD_STRENGTHS } from '../../model/access/password.ts';
import {
  Fragments,
  Link,
  OPEN,
  Timestamp,
  collectionOf,
  listOf,
  nullable,
  open,
  optional,
  ref,
} from '../../model/schema/parts.ts';

const text = Type.Optional(nullable(Type.String()));

const Password = Type.String({ minLength: PASSWORD_LENGTH_MIN, maxLength: PASSWORD_LENGTH_MAX });
const Reference = Type.Object(
  { id: Type.Optional(Type.Union([Type.String(), Type.Integer()])), self: Type.Optional(Type.String()) },
  OPEN,
);
export const RoleReference = Type.Object({ role: Reference }, OPEN);
export const UserReference = Type.Object({ user: Reference }, OPEN);
const Roles = Type.Union([Type.Array(Type.String()), Type.Object({ references: Type.Array(RoleReference) }, OPEN)]);
const DevicePermissions = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'By id of a managed object: <scope>:<type or fragment>:<permission>',
  examples: [{ 251: ['MANAGED_OBJECT:*:READ'] }],
});

/** What everybody may change of himself. */
const profile = {
  firstName: text,
  lastName: text,
  displayName: text,
  email: text,
  phone: text,
  newsletter: Type.Optional(nullable(Type.Boolean())),
  customProperties: Type.Optional(nullable(Type.Object({}, OPEN))),
};
const userMembers = {
  password: Type.Optional(nullable(Password)),
  sendPasswordResetEmail: Type.Optional(nullable(Type.Boolean())),
  ...profile,
  alias: text,
  owner: text,
  delegatedBy: text,
  enabled: Type.Optional(Type.Boolean()),
  shouldResetPassword: Type.Optional(nullable(Type.Boolean())),
  twoFactorAuthenticationEnabled: Type.Optional(nullable(Type.Boolean())),
  devicePermissions: Type.Optional(nullable(DevicePermissions)),
  applications: Type.Optional(nullable(Type.Array(Type.Object({}, OPEN)))),
};
const UserName = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'No blanks, slashes, backslashes, +, $, : and control characters',
});
export const User = Type.Object({ userName: UserName, ...userMembers, roles: Type.Optional(Roles) }, OPEN);
export const UserUpdate = Type.Object(userMembers, OPEN);
export const CurrentUserUpdate = Type.Object(
  {
    ...profile,
    password: Type.Optional(nullable(Password)),
    currentUserPassword: Type.Optional(nullable(Type.String())),
  },
  OPEN,
);
export const PasswordChange = Type.Object({ currentUserPassword: Type.String(), newPassword: Password }, OPEN);
export const PasswordResetRequest = Type.Object({ email: Type.String({ minLength: 3, maxLength: 254 }) }, OPEN);
export const PasswordReset = Type.Object({ token: Type.String(), email: Type.String(), newPassword: Password }, OPEN);

const groupMembers = {
  description: text,
  roles: Type.Optional(nullable(Roles)),
  applications: Type.Optional(nullable(Type.Array(Type.Object({}, OPEN)))),
  customProperties: Type.Optional(nullable(Type.Object({}, OPEN))),
  devicePermissions: Type.Optional(nullable(DevicePermissions)),
};
const GroupName = Type.String({ minLength: 1, maxLength: 254 });
export const Group = Type.Object({ name: GroupName, ...groupMembers }, OPEN);
export const GroupUpdate = Type.Object({ name: Type.Optional(GroupName), ...groupMembers }, OPEN);

const Permission = Type.Object(
  {
    scope: Type.Enum([...GRANT_SCOPES]),
    permission: Type.Enum([...GRANT_PERMISSIONS]),
    type: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  OPEN,
);
/** Permissions of one inventory role. */
export const PERMISSIONS_MAX = 100;
const DESCRIPTION_LENGTH_MAX = 4_000;
const inventoryRoleMembers = {
  description: Type.Optional(nullable(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  permissions: Type.Optional(Type.Array(Permission, { maxItems: PERMISSIONS_MAX })),
};
export const InventoryRole = Type.Object({ name: GroupName, ...inventoryRoleMembers }, OPEN);
export const InventoryRoleUpdate = Type.Object({ name: Type.Optional(GroupName), ...inventoryRoleMembers }, OPEN);
/** Inventory roles of one assignment. */
export const ASSIGNED_ROLES_MAX = 50;
const AssignedRoles = Type.Array(Type.Object({ id: Type.Union([Type.Integer(), Type.String()]) }, OPEN), {
  maxItems: ASSIGNED_ROLES_MAX,
});
export const InventoryAssignment = Type.Object(
  { managedObject: Type.Union([Type.String(), Type.Integer()]), roles: AssignedRoles },
  OPEN,
);
export const InventoryAssignmentUpdate = Type.Object({ roles: AssignedRoles }, OPEN);
const ObjectPermissions = Type.Array(Type.Object({ devicePermissions: Type.Optional(DevicePermissions) }, OPEN));
export const ObjectDevicePermissions = Type.Object(
  { users: Type.Optional(ObjectPermissions), groups: Type.Optional(ObjectPermissions) },
  OPEN,
);

const RolesOf = open({ self: Link, references: Type.Array(ref('roleReference')) });
const Groups = open({ self: Link, references: Type.Array(ref('groupReference')) });
const Users = open({ self: Link, references: Type.Array(ref('userReference')) });
const shownUser = {
  id: Type.String(),
  self: Link,
  userName: Type.String(),
  ...profile,
  alias: text,
  owner: text,
  delegatedBy: text,
  enabled: Type.Boolean(),
  shouldResetPassword: Type.Boolean(),
  twoFactorAuthenticationEnabled: Type.Boolean(),
  passwordStrength: optional(Type.Enum([...PASSWORD_STRENGTHS])),
  lastPasswordChange: optional(Timestamp),
  devicePermissions: optional(DevicePermissions),
  applications: optional(Type.Array(Fragments)),
  groups: optional(Groups),
  roles: optional(RolesOf),
};
const ShownPermission = open({ ...Permission.properties, id: Type.Integer() });
const ObjectPermission = open({
  userName: optional(Type.String()),
  id: optional(Type.Integer()),
  devicePermissions: DevicePermissions,
});

/** Answers by vendor name. */
export const USER_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  user: open(shownUser),
  userCollection: collectionOf('users', ref('user')),
  currentUser: open({ ...shownUser, effectiveRoles: Type.Array(ref('role')) }),
  userReference: open({ user: ref('user'), self: Link }),
  userReferenceCollection: collectionOf('references', ref('userReference')),
  userTfaData: open({
    tfaEnabled: Type.Boolean(),
    tfaEnforced: Type.Boolean(),
    strategy: Type.String(),
    lastTfaRequestTime: optional(nullable(Timestamp)),
  }),
  totpSecretActivity: open({ isActive: Type.Boolean(), isForced: Type.Boolean() }),
  group: open({
    id: Type.Integer(),
    self: Link,
    name: Type.String(),
    description: text,
    roles: optional(RolesOf),
    users: optional(Users),
    devicePermissions: optional(DevicePermissions),
    applications: optional(Type.Array(Fragments)),
    customProperties: optional(Fragments),
  }),
  groupCollection: collectionOf('groups', ref('group')),
  groupReference: open({ group: ref('group'), self: Link }),
  groupReferenceCollection: collectionOf('references', ref('groupReference')),
  role: open({ id: Type.String(), name: Type.String(), self: Link }),
  roleCollection: collectionOf('roles', ref('role')),
  roleReference: open({ role: ref('role'), self: Link }),
  roleReferenceCollection: collectionOf('references', ref('roleReference')),
  inventoryRole: open({
    id: Type.Integer(),
    self: Link,
    name: Type.String(),
    description: text,
    permissions: Type.Array(ShownPermission),
  }),
  inventoryRoleCollection: collectionOf('roles', ref('inventoryRole')),
  inventoryAssignment: open({
    id: Type.Integer(),
    self: Link,
    managedObject: Type.String(),
    roles: Type.Array(ref('inventoryRole')),
  }),
  inventoryAssignmentCollection: listOf('inventoryAssignments', ref('inventoryAssignment')),
  devicePermissions: open({ self: Link, users: Type.Array(ObjectPermission), groups: Type.Array(ObjectPermission) }),
};
