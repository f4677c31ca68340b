/**
 * Who may bind a serial number (external ID of type `c8y_Serial`) to which no object is bound yet. A stolen device must
 * not take that of another one, which could not connect then.
 */
import type { Collection } from '../commands/collections.ts';
import type { SerialClaim } from '../commands/external-ids.ts';
import { deviceUserOf, isDeviceId, REQUESTS, REQUESTS_TENANT, tenantKey } from '../entities/device-request.ts';
import type { Principal } from './principal.ts';

export const SERIAL_TYPE = 'c8y_Serial';

/** Roles each of which lets a registered device bind any serial number, when they count for all objects. */
const BINDING_ROLES = ['ROLE_DEVICE_CONTROL_ADMIN', 'ROLE_INVENTORY_ADMIN', 'ROLE_IDENTITY_ADMIN'];

/** Registered devices claim: their roles count for their own objects. All other users bind what they may. */
export function serialClaim({ ownRoles, roles, userName }: Principal): SerialClaim {
  return ownRoles === undefined || BINDING_ROLES.some((role) => roles.has(role)) ? {} : { claimant: userName };
}

/**
 * Whether the serial number is that of another registered device: the tenant has its user, or has announced it.
 * @param read throws where a document has to be waited for.
 */
export function isSerialOfOther(
  read: (collection: Collection, tenant: number, id: string) => string | undefined,
  tenant: number,
  claimant: string,
  serial: string,
): boolean {
  const owner = deviceUserOf(serial);
  if (claimant === owner || !isDeviceId(serial)) return false;
  return (
    read('user', tenant, owner) !== undefined ||
    read(REQUESTS, REQUESTS_TENANT, tenantKey(tenant, serial)) !== undefined
  );
}
