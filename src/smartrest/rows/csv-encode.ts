/** Writes rows of comma-separated values (docs/spec/smartrest.md#rows). */

const QUOTE = 0x22;
const COMMA = 0x2c;
const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;

/** @returns `value` in quotes, with inner ones doubled, when it needs them (docs/spec/smartrest.md#rows). */
export function encodeField(value: string): string {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    const isBlankAtEdge = code === 0x20 && (index === 0 || index === value.length - 1);
    if (code === QUOTE || code === COMMA || (code >= TAB && code <= CARRIAGE_RETURN) || isBlankAtEdge) {
      return `"${value.replaceAll('"', '""')}"`;
    }
  }
  return value;
}

/**
 * One row without line break. Trailing empty values stay: rows to the device have a fixed number of columns
 * (docs/spec/smartrest.md#rows-to-devices).
 */
export function encodeRow(values: readonly (string | number)[]): string {
  let row = '';
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (index > 0) row += ',';
    row += typeof value === 'number' ? String(value) : encodeField(value);
  }
  return row;
}
