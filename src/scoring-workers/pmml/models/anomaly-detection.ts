import { arrayIn, readNumbers } from '../document/arrays.ts';
import { type Element, PmmlError } from '../document/element.ts';
import { type EvaluatedModel, type Model, type ModelContext, Prediction } from './model.ts';

export const ANOMALY_ALGORITHMS = ['iforest', 'ocsvm', 'clusterMeanDist', 'other'] as const;

/** Euler's constant, for the harmonic numbers of large counts. */
const EULER = 0.5772156649015329;

/** AnomalyDetectionModel: a model whose result becomes a score of how unusual a record is (Anomaly Detection of the standard). */
export function compileAnomalyDetection(context: ModelContext): Model {
  const { element } = context;
  const inner = element.children.find(
    ({ name }) => name.endsWith('Model') || name === 'NeuralNetwork' || name === 'Scorecard',
  );
  if (inner === undefined) throw new PmmlError(element, 'it holds no model');
  const model = context.nested(inner, context.scope);
  const score = scoreOf(element, model);
  const prediction = new Prediction();
  return {
    prediction,
    bytes: model.bytes,
    evaluate: (row) => {
      model.evaluate(row);
      prediction.clear();
      prediction.setNumber(score());
      prediction.entityId = model.prediction.entityId;
    },
    explain: (row, trace) => {
      model.explain?.(row, trace);
      trace.line(`The anomaly score is [${prediction.number}]`);
    },
  };
}

function scoreOf(element: Element, model: EvaluatedModel): () => number {
  const { prediction } = model;
  switch (element.oneOf('algorithmType', ANOMALY_ALGORITHMS, 'other')) {
    case 'iforest': {
      const size = element.requiredNumber('sampleDataSize');
      if (!(size >= 1)) throw new PmmlError(element, `'sampleDataSize' is '${size}'; it is 1 or more`);
      const expected = expectedPathLength(size);
      return () => 2 ** (-prediction.number / expected);
    }
    case 'clusterMeanDist': {
      const distances = element.child('MeanClusterDistances');
      if (distances === undefined) throw new PmmlError(element, 'there are no MeanClusterDistances');
      const means = readNumbers(arrayIn(distances));
      return () => {
        const index = prediction.entities?.().findIndex(({ id }) => id === prediction.value) ?? -1;
        return prediction.affinity / (means[index] ?? Number.NaN);
      };
    }
    default:
      return () => prediction.number;
  }
}

/** Length of the path of an unsuccessful search in a binary tree of n records: what a score of 0.5 is. */
function expectedPathLength(n: number): number {
  if (n <= 1) return 1;
  if (n === 2) return 1;
  return 2 * (Math.log(n - 1) + EULER) - (2 * (n - 1)) / n;
}
