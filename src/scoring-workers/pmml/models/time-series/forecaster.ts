import { type Element, PmmlError } from '../../document/element.ts';

/** A forecast with its standard deviation; NaN where the model tells none. */
export interface Forecast {
  readonly value: number;
  readonly deviation: number;
}

export interface Forecaster {
  /** @param step from 1, after the last stored value */
  forecast(step: number): Forecast;
  /** Bytes of its tables, about. */
  readonly bytes: number;
}

/** Values that the model stores, in order; empty where it stores none. */
export function storedValues(model: Element): Float64Array {
  const series = model.childrenOf('TimeSeries');
  const original = series.find((one) => (one.attribute('usage') ?? 'original') === 'original') ?? series[0];
  const values = (original?.childrenOf('TimeValue') ?? []).map((value, position) => ({
    index: value.number('index', position),
    value: value.requiredNumber('value'),
  }));
  return Float64Array.from(
    values.sort((a, b) => a.index - b.index),
    ({ value }) => value,
  );
}

export interface Scale {
  readonly to: (value: number) => number;
  readonly from: (value: number) => number;
}

/** The scale that a model computes in, and the way back. */
export function scaleOf(element: Element): Scale {
  const kind = element.oneOf('transformation', ['none', 'logarithmic', 'squareroot'] as const, 'none');
  if (kind === 'logarithmic') return { to: Math.log, from: Math.exp };
  if (kind === 'squareroot') return { to: Math.sqrt, from: (value) => value * value };
  return { to: (value) => value, from: (value) => value };
}

/** @throws PmmlError where the element has a part that is not supported */
export function refuse(element: Element, ...names: readonly string[]): void {
  const [found] = element.childrenOf(...names);
  if (found !== undefined) throw new PmmlError(found, 'is not supported');
}
