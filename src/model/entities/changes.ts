/** What differs between two states of an entity, as audit records list and describe it (docs/spec/audit.md#fields). */
import type { AuditEntry } from '../commands/records.ts';
import type { Members } from '../documents/json-document.ts';

/** Changes of one entity that an audit record lists, and characters of a value that it repeats; more is cut. */
const CHANGES_MAX = 50;
const VALUE_LENGTH_MAX = 1_000;
/** Of the names that a list has got or lost. */
const NAMES_SHOWN = 10;

type AuditChanges = NonNullable<AuditEntry['changes']>;

export interface Changes {
  readonly listed: AuditChanges;
  /** Beside those that are listed; the text says how many. */
  readonly more: number;
}

/** Names of members whose values the log does not repeat, on whatever level. */
const SECRET = /password|secret|credential|token/i;
const SECRET_INSIDE = /"[^"]*(?:password|secret|credential|token)[^"]*":/i;
const isSecret = (name: string, text: string | undefined): boolean =>
  text !== undefined && !/^(?:true|false|null)$/.test(text) && (SECRET.test(name) || SECRET_INSIDE.test(text));

/**
 * What differs between two states of an entity, but for `ignored` members, as `changes[]` of an audit record; secrets
 * are without their values.
 */
export function changesBetween(before: Members, after: Members, ignored: ReadonlySet<string>): Changes {
  const names = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !ignored.has(name) && before.get(name) !== after.get(name),
  );
  const listed = names.slice(0, CHANGES_MAX).map((name) => {
    const [previous, next] = [before.get(name), after.get(name)];
    const change = {
      attribute: name,
      type: typeOf(next ?? (previous as string)),
      changeType: previous === undefined ? 'ADDED' : next === undefined ? 'REMOVED' : 'REPLACED',
    } as const;
    if (isSecret(name, previous) || isSecret(name, next)) return change;
    return {
      ...change,
      ...(previous === undefined ? {} : { previousValue: shown(previous) }),
      ...(next === undefined ? {} : { newValue: shown(next) }),
    };
  });
  return { listed, more: names.length - listed.length };
}

const describeMore = ({ more }: Changes): string => (more === 0 ? '' : ` and ${more} more`);

/** What the end of a text says that names no changes, where not all are listed; '' when they are. */
export const describeUnlisted = ({ more }: Changes): string => (more === 0 ? '' : `, and ${more} more changes`);

/** One sentence: `status changed from ACTIVE to CLEARED, text added`. */
export function describeChanges(changes: Changes): string {
  return `${changes.listed.map(describeChange).join(', ')}${describeMore(changes)}`;
}

/** The same, and of lists of names which of them are new or gone: `roles: ROLE_ALARM_READ added`. */
export function describeListChanges(changes: Changes, before: Members, after: Members): string {
  const described = changes.listed.map((change) => {
    const { attribute } = change;
    return describeList(attribute, before.get(attribute), after.get(attribute)) ?? describeChange(change);
  });
  return `${described.join(', ')}${describeMore(changes)}`;
}

function describeChange({ attribute, changeType, previousValue, newValue }: AuditChanges[number]): string {
  const isShown =
    changeType === 'REPLACED' &&
    [previousValue, newValue].every((value) => value !== undefined && typeof value !== 'object');
  if (isShown) return `${attribute} changed from ${String(previousValue)} to ${String(newValue)}`;
  return `${attribute} ${changeType === 'REPLACED' ? 'changed' : changeType === 'ADDED' ? 'added' : 'removed'}`;
}

/** Undefined when they are no lists of texts. */
function describeList(name: string, previous = '[]', next = '[]'): string | undefined {
  if (!previous.startsWith('[') || !next.startsWith('[')) return undefined;
  const [old, now] = [JSON.parse(previous) as unknown[], JSON.parse(next) as unknown[]];
  if (![...old, ...now].every((one) => typeof one === 'string')) return undefined;
  const some = (names: readonly unknown[], what: string): string[] => {
    if (names.length === 0) return [];
    return [
      `${names.slice(0, NAMES_SHOWN).join(', ')}${names.length > NAMES_SHOWN ? `, … (${names.length})` : ''} ${what}`,
    ];
  };
  const [before, after] = [new Set(old), new Set(now)];
  const parts = [
    ...some(
      now.filter((one) => !before.has(one)),
      'added',
    ),
    ...some(
      old.filter((one) => !after.has(one)),
      'removed',
    ),
  ];
  return parts.length === 0 ? undefined : `${name}: ${parts.join(', ')}`;
}

function typeOf(text: string): string {
  switch (text[0]) {
    case '"':
      return 'String';
    case '{':
      return 'Object';
    case '[':
      return 'Array';
    case 't':
    case 'f':
      return 'Boolean';
    default:
      return 'Number';
  }
}

const shown = (text: string): unknown =>
  text.length <= VALUE_LENGTH_MAX ? (JSON.parse(text) as unknown) : `${text.slice(0, VALUE_LENGTH_MAX)}…`;
