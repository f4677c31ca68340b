import { ARRAY_NAMES, readMatrix, readNumbers } from '../../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../../document/element.ts';
import { type Algorithm, type Forecast, type Forecaster, numbersIn, scaleOf, storedSeries } from './forecaster.ts';
import { readRegressors } from './regressors.ts';

/** Elements of PMML 4.4.1. Documents with one of them hold the state of the first step to come, others that of the last stored value. */
const OF_NEXT_STATE = [
  'InterceptVector',
  'PredictedStateCovarianceMatrix',
  'SelectedStateCovarianceMatrix',
  'ObservationVarianceMatrix',
] as const;
const STATE_MAX = 2_000;
/** With covariances, whose steps take its third power. */
const STATE_WITH_COVARIANCES_MAX = 400;
/** Multiplications of a forecast, a second or less, and numbers that are remembered of its steps. */
const OPERATIONS_MAX = 300_000_000;
const NUMBERS_MAX = 4_000_000;

/** StateSpaceModel: the state at the end of the series, how it goes on, and what is measured of it. */
export function readStateSpace(algorithm: Algorithm): Forecaster {
  const { element, model } = algorithm;
  const system = readSystem(element, numbersOf(required(element, 'StateVector')));
  const isNext = element.childrenOf(...OF_NEXT_STATE).length > 0;
  const scale = scaleOf(element);
  const regressors = readRegressors(algorithm, storedSeries(model), 1);
  const states = new States(system, isNext);
  const deviations = deviationsOf(element, system);
  return {
    stepsMax: stepsOf(system, hasCovariances(element)),
    bytes: system.size * system.size * 24 + regressors.bytes,
    forecast: (step, row) => {
      const added = regressors.future(step, row);
      const spread = deviations(step);
      return states.measured(step).map((value, i): Forecast => {
        return {
          value: scale.from(value + added),
          deviation: scale.isPlain ? (spread[i] ?? Number.NaN) : Number.NaN,
        };
      });
    },
  };
}

/**
 * The KalmanState of an ARIMA whose matrices stand beside the state of the first step to come, as the R package writes them.
 *
 * @returns undefined where it has no matrices
 */
export function readKalmanState({ element, model }: Algorithm): Forecaster | undefined {
  const holder = (element.child('MaximumLikelihoodStat') ?? model.child('MaximumLikelihoodStat'))?.child('KalmanState');
  const vector = holder?.child('FinalStateVector');
  if (holder === undefined || vector === undefined) return undefined;
  const matrices = holder.child('TransitionMatrix') === undefined ? holder.extensions[0] : holder;
  if (matrices?.child('TransitionMatrix') === undefined || matrices.child('MeasurementMatrix') === undefined)
    return undefined;
  const system = readSystem(matrices, numbersOf(vector));
  const scale = scaleOf(element);
  const constant = element.number('constantTerm', 0);
  const states = new States(system, true);
  return {
    stepsMax: stepsOf(system, false),
    bytes: system.size * system.size * 8,
    forecast: (step) =>
      states.measured(step).map((value) => ({ value: scale.from(value + constant), deviation: Number.NaN })),
  };
}

/** state' = transition · state + drift, value = measurement · state + intercept. */
interface System {
  readonly size: number;
  /** Values that are measured. */
  readonly rows: number;
  readonly state: Float64Array;
  readonly transition: Float64Array;
  readonly measurement: Float64Array;
  readonly drift: Float64Array;
  readonly intercept: Float64Array;
}

function readSystem(element: Element, state: Float64Array): System {
  const size = state.length;
  if (!(size >= 1 && size <= STATE_MAX))
    throw new PmmlError(element, `the state holds ${size} numbers; it may have 1 to ${STATE_MAX}`);
  const transition = numbersOf(required(element, 'TransitionMatrix'));
  const measurement = numbersOf(required(element, 'MeasurementMatrix'));
  if (transition.length !== size * size)
    throw new PmmlError(element, `the TransitionMatrix holds ${transition.length} numbers; the state has ${size}`);
  const rows = measurement.length / size;
  if (!Number.isInteger(rows) || rows < 1)
    throw new PmmlError(element, `the MeasurementMatrix holds ${measurement.length} numbers; the state has ${size}`);
  const vector = element.child('InterceptVector');
  const isOfState = vector?.oneOf('type', ['observation', 'state'] as const, 'observation') === 'state';
  const intercepts = vector === undefined ? undefined : numbersOf(vector);
  return {
    size,
    rows,
    state,
    transition,
    measurement,
    drift: isOfState ? filled(intercepts, size, 0, vector) : new Float64Array(size),
    intercept: isOfState ? new Float64Array(rows) : filled(intercepts, rows, element.number('intercept', 0), vector),
  };
}

/** One number for all, or one for each. */
function filled(
  numbers: Float64Array | undefined,
  count: number,
  byDefault: number,
  from: Element | undefined,
): Float64Array {
  if (numbers === undefined || from === undefined) return new Float64Array(count).fill(byDefault);
  if (numbers.length === 1) return new Float64Array(count).fill(numbers[0] as number);
  if (numbers.length !== count) throw new PmmlError(from, `holds ${numbers.length} numbers; ${count} are needed`);
  return numbers;
}

/** The states of steps to come, one after the other, remembered. */
class States {
  readonly #system: System;
  readonly #states: Float64Array[];
  /** Steps of the first state. */
  readonly #first: 0 | 1;

  constructor(system: System, isNext: boolean) {
    this.#system = system;
    this.#states = [system.state];
    this.#first = isNext ? 1 : 0;
  }

  measured(step: number): number[] {
    const { transition, drift, measurement, intercept, size, rows } = this.#system;
    const states = this.#states;
    while (states.length <= step - this.#first) {
      const state = times(transition, states.at(-1) as Float64Array, size);
      states.push(state.map((value, i) => value + (drift[i] as number)));
    }
    const values = times(measurement, states[step - this.#first] as Float64Array, rows);
    return Array.from(values, (value, row) => value + (intercept[row] as number));
  }
}

/** Steps that a record may ask for. */
function stepsOf({ size }: System, isWithCovariances: boolean): number {
  const operations = size ** 2 + (isWithCovariances ? 2 * size ** 3 : 0);
  return Math.max(1, Math.min(Math.floor(OPERATIONS_MAX / operations), Math.floor(NUMBERS_MAX / size)));
}

const hasCovariances = (element: Element): boolean =>
  element.child('PredictedStateCovarianceMatrix') !== undefined &&
  element.child('SelectedStateCovarianceMatrix') !== undefined;

/** Deviations of the values of a step: by covariances of the state, or by the weights of past shocks. */
function deviationsOf(element: Element, system: System): (step: number) => ArrayLike<number> {
  const variance = element.number('variance');
  const predicted = element.child('PredictedStateCovarianceMatrix');
  const selected = element.child('SelectedStateCovarianceMatrix');
  if (predicted !== undefined && selected !== undefined)
    return byCovariances(element, system, { predicted, selected, variance });
  const psi = element.child('PsiVector');
  if (psi === undefined) return () => [];
  const weights = numbersIn(psi);
  const ofShock = psi.number('variance') ?? variance ?? element.number('RMSE', Number.NaN) ** 2;
  return (step) => [Math.sqrt(ofShock * weights.slice(0, step).reduce((sum, weight) => sum + weight * weight, 0))];
}

/**
 * Where the model has a `variance`, as the R package writes it, the covariances are by that, and the first one is that of the
 * last stored value; else it is that of the first step to come.
 */
function byCovariances(
  element: Element,
  { size, rows, transition, measurement }: System,
  given: { readonly predicted: Element; readonly selected: Element; readonly variance: number | undefined },
): (step: number) => ArrayLike<number> {
  if (size > STATE_WITH_COVARIANCES_MAX)
    throw new PmmlError(
      element,
      `the state holds ${size} numbers; with covariances it may have at most ${STATE_WITH_COVARIANCES_MAX}`,
    );
  const square = (from: Element): Float64Array => {
    const numbers = numbersOf(from);
    if (numbers.length !== size * size)
      throw new PmmlError(from, `holds ${numbers.length} numbers; the state has ${size}`);
    return numbers;
  };
  const observation = element.child('ObservationVarianceMatrix');
  const noise = observation === undefined ? new Float64Array(rows * rows) : numbersOf(observation);
  const selected = square(given.selected);
  const next = (covariance: Float64Array): Float64Array =>
    sandwich(transition, covariance, size, size).map((value, i) => value + (selected[i] as number));
  const first = square(given.predicted);
  let covariance = given.variance === undefined ? first : next(first);
  const deviations: Float64Array[] = [];
  return (step) => {
    while (deviations.length < step) {
      const spread = sandwich(measurement, covariance, rows, size);
      covariance = next(covariance);
      deviations.push(
        Float64Array.from({ length: rows }, (_, row) => {
          const own = noise[noise.length === 1 ? 0 : row * rows + row] ?? 0;
          return Math.sqrt(Math.max(0, (given.variance ?? 1) * (own + (spread[row * rows + row] as number))));
        }),
      );
    }
    return deviations[step - 1] as Float64Array;
  };
}

/** A · P · Aᵀ, of a matrix A with this number of rows. */
function sandwich(a: Float64Array, p: Float64Array, rows: number, size: number): Float64Array {
  const left = new Float64Array(rows * size);
  for (let i = 0; i < rows; i++)
    for (let k = 0; k < size; k++) {
      const factor = a[i * size + k] as number;
      if (factor === 0) continue;
      for (let j = 0; j < size; j++)
        left[i * size + j] = (left[i * size + j] as number) + factor * (p[k * size + j] as number);
    }
  const result = new Float64Array(rows * rows);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < rows; j++) {
      let sum = 0;
      for (let k = 0; k < size; k++) sum += (left[i * size + k] as number) * (a[j * size + k] as number);
      result[i * rows + j] = sum;
    }
  return result;
}

function required(element: Element, name: string): Element {
  const child = element.child(name);
  if (child === undefined) throw new PmmlError(element, `the ${name} is missing`);
  return child;
}

/** An Array or a Matrix inside, or numbers as plain text, as some tools write them. */
function numbersOf(element: Element): Float64Array {
  const matrix = element.child('Matrix');
  if (matrix !== undefined) return readMatrix(matrix).values;
  const [array] = element.childrenOf(...ARRAY_NAMES);
  if (array !== undefined) return readNumbers(array);
  return Float64Array.from(element.text.trim().split(/\s+/), (text) => {
    const number = numberOf(text);
    if (number === undefined) throw new PmmlError(element, `'${text}' is not a number`);
    return number;
  });
}

function times(matrix: Float64Array, vector: Float64Array, rows: number): Float64Array {
  const size = vector.length;
  return Float64Array.from({ length: rows }, (_, row) => {
    let sum = 0;
    for (let column = 0; column < size; column++)
      sum += (vector[column] as number) * (matrix[row * size + column] as number);
    return sum;
  });
}
