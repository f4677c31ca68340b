/**
 * The form of a measurement in JSON: a fleet and a body repeat it, and only the source's digits, the time and the
 * numbers differ. Comparing bytes with the last one is twice as fast as reading its grammar again (136 bytes: 0.47 µs
 * read, see docs/internals/performance.md).
 */
import { isEntityTime } from '../../model/documents/entity-time.ts';
import { parseTimeBytes } from '../../model/documents/iso-time.ts';
import { plainString, scanSeriesNumber } from './json-bytes.ts';
import { NO_FORM, timeForm } from './form.ts';

/** The measurement that is read, see ScannedMeasurement. */
export interface ShapedMeasurement {
  source: number;
  time: number;
  typeStart: number;
  typeEnd: number;
  valueCount: number;
  start: number;
  end: number;
  needsDocument: boolean;
  hasSpace: boolean;
  layoutForm: number;
  timeForm: number;
  numberForm: number;
  sourceStart: number;
  sourceEnd: number;
  timeStart: number;
  timeEnd: number;
  readonly values: Float64Array;
  readonly texts: Int32Array;
  readonly numberStarts: Int32Array;
  readonly numberEnds: Int32Array;
}

/** Values of a measurement whose form is remembered, and its bytes. */
const VALUES_MAX = 8;
const BYTES_MAX = 1_024;

const QUOTE = 0x22;
const ZULU = 0x5a;
/** `2024-05-02T10:00:00.000Z` */
const USUAL_TIME_LENGTH = 24;

const SOURCE = -1;
const TIME = -2;

/** A part that differs: where it is in the example, and what it is (SOURCE, TIME or the index of a value). */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly kind: number;
}

export class MeasurementShape {
  /** The example, as it was learned. */
  #bytes: Uint8Array = new Uint8Array(0);
  #parts: readonly Part[] = [];
  #valueCount = 0;
  #layoutForm = 0;
  #hasSpace = false;
  /**
   * For type (two offsets) and texts (six for each value): offset in the example and the part behind which it stands;
   * -1 = absent.
   */
  readonly #offsets = new Int32Array(2 + VALUES_MAX * 6);
  readonly #behind = new Int32Array(2 + VALUES_MAX * 6);
  /** How far things have moved against the example, by the number of parts before them. */
  readonly #moved = new Int32Array(VALUES_MAX + 3);

  /** Remembers the form of what was just scanned. */
  learn(body: Uint8Array, scanned: ShapedMeasurement): void {
    const { start, end, valueCount } = scanned;
    this.#parts = [];
    if (valueCount > VALUES_MAX || end - start > BYTES_MAX) return;
    this.#bytes = Uint8Array.prototype.slice.call(body, start, end);
    this.#valueCount = valueCount;
    this.#layoutForm = scanned.layoutForm;
    this.#hasSpace = scanned.hasSpace;
    const parts: Part[] = [
      { start: scanned.sourceStart - start, end: scanned.sourceEnd - start, kind: SOURCE },
      { start: scanned.timeStart - start, end: scanned.timeEnd - start, kind: TIME },
    ];
    for (let value = 0; value < valueCount; value += 1) {
      parts.push({ start: scanned.numberStarts[value] - start, end: scanned.numberEnds[value] - start, kind: value });
    }
    parts.sort((one, other) => one.start - other.start);
    this.#parts = parts;
    this.#place(0, scanned.typeStart, start);
    this.#place(1, scanned.typeEnd, start);
    for (let text = 0; text < valueCount * 6; text += 1) this.#place(2 + text, scanned.texts[text], start);
  }

  /** @returns the index behind the measurement at `start` when it has the remembered form, and fills `out`; else -1. */
  match(body: Uint8Array, start: number, out: ShapedMeasurement): number {
    const parts = this.#parts;
    if (parts.length === 0) return -1;
    const bytes = this.#bytes;
    const moved = this.#moved;
    let at = start;
    let example = 0;
    moved[0] = start;
    out.needsDocument = this.#valueCount > 1;
    out.hasSpace = this.#hasSpace;
    out.layoutForm = this.#layoutForm;
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index];
      if (!isSame(body, at, bytes, example, part.start)) return -1;
      at += part.start - example;
      at = readPart(body, at, part.kind, out);
      if (at < 0) return -1;
      example = part.end;
      moved[index + 1] = at - example;
    }
    if (!isSame(body, at, bytes, example, bytes.length)) return -1;
    at += bytes.length - example;
    out.start = start;
    out.end = at;
    out.valueCount = this.#valueCount;
    this.#fillOffsets(out);
    return at;
  }

  #place(index: number, offset: number, start: number): void {
    const relative = offset === 0 ? -1 : offset - start;
    this.#offsets[index] = relative;
    let behind = 0;
    while (behind < this.#parts.length && this.#parts[behind].start < relative) behind += 1;
    this.#behind[index] = behind;
  }

  #fillOffsets(out: ShapedMeasurement): void {
    const offsets = this.#offsets;
    const behind = this.#behind;
    const moved = this.#moved;
    out.typeStart = offsets[0] + moved[behind[0]];
    out.typeEnd = offsets[1] + moved[behind[1]];
    const count = this.#valueCount * 6;
    for (let text = 0; text < count; text += 1) {
      const offset = offsets[text + 2];
      out.texts[text] = offset < 0 ? 0 : offset + moved[behind[text + 2]];
    }
  }
}

/**
 * Whether `bytes[from, to)` stands at `at`; what is behind the end of the body equals nothing. Four at a time: a third
 * faster.
 */
function isSame(body: Uint8Array, at: number, bytes: Uint8Array, from: number, to: number): boolean {
  if (at + to - from > body.length) return false;
  let here = at;
  let index = from;
  for (; index + 4 <= to; index += 4, here += 4) {
    const difference =
      (body[here] ^ bytes[index]) |
      (body[here + 1] ^ bytes[index + 1]) |
      (body[here + 2] ^ bytes[index + 2]) |
      (body[here + 3] ^ bytes[index + 3]);
    if (difference !== 0) return false;
  }
  for (; index < to; index += 1, here += 1) if (body[here] !== bytes[index]) return false;
  return true;
}

/** @returns the index behind the part, or -1 when it is unusual. */
function readPart(body: Uint8Array, start: number, kind: number, out: ShapedMeasurement): number {
  if (kind === SOURCE) {
    let at = start;
    let id = 0;
    for (; body[at] >= 0x30 && body[at] <= 0x39; at += 1) id = id * 10 + body[at] - 0x30;
    if (body[start] === 0x30 || id === 0 || at - start > 15) return -1;
    out.source = id;
    return at;
  }
  if (kind === TIME) {
    // What is read as a time has no quote in it: of the usual length it need not be looked for.
    const usual = start + USUAL_TIME_LENGTH;
    const end = body[usual] === QUOTE && body[usual - 1] === ZULU ? usual : plainString(body, start);
    if (end < 0) return -1;
    out.time = parseTimeBytes(body, start, end);
    out.timeForm = timeForm(body, start, end);
    if (out.timeForm === NO_FORM) out.needsDocument = true;
    return isEntityTime(out.time) ? end : -1;
  }
  return scanSeriesNumber(body, start, out, kind);
}
