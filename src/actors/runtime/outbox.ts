/** The outbox: rows that a commit has decided, in `meta` until the projector has inserted them. */
import type { DocumentChange } from '../../ports/stores/documents.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';

export const OUTBOX_PREFIX = 'rows/';
/** Id of an entry: the last sequence that its rows may have. */
export const outboxKey = (lastSeq: number): string => OUTBOX_PREFIX + String(lastSeq).padStart(16, '0');

/**
 * Characters of rows in one entry, about. Strings and buffers beyond some 100 KiB get pages of memory that are new each
 * time: each byte of them costs some ten times as much.
 */
const ENTRY_CHARS = 32_768;

/** Entries with the rows of a group. All rows of a sequence are in one, and no entry reaches into another. */
export function outboxEntries(rows: readonly HistoryRow[], lastSeq: number): DocumentChange[] {
  const entries: DocumentChange[] = [];
  const sorted = rows.toSorted((one, other) => one.seq - other.seq);
  let chars = 0;
  for (let [from, at] = [0, 0]; at < sorted.length; at += 1) {
    chars += sorted[at].text.length;
    const isLast = at === sorted.length - 1;
    if (!isLast && (chars < ENTRY_CHARS || sorted[at + 1].seq === sorted[at].seq)) continue;
    const id = outboxKey(isLast ? lastSeq : sorted[at].seq);
    entries.push({ collection: 'meta', tenant: 0, id, value: JSON.stringify(sorted.slice(from, at + 1)) });
    from = at + 1;
    chars = 0;
  }
  return entries;
}
