/** Series of one source over time, with aggregation (docs/spec/measurements.md#series). */
import Type from 'typebox';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { limitSources } from '../../history/access.ts';
import { HistoryFilter } from '../../history/filter.ts';
import { MEASUREMENT_READ, UNIT_HEADERS, unitsOf } from './measurements.ts';
import { isOwner, reachOf, typesHeld } from '../lists/owner.ts';
import { listReaders } from '../lists/readers.ts';
import { RANGE, REVERT, list, text } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { addNames } from '../../history/measurements/rows.ts';
import { recentSeries } from '../../history/measurements/recent-series.ts';
import { SERIES_FUNCTIONS, SeriesReader } from '../../history/measurements/series.ts';
import type { OneSeries, SeriesFunction, SeriesRow } from '../../history/measurements/series.ts';
import { convertCombined, convertUnit } from '../../model/documents/units.ts';
import type { UnitSystem } from '../../model/documents/units.ts';

/** Values of one answer: times by the series that exist. More set `truncated`. */
const VALUES_MAX = 5000;
/**
 * Places of one answer, times by series, empty ones too: values that share no time have as many as the square of their
 * number. More set `truncated`.
 */
const PLACES_MAX = 200_000;
const PLACES_LIMIT = 'measurement/series-places';
/** Reads of one answer (`history/measurements/series.ts`). More set `truncated`. */
const WINDOWS_LIMIT = 'measurement/series-windows';
/** Series of one request that are named. */
const SERIES_MAX = 100;

/** Of a bucket; 0 for values at their own time. */
const DURATIONS: Readonly<Record<string, number>> = { MINUTELY: 60_000, HOURLY: 3_600_000, DAILY: 86_400_000, '': 0 };

const INTERVAL = /^([1-9]\d{0,7})([smhdw])$/;
const INTERVAL_UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const INTERVAL_MS_MAX = 366 * 86_400_000;
/** 1970-01-01 was a Thursday: weeks are counted from the Monday before. */
const MONDAY_MS = -3 * 86_400_000;

/** @throws PlatformError `general/invalid-parameter`. */
function intervalOf({ query }: ApiRequest): { readonly durationMs: number; readonly originMs: number } {
  const text = query.text('aggregationInterval');
  const type = query.text('aggregationType');
  if (text === undefined) return { durationMs: DURATIONS[type ?? ''], originMs: 0 };
  const refused = (limit: string): PlatformError =>
    new PlatformError('general/invalid-parameter', { name: 'aggregationInterval', value: text, limit });
  if (type !== undefined) throw refused('no aggregationType beside it');
  const [, number = '', unit = ''] = INTERVAL.exec(text) ?? [];
  const durationMs = Number(number) * (INTERVAL_UNITS[unit] ?? 0);
  if (durationMs === 0 || durationMs > INTERVAL_MS_MAX)
    throw refused('a whole number and s, m, h, d or w, for instance 30s, from 1s to 366d');
  return { durationMs, originMs: unit === 'w' ? MONDAY_MS : 0 };
}

const functionsOf = ({ query }: ApiRequest): readonly SeriesFunction[] => {
  const named = query.list('aggregationFunction') as SeriesFunction[];
  return named.length === 0 ? ['min', 'max'] : [...new Set(named)];
};

/** The series of a single name; undefined where its dots leave several ways to read it. */
function onlyOf(names: readonly string[]): OneSeries | undefined {
  const [fragment, series, more] = names[0]?.split('.', 3) ?? [];
  return names.length === 1 && series !== undefined && more === undefined ? { fragment, series } : undefined;
}

async function read(
  request: ApiRequest,
  isOwn: boolean,
): Promise<{ readonly rows: SeriesRow[]; readonly isCut: boolean }> {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  filter.id('source', query.text('source')).add("fragment != ''");
  // Only what permissions for some types let through.
  if (!isOwn) limitSources(filter, reachOf(request));
  const names = query.list('series');
  if (names.length > SERIES_MAX) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'series',
      value: String(names.length),
      limit: `at most ${SERIES_MAX} names`,
    });
  }
  const only = onlyOf(names);
  if (only !== undefined) filter.text('fragment', only.fragment).text('series', only.series);
  else if (names.length > 0) {
    addNames(filter, names);
    filter.add(`concat(fragment, '.', series) IN ${filter.bind('Array(String)', names)}`);
  }
  const range = {
    from: query.time('dateFrom') as number,
    to: query.time('dateTo') as number,
    ...intervalOf(request),
    functions: functionsOf(request),
    isDescending: query.isTrue('revert'),
    only,
  };
  const source = query.text('source') ?? '';
  const recent =
    isOwn && isEntityId(source)
      ? await recentSeries(listReaders(request), Number(source), range, names, VALUES_MAX + 1)
      : undefined;
  if (recent !== undefined) return { rows: recent, isCut: false };
  // One more than allowed shows that there are more.
  const reader = new SeriesReader(request.history, filter, range, VALUES_MAX + 1);
  const rows = await reader.read();
  return { rows, isCut: reader.isCut };
}

async function series(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const source = query.text('source') as string;
  const isOwn = request.isPrivileged || (await isOwner(request, source)) === true;
  if (!isOwn && (await isOwner(request, source, typesHeld(request))) !== true)
    throw new PlatformError('security/forbidden');
  const { rows, isCut } = await read(request, isOwn);
  const count = countWithin(rows);
  const isTruncated = isCut || rows.length > count;
  if (isCut) request.refused(WINDOWS_LIMIT);
  if (count < Math.min(rows.length, VALUES_MAX)) request.refused(PLACES_LIMIT);
  return found('measurementSeries', seriesText(request, rows.slice(0, count), isTruncated));
}

/** How many of the first rows an answer has room for. */
function countWithin(rows: readonly SeriesRow[]): number {
  const names = new Set<string>();
  const times = new Set<string | number>();
  for (let count = 0; count < rows.length; count += 1) {
    if (count === VALUES_MAX) return count;
    names.add(`${rows[count].fragment}.${rows[count].series}`);
    times.add(rows[count].bucket);
    if (names.size * times.size > PLACES_MAX) return count;
  }
  return rows.length;
}

/** Of one interval of one series. */
function resultsText(row: SeriesRow, functions: readonly SeriesFunction[], units: UnitSystem | undefined): string {
  const { unitName: unit, seen } = row;
  const members = functions.map((name, index) => {
    const value = row.results[index];
    if (value === null || name === 'count') return `"${name}":${value}`;
    if (name === 'min' || name === 'max' || name === 'avg')
      return `"${name}":${convertUnit({ value, unit }, units).value}`;
    return `"${name}":${convertCombined({ value, unit }, name === 'sum' ? Number(seen) : 0, units)}`;
  });
  return `{${members.join(',')}}`;
}

function seriesText(request: ApiRequest, rows: readonly SeriesRow[], isTruncated: boolean): string {
  const units = unitsOf(request);
  const functions = functionsOf(request);
  const places = new Map<string, number>();
  const heads: string[] = [];
  for (const row of rows) {
    const key = `${row.fragment}.${row.series}`;
    if (places.has(key)) continue;
    places.set(key, heads.length);
    const { unit } = convertUnit({ value: 0, unit: row.unitName }, units);
    heads.push(JSON.stringify({ ...(unit === '' ? {} : { unit }), name: row.series, type: row.fragment }));
  }
  const times = new Map<string, (string | undefined)[]>();
  for (const row of rows) {
    const time = formatTime(Number(row.bucket));
    const values = times.get(time) ?? [];
    times.set(time, values);
    values[places.get(`${row.fragment}.${row.series}`) as number] = resultsText(row, functions, units);
  }
  const values = [...times].map(
    ([time, entries]) =>
      `"${time}":[${Array.from({ length: heads.length }, (_, index) => entries[index] ?? 'null').join(',')}]`,
  );
  return `{"series":[${heads.join(',')}],"values":{${values.join(',')}},"truncated":${isTruncated}}`;
}

export function measurementSeriesRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/measurement/measurements/series',
      area: 'measurement',
      access: 'owner',
      roles: MEASUREMENT_READ,
      summary: 'Values of series over time',
      headers: UNIT_HEADERS,
      query: {
        source: { schema: Type.String(), description: 'Id of the managed object', isRequired: true },
        dateFrom: { ...RANGE['dateFrom'], isRequired: true },
        dateTo: { ...RANGE['dateTo'], isRequired: true },
        series: list(Type.String(), '<fragment>.<series>, repeated or comma separated; all without it'),
        aggregationType: {
          schema: Type.Enum(['DAILY', 'HOURLY', 'MINUTELY']),
          description: 'Lowest and highest value of each minute, hour or day of UTC',
        },
        aggregationInterval: text(
          'Instead of aggregationType an interval of any length: a whole number and s, m, h, d or w, for instance 30s; at most 366d',
        ),
        aggregationFunction: list(
          Type.Enum([...SERIES_FUNCTIONS]),
          'What is computed of each interval, repeated or comma separated; min and max without it',
        ),
        ...REVERT,
      },
      answers: [{ status: 200, description: 'Series and their values by time', mediaType: 'measurementSeries' }],
      handle: series,
    },
  ];
}
