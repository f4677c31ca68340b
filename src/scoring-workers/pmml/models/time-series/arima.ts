import { arrayIn, readNumbers } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import { type Forecast, type Forecaster, refuse, scaleOf, storedValues } from './forecaster.ts';

const ORDER_MAX = 10_000;

/** Coefficients of a polynomial in the lag, from lag 0. */
type Polynomial = Float64Array;

/**
 * ARIMA, with seasons: φ(B) Φ(B^s) (1-B)^d (1-B^s)^D y = c + θ(B) Θ(B^s) e, where φ and θ have the form 1 - a B - …, as the
 * standard writes them. Shocks of the past are those of the document; where it has none they are computed from the
 * stored values, before which all is 0.
 */
export function readArima(element: Element, model: Element): Forecaster {
  refuse(element, 'DynamicRegressor', 'OutlierEffect');
  element.oneOf(
    'predictionMethod',
    ['conditionalLeastSquares', 'exactLeastSquares'] as const,
    'conditionalLeastSquares',
  );
  const scale = scaleOf(element);
  const plain = component(element.child('NonseasonalComponent'), 1, ['p', 'd', 'q']);
  const seasonalElement = element.child('SeasonalComponent');
  const period = seasonalElement?.requiredNumber('period') ?? 1;
  const seasonal = component(seasonalElement, period, ['P', 'D', 'Q']);
  const history = storedValues(model).map(scale.to);
  return arma({
    constant: element.number('constantTerm', 0),
    regression: product(
      product(plain.regression, seasonal.regression),
      product(plain.differences, seasonal.differences),
    ),
    average: product(plain.average, seasonal.average),
    history,
    shocks: plain.shocks ?? seasonal.shocks,
    deviation: element.number('RMSE', Number.NaN),
    from: scale.from,
    element,
  });
}

interface Component {
  readonly regression: Polynomial;
  readonly differences: Polynomial;
  readonly average: Polynomial;
  /** The latest shocks, oldest first. */
  readonly shocks: Float64Array | undefined;
}

function component(element: Element | undefined, period: number, names: readonly [string, string, string]): Component {
  if (!(Number.isInteger(period) && period >= 1 && period <= ORDER_MAX))
    throw new PmmlError(
      element ?? { name: 'SeasonalComponent', line: 0, offset: 0 },
      `'period' is '${period}'; it is 1 to ${ORDER_MAX}`,
    );
  if (element === undefined)
    return {
      regression: Float64Array.of(1),
      differences: Float64Array.of(1),
      average: Float64Array.of(1),
      shocks: undefined,
    };
  const [p, d, q] = names;
  const moving = element.child('MA');
  const residuals = moving?.child('Residuals');
  let differences: Polynomial = Float64Array.of(1);
  const order = element.number(d, 0);
  if (!(Number.isInteger(order) && order >= 0 && order <= 10))
    throw new PmmlError(element, `'${d}' is '${order}'; it is 0 to 10`);
  for (let i = 0; i < order; i++) differences = product(differences, lagged(Float64Array.of(1), period));
  return {
    regression: lagged(coefficients(element, element.child('AR'), p), period),
    differences,
    average: lagged(coefficients(element, moving?.child('MACoefficients'), q), period),
    shocks: residuals === undefined ? undefined : readNumbers(arrayIn(residuals)),
  };
}

function coefficients(element: Element, holder: Element | undefined, order: string): Float64Array {
  const count = element.number(order, 0);
  const found = holder === undefined ? new Float64Array() : readNumbers(arrayIn(holder));
  if (found.length !== count)
    throw new PmmlError(holder ?? element, `holds ${found.length} coefficients; '${order}' is ${count}`);
  return found;
}

/** 1 - a₁ B^s - a₂ B^2s - … */
function lagged(factors: Float64Array, period: number): Polynomial {
  const polynomial = new Float64Array(factors.length * period + 1);
  polynomial[0] = 1;
  factors.forEach((factor, i) => {
    polynomial[(i + 1) * period] = -factor;
  });
  return polynomial;
}

function product(a: Polynomial, b: Polynomial): Polynomial {
  const result = new Float64Array(a.length + b.length - 1);
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < b.length; j++) result[i + j] = (result[i + j] as number) + (a[i] as number) * (b[j] as number);
  return result;
}

export interface ArmaForm {
  readonly constant: number;
  /** Polynomials of the left and of the right side, from lag 0 (1). */
  readonly regression: Polynomial;
  readonly average: Polynomial;
  readonly history: Float64Array;
  readonly shocks: Float64Array | undefined;
  readonly deviation: number;
  readonly from: (value: number) => number;
  readonly element: Element;
}

/** Forecasts of one step after the other, remembered. */
export function arma(form: ArmaForm): Forecaster {
  const { regression, average, history, constant, from, element } = form;
  const lags = regression.length - 1;
  if (history.length < lags) throw new PmmlError(element, `needs ${lags} stored values; there are ${history.length}`);
  const shocks = form.shocks === undefined ? shocksOf(form) : aligned(form.shocks, history.length);
  const values = [...history];
  const step = (): void => {
    const at = values.length;
    let value = constant;
    for (let lag = 1; lag <= lags; lag++) value -= (regression[lag] as number) * (values[at - lag] as number);
    // Shocks to come are 0.
    for (let lag = 1; lag < average.length; lag++) value += (average[lag] as number) * (shocks[at - lag] ?? 0);
    values.push(value);
  };
  return {
    bytes: (lags + average.length + history.length * 2) * 8,
    forecast: (count): Forecast => {
      while (values.length < history.length + count) step();
      return {
        value: from(values[history.length + count - 1] as number),
        deviation: count === 1 ? form.deviation : Number.NaN,
      };
    },
  };
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

/** 1 - a₁ B - a₂ B² - …, for other models of this kind. */
export function polynomialOf(factors: Float64Array): Polynomial {
  return lagged(factors, 1);
}
