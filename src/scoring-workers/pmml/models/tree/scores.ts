import { PmmlError } from '../../document/element.ts';
import type { Value } from '../../fields/types.ts';
import { categoryOf, type ModelContext, Prediction } from '../model.ts';
import { NONE, type PackedTree } from './collector.ts';
import type { TextPool } from './columns.ts';

/** What the nodes of a tree say: scores, probabilities and confidences by category, ids. */
export class Scores {
  readonly prediction: Prediction;
  readonly bytes: number;
  readonly isRegression: boolean;
  readonly #pool: TextPool;
  readonly #ids: Int32Array | undefined;
  /** Of a regression. */
  readonly #numbers: Float64Array;
  /** Of a classification: index of the node's category; NONE where it has no score. */
  readonly #categories: Int32Array;
  /** ScoreDistributions of node n: from `starts[n]` to `starts[n + 1]`. */
  readonly #starts: Int32Array;
  readonly #distributed: Int32Array;
  readonly #probabilities: Float64Array;
  readonly #confidences: Float64Array;
  readonly recordCounts: Float64Array;
  readonly #counts: Float64Array;

  /** @throws PmmlError where a score of a regression is not a number */
  constructor(tree: PackedTree, context: ModelContext) {
    const { count } = tree;
    this.#pool = tree.pool;
    this.isRegression = context.functionName === 'regression';
    this.#ids = tree.id.isEmpty ? undefined : tree.id.packed(count);
    this.recordCounts = tree.recordCount.isEmpty ? EMPTY : tree.recordCount.packed(count);
    if (this.isRegression) {
      for (let node = 0; node < count; node++) {
        const score = tree.score(node);
        if (score !== undefined && Number.isNaN(tree.scoreNumber.get(node)))
          throw new PmmlError(tree.place(node), `'score' is '${score}', which is not a number`);
      }
      this.#numbers = tree.scoreNumber.packed(count);
      this.#categories = NO_INDEXES;
      this.#starts = NO_INDEXES;
      this.#distributed = NO_INDEXES;
      this.#probabilities = EMPTY;
      this.#confidences = EMPTY;
      this.#counts = EMPTY;
      this.prediction = new Prediction();
    } else {
      this.#numbers = EMPTY;
      const categories = new Categories(tree, context);
      this.#categories = Int32Array.from({ length: count }, (_, node) => categories.ofText(tree.score(node)));
      const distributions = new Distributions(tree, categories);
      this.#starts = distributions.starts;
      this.#distributed = distributions.categories;
      this.#probabilities = distributions.probabilities;
      this.#confidences = distributions.confidences;
      this.#counts = distributions.counts;
      this.prediction = new Prediction(categories.values);
      this.#fillScores(count);
    }
    this.bytes =
      (this.#ids?.byteLength ?? 0) +
      this.#numbers.byteLength +
      this.#categories.byteLength +
      this.#starts.byteLength +
      this.#distributed.byteLength +
      this.#probabilities.byteLength * 3 +
      this.recordCounts.byteLength;
  }

  /** A node without a score has that of its largest distribution. */
  #fillScores(count: number): void {
    for (let node = 0; node < count; node++) {
      if (this.#categories[node] !== NONE) continue;
      let most = Number.NEGATIVE_INFINITY;
      for (let i = this.#starts[node]; i < this.#starts[node + 1]; i++)
        if (this.#probabilities[i] > most) {
          most = this.#probabilities[i];
          this.#categories[node] = this.#distributed[i];
        }
    }
  }

  /** The id of a node, or its place among the nodes from 1. */
  id(node: number): string {
    const id = this.#ids === undefined ? NONE : this.#ids[node];
    return id === NONE ? this.#pool.textOfIndex(node + 1) : this.#pool.text(id);
  }

  /** Takes what a node says as the prediction; confidences are multiplied with the penalty. */
  write(node: number, penalty: number): void {
    const { prediction } = this;
    if (prediction.display !== undefined) prediction.display = undefined;
    if (this.isRegression) {
      const number = this.#numbers[node];
      prediction.number = number;
      prediction.value = Number.isNaN(number) ? undefined : number;
      prediction.entityId = this.id(node);
      return;
    }
    const category = this.#categories[node];
    prediction.setValue(category === NONE ? undefined : prediction.categories[category]);
    prediction.entityId = this.id(node);
    this.#writeDistribution(node, category, penalty);
  }

  #writeDistribution(node: number, category: number, penalty: number): void {
    const { probabilities, confidences } = this.prediction;
    const end = this.#starts[node + 1];
    let i = this.#starts[node];
    if (i === end && category === NONE) {
      probabilities.fill(Number.NaN);
      confidences.fill(Number.NaN);
      return;
    }
    probabilities.fill(0);
    confidences.fill(0);
    if (i === end) {
      probabilities[category] = 1;
      confidences[category] = penalty;
    }
    for (; i < end; i++) {
      const one = this.#distributed[i];
      probabilities[one] = this.#probabilities[i];
      confidences[one] = this.#confidences[i] * penalty;
    }
  }

  /** Adds the confidences of a node, times a weight, to sums by category. */
  addConfidences(node: number, weight: number, sums: Float64Array): void {
    const end = this.#starts[node + 1];
    let i = this.#starts[node];
    if (i === end && this.#categories[node] !== NONE) sums[this.#categories[node]] += weight;
    for (; i < end; i++) sums[this.#distributed[i]] += this.#confidences[i] * weight;
  }

  /** Adds the records of a node to sums by category. */
  addCounts(node: number, sums: Float64Array): void {
    const end = this.#starts[node + 1];
    let i = this.#starts[node];
    if (i === end && this.#categories[node] !== NONE) sums[this.#categories[node]] += this.recordCount(node);
    for (; i < end; i++) sums[this.#distributed[i]] += this.#counts[i];
  }

  number(node: number): number {
    return this.#numbers[node];
  }

  /** Records of a node; of its distribution where the node itself does not say. */
  recordCount(node: number): number {
    const given = this.recordCounts.length === 0 ? Number.NaN : this.recordCounts[node];
    if (!Number.isNaN(given)) return given;
    let sum = 0;
    for (let i = this.#starts[node]; i < this.#starts[node + 1]; i++) sum += this.#counts[i];
    return sum;
  }
}

const EMPTY = new Float64Array();
const NO_INDEXES = new Int32Array();

/** The categories of a tree: those that the target declares, then others in the order of the document. */
class Categories {
  readonly values: Value[] = [];
  readonly #byText = new Map<string, number>();
  readonly #byValue = new Map<Value, number>();
  readonly #context: ModelContext;

  constructor(tree: PackedTree, context: ModelContext) {
    this.#context = context;
    for (const value of context.target?.data?.valid ?? []) this.#add(value);
    for (let node = 0; node < tree.count; node++) this.ofText(tree.score(node));
    for (let i = 0; i < tree.distributions; i++) this.ofText(tree.pool.text(tree.distributionValue.get(i)));
  }

  ofText(text: string | undefined): number {
    if (text === undefined) return NONE;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const index = this.#add(categoryOf(text, this.#context.target));
    this.#byText.set(text, index);
    return index;
  }

  #add(value: Value): number {
    const known = this.#byValue.get(value);
    if (known !== undefined) return known;
    const index = this.values.length;
    this.values.push(value);
    this.#byValue.set(value, index);
    return index;
  }
}

/** ScoreDistributions by node. A probability is the share of those that are given, else of the records; a confidence that is not given is the probability. */
class Distributions {
  readonly starts: Int32Array;
  readonly categories: Int32Array;
  readonly counts: Float64Array;
  readonly probabilities: Float64Array;
  readonly confidences: Float64Array;

  constructor(tree: PackedTree, categories: Categories) {
    const { count, distributions } = tree;
    this.starts = new Int32Array(count + 1);
    for (let i = 0; i < distributions; i++) this.starts[tree.distributionNode.get(i) + 1]++;
    for (let node = 0; node < count; node++) this.starts[node + 1] += this.starts[node];
    this.categories = new Int32Array(distributions);
    this.counts = new Float64Array(distributions);
    this.probabilities = new Float64Array(distributions);
    this.confidences = new Float64Array(distributions);
    const next = this.starts.slice();
    for (let i = 0; i < distributions; i++) {
      const at = next[tree.distributionNode.get(i)]++;
      this.categories[at] = categories.ofText(tree.pool.text(tree.distributionValue.get(i)));
      const records = tree.distributionCount.get(i);
      this.counts[at] = Number.isNaN(records) ? 0 : records;
      this.probabilities[at] = tree.distributionProbability.get(i);
      this.confidences[at] = tree.distributionConfidence.get(i);
    }
    for (let node = 0; node < count; node++) this.#complete(this.starts[node], this.starts[node + 1]);
  }

  #complete(start: number, end: number): void {
    let records = 0;
    let given = 0;
    let isGiven = true;
    for (let i = start; i < end; i++) {
      records += this.counts[i];
      given += this.probabilities[i];
      if (Number.isNaN(this.probabilities[i])) isGiven = false;
    }
    for (let i = start; i < end; i++) {
      if (!isGiven) this.probabilities[i] = records === 0 ? 0 : this.counts[i] / records;
      else if (given > 0) this.probabilities[i] /= given;
      if (Number.isNaN(this.confidences[i])) this.confidences[i] = this.probabilities[i];
    }
  }
}
