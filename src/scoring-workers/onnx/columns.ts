/**
 * Single outputs and columns of a model whose tensors have a row for each record (docs/spec/scoring.md#bindings-of-onnx-models):
 * `p` is an output with one value in a row, `p[1]` a column, `p[label]` the value that a map has for a label.
 */
import { InputError } from './tensors.ts';

/** Values of one row. */
export const ROW_VALUES_MAX = 1_000;
/** Of a text; a longer one is cut. */
const TEXT_CHARACTERS_MAX = 1_001;

/** Whether `name` is an output, or a column of it. */
export const isColumnOf = (name: string, output: string): boolean => name === output || name.startsWith(`${output}[`);

/** @throws InputError */
export function requireNarrow(output: string, dims: readonly number[]): void {
  const values = dims.slice(1).reduce((product, dimension) => product * dimension, 1);
  if (values > ROW_VALUES_MAX)
    throw new InputError(
      `The output '${output}' has ${values} values in a row; a binding takes at most ${ROW_VALUES_MAX}.`,
    );
}

/**
 * @param rows of an output @param place what the name has behind that of the output: nothing, or `[column]`
 * @returns a value for each row, null where there is none; null for what are not rows
 */
export function columnOf(rows: unknown, place: string): unknown[] | null {
  if (!Array.isArray(rows)) return null;
  const key = place.slice(1, -1);
  return rows.map((row: unknown) => {
    const value = place === '' ? onlyOf(row) : memberOf(row, key);
    return typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : (value ?? null);
  });
}

function onlyOf(row: unknown): unknown {
  if (Array.isArray(row)) return row.length === 1 ? row[0] : null;
  return typeof row === 'object' ? null : row;
}

function memberOf(row: unknown, key: string): unknown {
  if (Array.isArray(row)) return row.length > 1 ? row[Number(key)] : null;
  return typeof row === 'object' && row !== null && Object.hasOwn(row, key)
    ? (row as Readonly<Record<string, unknown>>)[key]
    : null;
}
