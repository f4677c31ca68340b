/** Cuts the values of devices into slices of whole records, each the work of one task (docs/internals/scoring.md#jobs). */
import { type ValueColumns, ValueRows } from '../../model/entities/scoring/measured-values.ts';

/** Records of a slice: whole devices follow one another until there are as many; of one device there are no more. */
const RECORDS_AT_ONCE = 2_000;
/** Rows of a slice: 3.2 MB. Records with more values than these are slices of their own. */
const ROWS_AT_ONCE = 100_000;

export interface Slice {
  readonly rows: Uint8Array;
  /** Records in front of its own, of the same device. */
  readonly before: number;
  /** Times of devices that have a value of a wanted column. */
  readonly records: number;
}

/**
 * @param bytes rows by source, and by time in each
 * @param lookBack records before one that the models look back to: they go in front where a device is cut
 */
export function* slicesOf(bytes: Uint8Array, columns: ValueColumns, lookBack = 0): Generator<Slice> {
  const rows = new ValueRows(bytes);
  /** Where the last records of the device begin, as many as the models look back to. */
  let begins: number[] = [];
  let before: readonly number[] = [];
  let first = 0;
  let records = 0;
  let ofDevice = 0;
  for (let at = 0; at < rows.count; ) {
    const isNext = at > 0 && !rows.isSameSource(at - 1, at);
    if (isNext) {
      ofDevice = 0;
      begins = [];
    }
    const isFull = ofDevice >= RECORDS_AT_ONCE || at - first >= ROWS_AT_ONCE || (isNext && records >= RECORDS_AT_ONCE);
    if (isFull) {
      if (records > 0) yield { rows: rows.part(before[0] ?? first, at), before: before.length, records };
      first = at;
      before = [...begins];
      records = 0;
      ofDevice = 0;
    }
    const begin = at;
    let isWanted = false;
    do {
      isWanted ||= columns.isWanted(rows, at);
      at++;
    } while (at < rows.count && rows.isSameRecord(begin, at));
    if (isWanted) {
      records++;
      ofDevice++;
      begins.push(begin);
      if (begins.length > lookBack) begins.shift();
    }
  }
  if (records > 0) yield { rows: rows.part(before[0] ?? first, rows.count), before: before.length, records };
}
