import type { Row } from '../../fields/row.ts';
import { compilePredicate } from '../../predicates/compile.ts';
import { FALSE, type Predicate, TRUE, UNKNOWN } from '../../predicates/predicate.ts';
import { setPredicate } from '../../predicates/sets.ts';
import { OPERATORS, predicateOf, simpleTest } from '../../predicates/simple.ts';
import type { ModelContext, Prediction } from '../model.ts';
import { ELEMENT_PREDICATE, FALSE_PREDICATE, IS_IN, NONE, type PackedTree, TRUE_PREDICATE } from './collector.ts';
import type { Scores } from './scores.ts';

/** Nodes that one record may visit. */
const VISITS_MAX = 1_000_000;

/**
 * A tree where a record with a missing value goes to all children that may be its own: their confidences
 * (`weightedConfidence`) or the records of the leaves (`aggregateNodes`) are added.
 */
export class SpreadTree {
  readonly #firstChild: Int32Array;
  readonly #nextSibling: Int32Array;
  readonly #predicates: readonly Predicate[];
  readonly #scores: Scores;
  readonly #isWeighted: boolean;
  /** Whether a record stays at a node without a true child. */
  readonly #staysAt: readonly boolean[];
  readonly #sums: Float64Array;
  #records = 0;
  #total = 0;
  #visits = 0;
  readonly bytes: number;

  constructor(
    tree: PackedTree,
    context: ModelContext,
    scores: Scores,
    options: { readonly isWeighted: boolean; readonly isLastWithoutTrueChild: boolean },
  ) {
    this.#firstChild = Int32Array.from({ length: tree.count }, (_, node) => tree.firstChild(node));
    this.#nextSibling = tree.nextSibling.packed(tree.count);
    this.#predicates = Array.from({ length: tree.count }, (_, node) => predicateAt(tree, node, context));
    this.#scores = scores;
    this.#isWeighted = options.isWeighted;
    this.#staysAt = Array.from(
      { length: tree.count },
      (_, node) => options.isLastWithoutTrueChild && tree.hasScore(node),
    );
    this.#sums = new Float64Array(scores.prediction.categories.length);
    this.bytes = tree.count * NODE_BYTES;
  }

  /** @returns the node where the record stays; NONE where it has no prediction, or where `prediction` has been written */
  evaluate(row: Row): number {
    const { prediction } = this.#scores;
    this.#visits = 0;
    if (this.#predicates[0](row) !== TRUE) {
      prediction.clear();
      return NONE;
    }
    let node = 0;
    for (;;) {
      const next = this.#step(node, row);
      if (next === SPREAD) {
        this.#spread(node, row, prediction);
        return NONE;
      }
      if (next === NO_CHILD) return node;
      if (next === NO_TRUE_CHILD) {
        if (this.#staysAt[node]) return node;
        prediction.clear();
        return NONE;
      }
      node = next;
    }
  }

  /** The child that a record goes to, or one of the negative answers. */
  #step(node: number, row: Row): number {
    let child = this.#firstChild[node];
    if (child === NONE) return NO_CHILD;
    for (; child !== NONE; child = this.#nextSibling[child]) {
      const truth = this.#predicates[child](row);
      if (truth === TRUE) return child;
      if (truth === UNKNOWN) return SPREAD;
    }
    return NO_TRUE_CHILD;
  }

  #spread(node: number, row: Row, prediction: Prediction): void {
    prediction.clear();
    this.#sums.fill(0);
    this.#records = 0;
    this.#total = 0;
    if (this.#isWeighted) this.#addConfidences(node, 1, row);
    else this.#addLeaves(node, row);
    if (this.#scores.isRegression) {
      prediction.setNumber(this.#records === 0 ? Number.NaN : this.#total / this.#records);
      return;
    }
    const sums = this.#sums;
    const total = sums.reduce((sum, one) => sum + one, 0);
    for (let i = 0; i < sums.length; i++) {
      prediction.probabilities[i] = total === 0 ? 0 : sums[i] / total;
      prediction.confidences[i] = this.#isWeighted ? sums[i] : prediction.probabilities[i];
    }
    if (total > 0) prediction.setMostProbable();
    prediction.entityId = this.#scores.id(node);
  }

  /** The children that the record may go to, each with its share of their records. */
  #addConfidences(node: number, weight: number, row: Row): void {
    if (++this.#visits > VISITS_MAX) return;
    const next = this.#step(node, row);
    if (next === NO_CHILD || (next === NO_TRUE_CHILD && this.#staysAt[node])) {
      this.#scores.addConfidences(node, weight, this.#sums);
      return;
    }
    if (next === NO_TRUE_CHILD) return;
    if (next !== SPREAD) {
      this.#addConfidences(next, weight, row);
      return;
    }
    const children = this.#possible(node, row);
    const records = children.reduce((sum, child) => sum + this.#scores.recordCount(child), 0);
    for (const child of children)
      this.#addConfidences(child, records === 0 ? 0 : (weight * this.#scores.recordCount(child)) / records, row);
  }

  /** The records of the leaves that the record may end in. */
  #addLeaves(node: number, row: Row): void {
    if (++this.#visits > VISITS_MAX) return;
    const next = this.#step(node, row);
    if (next === NO_CHILD || (next === NO_TRUE_CHILD && this.#staysAt[node])) {
      if (this.#scores.isRegression) {
        const records = this.#scores.recordCount(node);
        this.#records += records;
        this.#total += records * this.#scores.number(node);
      } else this.#scores.addCounts(node, this.#sums);
    } else if (next === SPREAD) for (const child of this.#possible(node, row)) this.#addLeaves(child, row);
    else if (next >= 0) this.#addLeaves(next, row);
  }

  #possible(node: number, row: Row): number[] {
    const possible: number[] = [];
    for (let child = this.#firstChild[node]; child !== NONE; child = this.#nextSibling[child])
      if (this.#predicates[child](row) !== FALSE) possible.push(child);
    return possible;
  }
}

const NODE_BYTES = 160;

const NO_CHILD = -2;
const NO_TRUE_CHILD = -3;
const SPREAD = -4;

function predicateAt(tree: PackedTree, node: number, context: ModelContext): Predicate {
  const kind = tree.predicate.get(node);
  if (kind === TRUE_PREDICATE) return () => TRUE;
  if (kind === FALSE_PREDICATE) return () => FALSE;
  const element = tree.elements.get(node);
  if (kind === ELEMENT_PREDICATE && element !== undefined) return compilePredicate(element, context.scope);
  const field = context.scope.field(tree.pool.text(tree.field.get(node)), context.element);
  if (kind < OPERATORS.length)
    return predicateOf(simpleTest(field, OPERATORS[kind], tree.value(node), tree.place(node)));
  return setPredicate(field, tree.sets[tree.valueText.get(node)], kind === IS_IN);
}
