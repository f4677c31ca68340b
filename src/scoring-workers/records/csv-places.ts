/** Where in the text of CSV a fault is. Looked for when one is known: what is right is read without places. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_END = 0x0a;
const RETURN = 0x0d;

/** A place in CSV: lines and the characters of each count from 1. */
export interface CsvPlace {
  readonly line: number;
  readonly position: number;
}

/** A quote that stands where none may, or a character behind the closing quote of a value. */
export interface QuoteFault extends CsvPlace {
  /** From 0. */
  readonly record: number;
  readonly reason: string;
}

/** As public clients know the texts. */
const OPENING = 'Double quote character found in value not surrounded by double quotes';
const CLOSING = 'Character found behind the closing double quote of a value';

/** The first fault of quotes. */
export function quoteFault(text: string): QuoteFault | undefined {
  for (const { record, line, position, fault } of steps(text))
    if (fault !== undefined) return { record, line, position, reason: fault };
  return undefined;
}

/** The line in which a record begins. @param record from 0 */
export function lineOf(text: string, record: number): number | undefined {
  for (const step of steps(text)) if (step.record === record) return step.line;
  return undefined;
}

interface Step extends CsvPlace {
  readonly record: number;
  readonly fault: string | undefined;
}

/** The beginnings of records, and at last a fault. Line ends between quotes are of the value, empty lines no records. */
function* steps(text: string): Generator<Step, void, void> {
  let state: 'begin' | 'plain' | 'quoted' | 'closed' = 'begin';
  let record = -1;
  let line = 1;
  let lineBegin = 0;
  let isBetween = true;
  const placeOf = (at: number): CsvPlace => ({ line, position: at - lineBegin + 1 });
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isLineEnd = code === LINE_END || (code === RETURN && text.charCodeAt(at + 1) === LINE_END);
    if (isBetween && !isLineEnd) {
      record += 1;
      isBetween = false;
      yield { ...placeOf(at), record, fault: undefined };
    }
    if (state === 'closed' && !isLineEnd && code !== COMMA) return yield { ...placeOf(at), record, fault: CLOSING };
    if (state === 'plain' && code === QUOTE) return yield { ...placeOf(at), record, fault: OPENING };
    if (code === LINE_END) {
      line += 1;
      lineBegin = at + 1;
    }
    if (state === 'quoted') {
      if (code !== QUOTE) continue;
      if (text.charCodeAt(at + 1) === QUOTE) at += 1;
      else state = 'closed';
    } else if (isLineEnd) {
      isBetween = true;
      state = 'begin';
    } else if (code === COMMA) state = 'begin';
    else state = code === QUOTE ? 'quoted' : 'plain';
  }
}
