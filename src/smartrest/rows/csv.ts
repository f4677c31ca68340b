/**
 * Rows of comma-separated values as SmartREST has them (docs/spec/smartrest.md#rows). Reading works on
 * the bytes of a body and makes strings only of the fields that are asked for.
 */
import { SmartRestError } from './error.ts';

/** Most rows that one body may have. */
export const ROWS_MAX = 10_000;
/** Most fields that one row may have; a software list of 16 KB stays below it. */
export const FIELDS_MAX = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** How a field is written; decides how its text is made. */
const FORM = { PLAIN: 0, QUOTED: 1, DOUBLED: 2, DOUBLED_OR_BACKSLASH: 3 } as const;

/**
 * What a row is tried with, in this order. Both `""` and `\"` stand for a quote (docs/spec/smartrest.md#rows), but
 * agents that only double quotes send a value that ends in a backslash as `"C:\"`; and some send quotes in values that
 * they do not quote.
 */
const ATTEMPTS = [
  { backslash: true, looseQuotes: false },
  { backslash: false, looseQuotes: false },
  { backslash: true, looseQuotes: true },
  { backslash: false, looseQuotes: true },
] as const;
type Attempt = (typeof ATTEMPTS)[number];

type Fault = 'unterminated' | 'behindQuote' | 'quoteInside' | 'tooManyFields';

/**
 * Iterates the rows of `body[start, end)`: `while (rows.next()) rows.field(0)`. Empty lines are passed over, trailing
 * empty parameters are not counted, blanks around a value without quotes do not belong to it. The body is only read,
 * and only until the last call.
 */
export class CsvRows {
  /** Of the current row, from 1; rows that cannot be split count, empty lines do not. */
  number = 0;
  /** Fields of the current row without trailing empty ones; 0 when it has commas only. */
  count = 0;
  /** Fields of the current row with empty ones at its end. */
  sentCount = 0;
  /** Index behind the current row and its line break. */
  position: number;
  private readonly body: Buffer;
  private readonly end: number;
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly forms: number[] = [];
  /** Where the scan of the current row stopped. */
  private cursor = 0;

  constructor(body: Buffer, start = 0, end = body.length) {
    this.body = body;
    this.end = end;
    this.position = start;
  }

  /**
   * Moves to the next row. @returns false behind the last one.
   * @throws SmartRestError 45 for a row that cannot be split; the following call goes on behind its line. Behind a
   * quote that
   *   is never closed nothing is read: what was meant as a value must not be executed as a row.
   */
  next(): boolean {
    this.skipEmptyLines();
    this.count = 0;
    if (this.position >= this.end) return false;
    this.number += 1;
    if (this.number > ROWS_MAX) {
      this.position = this.end;
      throw new SmartRestError(
        41,
        '',
        `Row ${this.number}: the body has more than ${ROWS_MAX} rows; the rest was not read`,
      );
    }
    let fault: Fault | undefined;
    let stoppedAt = 0;
    for (const attempt of ATTEMPTS) {
      const outcome = this.scanRow(attempt);
      if (outcome === undefined) {
        this.leaveRow(this.cursor);
        return true;
      }
      if (fault === undefined) stoppedAt = this.cursor;
      fault ??= outcome;
      if (outcome === 'tooManyFields') break;
    }
    return this.refuse(fault as Fault, stoppedAt);
  }

  /** @returns the text of a field of the current row, `''` for one that was not sent. */
  field(index: number): string {
    if (index >= this.count) return '';
    const text = this.body.toString('utf8', this.starts[index], this.ends[index]);
    switch (this.forms[index]) {
      case FORM.DOUBLED:
        return text.replaceAll('""', '"');
      case FORM.DOUBLED_OR_BACKSLASH:
        return text.replace(/\\"|""/g, '"');
      default:
        return text;
    }
  }

  /** All fields of the current row. */
  fields(): string[] {
    const fields: string[] = [];
    for (let index = 0; index < this.count; index += 1) fields.push(this.field(index));
    return fields;
  }

  private skipEmptyLines(): void {
    for (; this.position < this.end; this.position += 1) {
      const byte = this.body[this.position];
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) return;
    }
  }

  /** Splits the row at `position`; leaves `cursor` at its line break, or where the fault is. */
  private scanRow(attempt: Attempt): Fault | undefined {
    this.cursor = this.position;
    for (let index = 0; ; index += 1) {
      if (index >= FIELDS_MAX) return 'tooManyFields';
      const fault = this.scanField(index, attempt);
      if (fault !== undefined) return fault;
      this.sentCount = index + 1;
      if (this.forms[index] !== FORM.PLAIN || this.ends[index] > this.starts[index]) this.count = index + 1;
      if (this.cursor >= this.end || this.body[this.cursor] !== COMMA) break;
      this.cursor += 1;
    }
    // Quoted but empty parameters at the end are as good as omitted.
    while (this.count > 0 && this.starts[this.count - 1] === this.ends[this.count - 1]) this.count -= 1;
    return undefined;
  }

  /** Reads one field at `cursor`; leaves `cursor` at the comma, line break or end behind it. */
  private scanField(index: number, attempt: Attempt): Fault | undefined {
    const body = this.body;
    if (index === 0) this.count = 0;
    let at = this.skipBlanks(this.cursor);
    if (at < this.end && body[at] === QUOTE) return this.scanQuoted(index, at + 1, attempt.backslash);
    const start = at;
    let last = at;
    for (; at < this.end; at += 1) {
      const byte = body[at];
      if (byte === COMMA || byte === LINE_FEED || byte === CARRIAGE_RETURN) break;
      if (byte === QUOTE && !attempt.looseQuotes) {
        this.cursor = at;
        return 'quoteInside';
      }
      if (byte !== 0x20 && byte !== 0x09) last = at + 1;
    }
    this.setField(index, start, last, FORM.PLAIN);
    this.cursor = at;
    return undefined;
  }

  private scanQuoted(index: number, start: number, backslash: boolean): Fault | undefined {
    const body = this.body;
    let form: number = FORM.QUOTED;
    let at = start;
    for (; ; at += 1) {
      if (at >= this.end) {
        this.cursor = at;
        return 'unterminated';
      }
      const byte = body[at];
      if (byte === BACKSLASH && backslash && at + 1 < this.end && body[at + 1] === QUOTE) {
        form = FORM.DOUBLED_OR_BACKSLASH;
        at += 1;
      } else if (byte === QUOTE) {
        if (at + 1 >= this.end || body[at + 1] !== QUOTE) break;
        if (form === FORM.QUOTED) form = backslash ? FORM.DOUBLED_OR_BACKSLASH : FORM.DOUBLED;
        at += 1;
      }
    }
    this.setField(index, start, at, form);
    this.cursor = this.skipBlanks(at + 1);
    if (this.cursor >= this.end) return undefined;
    const follower = body[this.cursor];
    return follower === COMMA || follower === LINE_FEED || follower === CARRIAGE_RETURN ? undefined : 'behindQuote';
  }

  private setField(index: number, start: number, end: number, form: number): void {
    this.starts[index] = start;
    this.ends[index] = end;
    this.forms[index] = form;
  }

  private skipBlanks(from: number): number {
    let at = from;
    while (at < this.end && (this.body[at] === 0x20 || this.body[at] === 0x09)) at += 1;
    return at;
  }

  /** Moves behind the row that ends at `rowEnd`. */
  private leaveRow(rowEnd: number): void {
    this.position = rowEnd;
    if (rowEnd >= this.end) return;
    this.position +=
      this.body[rowEnd] === CARRIAGE_RETURN && rowEnd + 1 < this.end && this.body[rowEnd + 1] === LINE_FEED ? 2 : 1;
  }

  private refuse(fault: Fault, stoppedAt: number): never {
    const messageId = this.messageIdOfFaultyRow();
    this.count = 0;
    let resumeAt = stoppedAt;
    while (resumeAt < this.end && this.body[resumeAt] !== LINE_FEED && this.body[resumeAt] !== CARRIAGE_RETURN)
      resumeAt += 1;
    this.leaveRow(resumeAt);
    throw new SmartRestError(45, messageId, `Row ${this.number}: ${FAULT_TEXTS[fault]}`);
  }

  /** What stands before the first comma, without quotes: any text, of custom templates. */
  private messageIdOfFaultyRow(): string {
    let at = this.position;
    while (at < this.end && !ENDS_OF_ID.includes(this.body[at])) at += 1;
    return at < this.end && this.body[at] === COMMA ? this.body.toString('utf8', this.position, at).trim() : '';
  }
}

export interface NumberedRow {
  /** Among all rows of the body, from 1. */
  readonly number: number;
  readonly fields: readonly string[];
}

/** @returns the rows of a body; those that cannot be split are missing, and `onError` is told. */
export function readRows(body: Buffer, onError: (error: SmartRestError) => void): NumberedRow[] {
  const rows: NumberedRow[] = [];
  const reader = new CsvRows(body);
  for (;;) {
    try {
      if (!reader.next()) return rows;
      rows.push({ number: reader.number, fields: reader.fields() });
    } catch (error) {
      if (!(error instanceof SmartRestError)) throw error;
      onError(error);
    }
  }
}

const ENDS_OF_ID = Buffer.of(COMMA, QUOTE, LINE_FEED, CARRIAGE_RETURN);

const FAULT_TEXTS: Readonly<Record<Fault, string>> = {
  unterminated: 'a value begins with a quote that is never closed',
  behindQuote: 'there is text behind the closing quote of a value; a quote inside a value is written twice',
  quoteInside: 'a value has a quote inside and is not enclosed in quotes',
  tooManyFields: `the row has more than ${FIELDS_MAX} parameters`,
};
