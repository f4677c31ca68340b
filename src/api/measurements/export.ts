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
import { selectedRows } from '../../history/measurements/export.ts';
import type { MeasurementRow } from '../../history/measurements/rows.ts';
import { measurementTexts } from './text.ts';
import { unitsOf } from './measurements.ts';
import type { ParquetColumn } from '../export/parquet.ts';
import { convertUnit } from '../../model/documents/units.ts';

const COLUMNS: readonly ParquetColumn[] = [
  { name: 'time', type: 'time' },
  { name: 'source', type: 'string' },
  { name: 'device_name', type: 'string' },
  { name: 'fragment.series', type: 'string' },
  { name: 'value', type: 'number' },
  { name: 'unit', type: 'string' },
];

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
    texts: (rows) => Promise.resolve(measurementTexts(request, selectedRows(rows), units)),
    async values(all) {
      const rows = selectedRows(all);
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
