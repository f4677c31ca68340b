/** Series of one source over time, with aggregation (document 4 section 1.4). */
import Type from 'typebox';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import type { ApiRequest } from './api-request.ts';
import { HistoryFilter } from './history-filter.ts';
import { MEASUREMENT_READ, UNIT_HEADERS, unitsOf } from './measurements.ts';
import { isOwner } from './owner.ts';
import { RANGE, REVERT, list } from './query-parameters.ts';
import { found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import { convertUnit } from '../model/units.ts';

/** Values of one answer: times by the series that exist. More set `truncated`. */
const VALUES_MAX = 5000;
/** Series of one request that are named. */
const SERIES_MAX = 100;

const MILLISECONDS = 'toUnixTimestamp64Milli(time)';
/** Whole minutes, hours and days of UTC. Not by toStartOf…: their results are of 32 bits and begin anew before 1970 and after 2106. */
const startOfEach = (durationMs: number): string => `${MILLISECONDS} - positiveModulo(${MILLISECONDS}, ${durationMs})`;
/** Start of the bucket as milliseconds. */
const BUCKETS: Readonly<Record<string, string>> = {
  MINUTELY: startOfEach(60_000), HOURLY: startOfEach(3_600_000), DAILY: startOfEach(86_400_000), '': MILLISECONDS,
};

interface SeriesRow {
  readonly bucket: string | number;
  readonly fragment: string;
  readonly series: string;
  readonly unitName: string;
  readonly low: number;
  readonly high: number;
}

async function read(request: ApiRequest): Promise<SeriesRow[]> {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  filter.id('source', query.text('source')).time('time', query.time('dateFrom'), query.time('dateTo')).add("fragment != ''");
  const names = query.list('series');
  if (names.length > SERIES_MAX) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'series',
      value: String(names.length),
      limit: `at most ${SERIES_MAX} names`,
    });
  }
  if (names.length > 0) filter.add(`concat(fragment, '.', series) IN ${filter.bind('Array(String)', names)}`);
  const bucket = BUCKETS[query.text('aggregationType') ?? ''];
  const direction = query.isTrue('revert') ? 'DESC' : 'ASC';
  // One more than allowed shows that there are more.
  const sql =
    `SELECT toString(${bucket}) AS bucket, fragment, series, any(unit) AS unitName, min(value) AS low, max(value) AS high ` +
    'FROM measurements ' +
    `WHERE ${filter.where} GROUP BY ${bucket}, fragment, series ORDER BY ${bucket} ${direction}, fragment, series LIMIT ${VALUES_MAX + 1}`;
  return request.history.query<SeriesRow>(sql, filter.params);
}

async function series(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const source = query.text('source') as string;
  if (!request.isPrivileged && (await isOwner(request, source)) !== true) throw new PlatformError('security/forbidden');
  const rows = await read(request);
  const isTruncated = rows.length > VALUES_MAX;
  return found('measurementSeries', seriesText(request, isTruncated ? rows.slice(0, VALUES_MAX) : rows, isTruncated));
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
    ([time, entries]) => `"${time}":[${Array.from({ length: heads.length }, (_, index) => entries[index] ?? 'null').join(',')}]`,
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
