/** Predictions as MEASUREMENT records of the device whose values they are about (docs/spec/scoring.md#bindings). */
import { tailForm } from '../../ingest/measurements/form.ts';
import {
  formBytes,
  newMeasurementHead,
  writeMeasurementHead,
  writeValueHead,
} from '../../ingest/measurements/record.ts';
import {
  keyAt,
  modeAt,
  OFFSET_TEXTS,
  OFFSET_TIME,
  tenantAt,
  VALUE_HEADER_BYTES,
} from '../../ingest/journal/record-layout.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { OutputRecord } from '../pmml/engine.ts';
import { NUMBER_BYTES_MAX, writeNumber, writeThreeDigits } from './digits.ts';
import { copyName } from './names.ts';
import {
  MARK,
  type PlannedMeasurement,
  PREDICTION_BYTES_MAX,
  PREDICTIONS_BYTES_MAX,
  TEXT_CHARACTERS_MAX,
} from './plan.ts';

const BYTES_FIRST = 16_384;
/** A buffer that one writer has left and the next one takes: to grow one anew for each task costs as much as a small model. */
const SPARE_BYTES_MAX = 1_048_576;
let spare: Buffer | undefined;
const UTF8_BYTES_MAX = 3;
const MS_PER_SECOND = 1_000;
/** How a whole second ends. */
const MILLISECONDS = '000Z';
const SOURCE_START = Buffer.from('Z","source":{"id":"');
const VALUE_START = Buffer.from('{"value":');
/** Of the end of a document: the brace and the comma before the mark, and the brace behind it. */
const TAIL_AROUND_BYTES = 3;
const COMMA = 0x2c;
const OBJECT_END = 0x7d;
/** Of a time in a document, with what is in front: years have up to six digits and a sign. */
const TIME_BYTES_MAX = '{"time":"-000000-00-00T00:00:00.000'.length;

export class PredictionWriter {
  readonly #head = newMeasurementHead();
  readonly #type: Buffer;
  readonly #fragment: Buffer;
  readonly #series: readonly Buffer[];
  readonly #outputs: readonly string[];
  /** Of each output its name as a member of the document, with the colon. */
  readonly #names: readonly Buffer[];
  /** Of the document what follows the source, and what follows the members. */
  readonly #start: Buffer;
  readonly #end: Buffer;
  /** Of a record whose members are all numbers: the columns give its document but for the mark. */
  readonly #form: number;
  /** Of a record without its members and its source, and what a number takes beside its digits and names. */
  readonly #fixedBytes: number;
  readonly #valueBytes: number;
  /** Of the record that is written: the outputs that it has, and of each the number, or the text of what is none. */
  readonly #places: number[] = [];
  readonly #members: (number | string)[] = [];
  #bytes: Buffer;
  #view: DataView;
  /** Memory of the caller, in which the records are as long as they fit. */
  readonly #room: Uint8Array | undefined;
  #used = 0;
  #second = Number.NaN;
  /** How a document of this second begins, up to the point before the milliseconds. */
  #timeStart = Buffer.alloc(0);

  /** @param room memory of the caller, which it shares with this thread */
  constructor(plan: PlannedMeasurement, room?: Uint8Array) {
    this.#type = Buffer.from(plan.type);
    this.#fragment = Buffer.from(plan.fragment);
    this.#series = plan.outputs.map(({ series }) => Buffer.from(series));
    this.#outputs = plan.outputs.map(({ name }) => name);
    this.#names = plan.outputs.map(({ series }) => Buffer.from(`${JSON.stringify(series)}:`));
    this.#start = Buffer.from(`"},"type":${JSON.stringify(plan.type)},${JSON.stringify(plan.fragment)}:{`);
    this.#end = Buffer.from(`},"${MARK}":${plan.mark}}`);
    const texts = this.#type.length + SOURCE_START.length + this.#start.length + this.#end.length;
    this.#form = tailForm(this.#end.length - TAIL_AROUND_BYTES);
    this.#fixedBytes = OFFSET_TEXTS + TIME_BYTES_MAX + texts + formBytes(this.#form);
    this.#valueBytes = VALUE_START.length + 1 + VALUE_HEADER_BYTES + this.#fragment.length;
    this.#head.typeLength = this.#type.length;
    this.#room = room;
    if (room === undefined) {
      this.#bytes = spare ?? Buffer.allocUnsafeSlow(BYTES_FIRST);
      spare = undefined;
    } else {
      this.#bytes = Buffer.from(room.buffer, room.byteOffset, room.length);
    }
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  }

  /**
   * Ends the writer. @returns the records, one behind the other, in bytes of their own, or how many bytes of the room they
   * take; their ids and times of receipt are to be filled in
   */
  end(): Uint8Array | number {
    if (this.#bytes.buffer === this.#room?.buffer) return this.#used;
    const records = new Uint8Array(this.#bytes.subarray(0, this.#used));
    if (this.#bytes.length <= SPARE_BYTES_MAX) spare = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    return records;
  }

  /**
   * Numbers become series, all else members of the fragment; a missing output is left out.
   * @param at of the MEASUREMENT record whose values were scored
   * @returns false for what has more than PREDICTION_BYTES_MAX, or is beyond PREDICTIONS_BYTES_MAX with those before it:
   * it is left out
   */
  write(records: Buffer, at: number, outputs: OutputRecord): boolean {
    const head = this.#head;
    head.tenant = tenantAt(records, at);
    head.source = keyAt(records, at);
    head.time = records.readDoubleLE(at + OFFSET_TIME);
    head.mode = modeAt(records, at);
    this.#take(outputs);
    if (!this.#makeRoom()) return false;
    const documentAt = this.#used + OFFSET_TEXTS + this.#type.length;
    const valuesAt = this.#writeDocument(documentAt);
    head.documentLength = valuesAt - documentAt;
    const end = this.#writeValues(valuesAt) + formBytes(head.form);
    const typeAt = writeMeasurementHead(this.#view, this.#used, end - this.#used, head);
    copyName(this.#type, this.#bytes, typeAt);
    this.#used = end;
    return true;
  }

  #take(outputs: OutputRecord): void {
    this.#places.length = 0;
    this.#members.length = 0;
    this.#head.valueCount = 0;
    for (let place = 0; place < this.#outputs.length; place += 1) {
      const value = outputs[this.#outputs[place] as string];
      if (value === null || value === undefined) continue;
      const isNumber = typeof value === 'number';
      this.#places.push(place);
      this.#members.push(isNumber ? value : memberText(value));
      if (isNumber) this.#head.valueCount += 1;
    }
    const isAllNumbers = this.#head.valueCount > 0 && this.#head.valueCount === this.#places.length;
    this.#head.form = isAllNumbers ? this.#form : 0;
  }

  /** Most of what is written are the same bytes for each record, and digits. @returns the offset behind it */
  #writeDocument(from: number): number {
    const bytes = this.#bytes;
    const { source, time } = this.#head;
    const second = Math.floor(time / MS_PER_SECOND);
    // Measurements of one task are mostly of one second.
    if (second !== this.#second) {
      this.#second = second;
      const text = formatTime(second * MS_PER_SECOND).slice(0, -MILLISECONDS.length);
      this.#timeStart = Buffer.from(`{"time":"${text}`);
    }
    let at = copyName(this.#timeStart, bytes, from);
    at = writeThreeDigits(time - second * MS_PER_SECOND, bytes, at);
    at = copyName(SOURCE_START, bytes, at);
    at = writeNumber(source, bytes, at);
    at = copyName(this.#start, bytes, at);
    for (let index = 0; index < this.#places.length; index += 1) {
      if (index > 0) bytes[at++] = COMMA;
      at = copyName(this.#names[this.#places[index] as number] as Buffer, bytes, at);
      const member = this.#members[index] as number | string;
      if (typeof member === 'string') {
        at += bytes.write(member, at);
        continue;
      }
      at = copyName(VALUE_START, bytes, at);
      at = writeNumber(member, bytes, at);
      bytes[at++] = OBJECT_END;
    }
    return copyName(this.#end, bytes, at);
  }

  /** @returns the offset behind them */
  #writeValues(from: number): number {
    let at = from;
    const { length } = this.#fragment;
    for (let index = 0; index < this.#places.length; index += 1) {
      const member = this.#members[index] as number | string;
      if (typeof member === 'string') continue;
      const series = this.#series[this.#places[index] as number] as Buffer;
      at = writeValueHead(this.#view, at, member, length, series.length, 0);
      at = copyName(this.#fragment, this.#bytes, at);
      at = copyName(series, this.#bytes, at);
    }
    return at;
  }

  /** Measures texts and numbers only near a bound. @returns false for a record that does not fit */
  #makeRoom(): boolean {
    const free = Math.min(PREDICTION_BYTES_MAX, PREDICTIONS_BYTES_MAX - this.#used);
    let bytes = this.#bytesOf(lengthMax);
    if (bytes > free) bytes = this.#bytesOf(lengthOf);
    if (bytes > free) return false;
    if (this.#used + bytes <= this.#bytes.length) return true;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#used + bytes));
    this.#bytes.copy(grown, 0, 0, this.#used);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer, grown.byteOffset, grown.length);
    return true;
  }

  /** Of the record, at most. */
  #bytesOf(length: (member: number | string) => number): number {
    let bytes = this.#fixedBytes + length(this.#head.source);
    for (let index = 0; index < this.#places.length; index += 1) {
      const member = this.#members[index] as number | string;
      const place = this.#places[index] as number;
      bytes += (this.#names[place] as Buffer).length + length(member) + 1;
      if (typeof member === 'number') bytes += this.#valueBytes + (this.#series[place] as Buffer).length;
    }
    return bytes;
  }
}

const lengthMax = (member: number | string): number =>
  typeof member === 'number' ? NUMBER_BYTES_MAX : member.length * UTF8_BYTES_MAX;

const lengthOf = (member: number | string): number => Buffer.byteLength(String(member));

function memberText(value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.slice(0, TEXT_CHARACTERS_MAX));
}
