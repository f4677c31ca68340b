/** Operations of a device (document 1, Operation; document 4 sections 5.1 and 8.1). */
import { COMMAND } from '../model/command.ts';
import type { EntityDelete, OperationCreate, OperationUpdate } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import { operationResult } from '../model/operation-result.ts';
import { joinMembers, mergeMembers, parseMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { ancestorsOf } from './child-links.ts';
import type { ActorContext } from './context.ts';
import { requireSource } from './managed-object.ts';
import { deletedRow, entityRow } from './rows.ts';

/** Both spellings of the marker (document 4 section 0.1). */
const AGENT_MARKERS = ['com_platform_model_Agent', 'com_cumulocity_model_Agent'];

/** The agents that an operation for `device` concerns: itself and its ancestors that carry the marker. */
function agentsOf(context: ActorContext, device: string): string[] {
  return [device, ...ancestorsOf(context, device)].filter((id) => {
    const text = context.get('managedObject', id);
    if (text === undefined) return false;
    const members = splitMembers(text);
    return AGENT_MARKERS.some((marker) => members.has(marker));
  });
}

const openKey = (device: string, id: string): string => `${device}\n${id.padStart(16, '0')}`;

/** Members of an operation that stay as they are. */
const SERVER_KEPT = ['id', 'self', 'creationTime', 'deviceId', 'deviceName', 'deviceExternalIDs'];

export function createOperation(context: ActorContext, body: OperationCreate): { doc: string } {
  const device = requireSource(context, 'devicecontrol');
  const agents = agentsOf(context, device);
  if (agents.length === 0) throw new PlatformError('devicecontrol/no-agent', { id: device });
  const sent = parseMembers(body.doc);
  for (const name of ['id', 'self', 'status', 'creationTime', 'deviceId', 'deviceName', 'failureReason', 'deviceExternalIDs']) sent.delete(name);
  const members: Members = new Map([['id', JSON.stringify(body.id)], ['deviceId', JSON.stringify(device)], ['status', '"PENDING"'],
    ['creationTime', JSON.stringify(formatTime(context.command.receivedAt))], ...sent]);
  return { doc: write(context, body.id, members, 'CREATE', agents) };
}

function load(context: ActorContext, id: string): Members {
  const text = context.get('operation', id);
  if (text === undefined) throw new PlatformError('devicecontrol/not-found', { id });
  return splitMembers(text);
}

function write(context: ActorContext, id: string, members: Members, action: 'CREATE' | 'UPDATE', agents: readonly string[]): string {
  const device = String(context.command.key);
  const text = joinMembers(members);
  const status = stringMember(members, 'status') ?? 'PENDING';
  context.put('operation', id, text);
  if (status === 'PENDING' || status === 'EXECUTING') context.put('openOperation', openKey(device, id), status);
  else context.remove('openOperation', openKey(device, id));
  context.row(entityRow(context.command, 'operations', { id, source: Number(device), members, agents }));
  context.notify('operations', device, action, text);
  return text;
}

export function updateOperation(context: ActorContext, body: OperationUpdate): { doc: string } {
  const device = String(context.command.key);
  let managedObjectDoc = body.managedObjectDoc;
  let last = '{}';
  for (const id of body.id === undefined ? select(context, device, body) : [body.id]) {
    const members = load(context, id);
    const changes = parseMembers(body.doc);
    for (const name of SERVER_KEPT) changes.delete(name);
    const owner = stringMember(members, 'deviceId') ?? device;
    if (owner !== device) {
      // SmartREST 504 to 506 name an operation that may be a child's: its own actor decides.
      context.send({ kind: COMMAND.OPERATION_UPDATE, key: Number(owner), body });
      return { doc: joinMembers(members) };
    }
    if (body.parameters) {
      const result = operationResult(members, body.parameters, context.command.receivedAt);
      for (const [name, value] of result.members) changes.set(name, value);
      managedObjectDoc = result.managedObjectDoc ?? managedObjectDoc;
    }
    last = joinMembers(members);
    if (!mergeMembers(members, changes)) continue;
    if (stringMember(members, 'status') !== 'FAILED') members.delete('failureReason');
    last = write(context, id, members, 'UPDATE', agentsOf(context, device));
  }
  if (managedObjectDoc !== undefined) {
    context.send({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: Number(device), body: { doc: managedObjectDoc, mayChangeOwner: false } });
  }
  return { doc: last };
}

/** Open operations in `fromStatus` with the fragment: the oldest, or all of them. */
function select(context: ActorContext, device: string, body: OperationUpdate): string[] {
  const found: string[] = [];
  for (const entry of context.list('openOperation', `${device}\n`)) {
    const id = String(Number(entry.id.slice(device.length + 1)));
    if (body.fromStatus !== undefined && entry.value !== body.fromStatus) continue;
    if (body.fragment && !load(context, id).has(body.fragment)) continue;
    found.push(id);
    if (!body.all) return found;
  }
  if (found.length === 0) throw new PlatformError('devicecontrol/no-operation', { fragment: body.fragment ?? '', status: body.fromStatus ?? '' });
  return found;
}

export function deleteOperation(context: ActorContext, body: EntityDelete): undefined {
  const members = load(context, body.id);
  const device = String(context.command.key);
  context.remove('operation', body.id);
  context.remove('openOperation', openKey(device, body.id));
  context.row(deletedRow(context.command, 'operations', body.id, Number(device), members));
  context.notify('operations', device, 'DELETE', JSON.stringify(body.id));
  return undefined;
}
