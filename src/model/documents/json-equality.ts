/**
 * When two JSON texts say the same: escapes, notation of numbers and order of members do not count, digits beyond 2^53
 * do.
 */
import { isDeepStrictEqual } from 'node:util';
import { stringEnd } from './json-string.ts';

/**
 * Digits that a double keeps: numbers of fewer are equal when their doubles are. Exponents that it has not got are
 * looked at digit by digit too.
 */
const NEEDS_DIGITS = /\d[\d.]{15}|[eE][+-]?\d{3}/;
/** Longer exponents, which no reader takes, are equal only when their texts are. */
const EXPONENT_LENGTH_MAX = 15;

/**
 * @param left, right valid compact JSON of one value each, not nested deeper than NESTING_MAX. Linear in their length.
 */
export function isSameJson(left: string, right: string): boolean {
  if (left === right) return true;
  const kind = kindOf(left);
  if (kind !== kindOf(right)) return false;
  if (kind === '0') return canonicalNumber(left) === canonicalNumber(right);
  if (kind === '"') return (left.includes('\\') || right.includes('\\')) && JSON.parse(left) === JSON.parse(right);
  if (kind !== '{' && kind !== '[') return false;
  if (!isDeepStrictEqual(JSON.parse(left), JSON.parse(right))) return false;
  // The types are the same by now: numbers may be compared as texts.
  const mustCount = NEEDS_DIGITS.test(left) || NEEDS_DIGITS.test(right);
  return !mustCount || isDeepStrictEqual(JSON.parse(canonicalNumbers(left)), JSON.parse(canonicalNumbers(right)));
}

const kindOf = (text: string): string => (/[-\d]/.test(text[0]) ? '0' : text[0]);

/**
 * The same text for all notations of a number: digits without zeros at either end, and the power of ten behind them.
 */
function canonicalNumber(text: string): string {
  const [mantissa, exponent = '0'] = text.toLowerCase().split('e');
  if (exponent.length > EXPONENT_LENGTH_MAX) return text;
  const [whole, fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start += 1;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  return `${text.startsWith('-') ? '-' : ''}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

const canonicalNumbers = (text: string): string => replaceNumbers(text, (number) => `"${canonicalNumber(number)}"`);

/** @param text valid JSON. @returns it with what `replace` makes of each number. */
export function replaceNumbers(text: string, replace: (number: string) => string): string {
  let out = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at) - 1;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const start = at;
      while (at < text.length && !/[,\]}\s]/.test(text[at])) at += 1;
      const number = text.slice(start, at);
      const replaced = replace(number);
      if (replaced !== number) {
        out += text.slice(from, start) + replaced;
        from = at;
      }
      at -= 1;
    }
  }
  return out + text.slice(from);
}
