/** Texts that become part of a document's key: external IDs, types of alarms, client identifiers. Pure. */

/** Stores write these with one more byte. */
export const KEY_CONTROLS = /[\u0000-\u0004]/g;

/** @returns the bytes that it takes in a key. */
export const keyBytes = (text: string): number => Buffer.byteLength(text) + (text.match(KEY_CONTROLS)?.length ?? 0);

/** No control characters, and no halves of characters: their UTF-8 is that of others. */
export const KEY_TEXT_RULE = 'without control characters';
export const isKeyText = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);
