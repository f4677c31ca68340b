/** Reads decimal numbers from bytes, exactly and in most cases without making a string. */

/** The number that `scanNumber` read last: a field instead of a result object, as the hot path must not allocate. */
export const numberScan = { value: 0.5 };

/** Up to this many significant digits are exact in a double, and so is a quotient by an exact power of ten. */
const EXACT_DIGITS = 15;
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
  if (digits > EXACT_DIGITS || exponent < -EXACT_POWER) return readSlowly(bytes, start, at);
  const value = exponent === 0 ? mantissa : mantissa / POWERS[-exponent];
  numberScan.value = isNegative ? -value : value;
  return at;
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
