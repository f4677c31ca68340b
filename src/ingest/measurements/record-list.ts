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
