/** What the user may do. What is not allowed stays visible and says which role it needs. */
import { computed, signal } from '@preact/signals';
import { getJson } from './json.ts';
import { user } from './session.ts';

/**
 * Stands behind the roles of requests that the server also takes from owners of the object and from holders of inventory
 * roles that change it: whether it is theirs the server alone knows.
 */
export const BY_OBJECT = 'BY_OBJECT';
/** The same for what is read only. */
export const BY_READING = 'BY_READING';
type ByObject = typeof BY_OBJECT | typeof BY_READING;

const roles = computed(() => new Set((user.value?.effectiveRoles ?? []).map(({ id }) => id)));

/** What the user may do with objects, by ownership or inventory roles; undefined while it is not known. */
const byObject = signal<ReadonlySet<ByObject> | undefined>(undefined);
let isAsked = false;

const EVERYTHING: ReadonlySet<ByObject> = new Set([BY_OBJECT, BY_READING]);

async function readByObject(): Promise<ReadonlySet<ByObject>> {
  const rights = '/user/currentUser/effectiveRights';
  const { grants } = await getJson<{ grants: readonly { readonly permission: string }[] }>(rights);
  if (grants.some(({ permission }) => permission !== 'READ')) return EVERYTHING;
  const query = new URLSearchParams({ owner: user.peek()?.userName ?? '', pageSize: '1', withChildren: 'false' });
  const { managedObjects } = await getJson<{ managedObjects: readonly unknown[] }>(
    `/inventory/managedObjects?${query}`,
  );
  if (managedObjects.length > 0) return EVERYTHING;
  return new Set<ByObject>(grants.length > 0 ? [BY_READING] : []);
}

/** The user has made an object, and owns it. */
export function madeObject(): void {
  byObject.value = EVERYTHING;
}

/** True until the server has said otherwise: its refusal speaks for itself. */
function may(what: ByObject): boolean {
  if (!isAsked && user.peek() !== undefined) {
    isAsked = true;
    readByObject().then(
      (known) => {
        // An object may have been made meanwhile.
        if (byObject.peek() === undefined) byObject.value = known;
      },
      // Not known: the buttons send.
      () => undefined,
    );
  }
  return byObject.value?.has(what) ?? true;
}

const isByObject = (role: string): role is ByObject => role === BY_OBJECT || role === BY_READING;

/** True for a holder of any of the roles. The server decides; this only spares people a refusal. */
export const hasRole = (...wanted: readonly string[]): boolean =>
  wanted.some((role) => (isByObject(role) ? may(role) : roles.value.has(role)));

/** The first of the roles when the user has none of them: what a button says beside itself. */
export const missingRole = (...wanted: readonly string[]): string | undefined =>
  hasRole(...wanted) ? undefined : wanted[0];

/** The roles themselves, for what a person reads. */
export const namedRoles = (wanted: readonly string[]): readonly string[] => wanted.filter((role) => !isByObject(role));
