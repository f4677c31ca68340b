/**
 * The general path of measurements in JSON: any valid document, with errors that name the field
 * (docs/spec/measurements.md#fields).
 */
import { TIME_RULE, parseEntityTime } from '../../model/documents/entity-time.ts';
import { PlatformError } from '../../model/errors.ts';
import {
  joinMembers,
  parseMembers,
  splitElements,
  splitMembers,
  stringMember,
} from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import {
  MEASUREMENT_NAME_RULE,
  MEASUREMENT_TEXT_BYTES_MAX,
  MEASUREMENT_VALUES_MAX,
  isMeasurementName,
  isMeasurementText,
} from '../../model/entities/measurement.ts';
import { FRAGMENT_NAME_RULE, isFragmentName } from '../../model/entities/fragments.ts';
import type { MeasurementBody } from '../../model/entities/measurement.ts';
import { FORM_DECIMALS_MAX, NO_FORM, decimalsForm, formedText, layoutForm, timeForm } from './form.ts';
import type { MeasurementValue } from './record.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';

export interface ParsedMeasurement {
  readonly source: number;
  readonly time: number;
  readonly type: string;
  readonly values: readonly MeasurementValue[];
  /** As in the record: empty where values and form give the document back. */
  readonly document: string;
  /** See form.ts. */
  readonly form: number;
}

const RESERVED_TEXTS = ['text', 'status', 'severity', 'owner', 'name'];

/** @returns the id of a `source` member, undefined when it is not an id. */
export function sourceIdOf(members: Members): number | undefined {
  const source = members.get('source');
  if (source === undefined || !source.startsWith('{')) return undefined;
  const id = splitMembers(source).get('id');
  const text = id === undefined || !/^["\d]/.test(id) ? undefined : String(JSON.parse(id));
  return text !== undefined && isEntityId(text) ? Number(text) : undefined;
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'measurement', name, value, limit });

/**
 * @returns the texts of the measurements of a body, and whether it is a collection. @throws PlatformError when it is
 * not what it should be.
 */
export function splitBody(
  text: string,
  form: MeasurementBody = 'either',
): { collection: boolean; documents: string[] } {
  const members = parseMembers(text);
  const list = members.get('measurements');
  if (form === 'collection') {
    if (list === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'measurements' });
    if (!list.startsWith('[')) throw invalid('measurements', list, 'an array of measurements');
  }
  if (form === 'one' || list === undefined || !list.startsWith('['))
    return { collection: false, documents: [joinMembers(members)] };
  return { collection: true, documents: splitElements(list) };
}

/**
 * @param text one measurement, compact JSON.
 * @throws PlatformError that names the field, its value and what it takes.
 */
export function parseMeasurement(text: string): ParsedMeasurement {
  const members = parseMembers(text);
  const missing = ['time', 'type'].filter((name) => !members.has(name));
  const sentSource = members.get('source') ?? '{}';
  if (sentSource.startsWith('{') && !splitMembers(sentSource).has('id')) missing.unshift('source.id');
  if (missing.length > 0) throw new PlatformError('validation/mandatory-fields', { names: missing.join(',') });
  const source = sourceIdOf(members);
  if (source === undefined)
    throw invalid('source', members.get('source') ?? '', 'an object with the id of a managed object');
  const time = parseEntityTime(stringMember(members, 'time') ?? '');
  if (time === undefined) throw invalid('time', members.get('time') ?? '', TIME_RULE);
  const type = stringMember(members, 'type');
  if (type === undefined || type === '' || !isMeasurementText(type)) {
    throw invalid('type', members.get('type') ?? '', `a text of 1 to ${MEASUREMENT_TEXT_BYTES_MAX} bytes`);
  }
  for (const name of ['id', 'self', 'creationTime', 'lastUpdated']) members.delete(name);
  checkReserved(members);
  const values = valuesOf(members);
  members.set('source', `{"id":"${source}"}`);
  const document = joinMembers(members);
  const form = values.length === 1 && members.size === 4 ? formOf(members, values[0]) : NO_FORM;
  const isGivenBack =
    form !== NO_FORM && formedText({ time, sourceId: String(source), type, values }, form) === document;
  return { source, time, type, values, document: isGivenBack ? '' : document, form: isGivenBack ? form : 0 };
}

/** Unit before value in a fragment of one series. */
const UNIT_FIRST = /^\{"[^"]*":\{"unit"/;
/** A number with decimals and without an exponent. */
const PLAIN_DECIMAL = /^-?\d+\.(\d+)$/;

/** @returns the form that the document most likely has, to be checked by what it gives; NO_FORM when it has none. */
function formOf(members: Members, value: MeasurementValue): number {
  const names = [...members.keys()];
  const fragment = members.get(value.fragment) ?? '';
  const layout = layoutForm(
    [names.indexOf('time'), names.indexOf('source'), names.indexOf('type'), names.indexOf(value.fragment)],
    UNIT_FIRST.test(fragment),
  );
  const time = Buffer.from(stringMember(members, 'time') ?? '');
  const form = timeForm(time, 0, time.length);
  if (form === NO_FORM) return NO_FORM;
  const text = splitMembers(splitMembers(fragment).get(value.series) ?? '{}').get('value') ?? '';
  const decimals = text === String(value.value) ? 0 : (PLAIN_DECIMAL.exec(text)?.[1].length ?? 0);
  return decimals > FORM_DECIMALS_MAX ? NO_FORM : layout + form + decimalsForm(decimals);
}

/**
 * Reserved keys that mean nothing on a measurement, but keep their types (docs/spec/conventions.md#reserved-keys). Null
 * is as good as absent.
 */
function checkReserved(members: Members): void {
  for (const name of RESERVED_TEXTS) {
    const text = members.get(name);
    if (text !== undefined && !text.startsWith('"') && text !== 'null') throw invalid(name, text, 'a text');
  }
  const count = members.get('count');
  if (count !== undefined && count !== 'null' && !/^-?\d+$/.test(count))
    throw invalid('count', count, 'a whole number');
}

/**
 * All series of all fragments: objects whose members are objects with a number `value`. Other properties are only kept
 * in the document.
 */
function valuesOf(members: Members): MeasurementValue[] {
  const values: MeasurementValue[] = [];
  for (const [fragment, text] of members) {
    if (fragment === 'source') continue;
    if (!text.startsWith('{')) {
      if (!isFragmentName(fragment)) throw invalid('name of a property', fragment, FRAGMENT_NAME_RULE);
      continue;
    }
    if (!isMeasurementName(fragment)) throw invalid('name of a fragment', fragment, MEASUREMENT_NAME_RULE);
    const series = [...splitMembers(text)].filter(
      ([, value]) => value.startsWith('{') && splitMembers(value).has('value'),
    );
    for (const [name, value] of series) values.push(valueOf(fragment, name, splitMembers(value)));
    if (values.length > MEASUREMENT_VALUES_MAX) {
      throw invalid(fragment, `${values.length} values`, `at most ${MEASUREMENT_VALUES_MAX} values in one measurement`);
    }
  }
  return values;
}

function valueOf(fragment: string, series: string, members: Members): MeasurementValue {
  if (!isMeasurementName(series)) throw invalid(`name of a series of ${fragment}`, series, MEASUREMENT_NAME_RULE);
  const text = members.get('value') as string;
  const value = Number(text);
  if (!/^[-\d]/.test(text) || !Number.isFinite(value)) throw invalid(`${fragment}.${series}.value`, text, 'a number');
  const unitText = members.get('unit') ?? 'null';
  const unit = unitText === 'null' ? '' : stringMember(members, 'unit');
  if (unit === undefined || !isMeasurementText(unit)) {
    throw invalid(
      `${fragment}.${series}.unit`,
      unit ?? unitText,
      `a text of at most ${MEASUREMENT_TEXT_BYTES_MAX} bytes`,
    );
  }
  return { fragment, series, value, unit };
}
