/** Identifiers (docs/spec/conventions.md#identifiers): decimal strings below 2^53. */

/** @returns whether `text` can be the id of an entity; anything else is one that does not exist. */
export function isEntityId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER;
}

/** An id as JSON text, as string or as number. @returns '' when it is absent. */
export function idText(value: string | undefined): string {
  if (value === undefined) return '';
  return value.startsWith('"') ? (JSON.parse(value) as string) : value;
}
