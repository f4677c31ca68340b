/** Names in records, found without making strings of them. */

const HASH_START = 0x811c9dc5;
const HASH_FACTOR = 0x01000193;

/** FNV-1a. */
export function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_START;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), HASH_FACTOR);
  return hash;
}

/** Names are short: a loop beats the call into native code. */
export function isAt(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let index = 0; index < name.length; index += 1) if (name[index] !== bytes[start + index]) return false;
  return true;
}

/** Bytes; longer names are left to native code. */
const COPIED_BY_LOOP_MAX = 64;

/** Names are short here too. @returns the offset behind the copy */
export function copyName(name: Uint8Array, to: Uint8Array, at: number): number {
  const { length } = name;
  if (length > COPIED_BY_LOOP_MAX) to.set(name, at);
  else for (let index = 0; index < length; index += 1) to[at + index] = name[index] as number;
  return at + length;
}
