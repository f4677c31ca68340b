/**
 * Cuts text that comes in pieces into slices of whole records, without reading the records themselves: lines of CSV,
 * elements of a JSON array. So records are parsed where they are scored.
 */
import type { RecordFormat } from '../protocol.ts';
import { quoteFault } from './csv-places.ts';

export interface SliceRules {
  readonly recordsMax: number;
  /** Of a slice; one longer record is a slice of its own. */
  readonly bytesMax: number;
  /** Of one record. */
  readonly recordBytesMax: number;
  /** Slices have the ends of their records. */
  readonly hasEnds?: boolean;
}

export interface Slice {
  /** As they are until the slicer takes another piece. */
  readonly bytes: Buffer;
  readonly count: number;
  /** Of CSV: the line of the text, from 1, in which it begins. */
  readonly line: number;
  /** Where each of its records ends, in bytes; with `hasEnds`. */
  readonly ends: readonly number[];
}

/** A record that cannot be found in the text. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
  /** From 1; 0 is the header. */
  readonly record: number;
  /** Of CSV. */
  readonly place: BadPlace | undefined;

  constructor(record: number, reason: string, place?: BadPlace) {
    super(reason);
    this.record = record;
    this.place = place;
  }
}

/** A record at which the model fails. */
export class RefusedRecord extends BadRecord {}

/** Both count from 1; without a position the whole record is meant. */
export interface BadPlace {
  readonly line: number;
  readonly position?: number;
}

export interface Slicer {
  /** What is wrong with the text behind the slices so far: nothing more is cut then. */
  readonly bad: BadRecord | undefined;
  /** Takes a piece. @returns the slices that are complete. */
  write(piece: Uint8Array): Slice[];
  /** @returns the last slice; `bad` is set where the text is not whole. */
  end(): Slice[];
}

const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_END = 0x0a;
/** Of a record with an open quote, for the place of the fault. */
const LOOKED_AT_BYTES = 1_048_576;

export const slicerOf = (format: RecordFormat, rules: SliceRules): Slicer =>
  format === 'csv' ? new CsvSlicer(rules) : new JsonSlicer(rules);

/** What both forms share: bytes that are not cut yet, and the ends of the records among them. */
abstract class SlicerBase implements Slicer {
  bad: BadRecord | undefined;
  /** Not cut yet, in one piece: a part of the room, or of the last piece. */
  protected held: Buffer = Buffer.alloc(0);
  /** Grows to the longest slice: to join all that is held with each piece would copy a slice many times. */
  #room: Buffer = Buffer.alloc(0);
  /** Bytes of `held` that were looked at. */
  protected seen = 0;
  /** End of the last whole record in `held`. */
  protected whole = 0;
  /** Beginning of the record that is being looked at. */
  protected begin = 0;
  /** Whole records in `held`. */
  protected count = 0;
  /** Their ends, where they are asked for. */
  #ends: number[] = [];
  /** Records in slices that were cut. */
  protected cut = 0;
  /** Of CSV: the line in which `held` begins, and the line ends among the bytes that were looked at. */
  protected line = 1;
  protected lineEnds = 0;
  protected readonly rules: SliceRules;

  constructor(rules: SliceRules) {
    this.rules = rules;
  }

  write(piece: Uint8Array): Slice[] {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    this.held = this.held.length === 0 ? bytes : this.#joined(bytes);
    const slices: Slice[] = [];
    if (this.bad !== undefined) return slices;
    this.scan(slices);
    if (this.seen - this.begin > this.rules.recordBytesMax)
      this.refuse(`it has more than ${this.rules.recordBytesMax} bytes`);
    if (this.bad !== undefined) this.cutTo(this.held.length, slices);
    return slices;
  }

  /** What is held, and the piece behind it. */
  #joined(piece: Buffer): Buffer {
    const { held } = this;
    const length = held.length + piece.length;
    const isInRoom = held.buffer === this.#room.buffer;
    let from = isInRoom ? held.byteOffset - this.#room.byteOffset : 0;
    if (!isInRoom || from + length > this.#room.length) {
      if (length > this.#room.length) this.#room = Buffer.allocUnsafeSlow(2 * length);
      from = 0;
      held.copy(this.#room);
    }
    piece.copy(this.#room, from + held.length);
    return this.#room.subarray(from, from + length);
  }

  end(): Slice[] {
    const slices: Slice[] = [];
    if (this.bad !== undefined) return slices;
    this.finish(slices);
    this.cutTo(this.held.length, slices);
    return slices;
  }

  /** Looks at what has come when nothing more does. */
  protected abstract finish(slices: Slice[]): void;
  /** Looks at the bytes from `seen` on. */
  protected abstract scan(slices: Slice[]): void;

  /** The record behind the whole ones cannot be found. */
  protected refuse(reason: string, place = this.beginPlace()): void {
    this.bad ??= new BadRecord(this.cut + this.count + 1, reason, place);
  }

  /** Where the record behind the whole ones begins. */
  protected beginPlace(): BadPlace | undefined {
    return undefined;
  }

  /** A record ends at `end`. @returns how many bytes were cut off in front. */
  protected recordEnds(end: number, slices: Slice[]): number {
    this.count += 1;
    this.whole = end;
    if (this.rules.hasEnds === true) this.#ends.push(end);
    if (this.count < this.rules.recordsMax && end < this.rules.bytesMax) return 0;
    return this.cutTo(end, slices);
  }

  /** Cuts off the whole records, and the bytes up to `next`. */
  protected cutTo(next: number, slices: Slice[]): number {
    if (this.count > 0)
      slices.push({ bytes: this.held.subarray(0, this.whole), count: this.count, line: this.line, ends: this.#ends });
    this.line += this.lineEnds;
    this.lineEnds = 0;
    this.cut += this.count;
    this.count = 0;
    this.#ends = [];
    this.held = this.held.subarray(next);
    this.seen -= next;
    this.begin -= next;
    this.whole = 0;
    return next;
  }
}

/** Where the first line of CSV that is not empty ends, behind its line end; -1 where that has not come yet. */
export function headerEnd(bytes: Buffer): number {
  let isQuoted = false;
  for (let at = 0, begin = 0; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) isQuoted = !isQuoted;
    if (bytes[at] !== LINE_END || isQuoted) continue;
    if (bytes.toString('latin1', begin, at).trim() !== '') return at + 1;
    begin = at + 1;
  }
  return -1;
}

/** Lines, but for line ends between quotes; empty lines are no records. */
class CsvSlicer extends SlicerBase {
  #isQuoted = false;
  /** In which the record begins that is being looked at. */
  #beginLine = 1;

  protected scan(slices: Slice[]): void {
    let quote = this.held.indexOf(QUOTE, this.seen);
    for (;;) {
      const end = this.held.indexOf(LINE_END, this.seen);
      const to = end === -1 ? this.held.length : end;
      while (quote !== -1 && quote < to) {
        this.#isQuoted = !this.#isQuoted;
        quote = this.held.indexOf(QUOTE, quote + 1);
      }
      if (end === -1) {
        this.seen = to;
        return;
      }
      this.seen = end + 1;
      this.lineEnds += 1;
      const cut = this.#isQuoted ? 0 : this.#lineEnds(end, slices);
      if (quote !== -1) quote -= cut;
    }
  }

  /** @returns how many bytes were cut off in front. */
  #lineEnds(end: number, slices: Slice[]): number {
    const isEmpty = end === this.begin || (end === this.begin + 1 && this.held[this.begin] === 0x0d);
    this.begin = this.seen;
    this.#beginLine = this.line + this.lineEnds;
    return isEmpty ? 0 : this.recordEnds(this.seen, slices);
  }

  protected override beginPlace(): BadPlace {
    return { line: this.#beginLine };
  }

  protected finish(slices: Slice[]): void {
    if (this.#isQuoted) this.#refuseQuotes();
    else if (this.held.length > this.begin) this.recordEnds(this.held.length, slices);
  }

  /** A quote may be open since one stands where none may. */
  #refuseQuotes(): void {
    const fault = quoteFault(this.held.toString('utf8', this.begin, this.begin + LOOKED_AT_BYTES));
    if (fault === undefined) return this.refuse('a quote is not closed');
    const { reason, line, position } = fault;
    this.refuse(reason, { line: this.#beginLine + line - 1, position });
  }
}

/** Elements of an array, or one object. */
class JsonSlicer extends SlicerBase {
  /** `array`: before its bracket; `element`: before an element; `comma`: behind one; `over`: behind the array. */
  #expects: 'array' | 'element' | 'comma' | 'over' = 'array';
  #depth = 0;
  #isText = false;
  #isSingle = false;
  #isAfterComma = false;

  protected scan(slices: Slice[]): void {
    while (this.seen < this.held.length && this.bad === undefined) {
      if (this.#isText) {
        if (!this.#passText()) return;
      } else if (this.#depth > 0) this.#passValue(slices);
      else this.#passBetween(slices);
    }
  }

  /** Within a text. @returns false where its end has not come yet. */
  #passText(): boolean {
    const { held } = this;
    for (let at = held.indexOf(QUOTE, this.seen); at !== -1; at = held.indexOf(QUOTE, at + 1)) {
      let slashes = 0;
      while (held[at - slashes - 1] === BACKSLASH) slashes += 1;
      if (slashes % 2 === 1) continue;
      this.#isText = false;
      this.seen = at + 1;
      return true;
    }
    this.seen = held.length;
    return false;
  }

  /** Within an element. */
  #passValue(slices: Slice[]): void {
    const { held } = this;
    const { length } = held;
    let at = this.seen;
    for (; at < length; at += 1) {
      const byte = held[at];
      if (byte === QUOTE) {
        this.#isText = true;
        break;
      }
      if (byte === 0x7b || byte === 0x5b) this.#depth += 1;
      else if (byte === 0x7d || byte === 0x5d) {
        this.#depth -= 1;
        if (this.#depth === 0) break;
      }
    }
    this.seen = Math.min(at + 1, length);
    if (this.#depth > 0) return;
    this.#expects = this.#isSingle ? 'over' : 'comma';
    this.begin = this.seen;
    this.recordEnds(this.seen, slices);
  }

  /** Between elements: one is an object, as records are. */
  #passBetween(slices: Slice[]): void {
    const byte = this.held[this.seen] as number;
    if (byte === 0x20 || byte === LINE_END || byte === 0x0d || byte === 0x09) {
      this.seen += 1;
      if (this.#expects === 'array') this.#dropSeen(slices);
    } else if (this.#expects === 'array' && byte === 0x5b) {
      this.seen += 1;
      this.#dropSeen(slices);
      this.#expects = 'element';
    } else if ((this.#expects === 'element' || this.#expects === 'array') && byte === 0x7b) {
      this.#isSingle = this.#expects === 'array';
      if (this.count === 0) this.#dropSeen(slices);
      this.begin = this.seen;
      this.seen += 1;
      this.#depth = 1;
      this.#isAfterComma = false;
    } else if (this.#expects === 'comma' && byte === COMMA) {
      this.seen += 1;
      this.#expects = 'element';
      this.#isAfterComma = true;
      if (this.count === 0) this.#dropSeen(slices);
    } else if (byte === 0x5d && (this.#expects === 'comma' || (this.#expects === 'element' && !this.#isAfterComma))) {
      this.seen += 1;
      this.#expects = 'over';
    } else this.refuse(`the character at its beginning, ${describe(byte)}, is not expected`);
  }

  #dropSeen(slices: Slice[]): void {
    this.cutTo(this.seen, slices);
  }

  protected finish(): void {
    if (this.#expects !== 'over') this.refuse('the text ends before the array does');
  }
}

const describe = (byte: number): string =>
  byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `0x${byte.toString(16)}`;
