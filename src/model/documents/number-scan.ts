/** Reads decimal numbers from bytes, exactly and in most cases without making a string. */

/** The number that `scanNumber` read last: a field instead of a result object, as the hot path must not allocate. */
export const numberScan = { value: 0.5 };

/** Up to this many significant digits are exact in a double, and so is a quotient by an exact power of ten. */
const EXACT_DIGITS = 15;
/** Up to this many, two doubles hold the digits exactly. Numbers that programs print have 16 or 17. */
const LONG_DIGITS_MAX = 19;
/** The largest power of ten that a double holds exactly. */
const EXACT_POWER = 22;
const POWERS = Float64Array.from({ length: EXACT_POWER + 1 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * Reads a number that begins at `start`: digits with optional sign, fraction and exponent, as in JSON, and beyond JSON
 * a plus sign and leading zeros (`+021.5`), which simple firmware prints. The value is the double nearest to the
 * decimal text.
 * @returns the index behind it (the caller checks what follows), or -1 when there is none or it is not finite.
 */
export function scanNumber(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  const isNegative = at < end && bytes[at] === 0x2d;
  if (isNegative || (at < end && bytes[at] === 0x2b)) at += 1;
  const firstDigit = at;
  let mantissa = 0;
  let digits = 0;
  let digit = at < end ? bytes[at] - 0x30 : -1;
  while (digit >= 0 && digit <= 9) {
    mantissa = mantissa * 10 + digit;
    if (mantissa !== 0) digits += 1;
    at += 1;
    digit = at < end ? bytes[at] - 0x30 : -1;
  }
  if (at === firstDigit) return -1;
  let exponent = 0;
  if (at < end && bytes[at] === 0x2e) {
    at += 1;
    const firstDecimal = at;
    digit = at < end ? bytes[at] - 0x30 : -1;
    while (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      if (mantissa !== 0) digits += 1;
      at += 1;
      digit = at < end ? bytes[at] - 0x30 : -1;
    }
    if (at === firstDecimal) return -1;
    exponent = firstDecimal - at;
  }
  if (at < end && (bytes[at] | 0x20) === 0x65) {
    const behind = behindExponent(bytes, at + 1, end);
    return behind < 0 ? -1 : readSlowly(bytes, start, behind);
  }
  let value: number;
  if (exponent < -EXACT_POWER || digits > LONG_DIGITS_MAX) return readSlowly(bytes, start, at);
  if (digits > EXACT_DIGITS) {
    value = longValue(bytes, firstDigit, at, digits - EXACT_DIGITS, POWERS[-exponent]);
    if (Number.isNaN(value)) return readSlowly(bytes, start, at);
  } else value = exponent === 0 ? mantissa : mantissa / POWERS[-exponent];
  numberScan.value = isNegative ? -value : value;
  return at;
}

/** Of Dekker's product: a double times this, less the rest, keeps its upper 26 bits. */
const SPLIT = 2 ** 27 + 1;
/** The quotient below is nearer to the exact one than this part of its lower double. */
const LOW_ERROR = 2 ** -48;

/** What a product of two doubles lacks: `a * b + productError(a, b, a * b)` is exact. */
function productError(a: number, b: number, product: number): number {
  const upperA = SPLIT * a - (SPLIT * a - a);
  const upperB = SPLIT * b - (SPLIT * b - b);
  const lowerA = a - upperA;
  const lowerB = b - upperB;
  return lowerA * lowerB - (product - upperA * upperB - lowerA * upperB - upperA * lowerB);
}

/**
 * The double nearest to more digits than one double holds, divided by an exact power of ten: numerator and quotient
 * are sums of two doubles.
 * @param further digits behind the first 15 that count
 * @returns NaN where the quotient lies too near to the middle between two doubles to tell which is nearer
 */
function longValue(bytes: Uint8Array, start: number, end: number, further: number, divisor: number): number {
  let high = 0;
  let low = 0;
  let digits = 0;
  for (let at = start; at < end; at += 1) {
    const digit = bytes[at] - 0x30;
    if (digit < 0) continue;
    if (digits < EXACT_DIGITS) high = high * 10 + digit;
    else low = low * 10 + digit;
    if (high !== 0) digits += 1;
  }
  const power = POWERS[further];
  const product = high * power;
  const upper = product + low;
  const lower = productError(high, power, product) + (low - (upper - product));
  const quotient = upper / divisor;
  const covered = quotient * divisor;
  const rest = (upper - covered - productError(quotient, divisor, covered) + lower) / divisor;
  const value = quotient + rest * (1 - LOW_ERROR);
  return value === quotient + rest * (1 + LOW_ERROR) ? value : Number.NaN;
}

function behindExponent(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (at < end && (bytes[at] === 0x2d || bytes[at] === 0x2b)) at += 1;
  const firstDigit = at;
  while (at < end && bytes[at] >= 0x30 && bytes[at] <= 0x39) at += 1;
  return at === firstDigit ? -1 : at;
}

/** Digits are many or there is an exponent: the engine's own conversion rounds correctly. */
function readSlowly(bytes: Uint8Array, start: number, end: number): number {
  let text = '';
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at]);
  const value = Number(text);
  if (!Number.isFinite(value)) return -1;
  numberScan.value = value;
  return end;
}

/** Text of a number as JSON takes it: without a plus sign and zeros in front. Keeps every digit. @param text valid for scanNumber. */
export const toJsonNumber = (text: string): string => text.replace(/^(?:\+|(-))?0*(?=\d)/, '$1');

const DECIMAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The same numbers as `scanNumber`, from text. @returns undefined when `text` is not one of them as a whole. */
export function parseNumber(text: string): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
