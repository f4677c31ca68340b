/** The rows of a body of SmartREST 1.0 (docs/spec/smartrest-one.md#rows). */
import { CsvRows } from '../rows/csv.ts';
import { SmartRestError } from '../rows/error.ts';
import { MALFORMED_ROW, RowFault } from './fault.ts';

export interface Row {
  /** Its number among the rows of the body, from 1. */
  readonly line: number;
  /** The message id first. Empty values at the end are there. */
  readonly fields: readonly string[];
  /** Of a row that could not be split: it has no fields. */
  readonly fault?: RowFault;
}

/** @returns all rows, those with faults too; empty lines are none. The body is only read. */
export function readRows(body: Buffer): Row[] {
  const rows: Row[] = [];
  for (const csv = new CsvRows(body); ; ) {
    try {
      if (!csv.next()) return rows;
      const fields = Array.from({ length: csv.sentCount }, (_, index) => csv.field(index));
      rows.push({ line: csv.number, fields });
    } catch (error) {
      if (!(error instanceof SmartRestError)) throw error;
      // A body with more rows than are read says so.
      const text = error.code === 41 ? error.message : MALFORMED_ROW;
      rows.push({ line: csv.number, fields: [], fault: new RowFault(42, text) });
    }
  }
}
