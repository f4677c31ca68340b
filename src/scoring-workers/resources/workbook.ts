/** Sheets of an Office Open XML workbook (.xlsx) as lookup tables: the first row names the columns. */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { ContentError } from '../content/byte-reader.ts';
import type { LookupTable } from '../pmml/engine.ts';
import { HeldArchive } from './archive.ts';

/** Of one part, unpacked. */
const PART_BYTES_MAX = 256 * 1_048_576;
const SHEETS_MAX = 1_000;
const CELLS_MAX = 5_000_000;
const COLUMNS_MAX = 16_384;
const WORKBOOK = 'xl/workbook.xml';
const RELATIONS = 'xl/_rels/workbook.xml.rels';
const TEXTS = 'xl/sharedStrings.xml';

interface Handlers {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly close?: (name: string) => void;
  readonly text?: (text: string) => void;
}

/** @throws ContentError for what is not a workbook, or too large. */
export async function readWorkbook(bytes: Buffer): Promise<ReadonlyMap<string, LookupTable>> {
  const archive = await HeldArchive.open(bytes);
  const targets = new Map<string, string>();
  await readPart(archive, RELATIONS, {
    open: (name, { Id, Target }) => {
      if (name === 'Relationship' && Id !== undefined && Target !== undefined) targets.set(Id, Target);
    },
  });
  const sheets: [name: string, part: string][] = [];
  await readPart(archive, WORKBOOK, {
    open: (element, { name, ...attributes }) => {
      const target = targets.get(attributes['r:id'] ?? attributes['id'] ?? '');
      if (element !== 'sheet' || name === undefined || target === undefined) return;
      sheets.push([name, target.startsWith('/') ? target.slice(1) : `xl/${target}`]);
    },
  });
  if (sheets.length === 0) throw new ContentError('the workbook has no sheet');
  if (sheets.length > SHEETS_MAX) throw new ContentError(`the workbook has more than ${SHEETS_MAX} sheets`);
  const texts = await sharedTexts(archive);
  const tables = new Map<string, LookupTable>();
  let cellsLeft = CELLS_MAX;
  for (const [name, part] of sheets) {
    const rows = await readSheet(archive, part, texts, cellsLeft);
    cellsLeft -= rows.reduce((sum, row) => sum + row.length, 0);
    const [columns, ...others] = rows;
    if (columns !== undefined)
      tables.set(name, { columns, rows: others.map((row) => columns.map((_, index) => row[index] ?? '')) });
  }
  return tables;
}

async function sharedTexts(archive: HeldArchive): Promise<string[]> {
  const texts: string[] = [];
  let [isText, isPhonetic, current] = [false, false, ''];
  await readPart(archive, TEXTS, {
    open: (name) => {
      if (name === 'si') current = '';
      else if (name === 'rPh') isPhonetic = true;
      isText = name === 't' && !isPhonetic;
    },
    close: (name) => {
      isText = false;
      if (name === 'rPh') isPhonetic = false;
      if (name !== 'si') return;
      texts.push(current);
      if (texts.length > CELLS_MAX) throw tooManyCells();
    },
    text: (text) => {
      if (isText) current += text;
    },
  });
  return texts;
}

/** Rows with their values by column; empty rows are left out. */
async function readSheet(
  archive: HeldArchive,
  part: string,
  texts: readonly string[],
  cellsMax: number,
): Promise<string[][]> {
  const rows: string[][] = [];
  let row: string[] = [];
  let [type, column, value, isValue, cells] = ['', 0, '', false, 0];
  await readPart(archive, part, {
    open: (name, { r, t }) => {
      if (name === 'row') row = [];
      else if (name === 'c') {
        type = t ?? 'n';
        column = r === undefined ? row.length : columnOf(r);
        value = '';
      } else isValue = name === 'v' || name === 't';
    },
    close: (name) => {
      isValue = false;
      if (name === 'row') {
        if (row.length > 0) rows.push(row);
      } else if (name === 'c') {
        cells += 1 + column - Math.min(column, row.length);
        if (cells > cellsMax) throw tooManyCells();
        while (row.length < column) row.push('');
        row[column] = cellText(type, value, texts);
      }
    },
    text: (text) => {
      if (isValue) value += text;
    },
  });
  return rows;
}

function cellText(type: string, value: string, texts: readonly string[]): string {
  if (type === 's') return texts[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'true' : 'false';
  // A number is written with all digits of its double: the shortest text that is the same number.
  if (type === 'n' && value !== '') return String(Number(value));
  return value;
}

/** Column of a place such as `BC7`, from 0. */
function columnOf(place: string): number {
  let column = 0;
  for (const letter of place) {
    const code = letter.charCodeAt(0) - 64;
    if (code < 1 || code > 26) break;
    column = column * 26 + code;
  }
  if (column < 1 || column > COLUMNS_MAX) throw new ContentError(`the cell ${place.slice(0, 20)} is in no column`);
  return column - 1;
}

async function readPart(archive: HeldArchive, part: string, { open, close, text }: Handlers): Promise<void> {
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw new ContentError(`${part}: ${error.message}`);
  });
  parser.on('opentag', (tag) => open(local(tag.name), (tag as SaxesTagPlain).attributes));
  parser.on('closetag', (tag) => close?.(local(tag.name)));
  if (text !== undefined) parser.on('text', text);
  let isThere = false;
  for await (const piece of archive.texts(part, PART_BYTES_MAX)) {
    isThere = true;
    parser.write(piece);
  }
  if (isThere) parser.close();
}

const local = (name: string): string => name.slice(name.indexOf(':') + 1);
const tooManyCells = (): ContentError => new ContentError(`the workbook has more than ${CELLS_MAX} cells`);
