/** Bounds of what is trained with, named in docs/reference/limits.md. */
const TRAINING_SERIES_MAX = 20_000;
/** Values of one series, and fields of the model that comes out. */
const TRAINING_LENGTH_MAX = 10_000;
/** Values of all series, when each has the length of the longest. */
const TRAINING_VALUES_MAX = 20_000_000;

/** Series of equal length, as rows of one table. */
export interface SeriesTable {
  readonly names: readonly string[];
  /** Values of one row. */
  readonly length: number;
  readonly values: Float64Array;
}

/** What cannot be trained with: a fault of the data, for the caller to read. */
export class TrainingError extends Error {
  override readonly name = 'TrainingError';
}

/**
 * Brings series to the length of the longest one: a shorter one is stretched, its values between by straight lines, so that
 * shapes are compared from begin to end.
 *
 * @throws TrainingError where there are none, or too many
 */
export function tableOf(series: ReadonlyMap<string, readonly number[]>): SeriesTable {
  const names = [...series.keys()];
  if (names.length === 0) throw new TrainingError('the data holds no series');
  if (names.length > TRAINING_SERIES_MAX)
    throw new TrainingError(`there are ${names.length} series; at most ${TRAINING_SERIES_MAX} are clustered`);
  let length = 0;
  for (const [name, values] of series) {
    if (values.length === 0) throw new TrainingError(`the series '${name}' is empty`);
    length = Math.max(length, values.length);
  }
  if (length > TRAINING_LENGTH_MAX)
    throw new TrainingError(`a series has ${length} values; at most ${TRAINING_LENGTH_MAX} are clustered`);
  if (length * names.length > TRAINING_VALUES_MAX)
    throw new TrainingError(`${names.length} series of ${length} values are more than ${TRAINING_VALUES_MAX} values`);
  const values = new Float64Array(names.length * length);
  names.forEach((name, row) => {
    stretch(series.get(name) as readonly number[], values.subarray(row * length, (row + 1) * length));
  });
  return { names, length, values };
}

function stretch(from: readonly number[], to: Float64Array): void {
  if (from.length === to.length) {
    to.set(from);
    return;
  }
  const step = to.length === 1 ? 0 : (from.length - 1) / (to.length - 1);
  for (let i = 0; i < to.length; i++) {
    const at = i * step;
    const before = Math.min(Math.floor(at), from.length - 1);
    const after = Math.min(before + 1, from.length - 1);
    const low = from[before] as number;
    to[i] = low + ((from[after] as number) - low) * (at - before);
  }
}
