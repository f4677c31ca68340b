import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { type Model, type ModelContext, Prediction } from '../model.ts';
import { readArima } from './arima.ts';
import type { Algorithm, Forecast, Forecaster } from './forecaster.ts';
import { readGarch } from './garch.ts';
import { regressorFields } from './regressors.ts';
import { readSmoothing } from './smoothing.ts';
import { readStateSpace } from './state-space.ts';
import { highestOf } from '../../math/vectors.ts';

/** Steps that a forecast goes ahead at most. */
const STEPS_MAX = 100_000;

export const TIME_SERIES_ALGORITHMS: Readonly<Record<string, (algorithm: Algorithm) => Forecaster>> = {
  ExponentialSmoothing: readSmoothing,
  ARIMA: readArima,
  GARCH: readGarch,
  StateSpaceModel: readStateSpace,
};

/** Algorithms that the standard names and does not define. */
const UNDEFINED_ALGORITHMS: readonly string[] = ['SeasonalTrendDecomposition', 'SpectralAnalysis'];

/**
 * TimeSeriesModel: the forecast for a step after the last stored value (docs/spec/pmml-clusters.md#time-series). The step, from
 * 1, is the value of the active field, called `h` where the model declares none; without a value it is 1. A field of times is
 * counted from the end of the stored series.
 */
export function compileTimeSeries(context: ModelContext): Model {
  const { element } = context;
  const bestFit = element.required('bestFit');
  if (UNDEFINED_ALGORITHMS.includes(bestFit))
    throw new PmmlError(element, `'bestFit' is '${bestFit}', which the standard names and does not define`);
  const read = Object.hasOwn(TIME_SERIES_ALGORITHMS, bestFit) ? TIME_SERIES_ALGORITHMS[bestFit] : undefined;
  if (read === undefined)
    throw new PmmlError(
      element,
      `'bestFit' is '${bestFit}'; it may be ${Object.keys(TIME_SERIES_ALGORITHMS).join(', ')}`,
    );
  const fit = element.child(bestFit);
  if (fit === undefined) throw new PmmlError(element, `the ${bestFit} is missing`);
  const forecaster = read({ element: fit, model: element, scope: context.scope });
  const stepOf = stepReader(context);
  const stepsMax = Math.min(STEPS_MAX, forecaster.stepsMax ?? STEPS_MAX);
  const prediction = new Prediction();
  const others = context.targets.length > 1 ? context.targets.map(() => new Prediction()) : [];
  if (others.length > 0)
    prediction.others = new Map(context.targets.map(({ name }, i) => [name, others[i] as Prediction]));
  return {
    prediction,
    bytes: forecaster.bytes,
    evaluate: (row) => {
      prediction.clear();
      for (const other of others) other.clear();
      const step = stepOf(row);
      if (!(step >= 1 && step <= stepsMax)) return;
      forecaster.forecast(step, row).forEach((forecast, i) => {
        const other = others[i];
        if (i === 0) tell(prediction, forecast);
        if (other !== undefined) tell(other, forecast);
      });
    },
    explain: (row, trace) => {
      trace.line('[TimeSeriesModel]');
      trace.line(`The forecast of [${bestFit}] for the step [${stepOf(row)}] is [${prediction.number}]`);
    },
  };
}

function tell(prediction: Prediction, { value, deviation }: Forecast): void {
  prediction.setNumber(value);
  prediction.standardDeviation = deviation;
  prediction.standardError = deviation;
}

function stepReader(context: ModelContext): (row: Row) => number {
  const { element, scope } = context;
  const regressors = regressorFields(element);
  const steps = context.activeFields.filter(
    (active) => !regressors.has(active) && scope.find(active, element)?.type !== 'string',
  );
  const name = steps.find((active) => active === 'h') ?? steps[0] ?? 'h';
  const field = scope.find(name, element);
  if (field === undefined) return () => 1;
  const toSteps = clockOf(element, name);
  return (row) => {
    const given = field.number(row);
    return Number.isNaN(given) ? 1 : Math.round(toSteps(given));
  };
}

/** How a value of the active field becomes a number of steps. */
function clockOf(element: Element, name: string): (given: number) => number {
  const series = element.child('TimeSeries');
  const anchor = series?.child('TimeAnchor');
  if (anchor === undefined || name === 'h') return (given) => given;
  const stepsize = anchor.number('stepsize', 1);
  const times = (series?.childrenOf('TimeValue') ?? [])
    .map((value) => value.number('time'))
    .filter((time) => time !== undefined);
  const last = times.length === 0 ? undefined : highestOf(times);
  return last === undefined ? (given) => given : (given) => (given - last) / stepsize;
}
