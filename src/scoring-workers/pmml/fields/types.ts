import { numberOf } from '../document/element.ts';

/** The data types of PMML 4.4. */
export const DATA_TYPES = [
  'string',
  'integer',
  'float',
  'double',
  'boolean',
  'date',
  'time',
  'dateTime',
  'dateDaysSince[0]',
  'dateDaysSince[1960]',
  'dateDaysSince[1970]',
  'dateDaysSince[1980]',
  'timeSeconds',
  'dateTimeSecondsSince[0]',
  'dateTimeSecondsSince[1960]',
  'dateTimeSecondsSince[1970]',
  'dateTimeSecondsSince[1980]',
] as const;

export type DataType = (typeof DATA_TYPES)[number];

export type OpType = 'categorical' | 'ordinal' | 'continuous';

/**
 * A value as the engine handles it. `undefined` is the missing value. `date` is a number of days since 1970, `dateTime` of
 * seconds since 1970, `time` of seconds since midnight; their type is known where the model is compiled. An array is a
 * collection, such as the basket of an association.
 */
export type Value = number | string | boolean | readonly Value[];

/** Values that stand as numbers in a row: a missing one is NaN, a boolean 1 or 0. */
export function isNumeric(type: DataType | undefined): boolean {
  return type !== undefined && type !== 'string';
}

/** Types that arithmetic is done with. */
export function isArithmetic(type: DataType | undefined): boolean {
  return type === 'integer' || type === 'float' || type === 'double';
}

/**
 * A value of a record, of JSON or CSV, as its field's type.
 *
 * @returns undefined where it cannot be one
 */
export function castInput(value: unknown, type: DataType): Value | undefined {
  if (typeof value === 'string') return castText(value, type);
  if (typeof value === 'number') return castNumber(value, type);
  if (typeof value === 'boolean') {
    if (type === 'boolean') return value;
    if (type === 'string') return String(value);
    return type === 'integer' || type === 'double' || type === 'float' ? Number(value) : undefined;
  }
  if (typeof value === 'bigint') return castNumber(Number(value), type);
  return undefined;
}

function castNumber(value: number, type: DataType): Value | undefined {
  if (type === 'double') return value;
  if (type === 'float') return Math.fround(value);
  if (type === 'string') return textOfNumber(value);
  if (type === 'integer') return Number.isInteger(value) ? value : undefined;
  if (type === 'boolean') return value === 1 ? true : value === 0 ? false : undefined;
  const ms = type === 'date' ? value * SECONDS_OF_DAY * 1000 : value * 1000;
  if ((type === 'date' || type === 'dateTime' || type === 'time') && isoOf(ms) === undefined) return undefined;
  return Number.isFinite(value) ? value : undefined;
}

/** Of the calendar, before and after 1970. */
const CALENDAR_MS_MAX = 8.64e15;

/** @returns undefined for what is beyond the calendar */
function isoOf(ms: number): string | undefined {
  return Math.abs(ms) <= CALENDAR_MS_MAX ? new Date(ms).toISOString() : undefined;
}

/**
 * A text of the document or of a record as a value of a type.
 *
 * @returns undefined where it cannot be one
 */
export function castText(text: string, type: DataType): Value | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'double':
      return numberOf(text);
    case 'float': {
      const number = numberOf(text);
      return number === undefined ? undefined : Math.fround(number);
    }
    case 'integer': {
      const number = numberOf(text);
      return number !== undefined && Number.isInteger(number) ? number : undefined;
    }
    case 'boolean': {
      const lower = text.trim().toLowerCase();
      if (lower === 'true' || lower === '1' || lower === '1.0') return true;
      return lower === 'false' || lower === '0' || lower === '0.0' ? false : undefined;
    }
    case 'date':
      return daysOf(text);
    case 'time':
    case 'timeSeconds':
      return secondsOfTime(text) ?? (type === 'timeSeconds' ? numberOf(text) : undefined);
    case 'dateTime':
      return secondsOf(text);
    default:
      return sinceYear(text, type);
  }
}

/** Years as they stand in the names of types; 0 is the year 0 of the proleptic calendar. */
export function yearOf(type: DataType): number {
  return Number(/\[(\d+)\]/.exec(type)?.[1] ?? 1970);
}

function sinceYear(text: string, type: DataType): number | undefined {
  const number = numberOf(text);
  if (number !== undefined) return number;
  if (type.startsWith('dateDaysSince')) {
    const days = daysOf(text) ?? daysOfSeconds(secondsOf(text));
    return days === undefined ? undefined : days - daysBefore(yearOf(type));
  }
  const seconds = secondsOf(text) ?? secondsOfDays(daysOf(text));
  return seconds === undefined ? undefined : seconds - daysBefore(yearOf(type)) * SECONDS_OF_DAY;
}

export const SECONDS_OF_DAY = 86_400;

const daysOfSeconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.floor(seconds / SECONDS_OF_DAY);
const secondsOfDays = (days: number | undefined): number | undefined =>
  days === undefined ? undefined : days * SECONDS_OF_DAY;

/** Days from 1 January 1970 to 1 January of a year. */
export function daysBefore(year: number): number {
  return daysOfDate(year, 1, 1);
}

function daysOfDate(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return Math.round(date.getTime() / 1000 / SECONDS_OF_DAY);
}

const DATE = /^([+-]?\d{4,6})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{2}):(\d{2})(?::(\d{2})(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;

function daysOf(text: string): number | undefined {
  const found = DATE.exec(text.trim());
  if (found === null) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate())
    return undefined;
  return daysOfDate(year, month, day);
}

function secondsOfTime(text: string): number | undefined {
  const found = TIME.exec(text.trim());
  if (found === null) return undefined;
  const [hours, minutes, seconds] = [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)];
  if (hours > 24 || minutes > 59 || seconds > 60) return undefined;
  return hours * 3_600 + minutes * 60 + seconds + Number(found[4] ?? 0);
}

function secondsOf(text: string): number | undefined {
  const trimmed = text.trim();
  const at = trimmed.search(/[T ]/);
  if (at === -1) return undefined;
  const days = daysOf(trimmed.slice(0, at));
  const time = secondsOfTime(trimmed.slice(at + 1));
  if (days === undefined || time === undefined) return undefined;
  const zone = /([+-])(\d{2}):?(\d{2})$/.exec(trimmed.slice(at + 1));
  const offset = zone === null ? 0 : (Number(zone[2]) * 3_600 + Number(zone[3]) * 60) * (zone[1] === '-' ? -1 : 1);
  return days * SECONDS_OF_DAY + time - offset;
}

/** A value as the text that a record or a result shows. */
export function textOf(value: Value, type: DataType | undefined): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number') return JSON.stringify(value);
  if (type !== 'date' && type !== 'dateTime' && type !== 'time') return textOfNumber(value);
  const iso = isoOf(type === 'date' ? value * SECONDS_OF_DAY * 1000 : value * 1000);
  // Computed values may be beyond the calendar.
  if (iso === undefined) return textOfNumber(value);
  // A year has more than four digits before 0 and after 9999.
  const [date = '', time = ''] = iso.split('T');
  if (type === 'date') return date;
  return type === 'time' ? time.slice(0, 8) : iso.replace(/\.000Z$|Z$/, '');
}

/** A real number as a text that shows that it is one, in the form of Java: 2 is `2.0`, 10⁷ is `1.0E7`. */
export function textOfReal(value: number, type: 'float' | 'double'): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  const shortest = type === 'float' ? shortestFloat(value) : value;
  if (size === 0 || (size >= 1e-3 && size < 1e7)) {
    const text = String(shortest);
    return Object.is(value, -0) ? '-0.0' : text.includes('.') ? text : `${text}.0`;
  }
  const [digits = '', exponent = ''] = shortest.toExponential().split('e');
  return `${digits.includes('.') ? digits : `${digits}.0`}E${Number(exponent)}`;
}

/** The number with the fewest digits that has the same 32 bits. */
function shortestFloat(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** A number as a category's text: 2 is `2`, not `2.0`. */
function textOfNumber(value: number): string {
  return String(value);
}
