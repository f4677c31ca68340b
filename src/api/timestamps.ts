/** Time in query parameters and the range of what can be stored (document 4 section 0.3, Dates). */
import { parseTime } from '../model/iso-time.ts';

/** The history store keeps DateTime64(3): what lies outside of it cannot be stored. */
export const TIME_MIN = Date.UTC(1900, 0, 1);
export const TIME_MAX = Date.UTC(2299, 11, 31, 23, 59, 59, 999);

/** @returns milliseconds since 1970; undefined when the text is no timestamp or nothing that can be stored. */
export function parseEntityTime(text: string): number | undefined {
  const time = parseTime(text);
  return time === undefined || time < TIME_MIN || time > TIME_MAX ? undefined : time;
}

/** A filter may lie outside of what can be stored: it becomes the border. A blank in front of the offset is a `+`. */
export function parseQueryTime(text: string): number | undefined {
  const time = parseTime(text.trim(), { spaceIsPlus: true });
  return time === undefined ? undefined : Math.min(TIME_MAX, Math.max(TIME_MIN, time));
}
