/** Access to parsed JSON of which nothing is known but that it is JSON. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member as text: strings as they are, numbers and booleans written out, everything else `''`. */
export function textAt(object: JsonObject, name: string): string {
  if (!Object.hasOwn(object, name)) return '';
  const value = object[name];
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function listAt(object: JsonObject, name: string): readonly unknown[] {
  return Object.hasOwn(object, name) ? toList(object[name]) : [];
}
