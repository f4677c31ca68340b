/** What the user may do. What is not allowed stays visible and says which role it needs. */
import { computed, signal } from '@preact/signals';
import { getJson } from './json.ts';
import { user } from './session.ts';

/**
 * Stands behind the roles of requests that the server also takes from owners of the object and from holders of inventory
 * roles: whether it is theirs the server alone knows.
 */
export const BY_OBJECT = 'BY_OBJECT';

const roles = computed(() => new Set((user.value?.effectiveRoles ?? []).map(({ id }) => id)));

/** Whether the user has objects, or rights over some; undefined while it is not known. */
const hasObjects = signal<boolean | undefined>(undefined);
let isAsked = false;

async function readHasObjects(): Promise<boolean> {
  const { grants } = await getJson<{ grants: readonly unknown[] }>('/user/currentUser/effectiveRights');
  if (grants.length > 0) return true;
  const query = new URLSearchParams({ owner: user.peek()?.userName ?? '', pageSize: '1', withChildren: 'false' });
  const { managedObjects } = await getJson<{ managedObjects: readonly unknown[] }>(
    `/inventory/managedObjects?${query}`,
  );
  return managedObjects.length > 0;
}

/** The user has made an object, and owns it. */
export function madeObject(): void {
  hasObjects.value = true;
}

/** True until the server has said otherwise: its refusal speaks for itself. */
function mayHaveObjects(): boolean {
  if (!isAsked && user.peek() !== undefined) {
    isAsked = true;
    readHasObjects().then(
      (has) => {
        hasObjects.value ||= has;
      },
      // Not known: the buttons send.
      () => undefined,
    );
  }
  return hasObjects.value !== false;
}

/** True for a holder of any of the roles. The server decides; this only spares people a refusal. */
export const hasRole = (...wanted: readonly string[]): boolean =>
  wanted.some((role) => (role === BY_OBJECT ? mayHaveObjects() : roles.value.has(role)));

/** The first of the roles when the user has none of them: what a button says beside itself. */
export const missingRole = (...wanted: readonly string[]): string | undefined =>
  hasRole(...wanted) ? undefined : wanted[0];

/** The roles themselves, for what a person reads. */
export const namedRoles = (wanted: readonly string[]): readonly string[] => wanted.filter((role) => role !== BY_OBJECT);
