/** Schemas of users, groups, roles and logins (document 4 section 3). */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { GRANT_PERMISSIONS, GRANT_SCOPES } from '../model/inventory-access.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN, PASSWORD_STRENGTHS } from '../model/password.ts';

const OPEN = { additionalProperties: true } as const;
const nullable = (schema: TSchema): TSchema => Type.Union([schema, Type.Null()]);
const text = Type.Optional(nullable(Type.String()));

const Password = Type.String({ minLength: PASSWORD_LENGTH_MIN, maxLength: PASSWORD_LENGTH_MAX });
const Reference = Type.Object({ id: Type.Optional(Type.Union([Type.String(), Type.Integer()])), self: Type.Optional(Type.String()) }, OPEN);
export const RoleReference = Type.Object({ role: Reference }, OPEN);
export const UserReference = Type.Object({ user: Reference }, OPEN);
const Roles = Type.Union([Type.Array(Type.String()), Type.Object({ references: Type.Array(RoleReference) }, OPEN)]);
const DevicePermissions = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'By id of a managed object: <scope>:<type or fragment>:<permission>',
  examples: [{ 251: ['MANAGED_OBJECT:*:READ'] }],
});

/** What everybody may change of himself. */
const profile = {
  firstName: text, lastName: text, displayName: text, email: text, phone: text,
  newsletter: Type.Optional(nullable(Type.Boolean())),
  customProperties: Type.Optional(nullable(Type.Object({}, OPEN))),
};
const userMembers = {
  password: Type.Optional(Password),
  sendPasswordResetEmail: Type.Optional(Type.Boolean()),
  ...profile,
  alias: text,
  owner: text,
  delegatedBy: text,
  enabled: Type.Optional(Type.Boolean()),
  shouldResetPassword: Type.Optional(Type.Boolean()),
  twoFactorAuthenticationEnabled: Type.Optional(Type.Boolean()),
  devicePermissions: Type.Optional(nullable(DevicePermissions)),
  applications: Type.Optional(nullable(Type.Array(Type.Object({}, OPEN)))),
};
const UserName = Type.String({ minLength: 1, maxLength: 1000, description: 'No blanks, slashes, backslashes, +, $, : and control characters' });
export const User = Type.Object({ userName: UserName, ...userMembers, roles: Type.Optional(Roles) }, OPEN);
export const UserUpdate = Type.Object(userMembers, OPEN);
export const CurrentUserUpdate = Type.Object({ ...profile, password: Type.Optional(Password) }, OPEN);
export const PasswordChange = Type.Object({ currentUserPassword: Type.String(), newPassword: Password }, OPEN);
export const PasswordResetRequest = Type.Object({ email: Type.String({ minLength: 3, maxLength: 254 }) }, OPEN);
export const PasswordReset = Type.Object({ token: Type.String(), email: Type.String(), newPassword: Password }, OPEN);

const groupMembers = {
  description: text,
  roles: Type.Optional(Roles),
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
const inventoryRoleMembers = { description: text, permissions: Type.Optional(Type.Array(Permission, { maxItems: PERMISSIONS_MAX })) };
export const InventoryRole = Type.Object({ name: GroupName, ...inventoryRoleMembers }, OPEN);
export const InventoryRoleUpdate = Type.Object({ name: Type.Optional(GroupName), ...inventoryRoleMembers }, OPEN);
/** Inventory roles of one assignment. */
export const ASSIGNED_ROLES_MAX = 50;
const AssignedRoles = Type.Array(Type.Object({ id: Type.Union([Type.Integer(), Type.String()]) }, OPEN), { maxItems: ASSIGNED_ROLES_MAX });
export const InventoryAssignment = Type.Object({ managedObject: Type.Union([Type.String(), Type.Integer()]), roles: AssignedRoles }, OPEN);
export const InventoryAssignmentUpdate = Type.Object({ roles: AssignedRoles }, OPEN);
const ObjectPermissions = Type.Array(Type.Object({ devicePermissions: Type.Optional(DevicePermissions) }, OPEN));
export const ObjectDevicePermissions = Type.Object({ users: Type.Optional(ObjectPermissions), groups: Type.Optional(ObjectPermissions) }, OPEN);

const Link = Type.String({ format: 'uri' });
const Any = Type.Object({}, OPEN);
const page = (name: string): TSchema => Type.Object({ self: Link, [name]: Type.Array(Any) }, OPEN);
const role = Type.Object({ id: Type.String(), name: Type.String(), self: Link }, OPEN);

/** Answers by vendor name. */
export const USER_ANSWER_SCHEMAS: Readonly<Record<string, TSchema>> = {
  user: Type.Object(
    {
      id: Type.String(), self: Link, userName: Type.String(), enabled: Type.Boolean(), shouldResetPassword: Type.Boolean(),
      twoFactorAuthenticationEnabled: Type.Boolean(), passwordStrength: Type.Optional(Type.Enum([...PASSWORD_STRENGTHS])),
    },
    OPEN,
  ),
  userCollection: page('users'),
  currentUser: Type.Object({ id: Type.String(), self: Link, userName: Type.String(), effectiveRoles: Type.Array(role) }, OPEN),
  userReference: Type.Object({ user: Any, self: Link }, OPEN),
  userReferenceCollection: page('references'),
  group: Type.Object({ id: Type.Integer(), self: Link, name: Type.String() }, OPEN),
  groupCollection: page('groups'),
  groupReferenceCollection: page('references'),
  role,
  roleCollection: page('roles'),
  roleReference: Type.Object({ role, self: Link }, OPEN),
  roleReferenceCollection: page('references'),
  inventoryRole: Type.Object({ id: Type.Integer(), self: Link, name: Type.String(), permissions: Type.Array(Any) }, OPEN),
  inventoryRoleCollection: page('roles'),
  inventoryAssignment: Type.Object({ id: Type.Integer(), self: Link, managedObject: Type.String(), roles: Type.Array(Any) }, OPEN),
  inventoryAssignmentCollection: page('inventoryAssignments'),
};
