/**
 * Records that a model looks back to (`Lag`), on their way through the slices of a file: the last ones so far go in front
 * of the next slice, whose worker drops their outputs.
 */
import { PlatformError } from '../model/errors.ts';
import type { RecordFormat } from '../scoring-workers/protocol.ts';
import type { Slice } from '../scoring-workers/records/slices.ts';

/** Of the records in front of a slice. */
const BYTES_MAX = 4_194_304;
const COMMA = Buffer.from(',');
const LINE_END = 0x0a;
const OBJECT = 0x7b;

export interface LedSlice extends Omit<Slice, 'ends'> {
  /** Records in front of its own, which `count` leaves out. */
  readonly before: number;
}

export class RecordsBefore {
  readonly #format: RecordFormat;
  readonly #model: { readonly name: string; readonly lookBack: number };
  readonly #records: Buffer[] = [];

  constructor(format: RecordFormat, model: { readonly name: string; readonly lookBack: number }) {
    this.#format = format;
    this.#model = model;
  }

  /**
   * The slice with the records in front of it. Slices come in their order, with the ends of their records.
   * @throws PlatformError 400 where those records are too long
   */
  lead({ bytes, count, line, ends }: Slice): LedSlice {
    const { lookBack } = this.#model;
    if (lookBack === 0) return { bytes, count, line, before: 0 };
    const records = this.#records;
    const before = records.length;
    const led = before === 0 ? bytes : Buffer.concat([...this.#joined(), bytes]);
    const first = line - lineEnds(records);
    for (let index = Math.max(0, ends.length - lookBack); index < ends.length; index += 1)
      records.push(this.#record(bytes, ends[index - 1] ?? 0, ends[index] as number));
    records.splice(0, Math.max(0, records.length - lookBack));
    this.#requireBound();
    return { bytes: led, count, line: first, before };
  }

  /** A copy: the slice is part of what was read at once. */
  #record(bytes: Buffer, from: number, to: number): Buffer {
    const start = this.#format === 'json' ? bytes.indexOf(OBJECT, from) : from;
    return Buffer.from(bytes.subarray(start, to));
  }

  #joined(): readonly Buffer[] {
    return this.#format === 'json' ? this.#records.flatMap((record) => [record, COMMA]) : this.#records;
  }

  #requireBound(): void {
    const bytes = this.#records.reduce((sum, { length }) => sum + length, 0);
    if (bytes <= BYTES_MAX) return;
    const { name, lookBack } = this.#model;
    const reason = `it looks back over ${lookBack} records, which have ${bytes} bytes here; it may be ${BYTES_MAX}`;
    throw new PlatformError('scoring/model-refused', { name, reason });
  }
}

function lineEnds(records: readonly Buffer[]): number {
  let count = 0;
  for (const record of records) for (const byte of record) if (byte === LINE_END) count += 1;
  return count;
}
