import { type Element, PmmlError } from '../../document/element.ts';
import { LOOK_BACK_MAX } from '../../fields/look-back.ts';
import { numericField } from '../../fields/numeric-fields.ts';
import { readDistribution } from '../distribution.ts';
import { type Model, type ModelContext, Prediction } from '../model.ts';
import { readCounts, type Score } from './counts.ts';

export const BASELINE_STATISTICS = [
  'zValue',
  'CUSUM',
  'chiSquareIndependence',
  'chiSquareDistribution',
  'scalarProduct',
] as const;

/**
 * BaselineModel: how far a value, or the values so far, are from what is usual (docs/spec/pmml-clusters.md#baselines). What
 * goes on from record to record begins anew with each series of records (`Row.series`).
 */
export function compileBaseline(context: ModelContext): Model {
  const { element } = context;
  const tests = element.child('TestDistributions');
  if (tests === undefined) throw new PmmlError(element, 'there are no TestDistributions');
  const name = tests.required('field');
  const score = scoreOf(context, tests);
  const prediction = new Prediction();
  return {
    prediction,
    bytes: 500,
    evaluate: (row) => {
      prediction.clear();
      prediction.setNumber(score(row));
    },
    explain: (_, trace) => {
      trace.line('[BaselineModel]');
      trace.line(`The [${tests.required('testStatistic')}] of [${name}] is [${prediction.number}]`);
    },
  };
}

function scoreOf(context: ModelContext, tests: Element): Score {
  const statistic = tests.oneOf('testStatistic', BASELINE_STATISTICS, tests.required('testStatistic') as 'zValue');
  const baseline = tests.child('Baseline');
  if (baseline === undefined) throw new PmmlError(tests, 'the Baseline is missing');
  switch (statistic) {
    case 'zValue':
      return zValue(context, tests, baseline);
    case 'CUSUM':
      return cumulativeSum(context, tests, baseline);
    default:
      return readCounts(statistic, tests, baseline, context);
  }
}

function zValue({ scope }: ModelContext, tests: Element, baseline: Element): Score {
  const field = numericField(scope, tests.required('field'), tests);
  const { mean, variance } = readDistribution(baseline);
  const deviation = Math.sqrt(variance);
  return (row) => (field.number(row) - mean) / deviation;
}

/** A missing value leaves the sum as it is. */
function cumulativeSum({ scope }: ModelContext, tests: Element, baseline: Element): Score {
  const field = numericField(scope, tests.required('field'), tests);
  const alternate = tests.child('Alternate');
  if (alternate === undefined) throw new PmmlError(tests, 'CUSUM needs an Alternate');
  const before = readDistribution(baseline).logDensity;
  const after = readDistribution(alternate).logDensity;
  const reset = tests.number('resetValue', 0);
  // Of a large file the parts begin with the records before them.
  scope.names.lookBack.add(LOOK_BACK_MAX, field.ensure !== undefined);
  let sum = 0;
  let series = -1;
  return (row) => {
    if (row.series !== series) {
      series = row.series;
      sum = 0;
    }
    const x = field.number(row);
    if (Number.isNaN(x)) return Number.NaN;
    sum = Math.max(reset, sum + after(x) - before(x));
    return sum;
  };
}
