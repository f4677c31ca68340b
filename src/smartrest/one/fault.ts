/** Faults of rows of SmartREST 1.0 (docs/spec/smartrest-one.md#faults). */
import { encodeRow } from '../rows/csv-encode.ts';

/** 41 a template, 42 a row that cannot be split, 43 an unknown message id, 45 values that do not fit. */
export type FaultCode = 41 | 42 | 43 | 45;

export class RowFault extends Error {
  override readonly name = 'RowFault';
  readonly code: FaultCode;

  constructor(code: FaultCode, text: string) {
    super(text);
    this.code = code;
  }

  /** `<code>,<line>,<text>`. */
  toRow(line: number): string {
    return encodeRow([this.code, line, this.message]);
  }
}

export const MALFORMED_ROW = 'Malformed Request';
export const UNKNOWN_MESSAGE = 'Invalid message identifier';
export const NO_VALUES = 'No arguments supported';
export const WRONG_COUNT = 'Wrong number of arguments';
