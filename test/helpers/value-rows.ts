import { VALUE_ROW_BYTES } from '../../src/model/entities/scoring/measured-values.ts';

export interface ValueRow {
  readonly source: number;
  /** ms since 1970. */
  readonly time: number;
  /** Places of the names, from 1; 0 and absent: another one. */
  readonly fragment?: number;
  readonly type?: number;
  readonly series: number;
  readonly value: number;
}

/** Rows as the history hands them out. */
export function valueRows(rows: readonly ValueRow[]): Uint8Array {
  const bytes = new Uint8Array(rows.length * VALUE_ROW_BYTES);
  const view = new DataView(bytes.buffer);
  rows.forEach(({ source, time, fragment = 0, type = 0, series, value }, index) => {
    const at = index * VALUE_ROW_BYTES;
    view.setBigUint64(at, BigInt(source), true);
    view.setBigInt64(at + 8, BigInt(time), true);
    view.setUint16(at + 16, fragment, true);
    view.setUint16(at + 18, type, true);
    view.setUint16(at + 20, series, true);
    view.setFloat64(at + 24, value, true);
  });
  return bytes;
}
