/** Operations of a device (docs/spec/operations.md). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { EntityDelete } from '../../model/commands/deletion.ts';
import type { DeviceProfileSet, OperationCreate, OperationUpdate } from '../../model/commands/entities.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import {
  AGENT_LINKS,
  fitFailureReason,
  isAgent,
  isOpenOperation,
  OPERATION_BEGINS_WITHOUT,
  OPERATION_SERVER_KEPT,
  openOperationKey,
  openOperationStatus,
} from '../../model/entities/operation.ts';
import { idText } from '../../model/entities/entity-id.ts';
import { externalIdOfKey } from '../../model/entities/external-id.ts';
import { operationResult, type OperationResult } from '../../model/entities/operation-result.ts';
import { SOFTWARE_LIST, SOFTWARE_UPDATE, takesSoftwareUpdate } from '../../model/entities/software.ts';
import {
  dropNulls,
  joinMembers,
  mergeMembers,
  parseMembers,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import { changesBetween, describeChanges } from '../../model/entities/changes.ts';
import type { ActorContext } from '../runtime/context.ts';
import { AUDITS_MAX } from '../../model/commands/records.ts';
import { requireSource } from './inventory/managed-object.ts';
import { deletedRow, entityRow } from '../runtime/rows.ts';

/** Objects looked at on the way up. */
const ANCESTORS_MAX = 1_000;
/** External IDs of a device that live data shows of it, and their characters as JSON. */
const TOLD_IDS_MAX = 100;
const TOLD_IDS_LENGTH_MAX = 16_384;
const DEVICE_PROFILE = 'c8y_DeviceProfile';
/** What changes with everything, or says nothing of its own in the audit log. */
const NOT_AUDITED: ReadonlySet<string> = new Set(['lastUpdated']);

/** Whether there is an agent for operations of `device`: itself or an ancestor. */
function hasAgent(context: ActorContext, device: string): boolean {
  const reached = new Set([device]);
  for (const id of reached) {
    const text = context.get('managedObject', id);
    if (text !== undefined && isAgent(splitMembers(text))) return true;
    for (const kind of AGENT_LINKS) {
      const prefix = `${id}\n${kind}\n`;
      for (const parent of context.list('parents', prefix))
        if (reached.size < ANCESTORS_MAX) reached.add(parent.id.slice(prefix.length));
    }
  }
  return false;
}

export function createOperation(context: ActorContext, body: OperationCreate): { doc: string } {
  const device = requireSource(context, 'devicecontrol');
  // A bulk operation sends what it has planned again after a crash.
  const existing = context.get('operation', body.id);
  if (existing !== undefined) return { doc: existing };
  const noAgent = hasAgent(context, device) ? undefined : new PlatformError('devicecontrol/no-agent', { id: device });
  if (noAgent !== undefined && body.isOfBulk !== true) throw noAgent;
  const sent = dropNulls(splitMembers(body.doc));
  for (const name of [...OPERATION_SERVER_KEPT, ...OPERATION_BEGINS_WITHOUT]) sent.delete(name);
  const members: Members = new Map([
    ['id', JSON.stringify(body.id)],
    ['deviceId', JSON.stringify(device)],
    ['status', '"PENDING"'],
    ['creationTime', JSON.stringify(formatTime(context.command.receivedAt))],
    ...sent,
  ]);
  if (noAgent !== undefined) {
    members.set('status', '"FAILED"');
    members.set('failureReason', JSON.stringify(noAgent.message));
  }
  audit(context, body.id, body, 'Operation created', { text: `Operation created: ${describe(members)}` });
  return { doc: write(context, body.id, members, undefined) };
}

/** `status='PENDING', description='Restart'` */
function describe(members: Members): string {
  return ['status', 'description']
    .map((name) => [name, stringMember(members, name)])
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}='${value}'`)
    .join(', ');
}

/** Who did what to the operation (docs/spec/audit.md#records-of-the-server); of what is not stored nothing is kept. */
function audit(
  context: ActorContext,
  id: string,
  by: Pick<OperationUpdate, 'user' | 'application'>,
  activity: string,
  entry: Pick<AuditEntry, 'text' | 'changes'>,
): void {
  if (!isStored(context.command.mode)) return;
  context.audit({
    type: 'Operation',
    activity,
    ...entry,
    user: by.user,
    source: id,
    ...(by.application === undefined ? {} : { application: by.application }),
  });
}

function load(context: ActorContext, id: string): Members {
  const text = context.get('operation', id);
  if (text === undefined) throw new PlatformError('devicecontrol/not-found', { id });
  return splitMembers(text);
}

/**
 * Stores the operation unless it is TRANSIENT, and tells of it. @param former the status before a change; a new
 * operation has none.
 */
function write(context: ActorContext, id: string, members: Members, former: string | undefined): string {
  const device = String(context.command.key);
  const text = joinMembers(members);
  if (isStored(context.command.mode)) {
    const status = stringMember(members, 'status') ?? 'PENDING';
    context.put('operation', id, text);
    if (!isOpenOperation(status)) context.remove('openOperation', openOperationKey(device, id));
    else if (status !== former)
      context.put('openOperation', openOperationKey(device, id), openEntry(context, status, former));
    context.row(entityRow(context.command, 'operations', { id, source: Number(device), members }));
  }
  context.notify('operations', device, former === undefined ? 'CREATE' : 'UPDATE', told(context, device, members));
  return text;
}

/**
 * The operation as live data has it, but for links: with `deviceName` and `deviceExternalIDs`, as one that is read,
 * unless it is not stored.
 */
function told(context: ActorContext, device: string, members: Members): string {
  if (!isStored(context.command.mode)) return joinMembers(members);
  const name = stringMember(splitMembers(context.get('managedObject', device) ?? '{}'), 'name');
  const prefix = `${device}\n`;
  const externalIds: string[] = [];
  let left = TOLD_IDS_LENGTH_MAX;
  for (const { id } of context.list('externalIdsOf', prefix, TOLD_IDS_MAX)) {
    const text = JSON.stringify(externalIdOfKey(id.slice(prefix.length)));
    left -= text.length;
    if (left < 0) break;
    externalIds.push(text);
  }
  return joinMembers([
    ...members,
    ...(name === undefined ? [] : [['deviceName', JSON.stringify(name)] as const]),
    ['deviceExternalIDs', `{"externalIds":[${externalIds.join(',')}]}`],
  ]);
}

/** One that is PENDING again is to be delivered again, whatever its device has acknowledged. */
const openEntry = (context: ActorContext, status: string, former: string | undefined): string =>
  status === 'PENDING' && former !== undefined ? `PENDING ${context.command.seq}` : status;

export function updateOperation(context: ActorContext, body: OperationUpdate): { doc: string } {
  const device = String(context.command.key);
  let managedObjectDoc: string | undefined;
  let last = '{}';
  const ids = body.id === undefined ? select(context, device, body) : [body.id];
  // Each has an audit record. What is beyond is changed later, unless the device has told of it meanwhile.
  const { doc, user, fromStatus } = body;
  for (const id of ids.splice(AUDITS_MAX))
    context.send({ kind: COMMAND.OPERATION_UPDATE, key: Number(device), body: { id, doc, user, fromStatus } });
  for (const id of ids) {
    const members = load(context, id);
    if (body.id !== undefined && fromStatus !== undefined && stringMember(members, 'status') !== fromStatus) continue;
    const before = new Map(members);
    const changes = parseMembers(body.doc);
    for (const name of OPERATION_SERVER_KEPT) changes.delete(name);
    let result: OperationResult | undefined;
    if (body.parameters) {
      const named = body.id === undefined ? body.fragment : undefined;
      result = operationResult(members, body.parameters, context.command.receivedAt, named);
    }
    const owner = stringMember(members, 'deviceId') ?? device;
    if (owner !== device) {
      // SmartREST 504 to 506 name an operation that may be a child's: its own actor decides.
      context.send({ kind: COMMAND.OPERATION_UPDATE, key: Number(owner), body });
      return { doc: joinMembers(members) };
    }
    for (const [name, value] of result?.members ?? []) changes.set(name, value);
    managedObjectDoc = result?.managedObjectDoc;
    fitFailureReason(changes, members);
    last = joinMembers(members);
    if (!mergeMembers(members, changes)) continue;
    const changed = changesBetween(before, members, NOT_AUDITED);
    audit(context, id, body, 'Operation updated', {
      text: `Operation updated: ${describeChanges(changed)}`,
      changes: changed.listed,
    });
    last = write(context, id, members, stringMember(before, 'status') ?? 'PENDING');
  }
  if (managedObjectDoc !== undefined) {
    context.send({
      kind: COMMAND.MANAGED_OBJECT_UPDATE,
      key: Number(device),
      body: { doc: managedObjectDoc, mayChangeOwner: false },
    });
  }
  return { doc: last };
}

/** Open operations in `fromStatus` with the fragment: the oldest, or all of them; else the oldest in `orFromStatus`. */
function select(context: ActorContext, device: string, body: OperationUpdate): string[] {
  const { fromStatus, orFromStatus } = body;
  const found: string[] = [];
  const names = fragmentsMeant(context, device, body.fragment);
  for (const id of openOperations(context, device, fromStatus)) {
    if (names.length > 0) {
      const members = load(context, id);
      if (!names.some((name) => members.has(name))) continue;
    }
    found.push(id);
    if (!body.all) return found;
  }
  if (found.length === 0 && orFromStatus !== undefined)
    return select(context, device, { ...body, fromStatus: orFromStatus, orFromStatus: undefined });
  if (found.length === 0)
    throw new PlatformError('devicecontrol/no-operation', {
      fragment: body.fragment ?? '',
      status: body.fromStatus ?? '',
    });
  return found;
}

/** Ids of what is open for a device, the oldest first. @param status undefined for every one. */
function* openOperations(context: ActorContext, device: string, status: string | undefined): Generator<string> {
  for (const { id, value } of context.list('openOperation', `${device}\n`))
    if (status === undefined || openOperationStatus(value) === status)
      yield String(Number(id.slice(device.length + 1)));
}

/**
 * The fragments of operations that a device means by a name; none for every operation. One that gets software updates as
 * lists answers them as lists (docs/spec/software.md#operations).
 */
function fragmentsMeant(context: ActorContext, device: string, name: string | undefined): string[] {
  if (!name) return [];
  if (name !== SOFTWARE_LIST) return [name];
  const text = context.get('managedObject', device);
  return text === undefined || takesSoftwareUpdate(splitMembers(text)) ? [name] : [name, SOFTWARE_UPDATE];
}

/** SmartREST 121. */
export function setProfile(context: ActorContext, body: DeviceProfileSet): undefined {
  const device = requireSource(context, 'devicecontrol');
  const profile = profileMembers(context, device, body.profileId);
  if (profile === undefined)
    throw new PlatformError('devicecontrol/no-operation', { fragment: DEVICE_PROFILE, status: 'EXECUTING' });
  const doc = joinMembers([['c8y_Profile', joinMembers([...profile, ['profileExecuted', String(body.isExecuted)]])]]);
  context.send({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: Number(device),
    body: { doc, mayChangeOwner: false },
  });
  return undefined;
}

/**
 * `profileName` and `profileId`, of the oldest EXECUTING operation with a profile, or with the profile of that id. The
 * name of another profile is kept when the device has it already; only its id is known else.
 */
function profileMembers(context: ActorContext, device: string, id: string | undefined): Members | undefined {
  const named = (members: Members): Members =>
    new Map(
      ['profileName', 'profileId'].flatMap((name) => {
        const text = members.get(name);
        return text === undefined ? [] : [[name, text] as const];
      }),
    );
  for (const operation of openOperations(context, device, 'EXECUTING')) {
    const members = load(context, operation);
    if (!members.has(DEVICE_PROFILE)) continue;
    if (id === undefined || idText(members.get('profileId')) === id) return named(members);
  }
  if (id === undefined) return undefined;
  const stored = splitMembers(context.get('managedObject', device) ?? '{}').get('c8y_Profile');
  const before: Members = stored?.startsWith('{') === true ? splitMembers(stored) : new Map();
  return idText(before.get('profileId')) === id ? named(before) : new Map([['profileId', JSON.stringify(id)]]);
}

export function deleteOperation(context: ActorContext, body: EntityDelete): undefined {
  const members = load(context, body.id);
  if (body.onlyWhenOver === true && !['SUCCESSFUL', 'FAILED'].includes(stringMember(members, 'status') ?? ''))
    return undefined;
  const device = String(context.command.key);
  context.remove('operation', body.id);
  context.remove('openOperation', openOperationKey(device, body.id));
  context.row(deletedRow(context.command, 'operations', body.id, Number(device), members));
  context.notify('operations', device, 'DELETE', JSON.stringify(body.id), stringMember(members, 'type'));
  return undefined;
}
