/**
 * Scanner of measurements in JSON: the ordinary form straight from the bytes, without JSON.parse. Whatever is unusual
 * (escapes, further members, mistakes) is left to parse.ts, which also words the errors.
 */
import { isEntityTime } from '../../model/documents/entity-time.ts';
import { parseTimeBytes } from '../../model/documents/iso-time.ts';
import { MEASUREMENT_TEXT_BYTES_MAX } from '../../model/entities/measurement.ts';
import { plainName, plainString, scanSeriesNumber, skipSpace } from './json-bytes.ts';
import { NO_FORM, layoutForm, timeForm } from './form.ts';
import { MeasurementShape } from './shape.ts';

/** Most values of one measurement that are scanned here. */
const VALUES_SCANNED_MAX = 64;

/** One measurement of the ordinary form; ranges alias the body. Reused. */
export class ScannedMeasurement {
  source = 0;
  time = 0.5;
  typeStart = 0;
  typeEnd = 0;
  valueCount = 0;
  readonly values = new Float64Array(VALUES_SCANNED_MAX);
  /** For each value six offsets: fragment, series and unit, start and end. */
  readonly texts = new Int32Array(VALUES_SCANNED_MAX * 6);
  /** Values and form do not give the document back: there are several values, or something has no form. */
  needsDocument = false;
  /** There may be white space between the tokens. */
  hasSpace = false;
  /** Parts of the form, see form.ts; without meaning where the document is needed. */
  layoutForm = 0;
  timeForm = 0.5;
  numberForm = 0;
  /** The whole object. */
  start = 0;
  end = 0;
  /** Where the parts are that differ from measurement to measurement: the source's digits, the time, the numbers. */
  sourceStart = 0;
  sourceEnd = 0;
  timeStart = 0;
  timeEnd = 0;
  readonly numberStarts = new Int32Array(VALUES_SCANNED_MAX);
  readonly numberEnds = new Int32Array(VALUES_SCANNED_MAX);
  /** The form of the last one: the next is most often of the same. */
  readonly shape = new MeasurementShape();
}

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** The names that are not fragments, by first byte and length. */
const TIME = Buffer.from('time');
const TYPE = Buffer.from('type');
const SOURCE = Buffer.from('source');
const VALUE = Buffer.from('value');
const UNIT = Buffer.from('unit');
/** A measurement with one of these at the top level is not ordinary: server-kept or typed otherwise. */
const RESERVED = [
  'id',
  'self',
  'text',
  'status',
  'severity',
  'count',
  'creationTime',
  'lastUpdated',
  'owner',
  'name',
].map((name) => Buffer.from(name));

/** Whether two names are the same bytes. */
function same(body: Uint8Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let at = start, other = otherStart; at < end; at += 1, other += 1) if (body[at] !== body[other]) return false;
  return true;
}

function is(body: Uint8Array, start: number, end: number, name: Buffer): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index += 1) if (body[start + index] !== name[index]) return false;
  return true;
}

/**
 * Reads the measurement object that starts at `start` (its brace).
 * @returns the index behind it, or -1 when it is not of the ordinary form.
 */
export function scanMeasurement(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  const end = out.shape.match(body, start, out);
  if (end >= 0) return end;
  const scanned = scanAny(body, start, out);
  if (scanned < 0) return -1;
  out.hasSpace = hasSpace(body, start, scanned);
  out.shape.learn(body, out);
  return scanned;
}

function hasSpace(body: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (body[at] <= 0x20) return true;
  return false;
}

function scanAny(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  out.start = start;
  out.valueCount = 0;
  out.source = 0;
  out.time = Number.NaN;
  out.typeEnd = 0;
  out.needsDocument = false;
  if (body[start] !== OPEN) return -1;
  let at = skipSpace(body, start + 1);
  for (;;) {
    if (body[at] !== QUOTE) return -1;
    const nameStart = at + 1;
    const nameEnd = plainName(body, nameStart);
    if (nameEnd < 0) return -1;
    at = skipSpace(body, nameEnd + 1);
    if (body[at] !== COLON) return -1;
    at = skipSpace(body, at + 1);
    if (is(body, nameStart, nameEnd, SOURCE)) at = scanSource(body, at, out);
    else if (is(body, nameStart, nameEnd, TIME)) at = scanTime(body, at, out);
    else if (is(body, nameStart, nameEnd, TYPE)) at = scanType(body, at, out);
    else at = isReserved(body, nameStart, nameEnd) ? -1 : scanFragment(body, at, out, nameStart, nameEnd);
    if (at < 0) return -1;
    at = skipSpace(body, at);
    if (body[at] === CLOSE) break;
    if (body[at] !== COMMA) return -1;
    at = skipSpace(body, at + 1);
  }
  // NaN is not equal to itself: a missing time.
  if (out.source === 0 || out.time !== out.time || out.typeEnd === 0 || out.valueCount === 0) return -1;
  out.end = at + 1;
  if (out.valueCount > 1) out.needsDocument = true;
  else
    out.layoutForm = layoutForm(
      [out.timeStart, out.sourceStart, out.typeStart, out.texts[0]],
      out.texts[5] > 0 && out.texts[4] < out.numberStarts[0],
    );
  return out.end;
}

function isReserved(body: Uint8Array, start: number, end: number): boolean {
  for (const name of RESERVED) if (is(body, start, end, name)) return true;
  return false;
}

/** `{"id":"123"}` */
function scanSource(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  // A second one is for the general path, as everything that stands twice.
  if (body[start] !== OPEN || out.source !== 0) return -1;
  let at = skipSpace(body, start + 1);
  if (body[at] !== QUOTE || body[at + 1] !== 0x69 || body[at + 2] !== 0x64 || body[at + 3] !== QUOTE) return -1;
  at = skipSpace(body, at + 4);
  if (body[at] !== COLON) return -1;
  at = skipSpace(body, at + 1);
  if (body[at] !== QUOTE) return -1;
  if (body[at + 1] === 0x30) return -1;
  let id = 0;
  let digits = 0;
  out.sourceStart = at + 1;
  for (at += 1; body[at] >= 0x30 && body[at] <= 0x39; at += 1, digits += 1) id = id * 10 + body[at] - 0x30;
  if (digits === 0 || digits > 15 || body[at] !== QUOTE) return -1;
  out.sourceEnd = at;
  at = skipSpace(body, at + 1);
  if (body[at] !== CLOSE) return -1;
  out.source = id;
  return at + 1;
}

function scanTime(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  if (body[start] !== QUOTE || out.time === out.time) return -1;
  const end = plainString(body, start + 1);
  if (end < 0) return -1;
  out.timeStart = start + 1;
  out.timeEnd = end;
  out.time = parseTimeBytes(body, start + 1, end);
  if (!isEntityTime(out.time)) return -1;
  out.timeForm = timeForm(body, start + 1, end);
  if (out.timeForm === NO_FORM) out.needsDocument = true;
  return end + 1;
}

function scanType(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  if (body[start] !== QUOTE || out.typeEnd !== 0) return -1;
  const end = plainString(body, start + 1);
  if (end <= start + 1 || end - start - 1 > MEASUREMENT_TEXT_BYTES_MAX) return -1;
  out.typeStart = start + 1;
  out.typeEnd = end;
  return end + 1;
}

/** `{"T":{"value":1,"unit":"C"},…}` */
function scanFragment(
  body: Uint8Array,
  start: number,
  out: ScannedMeasurement,
  nameStart: number,
  nameEnd: number,
): number {
  if (body[start] !== OPEN) return -1;
  let at = skipSpace(body, start + 1);
  for (;;) {
    if (body[at] !== QUOTE || out.valueCount === VALUES_SCANNED_MAX) return -1;
    const seriesStart = at + 1;
    const seriesEnd = plainName(body, seriesStart);
    if (seriesEnd < 0) return -1;
    at = skipSpace(body, seriesEnd + 1);
    if (body[at] !== COLON) return -1;
    const texts = out.valueCount * 6;
    for (let other = 0; other < texts; other += 6) {
      const isTwice =
        out.texts[other] === nameStart
          ? same(body, seriesStart, seriesEnd, out.texts[other + 2], out.texts[other + 3])
          : same(body, nameStart, nameEnd, out.texts[other], out.texts[other + 1]);
      if (isTwice) return -1;
    }
    out.texts[texts] = nameStart;
    out.texts[texts + 1] = nameEnd;
    out.texts[texts + 2] = seriesStart;
    out.texts[texts + 3] = seriesEnd;
    at = scanSeries(body, skipSpace(body, at + 1), out, texts);
    if (at < 0) return -1;
    out.valueCount += 1;
    at = skipSpace(body, at);
    if (body[at] === CLOSE) return at + 1;
    if (body[at] !== COMMA) return -1;
    at = skipSpace(body, at + 1);
  }
}

/** `{"value":1,"unit":"C"}`, in either order. */
function scanSeries(body: Uint8Array, start: number, out: ScannedMeasurement, texts: number): number {
  if (body[start] !== OPEN) return -1;
  out.texts[texts + 4] = 0;
  out.texts[texts + 5] = 0;
  let at = skipSpace(body, start + 1);
  const isUnitFirst = is(body, at + 1, at + 5, UNIT);
  if (isUnitFirst) {
    at = scanUnit(body, at, out, texts);
    if (at < 0 || body[at] !== COMMA) return -1;
    at = skipSpace(body, at + 1);
  }
  at = scanValue(body, at, out);
  if (at < 0) return -1;
  if (body[at] === COMMA && !isUnitFirst) {
    at = scanUnit(body, skipSpace(body, at + 1), out, texts);
    if (at < 0) return -1;
  }
  return body[at] === CLOSE ? at + 1 : -1;
}

/** `"value":1`. @returns the index behind it and the white space that follows. */
function scanValue(body: Uint8Array, start: number, out: ScannedMeasurement): number {
  if (body[start] !== QUOTE || !is(body, start + 1, start + 6, VALUE) || body[start + 6] !== QUOTE) return -1;
  let at = skipSpace(body, start + 7);
  if (body[at] !== COLON) return -1;
  at = skipSpace(body, at + 1);
  out.numberStarts[out.valueCount] = at;
  at = scanSeriesNumber(body, at, out, out.valueCount);
  if (at < 0) return -1;
  out.numberEnds[out.valueCount] = at;
  return skipSpace(body, at);
}

/** `"unit":"C"`. @returns the index behind it and the white space that follows. */
function scanUnit(body: Uint8Array, start: number, out: ScannedMeasurement, texts: number): number {
  if (body[start] !== QUOTE || !is(body, start + 1, start + 5, UNIT) || body[start + 5] !== QUOTE) return -1;
  let at = skipSpace(body, start + 6);
  if (body[at] !== COLON) return -1;
  at = skipSpace(body, at + 1);
  if (body[at] !== QUOTE) return -1;
  const end = plainString(body, at + 1);
  // An empty unit would read back as no unit.
  if (end <= at + 1 || end - at - 1 > MEASUREMENT_TEXT_BYTES_MAX) return -1;
  out.texts[texts + 4] = at + 1;
  out.texts[texts + 5] = end;
  return skipSpace(body, end + 1);
}
