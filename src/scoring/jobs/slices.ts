/** Cuts the values of devices into slices of whole records, each the work of one task (docs/internals/scoring.md#jobs). */
import { type ValueColumns, ValueRows } from '../../model/entities/scoring/measured-values.ts';

/** Records of a slice: whole devices follow one another until there are as many; of one device there are no more. */
const RECORDS_AT_ONCE = 2_000;
/** Rows of a slice: 3.2 MB. Records with more values than these are slices of their own. */
const ROWS_AT_ONCE = 100_000;

export interface Slice {
  readonly rows: Uint8Array;
  /** Times of devices that have a value of a wanted column. */
  readonly records: number;
}

/** @param bytes rows by source, and by time in each. */
export function* slicesOf(bytes: Uint8Array, columns: ValueColumns): Generator<Slice> {
  const rows = new ValueRows(bytes);
  let first = 0;
  let records = 0;
  let ofDevice = 0;
  for (let at = 0; at < rows.count; ) {
    const isNext = at > 0 && !rows.isSameSource(at - 1, at);
    if (isNext) ofDevice = 0;
    const isFull = ofDevice >= RECORDS_AT_ONCE || at - first >= ROWS_AT_ONCE || (isNext && records >= RECORDS_AT_ONCE);
    if (isFull) {
      if (records > 0) yield { rows: rows.copy(first, at), records };
      first = at;
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
    }
  }
  if (records > 0) yield { rows: rows.copy(first, rows.count), records };
}
