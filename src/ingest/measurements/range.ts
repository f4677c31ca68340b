/** Measurements of a part of the journal, as rows of a block that is built again from it. */
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { JournalBatch } from '../../ports/stores/journal.ts';
import { kindAt, modeAt, nextAt, rowCountAt } from '../journal/record-layout.ts';
import { MeasurementColumns } from './columns.ts';
import { isWholeMeasurement } from './record.ts';

/** A stored measurement in a group of the journal. */
export interface FoundMeasurement {
  readonly records: Buffer;
  readonly at: number;
  readonly seq: number;
}

/**
 * Adds the group's measurements with a sequence from `from` to `through` to `found`.
 * @param onDamaged told of those that cannot be read, which are not found. @returns the sequence behind the group.
 */
export function findMeasurements(
  group: JournalBatch,
  from: number,
  through: number,
  found: FoundMeasurement[],
  onDamaged?: (damaged: FoundMeasurement) => void,
): number {
  const { records } = group;
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  let seq = group.firstSeq;
  for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
    if (seq < from || seq > through || kindAt(records, at) !== COMMAND.MEASUREMENT || !isStored(modeAt(records, at)))
      continue;
    if (isWholeMeasurement(view, at)) found.push({ records, at, seq });
    else onDamaged?.({ records, at, seq });
  }
  return seq;
}

/** All of them, whatever one block takes now: they were in one before. */
export function columnsOf(found: readonly FoundMeasurement[], rowsMin = 1): MeasurementColumns {
  // A measurement has room beyond the last row, whatever it has of values.
  const rows = found.reduce((count, { records, at }) => count + rowCountAt(records, at), 1);
  const columns = new MeasurementColumns(Math.max(rows, rowsMin));
  for (const { records, at, seq } of found)
    columns.add(records, new DataView(records.buffer, records.byteOffset, records.length), at, seq);
  return columns;
}
