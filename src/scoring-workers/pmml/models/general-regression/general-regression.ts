/** GeneralRegressionModel: every type of the standard (docs/spec/pmml-equations.md#general-regression). */
import { PmmlError } from '../../document/element.ts';
import { numericField } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import { textOf, type Value } from '../../fields/types.ts';
import { identity, type InverseLink } from '../links.ts';
import { warnOfFloat } from '../math-context.ts';
import { categoryOf, type CompileModel, type Model, type ModelContext, Prediction } from '../model.ts';
import { cellsByCategory, Coefficients, shown } from './coefficients.ts';
import { readBaseline } from './cox.ts';
import { Design } from './design.ts';
import { readCumulativeLink, readLink } from './links.ts';
import { readStandardError, warnOfStandardError } from './standard-error.ts';

export const GENERAL_TYPES = [
  'regression',
  'generalLinear',
  'multinomialLogistic',
  'ordinalMultinomial',
  'generalizedLinear',
  'CoxRegression',
] as const;

export const compileGeneralRegression: CompileModel = (context) => {
  const { element, functionName } = context;
  element.required('modelType');
  warnOfFloat(context);
  const type = element.oneOf('modelType', GENERAL_TYPES, 'regression');
  if (type !== 'regression' && type !== 'generalLinear')
    warnOfStandardError(context, `a standard error is computed for regression and generalLinear, not for ${type}`);
  switch (type) {
    case 'multinomialLogistic':
    case 'ordinalMultinomial':
      return classification(context, type);
    case 'CoxRegression':
      return cox(context);
    case 'generalizedLinear':
      return functionName === 'classification' ? classification(context, type) : regression(context, readLink(element));
    default:
      if (functionName === 'classification')
        throw new PmmlError(element, `'modelType' is '${type}', which is not for a classification`);
      return regression(context, identity);
  }
};

/** A number of the model or of a field: the offset and the trials. */
function numberOrField(context: ModelContext, names: { variable: string; value: string }): (row: Row) => number {
  const { element, scope } = context;
  const name = element.attribute(names.variable);
  if (name === undefined) {
    const number = element.number(names.value, names.value === 'trialsValue' ? 1 : 0);
    return () => number;
  }
  const field = numericField(scope, name, element);
  return (row) => field.number(row);
}

const readOffset = (context: ModelContext): ((row: Row) => number) =>
  numberOrField(context, { variable: 'offsetVariable', value: 'offsetValue' });

/** The coefficients of a model with one linear predictor. The design is not finished. */
function onlyCoefficients(
  context: ModelContext,
  design: Design,
): { readonly coefficients: Coefficients; readonly category: string | undefined } {
  const { element, target } = context;
  const groups = [...cellsByCategory(element, target)];
  const [first] = groups;
  if (groups.length > 1)
    throw new PmmlError(element, 'has coefficients of several target categories; a regression has one list of them');
  if (first === undefined && element.attribute('modelType') !== 'CoxRegression')
    throw new PmmlError(element, 'has no PCell in its ParamMatrix');
  return { coefficients: new Coefficients(first?.[1] ?? [], design, first?.[0]), category: first?.[0] };
}

function regression(context: ModelContext, link: InverseLink): Model {
  const isGeneralized = context.element.attribute('modelType') === 'generalizedLinear';
  const design = new Design(context);
  const { coefficients, category } = onlyCoefficients(context, design);
  const standardError = isGeneralized ? undefined : readStandardError(context, design, category);
  design.finish();
  const offset = isGeneralized ? readOffset(context) : () => 0;
  const trials = numberOrField(context, { variable: 'trialsVariable', value: 'trialsValue' });
  const prediction = new Prediction();
  const linear = (row: Row): number => coefficients.dot(design.values) + offset(row);
  return {
    prediction,
    bytes: design.bytes + coefficients.bytes,
    evaluate(row) {
      design.compute(row);
      const mean = link(linear(row));
      prediction.setNumber(isGeneralized ? mean * trials(row) : mean);
      if (standardError !== undefined) prediction.standardError = standardError(design.values);
    },
    explain(row, trace) {
      trace.line('[GeneralRegression]');
      coefficients.explain(design.values, trace);
      if (isGeneralized) trace.line(`The offset is [${shown(offset(row))}]`);
      trace.line(`The linear predictor is [${shown(linear(row))}]`);
      if (isGeneralized) trace.line(`Value after the link function is [${shown(prediction.number)}]`);
    },
  };
}

function cox(context: ModelContext): Model {
  const { element } = context;
  const design = new Design(context);
  const { coefficients } = onlyCoefficients(context, design);
  design.finish();
  const baseline = readBaseline(context);
  const points = new Map<string, number>();
  for (const parameter of element.child('ParameterList')?.childrenOf('Parameter') ?? [])
    points.set(parameter.required('name'), parameter.number('referencePoint', 0));
  let reference = 0;
  for (const cell of element.child('ParamMatrix')?.childrenOf('PCell') ?? []) {
    const name = cell.required('parameterName');
    const point = points.get(name);
    if (point === undefined) throw new PmmlError(cell, `no Parameter has the name '${name}'`);
    reference += cell.requiredNumber('beta') * point;
  }
  const prediction = new Prediction();
  return {
    prediction,
    bytes: design.bytes + coefficients.bytes + baseline.bytes,
    evaluate(row) {
      const hazard = baseline.at(row);
      // Before the first time of the table nothing has happened, whatever the predictors are.
      if (hazard === 0 || Number.isNaN(hazard)) {
        prediction.setNumber(hazard);
        return;
      }
      design.compute(row);
      prediction.setNumber(Math.exp(coefficients.dot(design.values) - reference) * hazard);
    },
    explain(row, trace) {
      trace.line('[GeneralRegression]');
      const hazard = baseline.at(row);
      trace.line(`The cumulative hazard of the baseline is [${shown(hazard)}]`);
      if (hazard === 0 || Number.isNaN(hazard)) return;
      coefficients.explain(design.values, trace);
      trace.line(
        `The linear predictor is [${shown(coefficients.dot(design.values))}], at the reference [${shown(reference)}]`,
      );
      trace.line(`The cumulative hazard is [${shown(prediction.number)}]`);
    },
  };
}

function classification(
  context: ModelContext,
  type: 'multinomialLogistic' | 'ordinalMultinomial' | 'generalizedLinear',
): Model {
  const { element, target } = context;
  const groups = cellsByCategory(element, target);
  const texts = readCategories(context, groups, type);
  const last = texts.length - 1;
  if (type === 'generalizedLinear' && texts.length !== 2)
    throw new PmmlError(element, `the target has ${texts.length} categories; a generalized linear model has two`);
  const design = new Design(context);
  const common = groups.get('') ?? [];
  const each = texts.slice(0, last).map((text) => {
    const own = groups.get(text);
    const isAlone = type !== 'ordinalMultinomial' && own !== undefined;
    if (own === undefined && (texts.length > 2 || common.length === 0))
      throw new PmmlError(element, `has no coefficients of the target category '${text}'`);
    return new Coefficients(isAlone ? own : [...(own ?? []), ...common], design, text);
  });
  design.finish();
  const offset = readOffset(context);
  const categories: Value[] = texts.map((text) => categoryOf(text, target));
  const prediction = new Prediction(categories);
  const { probabilities } = prediction;
  const normalize = normalizationOf(context, type);
  const showCategory = (i: number): string => `${texts[i]} (${(target?.type ?? 'string').toUpperCase()})`;
  return {
    prediction,
    bytes: each.reduce((sum, { bytes }) => sum + bytes, design.bytes),
    evaluate(row) {
      design.compute(row);
      const added = offset(row);
      for (let i = 0; i < last; i++) {
        const linear = (each[i] as Coefficients).dot(design.values) + added;
        if (Number.isNaN(linear)) {
          prediction.clear();
          return;
        }
        probabilities[i] = linear;
      }
      normalize(probabilities);
      prediction.setMostProbable();
    },
    explain(row, trace) {
      trace.line('[GeneralRegression]');
      each.forEach((coefficients, i) => {
        trace.line(`Processing [ParamMatrix] [targetCategory: ${showCategory(i)}]:`);
        coefficients.explain(design.values, trace);
        trace.line(`The linear predictor is [${shown(coefficients.dot(design.values) + offset(row))}]`);
      });
      texts.forEach((_, i) => {
        trace.line(`[targetCategory: ${showCategory(i)}] Probability is [${shown(probabilities[i] as number)}]`);
      });
    },
  };
}

/** Probabilities in place of linear predictors; the last category has none of its own. */
function normalizationOf(
  { element }: ModelContext,
  type: 'multinomialLogistic' | 'ordinalMultinomial' | 'generalizedLinear',
): (values: Float64Array) => void {
  if (type === 'multinomialLogistic')
    return (values) => {
      values[values.length - 1] = 0;
      const greatest = values.reduce((most, value) => Math.max(most, value));
      let sum = 0;
      for (let i = 0; i < values.length; i++) sum += values[i] = Math.exp((values[i] as number) - greatest);
      for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) / sum;
    };
  const link = type === 'generalizedLinear' ? readLink(element) : readCumulativeLink(element);
  return (values) => {
    const last = values.length - 1;
    let before = 0;
    for (let i = 0; i < last; i++) {
      const until = link(values[i] as number);
      values[i] = until - before;
      before = until;
    }
    values[last] = 1 - before;
  };
}

/** The target's categories; the last one is the reference, or the highest of an ordinal target. */
function readCategories(
  { element, target }: ModelContext,
  groups: ReadonlyMap<string, readonly unknown[]>,
  type: 'multinomialLogistic' | 'ordinalMultinomial' | 'generalizedLinear',
): string[] {
  const named = element.attribute('targetReferenceCategory');
  const reference = named === undefined ? undefined : textOf(categoryOf(named, target), target?.type);
  const declared = (target?.data?.valid ?? []).map((value) => textOf(value, target?.type));
  const texts = declared.length > 0 ? declared : [...groups.keys()].filter((text) => text !== '');
  const known = new Set(texts);
  for (const text of groups.keys())
    if (text !== '' && !known.has(text))
      throw new PmmlError(element, `has coefficients of '${text}', which is not a value of the target`);
  const rest = texts.filter((text) => !groups.has(text));
  let last = reference;
  if (last === undefined && type !== 'ordinalMultinomial') {
    const hasNames = groups.size > (groups.has('') ? 1 : 0);
    if (hasNames && rest.length !== 1)
      throw new PmmlError(
        element,
        `the reference category is open: ${rest.length} categories of the target have no coefficients`,
      );
    // Coefficients without a category are those of the second of two.
    last = hasNames ? rest[0] : texts[0];
  }
  if (last === undefined) {
    if (texts.length < 2) throw new PmmlError(element, 'the target declares fewer than two categories');
    return texts;
  }
  const ordered = [...texts.filter((text) => text !== last), last];
  if (ordered.length < 2) throw new PmmlError(element, 'the target declares fewer than two categories');
  return ordered;
}
