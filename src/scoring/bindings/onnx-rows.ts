/**
 * Rows of an ONNX model: its tensors have one row for each measurement, and each column of a row is an input or output
 * of a binding (docs/spec/scoring.md#bindings-of-onnx-models).
 */
import { ROW_VALUES_MAX } from '../../scoring-workers/onnx/columns.ts';
import type { OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';
import type { InputRecord, OutputRecord } from '../../scoring-workers/pmml/engine.ts';

/** The model has tensors that rows do not make: why. */
export class RowsError extends Error {}

interface Tensor {
  readonly name: string;
  /** Columns of a row; undefined: a row is one value. */
  readonly width: number | undefined;
}

type Described = OnnxDescription['inputs'][number];
/** Of whole numbers one measurement that is not whole would fail with all that are scored beside it. */
const NUMBERS = /^tensor\((?:float|double|float16)\)$/;

const columnsOf = ({ name, width }: Tensor): string[] =>
  width === undefined ? [name] : Array.from({ length: width }, (_, column) => `${name}[${column}]`);

/** @throws RowsError */
function inputOf({ name, shape, type }: Described): Tensor {
  if (!NUMBERS.test(type))
    throw new RowsError(`its input '${name}' is ${type}; bindings take tensors of float, double or float16`);
  const [rows, width, further] = shape ?? [];
  if (shape === undefined || shape.length === 0 || typeof rows === 'number')
    throw new RowsError(`the first dimension of its input '${name}' is not free`);
  if (shape.length === 1) return { name, width: undefined };
  if (further !== undefined || typeof width !== 'number' || width > ROW_VALUES_MAX)
    throw new RowsError(
      `its input '${name}' has not the shape [rows] or [rows, columns] with at most ${ROW_VALUES_MAX} columns`,
    );
  return { name, width };
}

/** Names of the inputs: of a tensor with columns `x[0]`, `x[1]`, … @throws RowsError */
export const onnxInputs = ({ inputs }: Pick<OnnxDescription, 'inputs'>): string[] =>
  inputs.map(inputOf).flatMap(columnsOf);

/** Names of the outputs; undefined where the description does not tell them: those of maps. */
export function onnxOutputs({ outputs }: Pick<OnnxDescription, 'outputs'>): string[] | undefined {
  const names: string[] = [];
  for (const { name, shape, type } of outputs) {
    const [, width] = shape ?? [];
    if (!type.startsWith('tensor(') || shape === undefined) return undefined;
    if (shape.length <= 1 || width === 1) names.push(name);
    else if (shape.length === 2 && typeof width === 'number' && width <= ROW_VALUES_MAX)
      names.push(...columnsOf({ name, width }));
    else return undefined;
  }
  return names;
}

/** The body of a request that applies the model. @throws RowsError */
export function onnxBody({ inputs }: Pick<OnnxDescription, 'inputs'>, records: readonly InputRecord[]): string {
  const members = inputs.map(inputOf).map((tensor) => {
    const columns = columnsOf(tensor);
    const rows = records.map((record) => {
      const values = columns.map((column) => String(record[column]));
      return tensor.width === undefined ? values[0] : `[${values.join()}]`;
    });
    return `${JSON.stringify(tensor.name)}:[${rows.join()}]`;
  });
  return `{${members.join()}}`;
}

/**
 * @param answer of the model, by name of output or column @returns outputs of each of `count` rows; those that the answer
 * lacks are missing @throws RowsError
 */
export function onnxRecords(answer: Readonly<Record<string, unknown>>, count: number): OutputRecord[] {
  const records = Array.from({ length: count }, () => Object.create(null) as OutputRecord);
  for (const [name, rows] of Object.entries(answer)) {
    if (!Array.isArray(rows) || rows.length !== count)
      throw new RowsError(`its output '${name}' has not a row for each of ${count} measurements`);
    rows.forEach((row: unknown, index) => ((records[index] as OutputRecord)[name] = row));
  }
  return records;
}
