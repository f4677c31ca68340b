/** What a limit bounds and what happens beyond it, in the words of docs/reference/limits.md, which is a file of the console. */
import { sendRaw } from '../api/send.ts';

export interface Limit {
  readonly bounds: string;
  readonly bound: string;
  readonly beyond: string;
}

export type Limits = ReadonlyMap<string, Limit>;

/** Markdown. */
export const LIMITS_PATH = '/console/limits.md';

let reading: Promise<Limits> | undefined;

/** All limits by name; the file is read once. @throws ApiError. */
export function readLimits(): Promise<Limits> {
  reading ??= sendRaw(LIMITS_PATH, { headers: { Accept: '*/*' } })
    .then(async (answer) => limitsOf(await answer.text()))
    .catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
  return reading;
}

/** @param page the Markdown of the page. @returns limits by name. */
export function limitsOf(page: string): Limits {
  const limits = new Map<string, Limit>();
  for (const [, name, bounds, bound, beyond] of page.matchAll(/^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*?) \|$/gm))
    limits.set(name, { bounds: plain(bounds), bound: plain(bound), beyond: plain(beyond) });
  return limits;
}

/** Shares of a limit are counted by their own names: `<name>-of-user`, `<name>-of-tenant`. */
export const limitOf = (limits: Limits, name: string): Limit | undefined =>
  limits.get(name) ?? limits.get(name.replace(/-of-(?:user|tenant)$/, ''));

/** In the words of a refusal: `… (journal/bytes)`, `The server is busy: journal/bytes (…)`. */
const NAME = /(?:\(|: )([a-z][a-z0-9-]*\/[a-zA-Z0-9][\w.-]*)(?=[\s),]|$)/;

/** The name of a limit that the words of a refusal may tell; only the limits themselves say whether it is one. */
export const limitIn = (message: string): string | undefined => NAME.exec(message)?.[1];

const plain = (text: string): string => text.replaceAll('`', '').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
