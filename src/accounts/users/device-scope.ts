/**
 * What the roles of registered devices count for: roles over objects and their data count for the device's own objects,
 * unless a user or another group gives them. A stolen device has the credentials of one device, so it must not read or
 * change the others of its tenant.
 */
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { DEVICE_ROLES, DEVICES_GROUP, isDeviceUser } from '../../model/entities/device-request.ts';
import { optionKey } from '../options/options.ts';
import type { StoredOption } from '../options/options.ts';

/** Option of a tenant: what the reading roles of its devices count for. */
const READ_SCOPE = { category: 'device-access', key: 'read.scope' } as const;
/** Value for fleets whose devices read each other's objects. Every other value means `OWN`, the default. */
const WHOLE_TENANT = 'TENANT';
const READ_SCOPE_ID = optionKey(READ_SCOPE.category, READ_SCOPE.key);

const AREAS = [
  'INVENTORY',
  'MANAGED_OBJECT',
  'IDENTITY',
  'BINARY',
  'MEASUREMENT',
  'EVENT',
  'ALARM',
  'DEVICE_CONTROL',
  'AUDIT',
];
const READING: ReadonlySet<string> = new Set(AREAS.map((area) => `ROLE_${area}_READ`));
const OF_OBJECTS: ReadonlySet<string> = new Set([...READING, ...AREAS.map((area) => `ROLE_${area}_ADMIN`)]);

export interface DeviceScope {
  /** The reading roles of devices count for all objects. */
  readonly readsTenant: boolean;
  /** The tenant has the group `devices`; without it registration gives the roles to each user. */
  readonly hasGroup: boolean;
}

export const isReadScope = ({ collection, id }: { readonly collection: string; readonly id: string }): boolean =>
  collection === 'option' && id === READ_SCOPE_ID;

const isOfDevices = ({ userName, groups }: Pick<StoredUser, 'userName' | 'groups'>): boolean =>
  isDeviceUser(userName) || groups?.includes(DEVICES_GROUP) === true;

/** @returns undefined for a user who is not a registered device. */
export async function deviceScope(
  documents: Pick<DocumentReader, 'get'>,
  tenant: number,
  user: StoredUser,
): Promise<DeviceScope | undefined> {
  if (!isOfDevices(user)) return undefined;
  const isMember = user.groups?.includes(DEVICES_GROUP) === true;
  const [option, group] = await Promise.all([
    documents.get('option', tenant, READ_SCOPE_ID),
    isMember ? '' : documents.get('group', tenant, String(DEVICES_GROUP)),
  ]);
  return {
    readsTenant: option !== undefined && (JSON.parse(option) as StoredOption).value === WHOLE_TENANT,
    hasGroup: group !== undefined,
  };
}

/** @param rolesOf a group of the user. @returns the roles of a registered device that count for all objects. */
export function globalRoles(
  user: StoredUser,
  rolesOf: (group: number) => readonly string[],
  scope: DeviceScope,
): Set<string> {
  const isOwn = (role: string): boolean => OF_OBJECTS.has(role) && !(scope.readsTenant && READING.has(role));
  const isOfRegistration = (role: string): boolean => !scope.hasGroup && DEVICE_ROLES.includes(role);
  const roles = new Set(user.roles.filter((role) => !(isOfRegistration(role) && isOwn(role))));
  for (const group of user.groups ?? []) {
    for (const role of rolesOf(group)) if (group !== DEVICES_GROUP || !isOwn(role)) roles.add(role);
  }
  return roles;
}
