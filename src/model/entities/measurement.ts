/** Measurements (docs/spec/measurements.md#fields): rules of names and the document that is made of single values. */
import { formatTime } from '../documents/iso-time.ts';

/** Longest type, unit and name of a fragment or series, in bytes of UTF-8: records keep their lengths as 16 bits. */
export const MEASUREMENT_TEXT_BYTES_MAX = 1_000;

/** Values of one measurement; more are refused. Bounds what one record adds to a batch of the projector. */
export const MEASUREMENT_VALUES_MAX = 10_000;

/** What a name of a fragment or series takes, as error messages say it. */
export const MEASUREMENT_NAME_RULE = `a name of 1 to ${MEASUREMENT_TEXT_BYTES_MAX} bytes without white space and without . , * [ ] ( ) @ $`;

const FORBIDDEN_IN_NAME = /[\s.,*[\]()@$]/;

/** Whether `name` may be the name of a fragment or series of a measurement. */
export function isMeasurementName(name: string): boolean {
  return name !== '' && isMeasurementText(name) && !FORBIDDEN_IN_NAME.test(name);
}

/** Whether `text` may be the type or the unit of a measurement; the empty one is the caller's. */
export function isMeasurementText(text: string): boolean {
  // No text has fewer bytes than characters: a hostile one is not counted.
  return text.length <= MEASUREMENT_TEXT_BYTES_MAX && Buffer.byteLength(text) <= MEASUREMENT_TEXT_BYTES_MAX;
}

/**
 * What the body of a POST is: of a vendor type what the type says, of plain JSON a collection when it has an array
 * `measurements` (docs/spec/measurements.md#endpoints).
 */
export type MeasurementBody = 'one' | 'collection' | 'either';

/** One value of a measurement. */
export interface SeriesValue {
  readonly fragment: string;
  readonly series: string;
  /** A number, or its JSON text where the digits that were sent are to be kept. Never other text: it is not escaped. */
  readonly value: number | string;
  /** Empty = no unit. */
  readonly unit: string;
}

export interface MeasurementParts {
  /** ms since 1970. */
  readonly time: number;
  readonly sourceId: string;
  readonly type: string;
  readonly values: readonly SeriesValue[];
}

/**
 * The canonical document of a measurement:
 * `{"time":…,"source":{"id":…},"type":…,"<fragment>":{"<series>":{"value":…,"unit":…}}}`. Values of one fragment stand
 * together at the place of the first; of values with equal names the last wins.
 */
export function measurementText(parts: MeasurementParts): string {
  const source = `"source":{"id":${JSON.stringify(parts.sourceId)}}`;
  const head = `{"time":"${formatTime(parts.time)}",${source},"type":${JSON.stringify(parts.type)}`;
  if (parts.values.length === 0) return `${head}}`;
  if (parts.values.length === 1) {
    const only = parts.values[0];
    return `${head},${JSON.stringify(only.fragment)}:{${JSON.stringify(only.series)}:${seriesText(only)}}}`;
  }
  const fragments = new Map<string, Map<string, string>>();
  for (const value of parts.values) {
    let series = fragments.get(value.fragment);
    if (series === undefined) fragments.set(value.fragment, (series = new Map()));
    series.set(value.series, seriesText(value));
  }
  let text = head;
  for (const [fragment, series] of fragments) {
    const members = [...series].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
    text += `,${JSON.stringify(fragment)}:{${members.join(',')}}`;
  }
  return `${text}}`;
}

function seriesText(value: SeriesValue): string {
  return value.unit === ''
    ? `{"value":${value.value}}`
    : `{"value":${value.value},"unit":${JSON.stringify(value.unit)}}`;
}
