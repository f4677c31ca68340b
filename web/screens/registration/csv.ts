/** The header and first lines of a CSV file, to be looked at before it is sent; the server reads the file itself. */

const SEPARATORS = [';', ',', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

export interface CsvFile {
  readonly separator: Separator;
  readonly columns: readonly string[];
  /** Those below the header, in the text of the file. */
  readonly lines: readonly string[];
  readonly header: string;
}

/** The lines of the text; a line break in quotes does not end one. Empty lines are left out. */
function csvLines(text: string): readonly string[] {
  const lines: string[] = [];
  let start = 0;
  let isQuoted = false;
  const end = (at: number): void => {
    const line = text.slice(start, at).replace(/\r$/, '');
    if (line.trim() !== '') lines.push(line);
    start = at + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34) isQuoted = !isQuoted;
    else if (code === 10 && !isQuoted) end(at);
  }
  end(text.length);
  return lines;
}

/** The cells of one line. */
export function csvCells(line: string, separator: Separator): readonly string[] {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at];
    if (letter === '"' && isQuoted && line[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (letter === '"') isQuoted = !isQuoted;
    else if (letter === separator && !isQuoted) {
      cells.push(cell);
      cell = '';
    } else cell += letter;
  }
  return [...cells, cell];
}

/** @param text of the whole file. The separator is that which the header has most. */
export function readCsv(text: string): CsvFile {
  const [header = '', ...lines] = csvLines(text.replace(/^\uFEFF/, ''));
  const widths = SEPARATORS.map((separator) => csvCells(header, separator).length);
  const separator = SEPARATORS[widths.indexOf(Math.max(...widths))];
  return { separator, columns: csvCells(header, separator).map((name) => name.trim()), lines, header };
}

const KNOWN = [
  'ID',
  'CREDENTIALS',
  'AUTH_TYPE',
  'TENANT',
  'TYPE',
  'NAME',
  'ICCID',
  'IDTYPE',
  'PATH',
  'SHELL',
  'com_platform_model_Agent.active',
  'com_cumulocity_model_Agent.active',
];

/** What the server makes of a column. */
export function meaningOf(
  columns: readonly string[],
  index: number,
): 'known' | 'external' | 'member' | 'twice' | 'empty' {
  const name = columns[index];
  if (name === '') return 'empty';
  if (columns.indexOf(name) !== index) return 'twice';
  if (KNOWN.includes(name)) return 'known';
  return name.startsWith('external-') ? 'external' : 'member';
}

export interface FailedLine {
  readonly deviceId: string;
  readonly failureReason: string;
  readonly line: string;
}

/** A file of the lines that failed, which can be mended and sent again. */
export const failedFile = (header: string, failed: readonly FailedLine[]): string =>
  `${[header, ...failed.map(({ line }) => line)].join('\n')}\n`;
