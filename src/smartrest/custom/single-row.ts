/**
 * The hot path of custom templates: rows of measurements of one series whose names are fixed, read straight from the
 * bytes of a payload (see rows/measurement-rows.ts). Whatever is unusual is left to the general path, which also words
 * the errors.
 */
import { isEntityTime } from '../../model/documents/entity-time.ts';
import { parseTimeBytes } from '../../model/documents/iso-time.ts';
import { numberScan, scanNumber } from '../../model/documents/number-scan.ts';
import type { TemplateCollection } from './collection.ts';
import type { SingleSeries } from './request-template.ts';

/** Longer whole numbers are left to the general path: a double may not hold their digits. */
const WHOLE_DIGITS_MAX = 15;

const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const PLUS = 0x2b;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** The texts of a measurement as they stand in its record: type, then fragment, series and unit. */
export interface SeriesBytes {
  /** 0: the type is the fragment, and is not written. */
  readonly typeLength: number;
  readonly fragmentLength: number;
  readonly seriesLength: number;
  readonly unitLength: number;
  readonly type: Buffer;
  readonly texts: Buffer;
}

interface ScannedTemplate {
  readonly id: Buffer;
  readonly isTime: readonly boolean[];
  readonly isWhole: boolean;
  readonly mayBeNegative: boolean;
  readonly bytes: SeriesBytes;
}

/** The measurements of a collection that are read here; keeps the last row that it has read. */
export class SingleRows {
  /** Of the last row that was read. */
  value = 0.5;
  /** ms since 1970; NaN: the time of the server. */
  time = NaN;
  bytes: SeriesBytes;
  readonly #byId = new Map<string, ScannedTemplate>();
  #last: ScannedTemplate;

  /** @param collection one that has a measurement for the hot path. */
  constructor(collection: TemplateCollection) {
    for (const { messageId, single } of collection.requests.values())
      if (single !== undefined) this.#byId.set(messageId, scanned(messageId, single));
    const [first] = this.#byId.values();
    this.#last = first;
    this.bytes = first.bytes;
  }

  /** @returns whether `buffer[start, end)` is one plain row of such a measurement, which is then the last one. */
  read(buffer: Buffer, start: number, end: number): boolean {
    let at = this.#readId(buffer, start, end);
    if (at < 0) return false;
    const { isTime } = this.#last;
    this.time = NaN;
    let hasValue = false;
    for (let slot = 0; slot < isTime.length && at < end && buffer[at] === COMMA; slot += 1) {
      at = isTime[slot] ? this.#readTime(buffer, at + 1, end) : this.#readValue(buffer, at + 1, end);
      if (at < 0) return false;
      hasValue ||= !isTime[slot];
    }
    if (at < end && buffer[at] === CARRIAGE_RETURN) at += 1;
    if (at < end && buffer[at] === LINE_FEED) at += 1;
    this.bytes = this.#last.bytes;
    return hasValue && at === end;
  }

  /** @returns the index behind the message id, -1 for one of another template. */
  #readId(buffer: Buffer, start: number, end: number): number {
    if (isAt(this.#last.id, buffer, start, end)) return start + this.#last.id.length;
    let at = start;
    while (at < end && buffer[at] !== COMMA && buffer[at] > CARRIAGE_RETURN) at += 1;
    const template = this.#byId.get(buffer.toString('utf8', start, at));
    if (template === undefined) return -1;
    this.#last = template;
    return at;
  }

  #readTime(buffer: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && buffer[at] !== COMMA && buffer[at] > 0x20) at += 1;
    if (at === start) return at;
    this.time = parseTimeBytes(buffer, start, at);
    return isEntityTime(this.time) ? at : -1;
  }

  #readValue(buffer: Buffer, start: number, end: number): number {
    const at = scanNumber(buffer, start, end);
    if (at < 0) return -1;
    this.value = numberScan.value;
    if (!this.#last.isWhole) return at;
    if (at - start > WHOLE_DIGITS_MAX) return -1;
    const hasSign = buffer[start] === MINUS || buffer[start] === PLUS;
    if (buffer[start] === MINUS && !this.#last.mayBeNegative) return -1;
    for (let index = hasSign ? start + 1 : start; index < at; index += 1)
      if (buffer[index] < ZERO || buffer[index] > NINE) return -1;
    return at;
  }
}

/** Whether the message id stands there, and ends. */
function isAt(id: Buffer, buffer: Buffer, start: number, end: number): boolean {
  const { length } = id;
  if (start + length >= end || buffer[start + length] !== COMMA) return false;
  for (let index = 0; index < length; index += 1) if (buffer[start + index] !== id[index]) return false;
  return true;
}

function scanned(messageId: string, { type, fragment, series, unit, slots, valueType }: SingleSeries): ScannedTemplate {
  const typeBytes = Buffer.from(type === fragment ? '' : type);
  const texts = [fragment, series, unit].map((text) => Buffer.from(text));
  return {
    id: Buffer.from(messageId),
    isTime: slots.map((slot) => slot === 'time'),
    isWhole: valueType !== 'NUMBER',
    mayBeNegative: valueType !== 'UNSIGNED',
    bytes: {
      typeLength: typeBytes.length,
      fragmentLength: texts[0].length,
      seriesLength: texts[1].length,
      unitLength: texts[2].length,
      type: typeBytes,
      texts: Buffer.concat(texts),
    },
  };
}
