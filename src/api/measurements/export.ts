/**
 * Measurements as exports: a line for each value, or a JSON text for each measurement
 * (docs/spec/measurements.md#exports).
 */
import { compact, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { isSameJson } from '../../model/documents/json-equality.ts';
import type { ApiRequest } from '../request/request.ts';
import { namedSources } from '../entities/text.ts';
import type { ExportFormat, ExportShape } from '../export/export.ts';
import { behind, piecesOf } from '../export/source.ts';
import type { ExportRow } from '../export/source.ts';
import type { HistoryFilter } from '../lists/filter.ts';
import { MEASUREMENT_COLUMNS, measurementTexts } from './text.ts';
import type { MeasurementRow } from './text.ts';
import { unitsOf } from './measurements.ts';
import type { ParquetColumn } from '../export/parquet.ts';
import { convertUnit } from '../../model/documents/units.ts';

/**
 * Rows that are read at once. The engine ends a piece behind the block in which it exceeds the bytes; blocks are small,
 * since rows may have documents.
 */
const PIECE_ROWS = 20_000;
const PIECE_BYTES = 4 * 1024 * 1024;
const BOUNDED_PIECE = ` LIMIT ${PIECE_ROWS} SETTINGS max_result_bytes = ${PIECE_BYTES}, result_overflow_mode = 'break', max_block_size = 256`;
/** Rows that are made into text at once, but for those of one measurement. */
const BATCH_ROWS = 200;
/** Where a row tells whether it is one that was asked for: behind MEASUREMENT_COLUMNS. */
const HIT = 10;
const COLUMNS: readonly ParquetColumn[] = [
  { name: 'time', type: 'time' },
  { name: 'source', type: 'string' },
  { name: 'device_name', type: 'string' },
  { name: 'fragment.series', type: 'string' },
  { name: 'value', type: 'number' },
  { name: 'unit', type: 'string' },
];

export interface ExportSelection {
  readonly filter: HistoryFilter;
  /** Conditions that hold for all rows of a measurement or none. */
  readonly outer: string;
  /** Conditions of which one row of the measurement has to fulfil all; '' for none. */
  readonly hit: string;
}

/** @param hit '1' for one that was asked for, as those of a page. */
export const exportRowOf = (row: MeasurementRow, hit = '1'): ExportRow => [
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
  hit,
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
});

/**
 * A measurement is in the export with all its values when one of them was asked for: looked at here, so that the engine
 * keeps no set of ids.
 */
function selected(rows: readonly ExportRow[]): MeasurementRow[] {
  const hits = new Set<string>();
  for (const row of rows) if (row[HIT] === '1') hits.add(row[0]);
  return rows.filter(([id]) => hits.has(id)).map(measurementRowOf);
}

interface PieceRow extends MeasurementRow {
  readonly part: number;
  readonly hit: number;
}

/**
 * Rows of all measurements that may be selected, in the order of the table's key; those of one measurement are not torn
 * apart.
 */
export async function* measurementBatches(
  request: ApiRequest,
  { filter, outer, hit }: ExportSelection,
): AsyncGenerator<readonly ExportRow[]> {
  const columns = `${MEASUREMENT_COLUMNS}, part, ${hit === '' ? '1' : `toUInt8(${hit})`} AS hit`;
  const pieces = piecesOf<PieceRow>(request, { rowsMax: PIECE_ROWS, mayBeCut: true }, (after) => {
    const piece = filter.copy();
    const rest =
      after === undefined
        ? ''
        : ` AND ${behind(piece, ['source', 'time', 'id', 'part'], { ...after, at: after.timeMs })}`;
    const sql = `SELECT ${columns} FROM measurements WHERE ${outer}${rest} ORDER BY tenant, source, time, id, part${BOUNDED_PIECE}`;
    return { sql, params: piece.params };
  });
  let rows: ExportRow[] = [];
  for await (const piece of pieces) {
    for (const row of piece) rows.push(exportRowOf(row, String(row.hit)));
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

/**
 * Numbers as they were sent, where a double has other digits: of measurements that keep their documents. Rows of one
 * measurement stand together.
 */
class SentNumbers {
  readonly #docs: ReadonlyMap<string, string>;
  #of = '';
  #members: Members = new Map();

  constructor(rows: readonly MeasurementRow[]) {
    this.#docs = new Map(rows.filter(({ doc }) => doc !== '').map(({ entityId, doc }) => [entityId, doc]));
  }

  /** The number, or its digits. */
  of({ entityId, fragment, series, value }: MeasurementRow): number | string {
    if (this.#of !== entityId) {
      this.#of = entityId;
      this.#members = splitMembers(compact(this.#docs.get(entityId) ?? '{}'));
    }
    const ofFragment = this.#members.get(fragment);
    const ofSeries = ofFragment?.startsWith('{') === true ? splitMembers(ofFragment).get(series) : undefined;
    const sent = ofSeries?.startsWith('{') === true ? splitMembers(ofSeries).get('value') : undefined;
    return sent === undefined || isSameJson(sent, String(value)) ? value : sent;
  }
}

/** Parquet has doubles; CSV has the numbers that were sent, unless their unit is converted. */
export function measurementShape(request: ApiRequest, format: ExportFormat): ExportShape {
  const units = unitsOf(request);
  return {
    columns: COLUMNS,
    texts: (rows) => Promise.resolve(measurementTexts(request, selected(rows), units)),
    async values(all) {
      const rows = selected(all);
      const sources = await namedSources(
        request,
        rows.map((row) => row.sourceId),
      );
      const names = new Map([...sources].map(([id, text]) => [id, stringMember(splitMembers(text), 'name') ?? '']));
      const sent = format === 'csv' ? new SentNumbers(rows) : undefined;
      return rows
        .filter((row) => row.fragment !== '')
        .map((row) => {
          const { value, unit } = convertUnit(row, units);
          const shown = unit === row.unit ? (sent?.of(row) ?? value) : value;
          return [
            Number(row.timeMs),
            row.sourceId,
            names.get(row.sourceId) ?? '',
            `${row.fragment}.${row.series}`,
            shown,
            unit,
          ];
        });
    },
  };
}
