/**
 * JSON text of measurements from the rows of the history (store/clickhouse/schema.ts, measurements): the stored
 * document, or what columns and form give.
 */
import { formedText, withTail } from '../../ingest/measurements/form.ts';
import { shapeTime } from '../../model/documents/entity-time.ts';
import { compact, splitMembers } from '../../model/documents/json-document.ts';
import type { SeriesValue } from '../../model/entities/measurement.ts';
import type { MeasurementRow } from '../../history/measurements/rows.ts';
import type { ApiRequest } from '../request/request.ts';
import { entityText, segment, sourceIdOf, sourceText, unstoredText, type ViewRequest } from '../entities/text.ts';
import { convertUnit } from '../../model/documents/units.ts';
import type { UnitSystem } from '../../model/documents/units.ts';

export const measurementUrl = (request: Pick<ViewRequest, 'baseUrl'>, id: string): string =>
  `${request.baseUrl}/measurement/measurements/${segment(id)}`;

/**
 * What was sent, its time in the form of timestamps. @param text without id and self. @param id '' when nothing was
 * stored: then there are none.
 */
export function linkedMeasurement(request: Pick<ViewRequest, 'baseUrl'>, id: string, text: string): string {
  const members = shapeTime(splitMembers(text));
  const source = sourceIdOf(members);
  members.set('source', sourceText(request, source));
  return id === '' ? unstoredText(members) : entityText(measurementUrl(request, id), id, members);
}

/** Texts of measurements from rows in their order; rows of one measurement stand together. */
export function measurementTexts(
  request: ApiRequest,
  rows: readonly MeasurementRow[],
  units: UnitSystem | undefined,
): string[] {
  const texts: string[] = [];
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    while (end < rows.length && rows[end].entityId === rows[start].entityId) end += 1;
    texts.push(measurementOf(request, rows.slice(start, end), units));
    start = end;
  }
  return texts;
}

function measurementOf(request: ApiRequest, rows: readonly MeasurementRow[], units: UnitSystem | undefined): string {
  const first = rows[0];
  const values: SeriesValue[] = rows
    .filter((row) => row.fragment !== '')
    .map((row) => ({
      fragment: row.fragment,
      series: row.series,
      ...convertUnit({ value: row.value, unit: row.unit }, units),
    }));
  const doc = rows.find((row) => row.doc !== '')?.doc;
  const isConverted = units !== undefined && rows.some((row) => convertUnit(row, units).unit !== row.unit);
  const tail = rows.find((row) => row.tail !== '')?.tail ?? '';
  const parts = { time: Number(first.timeMs), sourceId: first.sourceId, type: first.type, values };
  const given = (): string => withTail(formedText(parts, Number(first.formText), !isConverted), tail);
  if (doc === undefined) return linkedMeasurement(request, first.entityId, given());
  if (!isConverted) return linkedMeasurement(request, first.entityId, compact(doc));
  // Converted values take the place of the stored fragments; everything else stays.
  const members = splitMembers(compact(doc));
  for (const [name, value] of splitMembers(given()))
    if (values.some((entry) => entry.fragment === name)) members.set(name, value);
  return linkedMeasurement(
    request,
    first.entityId,
    `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`,
  );
}
