/** The actor of a managed object: its own document (document 1, Managed object; document 4 section 2.4). */
import { COMMAND } from '../model/command.ts';
import type { ChildKind, ManagedObjectCreate, ManagedObjectUpdate } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import { joinMembers, mergeMembers, parseMembers, splitMembers } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import type { ActorContext } from './context.ts';
import { deletedRow, managedObjectRow } from './rows.ts';

/** Members that clients cannot write: kept by the server or resources of their own (document 4 section 0.3). */
const SERVER_KEPT = ['id', 'self', 'creationTime', 'lastUpdated', 'childDevices', 'childAssets', 'childAdditions', 'deviceParents', 'assetParents',
  'additionParents'];

export const CHILD_KINDS: readonly ChildKind[] = ['childDevices', 'childAssets', 'childAdditions'];

/** @throws PlatformError `inventory/not-found`. */
export function loadManagedObject(context: ActorContext, id: string): Members {
  const text = context.get('managedObject', id);
  if (text === undefined) throw new PlatformError('inventory/not-found', { id });
  return splitMembers(text);
}

/** @throws PlatformError `source/not-found`: commands for a source that does not exist (any more). */
export function requireSource(context: ActorContext, area: string): string {
  const id = String(context.command.key);
  if (context.get('managedObject', id) === undefined) throw new PlatformError('source/not-found', { area, id });
  return id;
}

/** Ids of the direct parents, of all three kinds. */
export function parentsOf(context: ActorContext, id: string): string[] {
  return [...new Set(context.list('parents', `${id}\n`).map((entry) => entry.id.slice(entry.id.lastIndexOf('\n') + 1)))];
}

export function writeManagedObject(context: ActorContext, id: string, members: Members, action: 'CREATE' | 'UPDATE', parents?: readonly string[]): string {
  const text = joinMembers(members);
  context.put('managedObject', id, text);
  context.row(managedObjectRow(context.command, id, members, parents ?? parentsOf(context, id)));
  context.notify('managedobjects', id, action, text);
  return text;
}

export function createManagedObject(context: ActorContext, body: ManagedObjectCreate): { doc: string } {
  const existing = context.get('managedObject', body.id);
  if (existing !== undefined) return { doc: existing };
  const sent = parseMembers(body.doc);
  const owner = sent.get('owner') ?? JSON.stringify(body.owner);
  for (const name of [...SERVER_KEPT, 'owner']) sent.delete(name);
  const time = JSON.stringify(formatTime(context.command.receivedAt));
  const members: Members = new Map([['id', JSON.stringify(body.id)], ...sent, ['owner', owner], ['creationTime', time], ['lastUpdated', time]]);
  for (const [name, value] of members) if (value === 'null') members.delete(name);
  const text = writeManagedObject(context, body.id, members, 'CREATE', []);
  if (body.parent) {
    const link = { kind: body.parent.kind, child: body.id, parent: body.parent.id };
    context.send({ kind: COMMAND.CHILD_ADD, key: Number(body.parent.id), body: link });
  }
  return { doc: text };
}

export function updateManagedObject(context: ActorContext, body: ManagedObjectUpdate): { doc: string } {
  const id = String(context.command.key);
  const members = loadManagedObject(context, id);
  const changes = parseMembers(body.doc);
  for (const name of SERVER_KEPT) changes.delete(name);
  if (!body.mayChangeOwner) changes.delete('owner');
  if (body.onlyWhenAbsent) for (const name of members.keys()) changes.delete(name);
  if (!mergeMembers(members, changes)) return { doc: joinMembers(members) };
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  return { doc: writeManagedObject(context, id, members, 'UPDATE') };
}

/** Deletes the object with its data, links and external IDs (document 1, DELETE of a managed object). */
export function deleteManagedObject(context: ActorContext): undefined {
  const id = String(context.command.key);
  const members = loadManagedObject(context, id);
  context.remove('managedObject', id);
  context.row(deletedRow(context.command, 'managed_objects', id, undefined, members));
  context.notify('managedobjects', id, 'DELETE', JSON.stringify(id));
  for (const entry of context.list('externalIdsOf', `${id}\n`)) {
    // The value may hold line feeds itself.
    const [, type, ...rest] = entry.id.split('\n');
    const externalId = rest.join('\n');
    context.remove('externalIdsOf', entry.id);
    context.send({ kind: COMMAND.EXTERNAL_ID_UNBIND, key: `x:${type}\n${externalId}`, body: { type, externalId, managedObject: id } });
  }
  for (const entry of context.list('children', `${id}\n`)) {
    const [, kind, child] = entry.id.split('\n');
    context.remove('children', entry.id);
    context.send({ kind: COMMAND.PARENT_REMOVE, key: Number(child), body: { kind, child, parent: id } });
    // Child additions belong to their parent and go with it (document 4 section 2.4).
    if (kind === 'childAdditions') context.send({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: Number(child), body: {} });
  }
  for (const entry of context.list('parents', `${id}\n`)) {
    const [, kind, parent] = entry.id.split('\n');
    context.remove('parents', entry.id);
    context.send({ kind: COMMAND.CHILD_REMOVE, key: Number(parent), body: { kind, child: id, parent } });
  }
  for (const table of ['measurements', 'events', 'alarms', 'operations']) {
    context.send({ kind: COMMAND.DATA_DELETE, key: 't', body: { table, filter: { source: id } } });
  }
  return undefined;
}
