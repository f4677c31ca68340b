/** The permission catalogue (docs/spec/users.md#roles). */

const READ_ADMIN = [
  'ALARM',
  'AUDIT',
  'EVENT',
  'MEASUREMENT',
  'DEVICE_CONTROL',
  'BULK_OPERATION',
  'IDENTITY',
  'RETENTION_RULE',
  'OPTION_MANAGEMENT',
  'APPLICATION_MANAGEMENT',
  'CEP_MANAGEMENT',
  'DATA_BROKER',
  'SCHEDULE_REPORT',
  'SIMULATOR',
  'SMS',
  'SMARTRULE',
  'MACHINE_LEARNING',
];
const READ_ADMIN_CREATE = ['INVENTORY', 'MANAGED_OBJECT', 'BINARY'];

const catalogue = (areas: readonly string[], levels: readonly string[]): string[] =>
  areas.flatMap((area) => levels.map((level) => `ROLE_${area}_${level}`));

/** Each of them may read all managed objects, or change them. */
export const INVENTORY_READ: readonly string[] = ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ'];
export const INVENTORY_ADMIN: readonly string[] = ['ROLE_INVENTORY_ADMIN', 'ROLE_MANAGED_OBJECT_ADMIN'];

/** Each of them may create managed objects. */
export const INVENTORY_CREATE: readonly string[] = [
  ...INVENTORY_ADMIN,
  'ROLE_INVENTORY_CREATE',
  'ROLE_MANAGED_OBJECT_CREATE',
];

export const hasAnyOf = (held: ReadonlySet<string>, roles: readonly string[]): boolean =>
  roles.some((role) => held.has(role));

export const mayCreateObjects = (held: ReadonlySet<string>): boolean => hasAnyOf(held, INVENTORY_CREATE);

/** All roles but those of the platform itself: what the administrator of a tenant has. */
export const ROLES: readonly string[] = [
  ...catalogue(READ_ADMIN, ['READ', 'ADMIN']),
  ...catalogue(READ_ADMIN_CREATE, ['READ', 'ADMIN', 'CREATE']),
  ...catalogue(['USER_MANAGEMENT'], ['READ', 'ADMIN', 'CREATE', 'OWN_READ', 'OWN_ADMIN']),
  ...catalogue(['TENANT_MANAGEMENT'], ['READ', 'ADMIN', 'CREATE', 'UPDATE']),
  'ROLE_TENANT_STATISTICS_READ',
  'ROLE_TENANT_ADMIN',
  'ROLE_NOTIFICATION_2_ADMIN',
  'ROLE_REMOTE_ACCESS_ADMIN',
  'ROLE_DEVICE',
  'ROLE_MQTT_SERVICE_ADMIN',
];

/** The role that a name in a request means: the public documentation writes one of them in two ways. */
export const roleNamed = (name: string): string => (name === 'ROLE_ALARMS_READ' ? 'ROLE_ALARM_READ' : name);

/** The only role of the device bootstrap user (docs/spec/device-registration.md#bootstrap-user). */
export const BOOTSTRAP_ROLE = 'ROLE_DEVICE_BOOTSTRAP';
export const BOOTSTRAP_USER = 'devicebootstrap';

/** The only role of the bootstrap user of a microservice (docs/spec/microservices.md#users). */
export const SERVICE_BOOTSTRAP_ROLE = 'ROLE_SERVICE_BOOTSTRAP';
/** No user is given these, and no microservice may ask for them. */
export const INTERNAL_ROLES: readonly string[] = [BOOTSTRAP_ROLE, SERVICE_BOOTSTRAP_ROLE, 'ROLE_SYSTEM'];

/** Roles that applications define for their own interfaces: the platform asks for none of them. */
export const isOfApplication = (role: string): boolean => !ROLES.includes(role) && !INTERNAL_ROLES.includes(role);
