/** What a connected device may write besides itself (docs/spec/login.md#rights, docs/spec/mqtt.md#names). */
import { ANCESTORS_MAX, mayAccess } from '../../model/access/inventory-access.ts';
import type { WantedAccess } from '../../model/access/inventory-grant.ts';
import type { Principal } from '../../model/access/principal.ts';
import { hasAnyOf, INVENTORY_ADMIN } from '../../model/access/roles.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Effect } from '../../smartrest/effects/effects.ts';
import type { KnownDocuments } from './loaded-documents.ts';

/** Whether `id` is `top` or below it, by links of any kind. @throws NotLoaded, as all of this file. */
export function isAtOrBelow(documents: KnownDocuments, tenant: number, id: number, top: number): boolean {
  const found = new Set([String(id)]);
  for (const next of found) {
    if (next === String(top)) return true;
    if (found.size > ANCESTORS_MAX) return false;
    const parents = documents.list('parents', tenant, `${next}\n`, { limit: ANCESTORS_MAX });
    for (const parent of parents) found.add(parent.id.slice(parent.id.lastIndexOf('\n') + 1));
  }
  return false;
}

/** Objects that are not the user's own whose rights one message looks up: each of these may read hundreds of documents. */
const OBJECTS_OF_MESSAGE = 100;
const MESSAGE_OBJECTS_LIMIT = 'mqtt/objects-of-message';

/** What one message has asked about rights: each question is answered once, and not many are. */
export class MessageRights {
  readonly #answers = new Map<string, boolean>();

  /**
   * @param question the same for the same answer. @returns the answer. @throws PlatformError `mqtt/objects-of-message`
   * for one question too many; NotLoaded, which answers nothing.
   */
  answer(question: string, ask: () => boolean): boolean {
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    if (this.#answers.size >= OBJECTS_OF_MESSAGE)
      throw new PlatformError(MESSAGE_OBJECTS_LIMIT, { maximum: OBJECTS_OF_MESSAGE });
    const answer = ask();
    this.#answers.set(question, answer);
    return answer;
  }
}

/** What inventory roles have to allow in place of a global role. */
const SCOPES: Readonly<Record<string, WantedAccess['scope']>> = {
  ROLE_MEASUREMENT_ADMIN: 'MEASUREMENT',
  ROLE_EVENT_ADMIN: 'EVENT',
  ROLE_ALARM_ADMIN: 'ALARM',
  ROLE_DEVICE_CONTROL_ADMIN: 'OPERATION',
};

/** Whether the user owns the object, or has one of `roles` or a permission in the place of the first. */
export function mayWrite(
  documents: KnownDocuments,
  principal: Principal,
  { id, doc }: { readonly id: number; readonly doc: string },
  roles: readonly string[],
): boolean {
  if (hasAnyOf(principal.roles, roles)) return true;
  const wanted = { scope: SCOPES[roles[0]] ?? 'MANAGED_OBJECT', permission: 'ADMIN' } as const;
  return mayAccess(documents, principal, { id: String(id), doc }, wanted) === true;
}

const ROLES_OF_EFFECTS: Readonly<Partial<Record<Effect['kind'], readonly string[]>>> = {
  ensureChild: INVENTORY_ADMIN,
  service: INVENTORY_ADMIN,
  managedObject: INVENTORY_ADMIN,
  software: INVENTORY_ADMIN,
  profile: INVENTORY_ADMIN,
  measurement: ['ROLE_MEASUREMENT_ADMIN'],
  alarm: ['ROLE_ALARM_ADMIN'],
  alarmOfType: ['ROLE_ALARM_ADMIN'],
  event: ['ROLE_EVENT_ADMIN'],
  eventOfType: ['ROLE_EVENT_ADMIN'],
  operation: ['ROLE_DEVICE_CONTROL_ADMIN'],
};

/** What a row writes takes over REST: a role of each list. An event with a position changes the device, too. */
export function rolesOf(effect: Effect): readonly (readonly string[])[] {
  const roles = ROLES_OF_EFFECTS[effect.kind];
  if (roles === undefined) return [];
  return effect.kind === 'event' && effect.position !== undefined ? [roles, INVENTORY_ADMIN] : [roles];
}
