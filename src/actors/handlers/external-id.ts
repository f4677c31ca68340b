/** The actor of an external ID: to which managed object it is bound (docs/spec/identity.md). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { DeviceEnsureChecked, ExternalIdBind, ExternalIdClaim } from '../../model/commands/external-ids.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { keyBytes } from '../../model/documents/key-text.ts';
import { isSerialOfOther, SERIAL_TYPE } from '../../model/access/serial-claim.ts';
import { ID_BYTES_MAX } from '../runtime/context.ts';
import type { ActorContext } from '../runtime/context.ts';

const externalIdKey = (type: string, externalId: string): string => `${type}\n${externalId}`;

function boundTo(context: ActorContext, type: string, externalId: string): string | undefined {
  const text = context.get('externalId', externalIdKey(type, externalId));
  return text === undefined ? undefined : (JSON.parse(text) as { managedObject: string }).managedObject;
}

const madeBy = ({ by }: { readonly by?: string }): { by?: string } => (by === undefined ? {} : { by });

function bind(context: ActorContext, body: ExternalIdBind): void {
  // The longer key, at the managed object, must fit too: its actor could only refuse what is bound already.
  const note = `${body.managedObject}\n${externalIdKey(body.type, body.externalId)}`;
  if (keyBytes(note) > ID_BYTES_MAX) {
    const limit = `at most ${ID_BYTES_MAX} bytes`;
    throw new PlatformError('validation/invalid-field', {
      area: 'identity',
      name: 'externalId',
      value: body.externalId,
      limit,
    });
  }
  context.put(
    'externalId',
    externalIdKey(body.type, body.externalId),
    JSON.stringify({ managedObject: body.managedObject, ...madeBy(body) }),
  );
  context.send({ kind: COMMAND.EXTERNAL_ID_NOTE, key: Number(body.managedObject), body });
}

/** @throws PlatformError `identity/reserved`. */
function requireClaim(
  context: ActorContext,
  { type, externalId, claimant }: Pick<ExternalIdClaim, 'type' | 'externalId' | 'claimant'>,
): void {
  if (claimant === undefined || type !== SERIAL_TYPE) return;
  const read: Parameters<typeof isSerialOfOther>[0] = (collection, tenant, id) => context.read(collection, tenant, id);
  if (isSerialOfOther(read, context.command.tenant, claimant, externalId))
    throw new PlatformError('identity/reserved', { type, value: externalId });
}

export function bindExternalId(context: ActorContext, { claimant, ...body }: ExternalIdClaim): ExternalIdBind {
  if (context.get('managedObject', body.managedObject) === undefined)
    throw new PlatformError('inventory/not-found', { id: body.managedObject });
  if (boundTo(context, body.type, body.externalId) !== undefined) {
    throw new PlatformError('identity/duplicate', { type: body.type, value: body.externalId });
  }
  requireClaim(context, { ...body, claimant });
  bind(context, body);
  return body;
}

export function unbindExternalId(context: ActorContext, body: ExternalIdBind): undefined {
  const bound = boundTo(context, body.type, body.externalId);
  if (bound === undefined) throw new PlatformError('identity/not-found', { type: body.type, value: body.externalId });
  // Sent by the deletion of an object: another one may have taken the ID since.
  if (body.managedObject && bound !== body.managedObject) return undefined;
  context.remove('externalId', externalIdKey(body.type, body.externalId));
  context.send({ kind: COMMAND.EXTERNAL_ID_FORGET, key: Number(bound), body: { ...body, managedObject: bound } });
  return undefined;
}

/** At the managed object. */
export function noteExternalId(context: ActorContext, body: ExternalIdBind): undefined {
  if (context.get('managedObject', body.managedObject) === undefined) {
    // Deleted meanwhile: the binding must not outlive it.
    context.send({ kind: COMMAND.EXTERNAL_ID_UNBIND, key: `x:${externalIdKey(body.type, body.externalId)}`, body });
    return undefined;
  }
  // It may have been unbound, and that have overtaken this.
  if (boundTo(context, body.type, body.externalId) !== body.managedObject) return undefined;
  context.put('externalIdsOf', `${body.managedObject}\n${externalIdKey(body.type, body.externalId)}`, '1');
  return undefined;
}

export function forgetExternalId(context: ActorContext, body: ExternalIdBind): undefined {
  // Bound again meanwhile: that may have been noted before this.
  if (boundTo(context, body.type, body.externalId) === body.managedObject) return undefined;
  context.remove('externalIdsOf', `${body.managedObject}\n${externalIdKey(body.type, body.externalId)}`);
  return undefined;
}

/**
 * The gateway's check does not cover an object that was bound after it: then only the owner's, and one that is being
 * created.
 */
function mayUpdate(context: ActorContext, bound: string, body: DeviceEnsureChecked): boolean {
  return bound === body.mayUpdate || isOwned(context, bound, body.owner);
}

/** One that is being created is its owner's. */
function isOwned(context: ActorContext, id: string, owner: string): boolean {
  const text = context.get('managedObject', id);
  return text === undefined || stringMember(splitMembers(text), 'owner') === owner;
}

/** Finds the managed object of a device or has it created: the first message of an unknown device. */
export function ensureDevice(context: ActorContext, body: DeviceEnsureChecked): { id: string; created: boolean } {
  const bound = boundTo(context, body.type, body.externalId);
  if (bound !== undefined) {
    if (body.updateExisting) {
      if (!mayUpdate(context, bound, body)) throw new PlatformError('security/forbidden');
      context.send({
        kind: COMMAND.MANAGED_OBJECT_UPDATE,
        key: Number(bound),
        body: { doc: body.doc, mayChangeOwner: false },
      });
    }
    if (body.mustOwn && !isOwned(context, bound, body.owner))
      throw new PlatformError('identity/duplicate', { type: body.type, value: body.externalId });
    return { id: bound, created: false };
  }
  requireClaim(context, body);
  // The object first: it must exist when the note about its external ID arrives.
  context.send({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: Number(body.id),
    body: { id: body.id, owner: body.owner, doc: body.doc, ...(body.parent ? { parent: body.parent } : {}) },
  });
  bind(context, { type: body.type, externalId: body.externalId, managedObject: body.id, ...madeBy(body) });
  return { id: body.id, created: true };
}
