/** Pieces of JSON as measurements have them, read from the bytes. */
import { MEASUREMENT_TEXT_BYTES_MAX } from '../../model/entities/measurement.ts';
import { numberScan, scanNumber } from '../../model/documents/number-scan.ts';
import { NO_FORM, decimalsForm } from './form.ts';

const QUOTE = 0x22;

/**
 * 1: ends a plain string or makes it unusual (quote, backslash, control). 2: not allowed in names of series
 * (docs/spec/measurements.md#names).
 */
const classes = new Uint8Array(256);
classes.fill(1, 0, 0x20);
classes[QUOTE] = 1;
classes[0x5c] = 1;
for (const name of ' .,*[]()@$') classes[name.charCodeAt(0)] = 2;
classes.fill(2, 0x80);

/** Index behind insignificant white space: space, tab, line feed, carriage return. */
export function skipSpace(body: Uint8Array, at: number): number {
  let next = at;
  while (body[next] === 0x20 || body[next] === 0x0a || body[next] === 0x0d || body[next] === 0x09) next += 1;
  return next;
}

/** Index of the closing quote of a plain string that begins (behind its quote) at `at`; -1 when it is not plain. */
export function plainString(body: Uint8Array, at: number): number {
  let end = at;
  while (classes[body[end]] !== 1) {
    end += 1;
    if (end >= body.length) return -1;
  }
  return body[end] === QUOTE ? end : -1;
}

/** As plainString, for names of fragments and series; -1 also for one that is too long. */
export function plainName(body: Uint8Array, at: number): number {
  let end = at;
  while (classes[body[end]] === 0 && end < body.length) end += 1;
  return end > at && end - at <= MEASUREMENT_TEXT_BYTES_MAX && body[end] === QUOTE ? end : -1;
}

/** Where the number of a series goes, and how it is written. */
export interface NumberTarget {
  readonly values: Float64Array;
  numberForm: number;
  needsDocument: boolean;
}

/**
 * Reads the number of a series into `out.values[index]`. @returns the index behind it, -1 for what the general path has
 * to read.
 */
export function scanSeriesNumber(body: Uint8Array, start: number, out: NumberTarget, index: number): number {
  // A plus sign or a leading zero is not JSON, integers beyond 2^53 need their text: both are for the general path.
  if (body[start] === 0x2b || (body[start] === 0x30 && body[start + 1] >= 0x30 && body[start + 1] <= 0x39)) return -1;
  if (body[start] === 0x2d && body[start + 1] === 0x30 && body[start + 2] >= 0x30 && body[start + 2] <= 0x39) return -1;
  const at = scanNumber(body, start, body.length);
  if (at < 0 || Math.abs(numberScan.value) > Number.MAX_SAFE_INTEGER) return -1;
  out.values[index] = numberScan.value;
  const form = spellingForm(body, start, at);
  out.numberForm = form;
  if (form === NO_FORM) out.needsDocument = true;
  return at;
}

/** Digits of a fraction or an integer that a double surely gives back as they were written. */
const KEPT_LENGTH_MAX = 16;
/** Below this a number is written with an exponent. */
const SMALLEST_PLAIN = 1e-6;

/**
 * How the number in `body[start, end)`, which scanNumber just read, is written.
 * @returns 0 where JavaScript writes it so, the bits of its decimals for `1.0` or `21.50`, NO_FORM for `1e3`, `-0` and
 * long ones.
 */
function spellingForm(body: Uint8Array, start: number, end: number): number {
  // Sign, point and 15 digits at most: longer ones may not come back.
  if (end - start > KEPT_LENGTH_MAX) return NO_FORM;
  let point = -1;
  for (let at = start; at < end; at += 1) {
    if (body[at] === 0x2e) point = at;
    else if ((body[at] | 0x20) === 0x65) return NO_FORM;
  }
  if (numberScan.value === 0 && body[start] === 0x2d) return NO_FORM;
  if (point < 0 || (body[end - 1] !== 0x30 && Math.abs(numberScan.value) >= SMALLEST_PLAIN)) return 0;
  return decimalsForm(end - point - 1);
}

/**
 * Copies JSON without the white space between its tokens. `from[start, end)` is valid and has no escapes; `to` has room
 * for all of it.
 * @returns the index behind the copy.
 */
export function copyCompact(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  let next = at;
  let isInString = false;
  for (let index = start; index < end; index += 1) {
    const byte = from[index];
    if (byte === QUOTE) isInString = !isInString;
    if (byte > 0x20 || isInString) to[next++] = byte;
  }
  return next;
}
