/**
 * Links between managed objects (docs/spec/inventory.md#children). The parent's actor decides, the child's notes its
 * parent, and decides about cycles second: links that are made at the same time do not see each other before. A link
 * that it refuses is undone at the parent. Follow-ups may overtake each other (a journal that does not answer for a
 * moment): the child goes by what its parent has now.
 */
import { COMMAND } from '../../../model/commands/kinds.ts';
import type { ChildAdd, ChildLink, ChildLinks, ParentAdd } from '../../../model/commands/links.ts';
import { PlatformError } from '../../../model/errors.ts';
import { joinMembers, splitMembers } from '../../../model/documents/json-document.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { loadManagedObject, parentsOf } from './managed-object.ts';
import { managedObjectRow } from '../../runtime/rows.ts';

/** Objects looked at when a cycle is searched; a link below more of them is refused. */
const ANCESTORS_MAX = 1_000;
const ANCESTORS_LIMIT = 'inventory/ancestors';
/**
 * Value of a link that stays unless a request unlinks it; any other is the maker of several links at once, who may have
 * to take it back.
 */
export const LINKED = '1';

const childKey = (link: ChildLink): string => `${link.parent}\n${link.kind}\n${link.child}`;
const parentKey = (link: ChildLink): string => `${link.child}\n${link.kind}\n${link.parent}`;

/** Ids of all ancestors of `id`, itself not among them unless there is a cycle; undefined when they are too many. */
function ancestorsOf(context: ActorContext, id: string): Set<string> | undefined {
  const found = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parentsOf(context, next)) {
      if (found.has(parent)) continue;
      if (found.size >= ANCESTORS_MAX) return undefined;
      found.add(parent);
      open.push(parent);
    }
  }
  return found;
}

const hasChildren = (context: ActorContext, id: string): boolean => context.list('children', `${id}\n`, 1).length > 0;

/** @throws PlatformError when one of them cannot be linked below `parent`. */
function requireNoCycle(context: ActorContext, parent: string, children: readonly string[]): void {
  // The way up is long for objects with many parents, and a device may make many children with one message.
  if (children.length === 1 && children[0] !== parent && !hasChildren(context, children[0])) return;
  const ancestors = ancestorsOf(context, parent);
  if (ancestors === undefined)
    throw new PlatformError('general/hierarchy-too-large', {
      id: parent,
      maximum: ANCESTORS_MAX,
      limit: ANCESTORS_LIMIT,
    });
  const child = children.find((one) => one === parent || ancestors.has(one));
  if (child !== undefined) throw new PlatformError('inventory/cycle', { child, parent });
}

/** @returns the child, of one link. */
export function addChild(context: ActorContext, body: ChildAdd | ChildLinks): { doc: string } | undefined {
  if ('children' in body) return addChildren(context, body);
  try {
    return linkChild(context, body);
  } catch (error) {
    if (body.isNew !== true || !(error instanceof PlatformError)) throw error;
    // The request was for the object with its link. Its own actor spares it when it has got another parent since.
    context.send({
      kind: COMMAND.MANAGED_OBJECT_DELETE,
      key: Number(body.child),
      body: { parent: body.parent, isAddition: true },
    });
    return undefined;
  }
}

function linkChild(context: ActorContext, link: ChildLink): { doc: string } {
  const parent = loadManagedObject(context, link.parent);
  const doc = context.get('managedObject', link.child);
  if (doc === undefined) throw new PlatformError('inventory/not-found', { id: link.child });
  requireNoCycle(context, link.parent, [link.child]);
  const isNew = addLink(context, link, context.get('children', childKey(link)), LINKED);
  if (isNew) context.notify('managedobjects', link.parent, 'UPDATE', joinMembers(parent));
  return { doc };
}

/** All of them or none. Children are not read here: one that is gone meanwhile undoes its link. */
function addChildren(context: ActorContext, { children, maker, ...link }: ChildLinks): undefined {
  const parent = loadManagedObject(context, link.parent);
  requireNoCycle(context, link.parent, children);
  // Without a maker there is nothing to take back. Before the first change: what a handler has changed itself is looked
  // through one by one.
  const values =
    maker === undefined ? [] : children.map((child) => context.get('children', childKey({ ...link, child })));
  for (const [index, child] of children.entries()) addLink(context, { ...link, child }, values[index], maker ?? LINKED);
  context.notify('managedobjects', link.parent, 'UPDATE', joinMembers(parent));
  return undefined;
}

/**
 * A link that another request asks for is not its maker's to take back any more. The child may not have decided yet: it
 * is asked again, before the answer.
 * @param value of the link, undefined for a new one. @returns whether it is new.
 */
function addLink(context: ActorContext, link: ChildLink, value: string | undefined, maker: string): boolean {
  if (value !== LINKED) noteChild(context, link, value === undefined ? maker : LINKED);
  return value === undefined;
}

function noteChild(context: ActorContext, { kind, child, parent }: ChildLink, value: string): void {
  const link: ChildLink = { kind, child, parent };
  context.put('children', childKey(link), value);
  context.send({ kind: COMMAND.PARENT_ADD, key: Number(child), body: link });
}

export function removeChild(context: ActorContext, body: ChildLink | ChildLinks): undefined {
  const parent = context.get('managedObject', body.parent);
  if ('children' in body) {
    if (parent === undefined) throw new PlatformError('inventory/not-found', { id: body.parent });
    const { children, maker, ...link } = body;
    const meant =
      maker === undefined
        ? children
        : children.filter((child) => context.get('children', childKey({ ...link, child })) === maker);
    for (const child of meant) forgetChild(context, { ...link, child });
  } else {
    if (context.get('children', childKey(body)) === undefined) {
      if (parent === undefined) throw new PlatformError('inventory/not-found', { id: body.parent });
      throw new PlatformError('inventory/not-a-child', { child: body.child, parent: body.parent });
    }
    forgetChild(context, body);
  }
  if (parent !== undefined) context.notify('managedobjects', body.parent, 'UPDATE', parent);
  return undefined;
}

function forgetChild(context: ActorContext, link: ChildLink): void {
  context.remove('children', childKey(link));
  // What is not below the device any more is not its list.
  if (link.kind === 'childAdditions' && context.get('softwareList', link.parent) === link.child)
    context.remove('softwareList', link.parent);
  context.send({ kind: COMMAND.PARENT_REMOVE, key: Number(link.child), body: link });
}

/**
 * Of links that make a cycle together, the one that is noted last is of a child that has children: those were noted by
 * this actor. In a cluster the notes of other shards are seen once they are committed, so such a child looks again when
 * its own note is: the last to look sees all of them.
 */
export function addParent(context: ActorContext, link: ParentAdd): undefined {
  // Its removal may have overtaken it.
  if (!isLinked(context, link)) return dropParent(context, link);
  const isNoted = context.get('parents', parentKey(link)) !== undefined;
  // Unlinked meanwhile.
  if (link.isWritten === true && !isNoted) return undefined;
  const text = context.get('managedObject', link.child);
  const isParent = hasChildren(context, link.child);
  if (text === undefined || (isParent && makesCycle(context, link))) {
    dropParent(context, link);
    context.send({ kind: COMMAND.CHILD_REMOVE, key: Number(link.parent), body: link });
    return undefined;
  }
  if (isNoted) return undefined;
  context.put('parents', parentKey(link), '1');
  context.row(
    managedObjectRow(context.command, link.child, splitMembers(text), [
      ...new Set([...parentsOf(context, link.child), link.parent]),
    ]),
  );
  if (isParent) context.send({ kind: COMMAND.PARENT_ADD, key: Number(link.child), body: { ...link, isWritten: true } });
  return undefined;
}

const makesCycle = (context: ActorContext, { child, parent }: ChildLink): boolean =>
  ancestorsOf(context, parent)?.has(child) ?? true;

/** Whether the parent has the link: it is stored before its follow-up is sent, so what is not there has gone since. */
const isLinked = (context: ActorContext, link: ChildLink): boolean =>
  context.get('children', childKey(link)) !== undefined;

export function removeParent(context: ActorContext, link: ChildLink): undefined {
  // Linked again meanwhile: that may have been noted before this.
  return isLinked(context, link) ? undefined : dropParent(context, link);
}

function dropParent(context: ActorContext, link: ChildLink): undefined {
  const key = parentKey(link);
  if (context.get('parents', key) === undefined) return undefined;
  context.remove('parents', key);
  const text = context.get('managedObject', link.child);
  if (text !== undefined) {
    const others = context
      .list('parents', `${link.child}\n`)
      .filter((entry) => entry.id !== key)
      .map((entry) => entry.id.slice(entry.id.lastIndexOf('\n') + 1));
    context.row(managedObjectRow(context.command, link.child, splitMembers(text), [...new Set(others)]));
  }
  return undefined;
}
