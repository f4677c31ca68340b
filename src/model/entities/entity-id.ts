/** Identifiers (docs/spec/conventions.md#identifiers): decimal strings below 2^53. */

/** @returns whether `text` can be the id of an entity; anything else is one that does not exist. */
export function isEntityId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER;
}
