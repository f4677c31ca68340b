/** Faults of SmartREST rows; they go to the device as rows on `s/e` (docs/spec/smartrest.md#faults). */
import { encodeRow } from './csv-encode.ts';

/** 40 unknown template, 41 general failure, 45 parameters wrong in number or type, 50 failure of the server. */
export type SmartRestErrorCode = 40 | 41 | 45 | 50;

/** The longest value that a text repeats; the rest of a hostile value is cut. */
const VALUE_LENGTH_MAX = 200;

export class SmartRestError extends Error {
  readonly code: SmartRestErrorCode;
  /** Message id of the row as sent; empty when it could not be read. */
  readonly messageId: string;

  constructor(code: SmartRestErrorCode, messageId: string, text: string) {
    super(text);
    this.code = code;
    this.messageId = shorten(messageId);
  }

  /** The row for `s/e`: `45,<message id>,<text>`. */
  toRow(): string {
    return encodeRow([this.code, this.messageId, this.message]);
  }
}

/** A value as a message repeats it. */
export function shorten(value: string): string {
  return value.length > VALUE_LENGTH_MAX ? `${value.slice(0, VALUE_LENGTH_MAX)}…` : value;
}
