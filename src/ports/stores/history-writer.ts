/** Port of the history store's writing side (design 4). Implemented in src/store. */
import type { DataDelete } from '../../model/commands/deletion.ts';

/** A row of a mutable table as JSON text (JSONEachRow). Rows of the same version replace each other without effect. */
export interface HistoryRow {
  readonly table: string;
  /** Of the command that decided it: a deletion behind it must see it, one before it must not. */
  readonly seq: number;
  readonly text: string;
}

/** Texts of a column: a row has the index of its own. */
interface Dictionary {
  readonly values: readonly string[];
}

/** Rows of measurements, column by column; each column may have room beyond `rowCount`. */
export interface MeasurementBlock {
  readonly rowCount: number;
  readonly tenant: Uint32Array;
  readonly source: Float64Array;
  /** Milliseconds since 1970. */
  readonly time: Float64Array;
  readonly id: Float64Array;
  readonly part: Uint16Array;
  readonly type: Uint16Array;
  readonly types: Dictionary;
  readonly fragment: Uint16Array;
  readonly fragments: Dictionary;
  readonly series: Uint16Array;
  readonly seriesNames: Dictionary;
  readonly value: Float64Array;
  readonly unit: Uint16Array;
  readonly units: Dictionary;
  /** Of all rows, one after the other. */
  readonly documents: Buffer;
  readonly documentLength: Uint32Array;
  readonly form: Float64Array;
  /** Whether any row has a form: without one the column is left out. */
  readonly hasForms: boolean;
  readonly tail: Uint16Array;
  readonly tails: Dictionary;
  /** As `hasForms`. */
  readonly hasTails: boolean;
  readonly shard: Uint8Array;
  readonly seq: Float64Array;
}

/** Rows of one `select`; fewer are the last ones. */
export const SELECT_PAGE = 1_000;

/** A DELETE of measurements by filters, as its command asked for it. */
export interface MeasurementDeletion {
  readonly tenant: number;
  /** Those of docs/spec/measurements.md#endpoints. */
  readonly filter: DataDelete['filter'];
  /** Of the command: what is behind it stays. */
  readonly seq: number;
  /** Of the command, ms since 1970. */
  readonly receivedAt: number;
}

/**
 * What was there when a DELETE came: of a version up to `seq`, or changed since and created up to `time` (ms) by the
 * gateways' clocks, unless the filter asks for what changes.
 */
export interface Before {
  readonly seq: number;
  readonly time: number;
}

/**
 * What is refused for what it is: the same rows would be refused again. Everything else that fails is tried again as it
 * is.
 */
export class HistoryRefusal extends Error {
  /** Number of the store's exception, 0 when it has none. */
  readonly code: number;
  /**
   * False: the store's words may also mean its own state; only when they stay the same for a while they are taken for
   * the data's.
   */
  readonly isCertain: boolean;

  constructor(message: string, code: number, isCertain: boolean) {
    super(message);
    this.code = code;
    this.isCertain = isCertain;
  }
}

/**
 * How far the store is with a statement that it carries out by itself; with the call that answers `begun` it has begun.
 */
export type StatementState = 'begun' | 'under way' | 'done';

/**
 * The store was at a statement and has failed, or needs more time or memory for a query than it may take: it is there,
 * and others may succeed.
 */
export class StatementFailed extends Error {}

/** Calls reject with HistoryRefusal when the data are at fault. */
export interface HistoryWriter {
  /**
   * Inserts all rows of each month, or none; a second insert with the same token does nothing, whether the first one's
   * rows are there or were lost when the store was killed. The block is the writer's until it settles.
   */
  insertMeasurements(block: MeasurementBlock, token: string): Promise<void>;
  /** Those measurements of the block that are stored: sequence -> id. */
  storedMeasurements(block: MeasurementBlock): Promise<ReadonlyMap<number, number>>;
  insertRows(table: string, texts: readonly string[]): Promise<void>;
  /**
   * Begins to delete measurements, or looks how far the store is with that: it goes on by itself, also when it is
   * started anew, and does not begin the same a second time. Never waits for it. What the store has failed at is ended
   * when the call rejects; the next call begins anew.
   * @param isBegun the caller was told `begun` since all of them were inserted. Else what was inserted again behind a
   * statement of an earlier process,
   *   since it ended before it had moved on, is looked for when that is done, and deleted by another.
   * @throws StatementFailed when the store has begun and failed, for another reason than its data.
   */
  deleteMeasurements(deletion: MeasurementDeletion, isBegun: boolean): Promise<StatementState>;
  /**
   * Ids and sources of the measurements that `deleteMeasurements` would delete, by id, behind `afterId`: a page; one of
   * less than `limit` is the last.
   */
  selectMeasurements(
    deletion: MeasurementDeletion,
    afterId: number,
    limit: number,
  ): Promise<{ id: number; source: number }[]>;
  /**
   * Ids and sources of the rows of a mutable table that the filters of its collection select, by id, behind `afterId`:
   * a page. @throws StatementFailed
   */
  select(
    tenant: number,
    table: Exclude<DataDelete['table'], 'measurements'>,
    filter: DataDelete['filter'],
    afterId: number,
    before?: Before,
  ): Promise<{ id: number; source: number }[]>;
}
