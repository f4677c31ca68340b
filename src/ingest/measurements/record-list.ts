/** MEASUREMENT records that lie one behind the other in a buffer of their own, before they are appended. */
import { OFFSET_ID, OFFSET_RECEIVED_AT, keyAt, nextAt } from '../journal/record-layout.ts';

export interface RecordList {
  readonly bytes: Buffer;
  readonly count: number;
  readonly sources: ReadonlySet<number>;
}

/** @param bytes whole records; they stay those of the list */
export function recordList(bytes: Buffer): RecordList {
  const sources = new Set<number>();
  let count = 0;
  for (let at = 0; at < bytes.length; at = nextAt(bytes, at)) {
    sources.add(keyAt(bytes, at));
    count += 1;
  }
  return { bytes, count, sources };
}

/** Those of other sources. The bytes of the list move. */
export function withoutSources({ bytes }: RecordList, sources: ReadonlySet<number>): RecordList {
  let end = 0;
  for (let at = 0; at < bytes.length; ) {
    const next = nextAt(bytes, at);
    if (!sources.has(keyAt(bytes, at))) end += bytes.copy(bytes, end, at, next);
    at = next;
  }
  return recordList(bytes.subarray(0, end));
}

/** Gives each record an id, and the time at which it was received (ms since 1970). */
export function stampRecords({ bytes }: RecordList, nextId: () => number, receivedAt: number): void {
  for (let at = 0; at < bytes.length; at = nextAt(bytes, at)) {
    bytes.writeDoubleLE(nextId(), at + OFFSET_ID);
    bytes.writeDoubleLE(receivedAt, at + OFFSET_RECEIVED_AT);
  }
}

/** The list in parts of at most `bytesMax`, or of one record that is longer. They share its bytes. */
export function* piecesOf(list: RecordList, bytesMax: number): Generator<RecordList> {
  const { bytes } = list;
  if (list.count > 0 && bytes.length <= bytesMax) yield list;
  if (bytes.length <= bytesMax) return;
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    const next = nextAt(bytes, at);
    if (next - start > bytesMax && at > start) {
      yield recordList(bytes.subarray(start, at));
      start = at;
    }
    at = next;
  }
  yield recordList(bytes.subarray(start));
}
