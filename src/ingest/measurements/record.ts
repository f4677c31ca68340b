/**
 * MEASUREMENT records (ingest/journal/record-layout.ts): written, checked and read. Text is UTF-8. The document is there
 * only where values and form do not give it back, the form only where a flag of the header says so (see form.ts).
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import { PlatformError } from '../../model/errors.ts';
import { MEASUREMENT_VALUES_MAX } from '../../model/entities/measurement.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { shardOfId } from '../journal/command-record.ts';
import {
  FLAG_FORM,
  FORM_BYTES,
  OFFSET_COUNT,
  OFFSET_DOCUMENT_LENGTH,
  OFFSET_FLAGS,
  OFFSET_ID,
  OFFSET_KEY,
  OFFSET_KIND,
  OFFSET_LENGTH,
  OFFSET_MODE,
  OFFSET_RECEIVED_AT,
  OFFSET_SHARD,
  OFFSET_TENANT,
  OFFSET_TEXTS,
  OFFSET_TIME,
  OFFSET_TYPE_LENGTH,
  TYPE_IS_FRAGMENT,
  VALUE_FRAGMENT_LENGTH,
  VALUE_HEADER_BYTES,
  VALUE_SERIES_LENGTH,
  VALUE_UNIT_LENGTH,
  flagsAt,
  keyAt,
  modeAt,
  nextAt,
  tenantAt,
} from '../journal/record-layout.ts';
import { formedText, isForm, tailBytesOf } from './form.ts';

/** Bytes that a form takes in its record. */
export const formBytes = (form: number): number => (form === 0 ? 0 : FORM_BYTES);

/** The form of the MEASUREMENT record of `length` bytes at `at`. */
export const formOf = (view: DataView, at: number, length: number): number =>
  view.getUint8(at + OFFSET_FLAGS) === 0 ? 0 : view.getFloat64(at + length - FORM_BYTES, true);

/** Lengths of texts are 16 bits. */
const TEXT_BYTES_MAX = 0xffff;
const RECORD_BYTES_MAX = 0xffff_ffff;
/** The times that a Date holds, with room for any offset. */
const TIME_MAX = 8.6e15;

/** A length that was cut would make garbage of all records behind it, so what does not fit is refused. */
const tooLong = (name: string, value: number, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'measurement', name, value, limit });

/**
 * Writes header, fixed part and form. @returns the offset behind them, where type, document and values go. @throws when
 * something does not fit.
 */
export function writeMeasurementHead(view: DataView, at: number, length: number, head: MeasurementHead): number {
  if (head.typeLength > TEXT_BYTES_MAX)
    throw tooLong('length of type', head.typeLength, `at most ${TEXT_BYTES_MAX - 1} bytes`);
  if (head.valueCount > MEASUREMENT_VALUES_MAX)
    throw tooLong('number of values', head.valueCount, `at most ${MEASUREMENT_VALUES_MAX}`);
  if (length > RECORD_BYTES_MAX)
    throw tooLong('length of the measurement', length, `at most ${RECORD_BYTES_MAX} bytes`);
  view.setUint32(at + OFFSET_LENGTH, length, true);
  view.setUint8(at + OFFSET_SHARD, shardOfId(head.tenant, head.source));
  view.setUint8(at + OFFSET_KIND, COMMAND.MEASUREMENT);
  view.setUint8(at + OFFSET_MODE, head.mode);
  if (head.form === 0) {
    view.setUint8(at + OFFSET_FLAGS, 0);
  } else {
    view.setUint8(at + OFFSET_FLAGS, FLAG_FORM);
    view.setFloat64(at + length - FORM_BYTES, head.form, true);
  }
  view.setUint32(at + OFFSET_TENANT, head.tenant, true);
  view.setFloat64(at + OFFSET_KEY, head.source, true);
  view.setFloat64(at + OFFSET_RECEIVED_AT, head.receivedAt, true);
  view.setFloat64(at + OFFSET_ID, head.id, true);
  view.setFloat64(at + OFFSET_TIME, head.time, true);
  view.setUint16(at + OFFSET_COUNT, head.valueCount, true);
  view.setUint16(at + OFFSET_TYPE_LENGTH, head.typeLength, true);
  view.setUint32(at + OFFSET_DOCUMENT_LENGTH, head.documentLength, true);
  return at + OFFSET_TEXTS;
}

/**
 * Writes a value and the lengths of its texts. @returns the offset behind them, where the texts go. @throws when one
 * does not fit.
 */
export function writeValueHead(
  view: DataView,
  at: number,
  value: number,
  fragmentLength: number,
  seriesLength: number,
  unitLength: number,
): number {
  if ((fragmentLength | seriesLength | unitLength) > TEXT_BYTES_MAX) {
    throw tooLong(
      'length of fragment, series or unit',
      Math.max(fragmentLength, seriesLength, unitLength),
      `at most ${TEXT_BYTES_MAX} bytes`,
    );
  }
  view.setFloat64(at, value, true);
  view.setUint16(at + VALUE_FRAGMENT_LENGTH, fragmentLength, true);
  view.setUint16(at + VALUE_SERIES_LENGTH, seriesLength, true);
  view.setUint16(at + VALUE_UNIT_LENGTH, unitLength, true);
  return at + VALUE_HEADER_BYTES;
}

/**
 * Whether the MEASUREMENT record at `at` can be read: its lengths end where the record ends, and its numbers are such
 * as a measurement has. Readers of the journal ask first; the projector sets the others aside (damaged.ts).
 */
export function isWholeMeasurement(view: DataView, at: number): boolean {
  const length = view.getUint32(at + OFFSET_LENGTH, true);
  if (length < OFFSET_TEXTS) return false;
  const hasForm = view.getUint8(at + OFFSET_FLAGS) !== 0;
  const end = at + length - (hasForm ? FORM_BYTES : 0);
  const typeLength = view.getUint16(at + OFFSET_TYPE_LENGTH, true);
  const count = view.getUint16(at + OFFSET_COUNT, true);
  if (count > MEASUREMENT_VALUES_MAX || (typeLength === TYPE_IS_FRAGMENT && count === 0)) return false;
  const documentLength = view.getUint32(at + OFFSET_DOCUMENT_LENGTH, true);
  let cursor = at + OFFSET_TEXTS + (typeLength === TYPE_IS_FRAGMENT ? 0 : typeLength) + documentLength;
  for (let left = count; left > 0; left -= 1) {
    const texts = cursor + VALUE_HEADER_BYTES;
    if (texts > end) return false;
    cursor =
      texts +
      view.getUint16(cursor + VALUE_FRAGMENT_LENGTH, true) +
      view.getUint16(cursor + VALUE_SERIES_LENGTH, true) +
      view.getUint16(cursor + VALUE_UNIT_LENGTH, true);
  }
  if (cursor !== end || (hasForm && !isFormOf(view.getFloat64(end, true), documentLength))) return false;
  return (
    Number.isSafeInteger(view.getFloat64(at + OFFSET_ID, true)) &&
    Number.isSafeInteger(view.getFloat64(at + OFFSET_KEY, true)) &&
    Math.abs(view.getFloat64(at + OFFSET_TIME, true)) <= TIME_MAX
  );
}

/** @param documentLength bytes */
function isFormOf(form: number, documentLength: number): boolean {
  const tailBytes = tailBytesOf(form);
  return isForm(form) && (tailBytes === 0 || tailBytes < documentLength);
}

/** Reused by its writer: filled, written, filled again. */
export interface MeasurementHead {
  tenant: number;
  source: number;
  receivedAt: number;
  mode: ProcessingMode;
  id: number;
  time: number;
  valueCount: number;
  typeLength: number;
  documentLength: number;
  /** See form.ts; `formBytes` of it are part of the length. */
  form: number;
}

export const newMeasurementHead = (): MeasurementHead => ({
  tenant: 0,
  source: 0,
  receivedAt: 0,
  mode: 0,
  id: 0,
  time: 0,
  valueCount: 0,
  typeLength: 0,
  documentLength: 0,
  form: 0,
});

/** One value of a measurement in text form. */
export interface MeasurementValue {
  readonly fragment: string;
  readonly series: string;
  readonly value: number;
  readonly unit: string;
}

export interface DecodedMeasurement {
  readonly tenant: number;
  readonly source: number;
  readonly id: number;
  readonly time: number;
  readonly mode: ProcessingMode;
  readonly type: string;
  readonly document: string;
  readonly values: readonly MeasurementValue[];
  /** See form.ts. */
  readonly form: number;
}

/** What is encoded; without a form it is 0. */
export type NewMeasurement = Omit<DecodedMeasurement, 'form'> & { readonly form?: number; readonly receivedAt: number };

/** Encodes a measurement outside of the hot path (REST with several series, JSON over MQTT, row 201). */
export function encodeMeasurement(measurement: NewMeasurement): Buffer {
  const form = measurement.form ?? 0;
  const type = Buffer.from(measurement.type);
  const document = Buffer.from(measurement.document);
  const texts = measurement.values.map(
    (value) => [Buffer.from(value.fragment), Buffer.from(value.series), Buffer.from(value.unit)] as const,
  );
  if (type.length >= TYPE_IS_FRAGMENT)
    throw tooLong('length of type', type.length, `at most ${TYPE_IS_FRAGMENT - 1} bytes`);
  let length = OFFSET_TEXTS + type.length + document.length + formBytes(form);
  for (const [fragment, series, unit] of texts)
    length += VALUE_HEADER_BYTES + fragment.length + series.length + unit.length;
  const record = Buffer.allocUnsafe(length);
  const view = new DataView(record.buffer, record.byteOffset, length);
  let at = writeMeasurementHead(view, 0, length, {
    ...measurement,
    valueCount: texts.length,
    typeLength: type.length,
    documentLength: document.length,
    form,
  });
  at += type.copy(record, at);
  at += document.copy(record, at);
  for (let index = 0; index < texts.length; index += 1) {
    const [fragment, series, unit] = texts[index];
    at = writeValueHead(view, at, measurement.values[index].value, fragment.length, series.length, unit.length);
    at += fragment.copy(record, at);
    at += series.copy(record, at);
    at += unit.copy(record, at);
  }
  return record;
}

/** Decodes the MEASUREMENT record at `at`, which is whole; for subscribers and tests, not on the hot path. */
export function decodeMeasurement(batch: Buffer, at: number): DecodedMeasurement {
  const typeLength = batch.readUInt16LE(at + OFFSET_TYPE_LENGTH);
  let cursor = at + OFFSET_TEXTS;
  const text = (length: number): string => batch.toString('utf8', cursor, (cursor += length));
  const ownType = typeLength === TYPE_IS_FRAGMENT ? undefined : text(typeLength);
  const document = text(batch.readUInt32LE(at + OFFSET_DOCUMENT_LENGTH));
  const values: MeasurementValue[] = [];
  for (let left = batch.readUInt16LE(at + OFFSET_COUNT); left > 0; left -= 1) {
    const value = batch.readDoubleLE(cursor);
    const lengths = [
      batch.readUInt16LE(cursor + VALUE_FRAGMENT_LENGTH),
      batch.readUInt16LE(cursor + VALUE_SERIES_LENGTH),
      batch.readUInt16LE(cursor + VALUE_UNIT_LENGTH),
    ];
    cursor += VALUE_HEADER_BYTES;
    values.push({ value, fragment: text(lengths[0]), series: text(lengths[1]), unit: text(lengths[2]) });
  }
  return {
    tenant: tenantAt(batch, at),
    source: keyAt(batch, at),
    id: batch.readDoubleLE(at + OFFSET_ID),
    time: batch.readDoubleLE(at + OFFSET_TIME),
    mode: modeAt(batch, at),
    type: ownType ?? values[0]?.fragment ?? '',
    document,
    values,
    form: flagsAt(batch, at) === 0 ? 0 : batch.readDoubleLE(nextAt(batch, at) - FORM_BYTES),
  };
}

/** The measurement's document, without `id` and `self`. */
export const documentText = (measurement: DecodedMeasurement): string =>
  measurement.document ||
  formedText(
    {
      time: measurement.time,
      sourceId: String(measurement.source),
      type: measurement.type,
      values: measurement.values,
    },
    measurement.form,
  );

/** The measurement as JSON text with its id, for subscribers. */
export const entityText = (measurement: DecodedMeasurement): string =>
  `{"id":"${measurement.id}",${documentText(measurement).slice(1)}`;
