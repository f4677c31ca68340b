/** Pieces of JSON as measurements have them, read from the bytes. */
import { numberScan, scanNumber } from '../model/number-scan.ts';

const QUOTE = 0x22;

/** 1: ends a plain string or makes it unusual (quote, backslash, control). 2: not allowed in names of series (document 4 section 1.1). */
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

/** As plainString, for names of fragments and series. */
export function plainName(body: Uint8Array, at: number): number {
  let end = at;
  while (classes[body[end]] === 0 && end < body.length) end += 1;
  return end > at && body[end] === QUOTE ? end : -1;
}

/** Reads the number of a series into `out.values[index]`. @returns the index behind it, -1 for what the general path has to read. */
export function scanSeriesNumber(body: Uint8Array, start: number, out: { readonly values: Float64Array; needsDocument: boolean }, index: number): number {
  // A plus sign or a leading zero is not JSON, integers beyond 2^53 need their text: both are for the general path.
  if (body[start] === 0x2b || (body[start] === 0x30 && body[start + 1] >= 0x30 && body[start + 1] <= 0x39)) return -1;
  if (body[start] === 0x2d && body[start + 1] === 0x30 && body[start + 2] >= 0x30 && body[start + 2] <= 0x39) return -1;
  const at = scanNumber(body, start, body.length);
  if (at < 0 || Math.abs(numberScan.value) > Number.MAX_SAFE_INTEGER) return -1;
  out.values[index] = numberScan.value;
  if (!isShortest(body, start, at)) out.needsDocument = true;
  return at;
}

/** Digits of a fraction or an integer that a double surely gives back as they were written. */
const KEPT_LENGTH_MAX = 16;
/** Below this a number is written with an exponent. */
const SMALLEST_PLAIN = 1e-6;

/** Whether the number in `body[start, end)`, which scanNumber just read, is written as JavaScript writes it: no `1.0`, `1e3`, `-0`. */
function isShortest(body: Uint8Array, start: number, end: number): boolean {
  // Sign, point and 15 digits at most: longer ones may not come back.
  if (end - start > KEPT_LENGTH_MAX) return false;
  let hasPoint = false;
  for (let at = start; at < end; at += 1) {
    if (body[at] === 0x2e) hasPoint = true;
    else if ((body[at] | 0x20) === 0x65) return false;
  }
  if (hasPoint) return body[end - 1] !== 0x30 && Math.abs(numberScan.value) >= SMALLEST_PLAIN;
  return numberScan.value !== 0 || body[start] !== 0x2d;
}
