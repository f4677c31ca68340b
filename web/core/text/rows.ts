/** Rows of SmartREST (docs/spec/smartrest.md#rows). */

const cell = (text: string): string => (/[",\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** One row of these values, without its line break. */
export const rowText = (values: readonly string[]): string => values.map(cell).join(',');
