/** What a limit bounds and what happens beyond it, in the words of docs/reference/limits.md. */

export interface Limit {
  readonly bounds: string;
  readonly bound: string;
  readonly beyond: string;
}

/** @param page the Markdown of the page. @returns limits by name. */
export function limitsOf(page: string): ReadonlyMap<string, Limit> {
  const limits = new Map<string, Limit>();
  for (const [, name, bounds, bound, beyond] of page.matchAll(/^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*?) \|$/gm))
    limits.set(name, { bounds: plain(bounds), bound: plain(bound), beyond: plain(beyond) });
  return limits;
}

/** Shares of a limit are counted by their own names: `<name>-of-user`, `<name>-of-tenant`. */
export const limitOf = (limits: ReadonlyMap<string, Limit>, name: string): Limit | undefined =>
  limits.get(name) ?? limits.get(name.replace(/-of-(?:user|tenant)$/, ''));

const plain = (text: string): string => text.replaceAll('`', '').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
