/** What each model element of the standard may have, from the lists that its family reads documents by. */
import { ANOMALY_ALGORITHMS } from '../models/anomaly-detection.ts';
import { BASELINE_STATISTICS } from '../models/baseline/baseline.ts';
import { COMPARE_FUNCTIONS, MEASURES } from '../models/comparison.ts';
import { DISTRIBUTIONS } from '../models/distribution.ts';
import { GENERAL_TYPES } from '../models/general-regression/general-regression.ts';
import { LINKS } from '../models/general-regression/links.ts';
import { PROCESS_KERNELS } from '../models/gaussian-process.ts';
import { METHODS } from '../models/mining/combine.ts';
import { CATEGORICAL_METHODS, CONTINUOUS_METHODS } from '../models/nearest-neighbor.ts';
import { ACTIVATIONS } from '../models/neural-network/activation.ts';
import { NORMALIZATIONS } from '../models/regression/normalization.ts';
import { RULE_CRITERIA } from '../models/rule-set.ts';
import { REASON_ALGORITHMS } from '../models/scorecard.ts';
import { VECTOR_KERNELS } from '../models/support-vector/kernel.ts';
import { GLOBAL_WEIGHTS, LOCAL_WEIGHTS } from '../models/text.ts';
import { TIME_SERIES_ALGORITHMS } from '../models/time-series/time-series.ts';
import { MISSING_STRATEGIES } from '../models/tree/tree.ts';
import { RULE_ALGORITHMS } from '../output/rules.ts';

/** One thing that a family reads, and the words that it may have there. */
export interface Variants {
  readonly what: string;
  readonly words: readonly string[];
}

const of = (what: string, words: readonly string[]): Variants => ({ what, words });

/** Model element → its page of the specification, and what it may have. */
export const FAMILY_VARIANTS: ReadonlyMap<string, { readonly page: string; readonly variants: readonly Variants[] }> =
  new Map([
    ['AnomalyDetectionModel', { page: '', variants: [of('`algorithmType`', ANOMALY_ALGORITHMS)] }],
    ['AssociationModel', { page: '', variants: [of('`algorithm`', RULE_ALGORITHMS)] }],
    ['BaselineModel', { page: 'pmml-clusters.md#baselines', variants: [of('`testStatistic`', BASELINE_STATISTICS)] }],
    [
      'BayesianNetworkModel',
      {
        page: '',
        variants: [
          of('nodes', ['DiscreteNode', 'ContinuousNode']),
          of(
            'distributions',
            ['Triangular', 'Normal', 'Lognormal', 'Uniform'].map((name) => `${name}DistributionForBN`),
          ),
        ],
      },
    ],
    [
      'ClusteringModel',
      {
        page: 'pmml-clusters.md#clusters',
        variants: [of('measures', MEASURES), of('`compareFunction`', COMPARE_FUNCTIONS)],
      },
    ],
    [
      'GaussianProcessModel',
      { page: 'pmml-equations.md#gaussian-processes', variants: [of('kernels', PROCESS_KERNELS)] },
    ],
    [
      'GeneralRegressionModel',
      {
        page: 'pmml-equations.md#general-regression',
        variants: [of('`modelType`', GENERAL_TYPES), of('`linkFunction`', LINKS)],
      },
    ],
    ['MiningModel', { page: '', variants: [of('`multipleModelMethod`', METHODS)] }],
    ['NaiveBayesModel', { page: '', variants: [of('distributions', DISTRIBUTIONS)] }],
    [
      'NearestNeighborModel',
      {
        page: '',
        variants: [
          of('`continuousScoringMethod`', CONTINUOUS_METHODS),
          of('`categoricalScoringMethod`', CATEGORICAL_METHODS),
          of('measures', MEASURES),
        ],
      },
    ],
    [
      'NeuralNetwork',
      { page: 'pmml-equations.md#neural-networks', variants: [of('`activationFunction`', ACTIVATIONS)] },
    ],
    [
      'RegressionModel',
      { page: 'pmml-equations.md#regression', variants: [of('`normalizationMethod`', NORMALIZATIONS)] },
    ],
    ['RuleSetModel', { page: 'pmml-trees.md#rule-sets', variants: [of('`criterion`', RULE_CRITERIA)] }],
    ['Scorecard', { page: 'pmml-trees.md#scorecards', variants: [of('`reasonCodeAlgorithm`', REASON_ALGORITHMS)] }],
    ['SequenceModel', { page: '', variants: [of('sets', ['Itemset', 'SetPredicate'])] }],
    [
      'SupportVectorMachineModel',
      { page: 'pmml-equations.md#support-vector-machines', variants: [of('kernels', VECTOR_KERNELS)] },
    ],
    [
      'TextModel',
      {
        page: '',
        variants: [of('`localTermWeights`', LOCAL_WEIGHTS), of('`globalTermWeights`', GLOBAL_WEIGHTS)],
      },
    ],
    [
      'TimeSeriesModel',
      {
        page: 'pmml-clusters.md#time-series',
        variants: [of('`bestFit`', Object.keys(TIME_SERIES_ALGORITHMS))],
      },
    ],
    ['TreeModel', { page: 'pmml-trees.md#trees', variants: [of('`missingValueStrategy`', MISSING_STRATEGIES)] }],
  ]);
