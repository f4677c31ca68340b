/** Measurements as exports: a line for each value, or a JSON text for each measurement (document 4 section 1.3). */
import { splitMembers, stringMember } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { namedSources } from './entity-text.ts';
import type { ExportPlan, ExportRow } from './export.ts';
import type { HistoryFilter } from './history-filter.ts';
import { MEASUREMENT_COLUMNS, measurementTexts } from './measurement-text.ts';
import type { MeasurementRow } from './measurement-text.ts';
import { unitsOf } from './measurements.ts';
import type { ParquetColumn } from './parquet.ts';
import { convertUnit } from '../model/units.ts';

/** Columns of MEASUREMENT_COLUMNS, and whether the row is one that was asked for. */
const COLUMN_COUNT = 11;
const COLUMNS: readonly ParquetColumn[] = [
  { name: 'time', type: 'time' }, { name: 'source', type: 'string' }, { name: 'device_name', type: 'string' }, { name: 'fragment.series', type: 'string' },
  { name: 'value', type: 'number' }, { name: 'unit', type: 'string' },
];

export interface ExportSelection {
  readonly filter: HistoryFilter;
  /** Conditions that hold for all rows of a measurement or none. */
  readonly outer: string;
  /** Conditions of which one row of the measurement has to fulfil all; '' for none. */
  readonly hit: string;
}

/** The row of a page as one of an export. */
export const exportRowOf = (row: MeasurementRow): ExportRow => [
  row.entityId, row.sourceId, String(row.timeMs), row.type, row.fragment, row.series, String(row.value), row.unit, row.doc, row.formText, '1',
];

const measurementRowOf = ([entityId, sourceId, timeMs, type, fragment, series, value, unit, doc, formText]: ExportRow): MeasurementRow =>
  ({ entityId, sourceId, timeMs, type, fragment, series, value: Number(value), unit, doc, formText });

/** A measurement is in the export with all its values when one of them was asked for: looked at here, so that the engine keeps no set of ids. */
function selected(rows: readonly ExportRow[]): MeasurementRow[] {
  const hits = new Set<string>();
  for (const row of rows) if (row[COLUMN_COUNT - 1] === '1') hits.add(row[0]);
  return rows.filter(([id]) => hits.has(id)).map(measurementRowOf);
}

export function measurementPlan(request: ApiRequest, { filter, outer, hit }: ExportSelection): ExportPlan {
  const units = unitsOf(request);
  return {
    sql: `SELECT ${MEASUREMENT_COLUMNS}, ${hit === '' ? '1' : `toUInt8(${hit})`} AS hit FROM measurements WHERE ${outer} `
      + 'ORDER BY tenant, source, time, id, part',
    filter, columnCount: COLUMN_COUNT, columns: COLUMNS, keyOf: ([id]) => id,
    texts: (rows) => Promise.resolve(measurementTexts(request, selected(rows), units)),
    async values(all) {
      const rows = selected(all);
      const sources = await namedSources(request, rows.map((row) => row.sourceId));
      const names = new Map([...sources].map(([id, text]) => [id, stringMember(splitMembers(text), 'name') ?? '']));
      return rows.filter((row) => row.fragment !== '').map((row) => {
        const { value, unit } = convertUnit(row, units);
        return [Number(row.timeMs), row.sourceId, names.get(row.sourceId) ?? '', `${row.fragment}.${row.series}`, value, unit];
      });
    },
  };
}
