import { type Element, PmmlError } from '../document/element.ts';
import { categoryIndex } from '../fields/category.ts';
import type { Field } from '../fields/field.ts';
import type { Row } from '../fields/row.ts';
import { computedField } from '../fields/scope.ts';
import { textOf } from '../fields/types.ts';
import { dataTypeOf, opTypeFor, opTypeOf } from '../fields/data-field.ts';
import { categoryOf, type Model, type ModelContext, Prediction, type Trace } from './model.ts';
import { type Distribution, readDistribution } from './distribution.ts';

/** Adds the logarithm of the probability of a field's value, given each target category; nothing where it says nothing. */
type AddEvidence = (row: Row, sums: Float64Array) => void;

/**
 * NaiveBayesModel: the category whose prior count, times the probabilities of the values given it, is the highest (Naive
 * Bayes of the standard). Products are sums of logarithms. A missing value, and a category that the model does not know,
 * say nothing.
 */
export function compileNaiveBayes(context: ModelContext): Model {
  const { element } = context;
  const { texts, priors } = readPriors(context);
  const targets = new Map(texts.map((text, index) => [text, index]));
  const threshold = element.requiredNumber('threshold');
  const inputs = inputsOf(element).map((input) => evidence(input, targets, threshold, context));
  if (inputs.length === 0) throw new PmmlError(element, 'there are no BayesInputs');
  const categories = texts.map((text) => categoryOf(text, context.target));
  const prediction = new Prediction(categories);
  const sums = new Float64Array(categories.length);
  return {
    prediction,
    bytes: inputs.length * 400 + inputs.length * categories.length * 16,
    evaluate: (row) => {
      prediction.clear();
      sums.set(priors);
      for (let i = 0; i < inputs.length; i++) (inputs[i] as AddEvidence)(row, sums);
      normalise(sums, prediction.probabilities);
      prediction.setMostProbable();
    },
    explain: (row, trace) => explain(row, trace, prediction, priors, inputs),
  };
}

/** The inputs in the order of the document; those of numbers stood in an Extension before PMML 4.2 had them. */
function inputsOf(element: Element): Element[] {
  const holder = element.child('BayesInputs');
  if (holder === undefined) return [];
  const extended = holder.extensions.flatMap((extension) => extension.childrenOf('BayesInput'));
  return [...holder.childrenOf('BayesInput'), ...extended].sort((a, b) => a.offset - b.offset);
}

/** The categories with the logarithms of their counts; without a BayesOutput all declared ones are as likely. */
function readPriors(context: ModelContext): { texts: readonly string[]; priors: Float64Array } {
  const { element, target } = context;
  const output = element.child('BayesOutput');
  const counts = output?.child('TargetValueCounts')?.childrenOf('TargetValueCount') ?? [];
  if (counts.length > 0)
    return {
      texts: counts.map((count) => count.required('value')),
      priors: Float64Array.from(counts, (count) => Math.log(count.requiredNumber('count'))),
    };
  const declared = (target?.data?.valid ?? []).map((value) => textOf(value, target?.type));
  if (output !== undefined || declared.length === 0)
    throw new PmmlError(output ?? element, 'there are no TargetValueCounts of the target');
  context.problems.warn(
    element,
    'the BayesOutput is missing: all categories are as likely before the inputs are looked at',
  );
  return { texts: declared, priors: new Float64Array(declared.length) };
}

/** Probabilities from logarithms of their products; none where all of them are 0. */
function normalise(logarithms: Float64Array, probabilities: Float64Array): void {
  let highest = Number.NEGATIVE_INFINITY;
  for (const logarithm of logarithms) highest = Math.max(highest, logarithm);
  if (highest === Number.NEGATIVE_INFINITY) {
    probabilities.fill(Number.NaN);
    return;
  }
  let sum = 0;
  for (let i = 0; i < logarithms.length; i++) {
    const share = Math.exp((logarithms[i] as number) - highest);
    probabilities[i] = share;
    sum += share;
  }
  for (let i = 0; i < probabilities.length; i++) probabilities[i] = (probabilities[i] as number) / sum;
}

function evidence(
  input: Element,
  targets: ReadonlyMap<string, number>,
  threshold: number,
  context: ModelContext,
): AddEvidence {
  const stats = input.child('TargetValueStats');
  const field = inputField(input, context);
  if (stats !== undefined) return continuous(stats, field, targets, threshold, input);
  const pairs = input.childrenOf('PairCounts');
  if (pairs.length === 0) throw new PmmlError(input, 'has neither PairCounts nor TargetValueStats');
  return discrete(pairs, field, targets, threshold, input, context);
}

/** The field of an input, or its own DerivedField that makes categories of it. */
function inputField(input: Element, context: ModelContext): Field {
  const derived = input.child('DerivedField');
  if (derived === undefined) return context.scope.field(input.required('fieldName'), input);
  const child = context.scope.names.findExpression(derived);
  if (child === undefined) throw new PmmlError(derived, 'has no expression');
  const expression = context.expression(child);
  const type = dataTypeOf(derived) ?? expression.type ?? 'string';
  return computedField({
    name: derived.attribute('name') ?? input.required('fieldName'),
    type,
    optype: opTypeOf(derived) ?? opTypeFor(type),
    expression,
    slots: context.scope.names.slots,
  });
}

function continuous(
  stats: Element,
  field: Field,
  targets: ReadonlyMap<string, number>,
  threshold: number,
  input: Element,
): AddEvidence {
  const distributions: (Distribution | undefined)[] = Array.from({ length: targets.size }, () => undefined);
  for (const stat of stats.childrenOf('TargetValueStat')) {
    const index = targets.get(stat.required('value'));
    if (index === undefined)
      throw new PmmlError(stat, `'${stat.required('value')}' is not a category of the BayesOutput`);
    distributions[index] = readDistribution(stat);
  }
  if (field.type === 'string')
    throw new PmmlError(input, `'${field.name}' is a field of texts; TargetValueStats are about numbers`);
  const lowest = Math.log(threshold);
  return (row, sums) => {
    const x = field.number(row);
    if (Number.isNaN(x)) return;
    for (let i = 0; i < sums.length; i++) {
      const logarithm = distributions[i]?.logDensity(x) ?? Number.NEGATIVE_INFINITY;
      sums[i] = (sums[i] as number) + Math.max(logarithm, lowest);
    }
  };
}

function discrete(
  pairs: readonly Element[],
  field: Field,
  targets: ReadonlyMap<string, number>,
  threshold: number,
  input: Element,
  context: ModelContext,
): AddEvidence {
  const width = targets.size;
  const counts = new Float64Array(pairs.length * width);
  const totals = new Float64Array(width);
  for (const [at, pair] of pairs.entries()) {
    for (const count of pair.child('TargetValueCounts')?.childrenOf('TargetValueCount') ?? []) {
      const index = targets.get(count.required('value'));
      if (index === undefined)
        throw new PmmlError(count, `'${count.required('value')}' is not a category of the BayesOutput`);
      const number = count.requiredNumber('count');
      counts[at * width + index] = number;
      totals[index] = (totals[index] as number) + number;
    }
  }
  const logarithms = counts.map((count, i) => {
    const probability = count / (totals[i % width] as number);
    return Math.log(Math.max(Number.isNaN(probability) ? 0 : probability, threshold));
  });
  const indexOf = categoryIndex(
    field,
    pairs.map((pair) => pair.required('value')),
    input,
    context.problems,
  );
  return (row, sums) => {
    const at = indexOf(row);
    if (at < 0) return;
    for (let i = 0; i < width; i++) sums[i] = (sums[i] as number) + (logarithms[at * width + i] as number);
  };
}

function explain(
  row: Row,
  trace: Trace,
  prediction: Prediction,
  priors: Float64Array,
  inputs: readonly AddEvidence[],
): void {
  trace.line('[NaiveBayesModel]');
  const sums = Float64Array.from(priors);
  const show = (what: string): void =>
    prediction.categories.forEach((category, i) => {
      trace.line(`${what}, the logarithm of the likelihood of [${String(category)}] is [${sums[i]}]`);
    });
  show('Applied the prior counts');
  inputs.forEach((add, index) => {
    add(row, sums);
    show(`Applied [BayesInput] [${index}]`);
  });
}
