/**
 * The hot path of SmartREST: rows 200, 201, 210, 211 and 212 (docs/spec/smartrest.md#data-templates) read straight from
 * the bytes of a payload, without strings, objects or regular expressions. Whatever is unusual (quotes, escapes, other
 * templates, and every mistake) is left to the general path, csv.ts and smartrest/static/templates.ts, which also words
 * the errors.
 */
import { isEntityTime } from '../../model/documents/entity-time.ts';
import { parseTimeBytes } from '../../model/documents/iso-time.ts';
import { MEASUREMENT_TEXT_BYTES_MAX } from '../../model/entities/measurement.ts';
import { numberScan, scanNumber } from '../../model/documents/number-scan.ts';

/** Most values of one 201 row that are read here; longer rows take the general path. */
export const VALUES_MAX = 64;

/** Names of the templates with fixed fragment, series and unit; `MeasurementValue.builtIn` is an index of this list. */
export const BUILT_IN = [
  { fragment: 'c8y_SignalStrength', series: 'rssi', unit: 'dBm' },
  { fragment: 'c8y_SignalStrength', series: 'ber', unit: '%' },
  { fragment: 'c8y_TemperatureMeasurement', series: 'T', unit: 'C' },
  { fragment: 'c8y_Battery', series: 'level', unit: '%' },
] as const;
const BUILT_IN_RSSI = 0;
const BUILT_IN_BER = 1;
const BUILT_IN_TEMPERATURE = 2;
const BUILT_IN_BATTERY = 3;

/** What `scanMeasurementRow` found. */
export const SCAN_RESULT = {
  /** The row is in `row`, `row.next` behind it. */
  MEASUREMENT: 0,
  /** Another row, or an unusual or wrong one: hand `[row.next, end)` to CsvRows and go on at its `position`. */
  OTHER: 1,
  /** No row is left. */
  END: 2,
} as const;
export type ScanResult = (typeof SCAN_RESULT)[keyof typeof SCAN_RESULT];

/**
 * One value. Names are ranges of the scanned buffer, or an index of BUILT_IN; ASCII without anything that JSON escapes.
 */
class MeasurementValue {
  /** Index of BUILT_IN, or -1 when the ranges hold the names. */
  builtIn = -1;
  fragmentStart = 0;
  fragmentEnd = 0;
  seriesStart = 0;
  seriesEnd = 0;
  /** Empty without a unit; may have UTF-8 of more than one byte, always valid. */
  unitStart = 0;
  unitEnd = 0;
  /** The number as sent; always a range, also for built-in names. */
  textStart = 0;
  textEnd = 0;
  /** Initial 0.5 makes V8 keep a double in this field from the start. */
  value = 0.5;
}

/** One measurement; filled by `scanMeasurementRow`, reused for the next row. */
export class MeasurementRow {
  /** 200, 201, 210, 211 or 212. */
  template = 0;
  /** Type of a 201 row. For the others the type is the fragment of the first value. */
  typeStart = 0;
  typeEnd = 0;
  /** How many of `values` are valid, at least 1. */
  count = 0;
  readonly values: MeasurementValue[] = [];
  /** ms since 1970; NaN = the time of the server. */
  time = NaN;
  /** Index behind the row and its line break. */
  next = 0;
  /** Where the row began, behind empty lines. */
  start = 0;

  constructor() {
    for (let index = 0; index < VALUES_MAX; index += 1) this.values.push(new MeasurementValue());
  }
}

const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Classes of bytes: 0 belongs to a name, ENDS ends a field, MULTIBYTE is not ASCII, ODD is not taken here. */
const ENDS = 1;
const UNIT_ONLY = 2;
const MULTIBYTE = 3;
const ODD = 4;
const classes = new Uint8Array(256);
classes.fill(ODD, 0x00, 0x21);
classes.fill(MULTIBYTE, 0x80);
classes[0x7f] = ODD;
for (const name of '"\\') classes[name.charCodeAt(0)] = ODD;
// docs/spec/measurements.md#names forbids these in names of fragments and series; a unit or a type may have them. A
// blank inside as well.
for (const name of '.*[]()@$ ') classes[name.charCodeAt(0)] = UNIT_ONLY;
for (const byte of [COMMA, LINE_FEED, CARRIAGE_RETURN]) classes[byte] = ENDS;

/**
 * Reads the next row of `buffer[start, end)`, passing over empty lines.
 * @param row filled when the result is MEASUREMENT; its ranges die with the buffer. Otherwise only `row.next` is set.
 */
export function scanMeasurementRow(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): ScanResult {
  let at = start;
  while (at < end && (buffer[at] === LINE_FEED || buffer[at] === CARRIAGE_RETURN)) at += 1;
  row.next = at;
  row.start = at;
  if (at >= end) return SCAN_RESULT.END;
  if (end - at < 5 || buffer[at] !== 0x32 || buffer[at + 3] !== COMMA) return SCAN_RESULT.OTHER;
  const template = 200 + (buffer[at + 1] - 0x30) * 10 + (buffer[at + 2] - 0x30);
  row.template = template;
  row.count = 0;
  row.time = NaN;
  at += 4;
  switch (template) {
    case 200:
      at = scanSeries(buffer, at, end, row);
      break;
    case 201:
      at = scanSeveralSeries(buffer, at, end, row);
      break;
    case 210:
      at = scanSignalStrength(buffer, at, end, row);
      break;
    case 211:
      at = scanBuiltIn(buffer, at, end, row, BUILT_IN_TEMPERATURE);
      break;
    case 212:
      at = scanBuiltIn(buffer, at, end, row, BUILT_IN_BATTERY);
      break;
    default:
      return SCAN_RESULT.OTHER;
  }
  // Every scan below answers the index behind its last field or -1; anything but a row's end there is for the general
  // path.
  at = at < 0 ? -1 : endOfRow(buffer, at, end);
  if (at < 0) return SCAN_RESULT.OTHER;
  row.next = at;
  return SCAN_RESULT.MEASUREMENT;
}

/** 200: fragment, series, value, unit, time. */
function scanSeries(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): number {
  const at = scanValue(buffer, start, end, row);
  return at < 0 ? -1 : scanLastTime(buffer, at, end, row);
}

/** 201: type, time, then groups of fragment, series, value, unit. */
function scanSeveralSeries(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): number {
  let at = endOfText(buffer, start, end);
  if (at <= start || at >= end || buffer[at] !== COMMA) return -1;
  row.typeStart = start;
  row.typeEnd = at;
  at = scanTime(buffer, at + 1, end, row);
  if (at < 0) return -1;
  do {
    if (row.count === VALUES_MAX || at >= end || buffer[at] !== COMMA) return -1;
    at = scanValue(buffer, at + 1, end, row);
  } while (at >= 0 && at < end && buffer[at] === COMMA);
  return at;
}

/** 210: rssi, ber, time; one of the first two may be empty. */
function scanSignalStrength(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): number {
  let at = start;
  if (buffer[at] !== COMMA) {
    at = scanBuiltInValue(buffer, at, end, row, BUILT_IN_RSSI);
    if (at < 0) return -1;
  }
  if (at < end && buffer[at] === COMMA) {
    at += 1;
    if (at < end && classes[buffer[at]] !== ENDS) {
      at = scanBuiltInValue(buffer, at, end, row, BUILT_IN_BER);
      if (at < 0) return -1;
    }
  }
  return row.count === 0 ? -1 : scanLastTime(buffer, at, end, row);
}

/** 211 and 212: a value, time. */
function scanBuiltIn(buffer: Uint8Array, start: number, end: number, row: MeasurementRow, builtIn: number): number {
  const at = scanBuiltInValue(buffer, start, end, row, builtIn);
  return at < 0 ? -1 : scanLastTime(buffer, at, end, row);
}

function scanBuiltInValue(
  buffer: Uint8Array,
  start: number,
  end: number,
  row: MeasurementRow,
  builtIn: number,
): number {
  const at = scanNumber(buffer, start, end);
  if (at < 0) return -1;
  const part = row.values[row.count];
  row.count += 1;
  part.builtIn = builtIn;
  part.unitStart = 0;
  part.unitEnd = 0;
  part.textStart = start;
  part.textEnd = at;
  part.value = numberScan.value;
  return at;
}

/** Fragment, series, value and unit (which may be absent with its comma). */
function scanValue(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): number {
  const part = row.values[row.count];
  part.builtIn = -1;
  let at = endOfName(buffer, start, end);
  if (at <= start || at >= end || buffer[at] !== COMMA) return -1;
  part.fragmentStart = start;
  part.fragmentEnd = at;
  part.seriesStart = at + 1;
  at = endOfName(buffer, part.seriesStart, end);
  if (at <= part.seriesStart || at >= end || buffer[at] !== COMMA) return -1;
  part.seriesEnd = at;
  part.textStart = at + 1;
  at = scanNumber(buffer, part.textStart, end);
  if (at < 0) return -1;
  part.textEnd = at;
  part.value = numberScan.value;
  part.unitStart = at;
  if (at < end && buffer[at] === COMMA) {
    part.unitStart = at + 1;
    at = endOfText(buffer, at + 1, end);
    if (at < 0) return -1;
  }
  part.unitEnd = at;
  row.count += 1;
  return at;
}

/** The optional time at the end of a row; `at` is at its comma or at the row's end. */
function scanLastTime(buffer: Uint8Array, at: number, end: number, row: MeasurementRow): number {
  return at < end && buffer[at] === COMMA ? scanTime(buffer, at + 1, end, row) : at;
}

/** A time or nothing. @returns the index behind it, -1 when it is not a time that can be stored. */
function scanTime(buffer: Uint8Array, start: number, end: number, row: MeasurementRow): number {
  let at = start;
  while (at < end && classes[buffer[at]] !== ENDS) at += 1;
  if (at === start) return at;
  row.time = parseTimeBytes(buffer, start, at);
  return isEntityTime(row.time) ? at : -1;
}

/** @returns the index behind the name that starts at `start`, -1 when a byte may not be in one or it is too long. */
function endOfName(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && classes[buffer[at]] === 0) at += 1;
  if (at - start > MEASUREMENT_TEXT_BYTES_MAX) return -1;
  return at >= end || classes[buffer[at]] === ENDS ? at : -1;
}

/** @returns the index behind the unit or type that starts at `start`, -1 when the general path has to read it. */
function endOfText(buffer: Uint8Array, start: number, end: number): number {
  let at = start;
  let isAscii = true;
  for (; at < end; at += 1) {
    const kind = classes[buffer[at]];
    if (kind === ENDS) break;
    if (kind === ODD) return -1;
    if (kind === MULTIBYTE) isAscii = false;
  }
  if (at - start > MEASUREMENT_TEXT_BYTES_MAX) return -1;
  if (at > start && (buffer[start] === 0x20 || buffer[at - 1] === 0x20)) return -1;
  return isAscii || isUtf8(buffer, start, at) ? at : -1;
}

/** @returns the index behind the line break at `at`; -1 when no row ends there. */
function endOfRow(buffer: Uint8Array, at: number, end: number): number {
  if (at >= end) return end;
  if (buffer[at] === LINE_FEED) return at + 1;
  if (buffer[at] !== CARRIAGE_RETURN) return -1;
  return at + 1 < end && buffer[at + 1] === LINE_FEED ? at + 2 : at + 1;
}

/** Units such as °C or ℃: UTF-8 of one to three bytes without surrogates; the rest is left to the general path. */
function isUtf8(buffer: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    const byte = buffer[at];
    const length = byte < 0x80 ? 1 : byte >= 0xc2 && byte <= 0xdf ? 2 : byte >= 0xe1 && byte <= 0xec ? 3 : 0;
    if (length === 0 || at + length > end) return false;
    for (let index = at + 1; index < at + length; index += 1) {
      if ((buffer[index] & 0xc0) !== 0x80) return false;
    }
    at += length;
  }
  return true;
}
