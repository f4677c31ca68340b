import { arrayIn, readNumbers } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import { type Algorithm, type Forecaster, scaleOf, storedValues } from './forecaster.ts';

const TRENDS = [
  'additive',
  'damped_additive',
  'multiplicative',
  'damped_multiplicative',
  'polynomial_exponential',
  // Names of PMML 4.0.
  'damped_trend',
  'double_exponential',
  'none',
] as const;

/** ExponentialSmoothing: level, trend and season at the end of the series, and how they go on. */
export function readSmoothing({ element, model }: Algorithm): Forecaster {
  const level = element.child('Level');
  if (level === undefined) throw new PmmlError(element, 'the Level is missing');
  const scale = scaleOf(element);
  // PMML 4.0 has the shorter names.
  const trend = trendOf(element.child('Trend_ExpoSmooth') ?? element.child('Trend'));
  const season = seasonOf(element.child('Seasonality_ExpoSmooth') ?? element.child('Seasonality'));
  const start = level.number('smoothedValue') ?? smoothedLevel(level, storedValues(model), scale.to);
  const deviation = element.number('RMSE', Number.NaN);
  return {
    bytes: 500,
    forecast: (step) => [
      {
        value: scale.from(season(trend(start, step), step)),
        deviation: step === 1 && scale.isPlain ? deviation : Number.NaN,
      },
    ],
  };
}

/** Level after the stored values, where the document does not tell it. */
function smoothedLevel(level: Element, values: Float64Array, to: (value: number) => number): number {
  const alpha = level.number('alpha');
  if (alpha === undefined || values.length === 0)
    throw new PmmlError(level, "has no 'smoothedValue', and there are no alpha and stored values to compute it from");
  return values.slice(1).reduce((sum, value) => alpha * to(value) + (1 - alpha) * sum, to(values[0] as number));
}

function trendOf(element: Element | undefined): (level: number, step: number) => number {
  const kind = element?.oneOf('trend', TRENDS, 'additive') ?? 'none';
  if (element === undefined || kind === 'none') return (level) => level;
  if (kind === 'polynomial_exponential') {
    const coefficients = readNumbers(arrayIn(element));
    return (level, step) =>
      level + coefficients.reduce((sum, coefficient, i) => sum + coefficient * step ** (i + 1), 0);
  }
  const slope = element.requiredNumber('smoothedValue');
  if (kind === 'multiplicative') return (level, step) => level * slope ** step;
  const phi = element.number('phi', 1);
  // φ + φ² + … + φ^step
  const damped = (step: number): number => (phi === 1 ? step : (phi * (1 - phi ** step)) / (1 - phi));
  if (kind === 'damped_multiplicative') return (level, step) => level * slope ** damped(step);
  if (kind === 'damped_additive' || kind === 'damped_trend') return (level, step) => level + slope * damped(step);
  return (level, step) => level + slope * step;
}

/** `phase` is the place in the period of the last stored value; the first forecast is of the next one. */
function seasonOf(element: Element | undefined): (value: number, step: number) => number {
  if (element === undefined) return (value) => value;
  const factors = readNumbers(arrayIn(element));
  const period = element.requiredNumber('period');
  if (factors.length !== period) throw new PmmlError(element, `holds ${factors.length} numbers; 'period' is ${period}`);
  const phase = element.number('phase', period);
  const factor = (step: number): number => factors[(phase + step - 1) % period] as number;
  const isAdditive = element.oneOf('type', ['additive', 'multiplicative'] as const, 'additive') === 'additive';
  return isAdditive ? (value, step) => value + factor(step) : (value, step) => value * factor(step);
}
