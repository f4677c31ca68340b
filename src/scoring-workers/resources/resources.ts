/** What is in an uploaded resource: functions of JavaScript or a JAR, lookup tables of a spreadsheet (docs/spec/scoring.md#resources). */
import { parse } from 'csv-parse/sync';
import { CUSTOM_FUNCTIONS, LOOKUP_TABLES } from '../../model/entities/scoring/model.ts';
import { baseName } from '../../model/entities/scoring/names.ts';
import { ContentError } from '../content/byte-reader.ts';
import { whole } from '../content/whole.ts';
import type { LookupTable } from '../pmml/engine.ts';
import { classesOf } from './jar.ts';
import { functionsOf, isJavaScript } from './java-script.ts';
import { readWorkbook } from './workbook.ts';

/** A spreadsheet is read whole. */
const SPREADSHEET_BYTES_MAX = 64 * 1_048_576;
const TYPES_RULE = 'a resource file is JavaScript (.js), a JAR file (.jar), or a spreadsheet (.xlsx, .csv)';

export interface ResourceContents {
  /** `Custom Functions` or `Lookup Tables`. */
  readonly type: string;
  readonly names: readonly string[];
}

/** @throws ContentError for a file that is not a resource. */
export async function inspectResource(
  fileName: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<ResourceContents> {
  if (endingOf(fileName) === 'jar') return { type: CUSTOM_FUNCTIONS, names: await classesOf(content, bytesMax) };
  if (isJavaScript(fileName)) return { type: CUSTOM_FUNCTIONS, names: await functionsOf(fileName, content) };
  const tables = await readLookupTables(fileName, content, bytesMax);
  return { type: LOOKUP_TABLES, names: [...tables.keys()] };
}

/** Tables of a spreadsheet by name: the sheets of a workbook, the one table of CSV. @throws ContentError. */
export async function readLookupTables(
  fileName: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<ReadonlyMap<string, LookupTable>> {
  const ending = endingOf(fileName);
  if (ending !== 'xlsx' && ending !== 'csv') throw new ContentError(TYPES_RULE);
  const bytes = await whole(content, Math.min(bytesMax, SPREADSHEET_BYTES_MAX));
  if (ending === 'xlsx') return readWorkbook(bytes);
  const name = baseName(fileName).replace(/\.csv$/i, '');
  return new Map([[name, csvTable(bytes)]]);
}

const endingOf = (fileName: string): string => /\.([^.]*)$/.exec(fileName)?.[1]?.toLowerCase() ?? '';

function csvTable(bytes: Buffer): LookupTable {
  try {
    const [columns, ...rows] = parse(bytes, { bom: true, skip_empty_lines: true }) as string[][];
    if (columns === undefined) throw new ContentError('the table has no header');
    return { columns, rows };
  } catch (error) {
    throw error instanceof ContentError ? error : new ContentError((error as Error).message);
  }
}
