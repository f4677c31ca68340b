/** Latest values of many sources in one call (docs/spec/measurements.md#latest-values). */
import Type from 'typebox';
import { limitSources } from '../../history/access.ts';
import { HistoryFilter } from '../../history/filter.ts';
import { keyOf, latestValues } from '../../history/measurements/latest.ts';
import type { LatestRow } from '../../history/measurements/latest.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { convertUnit } from '../../model/documents/units.ts';
import type { UnitSystem } from '../../model/documents/units.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { reachOf } from '../lists/owner.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { list, time } from '../request/schema/query-parameters.ts';
import { MEASUREMENT_READ, UNIT_HEADERS, unitsOf } from './measurements.ts';

const SOURCES_MAX = 100;
const SERIES_MAX = 5;
/** How far back values count without `dateFrom`. */
const BACK_MS = 7 * 86_400_000;

/** @throws PlatformError `general/invalid-parameter`. */
function namesOf({ query }: ApiRequest, name: string, maximum: number): string[] {
  const names = [...new Set(query.list(name))];
  if (names.length > 0 && names.length <= maximum) return names;
  const limit = `from 1 to ${maximum} values`;
  throw new PlatformError('general/invalid-parameter', { name, value: `${names.length} values`, limit });
}

async function latest(request: ApiRequest): Promise<Answer> {
  const sources = namesOf(request, 'source', SOURCES_MAX).filter(isEntityId);
  const names = namesOf(request, 'series', SERIES_MAX);
  const now = request.platform.now();
  const from = request.query.time('dateFrom') ?? now - BACK_MS;
  const reach = reachOf(request);
  const filterOf = (wanted: readonly string[]): HistoryFilter => {
    const filter = new HistoryFilter(request.tenant).idIn('source', wanted);
    limitSources(filter, reach);
    return filter;
  };
  const rows = await latestValues(request.history, filterOf, { sources, names, from, now });
  const byKey = new Map(rows.map((row) => [keyOf(row.sourceId, `${row.fragment}.${row.series}`), row]));
  const units = unitsOf(request);
  const values = sources.flatMap((source) =>
    names.flatMap((name) => {
      const row = byKey.get(keyOf(source, name));
      return row === undefined ? [] : [valueOf(row, units)];
    }),
  );
  return { status: 200, contentType: JSON_TYPE, text: JSON.stringify({ dateFrom: formatTime(from), values }) };
}

function valueOf(
  { sourceId, fragment, series, unitName, latest: value, timeMs }: LatestRow,
  units?: UnitSystem,
): object {
  const converted = convertUnit({ value, unit: unitName }, units);
  return {
    source: { id: sourceId },
    type: fragment,
    name: series,
    value: converted.value,
    ...(converted.unit === '' ? {} : { unit: converted.unit }),
    time: formatTime(Number(timeMs)),
  };
}

export function latestMeasurementRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/measurement/measurements/latest',
      area: 'measurement',
      access: 'owner',
      roles: MEASUREMENT_READ,
      summary: 'The latest value of some series of up to 100 sources',
      headers: UNIT_HEADERS,
      query: {
        source: {
          ...list(Type.String(), `Ids of managed objects, repeated or comma separated; at most ${SOURCES_MAX}`),
          isRequired: true,
        },
        series: {
          ...list(Type.String(), `<fragment>.<series>, repeated or comma separated; at most ${SERIES_MAX}`),
          isRequired: true,
        },
        dateFrom: time('Earlier values do not count; seven days before now without it'),
      },
      answers: [
        {
          status: 200,
          description: 'In the order of the sources and series of the request; what has no value is left out',
          contentTypes: ['application/json'],
          json: Type.Object({
            dateFrom: Type.String({ format: 'date-time' }),
            values: Type.Array(
              Type.Object({
                source: Type.Object({ id: Type.String() }),
                type: Type.String({ description: 'The fragment' }),
                name: Type.String({ description: 'The series' }),
                value: Type.Number(),
                unit: Type.Optional(Type.String()),
                time: Type.String({ format: 'date-time' }),
              }),
            ),
          }),
          example: {
            dateFrom: '2024-04-25T10:00:00.000Z',
            values: [
              {
                source: { id: '1000' },
                type: 'c8y_Environment',
                name: 'T',
                value: 21.5,
                unit: 'C',
                time: '2024-05-02T10:00:00.000Z',
              },
            ],
          },
        },
      ],
      handle: latest,
    },
  ];
}
