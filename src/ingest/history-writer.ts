/** Port of the history store's writing side (design 4). Implemented in src/store. */
import type { DataDelete } from '../model/command.ts';
import type { MeasurementColumns } from './measurement-columns.ts';

/** A row of a mutable table as JSON text (JSONEachRow). Rows of the same version replace each other without effect. */
export interface HistoryRow {
  readonly table: string;
  /** Of the command that decided it: a deletion behind it must see it, one before it must not. */
  readonly seq: number;
  readonly text: string;
}

/** Rows of one `select`; fewer are the last ones. */
export const SELECT_PAGE = 1_000;

/**
 * What was there when a DELETE came: of a version up to `seq`, or changed since and created up to `time` (ms) by the gateways' clocks, unless the
 * filter asks for what changes.
 */
export interface Before { readonly seq: number; readonly time: number }

/** What is refused for what it is: the same rows would be refused again. Everything else that fails is tried again as it is. */
export class HistoryRefusal extends Error {
  /** Number of the store's exception, 0 when it has none. */
  readonly code: number;
  /** False: the store's words may also mean its own state; only when they stay the same for a while they are taken for the data's. */
  readonly isCertain: boolean;

  constructor(message: string, code: number, isCertain: boolean) {
    super(message);
    this.code = code;
    this.isCertain = isCertain;
  }
}

/** Calls reject with HistoryRefusal when the data are at fault. */
export interface HistoryWriter {
  /**
   * Inserts all rows of each month, or none; a second insert with the same token does nothing, whether the first one's rows are there or were
   * lost when the store was killed. The columns are the writer's until it settles.
   */
  insertMeasurements(columns: MeasurementColumns, token: string): Promise<void>;
  /** Those measurements of the columns that are stored: sequence -> id. */
  storedMeasurements(columns: MeasurementColumns): Promise<ReadonlyMap<number, number>>;
  insertRows(table: string, texts: readonly string[]): Promise<void>;
  /** Deletes measurements of the tenant by the filters of document 4 section 1.2, up to and including `seq`. */
  deleteMeasurements(tenant: number, filter: DataDelete['filter'], seq: number): Promise<void>;
  /** Ids and sources of the measurements that `deleteMeasurements` would delete, by id, behind `afterId`: a page; the last one is empty. */
  selectMeasurements(tenant: number, filter: DataDelete['filter'], seq: number, afterId: number): Promise<{ id: number; source: number }[]>;
  /** Ids and sources of the rows of a mutable table that the filters of its collection select, by id, behind `afterId`: a page. */
  select(tenant: number, table: Exclude<DataDelete['table'], 'measurements'>, filter: DataDelete['filter'], afterId: number, before?: Before):
    Promise<{ id: number; source: number }[]>;
}
