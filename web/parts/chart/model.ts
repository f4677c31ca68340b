/** What a chart shows, and how points become what uPlot draws. */
import type { SeriesData } from '../../core/server/series.ts';
import { numberText } from '../../core/text/language.ts';
import type { Severity } from '../../core/server/alarm.ts';

export interface ChartSeries {
  readonly key: string;
  /** At the end of its line and in the list below. */
  readonly name: string;
  readonly data: SeriesData;
  /** Which of the colours and dashes; the same for a series wherever it is shown. */
  readonly style: number;
}

export interface ChartAlarm {
  readonly id: string;
  readonly ms: number;
  readonly severity: Severity;
  readonly text: string;
  readonly href: string;
}

/** Colours of a theme are `--series-1` to `--series-6`; each has its dash, so that colours are not needed. */
export const STYLES = 6;
export const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [8, 3, 2, 3], [8, 3, 2, 3, 2, 3], [12, 4]];

const NAMES_PX_MAX = 150;
/** Of an axis of values of three digits. */
const AXIS_PX = 40;

/** Room for the names at the ends of lines. */
export const namesPx = (width: number): number => Math.min(NAMES_PX_MAX, width / 4);

/** Room for points in a chart of this width, which has names and an axis too; 0 while the width is not known. */
export const pointsPx = (width: number): number => (width === 0 ? 0 : width - namesPx(width) - AXIS_PX);

/** A longer pause than this many usual ones is a gap. */
const GAP_FACTOR = 3;

/** The usual pause between two points: the one in the middle of all; 0 of less than two points. */
function usualPause(times: readonly number[]): number {
  const pauses = new Float64Array(Math.max(times.length - 1, 0));
  for (let index = 0; index < pauses.length; index += 1) pauses[index] = times[index + 1] - times[index];
  pauses.sort();
  return pauses[pauses.length >> 1] ?? 0;
}

/** Rows of uPlot: times, then average, maximum and minimum of each series. `null` is a gap, `undefined` no point. */
export type Rows = [number[], ...(number | null | undefined)[][]];

/**
 * One list of times for all series. A gap is a row of its own behind the last point before it.
 * @param series each in the order of time.
 */
export function rowsOf(series: readonly SeriesData[]): Rows {
  const gaps = series.map(({ times }) => {
    const pause = usualPause(times) * GAP_FACTOR;
    return pause === 0
      ? []
      : times.flatMap((time, index) => (times[index + 1] - time > pause ? [time + pause / GAP_FACTOR] : []));
  });
  const first = series[0]?.times ?? [];
  // The intervals of series without gaps are the same.
  const isOne = series.every(
    (one, index) =>
      gaps[index].length === 0 &&
      one.times.length === first.length &&
      one.times.every((time, place) => time === first[place]),
  );
  const times = isOne
    ? [...first]
    : [...new Set([...series.flatMap((one) => one.times), ...gaps.flat()])].sort((left, right) => left - right);
  const columns = series.flatMap((one, index) => {
    if (isOne) return [[...one.averages], [...one.maxima], [...one.minima]];
    const made: [(number | null | undefined)[], (number | null | undefined)[], (number | null | undefined)[]] = [
      new Array(times.length),
      new Array(times.length),
      new Array(times.length),
    ];
    let [point, gap] = [0, 0];
    for (const [row, time] of times.entries()) {
      if (one.times[point] === time) {
        made[0][row] = one.averages[point];
        made[1][row] = one.maxima[point];
        made[2][row] = one.minima[point];
        point += 1;
      } else if (gaps[index][gap] === time) for (const column of made) column[row] = null;
      if (gaps[index][gap] === time) gap += 1;
    }
    return made;
  });
  return [times, ...columns];
}

/** The index of the point nearest to the time; -1 of an empty list. */
export function nearest(times: readonly number[], ms: number): number {
  let [low, high] = [0, times.length - 1];
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < ms) low = middle + 1;
    else high = middle;
  }
  return low > 0 && ms - times[low - 1] <= times[low] - ms ? low - 1 : low;
}

/** A value as charts and their tables show it: at most six digits that count. */
export const valueText = (value: number | undefined | null): string =>
  value === undefined || value === null ? '–' : numberText(value, { maximumSignificantDigits: 6 });

/** Lowest and highest value; undefined without any. */
export function rangeOf({ minima, maxima }: SeriesData): { readonly min: number; readonly max: number } | undefined {
  if (minima.length === 0) return undefined;
  let [min, max] = [Infinity, -Infinity];
  for (const value of minima) if (value < min) min = value;
  for (const value of maxima) if (value > max) max = value;
  return { min, max };
}

/** Air above and below the values. */
const AIR = 0.05;

/** The scale of the values: with 5 % of air, and from zero where that is near. */
export function scaleOf(min: number, max: number): [number, number] {
  if (!Number.isFinite(min) || !Number.isFinite(max)) return [0, 1];
  const size = max - min;
  if (size === 0) return min === 0 ? [-1, 1] : [min - Math.abs(min) * AIR, max + Math.abs(max) * AIR];
  const low = min - size * AIR;
  const high = max + size * AIR;
  if (min >= 0 && min < size / 3) return [0, high];
  return max <= 0 && -max < size / 3 ? [low, 0] : [low, high];
}
