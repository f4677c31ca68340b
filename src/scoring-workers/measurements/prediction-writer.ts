/** Predictions as MEASUREMENT records of the device whose values they are about (docs/spec/scoring.md#bindings). */
import { newMeasurementHead, writeMeasurementHead, writeValueHead } from '../../ingest/measurements/record.ts';
import { OFFSET_TEXTS, VALUE_HEADER_BYTES } from '../../ingest/journal/record-layout.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { OutputRecord } from '../pmml/engine.ts';
import { copyName } from './names.ts';
import {
  MARK,
  type PlannedMeasurement,
  PREDICTION_BYTES_MAX,
  PREDICTIONS_BYTES_MAX,
  TEXT_CHARACTERS_MAX,
} from './plan.ts';

const BYTES_FIRST = 16_384;
const UTF8_BYTES_MAX = 3;
const MS_PER_SECOND = 1_000;
/** How a whole second ends. */
const MILLISECONDS = '000Z';

/** Whose values were scored. */
export interface ScoredMeasurement {
  readonly tenant: number;
  readonly source: number;
  /** ms since 1970. */
  readonly time: number;
  readonly mode: ProcessingMode;
}

export class PredictionWriter {
  readonly #plan: PlannedMeasurement;
  readonly #head = newMeasurementHead();
  readonly #type: Buffer;
  readonly #fragment: Buffer;
  readonly #series: readonly Buffer[];
  readonly #names: readonly string[];
  readonly #start: string;
  readonly #end: string;
  readonly #numbers: number[] = [];
  /** Of each number the place of its output. */
  readonly #places: number[] = [];
  #bytes = Buffer.allocUnsafeSlow(BYTES_FIRST);
  #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  #used = 0;
  #second = Number.NaN;
  /** Up to the point before the milliseconds. */
  #secondText = '';

  constructor(plan: PlannedMeasurement) {
    this.#plan = plan;
    this.#type = Buffer.from(plan.type);
    this.#fragment = Buffer.from(plan.fragment);
    this.#series = plan.outputs.map(({ series }) => Buffer.from(series));
    this.#names = plan.outputs.map(({ series }) => JSON.stringify(series));
    this.#start = `"},"type":${JSON.stringify(plan.type)},${JSON.stringify(plan.fragment)}:{`;
    this.#end = `},"${MARK}":${plan.mark}}`;
    this.#head.typeLength = this.#type.length;
  }

  /** Records so far, one behind the other; their ids and times of receipt are to be filled in. */
  get records(): Uint8Array {
    return this.#bytes.subarray(0, this.#used);
  }

  /**
   * Numbers become series, all else members of the fragment; a missing output is left out.
   * @returns false for what has more than PREDICTION_BYTES_MAX, or is beyond PREDICTIONS_BYTES_MAX with those before it:
   * it is left out
   */
  write({ tenant, source, time, mode }: ScoredMeasurement, outputs: OutputRecord): boolean {
    const document = `{"time":"${this.#timeText(time)}","source":{"id":"${source}${this.#start}${this.#members(outputs)}${this.#end}`;
    const documentAt = this.#used + OFFSET_TEXTS + this.#type.length;
    let valueBytes = 0;
    for (const place of this.#places)
      valueBytes += VALUE_HEADER_BYTES + this.#fragment.length + (this.#series[place] as Buffer).length;
    const otherBytes = documentAt - this.#used + valueBytes;
    if (!this.#makeRoom(otherBytes, document)) return false;
    const head = this.#head;
    head.documentLength = this.#bytes.write(document, documentAt);
    head.tenant = tenant;
    head.source = source;
    head.time = time;
    head.mode = mode;
    head.valueCount = this.#numbers.length;
    const length = OFFSET_TEXTS + this.#type.length + head.documentLength + valueBytes;
    const at = writeMeasurementHead(this.#view, this.#used, length, head);
    copyName(this.#type, this.#bytes, at);
    this.#writeValues(documentAt + head.documentLength);
    this.#used += length;
    return true;
  }

  /** Measurements of one task are mostly of one second, whose text is kept: making one costs as much as a small model. */
  #timeText(ms: number): string {
    const second = Math.floor(ms / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = formatTime(second * MS_PER_SECOND).slice(0, -MILLISECONDS.length);
    }
    return `${this.#secondText}${String(ms - second * MS_PER_SECOND).padStart(3, '0')}Z`;
  }

  #members(outputs: OutputRecord): string {
    this.#numbers.length = 0;
    this.#places.length = 0;
    let members = '';
    this.#plan.outputs.forEach(({ name }, place) => {
      const value = outputs[name];
      if (value === null || value === undefined) return;
      if (typeof value === 'number') {
        this.#numbers.push(value);
        this.#places.push(place);
      }
      const text = typeof value === 'number' ? `{"value":${value}}` : memberText(value);
      members += `${members === '' ? '' : ','}${this.#names[place]}:${text}`;
    });
    return members;
  }

  #writeValues(from: number): void {
    let at = from;
    const { length } = this.#fragment;
    for (let index = 0; index < this.#numbers.length; index += 1) {
      const series = this.#series[this.#places[index] as number] as Buffer;
      at = writeValueHead(this.#view, at, this.#numbers[index] as number, length, series.length, 0);
      at = copyName(this.#fragment, this.#bytes, at);
      at = copyName(series, this.#bytes, at);
    }
  }

  /** The text is measured only near a bound. @returns false where there is none */
  #makeRoom(otherBytes: number, document: string): boolean {
    const free = Math.min(PREDICTION_BYTES_MAX, PREDICTIONS_BYTES_MAX - this.#used);
    let bytes = otherBytes + document.length * UTF8_BYTES_MAX;
    if (bytes > free) bytes = otherBytes + Buffer.byteLength(document);
    if (bytes > free) return false;
    if (this.#used + bytes <= this.#bytes.length) return true;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#used + bytes));
    this.#bytes.copy(grown, 0, 0, this.#used);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer, grown.byteOffset, grown.length);
    return true;
  }
}

function memberText(value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.slice(0, TEXT_CHARACTERS_MAX));
}
