/** Records of a batch as the engine takes them, from CSV or JSON. */
import { CsvError, parse } from 'csv-parse/sync';
import type { InputRecord } from '../pmml/engine.ts';
import { quoteFault } from './csv-places.ts';
import { BadRecord, slicerOf } from './slices.ts';

/** The header of CSV. @throws BadRecord with the number 0 where it cannot be used. */
export function readHeader(line: Uint8Array): string[] {
  const [columns = []] = rowsOf(
    Buffer.from(line)
      .toString('utf8')
      .replace(/^\ufeff/, ''),
    0,
  );
  const known = new Set<string>();
  for (const name of columns) {
    if (known.has(name)) throw new BadRecord(0, `the header has the column '${name}' twice`);
    known.add(name);
  }
  return columns;
}

/** Either may end a line, also in one text. */
const LINE_ENDS = ['\r\n', '\n'];

/** Rows of lines of CSV. @param first number of the first. @throws BadRecord with the place in the text. */
export function rowsOf(text: string, first: number): string[][] {
  if (!text.includes('"')) return plainRows(text);
  try {
    return parse(text, { relax_column_count: true, skip_empty_lines: true, record_delimiter: LINE_ENDS });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const fault = quoteFault(text);
    if (fault === undefined) throw new BadRecord(first, error.message);
    const { record, reason, line, position } = fault;
    throw new BadRecord(first + record, reason, { line, position });
  }
}

/** Without quotes, which most files have none of, a line is split at its commas. */
function plainRows(text: string): string[][] {
  const rows: string[][] = [];
  for (let begin = 0; begin < text.length; ) {
    let end = text.indexOf('\n', begin);
    if (end === -1) end = text.length;
    const last = text.charCodeAt(end - 1) === 0x0d ? end - 1 : end;
    if (last > begin) rows.push(text.slice(begin, last).split(','));
    begin = end + 1;
  }
  return rows;
}

/** Records of the elements of a JSON array. @throws BadRecord. */
export function jsonRecords(text: string): InputRecord[] {
  let records: unknown[];
  try {
    records = JSON.parse(`[${text}]`) as unknown[];
  } catch {
    throw firstBad(text);
  }
  return records.map((record, index) => {
    const found = recordOf(record);
    if (found === undefined) throw new BadRecord(index + 1, 'it is not a JSON object');
    return found;
  });
}

/** Which of the elements is not JSON. */
function firstBad(text: string): BadRecord {
  const slicer = slicerOf('json', { recordsMax: 1, bytesMax: 1, recordBytesMax: Number.POSITIVE_INFINITY });
  const slices = [...slicer.write(Buffer.from(`[${text}]`)), ...slicer.end()];
  for (const [index, { bytes }] of slices.entries()) {
    try {
      JSON.parse(bytes.toString('utf8'));
    } catch (error) {
      return new BadRecord(index + 1, (error as Error).message);
    }
  }
  return new BadRecord(1, 'it is not readable');
}

/** The record of a text; undefined where that is not a JSON object, or an array with one (docs/spec/scoring.md#apply). */
export function readRecord(text: string): InputRecord | undefined {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Clients that keep tables of columns send one row as an array with one object, or each value as an array with one
 * value.
 */
function recordOf(value: unknown): InputRecord | undefined {
  const object = Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
  const record = object as Record<string, unknown>;
  for (const name in record) {
    const member = record[name];
    if (Array.isArray(member) && member.length === 1 && !isNested(member[0])) setMember(record, name, member[0]);
  }
  return record;
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** A member of any name, `__proto__` too. */
function setMember(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(record, name, { value, enumerable: true, configurable: true });
  else record[name] = value;
}
