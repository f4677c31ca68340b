/**
 * Requests of new devices for credentials (docs/spec/device-registration.md#requests). A device knows no tenant: an id
 * is unique over all of them, and the requests of all tenants are records of the server (tenant 0).
 */

/** Number under which records of the whole server are kept. */
export const REQUESTS_TENANT = 0;
export const REQUESTS = 'deviceRequest';

export const DEVICE_REQUEST_STATUSES = ['WAITING_FOR_CONNECTION', 'PENDING_ACCEPTANCE', 'ACCEPTED', 'BLOCKED'] as const;
export type DeviceRequestStatus = (typeof DEVICE_REQUEST_STATUSES)[number];

/** What becomes of security tokens that devices show (docs/spec/device-registration.md#security-tokens). */
export const TOKEN_POLICIES = ['IGNORED', 'OPTIONAL', 'REQUIRED'] as const;
export type TokenPolicy = (typeof TOKEN_POLICIES)[number];

/** As stored under `requestKey`. */
export interface StoredDeviceRequest {
  readonly id: string;
  /** Number of the tenant that expects the device. */
  readonly tenant: number;
  readonly status: DeviceRequestStatus;
  readonly owner: string;
  /** ms since 1970. */
  readonly createdAt: number;
  readonly groupId?: string;
  readonly type?: string;
  /** JSON text of an object. */
  readonly customProperties?: string;
  /** The one that the device has shown last. */
  readonly securityToken?: string;
  /** Wrong tokens that users entered; too many block the request. */
  readonly wrongTokens?: number;
}

export const DEVICE_USER_PREFIX = 'device_';
/** Whether the user is one of those that devices log in with. */
export const isDeviceUser = (userName: string): boolean => userName.startsWith(DEVICE_USER_PREFIX);
/** Every registered device user is in this group. */
export const DEVICES_GROUP = 2;
/** Roles of a device user in a tenant that has deleted the group of devices. */
export const DEVICE_ROLES: readonly string[] = [
  'ROLE_DEVICE',
  'ROLE_INVENTORY_CREATE',
  'ROLE_INVENTORY_READ',
  'ROLE_IDENTITY_READ',
  'ROLE_IDENTITY_ADMIN',
];
export const deviceUserOf = (id: string): string => `${DEVICE_USER_PREFIX}${id}`;

export const requestKey = (id: string): string => `d\n${id}`;
/** The requests of a tenant begin with it; what follows is the id. */
export const tenantPrefix = (tenant: number): string => `t\n${tenant}\n`;
export const tenantKey = (tenant: number, id: string): string => `${tenantPrefix(tenant)}${id}`;
/** The group that the first object of a new device user joins. */
export const joinKey = (tenant: number, userName: string): string => `${joinPrefix(tenant)}${userName}`;
export const joinPrefix = (tenant: number): string => `g\n${tenant}\n`;

const DEVICE_ID_LENGTH_MAX = 1000;
/** Ids are parts of keys, which have a limit. */
const DEVICE_ID_BYTES_MAX = 1400;
export const DEVICE_ID_RULE =
  `1 to ${DEVICE_ID_LENGTH_MAX} characters (${DEVICE_ID_BYTES_MAX} bytes) without blanks, control characters and / + $ :, ` +
  'and not . or ..';

/** An id has to make a user name (docs/spec/users.md#fields), and a segment of paths that clients leave as it is. */
export function isDeviceId(id: string): boolean {
  // eslint-disable-next-line no-control-regex
  return (
    id.length > 0 &&
    id.length <= DEVICE_ID_LENGTH_MAX &&
    id !== '.' &&
    id !== '..' &&
    !/[\s/+$:\u0000-\u001f\u007f\p{Surrogate}]/u.test(id) &&
    Buffer.byteLength(id) <= DEVICE_ID_BYTES_MAX
  );
}

export const SECURITY_TOKEN_LENGTH_MAX = 1000;
/** UTF-8 bytes of what a request carries along, each: requests are read by the page. */
export const CUSTOM_PROPERTIES_BYTES_MAX = 16_384;
export const REQUEST_TYPE_BYTES_MAX = 1_000;

/** What a device gets, once. */
export interface DeviceCredentials {
  readonly id: string;
  /** Tenant id. */
  readonly tenantId: string;
  readonly userName: string;
  readonly password: string;
}
