/**
 * Records of CSV, one after the other in one object: only the columns that a model reads, and numbers straight from
 * the bytes where they do as well as their texts.
 */
import { numberScan, scanNumber } from '../../model/documents/number-scan.ts';
import type { InputRecord, ScoringModel } from '../pmml/engine.ts';
import { lineOf } from './csv-places.ts';
import { rowsOf } from './input.ts';
import { BadRecord } from './slices.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_END = 0x0a;
const RETURN = 0x0d;
/** A column that the model reads. */
interface Column {
  readonly place: number;
  readonly name: string;
  readonly takesNumber: boolean;
}

/**
 * @param columns of the header, each name once
 * @returns the same object for each record, which changes with the next one; an empty value is undefined
 * @throws BadRecord with its place in the text
 */
export function* csvRecords(
  bytes: Buffer,
  columns: readonly string[],
  { inputs }: Pick<ScoringModel, 'inputs'>,
): Generator<InputRecord, void, void> {
  const read = columns
    .map((name, place) => ({ place, name, takesNumber: inputs?.get(name) === true }))
    .filter(({ name }) => inputs === undefined || inputs.has(name));
  // Own members whatever they are called.
  const record: Record<string, unknown> = Object.fromEntries(read.map(({ name }) => [name, undefined]));
  if (bytes.includes(QUOTE)) {
    for (const [index, row] of rowsOf(bytes.toString('utf8'), 1).entries()) {
      if (row.length !== columns.length) throw badRow(bytes, index, row.length, columns.length);
      for (const { name, place } of read) record[name] = row[place] === '' ? undefined : row[place];
      yield record;
    }
    return;
  }
  let index = 0;
  for (let begin = 0; begin < bytes.length; ) {
    let end = bytes.indexOf(LINE_END, begin);
    if (end === -1) end = bytes.length;
    const last = bytes[end - 1] === RETURN ? end - 1 : end;
    if (last > begin) {
      const values = readRow(bytes, begin, last, read, record);
      if (values !== columns.length) throw badRow(bytes, index, values, columns.length);
      index += 1;
      yield record;
    }
    begin = end + 1;
  }
}

function badRow(bytes: Buffer, index: number, values: number, columns: number): BadRecord {
  const reason = `it has ${values} values; the header has ${columns} columns`;
  return new BadRecord(index + 1, reason, { line: lineOf(bytes.toString('utf8'), index) ?? 1 });
}

/** @returns how many values the row has */
function readRow(
  bytes: Buffer,
  begin: number,
  end: number,
  columns: readonly Column[],
  record: Record<string, unknown>,
): number {
  let place = 0;
  let next = 0;
  for (let from = begin; from <= end; place += 1) {
    let to = from;
    while (to < end && bytes[to] !== COMMA) to += 1;
    const column = columns[next];
    if (column !== undefined && column.place === place) {
      next += 1;
      record[column.name] = from === to ? undefined : valueAt(bytes, from, to, column.takesNumber);
    }
    from = to + 1;
  }
  return place;
}

function valueAt(bytes: Buffer, from: number, to: number, takesNumber: boolean): number | string {
  // Other texts, and numbers that are not finite, are read as those of a JSON record are.
  if (takesNumber && scanNumber(bytes, from, to) === to) return numberScan.value;
  return bytes.toString('utf8', from, to);
}
