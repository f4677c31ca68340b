import { type Element, PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { derivedFieldsOf, Scope } from '../../fields/scope.ts';
import { TRUE } from '../../predicates/predicate.ts';
import type { EvaluatedModel, Model, ModelContext, ModelOutput, PartialModel, Trace } from '../model.ts';
import { Prediction } from '../model.ts';
import { type Combine, combinationOf, type Method, methodOf, type Missing, missingOf } from './combine.ts';
import { type Fill, generatedTreesOf } from '../tree/generated.ts';
import type { Segment } from './segment.ts';
import { shownPrediction } from '../shown.ts';
import { EMBEDDED, embeddedModel } from '../embedded.ts';

/** Model elements of the standard, as they stand in a segment. */
const isModelElement = (element: Element): boolean =>
  element.name.endsWith('Model') || element.name === 'NeuralNetwork' || element.name === 'Scorecard';

const PREDICATES = ['True', 'False', 'SimplePredicate', 'SimpleSetPredicate', 'CompoundPredicate'] as const;

/** MiningModel: several models and how their results become one (Multiple Models of the standard). */
export function compileMining(context: ModelContext): Model {
  const { element, problems } = context;
  const segmentation = element.child('Segmentation');
  const embedded = element.childrenOf(...EMBEDDED);
  if (segmentation === undefined && embedded.length > 0) return sequenceOf(embedded, context);
  if (segmentation === undefined) throw new PmmlError(element, 'the Segmentation is missing');
  const method = methodOf(segmentation);
  const locals = derivedFieldsOf(segmentation.child('LocalTransformations'));
  const chainScope = new Scope(context.scope.names, { parent: context.scope, locals });
  const segments: Segment[] = [];
  const byId = new Map<string, PartialModel>();
  for (const [index, child] of segmentation.childrenOf('Segment').entries()) {
    const segment = readSegment(child, index, context, chainScope);
    if (byId.has(segment.id)) throw new PmmlError(child, `there are two segments '${segment.id}'`);
    byId.set(segment.id, partial(segment));
    segments.push(segment);
    if (method === 'modelChain') declareOutputs(segment.model, chainScope, child);
  }
  if (segments.length === 0) throw new PmmlError(segmentation, 'the Segment is missing');
  if (embedded.length > 0)
    problems.warn(
      element,
      'Regression and DecisionTree in place of segments are not used by a model with a Segmentation',
    );
  return new MiningModel({ segmentation, method, segments, byId, chainScope, context });
}

/** Models of PMML 3 in place of a Segmentation: each sees the result fields of those before it, and the last one decides. */
function sequenceOf(embedded: readonly Element[], context: ModelContext): Model {
  const chainScope = new Scope(context.scope.names, { parent: context.scope });
  const byId = new Map<string, PartialModel>();
  const segments = embedded.map((child, index): Segment => {
    const model = context.nested(embeddedModel(child, context), chainScope);
    const id = child.attribute('modelName') ?? String(index + 1);
    declareOutputs(model, chainScope, child);
    const segment: Segment = { id, predicate: () => TRUE, isAlwaysActive: true, model, weight: () => 1, epoch: -1 };
    byId.set(id, partial(segment));
    return segment;
  });
  return new MiningModel({ segmentation: context.element, method: 'modelChain', segments, byId, chainScope, context });
}

const partial = (segment: Segment): PartialModel => ({
  model: segment.model,
  isActive: (row) => segment.epoch === row.epoch,
});

function evaluate(segment: Segment, row: Row): void {
  segment.model.evaluate(row);
  segment.epoch = row.epoch;
}

function readSegment(element: Element, index: number, context: ModelContext, scope: Scope): Segment {
  const predicate = element.childrenOf(...PREDICATES)[0];
  if (predicate === undefined) throw new PmmlError(element, 'the predicate is missing');
  const child = element.children.find(isModelElement);
  if (child === undefined) throw new PmmlError(element, 'the model is missing');
  const model = context.nested(child, scope);
  return {
    id: element.attribute('id') ?? String(index + 1),
    predicate: context.predicate(predicate, scope),
    isAlwaysActive: predicate.name === 'True',
    model,
    weight: weightOf(element, context, scope, model),
    epoch: -1,
  };
}

/** `weight`, or the field or expression of a `VariableWeight`, which sees the outputs of the segment's own model too. */
function weightOf(element: Element, context: ModelContext, around: Scope, model: EvaluatedModel): (row: Row) => number {
  const variable = element.child('VariableWeight');
  if (variable === undefined) {
    const weight = element.number('weight', 1);
    return () => weight;
  }
  const scope = new Scope(around.names, { parent: around });
  declareOutputs(model, scope, variable);
  const name = variable.attribute('field');
  if (name !== undefined) return scope.field(name, variable).number;
  const child = scope.names.findExpression(variable);
  if (child === undefined) throw new PmmlError(variable, "there is neither a 'field' nor an expression");
  return context.expression(child, scope).number;
}

function declareOutputs(model: EvaluatedModel, scope: Scope, from: Element): void {
  for (const { name } of model.outputs) {
    const field = model.outputScope.find(name, from);
    if (field !== undefined) scope.declare(field, name);
  }
}

interface MiningForm {
  readonly segmentation: Element;
  readonly method: Method;
  readonly segments: readonly Segment[];
  readonly byId: ReadonlyMap<string, PartialModel>;
  readonly chainScope: Scope;
  readonly context: ModelContext;
}

/** It has no categories, so that nothing writes into it. */
const NOTHING = new Prediction();

class MiningModel implements Model {
  readonly prediction = new Prediction();
  readonly bytes: number;
  readonly innerScope: Scope;
  readonly segments: ReadonlyMap<string, PartialModel>;
  readonly segmentOutputs: readonly ModelOutput[];
  readonly #list: readonly Segment[];
  readonly #method: Method;
  /** What a segment without a prediction does to a chain, or to the choice of the first one. */
  readonly #missing: Missing['treatment'];
  readonly #combine: Combine | undefined;
  /** Of a model with several targets: what the segments that predict them say. */
  readonly #others: ReadonlyMap<string, Prediction> | undefined;
  /** Segments are asked for their numbers by what combines them; their predictions are not written. */
  readonly #asksForNumbers: boolean;
  /** Segments whose predicate was true for the record, in order; all, where that is so for each record. */
  readonly #active: Segment[] = [];
  readonly #areAllActive: boolean;

  constructor(form: MiningForm) {
    const { segments, method } = form;
    this.#list = segments;
    this.#method = method;
    const { targets } = form.context;
    this.#others = targets.length > 1 ? new Map(targets.map(({ name }) => [name, new Prediction()])) : undefined;
    this.innerScope = form.chainScope;
    this.segments = form.byId;
    this.bytes = segments.reduce((sum, { model }) => sum + model.bytes + SEGMENT_BYTES, 0);
    this.segmentOutputs = shownOutputs(method, segments);
    this.#asksForNumbers = onlyNumbers(form);
    this.#areAllActive = this.#asksForNumbers && segments.every(({ isAlwaysActive }) => isAlwaysActive);
    if (this.#areAllActive) this.#active = [...segments];
    const missing = missingOf(form.segmentation);
    this.#missing = missing.treatment;
    this.#combine = combinationOf(form.segmentation, method, segments, form.context, {
      missing,
      prediction: this.prediction,
      asksForNumbers: this.#asksForNumbers,
      fill: this.#areAllActive ? fillOf(form) : undefined,
    });
  }

  evaluate(row: Row): void {
    const active = this.#active;
    if (this.#areAllActive) {
      this.prediction.clear();
      this.#combine?.(active, row);
      return;
    }
    active.length = 0;
    if (this.#method === 'selectFirst') this.#selectFirst(row);
    else if (this.#method === 'modelChain') this.#chain(row);
    else {
      const list = this.#list;
      for (let i = 0; i < list.length; i++) {
        const segment = list[i] as Segment;
        if (segment.predicate(row) !== TRUE) continue;
        if (!this.#asksForNumbers) evaluate(segment, row);
        active.push(segment);
      }
      this.prediction.clear();
      if (active.length > 0) this.#combine?.(active, row);
    }
  }

  #selectFirst(row: Row): void {
    for (const segment of this.#list) {
      if (segment.predicate(row) !== TRUE) continue;
      evaluate(segment, row);
      this.#active.push(segment);
      if (segment.model.prediction.value === undefined) {
        if (this.#missing === 'skipSegment') continue;
        if (this.#missing === 'returnMissing') break;
      }
      this.prediction.copyFrom(segment.model.prediction);
      this.prediction.entityId = segment.id;
      return;
    }
    this.#tellNothing();
  }

  /** Nor what a segment told of an earlier record: its categories, its several targets. */
  #tellNothing(): void {
    this.prediction.copyFrom(NOTHING);
  }

  #chain(row: Row): void {
    let last: Segment | undefined;
    for (const segment of this.#list) {
      if (segment.predicate(row) !== TRUE) continue;
      evaluate(segment, row);
      this.#active.push(segment);
      if (segment.model.prediction.value === undefined) {
        if (this.#missing === 'skipSegment') continue;
        if (this.#missing === 'returnMissing') {
          last = undefined;
          break;
        }
      }
      last = segment;
    }
    if (last === undefined) this.#tellNothing();
    else {
      this.prediction.copyFrom(last.model.prediction);
      this.prediction.entityId = last.id;
    }
    if (this.#others !== undefined) this.#tellTargets(this.#others, last !== undefined);
  }

  #tellTargets(others: ReadonlyMap<string, Prediction>, hasResult: boolean): void {
    for (const other of others.values()) other.copyFrom(NOTHING);
    if (hasResult)
      for (const { model } of this.#active)
        if (this.#missing !== 'skipSegment' || model.prediction.value !== undefined)
          others.get(model.target?.name ?? '')?.copyFrom(model.prediction);
    this.prediction.others = others;
  }

  explain(row: Row, trace: Trace): void {
    trace.line('[ModelEnsemble]');
    for (const [index, segment] of this.#list.entries()) {
      const isActive = this.#active.includes(segment);
      trace.line(`Process segment model [${index + 1}]:`);
      trace.line(`The predicate of segment model [${index + 1}] evaluates [${isActive ? 'True' : 'False'}]`);
      if (!isActive) continue;
      if (this.#asksForNumbers) segment.model.evaluate(row);
      segment.model.explain?.(row, trace);
      trace.line(`The predicted value of segment model [${index + 1}] is ${shownPrediction(segment.model)}`);
      // The segments behind the chosen one were not asked.
      if (this.#method === 'selectFirst' && segment === this.#active.at(-1)) return;
    }
  }
}

/** One function for the numbers of all segments, where each can be part of it. */
function fillOf({ segments, context }: MiningForm): Fill | undefined {
  const sources = segments.map(({ model }) => model.numberSource).filter((source) => source !== undefined);
  if (sources.length < segments.length) return undefined;
  return generatedTreesOf(context.scope.names).filledLater(sources);
}

/** Methods whose result is not of the numbers of all segments. */
const ONE_SEGMENT: ReadonlySet<Method> = new Set<Method>(['selectFirst', 'selectAll', 'modelChain']);

/** Whether the result needs no more of segments than their numbers. */
function onlyNumbers({ method, segments, context }: MiningForm): boolean {
  if (context.functionName !== 'regression' || ONE_SEGMENT.has(method)) return false;
  const outputs = context.element.child('Output')?.children ?? [];
  if (outputs.some((output) => output.attribute('segmentId') !== undefined)) return false;
  return segments.every(({ model }) => model.numberOf !== undefined);
}

const SEGMENT_BYTES = 200;

/** Outputs of segments that a result shows beside the model's own: of those that lead to it, where they have another name. */
function shownOutputs(method: Method, segments: readonly Segment[]): readonly ModelOutput[] {
  if (method !== 'modelChain' && method !== 'selectFirst') return [];
  return segments.flatMap(({ model }) => [...(model.segmentOutputs ?? []), ...model.outputs]);
}
