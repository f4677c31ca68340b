/**
 * The form of a measurement of one series: what the columns do not say about the text that was sent, as one number.
 * With it the document comes back member for member: the order of its members, the digits and offset of its time, the
 * decimals of its value. 0 is the form that measurementText (model/entities/measurement.ts) writes. What has no form is
 * kept as text.
 *
 * Bits: 0-4 order of time, source, type and fragment | 5 unit before value | 6-9 decimals of the value, 0 = as
 * JavaScript writes it | 10 space instead of T | 11-13 how the offset is written | 14-17 digits of the second's
 * fraction | 18-29 offset in minutes | 30-49 digits of the fraction beyond the third | 52 a tail, with its length in bits
 * 30-49 and none of the others.
 *
 * A tail is what stands behind the members that the columns give, the same text in many measurements: what marks the
 * predictions of a binding. Records have the whole document; the store has the tail instead, each text once.
 */
import { measurementText } from '../../model/entities/measurement.ts';
import type { MeasurementParts } from '../../model/entities/measurement.ts';

/** No form: the text itself is to be kept. */
export const NO_FORM = -1;

const UNIT_FIRST = 1 << 5;
const DECIMALS_SHIFT = 6;
/** Most decimals that a form tells; a number of more digits is kept as text. */
export const FORM_DECIMALS_MAX = 15;
const SPACE_SEPARATOR = 1 << 10;
const OFFSET_KIND_SHIFT = 11;
const FRACTION_SHIFT = 14;
const OFFSET_SHIFT = 18;
const FINER_FACTOR = 2 ** 30;
/** Digits of a fraction: three of them are in the column. */
const FRACTION_DIGITS_MAX = 9;
const FRACTION_DIGITS_KEPT = 3;

const TAILED = 2 ** 52;
/** Of one tail. */
const TAIL_BYTES_MAX = 2 ** 20 - 1;

/** How the offset is written. */
const OFFSET = { ZULU: 0, NONE: 1, HOURS_COLON_MINUTES: 2, HOURS_MINUTES: 3, HOURS: 4 } as const;

const MS_PER_MINUTE = 60_000;
/** `2026-01-01T00:00:00` and with `.000Z` behind it. */
const SECONDS_LENGTH = 19;
const CANONICAL_LENGTH = 24;

/** Orders of the four members, by number: 0 is time, source, type, fragment. */
const ORDERS: readonly (readonly number[])[] = permutations([0, 1, 2, 3]);
const ORDER_NUMBERS: ReadonlyMap<string, number> = new Map(ORDERS.map((order, number) => [order.join(), number]));

function permutations(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((first) => permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

/** Whether a number can be a form: what formedText reads. */
export const isForm = (form: number): boolean =>
  form >= 0 && Number.isSafeInteger(form) && form % UNIT_FIRST < ORDERS.length;

/**
 * @param bytes of the members behind the comma with which a document goes on where measurementText would end it.
 * @returns 0 where they are too long: the document is kept.
 */
export const tailForm = (bytes: number): number => (bytes > TAIL_BYTES_MAX ? 0 : TAILED + bytes * FINER_FACTOR);

/** Bytes of the tail, which stands before the last byte of the document; 0: it has none. */
export const tailBytesOf = (form: number): number => (form < TAILED ? 0 : Math.floor((form - TAILED) / FINER_FACTOR));

/** @param text a document without its tail. */
export const withTail = (text: string, tail: string): string => (tail === '' ? text : `${text.slice(0, -1)},${tail}}`);

/**
 * @param starts where time, source, type and fragment stand in the text. @returns the bits of their order and that of
 * value and unit.
 */
export function layoutForm(starts: readonly [number, number, number, number], isUnitFirst: boolean): number {
  const order = [0, 1, 2, 3].sort((one, other) => starts[one] - starts[other]);
  return (ORDER_NUMBERS.get(order.join()) as number) + (isUnitFirst ? UNIT_FIRST : 0);
}

/**
 * @param decimals digits behind the point of a number that JavaScript would write otherwise, at most FORM_DECIMALS_MAX.
 */
export const decimalsForm = (decimals: number): number => decimals << DECIMALS_SHIFT;

/**
 * @param bytes of which `[start, end)` is a time that parseTimeBytes has read.
 * @returns the bits of how it is written, NO_FORM when they do not tell.
 */
export function timeForm(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const separator = bytes[start + 10];
  if (length === CANONICAL_LENGTH && separator === 0x54 && bytes[start + 19] === 0x2e && bytes[start + 23] === 0x5a)
    return 0;
  if (length < SECONDS_LENGTH || bytes[start + 16] !== 0x3a || (separator !== 0x54 && separator !== 0x20))
    return NO_FORM;
  let at = start + SECONDS_LENGTH;
  let digits = 0;
  let finer = 0;
  if (at < end && bytes[at] === 0x2e) {
    for (at += 1; at < end && bytes[at] >= 0x30 && bytes[at] <= 0x39; at += 1) {
      digits += 1;
      if (digits > FRACTION_DIGITS_KEPT) finer = finer * 10 + bytes[at] - 0x30;
    }
    if (digits > FRACTION_DIGITS_MAX) return NO_FORM;
  }
  const offset = offsetForm(bytes, at, end);
  if (offset < 0) return NO_FORM;
  // Coded so that three digits are 0.
  const fraction = digits === FRACTION_DIGITS_KEPT ? 0 : digits > FRACTION_DIGITS_KEPT ? digits : digits + 1;
  return (separator === 0x20 ? SPACE_SEPARATOR : 0) + (fraction << FRACTION_SHIFT) + offset + finer * FINER_FACTOR;
}

function offsetForm(bytes: Uint8Array, at: number, end: number): number {
  if (at === end) return OFFSET.NONE << OFFSET_KIND_SHIFT;
  const sign = bytes[at];
  if (sign === 0x5a) return OFFSET.ZULU;
  // A comma before the fraction, a small z.
  if (sign !== 0x2b && sign !== 0x2d) return NO_FORM;
  const length = end - at;
  const minutesAt = at + (length === 6 ? 4 : 3);
  const minutes = twoDigits(bytes, at + 1) * 60 + (length === 3 ? 0 : twoDigits(bytes, minutesAt));
  // -00:00 would come back as +00:00.
  if (sign === 0x2d && minutes === 0) return NO_FORM;
  const kind = length === 6 ? OFFSET.HOURS_COLON_MINUTES : length === 5 ? OFFSET.HOURS_MINUTES : OFFSET.HOURS;
  return (kind << OFFSET_KIND_SHIFT) + ((sign === 0x2d ? minutes * 2 - 1 : minutes * 2) << OFFSET_SHIFT);
}

const twoDigits = (bytes: Uint8Array, at: number): number => (bytes[at] - 0x30) * 10 + bytes[at + 1] - 0x30;

/** The time as it was written. @param ms since 1970, what the column keeps. */
function timeText(ms: number, form: number): string {
  const low = form % FINER_FACTOR;
  const zigzag = low >>> OFFSET_SHIFT;
  const minutes = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  const local = new Date(ms + minutes * MS_PER_MINUTE).toISOString();
  const fraction = (low >>> FRACTION_SHIFT) & 0xf;
  const digits = fraction === 0 ? FRACTION_DIGITS_KEPT : fraction > FRACTION_DIGITS_KEPT ? fraction : fraction - 1;
  let text = local.slice(0, 10) + ((low & SPACE_SEPARATOR) === 0 ? 'T' : ' ') + local.slice(11, SECONDS_LENGTH);
  if (digits > 0) text += local.slice(SECONDS_LENGTH, SECONDS_LENGTH + 1 + Math.min(digits, FRACTION_DIGITS_KEPT));
  if (digits > FRACTION_DIGITS_KEPT)
    text += String(Math.floor(form / FINER_FACTOR)).padStart(digits - FRACTION_DIGITS_KEPT, '0');
  const hours = String(Math.trunc(Math.abs(minutes) / 60)).padStart(2, '0');
  const rest = String(Math.abs(minutes) % 60).padStart(2, '0');
  const sign = minutes < 0 ? '-' : '+';
  switch ((low >>> OFFSET_KIND_SHIFT) & 0x7) {
    case OFFSET.NONE:
      return text;
    case OFFSET.HOURS_COLON_MINUTES:
      return `${text}${sign}${hours}:${rest}`;
    case OFFSET.HOURS_MINUTES:
      return `${text}${sign}${hours}${rest}`;
    case OFFSET.HOURS:
      return text + sign + hours;
    default:
      return `${text}Z`;
  }
}

/**
 * The document of a measurement, without `id` and `self`.
 * @param form of a measurement of one value, as it was sent; 0 for the canonical text.
 * @param isValueSent false when the value is not the one that was sent (converted to another unit): its decimals do not
 * count.
 */
export function formedText(parts: MeasurementParts, form: number, isValueSent = true): string {
  if (form === 0 || form >= TAILED || parts.values.length !== 1) return measurementText(parts);
  const [{ fragment, series, value, unit }] = parts.values;
  const low = form % FINER_FACTOR;
  const decimals = isValueSent ? (low >>> DECIMALS_SHIFT) & 0xf : 0;
  const number = `"value":${decimals === 0 ? value : Number(value).toFixed(decimals)}`;
  const unitMember = `"unit":${JSON.stringify(unit)}`;
  const inner = unit === '' ? number : (low & UNIT_FIRST) === 0 ? `${number},${unitMember}` : `${unitMember},${number}`;
  const members = [
    `"time":"${timeText(parts.time, form)}"`,
    `"source":{"id":${JSON.stringify(parts.sourceId)}}`,
    `"type":${JSON.stringify(parts.type)}`,
    `${JSON.stringify(fragment)}:{${JSON.stringify(series)}:{${inner}}}`,
  ];
  return `{${ORDERS[low & 0x1f].map((index) => members[index]).join(',')}}`;
}
