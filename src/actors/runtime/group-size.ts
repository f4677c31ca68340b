/**
 * How much the commands of a group may change at once. A group of the journal is bounded by what comes in; what goes
 * out is a document and a row for each change, and an object may be thousands of times as large as what changes it. In
 * characters, since counting bytes costs a look at each.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { ActorContext } from './context.ts';
import type { DocumentChange } from '../../ports/stores/documents.ts';

export interface ChangeBounds {
  /** Of one command: an object of 2.7 million characters, whose row is written into the outbox with its quotes escaped. */
  readonly commandCharsMax: number;
  /**
   * Of one group, which is one commit: below what a commit takes in bytes, also where each character is three, and in
   * changes.
   */
  readonly groupCharsMax: number;
}

export const CHANGE_BOUNDS: ChangeBounds = { commandCharsMax: 8 * 2 ** 20, groupCharsMax: 16 * 2 ** 20 };
/** What a change counts for beside its value. */
const CHANGE_CHARS = 64;

const OBJECT_ROW = /^\{"tenant":\d+,"id":\d+/;

/** @param entries of `pending`, of what the command sends. */
export function charsOf({ changes, rows }: ActorContext, entries: readonly DocumentChange[]): number {
  let chars = (changes.length + entries.length) * CHANGE_CHARS;
  for (const { value } of changes) chars += value?.length ?? 0;
  for (const { value } of entries) chars += value?.length ?? 0;
  for (const { text } of rows) chars += 2 * text.length;
  return chars;
}

/**
 * Rows without those of objects that a later row of the same group replaces: only the newest version of an object is
 * read. A DELETE within the group may have to see the older one; the keys of other tables may change from version to
 * version.
 */
export function newestRows(rows: HistoryRow[], contexts: readonly ActorContext[]): HistoryRow[] {
  if (rows.length < 2 || contexts.some(({ command }) => command.kind === COMMAND.DATA_DELETE)) return rows;
  const seen = new Set<string>();
  const newest = rows.toReversed().filter(({ table, text }) => {
    const name = table === 'managed_objects' ? OBJECT_ROW.exec(text)?.[0] : undefined;
    if (name === undefined) return true;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
  return newest.length === rows.length ? rows : newest.reverse();
}
