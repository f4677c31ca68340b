/** The range of times that can be stored (docs/spec/conventions.md#timestamps). */
import { parseTime, shapedTime } from './iso-time.ts';
import { stringMember } from './json-document.ts';
import type { Members } from './json-document.ts';

/** The history store keeps DateTime64(3): what lies outside of it cannot be stored. */
export const TIME_MIN = Date.UTC(1900, 0, 1);
export const TIME_MAX = Date.UTC(2299, 11, 31, 23, 59, 59, 999);

/** What the time of an entity takes, as error messages say it. */
export const TIME_RULE = 'an ISO 8601 timestamp from 1900 to 2299';

/** Whether a time can be stored; false for NaN. */
export const isEntityTime = (ms: number): boolean => ms >= TIME_MIN && ms <= TIME_MAX;

/** @returns milliseconds since 1970; undefined when the text is not a timestamp, or one that cannot be stored. */
export function parseEntityTime(text: string): number | undefined {
  const time = parseTime(text);
  return time === undefined || !isEntityTime(time) ? undefined : time;
}

/** Brings the `time` of an entity into the form in which it is shown. @returns `members`, which are changed. */
export function shapeTime(members: Members): Members {
  const text = stringMember(members, 'time');
  const shaped = text === undefined ? text : shapedTime(text);
  return shaped === text ? members : members.set('time', JSON.stringify(shaped));
}
