/** The series of a training as a client sends them (docs/spec/scoring.md#clustering). */
import { TrainingError } from './series.ts';

/** What is not JSON of the expected form. */
class SeriesFormatError extends Error {
  override readonly name = 'SeriesFormatError';
}

/**
 * `{"data": {"<name>": [1, 2], …}}`, or with a list of objects in the place of the object, as some documents show it. Other
 * members are left aside.
 *
 * @throws SeriesFormatError, TrainingError where a value is not a finite number or a name comes twice
 */
export function readSeries(text: string): ReadonlyMap<string, readonly number[]> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new SeriesFormatError('it is not JSON');
  }
  const data = isObject(body) ? body.data : undefined;
  const parts = Array.isArray(data) ? data : [data];
  const series = new Map<string, readonly number[]>();
  for (const part of parts) {
    if (!isObject(part)) throw new SeriesFormatError("it has no object 'data' with series");
    for (const name of Object.keys(part)) {
      const values = part[name];
      if (!Array.isArray(values)) throw new SeriesFormatError(`'${name}' is not a list of numbers`);
      if (series.has(name)) throw new TrainingError(`there are two series '${name}'`);
      const wrong = values.findIndex((value) => !Number.isFinite(value));
      if (wrong !== -1)
        throw new TrainingError(
          `value ${wrong + 1} of the series '${name}' is ${shown(values[wrong])}, which is not a finite number`,
        );
      series.set(name, values as number[]);
    }
  }
  return series;
}

/** An infinity has no JSON. */
const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : JSON.stringify(value));

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
