/** How many template collections of either version a tenant has, and one user of it makes (docs/reference/limits.md). */
import type { Principal } from '../../model/access/principal.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { externalIdKey } from '../../model/entities/external-id.ts';
import { PlatformError } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { UNATTRIBUTED, type Refusals, type Refused } from '../../ports/refusals.ts';

/** Type of the external ID that is the X-ID, of SmartREST 2.0. */
export const X_ID_TYPE = 'c8y_SmartRest2DeviceIdentifier';
/** The same of SmartREST 1.0. */
export const COLLECTION_ID_TYPE = 'c8y_SmartRestDeviceIdentifier';

/** Collections of one tenant, of each version. */
export const COLLECTIONS_MAX = 1_000;
/** Those that one person makes, and one device: its credentials may be stolen, and the collections are those of all. */
const COLLECTIONS_OF_USER_MAX = 500;
const COLLECTIONS_OF_DEVICE_MAX = 50;

/** Names of the bounds, by the type of the external ID. */
const LIMITS: ReadonlyMap<string, { readonly ofTenant: string; readonly ofUser: string }> = new Map([
  [X_ID_TYPE, { ofTenant: 'smartrest/custom-collections', ofUser: 'smartrest/custom-collections-of-user' }],
  [COLLECTION_ID_TYPE, { ofTenant: 'smartrest/collections', ofUser: 'smartrest/collections-of-user' }],
]);

/** Whether an external ID of the type makes its object a template collection. */
export const isCollectionType = (type: string): boolean => LIMITS.has(type);

/** What a share goes by. */
export type CollectionMaker = Pick<Principal, 'userName' | 'ownRoles'>;

/** External IDs of the collections of a tenant, as many as it may have. */
export const collectionIds = (
  documents: Pick<DocumentReader, 'list'>,
  tenant: number,
  type: string,
): ReturnType<DocumentReader['list']> =>
  documents.list('externalId', tenant, externalIdKey(type, ''), { limit: COLLECTIONS_MAX });

/**
 * @param room.others as `collectionIds` finds them, with the user that made each. @param room.by the user that makes one more.
 * @throws PlatformError `smartrest/too-many-collections`, `smartrest/too-many-collections-of-user`, counted.
 */
export function requireRoomForCollection(
  type: string,
  room: { readonly others: readonly { readonly value: string }[]; readonly by: CollectionMaker },
  refusals: Refusals,
  refused: Refused = UNATTRIBUTED,
): void {
  const limits = LIMITS.get(type);
  if (limits === undefined) return;
  const isFull = room.others.length >= COLLECTIONS_MAX;
  const maximum = isFull ? COLLECTIONS_MAX : fullShare(room.others, room.by);
  if (maximum === undefined) return;
  const limit = isFull ? limits.ofTenant : limits.ofUser;
  refusals.count(limit, refused);
  const code = isFull ? 'smartrest/too-many-collections' : 'smartrest/too-many-collections-of-user';
  throw new PlatformError(code, { maximum, limit });
}

/** @returns the share of the user that has no room for one more. */
function fullShare(
  others: readonly { readonly value: string }[],
  { userName, ownRoles }: CollectionMaker,
): number | undefined {
  const isDevice = ownRoles !== undefined || isDeviceUser(userName);
  const maximum = isDevice ? COLLECTIONS_OF_DEVICE_MAX : COLLECTIONS_OF_USER_MAX;
  if (others.length < maximum) return undefined;
  const own = others.filter(({ value }) => (JSON.parse(value) as { by?: string }).by === userName);
  return own.length < maximum ? undefined : maximum;
}
