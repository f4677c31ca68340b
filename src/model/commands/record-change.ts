/**
 * How a change of records travels to the actor that makes it: with a digest in the place of a long text that the caller
 * has read. The command has what is new only, whatever was there before: many large records are removed, or one is
 * replaced, in one command.
 */
import { createHash } from 'node:crypto';
import type { RecordChange } from './records.ts';
import type { RecordCollection } from './collections.ts';

/** Characters from which on a digest is shorter. */
const TEXT_LENGTH_MAX = 256;
/**
 * Code that follows their changes looks at the former text (accounts/users/lost-rights.ts,
 * accounts/login/rights-watch.ts).
 */
const WITH_FORMER_TEXT: ReadonlySet<RecordCollection> = new Set(['user', 'group', 'inventoryRole']);

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** As it is sent. */
export function withDigest(change: RecordChange): RecordChange {
  const { expected, collection } = change;
  if (expected === undefined || expected.length <= TEXT_LENGTH_MAX || WITH_FORMER_TEXT.has(collection)) return change;
  return { ...change, expected: undefined, expectedDigest: digestOf(expected) };
}

/** @param current text of the record, undefined when there is none. */
export function isAsExpected({ expected, expectedDigest }: RecordChange, current: string | undefined): boolean {
  // `undefined` is left out of JSON: an absent member expects that the record does not exist.
  if (expectedDigest === undefined) return current === expected;
  return current !== undefined && digestOf(current) === expectedDigest;
}
