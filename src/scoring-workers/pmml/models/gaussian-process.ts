/** GaussianProcessModel: mean and variance by the training instances (docs/spec/pmml-equations.md#gaussian-processes). */
import { arrayIn, readNumbers } from '../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../document/element.ts';
import type { Field } from '../fields/field.ts';
import { numericField } from '../fields/numeric-fields.ts';
import type { Row } from '../fields/row.ts';
import { tableOf } from '../fields/tables.ts';
import { textOf } from '../fields/types.ts';
import { warnOfFloat } from './math-context.ts';
import { type CompileModel, type ModelContext, Prediction } from './model.ts';

/** The covariance of all instances is decomposed when the model is read: some seconds for this many. */
const INSTANCES_MAX = 2_000;
/** Differences of fields that its covariances take: pairs of instances, times fields. */
const DIFFERENCES_MAX = 500_000_000;

export const PROCESS_KERNELS = [
  'RadialBasisKernel',
  'ARDSquaredExponentialKernel',
  'AbsoluteExponentialKernel',
  'GeneralizedExponentialKernel',
] as const;

const SPREAD_FEATURES: ReadonlySet<string> = new Set([
  'standardDeviation',
  'standardError',
  'confidenceIntervalLower',
  'confidenceIntervalUpper',
]);

/** Covariance of two vectors that stand in arrays, from these places on. */
type Covariance = (a: Float64Array, fromA: number, b: Float64Array, fromB: number) => number;

export const compileGaussianProcess: CompileModel = (context) => {
  const { element, functionName } = context;
  if (functionName !== 'regression')
    throw new PmmlError(element, `'functionName' is '${functionName}'; a Gaussian process is a regression`);
  warnOfFloat(context);
  const { fields, inputs, targets } = readInstances(context);
  const size = fields.length;
  const count = targets.length;
  const { covariance, noise } = readKernel(element, size);
  const factor = decompose(inputs, { size, count, covariance, noise }, element);
  const weights = solve(factor, targets);
  const record = new Float64Array(size);
  const column = new Float64Array(count);
  const prediction = new Prediction();
  const hasSpread = asksForSpread(element);
  const variance = (): number => {
    const half = solveLower(factor, column);
    return covariance(record, 0, record, 0) + noise - half.reduce((sum, value) => sum + value * value, 0);
  };
  return {
    prediction,
    bytes: inputs.length * 8 + factor.length * 8 + count * 16,
    evaluate(row) {
      prediction.clear();
      if (!readRecord(fields, row, record)) return;
      let mean = 0;
      for (let i = 0; i < count; i++) {
        const value = covariance(record, 0, inputs, i * size);
        column[i] = value;
        mean += value * (weights[i] as number);
      }
      prediction.setNumber(mean);
      if (hasSpread) {
        prediction.standardDeviation = Math.sqrt(Math.max(0, variance()));
        prediction.standardError = prediction.standardDeviation;
      }
    },
    explain(_row, trace) {
      trace.line('[GaussianProcess]');
      if (prediction.value === undefined) {
        trace.line('An input is missing');
        return;
      }
      trace.line(`The mean over [${count}] training instances is [${textOf(prediction.number, 'double')}]`);
      trace.line(`The variance is [${textOf(variance(), 'double')}]`);
    },
  };
};

function readRecord(fields: readonly Field[], row: Row, record: Float64Array): boolean {
  for (let i = 0; i < fields.length; i++) {
    const value = (fields[i] as Field).number(row);
    if (Number.isNaN(value)) return false;
    record[i] = value;
  }
  return true;
}

/** Whether an output of this model, or of one around it, shows how far the result spreads. */
function asksForSpread(element: Element): boolean {
  for (let at: Element | undefined = element; at !== undefined; at = at.parent)
    for (const output of at.child('Output')?.childrenOf('OutputField') ?? [])
      if (SPREAD_FEATURES.has(output.attribute('feature') ?? '')) return true;
  return false;
}

function readKernel(element: Element, size: number): { covariance: Covariance; noise: number } {
  const [kernel] = element.childrenOf(...PROCESS_KERNELS);
  if (kernel === undefined) throw new PmmlError(element, `has no kernel: one of ${PROCESS_KERNELS.join(', ')}`);
  const gamma = kernel.number('gamma', 1);
  const noise = kernel.number('noiseVariance', 1);
  const lambda = readLambda(kernel, size);
  switch (kernel.name) {
    case 'AbsoluteExponentialKernel':
      return { noise, covariance: powers(gamma, 1, 1, lambda) };
    case 'GeneralizedExponentialKernel':
      return { noise, covariance: powers(gamma, 1, kernel.number('degree', 1), lambda) };
    default:
      return { noise, covariance: powers(gamma, 0.5, 2, lambda) };
  }
}

/** gamma · e^(-factor · Σ (|difference| / lambda)^degree). */
function powers(gamma: number, factor: number, degree: number, lambda: Float64Array): Covariance {
  return (a, fromA, b, fromB) => {
    let sum = 0;
    for (let i = 0; i < lambda.length; i++) {
      const difference = Math.abs((a[fromA + i] as number) - (b[fromB + i] as number)) / (lambda[i] as number);
      sum += degree === 2 ? difference * difference : difference ** degree;
    }
    return gamma * Math.exp(-factor * sum);
  };
}

/** Length scales, one for each field; a single one is that of all. */
function readLambda(kernel: Element, size: number): Float64Array {
  const list = kernel.child('Lambda');
  const values = list === undefined ? Float64Array.of(kernel.number('lambda', 1)) : readNumbers(arrayIn(list));
  if (values.length === 1) return new Float64Array(size).fill(values[0] as number);
  if (values.length !== size)
    throw new PmmlError(kernel, `has ${values.length} values of lambda; there are ${size} fields`);
  return values;
}

interface Instances {
  readonly fields: readonly Field[];
  /** Row after row. */
  readonly inputs: Float64Array;
  readonly targets: Float64Array;
}

function readInstances(context: ModelContext): Instances {
  const { element, scope, target } = context;
  const training = element.child('TrainingInstances');
  if (training === undefined) throw new PmmlError(element, 'has no TrainingInstances');
  if (target === undefined) throw new PmmlError(element, 'has no target in its MiningSchema');
  const rows = tableOf(training, scope);
  if (rows.length === 0) throw new PmmlError(training, 'has no row');
  if (rows.length > INSTANCES_MAX)
    throw new PmmlError(training, `has ${rows.length} rows; at most ${INSTANCES_MAX} are possible`);
  const columns = (training.child('InstanceFields')?.childrenOf('InstanceField') ?? []).map((field) => {
    const name = field.required('field');
    return { name, column: localName(field.attribute('column') ?? name), element: field };
  });
  const inputColumns = columns.filter(({ name }) => name !== target.name);
  if (inputColumns.length === 0) throw new PmmlError(training, 'has no InstanceField of an input');
  if (rows.length ** 2 * inputColumns.length > DIFFERENCES_MAX)
    throw new PmmlError(
      training,
      `has ${rows.length} rows of ${inputColumns.length} fields; rows · rows · fields may be ${DIFFERENCES_MAX} at most`,
    );
  const targetColumn = columns.find(({ name }) => name === target.name)?.column ?? target.name;
  const cell = (row: ReadonlyMap<string, string>, i: number, column: string): number => {
    const text = row.get(column);
    const number = text === undefined ? undefined : numberOf(text);
    if (number !== undefined && Number.isFinite(number)) return number;
    throw new PmmlError(
      training,
      `column '${column}' of row ${i + 1} is '${text ?? 'missing'}', which is not a number`,
    );
  };
  const inputs = new Float64Array(rows.length * inputColumns.length);
  const targets = new Float64Array(rows.length);
  rows.forEach((row, i) => {
    inputColumns.forEach(({ column }, j) => {
      inputs[i * inputColumns.length + j] = cell(row, i, column);
    });
    targets[i] = cell(row, i, targetColumn);
  });
  return { fields: inputColumns.map(({ name, element: from }) => numericField(scope, name, from)), inputs, targets };
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** The lower triangle L of K + noise · I = L·Lᵀ (Cholesky), row after row without the upper half. */
function decompose(
  inputs: Float64Array,
  form: { size: number; count: number; covariance: Covariance; noise: number },
  element: Element,
): Float64Array {
  const { size, count, covariance, noise } = form;
  const factor = new Float64Array((count * (count + 1)) / 2);
  for (let i = 0; i < count; i++) {
    const rowI = (i * (i + 1)) / 2;
    for (let j = 0; j <= i; j++) {
      const rowJ = (j * (j + 1)) / 2;
      let sum = covariance(inputs, i * size, inputs, j * size) + (i === j ? noise : 0);
      for (let k = 0; k < j; k++) sum -= (factor[rowI + k] as number) * (factor[rowJ + k] as number);
      if (i !== j) factor[rowI + j] = sum / (factor[rowJ + j] as number);
      else if (sum > 0) factor[rowI + i] = Math.sqrt(sum);
      else throw new PmmlError(element, 'the covariance of the training instances is not positive definite');
    }
  }
  return factor;
}

/** x of L·x = b. */
function solveLower(factor: Float64Array, b: Float64Array): Float64Array {
  const x = new Float64Array(b.length);
  for (let i = 0, row = 0; i < b.length; row += ++i) {
    let sum = b[i] as number;
    for (let k = 0; k < i; k++) sum -= (factor[row + k] as number) * (x[k] as number);
    x[i] = sum / (factor[row + i] as number);
  }
  return x;
}

/** x of L·Lᵀ·x = b. */
function solve(factor: Float64Array, b: Float64Array): Float64Array {
  const x = solveLower(factor, b);
  for (let i = b.length - 1; i >= 0; i--) {
    let sum = x[i] as number;
    for (let k = i + 1; k < b.length; k++) sum -= (factor[(k * (k + 1)) / 2 + i] as number) * (x[k] as number);
    x[i] = sum / (factor[(i * (i + 1)) / 2 + i] as number);
  }
  return x;
}
