/** Series of measurements: which a device has, and their values in intervals that the server makes. */
import { sendRaw } from '../api/send.ts';

/** One series of one device. */
export interface SeriesRef {
  readonly source: string;
  /** `c8y_Water.T`. */
  readonly series: string;
}

export interface TimedValue {
  readonly ms: number;
  readonly value: number;
}

/** Points of a series in the order of time. The arrays grow at their end while it is live. */
export interface SeriesData {
  readonly unit: string;
  /** Beginning of each interval, or the time of each value; milliseconds. */
  readonly times: number[];
  readonly averages: number[];
  readonly minima: number[];
  readonly maxima: number[];
  readonly counts: number[];
  /** The newest value, where it is known: an interval has its average. */
  last?: TimedValue;
  /** The server has more values than it shows. */
  readonly isTruncated: boolean;
}

/** `fragment.series` of the key of a fragment with a series: both may have dots, so the server's list is what counts. */
export const seriesKey = ({ source, series }: SeriesRef): string => `${source}:${series}`;

/** The series of a device. */
export const supportedPath = (source: string): string =>
  `/inventory/managedObjects/${encodeURIComponent(source)}/supportedSeries`;

/** @throws ApiError. */
export async function readSupportedSeries(source: string, signal: AbortSignal): Promise<readonly string[]> {
  const answer = (await (await sendRaw(supportedPath(source), { signal })).json()) as {
    c8y_SupportedSeries?: string[];
  };
  return [...(answer.c8y_SupportedSeries ?? [])].sort();
}

export interface SeriesRequest extends SeriesRef {
  readonly fromMs: number;
  readonly toMs: number;
  /** `30s`; '' for single values. */
  readonly interval: string;
}

/**
 * The request of one series, for "Copy as" too. The server takes a comma for the end of a name: without names it answers
 * with all series.
 */
export function seriesPath({ source, series, fromMs, toMs, interval }: SeriesRequest): string {
  const query = new URLSearchParams({
    source,
    ...(series.includes(',') ? {} : { series }),
    dateFrom: new Date(fromMs).toISOString(),
    dateTo: new Date(toMs).toISOString(),
    ...(interval === '' ? {} : { aggregationInterval: interval }),
    aggregationFunction: 'avg,min,max,count',
  });
  return `/measurement/measurements/series?${query}`;
}

interface SeriesAnswer {
  readonly series: readonly { readonly unit?: string; readonly type?: string; readonly name?: string }[];
  readonly values: Readonly<
    Record<string, readonly ({ avg: number | null; min: number; max: number; count: number } | null)[]>
  >;
  readonly truncated?: boolean;
}

/** The points of one series of an answer. @param series the only one where it is absent. */
export function pointsOf(answer: SeriesAnswer, series?: string): SeriesData {
  const index = series === undefined ? 0 : answer.series.findIndex(({ type, name }) => `${type}.${name}` === series);
  const data: SeriesData = {
    unit: answer.series[index]?.unit ?? '',
    times: [],
    averages: [],
    minima: [],
    maxima: [],
    counts: [],
    isTruncated: answer.truncated ?? false,
  };
  for (const [time, values] of Object.entries(answer.values)) {
    const value = values[index];
    if (value == null || value.avg === null) continue;
    data.times.push(Date.parse(time));
    data.averages.push(value.avg);
    data.minima.push(value.min);
    data.maxima.push(value.max);
    data.counts.push(value.count);
  }
  return data;
}

/** @throws ApiError. */
export async function readSeries(request: SeriesRequest, signal: AbortSignal): Promise<SeriesData> {
  const answer = (await (await sendRaw(seriesPath(request), { signal })).json()) as SeriesAnswer;
  return pointsOf(answer, request.series);
}

/** Names of one request for the newest values; the server takes no more. */
const NEWEST_NAMES_MAX = 5;

/** The newest values of the last seven days, by `seriesKey`. @throws ApiError. */
export async function readNewest(
  refs: readonly SeriesRef[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TimedValue>> {
  const newest = new Map<string, TimedValue>();
  const names = [...new Set(refs.map(({ series }) => series))].filter((name) => !name.includes(','));
  for (let at = 0; at < names.length; at += NEWEST_NAMES_MAX) {
    const some = names.slice(at, at + NEWEST_NAMES_MAX);
    const sources = new Set(refs.filter(({ series }) => some.includes(series)).map(({ source }) => source));
    const query = new URLSearchParams({ source: [...sources].join(','), series: some.join(',') });
    const answer = (await (
      await sendRaw(`/measurement/measurements/latest?${query}`, { signal })
    ).json()) as NewestAnswer;
    for (const { source, type, name, value, time } of answer.values)
      newest.set(seriesKey({ source: source.id, series: `${type}.${name}` }), { ms: Date.parse(time), value });
  }
  return newest;
}

interface NewestAnswer {
  readonly values: readonly {
    readonly source: { readonly id: string };
    readonly type: string;
    readonly name: string;
    readonly value: number;
    readonly time: string;
  }[];
}

/** The value is the newest, unless a newer one is known. */
export function takeNewest(data: SeriesData, found: TimedValue): void {
  if (data.last === undefined || data.last.ms <= found.ms) data.last = found;
}

/** The value of a series in a measurement as it comes live. */
export function valueIn(measurement: unknown, series: string): TimedValue | undefined {
  const told = measurement as Readonly<Record<string, unknown>> | null;
  if (typeof told !== 'object' || told === null) return undefined;
  const ms = Date.parse(String(told['time']));
  if (Number.isNaN(ms)) return undefined;
  for (let dot = series.indexOf('.'); dot > 0; dot = series.indexOf('.', dot + 1)) {
    const fragment = told[series.slice(0, dot)] as Readonly<Record<string, { value?: unknown }>> | undefined;
    const value = fragment?.[series.slice(dot + 1)]?.value;
    if (typeof value === 'number') return { ms, value };
  }
  return undefined;
}

/**
 * Takes a live value into the points: into its interval, or as a point of its own. A value older than the last point
 * changes its interval where there is one, and is left out otherwise.
 * @param intervalMs 0 for single values. @returns whether the points have changed.
 */
export function appendValue(data: SeriesData, ms: number, value: number, intervalMs: number): boolean {
  takeNewest(data, { ms, value });
  const time = intervalMs === 0 ? ms : Math.floor(ms / intervalMs) * intervalMs;
  let index = data.times.length - 1;
  while (index >= 0 && data.times[index] > time) index -= 1;
  if (index >= 0 && data.times[index] === time) {
    const count = data.counts[index] + 1;
    data.averages[index] += (value - data.averages[index]) / count;
    data.minima[index] = Math.min(data.minima[index], value);
    data.maxima[index] = Math.max(data.maxima[index], value);
    data.counts[index] = count;
    return true;
  }
  if (index !== data.times.length - 1) return false;
  data.times.push(time);
  data.averages.push(value);
  data.minima.push(value);
  data.maxima.push(value);
  data.counts.push(1);
  return true;
}

/** Takes away what lies before the range, so that a chart that stays open does not grow. */
export function dropBefore(data: SeriesData, fromMs: number): void {
  let count = 0;
  while (count < data.times.length && data.times[count] < fromMs) count += 1;
  if (count === 0) return;
  for (const list of [data.times, data.averages, data.minima, data.maxima, data.counts]) list.splice(0, count);
}
