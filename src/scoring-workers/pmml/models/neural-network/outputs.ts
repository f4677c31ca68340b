import { type Element, PmmlError } from '../../document/element.ts';
import { textOf, type Value } from '../../fields/types.ts';
import { categoryOf, type ModelContext, Prediction, type TargetField } from '../model.ts';
import type { NeuronIndexes } from './layer.ts';

/** What the output neurons say about one target. */
export interface NetworkTarget {
  readonly prediction: Prediction;
  /** Writes the prediction from the activations of all neurons. */
  read(values: Float64Array): void;
}

/** An output neuron: where its activation is, and how its target's value follows from it. */
interface NetworkOutput {
  readonly element: Element;
  readonly id: string;
  readonly index: number;
  readonly expression: Element;
}

/**
 * The targets of a network by field, that of the model's first target first.
 *
 * @throws PmmlError where an output cannot be turned back into a value of its target
 */
export function readOutputs(context: ModelContext, indexes: NeuronIndexes): ReadonlyMap<string, NetworkTarget> {
  const { element, targets } = context;
  const elements = element.child('NeuralOutputs')?.childrenOf('NeuralOutput') ?? [];
  if (elements.length === 0) throw new PmmlError(element, 'has no NeuralOutput');
  const groups = new Map<string, NetworkOutput[]>();
  for (const output of elements) {
    const id = output.required('outputNeuron');
    const index = indexes.get(id);
    if (index === undefined) throw new PmmlError(output, `no neuron has the id '${id}'`);
    const expression = expressionOf(output, context);
    const field = expression.required('field');
    const group = groups.get(field);
    const read = { element: output, id, index, expression };
    if (group === undefined) groups.set(field, [read]);
    else group.push(read);
  }
  const [only] = groups.values();
  if (groups.size === 1 && only !== undefined && targets.length <= 1) {
    const name = targets[0]?.name ?? [...groups.keys()].join();
    return new Map([[name, targetOf(only, targets[0], context)]]);
  }
  return new Map(
    targets.map((target) => {
      const group = groups.get(target.name);
      if (group === undefined) throw new PmmlError(element, `has no NeuralOutput of the target '${target.name}'`);
      return [target.name, targetOf(group, target, context)];
    }),
  );
}

/** The expression of an output; a reference to a derived field of the target stands for that field's. */
function expressionOf(output: Element, context: ModelContext): Element {
  const { scope, element } = context;
  const find = (container: Element): Element => {
    const expression = scope.names.findExpression(container);
    if (expression === undefined) throw new PmmlError(container, 'has no expression');
    return expression;
  };
  // Documents before PMML 3.0 have no DerivedField around the expression.
  const expression = find(output.child('DerivedField') ?? output);
  if (expression.name !== 'FieldRef') return expression;
  const name = expression.required('field');
  const local = element
    .child('LocalTransformations')
    ?.childrenOf('DerivedField')
    .find((field) => field.attribute('name') === name);
  const derived = local ?? scope.names.globals.get(name);
  return derived === undefined ? expression : find(derived);
}

function targetOf(
  outputs: readonly NetworkOutput[],
  target: TargetField | undefined,
  context: ModelContext,
): NetworkTarget {
  const [first] = outputs as readonly [NetworkOutput];
  for (const { expression } of outputs)
    if (expression.name !== 'NormDiscrete' && (outputs.length > 1 || context.functionName === 'classification'))
      throw new PmmlError(expression, 'is not NormDiscrete, which the outputs of a classification are');
  return first.expression.name === 'NormDiscrete' ? categoriesOf(outputs, target) : numberOf(first);
}

function categoriesOf(outputs: readonly NetworkOutput[], target: TargetField | undefined): NetworkTarget {
  const seen = new Set<Value>();
  for (const { expression } of outputs) {
    const category = categoryOf(expression.required('value'), target);
    if (seen.has(category))
      throw new PmmlError(expression, `there is another output of '${textOf(category, target?.type)}'`);
    seen.add(category);
  }
  const categories = [...seen];
  const prediction = new Prediction(categories);
  const indexes = Int32Array.from(outputs, ({ index }) => index);
  return {
    prediction,
    read(values) {
      const { probabilities } = prediction;
      for (let i = 0; i < indexes.length; i++) probabilities[i] = values[indexes[i] as number] as number;
      const best = prediction.mostProbable();
      prediction.setValue(best === -1 ? undefined : categories[best]);
      prediction.entityId = outputs[best]?.id;
    },
  };
}

function numberOf({ expression, index, id }: NetworkOutput): NetworkTarget {
  const prediction = new Prediction();
  const denormalize = inverseOf(expression);
  return {
    prediction,
    read(values) {
      prediction.setNumber(denormalize(values[index] as number));
      prediction.entityId = id;
    },
  };
}

/** The number that is normalized to an activation. */
function inverseOf(expression: Element): (norm: number) => number {
  if (expression.name === 'FieldRef') return (norm) => norm;
  if (expression.name !== 'NormContinuous')
    throw new PmmlError(expression, 'cannot be inverted; an output is FieldRef, NormContinuous or NormDiscrete');
  const points = expression
    .childrenOf('LinearNorm')
    .map((point) => ({ orig: point.requiredNumber('orig'), norm: point.requiredNumber('norm') }))
    .sort((a, b) => a.norm - b.norm);
  if (points.length < 2) throw new PmmlError(expression, 'has fewer than two LinearNorm');
  const origs = points.map(({ orig }) => orig);
  const norms = points.map(({ norm }) => norm);
  return (norm) => {
    let i = 0;
    while (i < norms.length - 2 && norm >= (norms[i + 1] as number)) i++;
    const [fromNorm, toNorm] = [norms[i] as number, norms[i + 1] as number];
    const [from, to] = [origs[i] as number, origs[i + 1] as number];
    return ((norm - fromNorm) / (toNorm - fromNorm)) * (to - from) + from;
  };
}
