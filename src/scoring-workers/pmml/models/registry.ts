import type { Collectors } from '../document/reader.ts';
import { compileAnomalyDetection } from './anomaly-detection.ts';
import { compileAssociation } from './association.ts';
import { compileBaseline } from './baseline.ts';
import { compileBayesianNetwork } from './bayesian-network/bayesian-network.ts';
import { compileClustering } from './clustering.ts';
import { compileGeneralRegression } from './general-regression/general-regression.ts';
import { compileGaussianProcess } from './gaussian-process.ts';
import { compileMining } from './mining/mining.ts';
import type { CompileModel } from './model.ts';
import { compileNaiveBayes } from './naive-bayes.ts';
import { compileNearestNeighbor } from './nearest-neighbor.ts';
import { neuronCollector } from './neural-network/collector.ts';
import { compileNeuralNetwork } from './neural-network/neural-network.ts';
import { compileRegression } from './regression/regression.ts';
import { compileRuleSet } from './rule-set.ts';
import { compileScorecard } from './scorecard.ts';
import { compileSequence } from './sequence.ts';
import { compileSupportVector } from './support-vector/support-vector.ts';
import { compileText } from './text.ts';
import { compileTimeSeries } from './time-series/time-series.ts';
import { treeCollector } from './tree/collector.ts';
import { compileTree } from './tree/tree.ts';

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
