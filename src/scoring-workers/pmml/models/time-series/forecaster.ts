import { arrayIn, readNumbers } from '../../document/arrays.ts';
import type { Element } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import type { Scope } from '../../fields/scope.ts';

/** A forecast with its standard deviation; NaN where the model tells none. */
export interface Forecast {
  readonly value: number;
  readonly deviation: number;
}

export interface Forecaster {
  /**
   * @param step from 1, after the last stored value
   * @param row the record, for regressors whose values to come it holds
   * @returns a forecast for each target
   */
  forecast(step: number, row: Row): readonly Forecast[];
  /** Steps that a forecast may go ahead, where they take much time; STEPS_MAX otherwise. */
  readonly stepsMax?: number;
  /** Bytes of its tables, about. */
  readonly bytes: number;
}

/** The element of an algorithm, with the model around it. */
export interface Algorithm {
  readonly element: Element;
  readonly model: Element;
  readonly scope: Scope;
}

/** A stored series: its values in order, with the index of each. */
export interface Series {
  readonly values: Float64Array;
  readonly indexes: Float64Array;
}

/** The series that the model stores: the original one, else the first; empty where it stores none. */
export function storedSeries(model: Element): Series {
  const series = model.childrenOf('TimeSeries');
  const original = series.find((one) => (one.attribute('usage') ?? 'original') === 'original') ?? series[0];
  return seriesOf(original);
}

export function seriesOf(element: Element | undefined): Series {
  const values = (element?.childrenOf('TimeValue') ?? [])
    .map((value, position) => ({
      index: value.number('index', position),
      value: value.requiredNumber('value'),
    }))
    .sort((a, b) => a.index - b.index);
  return {
    values: Float64Array.from(values, ({ value }) => value),
    indexes: Float64Array.from(values, ({ index }) => index),
  };
}

export function storedValues(model: Element): Float64Array {
  return storedSeries(model).values;
}

export interface Scale {
  readonly to: (value: number) => number;
  readonly from: (value: number) => number;
  readonly isPlain: boolean;
}

/** The scale that a model computes in, and the way back. */
export function scaleOf(element: Element): Scale {
  const kind = element.oneOf('transformation', ['none', 'logarithmic', 'squareroot'] as const, 'none');
  if (kind === 'logarithmic') return { to: Math.log, from: Math.exp, isPlain: false };
  if (kind === 'squareroot') return { to: Math.sqrt, from: (value) => value * value, isPlain: false };
  return { to: (value) => value, from: (value) => value, isPlain: true };
}

/** The numbers of the array in an element; none without an element. */
export function numbersIn(holder: Element | undefined): Float64Array {
  return holder === undefined ? new Float64Array() : readNumbers(arrayIn(holder));
}
