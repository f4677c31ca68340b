import type { Collectors } from './document/reader.ts';
import { compileAnomalyDetection } from './models/anomaly-detection.ts';
import { compileAssociation } from './models/association.ts';
import { compileBaseline } from './models/baseline/baseline.ts';
import { compileBayesianNetwork } from './models/bayesian-network/bayesian-network.ts';
import { compileClustering } from './models/clustering/clustering.ts';
import { compileGeneralRegression } from './models/general-regression/general-regression.ts';
import { compileGaussianProcess } from './models/gaussian-process.ts';
import { compileMining } from './models/mining/mining.ts';
import type { CompileModel } from './models/model.ts';
import { compileNaiveBayes } from './models/naive-bayes.ts';
import { compileNearestNeighbor } from './models/nearest-neighbor.ts';
import { neuronCollector } from './models/neural-network/collector.ts';
import { compileNeuralNetwork } from './models/neural-network/neural-network.ts';
import { compileRegression } from './models/regression/regression.ts';
import { compileRuleSet } from './models/rule-set.ts';
import { compileScorecard } from './models/scorecard.ts';
import { compileSequence } from './models/sequence.ts';
import { compileSupportVector } from './models/support-vector/support-vector.ts';
import { compileText } from './models/text.ts';
import { compileTimeSeries } from './models/time-series/time-series.ts';
import { treeCollector } from './models/tree/collector.ts';
import { compileTree } from './models/tree/tree.ts';

/** Model element → its family. */
export const FAMILIES: ReadonlyMap<string, CompileModel> = new Map<string, CompileModel>([
  ['AnomalyDetectionModel', compileAnomalyDetection],
  ['AssociationModel', compileAssociation],
  ['BaselineModel', compileBaseline],
  ['BayesianNetworkModel', compileBayesianNetwork],
  ['ClusteringModel', compileClustering],
  ['GaussianProcessModel', compileGaussianProcess],
  ['GeneralRegressionModel', compileGeneralRegression],
  ['MiningModel', compileMining],
  ['NaiveBayesModel', compileNaiveBayes],
  ['NearestNeighborModel', compileNearestNeighbor],
  ['NeuralNetwork', compileNeuralNetwork],
  ['RegressionModel', compileRegression],
  ['RuleSetModel', compileRuleSet],
  ['Scorecard', compileScorecard],
  ['SequenceModel', compileSequence],
  ['SupportVectorMachineModel', compileSupportVector],
  ['TextModel', compileText],
  ['TimeSeriesModel', compileTimeSeries],
  ['TreeModel', compileTree],
]);

/** Elements that are read into tables at once, not kept as elements. */
export const COLLECTORS: Collectors = new Map([
  ['Node', treeCollector],
  ['Neuron', neuronCollector],
]);
