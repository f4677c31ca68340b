import { arrayIn, readNumbers } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { type Algorithm, numbersIn, scaleOf, type Series, seriesOf } from './forecaster.ts';
import { differences, ONE, type Polynomial, product, regressive, spaced } from './polynomial.ts';

/** What the regressors of a model add together. */
export interface Regressors {
  /** To the stored value at a place of the series. */
  past(at: number): number;
  /** To the forecast of a step; NaN where a value to come is not known. */
  future(step: number, row: Row): number;
  readonly bytes: number;
}

const METHODS = ['constant', 'trend', 'stored', 'otherModel', 'userSupplied'] as const;
const ORDER_MAX = 10_000;
const DIFFERENCES_MAX = 10;

/** Fields of the regressors of a time series: they are no steps. */
export function regressorFields(model: Element): ReadonlySet<string> {
  const holders = [model, ...model.children.filter(({ name }) => name === 'ARIMA' || name === 'StateSpaceModel')];
  const regressors = holders.flatMap((holder) => holder.childrenOf('DynamicRegressor'));
  return new Set(regressors.map((regressor) => regressor.required('field')));
}

/**
 * The DynamicRegressors of an algorithm, or of the model itself: v = N(B) / D(B) · B^delay · x
 * (docs/spec/pmml-clusters.md#time-series).
 */
export function readRegressors(algorithm: Algorithm, series: Series, period: number): Regressors {
  const elements = [algorithm.element, algorithm.model].flatMap((holder) => holder.childrenOf('DynamicRegressor'));
  const list = elements.map((element) => new Regressor(element, algorithm, series, period));
  return {
    past: (at) => list.reduce((sum, regressor) => sum + regressor.past(at), 0),
    future: (step, row) => list.reduce((sum, regressor) => sum + regressor.future(step, row), 0),
    bytes: list.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Value of the regressor at a step after the last stored value, which is step 0; NaN: unknown. */
type ValueAt = (step: number, row: Row) => number;

class Regressor {
  readonly bytes: number;
  readonly #numerator: Polynomial;
  readonly #denominator: Polynomial;
  readonly #delay: number;
  /** Values of the past and what the regressor added then, by place in the series. */
  readonly #values: Float64Array;
  readonly #added: Float64Array;
  readonly #valueAt: ValueAt;

  constructor(element: Element, { scope }: Algorithm, series: Series, period: number) {
    this.#numerator = numeratorOf(element.child('Numerator'), period);
    this.#denominator = denominatorOf(element.child('Denominator'), period);
    this.#delay = element.number('delay', 0);
    if (!(Number.isInteger(this.#delay) && this.#delay >= 0 && this.#delay <= ORDER_MAX))
      throw new PmmlError(element, `'delay' is '${this.#delay}'; it is 0 to ${ORDER_MAX}`);
    const scale = scaleOf(element);
    const held = element.child('RegressorValues');
    const stored = storedOf(held);
    const aligned = alignment(stored, series);
    const length = series.values.length;
    this.#values = Float64Array.from({ length }, (_, at) => scale.to(aligned(at - length + 1)));
    this.#added = new Float64Array(length);
    for (let at = 0; at < length; at++)
      this.#added[at] = this.#filter(
        at,
        (index) => this.#values[index] ?? Number.NaN,
        (index) => this.#added[index] as number,
      );
    const known = numbersIn(held?.child('TransferFunctionValues'));
    known.forEach((value, i) => {
      const at = length - known.length + i;
      if (at >= 0) this.#added[at] = value;
    });
    const method = element.oneOf('futureValuesMethod', METHODS, 'constant');
    if (method === 'otherModel')
      throw new PmmlError(element, "'futureValuesMethod' is 'otherModel', which is not supported");
    const trend = method === 'trend' ? trendOf(held, element) : undefined;
    const lastIndex = series.indexes.at(-1) ?? 0;
    const last = stored.values.at(-1) ?? Number.NaN;
    if (method === 'userSupplied') {
      const field = scope.field(element.required('field'), element);
      this.#valueAt = (step, row) => scale.to(suppliedAt(field.value(row), step));
    } else if (trend !== undefined) this.#valueAt = (step) => scale.to(trend(lastIndex + step));
    else if (method === 'stored') this.#valueAt = (step) => scale.to(aligned(step));
    else this.#valueAt = () => scale.to(last);
    this.bytes = (this.#numerator.length + this.#denominator.length + length * 2) * 8;
  }

  past(at: number): number {
    return this.#added[at] as number;
  }

  future(step: number, row: Row): number {
    const length = this.#added.length;
    const valueOf = (index: number): number =>
      index < length ? (this.#values[index] ?? Number.NaN) : this.#valueAt(index - length + 1, row);
    if (this.#denominator.length === 1) return this.#filter(length + step - 1, valueOf, () => 0);
    const added: number[] = [];
    const addedAt = (index: number): number =>
      index < length ? (this.#added[index] as number) : (added[index - length] as number);
    for (let at = 0; at < step; at++) added.push(this.#filter(length + at, valueOf, addedAt));
    return added[step - 1] as number;
  }

  /** Values before the first known one add nothing. */
  #filter(at: number, valueOf: (index: number) => number, addedAt: (index: number) => number): number {
    let sum = 0;
    for (let lag = 0; lag < this.#numerator.length; lag++) {
      const factor = this.#numerator[lag] as number;
      const index = at - this.#delay - lag;
      if (factor === 0 || index < 0) continue;
      const value = valueOf(index);
      if (!Number.isNaN(value)) sum += factor * value;
      else if (index >= this.#added.length) return Number.NaN;
    }
    for (let lag = 1; lag < this.#denominator.length && lag <= at; lag++)
      sum -= (this.#denominator[lag] as number) * addedAt(at - lag);
    return sum;
  }
}

/** Values of the past, and of times to come where they are stored: a TimeSeries, or an array that ends with the last time. */
function storedOf(held: Element | undefined): Series {
  const series = held?.child('TimeSeries');
  if (series !== undefined || held === undefined || held.child('Array') === undefined) return seriesOf(series);
  const values = readNumbers(arrayIn(held));
  return { values, indexes: Float64Array.from(values, (_, i) => i - values.length + 1) };
}

/** The stored value of a step: by the index of both series, where those of the model are known, else from the end. */
function alignment(stored: Series, series: Series): (step: number) => number {
  const last = series.indexes.at(-1);
  const hasOwnEnd = stored.indexes.at(-1) === 0 && stored.values.length > 1;
  const end = last === undefined || hasOwnEnd ? (stored.indexes.at(-1) ?? 0) : last;
  const byIndex = new Map<number, number>();
  stored.indexes.forEach((index, i) => {
    byIndex.set(index, stored.values[i] as number);
  });
  return (step) => byIndex.get(end + step) ?? Number.NaN;
}

/** A list of the values to come, or one value for all of them. */
function suppliedAt(value: unknown, step: number): number {
  const given: unknown = Array.isArray(value) ? value[step - 1] : value;
  return typeof given === 'number' ? given : Number.NaN;
}

/** c₀ + c₁ t + c₂ t² + … of the index t. */
function trendOf(held: Element | undefined, from: Element): (t: number) => number {
  const coefficients = numbersIn(held?.child('TrendCoefficients'));
  if (coefficients.length === 0)
    throw new PmmlError(from, "'futureValuesMethod' is 'trend', but the TrendCoefficients are missing");
  return (t) => coefficients.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
}

function numeratorOf(element: Element | undefined, period: number): Polynomial {
  if (element === undefined) return ONE;
  const plain = element.child('NonseasonalFactor') ?? (element.child('Array') === undefined ? undefined : element);
  const seasonal = element.child('SeasonalFactor');
  return product(
    product(weights(plain, 1), differencesOf(plain, 1)),
    product(weights(seasonal, period), differencesOf(seasonal, period)),
  );
}

/** From lag 0 on; of a season that has as many as its `maximumOrder` says, from its first lag on. */
function weights(element: Element | undefined, period: number): Polynomial {
  if (element === undefined || element.childrenOf('Array', 'REAL-SparseArray').length === 0) return ONE;
  const factors = numbersIn(element);
  checkOrder(factors, element, period);
  const isWithoutFirst = element.name === 'SeasonalFactor' && element.number('maximumOrder') === factors.length;
  return spaced(isWithoutFirst ? Float64Array.of(1, ...factors) : factors, period);
}

function differencesOf(element: Element | undefined, period: number): Polynomial {
  const order = element?.number('difference', 0) ?? 0;
  if (element !== undefined && !(Number.isInteger(order) && order >= 0 && order <= DIFFERENCES_MAX))
    throw new PmmlError(element, `'difference' is '${order}'; it is 0 to ${DIFFERENCES_MAX}`);
  return differences(order, period);
}

function denominatorOf(element: Element | undefined, period: number): Polynomial {
  if (element === undefined) return ONE;
  const plain = element.child('NonseasonalFactor') ?? (element.child('Array') === undefined ? undefined : element);
  const ofFactor = (factor: Element | undefined, lag: number): Polynomial => {
    if (factor === undefined || factor.childrenOf('Array', 'REAL-SparseArray').length === 0) return ONE;
    const factors = numbersIn(factor);
    checkOrder(factors, factor, lag);
    return regressive(factors, lag);
  };
  return product(ofFactor(plain, 1), ofFactor(element.child('SeasonalFactor'), period));
}

function checkOrder(factors: Float64Array, from: Element, period: number): void {
  if (factors.length * period > ORDER_MAX)
    throw new PmmlError(from, `reaches back ${factors.length * period} steps; at most ${ORDER_MAX} are possible`);
}
