/**
 * JSON documents kept as text, member by member: they come back exactly as they were sent (key order, integer-like
 * keys, numbers beyond 2^53, `1.0`, empty objects, unicode), which no object made by JSON.parse can do.
 */
import { PlatformError } from '../errors.ts';
import { isSameJson } from './json-equality.ts';
import { stringEnd } from './json-string.ts';

/** Members of the top level in order: name -> compact JSON text of the value. */
export type Members = Map<string, string>;

/** Deepest nesting that is taken; JSON.parse itself survives far more, readers of the document may not. */
export const NESTING_MAX = 200;

/** Most members of a document: each change of one splits and joins all of them. Those within a member do not count. */
export const MEMBERS_MAX = 5_000;
/** What the server adds to an entity that was taken, such as times and attachments, does not count. */
const SERVER_MEMBERS = 100;
export const MEMBERS_LIMIT = 'validation/too-many-members';

/** @param before as many may stay: what was stored before this bound. @throws PlatformError `validation/too-many-members`. */
export function requireFewMembers(members: Members, before = 0): void {
  if (members.size > Math.max(MEMBERS_MAX, before))
    throw new PlatformError(MEMBERS_LIMIT, { count: members.size, maximum: MEMBERS_MAX });
}

/**
 * Splits a JSON object into its top-level members. Of equal names the last wins, at the place of the first.
 * @throws PlatformError `general/bad-json` (400) for what is not JSON, `validation/not-an-object` (422) for other JSON
 * (docs/spec/errors.md#statuses).
 */
export const parseMembers = (text: string): Members => parseDocument(text).members;

/** @returns beside the members the value that JSON.parse makes of all of them. @throws PlatformError as `parseMembers`. */
export function parseDocument(text: string): { members: Members; value: Record<string, unknown> } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new PlatformError('general/bad-json', { reason: reasonOf(error) });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new PlatformError('validation/not-an-object', {
      what: Array.isArray(parsed) ? 'an array' : parsed === null ? 'null' : `a ${typeof parsed}`,
    });
  }
  return { members: splitMembers(compact(text)), value: parsed as Record<string, unknown> };
}

/** Without the piece of the text that the parser shows: it may be a password. */
const reasonOf = (error: unknown): string =>
  (error as Error).message.replace(/,? ?(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON$/s, '') || 'it is not valid JSON';

/** Splits compact, valid JSON text of an object (as stored); the caller vouches for it. */
export function splitMembers(text: string): Members {
  const members: Members = new Map();
  let at = 1;
  while (at < text.length - 1) {
    const nameEnd = stringEnd(text, at);
    const valueStart = nameEnd + 1;
    const valueEnd = endOfValue(text, valueStart);
    members.set(nameOf(text.slice(at, nameEnd)), text.slice(valueStart, valueEnd));
    at = valueEnd + 1;
  }
  return members;
}

/**
 * Names of members by their JSON text, and the other way round: most documents have the same ones. A name of its own
 * text, not a part of the document, which it would keep in memory. Both begin anew when they are full.
 */
const NAMES = new Map<string, string>();
const QUOTED = new Map<string, string>();
const NAMES_MAX = 2_000;
const NAME_LENGTH_MAX = 64;

function remember(map: Map<string, string>, key: string, value: string): string {
  if (key.length > NAME_LENGTH_MAX) return value;
  if (map.size >= NAMES_MAX) map.clear();
  map.set(key, value);
  return value;
}

/** @param quoted JSON text of the name. */
function nameOf(quoted: string): string {
  const known = NAMES.get(quoted);
  if (known !== undefined) return known;
  const name = JSON.parse(quoted) as string;
  return remember(NAMES, JSON.stringify(name), name);
}

/** JSON text of the name of a member. */
export const quotedName = (name: string): string => QUOTED.get(name) ?? remember(QUOTED, name, JSON.stringify(name));

/** Text of one member of what `joinMembers` made; undefined when it is absent. */
export function memberText(text: string, name: string): string | undefined {
  const wanted = quotedName(name);
  let at = 1;
  while (at < text.length - 1) {
    const valueStart = stringEnd(text, at) + 1;
    const valueEnd = endOfValue(text, valueStart);
    if (valueStart - 1 - at === wanted.length && text.startsWith(wanted, at)) return text.slice(valueStart, valueEnd);
    at = valueEnd + 1;
  }
  return undefined;
}

/** Elements of a compact, valid JSON array, as text. */
export function splitElements(text: string): string[] {
  const elements: string[] = [];
  let at = 1;
  while (at < text.length - 1) {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = end + 1;
  }
  return elements;
}

/** The document's text, members in order. */
export function joinMembers(members: Iterable<readonly [string, string]>): string {
  let text = '{';
  for (const [name, value] of members) {
    if (text.length > 1) text += ',';
    text += `${quotedName(name)}:${value}`;
  }
  return `${text}}`;
}

/**
 * Merges `changes` into `members` (docs/spec/conventions.md#changes): a member replaces the old one as a whole, `null`
 * removes it. One that says the same in other words changes nothing, and the old one stays.
 * @returns whether anything changed. @throws PlatformError `validation/too-many-members`; then `members` is not to be used.
 */
export function mergeMembers(members: Members, changes: Iterable<readonly [string, string]>): boolean {
  let changed = false;
  const sizeBefore = members.size;
  for (const [name, value] of changes) {
    const before = members.get(name);
    if (value === 'null') {
      changed = members.delete(name) || changed;
    } else if (before === undefined || !isSameJson(before, value)) {
      members.set(name, value);
      changed = true;
    }
  }
  requireFewMembers(members, Math.max(sizeBefore, MEMBERS_MAX + SERVER_MEMBERS));
  return changed;
}

/** Removes the members that are `null`: a new document begins without them, as a change to `null` would leave it. */
export function dropNulls(members: Members): Members {
  for (const [name, value] of members) if (value === 'null') members.delete(name);
  return members;
}

/** Value of a member that holds a JSON string; undefined when it is absent or of another type. */
export function stringMember(members: Members, name: string): string | undefined {
  return stringOf(members.get(name));
}

/** Value of JSON text that is a string; undefined when it is absent or of another type. */
export const stringOf = (text: string | undefined): string | undefined =>
  text !== undefined && text.startsWith('"') ? (JSON.parse(text) as string) : undefined;

/** Removes white space outside of strings. @throws PlatformError when nested deeper than NESTING_MAX. */
export function compact(text: string): string {
  let out = '';
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at) - 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > NESTING_MAX)
        throw new PlatformError('general/bad-json', { reason: `it is nested deeper than ${NESTING_MAX}` });
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    } else if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
      out += text.slice(from, at);
      from = at + 1;
    }
  }
  return from === 0 ? text : out + text.slice(from);
}

/**
 * For JSON that is read without `compact`. @param text valid JSON. @throws PlatformError `general/bad-json` when nested
 * deeper than NESTING_MAX.
 */
export function requireShallow(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = stringEnd(text, at) - 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > NESTING_MAX)
        throw new PlatformError('general/bad-json', { reason: `it is nested deeper than ${NESTING_MAX}` });
    }
  }
}

/** Index behind the value that starts at `at`: of the comma or bracket that follows it. */
function endOfValue(text: string, at: number): number {
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x22) {
      index = stringEnd(text, index) - 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
    } else if (code === 0x7d || code === 0x5d) {
      if (depth === 0) return index;
      depth -= 1;
    } else if (code === 0x2c && depth === 0) {
      return index;
    }
  }
  throw new SyntaxError(`no JSON as the server stores it: a value at ${at} of ${text.length} characters has no end`);
}
