/** Rows of measurements for exports (docs/spec/measurements.md#exports). */
import { behind, piecesOf } from '../batches.ts';
import type { ExportRow } from '../batches.ts';
import type { ExportReaders } from '../readers.ts';
import type { MeasurementSelection } from './page.ts';
import { MEASUREMENT_COLUMNS } from './rows.ts';
import type { MeasurementRow } from './rows.ts';

/**
 * Rows that are read at once. The engine ends a piece behind the block in which it exceeds the bytes; blocks are small,
 * since rows may have documents.
 */
const PIECE_ROWS = 20_000;
const PIECE_BYTES = 4 * 1024 * 1024;
const BOUNDED_PIECE = ` LIMIT ${PIECE_ROWS} SETTINGS max_result_bytes = ${PIECE_BYTES}, result_overflow_mode = 'break', max_block_size = 256`;
/** Rows that are made into text at once, but for those of one measurement. */
const BATCH_ROWS = 200;
/** Where a row tells which of the conditions it does not fulfil: behind MEASUREMENT_COLUMNS. */
const MISSED = 11;
/** @param missed a bit for each condition on values; '0' for one that was asked for, as those of a page. */
export const exportRowOf = (row: MeasurementRow, missed = '0'): ExportRow => [
  row.entityId,
  row.sourceId,
  String(row.timeMs),
  row.type,
  row.fragment,
  row.series,
  String(row.value),
  row.unit,
  row.doc,
  row.formText,
  row.tail,
  missed,
];

const measurementRowOf = ([
  entityId,
  sourceId,
  timeMs,
  type,
  fragment,
  series,
  value,
  unit,
  doc,
  formText,
  tail,
]: ExportRow): MeasurementRow => ({
  entityId,
  sourceId,
  timeMs,
  type,
  fragment,
  series,
  value: Number(value),
  unit,
  doc,
  formText,
  tail,
});

/**
 * A measurement is in the export with all its rows when each condition holds for one of them: looked at here, so that
 * the engine keeps no set of ids.
 */
export function selectedRows(rows: readonly ExportRow[]): MeasurementRow[] {
  const missed = new Map<string, number>();
  for (const row of rows) missed.set(row[0], (missed.get(row[0]) ?? -1) & Number(row[MISSED]));
  return rows.filter(([id]) => missed.get(id) === 0).map(measurementRowOf);
}

interface PieceRow extends MeasurementRow {
  readonly part: number;
  readonly missed: number;
}

/**
 * Rows of all measurements that may be selected, in the order of the table's key; those of one measurement are not torn
 * apart.
 */
export async function* measurementBatches(
  readers: ExportReaders,
  { filter, outer, hits }: MeasurementSelection,
): AsyncGenerator<readonly ExportRow[]> {
  const missed = hits.map((condition, bit) => `${1 << bit} * toUInt8(NOT (${condition}))`);
  const columns = `${MEASUREMENT_COLUMNS}, part, ${['0', ...missed].join(' + ')} AS missed`;
  const pieces = piecesOf<PieceRow>(readers, { rowsMax: PIECE_ROWS, mayBeCut: true }, (after) => {
    const piece = filter.copy();
    const rest =
      after === undefined
        ? ''
        : ` AND ${behind(piece, ['source', 'time', 'id', 'part'], { ...after, at: after.timeMs })}`;
    const sql = `SELECT ${columns} FROM measurements WHERE ${outer}${rest} ORDER BY tenant, source, time, id, part${BOUNDED_PIECE}`;
    return piece.statement(['measurements'], sql);
  });
  let rows: ExportRow[] = [];
  for await (const piece of pieces) {
    for (const row of piece) rows.push(exportRowOf(row, String(row.missed)));
    let start = 0;
    for (let end = BATCH_ROWS; end < rows.length; end += 1) {
      if (rows[end][0] === rows[end - 1][0]) continue;
      yield rows.slice(start, end);
      start = end;
      end += BATCH_ROWS - 1;
    }
    // The last one may go on in the next piece.
    rows = rows.slice(start);
  }
  if (rows.length > 0) yield rows;
}
