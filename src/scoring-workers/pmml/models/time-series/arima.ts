import { type Element, PmmlError } from '../../document/element.ts';
import { Arma } from './arma.ts';
import { type Algorithm, type Forecaster, numbersIn, scaleOf, storedSeries } from './forecaster.ts';
import { type OutlierEffect, readOutliers } from './outliers.ts';
import { differences, moving, ONE, type Polynomial, product, regressive } from './polynomial.ts';
import { readRegressors } from './regressors.ts';
import { readKalmanState } from './state-space.ts';

const ORDER_MAX = 10_000;
const DIFFERENCES_MAX = 10;

/**
 * ARIMA, with seasons, regressors and outliers: φ(B) Φ(B^s) [(1-B)^d (1-B^s)^D n - μ] = θ(B) Θ(B^s) e, where n is the series
 * without what regressors and outliers add. φ has the form 1 - a B - …, θ 1 + a B + …, as Zementis writes them
 * (docs/spec/pmml-clusters.md#time-series). Shocks of the past are those of the document; where it has none they are computed
 * from the stored values, before which all is 0.
 */
export function readArima(algorithm: Algorithm): Forecaster {
  const { element } = algorithm;
  const method = element.oneOf(
    'predictionMethod',
    ['conditionalLeastSquares', 'exactLeastSquares'] as const,
    'conditionalLeastSquares',
  );
  const ofState = method === 'exactLeastSquares' ? readKalmanState(algorithm) : undefined;
  if (ofState !== undefined) return ofState;
  const scale = scaleOf(element);
  const plain = component(element.child('NonseasonalComponent'), 1, ['p', 'd', 'q']);
  const seasonalElement = element.child('SeasonalComponent');
  const period = periodOf(seasonalElement);
  const seasonal = component(seasonalElement, period, ['P', 'D', 'Q']);
  const series = storedSeries(algorithm.model);
  const regressors = readRegressors(algorithm, series, period);
  const outliers = readOutliers(element, series, period);
  const regression = product(plain.regression, seasonal.regression);
  const history = series.values.map(
    (value, at) => scale.to(value) - regressors.past(at) - effectOf(outliers, at - series.values.length + 1),
  );
  const noise = new Arma({
    constant: element.number('constantTerm', 0) * regression.reduce((sum, factor) => sum + factor, 0),
    regression: product(regression, product(plain.differences, seasonal.differences)),
    average: product(plain.average, seasonal.average),
    history,
    shocks: longest(plain.shocks, seasonal.shocks),
    sigma: element.number('RMSE', Number.NaN),
    element,
  });
  return {
    bytes: noise.bytes + regressors.bytes,
    forecast: (step, row) => {
      const { value, deviation } = noise.forecast(step);
      return [
        {
          value: scale.from(value + regressors.future(step, row) + effectOf(outliers, step)),
          deviation: scale.isPlain ? deviation : Number.NaN,
        },
      ];
    },
  };
}

/** @param step after the last stored value, which is step 0 */
function effectOf(outliers: readonly OutlierEffect[], step: number): number {
  let sum = 0;
  for (const effect of outliers) sum += effect(step);
  return sum;
}

/** Both components may tell the latest shocks: those of the seasonal one reach further back. */
function longest(a: Float64Array | undefined, b: Float64Array | undefined): Float64Array | undefined {
  return a === undefined || (b !== undefined && b.length > a.length) ? b : a;
}

interface Component {
  readonly regression: Polynomial;
  readonly differences: Polynomial;
  readonly average: Polynomial;
  /** The latest shocks, oldest first. */
  readonly shocks: Float64Array | undefined;
}

function periodOf(element: Element | undefined): number {
  if (element === undefined) return 1;
  const period = element.requiredNumber('period');
  if (!(Number.isInteger(period) && period >= 1 && period <= ORDER_MAX))
    throw new PmmlError(element, `'period' is '${period}'; it is 1 to ${ORDER_MAX}`);
  return period;
}

function component(element: Element | undefined, period: number, names: readonly [string, string, string]): Component {
  if (element === undefined) return { regression: ONE, differences: ONE, average: ONE, shocks: undefined };
  const [p, d, q] = names;
  const average = element.child('MA');
  const residuals = average?.child('Residuals');
  const order = element.number(d, 0);
  if (!(Number.isInteger(order) && order >= 0 && order <= DIFFERENCES_MAX))
    throw new PmmlError(element, `'${d}' is '${order}'; it is 0 to ${DIFFERENCES_MAX}`);
  return {
    regression: regressive(coefficients(element, element.child('AR'), p), period),
    differences: differences(order, period),
    average: moving(coefficients(element, average?.child('MACoefficients'), q), period),
    shocks: residuals === undefined ? undefined : numbersIn(residuals),
  };
}

function coefficients(element: Element, holder: Element | undefined, order: string): Float64Array {
  const found = numbersIn(holder);
  const count = element.number(order, found.length);
  if (found.length !== count)
    throw new PmmlError(holder ?? element, `holds ${found.length} coefficients; '${order}' is ${count}`);
  return found;
}
