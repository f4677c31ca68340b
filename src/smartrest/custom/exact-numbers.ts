/** JSON whose numbers become values of rows: a number is there as it is written, whatever a double holds of it. */
import { replaceNumbers } from '../../model/documents/json-equality.ts';

/** Before a number of many digits, with an exponent, with a 0 at the end of its fraction, far below 1, or -0. */
const MAY_CHANGE = /[:,[](?:-?(?:\d[\d.]{15}|\d+(?:\.\d*)?[eE]|\d+\.\d*0[,\]}]|0\.0{6})|-0[,\]}])/;
/** Numbers of one text that keep their form; each costs as much as many that a double prints the same. */
const KEPT_MAX = 10_000;
/** Before the text of a number: a control character. Numbers beside a text that has it are as a double prints them. */
const MARK = '\u0081';
const HAS_MARK = /\u0081|\\u0081/;
const IS_MARKED = /^\u0081-?\d/;
const MARKED = /"\u0081(-?\d[\d.eE+-]*)"/g;

/**
 * @param text JSON, compact. @returns it parsed, for `rowText`: numbers that a double prints otherwise are texts with a
 * mark, the first `KEPT_MAX` of them.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAY_CHANGE.test(text) || HAS_MARK.test(text)) return value;
  let kept = 0;
  const marked = replaceNumbers(text, (number) => {
    if (kept >= KEPT_MAX || String(Number(number)) === number) return number;
    kept += 1;
    return `"${MARK}${number}"`;
  });
  return JSON.parse(marked);
}

/** A value in a row: texts as they are, null is empty, all else is JSON. @param value of `parseExact`. */
export function rowText(value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'string') return IS_MARKED.test(value) ? value.slice(1) : value;
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}
