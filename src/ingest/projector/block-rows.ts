/** The rows of a block: measurements in columns, those of mutable tables as texts, and what cannot be read. */
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import { kindAt, modeAt } from '../journal/record-layout.ts';
import { MeasurementColumns } from '../measurements/columns.ts';
import { DamagedMeasurements } from '../measurements/damaged.ts';

/** Rows of mutable tables in one block; more make the block full. */
const MUTABLE_ROWS_MAX = 20_000;
/** Characters of their texts. */
const MUTABLE_CHARS_MAX = 32 * 2 ** 20;
/** See `isLarge`: 3.1 µs a row for inserts of 10,000, 1.3 for those of 50,000 (2026-11-21). */
const LARGE_ROWS_MIN = 2_000;
/** Of mutable tables: one alarm has rows in three tables, which are three inserts. */
const LARGE_MUTABLE_ROWS_MIN = 100;

export class BlockRows {
  readonly columns: MeasurementColumns;
  readonly damaged = new DamagedMeasurements();
  /** Tables whose rows are inserted. */
  readonly done = new Set<string>();
  #rows: HistoryRow[] = [];
  #rowChars = 0;

  /** @param monthsMax of a block that is built again: any number, it was a block before. */
  constructor(rowsMax: number, monthsMax?: number) {
    this.columns = new MeasurementColumns(rowsMax, monthsMax);
  }

  /** Of mutable tables. */
  get rows(): readonly HistoryRow[] {
    return this.#rows;
  }
  get rowCount(): number {
    return this.columns.rowCount + this.#rows.length;
  }
  get isFull(): boolean {
    return (
      this.columns.isFull ||
      this.#rows.length >= MUTABLE_ROWS_MAX ||
      this.#rowChars >= MUTABLE_CHARS_MAX ||
      this.damaged.isFull
    );
  }
  /** Worth waiting for more rows: an insert costs the engine 8 ms whatever is in it, and a merge later. */
  get isLarge(): boolean {
    return this.columns.rowCount >= LARGE_ROWS_MIN || this.#rows.length >= LARGE_MUTABLE_ROWS_MIN;
  }

  /** Takes the measurement at `at`, if the record is one that is stored. */
  addRecord(records: Buffer, view: DataView, at: number, seq: number): void {
    const isRow = kindAt(records, at) === COMMAND.MEASUREMENT && isStored(modeAt(records, at));
    if (isRow && !this.columns.add(records, view, at, seq)) this.damaged.add(records, at, seq);
  }

  /** Those of `rows` with a sequence in (after, through]. */
  addRows(rows: readonly HistoryRow[], after: number, through: number): void {
    for (const row of rows) {
      if (row.seq <= after || row.seq > through) continue;
      this.#rows.push(row);
      this.#rowChars += row.text.length;
    }
  }

  /** Whether it has rows that the query reads and that are not inserted yet. */
  holds(query: HistoryQuery): boolean {
    return query.tables.some(
      (table) =>
        !this.done.has(table) &&
        (table === 'measurements' ? this.columns.holds(query.source) : this.#rows.some((row) => row.table === table)),
    );
  }

  clear(): void {
    this.columns.clear();
    this.#rows = [];
    this.#rowChars = 0;
    this.damaged.clear();
    this.done.clear();
  }
}
