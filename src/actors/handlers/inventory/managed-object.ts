/** The actor of a managed object: its own document (docs/spec/inventory.md). */
import { keepOneMarker } from '../../../model/entities/agent-marker.ts';
import { COMMAND } from '../../../model/commands/kinds.ts';
import type { Asked } from '../../../model/commands/command.ts';
import type { ChildAdd, ChildKind } from '../../../model/commands/links.ts';
import type { ManagedObjectCreate, ManagedObjectUpdate } from '../../../model/commands/entities.ts';
import { DEVICE_USER_PREFIX } from '../../../model/entities/device-request.ts';
import { changesTemplates, hasTemplates } from '../../../model/entities/managed-object.ts';
import { AGENT_LINKS } from '../../../model/entities/operation.ts';
import { PlatformError } from '../../../model/errors.ts';
import { fitsType } from '../../../model/access/inventory-access.ts';
import { formatTime } from '../../../model/documents/iso-time.ts';
import {
  dropNulls,
  joinMembers,
  mergeMembers,
  parseMembers,
  splitMembers,
  stringMember,
} from '../../../model/documents/json-document.ts';
import type { Members } from '../../../model/documents/json-document.ts';
import { ALARMS_FRAGMENT, AVAILABILITY_FRAGMENTS } from '../../../model/entities/availability.ts';
import { isStored } from '../../../model/commands/processing-mode.ts';
import { followRequiredInterval } from './availability-state.ts';
import type { ActorContext } from '../../runtime/context.ts';
import { deletedRow, managedObjectRow } from '../../runtime/rows.ts';
import { TENANT_KEY } from '../../../model/commands/keys.ts';

/**
 * Members that clients cannot write: kept by the server or resources of their own
 * (docs/spec/conventions.md#kept-members).
 */
const SERVER_KEPT = [
  'id',
  'self',
  'creationTime',
  'lastUpdated',
  'childDevices',
  'childAssets',
  'childAdditions',
  'deviceParents',
  'assetParents',
  'additionParents',
  AVAILABILITY_FRAGMENTS.STATUS,
  AVAILABILITY_FRAGMENTS.CONNECTION,
  ALARMS_FRAGMENT,
];

/** Members that describe the content of an object: changed with it only (docs/spec/binaries.md#objects). */
const OF_CONTENT = ['c8y_IsBinary', 'length', 'contentType'];

const GROUP_TYPES: ReadonlySet<string | undefined> = new Set(['c8y_DeviceGroup', 'c8y_DeviceSubGroup']);

/** Body of MANAGED_OBJECT_DELETE. */
export interface ManagedObjectDelete extends Asked {
  /** Deletes the hierarchy below, but for what has other parents. */
  readonly cascade?: boolean;
  /** As `cascade`, also what has other parents. */
  readonly forceCascade?: boolean;
  /** Deletes the owner too when it is a device user without rights that `by` lacks. */
  readonly withDeviceUser?: boolean;
  /** Who asked, with `withDeviceUser`. */
  readonly by?: string;
  /** Cascades to objects of this owner only, and to what `types` allow: who asked has no right to others. */
  readonly owner?: string;
  /**
   * Types of the permissions that hold for the first object and so for all below it (model/access/inventory-access.ts).
   */
  readonly types?: readonly string[];
  /** Template collections stay: a device asks, or a row of SmartREST 1.0. */
  readonly keepsCollections?: boolean;
  /** Set when the deletion of this parent led to it. */
  readonly parent?: string;
  /** With `parent`: nothing happens unless it is a group. */
  readonly onlyGroup?: boolean;
  /** With `parent`: it was a child addition there, which is deleted with it, regardless of its owner. */
  readonly isAddition?: boolean;
}

/** Body of LINKS_REMOVE: what its deletion asked for, and what it was. */
interface LinksRemove extends ManagedObjectDelete {
  readonly isGroup: boolean;
}

/** What a permission has to allow for a deletion. */
const DELETION = { scope: 'MANAGED_OBJECT', permission: 'ADMIN' } as const;

/** Links and external IDs that one command ends: an object may have more of them than a commit takes. */
const LINKS_AT_ONCE = 500;

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
  return [
    ...new Set(context.list('parents', `${id}\n`).map((entry) => entry.id.slice(entry.id.lastIndexOf('\n') + 1))),
  ];
}

export function writeManagedObject(
  context: ActorContext,
  id: string,
  members: Members,
  action: 'CREATE' | 'UPDATE',
  parents?: readonly string[],
): string {
  const text = joinMembers(members);
  context.put('managedObject', id, text);
  context.row(managedObjectRow(context.command, id, members, parents ?? parentsOf(context, id), text));
  context.notify('managedobjects', id, action, text);
  return text;
}

/** Groups of devices, by their fragment or by their type. */
export const isGroup = (members: Members): boolean =>
  members.has('c8y_IsDeviceGroup') || GROUP_TYPES.has(stringMember(members, 'type'));

export function createManagedObject(context: ActorContext, body: ManagedObjectCreate): { doc: string } {
  const existing = context.get('managedObject', body.id);
  if (existing !== undefined) return { doc: existing };
  const sent = splitMembers(body.doc);
  const owner = sent.get('owner') ?? JSON.stringify(body.owner);
  for (const name of [...SERVER_KEPT, 'owner']) sent.delete(name);
  keepOneMarker(sent);
  const time = JSON.stringify(formatTime(context.command.receivedAt));
  const members: Members = new Map([
    ['id', JSON.stringify(body.id)],
    ...sent,
    ['owner', owner],
    ['creationTime', time],
    ['lastUpdated', time],
  ]);
  dropNulls(members);
  if (!isStored(context.command.mode)) return { doc: notifyOnly(context, body.id, members, 'CREATE') };
  followRequiredInterval(context, body.id, members);
  const text = writeManagedObject(context, body.id, members, 'CREATE', []);
  if (body.binary) context.put('binary', body.id, JSON.stringify(body.binary));
  if (body.parent) {
    const { id, kind, isRequired = false } = body.parent;
    const link: ChildAdd = { kind, child: body.id, parent: id, ...(isRequired ? { isNew: true } : {}) };
    context.send({ kind: COMMAND.CHILD_ADD, key: Number(body.parent.id), body: link });
  }
  return { doc: text };
}

export function updateManagedObject(context: ActorContext, body: ManagedObjectUpdate): { doc: string } {
  const id = String(context.command.key);
  const members = loadManagedObject(context, id);
  if (body.leavesAgents) leaveAgents(context, id, body);
  const changes = parseMembers(body.doc);
  for (const name of SERVER_KEPT) changes.delete(name);
  // An object always has an owner.
  if (!body.mayChangeOwner || changes.get('owner') === 'null') changes.delete('owner');
  if (body.onlyWhenAbsent) for (const name of members.keys()) changes.delete(name);
  if (body.mayChangeTemplates !== true && changesTemplates(members, changes))
    throw new PlatformError('smartrest/fixed-collection', { id });
  keepOneMarker(changes, members);
  if (body.binary) context.put('binary', id, JSON.stringify(body.binary));
  else if (context.get('binary', id) !== undefined) for (const name of OF_CONTENT) changes.delete(name);
  if (!mergeMembers(members, changes) && !body.binary) return { doc: joinMembers(members) };
  members.set('lastUpdated', JSON.stringify(formatTime(context.command.receivedAt)));
  if (!isStored(context.command.mode)) return { doc: notifyOnly(context, id, members, 'UPDATE') };
  if (changes.has(AVAILABILITY_FRAGMENTS.REQUIRED)) followRequiredInterval(context, id, members);
  return { doc: writeManagedObject(context, id, members, 'UPDATE') };
}

/** The links end before the update is answered; of more than one command ends, the others follow. */
function leaveAgents(context: ActorContext, id: string, body: ManagedObjectUpdate): void {
  let left = LINKS_AT_ONCE;
  for (const kind of AGENT_LINKS) {
    const links = left === 0 ? [] : context.list('parents', `${id}\n${kind}\n`, left);
    left -= links.length;
    for (const { id: key } of links) {
      context.remove('parents', key);
      const parent = key.slice(key.lastIndexOf('\n') + 1);
      context.send({ kind: COMMAND.CHILD_REMOVE, key: Number(parent), body: { kind, child: id, parent } });
    }
  }
  if (left === 0) context.send({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: Number(id), body });
}

/** What a message leaves behind that is not stored. */
function notifyOnly(context: ActorContext, id: string, members: Members, action: 'CREATE' | 'UPDATE'): string {
  const text = joinMembers(members);
  context.notify('managedobjects', id, action, text);
  return text;
}

/**
 * Deletes the object with its data, links and external IDs, and what the flags name below it
 * (docs/spec/inventory.md#deleting). Each child decides itself: only its own actor knows its parents.
 */
export function deleteManagedObject(context: ActorContext, body: ManagedObjectDelete): undefined {
  const id = String(context.command.key);
  // Gone already by another way of the hierarchy, or spared.
  if (body.parent !== undefined && !isReached(context, id, body)) return undefined;
  const members = loadManagedObject(context, id);
  if (body.keepsCollections && hasTemplates(members)) throw new PlatformError('smartrest/fixed-collection', { id });
  context.remove('managedObject', id);
  // The content itself is left to the sweep.
  for (const kept of ['binary', 'availability', 'softwareList', 'parameterState'] as const)
    if (context.get(kept, id) !== undefined) context.remove(kept, id);
  context.row(deletedRow(context.command, 'managed_objects', id, undefined, members));
  context.notify('managedobjects', id, 'DELETE', JSON.stringify(id), stringMember(members, 'type'));
  endLinks(context, id, { ...body, isGroup: isGroup(members) });
  context.send({ kind: COMMAND.SOURCE_DELETE, key: TENANT_KEY, body: { source: id } });
  const owner = stringMember(members, 'owner');
  if (body.withDeviceUser && owner?.startsWith(DEVICE_USER_PREFIX)) {
    context.send({
      kind: COMMAND.USER_DELETE,
      key: TENANT_KEY,
      body: { userName: owner, isWithDevice: true, ...byOf(body) },
    });
  }
  return undefined;
}

const byOf = ({ by }: ManagedObjectDelete): { by?: string } => (by === undefined ? {} : { by });

/** The next step of a deletion. */
export function removeLinks(context: ActorContext, body: LinksRemove): undefined {
  endLinks(context, String(context.command.key), body);
  return undefined;
}

function endLinks(context: ActorContext, id: string, body: LinksRemove): void {
  let left = LINKS_AT_ONCE;
  const some = (collection: 'externalIdsOf' | 'children' | 'parents'): string[] => {
    const ids = left === 0 ? [] : context.list(collection, `${id}\n`, left).map((entry) => entry.id);
    left -= ids.length;
    for (const key of ids) context.remove(collection, key);
    return ids;
  };
  for (const key of some('externalIdsOf')) {
    // The value may hold line feeds itself.
    const [, type, ...rest] = key.split('\n');
    const externalId = rest.join('\n');
    context.send({
      kind: COMMAND.EXTERNAL_ID_UNBIND,
      key: `x:${type}\n${externalId}`,
      body: { type, externalId, managedObject: id },
    });
  }
  for (const key of some('children')) {
    const [, kind, child] = key.split('\n');
    context.send({ kind: COMMAND.PARENT_REMOVE, key: Number(child), body: { kind, child, parent: id } });
    const deletion = childDeletion(kind as ChildKind, id, body);
    if (deletion) context.send({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: Number(child), body: deletion });
  }
  for (const key of some('parents')) {
    const [, kind, parent] = key.split('\n');
    context.send({ kind: COMMAND.CHILD_REMOVE, key: Number(parent), body: { kind, child: id, parent } });
  }
  // After the commit of this one: nothing is added to an object that is gone.
  if (left === 0) context.send({ kind: COMMAND.LINKS_REMOVE, key: Number(id), body });
}

/** What the deletion of an object asks of a child; undefined = it stays. */
function childDeletion(kind: ChildKind, parent: string, body: LinksRemove): ManagedObjectDelete | undefined {
  const {
    cascade = false,
    forceCascade = false,
    withDeviceUser = false,
    keepsCollections = false,
    owner,
    types,
    askedBy,
    isGroup: isBelowGroup,
  } = body;
  const flags = {
    cascade: cascade || forceCascade,
    forceCascade,
    withDeviceUser,
    parent,
    ...byOf(body),
    ...(keepsCollections ? { keepsCollections } : {}),
    ...(owner === undefined ? {} : { owner }),
    ...(types === undefined ? {} : { types }),
    ...(askedBy === undefined ? {} : { askedBy }),
  };
  // Child additions belong to their parent and go with it, with the last one of several
  // (docs/spec/inventory.md#deleting).
  if (kind === 'childAdditions') return { ...flags, isAddition: true };
  if (flags.cascade) return isBelowGroup || kind === 'childDevices' ? flags : undefined;
  return isBelowGroup ? { ...flags, onlyGroup: true } : undefined;
}

/**
 * Whether who asked for a deletion has a right to this object as to the first one: a role, a permission at or above
 * that one, or as its owner.
 */
function isAllowed(members: Members, { owner, types = [] }: ManagedObjectDelete): boolean {
  return (
    owner === undefined ||
    stringMember(members, 'owner') === owner ||
    types.some((type) => fitsType(type, members, DELETION))
  );
}

/** Whether a deletion that began at a parent takes this object along. */
function isReached(context: ActorContext, id: string, body: ManagedObjectDelete): boolean {
  const text = context.get('managedObject', id);
  if (text === undefined) return false;
  const members = splitMembers(text);
  if (body.onlyGroup && !isGroup(members)) return false;
  if (body.keepsCollections && hasTemplates(members)) return false;
  if (body.isAddition !== true && !isAllowed(members, body)) return false;
  return body.forceCascade === true || parentsOf(context, id).every((parent) => parent === body.parent);
}
