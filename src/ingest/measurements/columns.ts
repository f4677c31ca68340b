/** Rows of the table `measurements` as columns, filled from journal records and inserted as one block. */
import { MEASUREMENT_VALUES_MAX } from '../../model/entities/measurement.ts';
import type { MeasurementBlock } from '../../ports/stores/history-writer.ts';
import { Interner } from './interner.ts';
import { Months } from './months.ts';
import {
  OFFSET_COUNT,
  OFFSET_DOCUMENT_LENGTH,
  OFFSET_ID,
  OFFSET_KEY,
  OFFSET_LENGTH,
  OFFSET_TENANT,
  OFFSET_TEXTS,
  OFFSET_TIME,
  OFFSET_TYPE_LENGTH,
  TYPE_IS_FRAGMENT,
  VALUE_FRAGMENT_LENGTH,
  VALUE_HEADER_BYTES,
  VALUE_SERIES_LENGTH,
  VALUE_UNIT_LENGTH,
  shardAt,
} from '../journal/record-layout.ts';
import { tailBytesOf } from './form.ts';
import { formOf, isWholeMeasurement } from './record.ts';

/** Distinct texts of one column in one insert: the indices are 16 bit. */
const DICTIONARY_SIZE_MAX = 65_535 - MEASUREMENT_VALUES_MAX;
/**
 * Months of the times of one insert, each of which costs a part that is written and synchronised: with all months from
 * 1900 to 2299 an insert took minutes, in which every list waited.
 */
export const MONTHS_MAX = 240;
/** Bytes of documents in one insert. */
const DOCUMENT_BYTES_MAX = 16 * 1_048_576;
/**
 * Bytes of documents whose memory the next block uses again. New memory for each block, grown from small to large, made
 * V8 collect the whole heap at each insert.
 */
const DOCUMENT_BYTES_KEPT = 4 * 1_048_576;

/** Rows that an empty block has memory for: most blocks hold few. Further ones make it four times as large. */
const FIRST_ROWS = 1_024;
const GROWTH = 4;
const NO_TEXT = Buffer.alloc(0);

const NUMBER_COLUMNS = [
  'tenant',
  'source',
  'time',
  'id',
  'part',
  'value',
  'documentLength',
  'form',
  'shard',
  'seq',
] as const;
const DICTIONARY_COLUMNS = [
  ['type', 'types'],
  ['fragment', 'fragments'],
  ['series', 'seriesNames'],
  ['unit', 'units'],
  ['tail', 'tails'],
] as const;

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

function longer<Column extends Numbers>(column: Column, length: number): Column {
  const grown = new (column.constructor as new (length: number) => Column)(length);
  grown.set(column);
  return grown;
}

export class MeasurementColumns implements MeasurementBlock {
  readonly rowsMax: number;
  rowCount = 0;
  tenant = new Uint32Array(FIRST_ROWS);
  source = new Float64Array(FIRST_ROWS);
  time = new Float64Array(FIRST_ROWS);
  id = new Float64Array(FIRST_ROWS);
  part = new Uint16Array(FIRST_ROWS);
  type = new Uint16Array(FIRST_ROWS);
  fragment = new Uint16Array(FIRST_ROWS);
  series = new Uint16Array(FIRST_ROWS);
  value = new Float64Array(FIRST_ROWS);
  unit = new Uint16Array(FIRST_ROWS);
  documentLength = new Uint32Array(FIRST_ROWS);
  form = new Float64Array(FIRST_ROWS);
  hasForms = false;
  tail = new Uint16Array(FIRST_ROWS);
  shard = new Uint8Array(FIRST_ROWS);
  seq = new Float64Array(FIRST_ROWS);
  readonly types = new Interner();
  readonly fragments = new Interner();
  readonly seriesNames = new Interner();
  readonly units = new Interner();
  /** The first one is empty. */
  readonly tails = new Interner();
  documents = Buffer.alloc(0);
  documentBytes = 0;
  readonly #months: Months;

  /**
   * @param rowsMax rows at which the block is full; a measurement is never split, so MEASUREMENT_VALUES_MAX more may
   * come.
   */
  constructor(rowsMax: number) {
    this.#months = new Months(MONTHS_MAX);
    this.rowsMax = rowsMax;
    this.tails.intern(NO_TEXT, 0, 0);
  }

  get hasTails(): boolean {
    return this.tails.size > 1;
  }

  get isFull(): boolean {
    return (
      this.rowCount >= this.rowsMax ||
      this.#months.isFull ||
      this.documentBytes >= DOCUMENT_BYTES_MAX ||
      this.types.size >= DICTIONARY_SIZE_MAX ||
      this.fragments.size >= DICTIONARY_SIZE_MAX ||
      this.seriesNames.size >= DICTIONARY_SIZE_MAX ||
      this.units.size >= DICTIONARY_SIZE_MAX ||
      this.tails.size >= DICTIONARY_SIZE_MAX
    );
  }

  /** Whether there are rows of the source; of any when it is undefined. */
  holds(source: number | undefined): boolean {
    if (source === undefined) return this.rowCount > 0;
    const index = this.source.indexOf(source);
    // Rows behind the count are of an earlier block.
    return index >= 0 && index < this.rowCount;
  }

  /** Rows, as a block of their own. */
  where(isWanted: (row: number) => boolean): MeasurementColumns {
    const rest = new MeasurementColumns(Math.max(1, this.rowCount));
    rest.#makeRoom(this.rowCount);
    rest.documents = Buffer.alloc(this.documentBytes);
    rest.hasForms = this.hasForms;
    let documentStart = 0;
    for (let row = 0; row < this.rowCount; row += 1) {
      const documentEnd = documentStart + this.documentLength[row];
      if (isWanted(row)) {
        for (const column of NUMBER_COLUMNS) rest[column][rest.rowCount] = this[column][row];
        for (const [indices, texts] of DICTIONARY_COLUMNS) {
          const text = Buffer.from(this[texts].values[this[indices][row]]);
          rest[indices][rest.rowCount] = rest[texts].intern(text, 0, text.length);
        }
        rest.documentBytes += this.documents.copy(rest.documents, rest.documentBytes, documentStart, documentEnd);
        rest.rowCount += 1;
      }
      documentStart = documentEnd;
    }
    return rest;
  }

  clear(): void {
    this.rowCount = 0;
    this.documentBytes = 0;
    this.hasForms = false;
    this.#months.clear();
    if (this.documents.length > DOCUMENT_BYTES_KEPT) this.documents = Buffer.alloc(0);
    this.types.clear();
    this.fragments.clear();
    this.seriesNames.clear();
    this.units.clear();
    this.tails.clear();
    this.tails.intern(NO_TEXT, 0, 0);
  }

  /**
   * Adds the rows of the MEASUREMENT record at `at`. The caller has seen that the block is not full.
   * @returns false, and nothing is added, when the record cannot be read.
   */
  add(batch: Buffer, view: DataView, at: number, seq: number): boolean {
    if (!isWholeMeasurement(view, at)) return false;
    const count = view.getUint16(at + OFFSET_COUNT, true);
    const typeLength = view.getUint16(at + OFFSET_TYPE_LENGTH, true);
    const documentLength = view.getUint32(at + OFFSET_DOCUMENT_LENGTH, true);
    let cursor = at + OFFSET_TEXTS;
    const typeStart = cursor;
    if (typeLength !== TYPE_IS_FRAGMENT) cursor += typeLength;
    cursor += documentLength;
    const form = formOf(view, at, view.getUint32(at + OFFSET_LENGTH, true));
    const tailLength = tailBytesOf(form);
    const tail = tailLength === 0 ? 0 : this.tails.intern(batch, cursor - 1 - tailLength, tailLength);
    const keptLength = tail === 0 ? documentLength : 0;
    if (keptLength > 0) this.#keepDocument(batch, cursor - keptLength, keptLength);
    const typeIndex =
      typeLength === TYPE_IS_FRAGMENT
        ? this.types.intern(batch, cursor + VALUE_HEADER_BYTES, view.getUint16(cursor + VALUE_FRAGMENT_LENGTH, true))
        : this.types.intern(batch, typeStart, typeLength);
    if (form !== 0) this.hasForms = true;
    const rows = count === 0 ? 1 : count;
    if (this.rowCount + rows > this.seq.length) this.#makeRoom(this.rowCount + rows);
    this.#months.add(view.getFloat64(at + OFFSET_TIME, true));
    for (let part = 0; part < rows; part += 1) {
      const row = this.rowCount;
      this.tenant[row] = view.getUint32(at + OFFSET_TENANT, true);
      this.source[row] = view.getFloat64(at + OFFSET_KEY, true);
      this.time[row] = view.getFloat64(at + OFFSET_TIME, true);
      this.id[row] = view.getFloat64(at + OFFSET_ID, true);
      this.part[row] = part;
      this.type[row] = typeIndex;
      this.documentLength[row] = part === 0 ? keptLength : 0;
      this.form[row] = form;
      this.tail[row] = part === 0 ? tail : 0;
      this.shard[row] = shardAt(batch, at);
      this.seq[row] = seq;
      this.rowCount = row + 1;
      if (count === 0) {
        this.value[row] = 0;
        this.fragment[row] = this.fragments.intern(batch, cursor, 0);
        this.series[row] = this.seriesNames.intern(batch, cursor, 0);
        this.unit[row] = this.units.intern(batch, cursor, 0);
      } else {
        cursor = this.#addValue(batch, view, cursor, row);
      }
    }
    return true;
  }

  #makeRoom(rows: number): void {
    if (rows <= this.seq.length) return;
    const length = Math.max(rows, Math.min(this.seq.length * GROWTH, this.rowsMax + MEASUREMENT_VALUES_MAX));
    this.tenant = longer(this.tenant, length);
    this.source = longer(this.source, length);
    this.time = longer(this.time, length);
    this.id = longer(this.id, length);
    this.part = longer(this.part, length);
    this.type = longer(this.type, length);
    this.fragment = longer(this.fragment, length);
    this.series = longer(this.series, length);
    this.value = longer(this.value, length);
    this.unit = longer(this.unit, length);
    this.documentLength = longer(this.documentLength, length);
    this.form = longer(this.form, length);
    this.tail = longer(this.tail, length);
    this.shard = longer(this.shard, length);
    this.seq = longer(this.seq, length);
  }

  #addValue(batch: Buffer, view: DataView, at: number, row: number): number {
    const fragmentLength = view.getUint16(at + VALUE_FRAGMENT_LENGTH, true);
    const seriesLength = view.getUint16(at + VALUE_SERIES_LENGTH, true);
    const unitLength = view.getUint16(at + VALUE_UNIT_LENGTH, true);
    const texts = at + VALUE_HEADER_BYTES;
    this.value[row] = view.getFloat64(at, true);
    this.fragment[row] = this.fragments.intern(batch, texts, fragmentLength);
    this.series[row] = this.seriesNames.intern(batch, texts + fragmentLength, seriesLength);
    this.unit[row] = this.units.intern(batch, texts + fragmentLength + seriesLength, unitLength);
    return texts + fragmentLength + seriesLength + unitLength;
  }

  #keepDocument(batch: Buffer, start: number, length: number): void {
    if (this.documentBytes + length > this.documents.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.documents.length * 2, this.documentBytes + length, 65_536));
      this.documents.copy(grown, 0, 0, this.documentBytes);
      this.documents = grown;
    }
    batch.copy(this.documents, this.documentBytes, start, start + length);
    this.documentBytes += length;
  }
}
