/**
 * Timestamps (docs/spec/conventions.md#timestamps): ISO 8601 in, ms since 1970 inside, `2024-05-02T10:00:00.000Z` out.
 * One reader works on bytes, without allocation, so that rows of devices and JSON bodies are read by the same rules.
 */

/** Longer text is not a timestamp: 29 characters and a few more digits of fraction. */
const TEXT_LENGTH_MAX = 48;

const MINUS = 0x2d;
const PLUS = 0x2b;
const COLON = 0x3a;
const SPACE = 0x20;
const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;

const scratch = new Uint8Array(TEXT_LENGTH_MAX);

/**
 * Index behind what the last `digits…` helper read; module state instead of a result object, as the hot path must not
 * allocate.
 */
let position = 0;

/**
 * @param options.spaceIsPlus reads a space behind the time as `+`: queries whose `+` was not encoded as `%2B`.
 * @returns ms since 1970, or undefined when `text` is not a timestamp. Fractions beyond ms are cut.
 */
export function parseTime(text: string, options?: { readonly spaceIsPlus?: boolean }): number | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  // A date takes 10 characters, so that a space behind index 10 stands where only an offset can begin.
  const spaceIsPlus = options?.spaceIsPlus === true;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return undefined;
    scratch[index] = spaceIsPlus && code === SPACE && index > 10 ? PLUS : code;
  }
  const time = parseTimeBytes(scratch, 0, text.length);
  return Number.isNaN(time) ? undefined : time;
}

/** Most times that are written follow each other: one command has the same several times. */
let lastFormatted = { ms: NaN, text: '' };

/** Form in which every timestamp leaves the server. @param ms between the years 0 and 9999. */
export function formatTime(ms: number): string {
  if (ms !== lastFormatted.ms) lastFormatted = { ms, text: new Date(ms).toISOString() };
  return lastFormatted.text;
}

/** The form of timestamps in answers (docs/spec/conventions.md#timestamps). */
const SHAPE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/;
/** Behind a date: a date alone ends like an offset. */
const OFFSET = /^.{10}.*([+-])(\d\d):?(\d\d)?$/;

/** @returns the timestamp with milliseconds and `Z` or the offset that it has; a text that is none as it is. */
export function shapedTime(text: string): string {
  if (SHAPE.test(text)) return text;
  const ms = parseTime(text);
  if (ms === undefined) return text;
  const found = OFFSET.exec(text);
  if (found === null) return formatTime(ms);
  const [, sign, hours, minutes = '00'] = found;
  const offset = (Number(hours) * 60 + Number(minutes)) * MS_PER_MINUTE;
  return `${formatTime(sign === '-' ? ms - offset : ms + offset).slice(0, -1)}${sign}${hours}:${minutes}`;
}

/**
 * Reads `YYYY-MM-DD[Thh:mm[:ss[.fff]][Z|±hh[:mm]]]` from `bytes[start, end)`; `T` may be a space, the point a comma.
 * Without an offset it is UTC.
 * @returns ms since 1970 or NaN.
 */
export function parseTimeBytes(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 10 || bytes[start + 4] !== MINUS || bytes[start + 7] !== MINUS) return NaN;
  const yearBytes = (bytes[start] << 24) | (bytes[start + 1] << 16) | (bytes[start + 2] << 8) | bytes[start + 3];
  const dayBytes = (bytes[start + 5] << 24) | (bytes[start + 6] << 16) | (bytes[start + 8] << 8) | bytes[start + 9];
  if (yearBytes !== lastYearBytes || dayBytes !== lastDayBytes) {
    const read = parseDay(bytes, start);
    if (read !== read) return NaN;
    lastYearBytes = yearBytes;
    lastDayBytes = dayBytes;
    lastMidnight = read;
  }
  const midnight = lastMidnight;
  if (end === start + 10) return midnight;
  const separator = bytes[start + 10];
  if (separator !== 0x54 && separator !== 0x74 && separator !== SPACE) return NaN;
  const timeOfDay = parseTimeOfDay(bytes, start + 11, end);
  return midnight + timeOfDay - parseOffset(bytes, position, end);
}

/** Most messages are of one day: its bytes and its midnight as they were read last. No date has the bytes 0. */
let lastYearBytes = 0;
let lastDayBytes = 0;
let lastMidnight = NaN;

/** @returns midnight of `YYYY-MM-DD` or NaN. */
function parseDay(bytes: Uint8Array, start: number): number {
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month))) return NaN;
  return daysSince1970(year, month, day) * MS_PER_DAY;
}

/** @returns ms since midnight or NaN; leaves `position` at the offset. */
function parseTimeOfDay(bytes: Uint8Array, start: number, end: number): number {
  position = start + 5;
  if (position > end || bytes[start + 2] !== COLON) return NaN;
  const hours = twoDigits(bytes, start);
  const minutes = twoDigits(bytes, start + 3);
  if (!(hours >= 0 && hours <= 23 && minutes >= 0 && minutes <= 59)) return NaN;
  const ms = (hours * 60 + minutes) * MS_PER_MINUTE;
  if (position >= end || bytes[position] !== COLON) return ms;
  const seconds = position + 3 <= end ? twoDigits(bytes, position + 1) : NaN;
  if (!(seconds >= 0 && seconds <= 59)) return NaN;
  position += 3;
  if (position >= end || (bytes[position] !== 0x2e && bytes[position] !== 0x2c)) return ms + seconds * 1000;
  return ms + seconds * 1000 + parseFraction(bytes, position + 1, end);
}

/** @returns whole ms of a fraction with at least one digit; leaves `position` behind it. */
function parseFraction(bytes: Uint8Array, start: number, end: number): number {
  let ms = 0;
  let weight = 100;
  let at = start;
  for (; at < end; at += 1) {
    const digit = bytes[at] - 0x30;
    if (digit < 0 || digit > 9) break;
    if (weight >= 1) ms += digit * weight;
    weight = weight === 100 ? 10 : weight === 10 ? 1 : 0;
  }
  position = at;
  return at === start ? NaN : ms;
}

/** @returns the offset from UTC in ms; NaN when `bytes[start, end)` is neither empty nor an offset. */
function parseOffset(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) return 0;
  const sign = bytes[start];
  if (sign === 0x5a || sign === 0x7a) return start + 1 === end ? 0 : NaN;
  if (sign !== PLUS && sign !== MINUS) return NaN;
  const length = end - start;
  let minutes = 0;
  if (length === 6 && bytes[start + 3] === COLON) minutes = twoDigits(bytes, start + 4);
  else if (length === 5) minutes = twoDigits(bytes, start + 3);
  else if (length !== 3) return NaN;
  const hours = twoDigits(bytes, start + 1);
  if (!(hours >= 0 && hours <= 18 && minutes >= 0 && minutes <= 59)) return NaN;
  const offset = (hours * 60 + minutes) * MS_PER_MINUTE;
  return sign === MINUS ? -offset : offset;
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const high = bytes[at] - 0x30;
  const low = bytes[at + 1] - 0x30;
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? high * 10 + low : NaN;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Days of the Gregorian calendar, counted in eras of 400 years that begin on 1 March so that the leap day comes last.
 */
function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
