import { Element } from '../document/element.ts';
import type { ModelContext } from './model.ts';

/** Models of older documents that stand inside of a node of a tree, or in place of the segments of a MiningModel. */
export const EMBEDDED: readonly string[] = ['Regression', 'DecisionTree'];

/**
 * An embedded model as the model element of its own that it stands for. Its `ResultField`s are output fields; it predicts the
 * target of the model around it, unless it has such fields only for models behind it.
 */
export function embeddedModel(element: Element, context: ModelContext): Element {
  const attributes = new Map(element.attributes);
  if (!attributes.has('functionName')) attributes.set('functionName', context.functionName);
  const name = element.name === 'Regression' ? 'RegressionModel' : 'TreeModel';
  const model = new Element(name, attributes, element, context.element);
  model.packed = element.packed;
  const schema = new Element('MiningSchema', new Map(), element, model);
  if (context.target !== undefined) {
    const target = new Map([
      ['name', context.target.name],
      ['usageType', 'target'],
    ]);
    schema.children.push(new Element('MiningField', target, element, schema));
  }
  model.children.push(
    schema,
    ...element.children.filter((child) => child.name !== 'ResultField' && child.name !== 'Output'),
  );
  const outputs = outputOf(element, model);
  if (outputs !== undefined) model.children.push(outputs);
  return model;
}

function outputOf(element: Element, model: Element): Element | undefined {
  const results = element.childrenOf('ResultField');
  const given = element.child('Output');
  if (results.length === 0) return given;
  const output = new Element('Output', new Map(), element, model);
  output.children.push(...(given?.children ?? []));
  for (const result of results) output.children.push(new Element('OutputField', result.attributes, result, output));
  return output;
}
