/** What a connected device may write besides itself (docs/spec/login.md#rights, docs/spec/mqtt.md#names). */
import { mayAccess } from '../../model/access/inventory-access.ts';
import type { WantedAccess } from '../../model/access/inventory-grant.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { KnownDocuments } from './loaded-documents.ts';

/** Objects looked at on the way up. */
const ANCESTORS_MAX = 1_000;

/** Whether `id` is `top` or below it, by links of any kind. @throws NotLoaded, as all of this file. */
export function isAtOrBelow(documents: KnownDocuments, tenant: number, id: number, top: number): boolean {
  const found = [String(id)];
  for (let index = 0; index < found.length && found.length <= ANCESTORS_MAX; index += 1) {
    if (found[index] === String(top)) return true;
    const parents = documents.list('parents', tenant, `${found[index]}\n`, { limit: ANCESTORS_MAX });
    for (const parent of parents) {
      const parentId = parent.id.slice(parent.id.lastIndexOf('\n') + 1);
      if (!found.includes(parentId)) found.push(parentId);
    }
  }
  return false;
}

/** What inventory roles have to allow in place of a role; by other roles they have no say. */
const SCOPES: Readonly<Record<string, WantedAccess['scope']>> = {
  ROLE_INVENTORY_ADMIN: 'MANAGED_OBJECT',
  ROLE_MEASUREMENT_ADMIN: 'MEASUREMENT',
  ROLE_EVENT_ADMIN: 'EVENT',
  ROLE_ALARM_ADMIN: 'ALARM',
  ROLE_DEVICE_CONTROL_ADMIN: 'OPERATION',
};

/**
 * Whether the user owns the object, or has `role` or a permission in its place. An object that does not exist is for
 * the actor to refuse.
 */
export function ownsOrHasRole(documents: KnownDocuments, principal: Principal, id: number, role: string): boolean {
  if (principal.roles.has(role)) return true;
  const doc = documents.get('managedObject', principal.tenantNumber, String(id));
  return doc === undefined || mayWrite(documents, principal, { id, doc }, role);
}

/** The same of an object that has been read. */
export function mayWrite(
  documents: KnownDocuments,
  principal: Principal,
  { id, doc }: { readonly id: number; readonly doc: string },
  role: string,
): boolean {
  if (principal.roles.has(role)) return true;
  const wanted = { scope: SCOPES[role] ?? 'MANAGED_OBJECT', permission: 'ADMIN' } as const;
  return mayAccess(documents, principal, { id: String(id), doc }, wanted) === true;
}
