/** Links between managed objects (document 4 section 2.5). The parent's actor decides, the child's notes its parent. */
import { COMMAND } from '../model/command.ts';
import type { ChildLink } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { joinMembers, splitMembers } from '../model/json-document.ts';
import type { ActorContext } from './context.ts';
import { loadManagedObject, parentsOf } from './managed-object.ts';
import { managedObjectRow } from './rows.ts';

/** Objects looked at when a cycle is searched; a hierarchy beyond it is refused. */
const ANCESTORS_MAX = 10_000;

export const childKey = (link: ChildLink): string => `${link.parent}\n${link.kind}\n${link.child}`;
export const parentKey = (link: ChildLink): string => `${link.child}\n${link.kind}\n${link.parent}`;

/** Ids of all ancestors of `id`, itself not among them unless there is a cycle. */
export function ancestorsOf(context: ActorContext, id: string): Set<string> {
  const found = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parentsOf(context, next)) {
      if (found.has(parent) || found.size >= ANCESTORS_MAX) continue;
      found.add(parent);
      open.push(parent);
    }
  }
  return found;
}

export function addChild(context: ActorContext, link: ChildLink): { doc: string } {
  const parent = loadManagedObject(context, link.parent);
  if (context.get('managedObject', link.child) === undefined) throw new PlatformError('inventory/not-found', { id: link.child });
  if (link.child === link.parent || ancestorsOf(context, link.parent).has(link.child)) {
    throw new PlatformError('inventory/cycle', { child: link.child, parent: link.parent });
  }
  if (context.get('children', childKey(link)) === undefined) {
    context.put('children', childKey(link), '1');
    context.send({ kind: COMMAND.PARENT_ADD, key: Number(link.child), body: link });
    context.notify('managedobjects', link.parent, 'UPDATE', joinMembers(parent));
  }
  return { doc: context.get('managedObject', link.child) ?? '{}' };
}

export function removeChild(context: ActorContext, link: ChildLink): undefined {
  if (context.get('children', childKey(link)) === undefined) {
    if (context.get('managedObject', link.parent) === undefined) throw new PlatformError('inventory/not-found', { id: link.parent });
    throw new PlatformError('inventory/not-a-child', { child: link.child, parent: link.parent });
  }
  context.remove('children', childKey(link));
  context.send({ kind: COMMAND.PARENT_REMOVE, key: Number(link.child), body: link });
  const parent = context.get('managedObject', link.parent);
  if (parent !== undefined) context.notify('managedobjects', link.parent, 'UPDATE', parent);
  return undefined;
}

export function addParent(context: ActorContext, link: ChildLink): undefined {
  const text = context.get('managedObject', link.child);
  if (text === undefined) {
    // The child was deleted meanwhile: the link ends at its other side too.
    context.send({ kind: COMMAND.CHILD_REMOVE, key: Number(link.parent), body: link });
    return undefined;
  }
  context.put('parents', parentKey(link), '1');
  context.row(managedObjectRow(context.command, link.child, splitMembers(text), [...new Set([...parentsOf(context, link.child), link.parent])]));
  return undefined;
}

export function removeParent(context: ActorContext, link: ChildLink): undefined {
  const key = parentKey(link);
  if (context.get('parents', key) === undefined) return undefined;
  context.remove('parents', key);
  const text = context.get('managedObject', link.child);
  if (text !== undefined) {
    const others = context.list('parents', `${link.child}\n`).filter((entry) => entry.id !== key)
      .map((entry) => entry.id.slice(entry.id.lastIndexOf('\n') + 1));
    context.row(managedObjectRow(context.command, link.child, splitMembers(text), [...new Set(others)]));
  }
  return undefined;
}
