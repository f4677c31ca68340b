/** The search of the inventory for a text in any property (docs/spec/inventory.md#lists). */
import type { ParameterBinder } from './sql.ts';

/**
 * Everything that some property of an object holds as text, as it is spelled there, with its name's colon or without
 * one.
 */
const TEXTS_OF_DOCUMENT = `extractAllGroupsVertical(doc, '"((?:[^"\\\\\\\\]|\\\\\\\\.)*)"(:?)')`;

/** One of them as it is meant: documents are as they were sent, and JSON has several spellings of most characters. */
const MEANT_TEXT = `if(position(t[1], '\\\\') = 0, t[1], JSONExtractString(concat('"', t[1], '"')))`;

/** Parts of a document, one of which is there when it has the text in any spelling. */
function spellings(wanted: string): string[] {
  const parts = [wanted, JSON.stringify(wanted).slice(1, -1), '\\u'];
  return [...new Set(wanted.includes('/') ? [...parts, '\\/'] : parts)];
}

/** The Python library `c8y_api` puts the text in quotes, as queries have it. */
const unquoted = (sent: string): string => (/^'.+'$/s.test(sent) ? sent.slice(1, -1).replaceAll("''", "'") : sent);

/**
 * @returns a condition that holds when some property is equal to the text or, when it is a text, starts with it.
 * @param sent with or without single quotes around it.
 */
export function textCondition(sent: string, binder: ParameterBinder): string {
  const wanted = unquoted(sent);
  const start = binder.bind('String', wanted);
  // Looking for its spellings alone comes first: few documents have one at all.
  const isThere = `multiSearchAny(doc, ${binder.bind('Array(String)', spellings(wanted))})`;
  const conditions = [
    `(${isThere} AND arrayExists(t -> t[2] = '' AND startsWith(${MEANT_TEXT}, ${start}), ${TEXTS_OF_DOCUMENT}))`,
  ];
  if (/^-?\d+(\.\d+)?$|^true$|^false$/.test(wanted)) {
    const places = [':', '[', ','].flatMap((before) => [',', '}', ']'].map((after) => `${before}${wanted}${after}`));
    conditions.push(`multiSearchAny(doc, ${binder.bind('Array(String)', places)})`);
  }
  return `(${conditions.join(' OR ')})`;
}
