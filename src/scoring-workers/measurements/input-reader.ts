/** The record of a model that the values of a measurement make, read from the bytes of the journal. */
import {
  OFFSET_COUNT,
  OFFSET_DOCUMENT_LENGTH,
  OFFSET_TEXTS,
  OFFSET_TYPE_LENGTH,
  TYPE_IS_FRAGMENT,
  VALUE_FRAGMENT_LENGTH,
  VALUE_HEADER_BYTES,
  VALUE_SERIES_LENGTH,
  VALUE_UNIT_LENGTH,
} from '../../ingest/journal/record-layout.ts';
import type { InputRecord } from '../pmml/engine.ts';
import { hashOf, isAt } from './names.ts';
import type { Plan } from './plan.ts';

interface Input {
  readonly name: string;
  readonly type: Buffer;
  readonly series: Buffer;
}

export class InputReader {
  /** By the hash of the series. */
  readonly #bySeries = new Map<number, Input[]>();
  readonly #names: readonly string[];
  readonly #allowsMissing: boolean;
  /** One object for all records: a new one for each would cost more than most models. */
  readonly #record: Record<string, number | null>;
  #found = 0;

  constructor({ inputs, allowsMissing }: Pick<Plan, 'inputs' | 'allowsMissing'>) {
    for (const { name, type, series } of inputs) {
      const input = { name, type: Buffer.from(type), series: Buffer.from(series) };
      const hash = hashOf(input.series, 0, input.series.length);
      this.#bySeries.set(hash, [...(this.#bySeries.get(hash) ?? []), input]);
    }
    this.#names = inputs.map(({ name }) => name);
    this.#allowsMissing = allowsMissing;
    // Own members whatever they are called.
    this.#record = Object.fromEntries(this.#names.map((name) => [name, null]));
  }

  /**
   * The first part of a mapping is the type of the measurement or the fragment of the value. Of values with equal names
   * the last one counts.
   * @param at of a whole MEASUREMENT record @returns undefined where the measurement lacks a value that is needed; the
   * record changes with the next call, and a missing value is null
   */
  read(records: Buffer, at: number): InputRecord | undefined {
    for (const name of this.#names) this.#record[name] = null;
    this.#found = 0;
    const typeLength = records.readUInt16LE(at + OFFSET_TYPE_LENGTH);
    let cursor = at + OFFSET_TEXTS;
    let typeAt = cursor;
    let typeEnd = typeLength === TYPE_IS_FRAGMENT ? -1 : cursor + typeLength;
    if (typeEnd !== -1) cursor = typeEnd;
    cursor += records.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH);
    for (let left = records.readUInt16LE(at + OFFSET_COUNT); left > 0; left -= 1) {
      const fragmentAt = cursor + VALUE_HEADER_BYTES;
      const seriesAt = fragmentAt + records.readUInt16LE(cursor + VALUE_FRAGMENT_LENGTH);
      const seriesEnd = seriesAt + records.readUInt16LE(cursor + VALUE_SERIES_LENGTH);
      if (typeEnd === -1) {
        typeAt = fragmentAt;
        typeEnd = seriesAt;
      }
      const inputs = this.#bySeries.get(hashOf(records, seriesAt, seriesEnd));
      if (inputs !== undefined)
        for (const input of inputs)
          if (
            isAt(input.series, records, seriesAt, seriesEnd) &&
            (isAt(input.type, records, fragmentAt, seriesAt) || isAt(input.type, records, typeAt, typeEnd))
          )
            this.#take(input.name, records.readDoubleLE(cursor));
      cursor = seriesEnd + records.readUInt16LE(cursor + VALUE_UNIT_LENGTH);
    }
    const isWhole = this.#found === this.#names.length || (this.#found > 0 && this.#allowsMissing);
    return isWhole ? this.#record : undefined;
  }

  #take(name: string, value: number): void {
    if (this.#record[name] === null) this.#found += 1;
    this.#record[name] = value;
  }
}
