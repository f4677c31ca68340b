/** A managed object as text: its members as they were written, so that what is not edited keeps every digit. */
import { prettyJson } from '../../../parts/json.tsx';

/** What the server keeps: not part of what is edited. */
const KEPT = new Set([
  'id',
  'self',
  'creationTime',
  'lastUpdated',
  'childDevices',
  'childAssets',
  'childAdditions',
  'deviceParents',
  'assetParents',
  'additionParents',
  'c8y_Availability',
  'c8y_Connection',
  'c8y_ActiveAlarmsStatus',
]);

/** Members in their order, each with its JSON as it was written. */
export type Members = ReadonlyMap<string, string>;

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]/g;

/** @param text a JSON object without mistakes; of a name that is there twice the last counts. */
export function membersOf(text: string): Members {
  const members = new Map<string, string>();
  let depth = 0;
  let name: string | undefined;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (depth === 1 && (token === ',' || token === '}')) {
      if (name !== undefined) members.set(name, text.slice(from, index).trim());
      name = undefined;
    }
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token === ':') from = index + 1;
    else if (depth === 1 && token.startsWith('"') && name === undefined) name = JSON.parse(token) as string;
  }
  return members;
}

const textOf = (members: Iterable<readonly [string, string]>): string =>
  prettyJson(`{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`);

/** What a person may change of the object. */
export const editableText = (text: string): string => textOf([...membersOf(text)].filter(([name]) => !KEPT.has(name)));

/** The first member of the text that the server keeps. */
export const keptMember = (text: string): string | undefined =>
  [...membersOf(text).keys()].find((name) => KEPT.has(name));

const isSame = (one: string | undefined, other: string | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && prettyJson(one) === prettyJson(other));

/** Names of members that are not the same in both. */
function changedNames(before: Members, after: Members): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => !isSame(before.get(name), after.get(name)));
}

/** The body of a PUT that makes one of the other: changed members alone, removed ones as null; {} for no change. */
export function changeBody(before: string, after: string): string {
  const [old, now] = [membersOf(before), membersOf(after)];
  return textOf(changedNames(old, now).map((name) => [name, now.get(name) ?? 'null'] as const));
}

export interface Rebased {
  readonly text: string;
  /** Members that both have changed: they are as the person has written them. */
  readonly both: readonly string[];
}

/** What the person has changed, on top of what others have made of the object meanwhile. */
export function rebased(base: string, mine: string, theirs: string): Rebased {
  const [before, wanted] = [membersOf(base), membersOf(mine)];
  const merged = new Map(membersOf(theirs));
  const both: string[] = [];
  for (const name of changedNames(before, wanted)) {
    const value = wanted.get(name);
    if (!isSame(before.get(name), merged.get(name)) && !isSame(value, merged.get(name))) both.push(name);
    if (value === undefined) merged.delete(name);
    else merged.set(name, value);
  }
  return { text: textOf(merged), both };
}

/** The line of the member that the message names, from 1; undefined when it names none. */
export function namedLine(text: string, message: string): number | undefined {
  const words = new Set(message.match(/[\w$-]+/g));
  const name = [...membersOf(text).keys()].find((one) => words.has(one));
  if (name === undefined) return undefined;
  const line = text.split('\n').findIndex((one) => one.trimStart().startsWith(`${JSON.stringify(name)}:`));
  return line < 0 ? undefined : line + 1;
}
