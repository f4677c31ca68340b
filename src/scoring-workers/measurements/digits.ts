/** Numbers as decimal text, written straight into bytes: a string for each would cost more than a small model. */

const ZERO = 0x30;
const MINUS = 0x2d;
const NINE_DIGITS = 1_000_000_000;
const INTEGER_MAX = 0x7fffffff;
/** Of the text of any number. */
export const NUMBER_BYTES_MAX = 25;

/** @param value 0 to 999 @returns the offset behind the three digits */
export function writeThreeDigits(value: number, to: Uint8Array, at: number): number {
  const tens = Math.trunc(value / 10);
  const hundreds = Math.trunc(tens / 10);
  to[at] = ZERO + hundreds;
  to[at + 1] = ZERO + tens - 10 * hundreds;
  to[at + 2] = ZERO + value - 10 * tens;
  return at + 3;
}

/** @param value finite @returns the offset behind its text, which is that of JSON */
export function writeNumber(value: number, to: Uint8Array, at: number): number {
  if (Number.isSafeInteger(value)) {
    if (value >= 0) return writeInteger(value, to, at);
    to[at] = MINUS;
    return writeInteger(-value, to, at + 1);
  }
  const text = String(value);
  for (let index = 0; index < text.length; index += 1) to[at + index] = text.charCodeAt(index);
  return at + text.length;
}

function writeInteger(value: number, to: Uint8Array, at: number): number {
  if (value <= INTEGER_MAX) return writeDigits(value, digitsOf(value), to, at);
  const high = Math.floor(value / NINE_DIGITS);
  return writeDigits(value - high * NINE_DIGITS, 9, to, writeInteger(high, to, at));
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let bound = 10; digits < 10 && value >= bound; bound *= 10) digits += 1;
  return digits;
}

function writeDigits(value: number, digits: number, to: Uint8Array, at: number): number {
  let left = value;
  for (let index = at + digits - 1; index >= at; index -= 1) {
    const rest = Math.trunc(left / 10);
    to[index] = ZERO + left - 10 * rest;
    left = rest;
  }
  return at + digits;
}
