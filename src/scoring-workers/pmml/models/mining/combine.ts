import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import type { Value } from '../../fields/types.ts';
import type { ModelContext, Prediction } from '../model.ts';
import type { Fill } from '../tree/generated.ts';
import type { Segment } from './segment.ts';
import { highestOf } from '../../math/vectors.ts';

/** How the results of segments become one. */
const STANDARD_METHODS = [
  'majorityVote',
  'weightedMajorityVote',
  'average',
  'weightedAverage',
  'median',
  'weightedMedian',
  'max',
  'sum',
  'weightedSum',
  'selectFirst',
  'selectAll',
  'modelChain',
] as const;

export type Method = (typeof STANDARD_METHODS)[number];

/** Names of tools: of methods that the standard got later, and of a chain whose segments have several targets. */
const ALIASES: ReadonlyMap<string, Method> = new Map([
  ['x-weightedMedian', 'weightedMedian'],
  ['x-weightedSum', 'weightedSum'],
  ['multiModelChain', 'modelChain'],
  ['x-multiModelChain', 'modelChain'],
]);

export const METHODS: readonly string[] = [...STANDARD_METHODS, ...ALIASES.keys()];

/** @throws PmmlError for an unknown method */
export function methodOf(segmentation: Element): Method {
  const name = segmentation.oneOf('multipleModelMethod', METHODS, 'selectFirst');
  return ALIASES.get(name) ?? (name as Method);
}

/** Writes the result of the segments that took part into the prediction, which is clear before. */
export type Combine = (active: readonly Segment[], row: Row) => void;

/** What a segment without a prediction does to the result. */
const TREATMENTS = ['returnMissing', 'skipSegment', 'continue'] as const;

export interface Missing {
  readonly treatment: (typeof TREATMENTS)[number];
  /** Share of the segments that may be missing: of their weight where the method is weighted, else of their number. */
  readonly threshold: number;
}

export function missingOf(segmentation: Element): Missing {
  // Tools had them before the standard.
  const early = (name: string): string => (segmentation.attribute(name) === undefined ? `x-${name}` : name);
  return {
    treatment: segmentation.oneOf(early('missingPredictionTreatment'), TREATMENTS, 'continue'),
    threshold: segmentation.number(early('missingThreshold'), 1),
  };
}

/** Whether more segments than the threshold allows have no prediction. */
function isTooMuch(
  active: readonly Segment[],
  row: Row,
  { threshold, usesWeights }: { readonly threshold: number; readonly usesWeights: boolean },
  isMissing: (at: number) => boolean,
): boolean {
  let missing = 0;
  let missingCount = 0;
  let all = 0;
  for (let i = 0; i < active.length; i++) {
    const weight = usesWeights ? (active[i] as Segment).weight(row) : 1;
    all += weight;
    if (!isMissing(i)) continue;
    missing += weight;
    missingCount += 1;
  }
  // A weight that is an output of its segment is missing with it: then segments count.
  return Number.isNaN(all) ? missingCount > threshold * active.length : missing > threshold * all;
}

interface Result {
  readonly missing: Missing;
  readonly prediction: Prediction;
  /** Segments have not been evaluated: each tells its number when it is asked. */
  readonly asksForNumbers: boolean;
  /** The numbers of all segments at once, all of which are active then. */
  readonly fill: Fill | undefined;
}

/** @returns undefined for methods that take the result of one segment */
export function combinationOf(
  segmentation: Element,
  method: Method,
  segments: readonly Segment[],
  context: ModelContext,
  { missing, prediction, asksForNumbers, fill }: Result,
): Combine | undefined {
  if (method === 'selectFirst' || method === 'modelChain') return undefined;
  if (method === 'selectAll') return selectAll(prediction, missing);
  const isFloat = context.element.attribute('x-mathContext') === 'float';
  const { functionName } = context;
  if (functionName === 'regression')
    return numbers(method, segments.length, isFloat, segmentation, { missing, prediction, asksForNumbers, fill });
  if (method === 'majorityVote' || method === 'weightedMajorityVote')
    return votes(method, missing, context, segments, prediction);
  if (functionName !== 'classification')
    throw new PmmlError(segmentation, `'multipleModelMethod' is '${method}', which is not for ${functionName}`);
  return distributions(method, missing, context, { segmentation, segments, prediction });
}

function selectAll(prediction: Prediction, { treatment }: Missing): Combine {
  return (active) => {
    const values: Value[] = [];
    for (const { model } of active) {
      const { value } = model.prediction;
      if (value !== undefined) values.push(value);
      else if (treatment === 'returnMissing') return;
    }
    prediction.setValue(values.length === 0 ? undefined : values);
  };
}

const isWeighted = (method: Method): boolean => method.startsWith('weighted');

/** Regression: a number of the numbers of the segments. */
function numbers(
  method: Method,
  count: number,
  isFloat: boolean,
  segmentation: Element,
  { missing, prediction, asksForNumbers, fill }: Result,
): Combine {
  const values = new Float64Array(count);
  const weights = new Float64Array(count);
  const lacks = new Uint8Array(count);
  const numberOf = ({ model }: Segment, row: Row): number =>
    asksForNumbers ? (model.numberOf?.(row) ?? Number.NaN) : model.prediction.number;
  const combine = numberMethod(method, isFloat, segmentation);
  const usesWeights = isWeighted(method);
  const share = { threshold: missing.threshold, usesWeights };
  return (active, row) => {
    let used = 0;
    const isFilled = fill?.(row, values) ?? false;
    for (let i = 0; i < active.length; i++) {
      const segment = active[i] as Segment;
      const number = isFilled ? (values[i] as number) : numberOf(segment, row);
      if (Number.isNaN(number)) {
        if (missing.treatment !== 'skipSegment') return;
        lacks[i] = 1;
      } else {
        lacks[i] = 0;
        values[used] = number;
        weights[used++] = usesWeights ? segment.weight(row) : 1;
      }
    }
    if (used === 0) return;
    if (used < active.length && isTooMuch(active, row, share, (at) => lacks[at] === 1)) return;
    prediction.setNumber(combine(values, weights, used));
  };
}

type OfNumbers = (values: Float64Array, weights: Float64Array, count: number) => number;

function numberMethod(method: Method, isFloat: boolean, segmentation: Element): OfNumbers {
  const round = isFloat ? Math.fround : undefined;
  const rounded = round ?? ((result: number): number => result);
  const sum: OfNumbers = (values, _, count) => {
    let result = 0;
    if (round === undefined) for (let i = 0; i < count; i++) result += values[i] as number;
    else for (let i = 0; i < count; i++) result = round(result + round(values[i] as number));
    return result;
  };
  const weightedSum: OfNumbers = (values, weights, count) => {
    let result = 0;
    for (let i = 0; i < count; i++) result += (values[i] as number) * (weights[i] as number);
    return isFloat ? Math.fround(result) : result;
  };
  switch (method) {
    case 'sum':
      return sum;
    case 'average':
      return (values, weights, count) => rounded(sum(values, weights, count) / count);
    case 'weightedSum':
      return weightedSum;
    case 'weightedAverage':
      return (values, weights, count) => rounded(weightedSum(values, weights, count) / total(weights, count));
    case 'max':
      return (values, _, count) => {
        let result = Number.NEGATIVE_INFINITY;
        for (let i = 0; i < count; i++) result = Math.max(result, values[i] as number);
        return result;
      };
    case 'median':
      return (values, _, count) => medianOf(values.subarray(0, count).slice().sort());
    case 'weightedMedian':
      return weightedMedian;
    default:
      throw new PmmlError(segmentation, `'multipleModelMethod' is '${method}', which is not for regression`);
  }
}

function total(weights: Float64Array, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += weights[i] as number;
  return sum;
}

/** Of sorted numbers: the middle one, the mean of the two middle ones of an even count. */
function medianOf(sorted: Float64Array): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** The first number, in ascending order, up to which at least half of the weight is. */
function weightedMedian(values: Float64Array, weights: Float64Array, count: number): number {
  const order = Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => (values[a] as number) - (values[b] as number),
  );
  const half = total(weights, count) / 2;
  let sum = 0;
  for (const i of order) {
    sum += weights[i] as number;
    if (sum >= half) return values[i] as number;
  }
  return Number.NaN;
}

/** The categories of all segments, by one index. It grows only by what segments cannot tell before they are evaluated. */
class Union {
  readonly values: Value[];
  #sums: Float64Array;
  readonly #indexes = new Map<readonly Value[], Int32Array>();
  readonly #prediction: Prediction;

  constructor(context: ModelContext, segments: readonly Segment[], prediction: Prediction) {
    const known = segments.flatMap(({ model }) => model.prediction.categories);
    this.values = [...new Set([...(context.target?.data?.valid ?? []), ...known])];
    this.#prediction = prediction;
    this.#sums = new Float64Array(this.values.length);
    this.#show();
  }

  index(value: Value): number {
    const known = this.values.indexOf(value);
    if (known !== -1) return known;
    this.values.push(value);
    const sums = new Float64Array(this.values.length);
    sums.set(this.#sums);
    this.#sums = sums;
    this.#show();
    return this.values.length - 1;
  }

  #show(): void {
    this.#prediction.categories = [...this.values];
    this.#prediction.probabilities = new Float64Array(this.values.length).fill(Number.NaN);
    this.#prediction.confidences = new Float64Array(this.values.length).fill(Number.NaN);
  }

  /** Indexes here of the categories of a segment. */
  indexes(categories: readonly Value[]): Int32Array {
    const known = this.#indexes.get(categories);
    if (known !== undefined) return known;
    const indexes = Int32Array.from(categories, (category) => this.index(category));
    this.#indexes.set(categories, indexes);
    return indexes;
  }

  /** Sums of the record, all 0 at first; `indexes` may have replaced them. */
  get sums(): Float64Array {
    return this.#sums;
  }
}

function votes(
  method: Method,
  missing: Missing,
  context: ModelContext,
  segments: readonly Segment[],
  prediction: Prediction,
): Combine {
  const union = new Union(context, segments, prediction);
  const usesWeights = isWeighted(method);
  const share = { threshold: missing.threshold, usesWeights };
  return (active, row) => {
    union.sums.fill(0);
    let all = 0;
    let missingWeight = 0;
    for (let i = 0; i < active.length; i++) {
      const segment = active[i] as Segment;
      const weight = usesWeights ? segment.weight(row) : 1;
      const { value } = segment.model.prediction;
      if (value === undefined) {
        if (missing.treatment === 'returnMissing') return;
        missingWeight += weight;
        continue;
      }
      const index = union.index(value);
      union.sums[index] = (union.sums[index] as number) + weight;
      all += weight;
    }
    if (all === 0) return;
    const isMissing = (at: number): boolean => (active[at] as Segment).model.prediction.value === undefined;
    if (missingWeight !== 0 && isTooMuch(active, row, share, isMissing)) return;
    const winner = firstOfHighest(active, union);
    // Where segments without a prediction count, the missing value may be what most of them say.
    if (missing.treatment === 'continue' && missingWeight > (union.sums[winner] as number)) return;
    for (let i = 0; i < union.sums.length; i++) prediction.probabilities[i] = (union.sums[i] as number) / all;
    prediction.setValue(union.values[winner]);
    if (context.functionName === 'clustering') prediction.entityId = String(prediction.value);
  };
}

/** Index of what most segments say; of equal ones, the one that was said first. */
function firstOfHighest(active: readonly Segment[], union: Union): number {
  let winner = -1;
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < active.length; i++) {
    const { value } = (active[i] as Segment).model.prediction;
    if (value === undefined) continue;
    const index = union.index(value);
    if ((union.sums[index] as number) > highest) {
      highest = union.sums[index] as number;
      winner = index;
    }
  }
  return winner;
}

/** Classification from the probabilities of the segments. */
function distributions(
  method: Method,
  missing: Missing,
  context: ModelContext,
  {
    segmentation,
    segments,
    prediction,
  }: { segmentation: Element; segments: readonly Segment[]; prediction: Prediction },
): Combine {
  const union = new Union(context, segments, prediction);
  const merge = distributionMethod(method, segmentation, union);
  const usesWeights = isWeighted(method);
  const share = { threshold: missing.threshold, usesWeights };
  const used: Segment[] = [];
  const weights: number[] = [];
  return (active, row) => {
    used.length = 0;
    weights.length = 0;
    for (const segment of active) {
      if (segment.model.prediction.value === undefined) {
        if (missing.treatment !== 'skipSegment') return;
        continue;
      }
      used.push(segment);
      weights.push(usesWeights ? segment.weight(row) : 1);
      union.indexes(segment.model.prediction.categories);
    }
    if (used.length === 0) return;
    const isMissing = (at: number): boolean => (active[at] as Segment).model.prediction.value === undefined;
    if (used.length < active.length && isTooMuch(active, row, share, isMissing)) return;
    union.sums.fill(0);
    merge(used, weights);
    prediction.probabilities.set(union.sums);
    prediction.setMostProbable();
  };
}

type Merge = (used: readonly Segment[], weights: readonly number[]) => void;

function distributionMethod(method: Method, segmentation: Element, union: Union): Merge {
  const addWeighted: Merge = (used, weights) => {
    let all = 0;
    used.forEach((segment, i) => {
      const weight = weights[i] as number;
      all += weight;
      eachProbability(segment, union, (index, probability) => {
        union.sums[index] = (union.sums[index] as number) + weight * probability;
      });
    });
    for (let i = 0; i < union.sums.length; i++) union.sums[i] = (union.sums[i] as number) / all;
  };
  switch (method) {
    case 'average':
    case 'weightedAverage':
    case 'sum':
    case 'weightedSum':
      return addWeighted;
    case 'max':
      return (used) =>
        addWeighted(
          mostCertain(used),
          used.map(() => 1),
        );
    case 'median':
      return (used) => medians(used, union);
    default:
      throw new PmmlError(segmentation, `'multipleModelMethod' is '${method}', which is not for classification`);
  }
}

function eachProbability(segment: Segment, union: Union, take: (index: number, probability: number) => void): void {
  const { categories, probabilities, value } = segment.model.prediction;
  const indexes = union.indexes(categories);
  let hasNone = true;
  for (let i = 0; i < indexes.length; i++) {
    const probability = probabilities[i] as number;
    if (Number.isNaN(probability)) continue;
    hasNone = false;
    take(indexes[i] as number, probability);
  }
  // A segment that tells only what it predicts is certain of it.
  if (hasNone && value !== undefined) take(union.index(value), 1);
}

/** The segments with the highest probability of their winner. */
function mostCertain(used: readonly Segment[]): Segment[] {
  const certainties = used.map(({ model: { prediction } }) => prediction.probabilities[prediction.mostProbable()] ?? 1);
  const highest = highestOf(certainties);
  return used.filter((_, i) => certainties[i] === highest);
}

function medians(used: readonly Segment[], union: Union): void {
  const columns = union.values.map(() => new Float64Array(used.length));
  used.forEach((segment, i) => {
    eachProbability(segment, union, (index, probability) => {
      const column = columns[index];
      if (column !== undefined) column[i] = probability;
    });
  });
  columns.forEach((column, index) => {
    union.sums[index] = medianOf(column.sort());
  });
}
