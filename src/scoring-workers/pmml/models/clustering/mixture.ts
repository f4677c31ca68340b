/** Clusters that are normal distributions: a center and covariances each (docs/spec/pmml-clusters.md#clusters). */
import { arrayIn, readMatrix } from '../../document/arrays.ts';
import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import type { ComparedField } from '../comparison.ts';
import { type Model, type ModelContext, Prediction, type RankedEntity } from '../model.ts';
import { type Cluster, centerOf } from './centers.ts';

const LOG_TWO_PI = Math.log(2 * Math.PI);
/** Numbers of all covariances of a model. */
const COVARIANCES_MAX = 4_000_000;

interface Normal {
  readonly center: Float64Array;
  /** The lower triangle of the covariances' root (Cholesky), row after row. */
  readonly root: Float64Array;
  /** What the logarithm of the density begins with, and that of the cluster's share of records. */
  readonly base: number;
}

/**
 * The most probable cluster: its share of records (`size`), times the density of its normal distribution. Without sizes all
 * are as likely. A record that lacks a value has no cluster.
 */
export function compileMixture(
  context: ModelContext,
  clusters: readonly Cluster[],
  fields: readonly ComparedField[],
  elements: readonly Element[],
): Model {
  const size = fields.length;
  if (size * size * elements.length > COVARIANCES_MAX)
    throw new PmmlError(context.element, `has more than ${COVARIANCES_MAX} covariances`);
  const shares = sharesOf(elements);
  const normals = elements.map((element, index) => readNormal(element, fields, shares[index] as number));
  const prediction = new Prediction(clusters.map(({ id }) => id));
  const { probabilities } = prediction;
  const values = new Float64Array(size);
  const scratch = new Float64Array(size);
  const entities = (): RankedEntity[] =>
    clusters.map(({ id, name }, i) => {
      return { id, affinity: probabilities[i] as number, ...(name === undefined ? {} : { display: name }) };
    });
  const ranked = (): RankedEntity[] => entities().sort((a, b) => b.affinity - a.affinity);
  return {
    prediction,
    bytes: elements.length * (size * size * 8 + 200),
    evaluate: (row) => {
      prediction.clear();
      if (!read(fields, row, values)) return;
      for (let i = 0; i < normals.length; i++) probabilities[i] = logDensity(normals[i] as Normal, values, scratch);
      toProbabilities(probabilities);
      const best = prediction.mostProbable();
      if (best === -1) return;
      const cluster = clusters[best] as Cluster;
      prediction.setValue(cluster.id);
      prediction.entityId = cluster.id;
      prediction.display = cluster.name ?? cluster.id;
      prediction.affinity = probabilities[best] as number;
      prediction.entities = entities;
      prediction.ranked = ranked;
    },
    explain: (_, trace) => {
      trace.line('[ClusteringModel]');
      for (const { id, affinity } of entities())
        trace.line(`The [probability] of the cluster [${id}] is [${affinity}]`);
    },
  };
}

function read(fields: readonly ComparedField[], row: Row, values: Float64Array): boolean {
  for (let i = 0; i < fields.length; i++) {
    const value = (fields[i] as ComparedField).field.number(row);
    if (Number.isNaN(value)) return false;
    values[i] = value;
  }
  return true;
}

/** Logarithms of the shares of records. */
function sharesOf(elements: readonly Element[]): Float64Array {
  const sizes = elements.map((element) => element.number('size') ?? Number.NaN);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  return Float64Array.from(sizes, (size) => (all > 0 ? Math.log(size / all) : 0));
}

function readNormal(element: Element, fields: readonly ComparedField[], share: number): Normal {
  const center = centerOf(arrayIn(element), fields);
  const matrixElement = element.child('Covariances')?.child('Matrix');
  if (matrixElement === undefined) throw new PmmlError(element, 'the Covariances with a Matrix are missing');
  const matrix = readMatrix(matrixElement);
  const size = fields.length;
  if (matrix.rows !== size || matrix.columns !== size)
    throw new PmmlError(matrixElement, `is ${matrix.rows} × ${matrix.columns}; there are ${size} clustering fields`);
  const root = new Float64Array(size * size);
  let logRoots = 0;
  for (let i = 0; i < size; i++)
    for (let j = 0; j <= i; j++) {
      let sum = matrix.values[i * size + j] as number;
      for (let k = 0; k < j; k++) sum -= (root[i * size + k] as number) * (root[j * size + k] as number);
      if (i !== j) root[i * size + j] = sum / (root[j * size + j] as number);
      else if (sum > 0) {
        root[i * size + i] = Math.sqrt(sum);
        logRoots += Math.log(sum) / 2;
      } else throw new PmmlError(matrixElement, 'is not positive definite');
    }
  return { center, root, base: share - logRoots - (size * LOG_TWO_PI) / 2 };
}

function logDensity({ center, root, base }: Normal, values: Float64Array, scratch: Float64Array): number {
  const size = values.length;
  let squares = 0;
  for (let i = 0; i < size; i++) {
    let sum = (values[i] as number) - (center[i] as number);
    for (let k = 0; k < i; k++) sum -= (root[i * size + k] as number) * (scratch[k] as number);
    const solved = sum / (root[i * size + i] as number);
    scratch[i] = solved;
    squares += solved * solved;
  }
  return base - squares / 2;
}

/** Shares in place of logarithms. */
function toProbabilities(logarithms: Float64Array): void {
  const highest = logarithms.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  let sum = 0;
  for (let i = 0; i < logarithms.length; i++) {
    const share = Math.exp((logarithms[i] as number) - highest);
    logarithms[i] = share;
    sum += share;
  }
  for (let i = 0; i < logarithms.length; i++) logarithms[i] = (logarithms[i] as number) / sum;
}
