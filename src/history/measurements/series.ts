/**
 * Values of the series of one source, in the order of time, no more than an answer takes
 * (docs/spec/measurements.md#series). Whatever the range holds, the engine reads in the order of its key and groups
 * little at a time: a device may have hundreds of millions of values.
 */
import type { HistoryReader, HistoryStatement } from '../../ports/history-reader.ts';
import type { HistoryFilter } from '../filter.ts';

/** What is computed of the values of an interval. The deviations go through the values once, and stay exact. */
const FUNCTIONS = {
  min: 'min(value)',
  max: 'max(value)',
  avg: 'avg(value)',
  sum: 'sum(value)',
  count: 'toFloat64(count())',
  stdDevPop: 'stddevPopStable(value)',
  stdDevSamp: 'stddevSampStable(value)',
} as const;
export type SeriesFunction = keyof typeof FUNCTIONS;
export const SERIES_FUNCTIONS = Object.keys(FUNCTIONS) as SeriesFunction[];

export interface SeriesRow {
  /** Its start, ms since 1970. */
  readonly bucket: string | number;
  readonly fragment: string;
  readonly series: string;
  readonly unitName: string;
  /** By function, in the order that was asked for; null for what has no number, as the deviation of a sample of one. */
  readonly results: readonly (number | null)[];
  /** Values in the interval. */
  readonly seen: number | string;
}

export interface OneSeries {
  readonly fragment: string;
  readonly series: string;
}

export interface SeriesRange {
  /** Both inclusive, ms since 1970. */
  readonly from: number;
  readonly to: number;
  /** Of a bucket; 0 for values at their own time. */
  readonly durationMs: number;
  /** Where a bucket starts, ms since 1970: the others are whole durations away. */
  readonly originMs: number;
  readonly functions: readonly SeriesFunction[];
  readonly isDescending: boolean;
  /** The only series that the filter lets through: groups by time alone take half the engine's CPU (2026-11-27). */
  readonly only?: OneSeries | undefined;
}

/**
 * Of ranges that are grouped as a whole, each value at its own time: the fastest way, and no device has too many values
 * in it.
 */
const WHOLE_MS_MAX = 3_600_000;
/** Stored values that are read at once without aggregation, in times of those wanted. */
const ROWS_FACTOR = 2;
/** More values at one and the same time are not told apart. */
const ROWS_MAX = 1_000_000;
/** Buckets that are grouped at once; as many as are wanted to begin with, and more while few of them have values. */
const BUCKETS_MAX = 262_144;
/** Groups of buckets that are read for one answer: seldom values and short intervals would take thousands. */
const WINDOWS_MAX = 100;

const MILLISECONDS = 'toUnixTimestamp64Milli(time)';

export class SeriesReader {
  readonly #history: HistoryReader;
  readonly #filter: HistoryFilter;
  readonly #range: SeriesRange;
  readonly #valuesMax: number;
  #isCut = false;

  /**
   * @param filter conditions but for the time: on one source. @param valuesMax more of them are not needed, but may be
   * told.
   */
  constructor(history: HistoryReader, filter: HistoryFilter, range: SeriesRange, valuesMax: number) {
    this.#history = history;
    this.#filter = filter;
    this.#range = range;
    this.#valuesMax = valuesMax;
  }

  /** Of what was read: there may be more, though fewer values than wanted were found. */
  get isCut(): boolean {
    return this.#isCut;
  }

  async read(): Promise<SeriesRow[]> {
    const { only } = this.#range;
    const rows = await this.#read();
    return only === undefined ? rows : rows.map((row) => ({ ...row, ...only }));
  }

  #read(): Promise<SeriesRow[]> {
    const { from, to, durationMs } = this.#range;
    if (durationMs === 0) return to - from <= WHOLE_MS_MAX ? this.#buckets(from, to, 1) : this.#plain();
    const isSmall = (to - from) / durationMs < this.#valuesMax;
    return isSmall ? this.#buckets(from, to, durationMs) : this.#inWindows();
  }

  get #direction(): string {
    return this.#range.isDescending ? 'DESC' : 'ASC';
  }
  get #values(): string {
    const results = this.#range.functions.map((name) => FUNCTIONS[name]);
    return `any(unit) AS unitName, [${results.join(', ')}] AS results, count() AS seen`;
  }
  /** Columns that groups have beside their time. */
  get #names(): string {
    return this.#range.only === undefined ? ', fragment, series' : '';
  }
  /** Of the rows of the table: that of its key, all columns in one direction. */
  get #keyOrder(): string {
    return ['tenant', 'source', 'time'].map((name) => `${name} ${this.#direction}`).join(', ');
  }

  /** @param sqlOf the statement for its conditions. @param params values of its places beside those. */
  #between(from: number, to: number, sqlOf: (where: string) => string, params: object = {}): HistoryStatement {
    const where =
      `${this.#filter.where} AND time >= fromUnixTimestamp64Milli({seriesFrom:Int64}, 'UTC') ` +
      "AND time <= fromUnixTimestamp64Milli({seriesTo:Int64}, 'UTC')";
    return this.#filter.statement(['measurements'], sqlOf(where), { ...params, seriesFrom: from, seriesTo: to });
  }

  /**
   * The first values of the range; again from the last of their times on, which may not be whole, while that is not
   * enough.
   */
  async #plain(): Promise<SeriesRow[]> {
    let { from, to } = this.#range;
    const found: SeriesRow[] = [];
    for (let rowsMax = ROWS_FACTOR * this.#valuesMax; ; rowsMax = Math.min(ROWS_MAX, rowsMax * 4)) {
      const part = await this.#plainPart(from, to, rowsMax);
      const isAll = part.reduce((sum, { seen }) => sum + Number(seen), 0) < rowsMax;
      const last = part.at(-1)?.bucket;
      const whole = isAll ? part : part.filter(({ bucket }) => bucket !== last);
      const isOneTime = whole.length === 0 && (part.length >= this.#valuesMax || rowsMax >= ROWS_MAX);
      found.push(...(isOneTime ? part : whole));
      if (isAll || isOneTime || found.length >= this.#valuesMax) return found;
      if (this.#range.isDescending) to = Number(last);
      else from = Number(last);
    }
  }

  #plainPart(from: number, to: number, rowsMax: number): Promise<SeriesRow[]> {
    const sqlOf = (where: string): string =>
      `SELECT toString(at) AS bucket${this.#names}, ${this.#values} FROM (` +
      `SELECT ${MILLISECONDS} AS at${this.#names}, unit, value FROM measurements WHERE ${where} ORDER BY ${this.#keyOrder} LIMIT {rowsMax:UInt64}` +
      `) GROUP BY at${this.#names} ORDER BY at ${this.#direction}${this.#names}`;
    return this.#history.query(this.#between(from, to, sqlOf, { rowsMax }));
  }

  /**
   * Whole durations of UTC. Not by toStartOf…: their results are of 32 bits and begin anew before 1970
   * and after 2106.
   */
  #buckets(from: number, to: number, durationMs: number): Promise<SeriesRow[]> {
    const start =
      durationMs === 1
        ? MILLISECONDS
        : `${MILLISECONDS} - positiveModulo(${MILLISECONDS} - {origin:Int64}, {duration:Int64})`;
    const sqlOf = (where: string): string =>
      `SELECT toString(${start}) AS bucket${this.#names}, ${this.#values} FROM measurements WHERE ${where} ` +
      `GROUP BY ${start}${this.#names} ORDER BY ${start} ${this.#direction}${this.#names} LIMIT {valuesMax:UInt64}`;
    return this.#history.query(
      this.#between(from, to, sqlOf, {
        ...(durationMs === 1 ? {} : { duration: durationMs, origin: this.#range.originMs }),
        valuesMax: this.#valuesMax,
      }),
    );
  }

  /** Some buckets after the other, from one that has values on. */
  async #inWindows(): Promise<SeriesRow[]> {
    const { durationMs, originMs, isDescending } = this.#range;
    let { from, to } = this.#range;
    const found: SeriesRow[] = [];
    let count = this.#valuesMax;
    for (let windows = 0; from <= to; windows += 1) {
      const next = await this.#firstTime(from, to);
      if (next === undefined) break;
      if (windows === WINDOWS_MAX) {
        this.#isCut = true;
        break;
      }
      const start = originMs + Math.floor((next - originMs) / durationMs) * durationMs;
      const windowFrom = isDescending ? Math.max(from, start - (count - 1) * durationMs) : from;
      const windowTo = isDescending ? to : Math.min(to, start + count * durationMs - 1);
      const part = await this.#buckets(windowFrom, windowTo, durationMs);
      found.push(...part);
      if (found.length >= this.#valuesMax) break;
      if (part.length < this.#valuesMax / 4) count = Math.min(BUCKETS_MAX, count * 4);
      if (isDescending) to = windowFrom - 1;
      else from = windowTo + 1;
    }
    return found;
  }

  /** Of the first value in the range. */
  async #firstTime(from: number, to: number): Promise<number | undefined> {
    const sqlOf = (where: string): string =>
      `SELECT toString(${MILLISECONDS}) AS at FROM measurements WHERE ${where} ORDER BY ${this.#keyOrder} LIMIT 1`;
    const [row] = await this.#history.query<{ at: string }>(this.#between(from, to, sqlOf));
    return row === undefined ? undefined : Number(row.at);
  }
}
