/** Document 1 line by line, where it lies beside the repository or where MILLRACE_DOCUMENTS says. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../helpers/root.ts';

const FOLDERS = [process.env['MILLRACE_DOCUMENTS'], join(ROOT, '..', 'shared', 'spec')];

/** A table row, a numbered sentence or any other line that is not empty. */
export interface Line {
  /** The nearest one above. */
  readonly heading: string;
  readonly text: string;
  /** Of a table row. */
  readonly cells?: readonly string[];
  /** Heads of its columns. */
  readonly columns?: readonly string[];
}

const cellsOf = (line: string): string[] => line.replace(/^\|\s*|\s*\|$/g, '').split(/\s+\|\s+/);

/** @param text Markdown. @returns its lines, without headings, heads of tables and rulers. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let heading = '';
  let columns: readonly string[] | undefined;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const isRow = line.startsWith('|');
    if (!isRow) columns = undefined;
    if (line.startsWith('#')) heading = line.replace(/^#+\s*/, '');
    else if (isRow && columns === undefined) columns = cellsOf(line);
    else if (isRow && !/^[|\s:-]+$/.test(line))
      lines.push({
        heading,
        text: cellsOf(line).join(' | '),
        cells: cellsOf(line),
        columns: columns as readonly string[],
      });
    else if (!isRow && line !== '') lines.push({ heading, text: line });
  }
  return lines;
}

/** Its text; undefined where there is no document. */
export function documentText(): string | undefined {
  const path = FOLDERS.filter((folder) => folder !== undefined)
    .map((folder) => join(folder, '1-core-rest.md'))
    .find((one) => existsSync(one));
  return path === undefined ? undefined : readFileSync(path, 'utf8');
}
