/** The owner rule (document 1 Authentication 6): the owner of a managed object may write data of it without a global role. */
import { PlatformError } from '../model/errors.ts';
import { splitMembers, stringMember } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { isEntityId } from './entity-id.ts';

/** @returns whether the principal owns the object; undefined when there is none. */
export async function isOwner(request: ApiRequest, managedObject: string): Promise<boolean | undefined> {
  if (!isEntityId(managedObject)) return undefined;
  const text = await request.platform.documents.get('managedObject', request.tenant, managedObject);
  return text === undefined ? undefined : stringMember(splitMembers(text), 'owner') === request.principal.userName;
}

/**
 * Lets through who has one of the route's roles or owns the object; what does not exist is left to the caller.
 * @throws PlatformError 403.
 */
export async function requireOwner(request: ApiRequest, managedObject: string): Promise<void> {
  if (request.isPrivileged) return;
  if ((await isOwner(request, managedObject)) === false) throw new PlatformError('security/forbidden');
}
