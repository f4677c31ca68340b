/** Fields of CSV text (RFC 4180). */

/** Quoted where it has to be, also for programs that take `;` or a tab for the end of a field. */
export const csvField = (text: string): string => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** What a spreadsheet takes for a formula, also behind a quote. */
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * A text that a device or user wrote, for people who open the file with a spreadsheet: one that would be run as a
 * formula begins with `'` (OWASP, CSV injection). Numbers stay numbers.
 */
export const csvText = (text: string): string => csvField(FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);
