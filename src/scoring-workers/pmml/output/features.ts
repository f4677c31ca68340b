import { type Element, PmmlError } from '../document/element.ts';
import type { Field } from '../fields/field.ts';
import type { Row } from '../fields/row.ts';
import { castInput, castText, type DataType, isArithmetic, textOf, type Value } from '../fields/types.ts';
import { normalQuantile } from '../math/normal.ts';
import {
  categoryOf,
  type MiningFunction,
  type PartialModel,
  type Prediction,
  type TargetField,
} from '../models/model.ts';
import { ruleFeature } from './rules.ts';

/** What an output takes of a prediction. */
export interface Feature {
  /** Type of its values; undefined where only the value tells it. */
  readonly type: DataType | undefined;
  readonly value: (row: Row) => Value | undefined;
}

/** Where an output field stands. */
export interface FeatureContext {
  readonly prediction: () => Prediction;
  readonly target: TargetField | undefined;
  readonly segment: (id: string) => PartialModel | undefined;
  readonly functionName: MiningFunction;
  /** The actual value of the target, where a record may hold it. */
  readonly actual: Field | undefined;
}

const isAssociation = ({ functionName }: FeatureContext): boolean => functionName === 'associationRules';

type Read = (element: Element, context: FeatureContext) => Feature;

const text = (element: Element): string | undefined => element.attribute('value');

/** The prediction that a field is about: of the model, of one of its segments, of one of several targets. */
function predictionOf(element: Element, context: FeatureContext): (row: Row) => Prediction | undefined {
  const segmentId = element.attribute('segmentId');
  const prediction = segmentId === undefined ? context.prediction : segmentPrediction(segmentId, context);
  const targetField = element.attribute('targetField');
  if (targetField === undefined) return prediction;
  return (row) => {
    const whole = prediction(row);
    return whole?.others?.get(targetField) ?? whole;
  };
}

/** A segment that took no part in the record's result has no prediction. */
function segmentPrediction(id: string, context: FeatureContext): (row: Row) => Prediction | undefined {
  const segment = context.segment(id);
  if (segment === undefined) return () => undefined;
  return (row) => (segment.isActive(row) ? segment.model.prediction : undefined);
}

function targetOf(element: Element, context: FeatureContext): TargetField | undefined {
  const id = element.attribute('segmentId');
  return id === undefined ? context.target : (context.segment(id)?.model.target ?? context.target);
}

const rankOf = (element: Element): number => {
  const rank = element.number('rank', 1);
  if (!Number.isInteger(rank) || rank < 0) throw new PmmlError(element, `'rank' is '${rank}'; it is 1 or more`);
  return rank;
};

const missing = (number: number): number | undefined => (Number.isNaN(number) ? undefined : number);

/** A regression predicts numbers, whatever it has as its target. */
function predictedType(element: Element, context: FeatureContext): DataType | undefined {
  const type = targetOf(element, context)?.type;
  const id = element.attribute('segmentId');
  const functionName = id === undefined ? context.functionName : context.segment(id)?.model.functionName;
  return functionName === 'regression' && !isArithmetic(type) ? 'double' : type;
}

const predictedValue: Read = (element, context) => {
  const prediction = predictionOf(element, context);
  const rank = rankOf(element);
  const type = predictedType(element, context);
  if (rank <= 1) return { type, value: (row) => prediction(row)?.value };
  return {
    type,
    value: (row) => {
      const held = prediction(row);
      if (held === undefined) return undefined;
      if (held.indexOf(held.value) !== -1) return held.categories[rankedCategories(held)[rank - 1] ?? -1];
      // Where the prediction is an entity itself, such as a cluster, the next ones follow.
      const ranked = held.ranked?.();
      return ranked?.[0]?.id === held.value ? ranked?.[rank - 1]?.id : undefined;
    },
  };
};

/** Indexes of categories: the predicted one, then the others by probability, by confidence where none has a probability. */
function rankedCategories(prediction: Prediction): readonly number[] {
  const numbers = prediction.mostProbable() === -1 ? prediction.confidences : prediction.probabilities;
  const first = prediction.indexOf(prediction.value);
  const others = [...prediction.categories.keys()].filter((i) => i !== first && !Number.isNaN(numbers[i]));
  others.sort((a, b) => (numbers[b] as number) - (numbers[a] as number));
  return first === -1 ? others : [first, ...others];
}

const predictedDisplayValue: Read = (element, context) => {
  const prediction = predictionOf(element, context);
  const displays = targetOf(element, context)?.data?.displayValues;
  return {
    type: 'string',
    value: (row) => {
      const held = prediction(row);
      if (held?.value === undefined) return undefined;
      const shown = textOf(held.value, undefined);
      return held.display ?? displays?.get(shown) ?? shown;
    },
  };
};

/** Finds the category that `value` names: 1.0 is that of 1 where the target is a number, else it is its text. */
function namedCategory(element: Element, context: FeatureContext): ((prediction: Prediction) => number) | undefined {
  const named = text(element);
  if (named === undefined) return undefined;
  const category = categoryOf(named, targetOf(element, context));
  return (prediction) => {
    const index = prediction.indexOf(category);
    return index === -1 ? prediction.indexOf(named) : index;
  };
}

/** Probability or confidence: of the category that `value` names, else of the predicted one or that of the `rank`. */
const ofCategory =
  (read: (prediction: Prediction) => Float64Array): Read =>
  (element, context) => {
    const prediction = predictionOf(element, context);
    const category = namedCategory(element, context);
    const rank = rankOf(element);
    // Index of the named category in the list that the model had last: mostly it has one.
    let known: { readonly categories: readonly Value[]; readonly index: number } | undefined;
    const indexOf = (held: Prediction): number => {
      if (category === undefined && rank > 1) return rankedCategories(held)[rank - 1] ?? -1;
      if (category === undefined) return held.indexOf(held.value);
      if (known?.categories !== held.categories) known = { categories: held.categories, index: category(held) };
      return known.index;
    };
    return {
      type: 'double',
      value: (row) => {
        const held = prediction(row);
        if (held === undefined) return undefined;
        const index = indexOf(held);
        const numbers = read(held);
        if (index !== -1) return missing(numbers[index] as number);
        // A category that the model never predicts has no share of the others.
        return category !== undefined && numbers.some((number) => !Number.isNaN(number)) ? 0 : undefined;
      },
    };
  };

const entityId: Read = (element, context) => {
  if (isAssociation(context)) return ruleFeature(element, 'ruleId', context.prediction);
  const prediction = predictionOf(element, context);
  const rank = rankOf(element);
  return {
    type: 'string',
    value: (row) => {
      const held = prediction(row);
      return rank > 1 ? held?.ranked?.()[rank - 1]?.id : (held?.entityId ?? held?.ranked?.()[0]?.id);
    },
  };
};

const affinity: Read = (element, context) => {
  if (isAssociation(context)) return ruleFeature(element, 'affinity', context.prediction);
  const prediction = predictionOf(element, context);
  const rank = rankOf(element);
  const id = text(element);
  return {
    type: 'double',
    value: (row) => {
      const held = prediction(row);
      if (held === undefined) return undefined;
      if (id !== undefined)
        return missing(held.entities?.().find((entity) => entity.id === id)?.affinity ?? Number.NaN);
      return missing(rank > 1 ? (held.ranked?.()[rank - 1]?.affinity ?? Number.NaN) : held.affinity);
    },
  };
};

const residual: Read = (element, context) => {
  const prediction = predictionOf(element, context);
  const { actual } = context;
  if (actual === undefined) throw new PmmlError(element, "a residual needs the model's target field");
  const category = namedCategory(element, context);
  return {
    type: 'double',
    value: (row) => {
      const held = prediction(row);
      const given = actual.value(row);
      if (held?.value === undefined || given === undefined) return undefined;
      if (held.categories.length === 0) return typeof given === 'number' ? given - held.number : undefined;
      const index = category?.(held) ?? held.indexOf(held.value);
      if (index === -1) return undefined;
      const indicator = textOf(given, undefined) === textOf(held.categories[index] as Value, undefined) ? 1 : 0;
      return indicator - (held.probabilities[index] as number);
    },
  };
};

const reasonCode: Read = (element, context) => {
  const prediction = predictionOf(element, context);
  const rank = rankOf(element);
  return { type: 'string', value: (row) => prediction(row)?.reasonCodes[Math.max(rank, 1) - 1] };
};

const ofSpread =
  (read: (prediction: Prediction) => number): Read =>
  (element, context) => {
    const prediction = predictionOf(element, context);
    return {
      type: 'double',
      value: (row) => {
        const held = prediction(row);
        return held === undefined ? undefined : missing(read(held));
      },
    };
  };

/** Ends of the interval that holds the value with the given confidence, in hundredths (`value`, 95 by default). */
const ofInterval =
  (sign: 1 | -1): Read =>
  (element, context) => {
    const percent = element.number('value', 95);
    if (!(percent > 0 && percent < 100))
      throw new PmmlError(element, `'value' is '${percent}'; it is between 0 and 100`);
    const width = normalQuantile(0.5 + percent / 200);
    return ofSpread(
      (held) =>
        held.number + sign * width * (Number.isNaN(held.standardError) ? held.standardDeviation : held.standardError),
    )(element, context);
  };

/** The best categories by probability, as a list: the deprecated `numTopCategories` and `topCategories`. */
const topCategories: Read = (element, context) => {
  const prediction = predictionOf(element, context);
  const count = element.number('numTopCategories', 1);
  return {
    type: undefined,
    value: (row) => {
      const held = prediction(row);
      if (held === undefined) return undefined;
      const best = rankedCategories(held)
        .slice(0, count)
        .map((index) => held.categories[index] as Value);
      return best.length === 0 ? undefined : best;
    },
  };
};

const rule =
  (feature: string): Read =>
  (element, context) =>
    ruleFeature(element, feature, context.prediction);

const READERS: Readonly<Record<string, Read>> = {
  predictedValue,
  predictedDisplayValue,
  probability: ofCategory((prediction) => prediction.probabilities),
  confidence: (element, context) =>
    isAssociation(context)
      ? ruleFeature(element, 'confidence', context.prediction)
      : ofCategory((prediction) => prediction.confidences)(element, context),
  entityId,
  clusterId: entityId,
  affinity,
  entityAffinity: affinity,
  clusterAffinity: affinity,
  residual,
  reasonCode,
  standardError: ofSpread((prediction) => prediction.standardError),
  standardDeviation: ofSpread((prediction) => prediction.standardDeviation),
  confidenceIntervalLower: ofInterval(-1),
  confidenceIntervalUpper: ofInterval(1),
  topCategories,
  warning: () => ({ type: 'string', value: () => undefined }),
  antecedent: rule('antecedent'),
  consequent: rule('consequent'),
  rule: rule('rule'),
  ruleId: rule('ruleId'),
  support: rule('support'),
  lift: rule('lift'),
  leverage: rule('leverage'),
  ruleValue: (element, context) =>
    ruleFeature(element, element.attribute('ruleFeature') ?? 'consequent', context.prediction),
};

/** What outputs may show, but for expressions. */
export const FEATURE_NAMES: readonly string[] = Object.keys(READERS);

/** Features that are expressions: `transformedValue` and `decision`. */
export const EXPRESSION_FEATURES: ReadonlySet<string> = new Set(['transformedValue', 'decision']);

/**
 * The feature of an output field; undefined for one of a vendor (`x-…`), which has no value here.
 *
 * @throws PmmlError for an unknown feature
 */
export function readFeature(element: Element, name: string, context: FeatureContext): Feature | undefined {
  if (name.startsWith('x-')) return undefined;
  const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  if (read === undefined)
    throw new PmmlError(
      element,
      `'feature' is '${name}'; it may be ${[...FEATURE_NAMES, ...EXPRESSION_FEATURES].join(', ')}`,
    );
  return read(element, context);
}

/** A value of a feature as the type that the output field declares. */
export function asOutputType(value: Value | undefined, type: DataType): Value | undefined {
  if (value === undefined || Array.isArray(value)) return value;
  const single = value as number | string | boolean;
  if (type === 'integer' && typeof single === 'number') return Number.isFinite(single) ? Math.round(single) : undefined;
  return typeof single === 'string' ? (castText(single, type) ?? single) : (castInput(single, type) ?? single);
}
