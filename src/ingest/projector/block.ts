/**
 * One block being filled or inserted, with its range of each shard: measurements in columns, rows of mutable tables as
 * texts, and what cannot be read.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { BlockRange } from '../../ports/cluster/documents.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { kindAt, modeAt, nextAt } from '../journal/record-layout.ts';
import { MeasurementColumns } from '../measurements/columns.ts';
import { DamagedMeasurements } from '../measurements/damaged.ts';
import { LateDeletions, deletionsOf, isOfOneMeasurement } from './late-deletions.ts';

/** Rows of mutable tables in one block; more make the block full. */
const MUTABLE_ROWS_MAX = 20_000;
/** Characters of their texts. */
const MUTABLE_CHARS_MAX = 32 * 2 ** 20;
/** See `isLarge`: 3.1 µs a row for inserts of 10,000, 1.3 for those of 50,000 (2026-11-21). */
const LARGE_ROWS_MIN = 2_000;
/** Of mutable tables: one alarm has rows in three tables, which are three inserts. */
const LARGE_MUTABLE_ROWS_MIN = 100;

/** How far a group went into a block. */
export interface Consumed {
  /** Last record that is in the block or needs no row. */
  readonly lastSeq: number;
  /** A DELETE, which stands behind it. */
  readonly deletion: Deletion | undefined;
}

/**
 * A DELETE by filters; or, one right behind the other, DELETEs of single measurements, or what deleted objects leave.
 */
export interface Deletion {
  /** Of the records that are carried out. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** SOURCE_DELETE; empty for a DELETE by filters. */
  readonly gone: readonly JournalCommand[];
  /** DATA_DELETE, not empty. */
  readonly commands: readonly JournalCommand[];
}

export const isDeletion = (kind: number): boolean => kind === COMMAND.DATA_DELETE || kind === COMMAND.SOURCE_DELETE;

/** What may be carried out later than its place in the journal. */
export const isLate = (command: JournalCommand): boolean =>
  command.kind === COMMAND.SOURCE_DELETE || isOfOneMeasurement(command);

export class Block {
  readonly columns: MeasurementColumns;
  readonly damaged = new DamagedMeasurements();
  /** shard -> first and last sequence */
  readonly ranges = new Map<number, { firstSeq: number; lastSeq: number }>();
  /** What is deleted behind the rows. */
  readonly late = new LateDeletions();
  /** Tables whose rows are inserted. */
  readonly done = new Set<string>();
  readonly #takesLate: boolean;
  #rows: HistoryRow[] = [];
  #rowChars = 0;

  /** @param takesLate late deletions are part of the block; else it ends in front of them. */
  constructor(rowsMax: number, takesLate: boolean) {
    this.columns = new MeasurementColumns(rowsMax);
    this.#takesLate = takesLate;
  }

  get isEmpty(): boolean {
    return this.ranges.size === 0;
  }
  get rangeList(): BlockRange[] {
    return [...this.ranges].map(([shard, range]) => ({ shard, ...range }));
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
      this.damaged.isFull ||
      this.late.isFull
    );
  }
  /** Worth waiting for more rows: an insert costs the engine 8 ms whatever is in it, and a merge later. */
  get isLarge(): boolean {
    return this.columns.rowCount >= LARGE_ROWS_MIN || this.#rows.length >= LARGE_MUTABLE_ROWS_MIN;
  }

  /**
   * Adds records of a shard behind `afterSeq` and up to `throughSeq`, until the block is full or a DELETE comes.
   * @param goneAhead sequences of SOURCE_DELETE that are carried out already.
   * @returns undefined when the group has none of them.
   */
  consume(
    shard: number,
    firstSeq: number,
    records: Buffer,
    afterSeq: number,
    throughSeq: number,
    goneAhead: ReadonlySet<number>,
  ): Consumed | undefined {
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let seq = firstSeq;
    let from = 0;
    let lastSeq = 0;
    let deletion: Deletion | undefined;
    for (let at = 0; at < records.length && seq <= throughSeq; at = nextAt(records, at), seq += 1) {
      if (seq <= afterSeq) continue;
      if (this.isFull) break;
      if (isDeletion(kindAt(records, at)) && !goneAhead.has(seq)) {
        deletion = this.#takeDeletion(records, at, seq, throughSeq);
        if (deletion !== undefined) break;
      }
      this.#addRecord(records, view, at, seq);
      if (from === 0) from = seq;
      lastSeq = seq;
    }
    if (lastSeq === 0) return deletion && { lastSeq: afterSeq, deletion };
    const range = this.ranges.get(shard);
    if (range) range.lastSeq = lastSeq;
    else this.ranges.set(shard, { firstSeq: from, lastSeq });
    return { lastSeq, deletion };
  }

  /** Takes the measurement at `at`, if the record is one that is stored. */
  #addRecord(records: Buffer, view: DataView, at: number, seq: number): void {
    const isRow = kindAt(records, at) === COMMAND.MEASUREMENT && isStored(modeAt(records, at));
    if (isRow && !this.columns.add(records, view, at, seq)) this.damaged.add(records, at, seq);
  }

  /** @returns what the block ends in front of; undefined when it takes the deletion, or when that cannot be read. */
  #takeDeletion(records: Buffer, at: number, seq: number, throughSeq: number): Deletion | undefined {
    const command = readableCommand(records, at, seq);
    if (command === undefined) return undefined;
    if (!isLate(command)) return { firstSeq: seq, lastSeq: seq, gone: [], commands: [command] };
    if (!this.#takesLate) return lateAt(records, at, seq, throughSeq);
    this.late.add(command);
    return undefined;
  }

  /** Those of `rows` with a sequence in (after, through]. */
  addRows(rows: readonly HistoryRow[], after: number, through: number): void {
    for (const row of rows) {
      if (row.seq <= after || row.seq > through) continue;
      this.#rows.push(row);
      this.#rowChars += row.text.length;
    }
  }

  /** Whether it has something that the query reads, or that is deleted of it, and that is not in the history yet. */
  holds(query: HistoryQuery): boolean {
    if (this.late.concerns(query)) return true;
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
    this.late.clear();
    this.done.clear();
    this.ranges.clear();
  }
}

/** The late deletion at `start`, with those of its kind right behind it. */
function lateAt(records: Buffer, start: number, firstSeq: number, throughSeq: number): Deletion {
  const found: JournalCommand[] = [];
  const kind = kindAt(records, start);
  let seq = firstSeq;
  for (let at = start; at < records.length && seq <= throughSeq; at = nextAt(records, at), seq += 1) {
    const command = kindAt(records, at) === kind ? readableCommand(records, at, seq) : undefined;
    if (command === undefined || !isLate(command)) break;
    found.push(command);
  }
  const gone = kind === COMMAND.SOURCE_DELETE ? found : [];
  return { firstSeq, lastSeq: seq - 1, gone, commands: deletionsOf(found) };
}
