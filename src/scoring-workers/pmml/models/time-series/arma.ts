import { type Element, PmmlError } from '../../document/element.ts';
import type { Forecast } from './forecaster.ts';
import type { Polynomial } from './polynomial.ts';

/** regression(B) y = constant + average(B) e: both polynomials begin with 1. */
export interface ArmaForm {
  readonly constant: number;
  readonly regression: Polynomial;
  readonly average: Polynomial;
  readonly history: Float64Array;
  /** The latest shocks of the document, oldest first; undefined: they are computed from the history. */
  readonly shocks: Float64Array | undefined;
  /** Standard deviation of the shocks; NaN: unknown. */
  readonly sigma: number;
  readonly element: Element;
}

/** Forecasts of one step after the other, remembered. */
export class Arma {
  readonly bytes: number;
  readonly #form: ArmaForm;
  readonly #shocks: readonly number[];
  readonly #values: number[];
  /** Weights of shocks to come in a value, and the sums of their squares. */
  readonly #weights: number[] = [1];
  readonly #squares: number[] = [1];

  constructor(form: ArmaForm) {
    const lags = form.regression.length - 1;
    const { history } = form;
    if (history.length < lags)
      throw new PmmlError(form.element, `needs ${lags} stored values; there are ${history.length}`);
    this.#form = form;
    this.#shocks = form.shocks === undefined ? shocksOf(form) : aligned(form.shocks, history.length);
    this.#values = [...history];
    this.bytes = (lags + form.average.length + history.length * 2) * 8;
  }

  /** @param step from 1 */
  forecast(step: number): Forecast {
    const { history, sigma } = this.#form;
    const values = this.#values;
    while (values.length < history.length + step) values.push(this.#next());
    return {
      value: values[history.length + step - 1] as number,
      deviation: Number.isNaN(sigma) ? sigma : sigma * Math.sqrt(this.#squaresUntil(step)),
    };
  }

  /** Shocks to come are 0. */
  #next(): number {
    const { regression, average, constant } = this.#form;
    const at = this.#values.length;
    let value = constant;
    for (let lag = 1; lag < regression.length; lag++)
      value -= (regression[lag] as number) * (this.#values[at - lag] as number);
    for (let lag = 1; lag < average.length; lag++) value += (average[lag] as number) * (this.#shocks[at - lag] ?? 0);
    return value;
  }

  #squaresUntil(step: number): number {
    const { regression, average } = this.#form;
    const weights = this.#weights;
    while (weights.length < step) {
      const at = weights.length;
      let weight = average[at] ?? 0;
      for (let lag = 1; lag < regression.length && lag <= at; lag++)
        weight -= (regression[lag] as number) * (weights[at - lag] as number);
      weights.push(weight);
      this.#squares.push((this.#squares[at - 1] as number) + weight * weight);
    }
    return this.#squares[step - 1] as number;
  }
}

/** Shocks of the document end with the last stored value. */
function aligned(shocks: Float64Array, length: number): number[] {
  const all = new Array<number>(length).fill(0);
  shocks.forEach((shock, i) => {
    const at = length - shocks.length + i;
    if (at >= 0) all[at] = shock;
  });
  return all;
}

/** Differences between the stored values and what the model would have said, from the first that it can say something about. */
function shocksOf({ regression, average, history, constant }: ArmaForm): number[] {
  const shocks = new Array<number>(history.length).fill(0);
  for (let at = regression.length - 1; at < history.length; at++) {
    let expected = constant;
    for (let lag = 1; lag < regression.length; lag++)
      expected -= (regression[lag] as number) * (history[at - lag] as number);
    for (let lag = 1; lag < average.length; lag++) expected += (average[lag] as number) * (shocks[at - lag] ?? 0);
    shocks[at] = (history[at] as number) - expected;
  }
  return shocks;
}
