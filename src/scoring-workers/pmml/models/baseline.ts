import { type Element, PmmlError } from '../document/element.ts';
import { numericField } from '../fields/numeric-fields.ts';
import { readDistribution } from './distribution.ts';
import { type Model, type ModelContext, Prediction } from './model.ts';

/**
 * BaselineModel: how far a value, or the values so far, are from what is usual (Baseline Models of the standard). CUSUM
 * goes on from record to record in the order in which this model scores them.
 */
export function compileBaseline(context: ModelContext): Model {
  const { element, scope } = context;
  const tests = element.child('TestDistributions');
  if (tests === undefined) throw new PmmlError(element, 'there are no TestDistributions');
  const field = numericField(scope, tests.required('field'), tests);
  const score = testOf(tests);
  const prediction = new Prediction();
  return {
    prediction,
    bytes: 500,
    evaluate: (row) => {
      const x = field.number(row);
      prediction.setNumber(Number.isNaN(x) ? Number.NaN : score(x));
    },
    explain: (row, trace) => {
      trace.line('[BaselineModel]');
      trace.line(
        `The [${tests.required('testStatistic')}] of [${field.name}] [${field.number(row)}] is [${prediction.number}]`,
      );
    },
  };
}

function testOf(tests: Element): (x: number) => number {
  const statistic = tests.required('testStatistic');
  const baseline = tests.child('Baseline');
  if (baseline === undefined) throw new PmmlError(tests, 'the Baseline is missing');
  if (statistic === 'zValue') {
    const { mean, variance } = readDistribution(baseline);
    const deviation = Math.sqrt(variance);
    return (x) => (x - mean) / deviation;
  }
  if (statistic !== 'CUSUM')
    throw new PmmlError(tests, `'testStatistic' is '${statistic}'; zValue and CUSUM are supported`);
  const alternate = tests.child('Alternate');
  if (alternate === undefined) throw new PmmlError(tests, 'CUSUM needs an Alternate');
  const before = readDistribution(baseline).logDensity;
  const after = readDistribution(alternate).logDensity;
  const reset = tests.number('resetValue', 0);
  let sum = 0;
  return (x) => {
    sum = Math.max(reset, sum + after(x) - before(x));
    return sum;
  };
}
