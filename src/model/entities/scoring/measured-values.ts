/**
 * Values of many measurements as plain memory, from the history to the threads that compute with them: rows of 32 bytes
 * that are never made objects. Numbers are little-endian, as the history writes them and as the machines that the server
 * runs on read them.
 *
 * | Bytes | |
 * |---|---|
 * | 0 to 7 | source |
 * | 8 to 15 | time, ms since 1970 |
 * | 16, 18, 20 | places of fragment, type and series, two bytes each; 0: another one |
 * | 24 to 31 | the value |
 */

/** A series of a fragment, or of measurements of a type. */
export interface MeasuredColumn {
  readonly type: string;
  readonly series: string;
}

export const VALUE_ROW_BYTES = 32;
const WORDS = 8;
const HALVES = 16;
const DOUBLES = 4;
const TWO_TO_32 = 4_294_967_296;

export class ValueRows {
  readonly count: number;
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #doubles: Float64Array;
  readonly #bytes: Uint8Array;

  /** @param bytes whole rows, from a multiple of 8 bytes on; they are not copied. */
  constructor(bytes: Uint8Array) {
    const { buffer, byteOffset, length } = bytes;
    if (length % VALUE_ROW_BYTES !== 0) throw new Error(`${length} bytes are not whole rows of ${VALUE_ROW_BYTES}`);
    this.count = length / VALUE_ROW_BYTES;
    this.#bytes = bytes;
    this.#words = new Uint32Array(buffer, byteOffset, this.count * WORDS);
    this.#halves = new Uint16Array(buffer, byteOffset, this.count * HALVES);
    this.#doubles = new Float64Array(buffer, byteOffset, this.count * DOUBLES);
  }

  /** Id of the source. */
  source(row: number): string {
    return String(this.#words[row * WORDS + 1] * TWO_TO_32 + this.#words[row * WORDS]);
  }

  /** ms since 1970. */
  time(row: number): number {
    return (this.#words[row * WORDS + 3] | 0) * TWO_TO_32 + this.#words[row * WORDS + 2];
  }

  value(row: number): number {
    return this.#doubles[row * DOUBLES + 3];
  }

  fragment(row: number): number {
    return this.#halves[row * HALVES + 8];
  }

  type(row: number): number {
    return this.#halves[row * HALVES + 9];
  }

  series(row: number): number {
    return this.#halves[row * HALVES + 10];
  }

  isSameSource(one: number, other: number): boolean {
    const words = this.#words;
    return words[one * WORDS] === words[other * WORDS] && words[one * WORDS + 1] === words[other * WORDS + 1];
  }

  /** Whether both are of the same source and time. */
  isSameRecord(one: number, other: number): boolean {
    const words = this.#words;
    return (
      words[one * WORDS + 2] === words[other * WORDS + 2] &&
      words[one * WORDS + 3] === words[other * WORDS + 3] &&
      this.isSameSource(one, other)
    );
  }

  /** Rows, `to` exclusive, that another thread can be given: copied where the memory is not shared. */
  part(from: number, to: number): Uint8Array {
    const isShared = this.#bytes.buffer instanceof SharedArrayBuffer;
    return this.#bytes[isShared ? 'subarray' : 'slice'](from * VALUE_ROW_BYTES, to * VALUE_ROW_BYTES);
  }
}

const NONE: readonly number[] = [];

/** Which of the wanted columns a row is a value of. */
export class ValueColumns {
  /** Types and fragments; their places in a row count from 1. */
  readonly types: readonly string[];
  /** Likewise. */
  readonly series: readonly string[];
  /** Columns by the places of type and series. */
  readonly #columns: number[][][] = [];

  constructor(columns: readonly MeasuredColumn[]) {
    this.types = [...new Set(columns.map(({ type }) => type))];
    this.series = [...new Set(columns.map(({ series }) => series))];
    const [types, series] = [placesOf(this.types), placesOf(this.series)];
    columns.forEach((column, index) => {
      const ofType = (this.#columns[types.get(column.type) as number] ??= []);
      (ofType[series.get(column.series) as number] ??= []).push(index);
    });
  }

  /** Columns of which the row is a value by its fragment. */
  byFragment(rows: ValueRows, row: number): readonly number[] {
    return this.#columns[rows.fragment(row)]?.[rows.series(row)] ?? NONE;
  }

  /** Likewise by its type. */
  byType(rows: ValueRows, row: number): readonly number[] {
    return this.#columns[rows.type(row)]?.[rows.series(row)] ?? NONE;
  }

  isWanted(rows: ValueRows, row: number): boolean {
    return this.byFragment(rows, row) !== NONE || this.byType(rows, row) !== NONE;
  }
}

const placesOf = (names: readonly string[]): ReadonlyMap<string, number> =>
  new Map(names.map((name, index) => [name, index + 1]));
