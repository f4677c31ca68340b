/** Words, texts and signs of an inventory query (docs/spec/queries.md), with their places. */
import { PlatformError } from '../../model/errors.ts';

export type TokenKind = 'word' | 'text' | '(' | ')' | ',' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** Of a text its pieces between wildcards: `a*b` has two, a text without `*` one. */
  readonly pieces: readonly string[];
  /** As written. */
  readonly source: string;
  /** Index of the first character in the query. */
  readonly at: number;
}

/** Characters of a query. */
const QUERY_LENGTH_MAX = 20_000;

/** A plus is a blank that was encoded twice; names with one are written in quotes. */
const SPACE = /[\s+]/;
/** What ends a word. */
const SIGNS = new Set(['(', ')', ',', "'"]);

/** @throws PlatformError `inventory/invalid-query`, naming the position from 1. */
export function failAt(at: number, reason: string): never {
  throw new PlatformError('inventory/invalid-query', { reason: `${reason} at position ${at + 1}` });
}

/** @param from where the part begins. @throws PlatformError `inventory/invalid-query`. */
export function tokensOf(query: string, from: number, end: number): Token[] {
  const tokens: Token[] = [];
  for (let at = from; at < end; ) {
    const character = query[at];
    if (SPACE.test(character)) {
      at += 1;
      continue;
    }
    const token =
      character === "'"
        ? textAt(query, at, end)
        : SIGNS.has(character)
          ? signAt(character, at)
          : wordAt(query, at, end);
    tokens.push(token);
    at += token.source.length;
  }
  tokens.push({ kind: 'end', pieces: [], source: '', at: end });
  return tokens;
}

function signAt(character: string, at: number): Token {
  return { kind: character as TokenKind, pieces: [], source: character, at };
}

function wordAt(query: string, at: number, end: number): Token {
  let next = at + 1;
  while (next < end && !SIGNS.has(query[next]) && !SPACE.test(query[next])) next += 1;
  const source = query.slice(at, next);
  return { kind: 'word', pieces: source.split('*'), source, at };
}

/** What a backslash before it makes a sign like others; QueriesUtil of `@c8y/client` writes one before brackets. */
const ESCAPED = /['*\\()[\]{}]/;

/** A text in single quotes: `''` and `\'` are a quote, `\*` a star, `\\` a backslash, `\(` a bracket. */
function textAt(query: string, at: number, end: number): Token {
  const pieces: string[] = [];
  let piece = '';
  for (let next = at + 1; next < end; next += 1) {
    const character = query[next];
    const following = next + 1 < end ? query[next + 1] : '';
    if (character === "'" && following !== "'") {
      return { kind: 'text', pieces: [...pieces, piece], source: query.slice(at, next + 1), at };
    }
    if (character === "'" || (character === '\\' && ESCAPED.test(following))) {
      piece += following;
      next += 1;
    } else if (character === '*') {
      pieces.push(piece);
      piece = '';
    } else {
      piece += character;
    }
  }
  return failAt(at, 'the text has no closing quote');
}

/** Index of the parts of a query: `$filter=…` and `$orderby=…`, outside of texts. */
export function partsOf(query: string): {
  readonly filter: readonly [number, number];
  readonly order: readonly [number, number] | undefined;
} {
  if (query.length > QUERY_LENGTH_MAX)
    failAt(QUERY_LENGTH_MAX, `the query has more than ${QUERY_LENGTH_MAX} characters`);
  const start = /^[\s+]*\$filter[\s+]*=/i.exec(query)?.[0].length ?? 0;
  const orderAt = orderIndex(query, start);
  if (orderAt === undefined) return { filter: [start, query.length], order: undefined };
  const from = orderAt + (/^\$orderby[\s+]*=?/i.exec(query.slice(orderAt))?.[0].length ?? 0);
  return { filter: [start, orderAt], order: [from, query.length] };
}

function orderIndex(query: string, start: number): number | undefined {
  for (let at = start; at < query.length; at += 1) {
    if (query[at] === '\\') at += 1;
    else if (query[at] === "'") at = textEnd(query, at);
    else if (query[at] === '$' && /^\$orderby[\s+]*=/i.test(query.slice(at, at + 40))) return at;
  }
  return undefined;
}

/** Index of the closing quote, or of the end. */
function textEnd(query: string, at: number): number {
  for (let next = at + 1; next < query.length; next += 1) {
    if (query[next] === '\\' && /['*\\]/.test(query[next + 1] ?? '')) next += 1;
    else if (query[next] === "'" && query[next + 1] === "'") next += 1;
    else if (query[next] === "'") return next;
  }
  return query.length;
}
