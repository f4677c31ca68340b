import { PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { textOf } from '../../fields/types.ts';
import { embeddedModel } from '../embedded.ts';
import {
  type EvaluatedModel,
  type Model,
  type ModelContext,
  type NumberSource,
  Prediction,
  type Trace,
} from '../model.ts';
import { NONE, PackedTree, packElements } from './collector.ts';
import { type GeneratedTrees, generatedTreesOf, type Walk } from './generated.ts';
import { NULL_OUTCOME, Program } from './program.ts';
import { buildGraph, type Unknown } from './program-builder.ts';
import { Scores } from './scores.ts';
import { SpreadTree } from './spread.ts';

export const MISSING_STRATEGIES = [
  'none',
  'lastPrediction',
  'nullPrediction',
  'defaultChild',
  'weightedConfidence',
  'aggregateNodes',
] as const;

/** `TreeModel`, and the `DecisionTree` that older documents have inside of other models (docs/spec/pmml-trees.md#trees). */
export function compileTree(context: ModelContext): Model {
  const { element } = context;
  const tree = element.packed instanceof PackedTree ? element.packed : packElements(element);
  if (tree === undefined || tree.count === 0) throw new PmmlError(element, 'has no Node');
  element.packed = undefined;
  const strategy = element.oneOf('missingValueStrategy', MISSING_STRATEGIES, 'none');
  const isLastWithoutTrueChild =
    element.oneOf(
      'noTrueChildStrategy',
      ['returnNullPrediction', 'returnLastPrediction'] as const,
      'returnNullPrediction',
    ) === 'returnLastPrediction';
  element.oneOf('splitCharacteristic', ['binarySplit', 'multiSplit'] as const, 'multiSplit');
  const penalty = element.number('missingValuePenalty', 1);
  const isFloat = element.attribute('x-mathContext') === 'float';
  const scores = new Scores(tree, context);
  const form = {
    scores,
    penalty,
    parents: tree.parent.packed(tree.count),
    embedded: embeddedModels(tree, context),
    generated: generatedTreesOf(context.scope.names),
  };
  if (strategy === 'weightedConfidence' || strategy === 'aggregateNodes') {
    const isWeighted = strategy === 'weightedConfidence';
    if (isWeighted && scores.isRegression)
      throw new PmmlError(element, "'missingValueStrategy' is 'weightedConfidence', which is not for a regression");
    return new SpreadTreeModel(new SpreadTree(tree, context, scores, { isWeighted, isLastWithoutTrueChild }), form);
  }
  const program = new Program(
    buildGraph(tree, context, {
      unknown: strategy satisfies Unknown,
      isLastWithoutTrueChild,
      countsMissing: penalty !== 1,
      isFloat,
    }),
  );
  return new TreeModel(program, form);
}

interface TreeForm {
  readonly scores: Scores;
  readonly penalty: number;
  readonly parents: Int32Array;
  readonly embedded: ReadonlyMap<number, EvaluatedModel>;
  readonly generated: GeneratedTrees;
}

abstract class AnyTree implements Model {
  readonly prediction: Prediction;
  readonly bytes: number;
  readonly #form: TreeForm;
  /** Where the record that was scored last stays. */
  #node = NONE;

  constructor(form: TreeForm, bytes: number) {
    this.#form = form;
    // A prediction of its own where it may be taken over from a model in a node.
    const { prediction } = form.scores;
    this.prediction = form.embedded.size === 0 ? prediction : new Prediction(prediction.categories);
    this.bytes = form.scores.bytes + form.parents.byteLength + bytes;
    for (const { bytes } of form.embedded.values()) this.bytes += bytes;
  }

  abstract evaluate(row: Row): void;

  /** The score of a node is all that it says. */
  protected get isBareRegression(): boolean {
    return this.#form.scores.isRegression && this.#form.embedded.size === 0;
  }

  protected stay(node: number, penalty: number, row: Row): void {
    this.#node = node;
    const { scores, embedded } = this.#form;
    scores.write(node, penalty);
    if (embedded.size === 0) return;
    const model = embedded.get(node);
    model?.evaluate(row);
    this.prediction.copyFrom(model === undefined ? scores.prediction : model.prediction);
    this.prediction.entityId = scores.id(node);
  }

  protected stayNowhere(): void {
    this.#node = NONE;
    this.prediction.clear();
  }

  /** The scores of several nodes have been made one. */
  protected stayAmong(): void {
    this.#node = NONE;
    if (this.prediction !== this.#form.scores.prediction) this.prediction.copyFrom(this.#form.scores.prediction);
  }

  explain(_row: Row, trace: Trace): void {
    const { scores, parents } = this.#form;
    trace.line('[DecisionTree]');
    const path: number[] = [];
    for (let node = this.#node; node !== NONE; node = parents[node]) path.push(node);
    for (const node of path.reverse()) trace.line(`Evaluation of node [${scores.id(node)}] is [True].`);
    const { categories, confidences } = this.prediction;
    const type =
      typeof categories[0] === 'string' ? 'STRING' : typeof categories[0] === 'boolean' ? 'BOOLEAN' : 'DOUBLE';
    for (let i = 0; i < categories.length; i++)
      if (!Number.isNaN(confidences[i]))
        trace.line(
          `The confidence of the category [${textOf(categories[i], undefined)} (${type})] is [${confidences[i]}].`,
        );
  }
}

class TreeModel extends AnyTree {
  readonly numberOf: ((row: Row) => number) | undefined;
  readonly numberSource: NumberSource | undefined;
  readonly #program: Program;
  readonly #penalty: number;
  readonly #walk: Walk;

  constructor(program: Program, form: TreeForm) {
    super(form, program.bytes + (program.plainEntries === undefined ? 0 : form.generated.reserve(program.tests)));
    this.#program = program;
    this.#penalty = form.penalty;
    const entries = program.plainEntries;
    const walk: Walk = (row) => program.walk(row);
    this.#walk = entries === undefined ? walk : form.generated.later(entries, walk);
    if (!this.isBareRegression) return;
    this.numberOf = (row) => program.score(program.walk(row));
    if (entries !== undefined) this.numberSource = { entries, resultOf: (leaf) => program.score(leaf) };
  }

  evaluate(row: Row): void {
    const program = this.#program;
    program.missingSteps = 0;
    const node = program.node(this.#walk(row));
    if (node === NULL_OUTCOME) this.stayNowhere();
    else this.stay(node, this.#penalty === 1 ? 1 : this.#penalty ** program.missingSteps, row);
  }
}

class SpreadTreeModel extends AnyTree {
  readonly #tree: SpreadTree;

  constructor(tree: SpreadTree, form: TreeForm) {
    super(form, tree.bytes);
    this.#tree = tree;
  }

  evaluate(row: Row): void {
    const node = this.#tree.evaluate(row);
    if (node === NONE) this.stayAmong();
    else this.stay(node, 1, row);
  }
}

/** Models in nodes (`Regression`, `DecisionTree` of older documents): they score the records that stay there. */
function embeddedModels(tree: PackedTree, context: ModelContext): ReadonlyMap<number, EvaluatedModel> {
  const models = new Map<number, EvaluatedModel>();
  for (const [node, element] of tree.embedded)
    models.set(node, context.nested(embeddedModel(element, context), context.scope));
  return models;
}
