/** NeuralNetwork (docs/spec/pmml-equations.md#neural-networks). */
import { type Element, PmmlError } from '../../document/element.ts';
import { dataTypeOf, opTypeFor } from '../../fields/data-field.ts';
import type { Expression } from '../../fields/expression.ts';
import { computedField } from '../../fields/scope.ts';
import { isFloat } from '../math-context.ts';
import type { CompileModel, ModelContext, Prediction } from '../model.ts';
import { addNeuron, Layer, type NeuronIndexes } from './layer.ts';
import { type NetworkTarget, readOutputs } from './outputs.ts';

export const compileNeuralNetwork: CompileModel = (context) => {
  const { element } = context;
  const inputs = element.child('NeuralInputs')?.childrenOf('NeuralInput') ?? [];
  if (inputs.length === 0) throw new PmmlError(element, 'has no NeuralInput');
  const layerElements = element.childrenOf('NeuralLayer');
  if (layerElements.length === 0) throw new PmmlError(element, 'has no NeuralLayer');
  const isSingle = isFloat(element);
  const indexes: NeuronIndexes = new Map();
  for (const input of inputs) addNeuron(indexes, input);
  const reads = inputs.map((input) => inputOf(input, context).number);
  const layers = layerElements.map((layer) => new Layer(layer, element, indexes, isSingle));
  const ids = [...indexes.keys()];
  const values = new Float64Array(ids.length);
  const targets = readOutputs(context, indexes);
  const [main, ...others] = targets.values() as unknown as readonly [NetworkTarget, ...NetworkTarget[]];
  const { prediction } = main;
  if (others.length > 0) prediction.others = otherPredictions(targets);
  return {
    prediction,
    bytes: layers.reduce((sum, layer) => sum + layer.bytes, values.length * 100),
    evaluate(row) {
      for (let i = 0; i < reads.length; i++) {
        const read = (reads[i] as Expression['number'])(row);
        if (Number.isNaN(read)) {
          for (const target of targets.values()) target.prediction.clear();
          return;
        }
        values[i] = isSingle ? Math.fround(read) : read;
      }
      for (let i = 0; i < layers.length; i++) (layers[i] as Layer).evaluate(values);
      main.read(values);
      for (let i = 0; i < others.length; i++) (others[i] as NetworkTarget).read(values);
    },
    explain(row, trace) {
      trace.line('[BackPropagationNetwork]');
      const show = (kind: string, index: number, value: number): void =>
        trace.line(`${kind} neuron [${ids[index]}] is [${Number.isNaN(value) ? 'missing' : value.toFixed(3)}]`);
      const read = reads.map((number) => number(row));
      read.forEach((value, i) => {
        show('Input', i, value);
      });
      if (read.some(Number.isNaN)) return;
      layers.forEach((layer, i) => {
        const kind = i === layers.length - 1 ? 'Output' : 'Hidden';
        for (let index = layer.first; index < layer.end; index++) show(kind, index, values[index] as number);
      });
    },
  };
};

function otherPredictions(targets: ReadonlyMap<string, NetworkTarget>): ReadonlyMap<string, Prediction> {
  return new Map([...targets].slice(1).map(([name, { prediction }]) => [name, prediction]));
}

/** The value of an input neuron, of the type that its derived field declares. */
function inputOf(input: Element, context: ModelContext): Expression {
  const { scope } = context;
  // Documents before PMML 3.0 have no DerivedField around the expression.
  const container = input.child('DerivedField') ?? input;
  const child = scope.names.findExpression(container);
  if (child === undefined) throw new PmmlError(container, 'has no expression');
  const expression = context.expression(child);
  const type = dataTypeOf(container) ?? expression.type ?? 'double';
  if (type === 'double' && expression.type !== 'string') return expression;
  return computedField({
    name: input.required('id'),
    type,
    optype: opTypeFor(type),
    expression,
    slots: scope.names.slots,
  });
}
