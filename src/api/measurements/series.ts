/** Series of one source over time, with aggregation (docs/spec/measurements.md#series). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { limitSources } from '../../history/access.ts';
import { HistoryFilter } from '../../history/filter.ts';
import { MEASUREMENT_READ, UNIT_HEADERS, unitsOf } from './measurements.ts';
import { isOwner, reachOf, typesHeld } from '../lists/owner.ts';
import { RANGE, REVERT, list } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { SeriesReader } from '../../history/measurements/series.ts';
import type { SeriesRow } from '../../history/measurements/series.ts';
import { convertUnit } from '../../model/documents/units.ts';

/** Values of one answer: times by the series that exist. More set `truncated`. */
const VALUES_MAX = 5000;
/**
 * Places of one answer, times by series, empty ones too: values that share no time have as many as the square of their
 * number. More set `truncated`.
 */
const PLACES_MAX = 200_000;
const PLACES_LIMIT = 'measurement/series-places';
/** Series of one request that are named. */
const SERIES_MAX = 100;

/** Of a bucket; 0 for values at their own time. */
const DURATIONS: Readonly<Record<string, number>> = { MINUTELY: 60_000, HOURLY: 3_600_000, DAILY: 86_400_000, '': 0 };

function read(request: ApiRequest, isOwn: boolean): Promise<SeriesRow[]> {
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
  if (names.length > 0) filter.add(`concat(fragment, '.', series) IN ${filter.bind('Array(String)', names)}`);
  const range = {
    from: query.time('dateFrom') as number,
    to: query.time('dateTo') as number,
    durationMs: DURATIONS[query.text('aggregationType') ?? ''],
    isDescending: query.isTrue('revert'),
  };
  // One more than allowed shows that there are more.
  return new SeriesReader(request.history, filter, range, VALUES_MAX + 1).read();
}

async function series(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const source = query.text('source') as string;
  const isOwn = request.isPrivileged || (await isOwner(request, source)) === true;
  if (!isOwn && (await isOwner(request, source, typesHeld(request))) !== true)
    throw new PlatformError('security/forbidden');
  const rows = await read(request, isOwn);
  const count = countWithin(rows);
  const isTruncated = rows.length > count;
  if (count < Math.min(rows.length, VALUES_MAX)) request.refused(PLACES_LIMIT);
  return found('measurementSeries', seriesText(request, isTruncated ? rows.slice(0, count) : rows, isTruncated));
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

function seriesText(request: ApiRequest, rows: readonly SeriesRow[], isTruncated: boolean): string {
  const units = unitsOf(request);
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
    const [low, high] = [row.low, row.high].map((value) => convertUnit({ value, unit: row.unitName }, units).value);
    values[places.get(`${row.fragment}.${row.series}`) as number] = `{"min":${low},"max":${high}}`;
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
        ...REVERT,
      },
      answers: [{ status: 200, description: 'Series and their values by time', mediaType: 'measurementSeries' }],
      handle: series,
    },
  ];
}
