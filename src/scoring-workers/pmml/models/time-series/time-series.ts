import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { type Model, type ModelContext, Prediction } from '../model.ts';
import { readArima } from './arima.ts';
import type { Forecaster } from './forecaster.ts';
import { readGarch } from './garch.ts';
import { readSmoothing } from './smoothing.ts';
import { readStateSpace } from './state-space.ts';

/** Steps that a forecast goes ahead at most. */
const STEPS_MAX = 100_000;

const READERS: Readonly<Record<string, (element: Element, model: Element) => Forecaster>> = {
  ExponentialSmoothing: readSmoothing,
  ARIMA: readArima,
  GARCH: readGarch,
  StateSpaceModel: readStateSpace,
};

/**
 * TimeSeriesModel: the forecast for a step after the last stored value (Time Series Models of the standard). The step, from
 * 1, is the value of the active field, called `h` where the model declares none; without a value it is 1. A field of times is
 * counted from the end of the stored series.
 */
export function compileTimeSeries(context: ModelContext): Model {
  const { element } = context;
  const bestFit = element.required('bestFit');
  const read = Object.hasOwn(READERS, bestFit) ? READERS[bestFit] : undefined;
  if (read === undefined)
    throw new PmmlError(element, `'bestFit' is '${bestFit}'; it may be ${Object.keys(READERS).join(', ')}`);
  const fit = element.child(bestFit);
  if (fit === undefined) throw new PmmlError(element, `the ${bestFit} is missing`);
  const forecaster = read(fit, element);
  const stepOf = stepReader(context);
  const prediction = new Prediction();
  return {
    prediction,
    bytes: forecaster.bytes,
    evaluate: (row) => {
      prediction.clear();
      const step = stepOf(row);
      if (!(step >= 1 && step <= STEPS_MAX)) return;
      const { value, deviation } = forecaster.forecast(step);
      prediction.setNumber(value);
      prediction.standardDeviation = deviation;
      prediction.standardError = deviation;
    },
    explain: (row, trace) => {
      trace.line('[TimeSeriesModel]');
      trace.line(`The forecast of [${bestFit}] for the step [${stepOf(row)}] is [${prediction.number}]`);
    },
  };
}

function stepReader(context: ModelContext): (row: Row) => number {
  const { element, scope } = context;
  const name = context.activeFields.find((active) => scope.find(active, element)?.type !== 'string') ?? 'h';
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
  const last = times.length === 0 ? undefined : Math.max(...times);
  return last === undefined ? (given) => given : (given) => (given - last) / stepsize;
}
