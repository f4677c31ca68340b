/** Ranges of time in the URL: `now-6h` moves with the clock, ISO texts stay. */
import { fullTime, instantOf } from './time.ts';

/** Both as in the URL; '' is open. */
export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

const RELATIVE = /^now(?:-(\d{1,6})([smhdw]))?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** @returns milliseconds; undefined for an open end and for what is not a time. */
export function resolveTime(text: string, now = Date.now()): number | undefined {
  const relative = RELATIVE.exec(text);
  if (relative !== null) return now - Number(relative[1] ?? 0) * (UNIT_MS[relative[2]] ?? 0);
  return text === '' ? undefined : instantOf(text);
}

/** The range as parameters of the API. */
export function rangeQuery({ from, to }: TimeRange, now = Date.now()): { dateFrom?: string; dateTo?: string } {
  const [first, last] = [resolveTime(from, now), resolveTime(to, now)];
  return {
    ...(first === undefined ? {} : { dateFrom: new Date(first).toISOString() }),
    ...(last === undefined ? {} : { dateTo: new Date(last).toISOString() }),
  };
}

/** The same range with times in the place of `now-6h`. */
export function absoluteRange({ from, to }: TimeRange, now = Date.now()): TimeRange {
  const fixed = (text: string, otherwise: string): string => {
    const ms = resolveTime(text || otherwise, now);
    return ms === undefined ? '' : new Date(ms).toISOString();
  };
  return { from: fixed(from, ''), to: fixed(to, from === '' ? '' : 'now') };
}

/** The name of a range that ends now, `6h`; undefined for others. */
export function lastOf({ from, to }: TimeRange): string | undefined {
  return to === '' || to === 'now' ? /^now-(\d+[smhdw])$/.exec(from)?.[1] : undefined;
}

/** Both ends in the zone, for people. */
export function rangeText({ from, to }: TimeRange, now = Date.now()): string {
  const [first, last] = [resolveTime(from, now), resolveTime(to, now)];
  return `${first === undefined ? '…' : fullTime(first)} – ${last === undefined ? '…' : fullTime(last)}`;
}
