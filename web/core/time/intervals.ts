/** Lengths of time that people read well: for the intervals of charts and the steps of their axes. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** As the server takes them: `aggregationInterval`. */
export const INTERVALS: readonly (readonly [string, number])[] = [
  ['1s', SECOND_MS],
  ['2s', 2 * SECOND_MS],
  ['5s', 5 * SECOND_MS],
  ['10s', 10 * SECOND_MS],
  ['15s', 15 * SECOND_MS],
  ['30s', 30 * SECOND_MS],
  ['1m', MINUTE_MS],
  ['2m', 2 * MINUTE_MS],
  ['5m', 5 * MINUTE_MS],
  ['10m', 10 * MINUTE_MS],
  ['15m', 15 * MINUTE_MS],
  ['30m', 30 * MINUTE_MS],
  ['1h', HOUR_MS],
  ['2h', 2 * HOUR_MS],
  ['3h', 3 * HOUR_MS],
  ['6h', 6 * HOUR_MS],
  ['12h', 12 * HOUR_MS],
  ['1d', DAY_MS],
  ['2d', 2 * DAY_MS],
  ['7d', 7 * DAY_MS],
  ['30d', 30 * DAY_MS],
];

/** Single values are shown of ranges up to this length. */
const SINGLE_VALUES_MS_MAX = 5 * MINUTE_MS;
/** Values that the server shows in one answer. */
const POINTS_MAX = 5_000;

/**
 * The interval that gives at most one point a pixel, '' for single values.
 * @param widthPx of the chart.
 */
export function intervalFor(rangeMs: number, widthPx: number): string {
  if (rangeMs <= SINGLE_VALUES_MS_MAX) return '';
  const count = Math.min(Math.max(widthPx, 100), POINTS_MAX - 1);
  return (INTERVALS.find(([, ms]) => rangeMs / ms <= count) ?? INTERVALS[INTERVALS.length - 1])[0];
}

/** Milliseconds of an interval; 0 for single values. */
export const intervalMs = (interval: string): number => INTERVALS.find(([name]) => name === interval)?.[1] ?? 0;

/** True when the server shows the whole range in that interval. */
export const fits = (interval: string, rangeMs: number): boolean =>
  interval === '' || rangeMs / intervalMs(interval) < POINTS_MAX;
