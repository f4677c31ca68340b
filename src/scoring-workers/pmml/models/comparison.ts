import { type Element, PmmlError } from '../document/element.ts';
import { readMatrix } from '../document/arrays.ts';
import type { Field } from '../fields/field.ts';
import type { Value } from '../fields/types.ts';

/** How far, or how alike, two values of one field are. */
export type Compare = (x: number, y: number) => number;

/** A field that a measure compares. Texts are compared by their codes. */
export interface ComparedField {
  readonly field: Field;
  readonly weight: number;
  readonly compare: Compare;
}

/**
 * A ComparisonMeasure over fields. `x` and `y` hold a value for each field; NaN in `x` is a missing one, which is left out
 * and made up for by `adjustment`.
 */
export interface Measure {
  readonly kind: 'distance' | 'similarity';
  /** @param adjustment share of the weight of all fields by that of those which are not missing; 1 where none is */
  between(x: Float64Array, y: Float64Array, offset: number, adjustment: number): number;
}

export const COMPARE_FUNCTIONS = ['absDiff', 'gaussSim', 'delta', 'equal', 'table'] as const;
const LN_HALF = -Math.LN2;

/** What a ClusteringField or KNNInput says about comparing, with the measure's default. */
export function comparedField(element: Element, field: Field, measure: Element): ComparedField {
  const name = element.attribute('compareFunction') ?? measure.attribute('compareFunction') ?? 'absDiff';
  const kind = COMPARE_FUNCTIONS.find((known) => known === name);
  if (kind === undefined)
    throw new PmmlError(element, `'compareFunction' is '${name}'; it may be ${COMPARE_FUNCTIONS.join(', ')}`);
  const isText = field.type === 'string';
  if (isText && (kind === 'absDiff' || kind === 'gaussSim'))
    throw new PmmlError(element, `'${field.name}' is a field of texts, which '${kind}' does not compare`);
  return { field, weight: element.number('fieldWeight', 1), compare: compareFunction(kind, element, field) };
}

function compareFunction(kind: (typeof COMPARE_FUNCTIONS)[number], element: Element, field: Field): Compare {
  switch (kind) {
    case 'absDiff':
      return (x, y) => Math.abs(x - y);
    case 'gaussSim': {
      const scale = element.number('similarityScale', 1);
      if (!(scale > 0)) throw new PmmlError(element, `'similarityScale' is '${scale}'; it is above 0`);
      return (x, y) => Math.exp((LN_HALF * (x - y) ** 2) / scale ** 2);
    }
    case 'delta':
      return (x, y) => (x === y ? 0 : 1);
    case 'equal':
      return (x, y) => (x === y ? 1 : 0);
    case 'table':
      return tableFunction(element, field);
  }
}

/** Values of the field by the order of its declaration, compared by the matrix of `Comparisons`. */
function tableFunction(element: Element, field: Field): Compare {
  const matrixElement = element.child('Comparisons')?.child('Matrix');
  if (matrixElement === undefined) throw new PmmlError(element, 'Comparisons with a Matrix is missing');
  if (field.order.length === 0)
    throw new PmmlError(element, `'${field.name}' declares no values, which the Matrix is about`);
  const matrix = readMatrix(matrixElement);
  const indexes = new Map<number, number>(field.order.map((value, index) => [asNumber(field, value), index]));
  return (x, y) => {
    const row = indexes.get(x);
    const column = indexes.get(y);
    return row === undefined || column === undefined
      ? Number.NaN
      : (matrix.values[row * matrix.columns + column] ?? Number.NaN);
  };
}

/** How a value stands in a row. */
export function asNumber(field: Field, value: Value): number {
  if (typeof value === 'string') return field.dictionary?.add(value) ?? Number.NaN;
  return typeof value === 'boolean' ? Number(value) : (value as number);
}

/** @throws PmmlError where the measure is not one of the standard */
export function readMeasure(element: Element, fields: readonly ComparedField[]): Measure {
  const kind = element.oneOf('kind', ['distance', 'similarity'] as const, 'distance');
  const measure = element.children[0];
  if (measure === undefined) throw new PmmlError(element, 'the measure is missing');
  const ofFields = DISTANCES[measure.name];
  if (Object.hasOwn(DISTANCES, measure.name) && ofFields !== undefined)
    return { kind, between: ofFields(fields, measure) };
  const ofCounts = similarity(measure);
  return { kind, between: (x, y, offset) => ofCounts(countBinary(x, y, offset)) };
}

type Between = Measure['between'];

const SIMILARITIES = ['simpleMatching', 'jaccard', 'tanimoto', 'binarySimilarity'] as const;

const DISTANCES: Readonly<Record<string, (fields: readonly ComparedField[], measure: Element) => Between>> = {
  euclidean: (fields) => {
    const sum = sumOf(fields, 2);
    return (x, y, offset, adjustment) => Math.sqrt(sum(x, y, offset) * adjustment);
  },
  squaredEuclidean: (fields) => {
    const sum = sumOf(fields, 2);
    return (x, y, offset, adjustment) => sum(x, y, offset) * adjustment;
  },
  cityBlock: (fields) => {
    const sum = sumOf(fields, 1);
    return (x, y, offset, adjustment) => sum(x, y, offset) * adjustment;
  },
  chebychev: (fields) => (x, y, offset, adjustment) => {
    let highest = 0;
    for (let i = 0; i < fields.length; i++) {
      const own = x[i] as number;
      if (Number.isNaN(own)) continue;
      const { compare, weight } = fields[i] as ComparedField;
      highest = Math.max(highest, weight * compare(own, y[offset + i] as number));
    }
    return highest * adjustment;
  },
  minkowski: (fields, measure) => {
    const parameter = measure.number('p-parameter') ?? measure.requiredNumber('p-parameter');
    if (!(parameter > 0)) throw new PmmlError(measure, `'p-parameter' is '${parameter}'; it is above 0`);
    const sum = sumOf(fields, parameter);
    return (x, y, offset, adjustment) => (sum(x, y, offset) * adjustment) ** (1 / parameter);
  },
};

/** Measures that may stand in a ComparisonMeasure. */
export const MEASURES: readonly string[] = [...Object.keys(DISTANCES), ...SIMILARITIES];

/** Sum of weight · difference^power over the fields that are not missing. */
function sumOf(
  fields: readonly ComparedField[],
  power: number,
): (x: Float64Array, y: Float64Array, offset: number) => number {
  const compares = fields.map(({ compare }) => compare);
  const weights = Float64Array.from(fields, ({ weight }) => weight);
  const count = fields.length;
  return (x, y, offset) => {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const own = x[i] as number;
      if (Number.isNaN(own)) continue;
      const difference = (compares[i] as Compare)(own, y[offset + i] as number);
      const term = power === 2 ? difference * difference : power === 1 ? difference : difference ** power;
      sum += (weights[i] as number) * term;
    }
    return sum;
  };
}

interface Counts {
  readonly a11: number;
  readonly a10: number;
  readonly a01: number;
  readonly a00: number;
}

/** How often both, only one, and none of two binary values are 1. */
function countBinary(x: Float64Array, y: Float64Array, offset: number): Counts {
  let [a11, a10, a01, a00] = [0, 0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    const own = x[i] as number;
    if (Number.isNaN(own)) continue;
    const other = y[offset + i] as number;
    if (own !== 0) other !== 0 ? a11++ : a10++;
    else other !== 0 ? a01++ : a00++;
  }
  return { a11, a10, a01, a00 };
}

function similarity(measure: Element): (counts: Counts) => number {
  switch (measure.name) {
    case 'simpleMatching':
      return ({ a11, a10, a01, a00 }) => (a11 + a00) / (a11 + a10 + a01 + a00);
    case 'jaccard':
      return ({ a11, a10, a01 }) => a11 / (a11 + a10 + a01);
    case 'tanimoto':
      return ({ a11, a10, a01, a00 }) => (a11 + a00) / (a11 + 2 * (a10 + a01) + a00);
    case 'binarySimilarity': {
      const [c11, c10, c01, c00, d11, d10, d01, d00] = ['c11', 'c10', 'c01', 'c00', 'd11', 'd10', 'd01', 'd00'].map(
        (part) => measure.requiredNumber(`${part}-parameter`),
      ) as [number, number, number, number, number, number, number, number];
      return ({ a11, a10, a01, a00 }) =>
        (c11 * a11 + c10 * a10 + c01 * a01 + c00 * a00) / (d11 * a11 + d10 * a10 + d01 * a01 + d00 * a00);
    }
    default:
      throw new PmmlError(measure, `is not a measure: these are ${MEASURES.join(', ')}`);
  }
}
