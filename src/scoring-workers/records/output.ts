/** Results of a batch as CSV or JSON. */
import { csvField } from '../../model/documents/csv.ts';
import type { OutputRecord } from '../pmml/engine.ts';

export const headerLine = (columns: readonly string[]): string => `${columns.map(csvField).join(',')}\n`;

/** A line with the values of the columns. */
export function csvLine(output: OutputRecord, columns: readonly string[]): string {
  let text = '';
  for (let column = 0; column < columns.length; column += 1) {
    const value = csvValue(output[columns[column] as string]);
    text += column === 0 ? value : `,${value}`;
  }
  return `${text}\n`;
}

export function csvValue(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === null || value === undefined) return '';
  return csvField(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Column of the comparison behind the input's own. */
export const DETAIL_COLUMNS = ['Expected', 'Computed', 'MatchScore', 'Match'] as const;

/** How near a computed value is to the expected one, 0 to 1: of numbers by their relative difference. */
export function matchScore(expected: string, computed: unknown): number {
  const text = computed === null || computed === undefined ? '' : String(computed);
  if (text === expected) return 1;
  const [wanted, found] = [Number(expected), Number(text)];
  if (expected === '' || text === '' || Number.isNaN(wanted) || Number.isNaN(found)) return 0;
  const largest = Math.max(Math.abs(wanted), Math.abs(found));
  return largest === 0 ? 1 : Math.max(0, 1 - Math.abs(wanted - found) / largest);
}
