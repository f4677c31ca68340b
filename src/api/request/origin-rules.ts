/**
 * The entries of the option `access.control/allow.origin`: domains or origins, comma separated; `*` stands for any
 * text. Matching looks at each character of an origin about once per entry, whatever the entry is: no regular
 * expression is made of what a tenant writes.
 */

/** Entries of one option; further ones are refused when the option is set, and ignored in one that is stored. */
export const ORIGIN_ENTRIES_MAX = 100;
/** Characters of one entry, as long as an origin may be; longer ones likewise. */
export const ORIGIN_ENTRY_LENGTH_MAX = 300;

/** Scheme and `://` at the start of an origin. */
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const PORT_AT_END = /:\d{1,5}$/;

export interface OriginRule {
  /** Any host, as `*` and `https://*:8443`: it names no origin that could be trusted with cookies. */
  readonly isAnyHost: boolean;
  matches(origin: string): boolean;
}

/**
 * Where pieces of `text` stand in this order, the first at the start and the last at the end. Each piece is searched
 * once, behind the one before.
 */
function matchesPieces(pieces: readonly string[], text: string): boolean {
  const first = pieces[0];
  if (pieces.length === 1) return text === first;
  const last = pieces[pieces.length - 1];
  const end = text.length - last.length;
  if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
  let position = first.length;
  for (let index = 1; index < pieces.length - 1; index += 1) {
    const found = text.indexOf(pieces[index], position);
    if (found < 0) return false;
    position = found + pieces[index].length;
  }
  return position <= end;
}

/** @param entry lower case, without spaces around it. */
function ruleOf(entry: string): OriginRule {
  const text = entry.replace(/\*{2,}/g, '*');
  const pieces = text.split('*');
  const isAnyHost = /^(?:[^/]*:\/\/)?\*(?::[\d*]+)?$/.test(text);
  if (text === '*' || text.includes('://')) return { isAnyHost, matches: (origin) => matchesPieces(pieces, origin) };
  // A domain: any scheme, and any port unless it names one.
  const namesPort = PORT_AT_END.test(text);
  return {
    isAnyHost,
    matches: (origin) => {
      const scheme = SCHEME.exec(origin);
      if (scheme === null) return false;
      const host = origin.slice(scheme[0].length);
      return matchesPieces(pieces, host) || (!namesPort && matchesPieces(pieces, host.replace(PORT_AT_END, '')));
    },
  };
}

const entriesOf = (option: string): string[] =>
  option
    .toLowerCase()
    .split(',', ORIGIN_ENTRIES_MAX + 1)
    .map((text) => text.trim())
    .filter((text) => text !== '');

/** @returns the rules of an option; entries beyond the bounds are not among them. */
export const originRules = (option: string): OriginRule[] =>
  entriesOf(option)
    .slice(0, ORIGIN_ENTRIES_MAX)
    .filter((entry) => entry.length <= ORIGIN_ENTRY_LENGTH_MAX)
    .map(ruleOf);

/** Whether every entry of an option is within the bounds. */
export function areOriginEntriesBounded(option: string): boolean {
  const entries = option.split(',');
  return (
    entries.length <= ORIGIN_ENTRIES_MAX && entries.every((entry) => entry.trim().length <= ORIGIN_ENTRY_LENGTH_MAX)
  );
}
