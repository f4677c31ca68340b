/** External IDs (docs/spec/identity.md): what type and value may be, whichever way they came. */
import { KEY_TEXT_RULE, isKeyText } from '../documents/key-text.ts';
import { PlatformError } from '../errors.ts';

/** Type and external ID together, in bytes: both are part of keys in the document store. */
const KEY_BYTES_MAX = 1500;
const SEPARATOR = '\n';

/** The key of the document, and of the actor behind `x:`. */
export const externalIdKey = (type: string, externalId: string): string => `${type}${SEPARATOR}${externalId}`;

/** @param key of `externalIdsOf`, without the object and the line feed behind it. */
export function externalIdOfKey(key: string): { readonly type: string; readonly externalId: string } {
  const [type, externalId] = key.split(SEPARATOR);
  return { type, externalId };
}

/** A separator, which is a control character, inside of a part would make two pairs out of one. */
export const isExternalIdPart = (text: string): boolean => text !== '' && isKeyText(text);

/** Whether an object can be bound to the pair. */
export const isExternalId = (type: string, externalId: string): boolean =>
  isExternalIdPart(type) &&
  isExternalIdPart(externalId) &&
  Buffer.byteLength(externalIdKey(type, externalId)) <= KEY_BYTES_MAX;

/** @throws PlatformError `validation/invalid-field`. */
export function requireExternalId(type: string, externalId: string): void {
  const parts = [
    ['type', type],
    ['externalId', externalId],
  ] as const;
  for (const [name, value] of parts)
    if (!isExternalIdPart(value)) throw invalid(name, value, `a text that is not empty, ${KEY_TEXT_RULE}`);
  if (!isExternalId(type, externalId))
    throw invalid('externalId', externalId, `at most ${KEY_BYTES_MAX} bytes together with type`);
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'identity', name, value, limit });
