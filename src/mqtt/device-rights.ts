/** What a connected device may write besides itself (document 1 Authentication 6, document 4 section 7.2). */
import type { DocumentReader } from '../model/command.ts';
import { splitMembers, stringMember } from '../model/json-document.ts';
import type { Principal } from '../model/principal.ts';

/** Objects looked at on the way up. */
const ANCESTORS_MAX = 1_000;

/** Whether `id` is `top` or below it, by links of any kind. A store that does not answer at once counts as no. */
export function isAtOrBelow(documents: DocumentReader, tenant: number, id: number, top: number): boolean {
  const found = [String(id)];
  for (let index = 0; index < found.length && found.length <= ANCESTORS_MAX; index += 1) {
    if (found[index] === String(top)) return true;
    const parents = documents.list('parents', tenant, `${found[index]}\n`, { limit: ANCESTORS_MAX });
    if (parents instanceof Promise) return false;
    for (const parent of parents) {
      const parentId = parent.id.slice(parent.id.lastIndexOf('\n') + 1);
      if (!found.includes(parentId)) found.push(parentId);
    }
  }
  return false;
}

/** Whether the user owns the object or has `role`. An object that does not exist is for the actor to refuse. */
export function ownsOrHasRole(documents: DocumentReader, principal: Principal, id: number, role: string): boolean {
  if (principal.roles.has(role)) return true;
  const text = documents.get('managedObject', principal.tenantNumber, String(id));
  if (text === undefined) return true;
  return typeof text === 'string' && stringMember(splitMembers(text), 'owner') === principal.userName;
}
