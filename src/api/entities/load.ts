/** Entities that requests name by their id. */
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';

/** @returns the stored text. @throws PlatformError `error` where there is none, also for other texts than ids. */
export async function loadDocument(
  { platform, tenant }: ApiRequest,
  collection: 'managedObject' | 'alarm' | 'event' | 'operation',
  id: string,
  error: ErrorCode,
): Promise<string> {
  const text = isEntityId(id) ? await platform.documents.get(collection, tenant, id) : undefined;
  if (text === undefined) throw new PlatformError(error, { id });
  return text;
}
