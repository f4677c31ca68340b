/** Measurements of a part of the journal, as rows of a block that is built again from it. */
import { rowCountAt } from '../journal/record-layout.ts';
import { MeasurementColumns } from './columns.ts';

/** A stored measurement in a group of the journal. */
export interface FoundMeasurement {
  readonly records: Buffer;
  readonly at: number;
  readonly seq: number;
}

/** All of them, whatever one block takes now: they were in one before. */
export function columnsOf(found: readonly FoundMeasurement[]): MeasurementColumns {
  // A measurement has room beyond the last row, whatever it has of values.
  const rows = found.reduce((count, { records, at }) => count + rowCountAt(records, at), 1);
  const columns = new MeasurementColumns(rows);
  for (const { records, at, seq } of found)
    columns.add(records, new DataView(records.buffer, records.byteOffset, records.length), at, seq);
  return columns;
}
