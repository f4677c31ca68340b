import { type Element, PmmlError } from '../document/element.ts';
import type { Problems } from '../document/problems.ts';
import { dataTypeOf, opTypeFor, opTypeOf } from '../fields/data-field.ts';
import { type Field, makeField, onceForRecord, store } from '../fields/field.ts';
import { Dictionary, type Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { type DataType, isNumeric, type Value } from '../fields/types.ts';
import type { ModelOutput } from '../models/model.ts';
import { asOutputType, EXPRESSION_FEATURES, type Feature, type FeatureContext, readFeature } from './features.ts';

/** An output field that what comes after it in the document may refer to. */
export interface CompiledOutput extends ModelOutput {
  readonly field: Field;
}

export interface OutputsContext extends FeatureContext {
  /** Sees the model's fields and the outputs so far. Outputs are declared in it as they are compiled. */
  readonly scope: Scope;
  readonly problems: Problems;
  /** Whether the model was evaluated for the record in the row: otherwise its outputs are missing. */
  readonly isEvaluated: (row: Row) => boolean;
}

/**
 * The output fields of a model in document order. One whose name another one has is renamed after its category, as the
 * cleanser of the API does (docs/spec/scoring.md#upload).
 */
export function compileOutputs(element: Element | undefined, context: OutputsContext): readonly CompiledOutput[] {
  const outputs: CompiledOutput[] = [];
  const names = new Set<string>();
  for (const child of element?.childrenOf('OutputField') ?? []) {
    const name = freeName(child, names, context.problems);
    names.add(name);
    const output = compileOutput(child, name, context);
    context.scope.declare(output.field, name);
    outputs.push(output);
  }
  return outputs;
}

function freeName(element: Element, taken: ReadonlySet<string>, problems: Problems): string {
  const name = element.required('name');
  if (!taken.has(name)) return name;
  const base = `${name}_${element.attribute('value') ?? taken.size + 1}`;
  let free = base;
  for (let i = 2; taken.has(free); i++) free = `${base}_${i}`;
  problems.warn(element, `there are two output fields '${name}'; this one is called '${free}'`);
  return free;
}

function compileOutput(element: Element, name: string, context: OutputsContext): CompiledOutput {
  const feature =
    element.attribute('feature') ?? (hasExpression(element, context) ? 'transformedValue' : 'predictedValue');
  const declared = dataTypeOf(element);
  const segmentId = element.attribute('segmentId');
  if (segmentId !== undefined && context.segment(segmentId) === undefined)
    context.problems.warn(element, `no segment is called '${segmentId}'; the field has no value`);
  const read = EXPRESSION_FEATURES.has(feature)
    ? ofExpression(element, feature, context)
    : readFeature(element, feature, context);
  if (read === undefined)
    context.problems.warn(element, `the feature '${feature}' is of a vendor; the field has no value`);
  const type = declared ?? read?.type;
  const value = typed(read?.value ?? (() => undefined), declared);
  const field = outputField(name, type ?? 'string', declared, element, value, context);
  return {
    name,
    type: type ?? (declared === undefined ? undefined : declared),
    isFinal: element.flag('isFinalResult', true),
    // A feature is read again where it is shown: that is cheaper than to keep it.
    value: EXPRESSION_FEATURES.has(feature)
      ? field.value
      : (row) => (context.isEvaluated(row) ? value(row) : undefined),
    field,
  };
}

function hasExpression(element: Element, context: OutputsContext): boolean {
  return context.scope.names.findExpression(element) !== undefined;
}

function ofExpression(element: Element, feature: string, context: OutputsContext): Feature {
  const child = context.scope.names.findExpression(element);
  const segmentId = element.attribute('segmentId');
  const named = element.attribute('value');
  if (child === undefined && segmentId !== undefined && named !== undefined)
    return ofSegment(segmentId, named, element, context);
  if (child === undefined) throw new PmmlError(element, `'feature' is '${feature}', but the expression is missing`);
  const expression = context.scope.names.compile(child, context.scope);
  return { type: expression.type, value: expression.value };
}

/** An output field of a segment; missing where the segment took no part in the result. */
function ofSegment(id: string, name: string, element: Element, context: OutputsContext): Feature {
  const segment = context.segment(id);
  if (segment === undefined) return { type: undefined, value: () => undefined };
  const output = segment.model.outputs.find((one) => one.name === name);
  if (output === undefined) throw new PmmlError(element, `the segment '${id}' has no output field '${name}'`);
  return { type: output.type, value: (row) => (segment.isActive(row) ? output.value(row) : undefined) };
}

function typed(read: (row: Row) => Value | undefined, type: DataType | undefined): (row: Row) => Value | undefined {
  return type === undefined ? read : (row) => asOutputType(read(row), type);
}

function outputField(
  name: string,
  type: DataType,
  declared: DataType | undefined,
  element: Element,
  read: (row: Row) => Value | undefined,
  context: OutputsContext,
): Field {
  const slot = context.scope.names.slots.take();
  const dictionary = isNumeric(type) ? undefined : new Dictionary();
  const ensure = onceForRecord(slot, (row) => {
    store(row, slot, context.isEvaluated(row) ? read(row) : undefined, dictionary);
  });
  const field = makeField({ name, type, optype: opTypeOf(element) ?? opTypeFor(type), slot, dictionary, ensure });
  if (declared !== undefined && declared !== 'string') return field;
  // A text field, or one whose type only the values tell: a number in it stays a number.
  return {
    ...field,
    value: (row) => {
      ensure(row);
      const held = row.values[slot];
      if (held !== undefined) return held;
      const number = row.numbers[slot] as number;
      return Number.isNaN(number) ? undefined : type === 'boolean' ? number !== 0 : number;
    },
    number: (row) => {
      ensure(row);
      return row.values[slot] === undefined ? (row.numbers[slot] as number) : Number.NaN;
    },
  };
}
