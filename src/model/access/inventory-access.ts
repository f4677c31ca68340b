/**
 * Rights over parts of the inventory (docs/spec/users.md#inventory-roles): a grant on a managed object holds for it and
 * for everything below it. The rule of owners (docs/spec/login.md#rights) is here too, so that all front ends decide
 * alike.
 */
import type { Collection } from '../commands/collections.ts';
import { memberText, splitMembers, stringMember, stringOf } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { AGENT_LINKS, commandsOf } from '../entities/operation.ts';
import { ANY } from './inventory-grant.ts';
import type { InventoryGrant, WantedAccess } from './inventory-grant.ts';
import type { Principal } from './principal.ts';

/** Objects above one that are looked at: what is granted or owned further up counts no more. */
export const ANCESTORS_MAX = 250;

type Later<Value> = Value | Promise<Value>;

/** What the way up to a grant is read from: part of DocumentReader (src/ports/document-reader.ts). */
interface ListedDocuments {
  list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: { limit: number },
  ): Later<{ id: string; value: string }[]>;
}
/** What the way up to an owner is read from. */
interface ReadDocuments extends ListedDocuments {
  get(collection: Collection, tenant: number, id: string): Later<string | undefined>;
}

const after = <Value, Next>(value: Later<Value>, next: (value: Value) => Later<Next>): Later<Next> =>
  value instanceof Promise ? value.then(next) : next(value);

export const isOwnedBy = (principal: Principal, doc: string): boolean =>
  stringOf(memberText(doc, 'owner')) === principal.userName;

/** The grants that allow `wanted` for some objects or types. */
export function grantsFor(principal: Principal, wanted: WantedAccess): readonly InventoryGrant[] {
  return (principal.grants ?? []).filter(
    ({ scope, permission }) =>
      (scope === ANY || scope === wanted.scope) && (permission === ANY || permission === wanted.permission),
  );
}

/**
 * Whether the user has, at the grant's object or above it, what `wanted` takes there for the grant's type. Owning the
 * object gives nothing below it.
 */
export async function holds(
  documents: ListedDocuments,
  principal: Principal,
  { root, type }: Pick<InventoryGrant, 'root' | 'type'>,
  wanted: WantedAccess,
): Promise<boolean> {
  const held = grantsFor(principal, wanted).filter((grant) => grant.type === ANY || grant.type === type);
  const roots = new Set(held.map((grant) => String(grant.root)));
  return roots.size > 0 && isBelow(documents, principal.tenantNumber, new Set([String(root)]), [roots]);
}

/**
 * Whether a grant for one type is about the type of the entity alone. Who writes an alarm or event could put any
 * fragment into it; its type is fixed. Audit records have no fragments in their lists.
 */
export const isByTypeAlone = ({ scope, permission }: WantedAccess): boolean =>
  scope === 'AUDIT' || (permission === 'ADMIN' && (scope === 'ALARM' || scope === 'EVENT'));

/** Whether a grant's type fits an entity. */
export function fitsType(type: string, entity: Members | undefined, wanted: WantedAccess): boolean {
  if (type === ANY) return true;
  return (
    entity !== undefined && (stringMember(entity, 'type') === type || (!isByTypeAlone(wanted) && entity.has(type)))
  );
}

/**
 * Objects of grants: one of each set has to be at the object or above it. The writer of an operation needs a grant for
 * each of its commands: the device carries out all that it finds in it.
 */
function rootsWanted(principal: Principal, wanted: WantedAccess, entity: Members | undefined): ReadonlySet<string>[] {
  const grants = grantsFor(principal, wanted);
  const rootsOf = (fits: (type: string) => boolean): Set<string> =>
    new Set(grants.filter(({ type }) => fits(type)).map(({ root }) => String(root)));
  if (wanted.scope !== 'OPERATION' || wanted.permission !== 'ADMIN')
    return [rootsOf((type) => fitsType(type, entity, wanted))];
  const held = new Set(grants.map(({ type }) => type));
  // Commands that no grant names take one for all, as an operation without a command does: they are looked for once.
  const commands = entity === undefined ? [] : commandsOf(entity).map((name) => (held.has(name) ? name : ANY));
  return (commands.length === 0 ? [ANY] : [...new Set(commands)]).map((name) =>
    rootsOf((type) => type === ANY || type === name),
  );
}

/**
 * Whether a registered device owns something above the object by links of devices and additions: an agent acts for its
 * child devices and services. What lies in a group is not below its owner in this sense, because others put it there.
 * @param open found above the object and not looked at. @param seen those and the ones before.
 */
function ownsAbove(
  documents: ReadDocuments,
  principal: Principal,
  open: readonly string[],
  seen: Set<string>,
): Later<boolean> {
  const [id, ...others] = open;
  if (id === undefined || seen.size > ANCESTORS_MAX) return false;
  const ofKinds = AGENT_LINKS.map((kind) =>
    documents.list('parents', principal.tenantNumber, `${id}\n${kind}\n`, { limit: ANCESTORS_MAX }),
  );
  return after(allOf(ofKinds), (rows) => {
    const parents = rows
      .flat()
      .map((row) => row.id.slice(row.id.lastIndexOf('\n') + 1))
      .filter((parent) => !seen.has(parent));
    for (const parent of parents) seen.add(parent);
    const texts = allOf(parents.map((parent) => documents.get('managedObject', principal.tenantNumber, parent)));
    return after(
      texts,
      (docs) =>
        docs.some((doc) => doc !== undefined && isOwnedBy(principal, doc)) ||
        ownsAbove(documents, principal, [...others, ...parents], seen),
    );
  });
}

const allOf = <Value>(values: readonly Later<Value>[]): Later<Value[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as Value[]);

/**
 * Whether the user owns the object, or has a grant at it or above it; a registered device also when it owns a device
 * above it.
 * @param doc of the managed object.
 * @param entity what is read or written: the event, the alarm and so on; of an operation that is changed what it has
 * been and what it becomes.
 */
export function mayAccess(
  documents: ReadDocuments,
  principal: Principal,
  object: { readonly id: string; readonly doc: string },
  wanted: WantedAccess,
  entity?: Members,
): boolean | Promise<boolean> {
  const members = splitMembers(object.doc);
  if (stringMember(members, 'owner') === principal.userName) return true;
  const owns = principal.ownRoles !== undefined && ownsAbove(documents, principal, [object.id], new Set([object.id]));
  return after(owns, (isOwn) => isOwn || isGranted(documents, principal, { id: object.id, members }, wanted, entity));
}

function isGranted(
  documents: ListedDocuments,
  principal: Principal,
  object: { readonly id: string; readonly members: Members },
  wanted: WantedAccess,
  entity: Members | undefined,
): boolean | Promise<boolean> {
  if (principal.grants === undefined) return false;
  const typed = wanted.scope === 'MANAGED_OBJECT' ? object.members : entity;
  const roots = rootsWanted(principal, wanted, typed);
  return roots.every(({ size }) => size > 0) && isBelow(documents, principal.tenantNumber, new Set([object.id]), roots);
}

/**
 * Types of the grants that hold for an object because of where they begin: at it or above it. They hold for all below
 * it too.
 * @returns ANY alone where one of them is for all types.
 */
export async function typesAtOrAbove(
  documents: ListedDocuments,
  principal: Principal,
  id: string,
  wanted: WantedAccess,
): Promise<string[]> {
  const grants = grantsFor(principal, wanted);
  const held: string[] = [];
  for (const type of new Set([ANY, ...grants.map((grant) => grant.type)])) {
    const roots = new Set(grants.filter((grant) => grant.type === type).map(({ root }) => String(root)));
    if (roots.size === 0 || !(await isBelow(documents, principal.tenantNumber, new Set([id]), [roots]))) continue;
    if (type === ANY) return [ANY];
    held.push(type);
  }
  return held;
}

/**
 * Climbs the links of all kinds.
 * @param found the object, and then what is found above it. @param wanted sets, one of each of which has to be met.
 * @param open of `found` what has not been looked at.
 */
function isBelow(
  documents: ListedDocuments,
  tenant: number,
  found: Set<string>,
  wanted: readonly ReadonlySet<string>[],
  open: Iterator<string> = found.values(),
): boolean | Promise<boolean> {
  let missing = wanted;
  // What is added to a set is reached by its iterator.
  for (let next = open.next(); next.done !== true && found.size <= ANCESTORS_MAX; next = open.next()) {
    const id = next.value;
    missing = missing.filter((roots) => !roots.has(id));
    if (missing.length === 0) return true;
    const rows = documents.list('parents', tenant, `${id}\n`, { limit: ANCESTORS_MAX });
    if (rows instanceof Promise) {
      const rest = missing;
      return rows.then((answered) => {
        addParents(found, answered);
        return isBelow(documents, tenant, found, rest, open);
      });
    }
    addParents(found, rows);
  }
  return false;
}

/** @param rows keys `<child>\n<kind>\n<parent>`. */
function addParents(found: Set<string>, rows: readonly { readonly id: string }[]): void {
  for (const { id } of rows) found.add(id.slice(id.lastIndexOf('\n') + 1));
}
