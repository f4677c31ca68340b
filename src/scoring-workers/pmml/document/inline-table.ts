import type { Element } from './element.ts';

/** Rows of an InlineTable: the text of each cell by the name of its column. */
export function inlineRows(inline: Element): ReadonlyMap<string, string>[] {
  return inline.childrenOf('row').map((row) => new Map(row.children.map(({ name, text }) => [name, text])));
}
