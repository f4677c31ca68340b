/** A model of a PMML document by its family's compiler alone, without targets and outputs. */
import { Element, PmmlError } from '../../../src/scoring-workers/pmml/document/element.ts';
import { Problems } from '../../../src/scoring-workers/pmml/document/problems.ts';
import { readDocument } from '../../../src/scoring-workers/pmml/document/reader.ts';
import type { Expression } from '../../../src/scoring-workers/pmml/expressions/expression.ts';
import { type DataField, readDataField } from '../../../src/scoring-workers/pmml/fields/data-field.ts';
import { makeField, store } from '../../../src/scoring-workers/pmml/fields/field.ts';
import { isTarget, readMiningField } from '../../../src/scoring-workers/pmml/fields/mining-field.ts';
import { Dictionary, Row, Slots } from '../../../src/scoring-workers/pmml/fields/row.ts';
import { Scope } from '../../../src/scoring-workers/pmml/fields/scope.ts';
import { castInput, isNumeric } from '../../../src/scoring-workers/pmml/fields/types.ts';
import {
  type CompileModel,
  MINING_FUNCTIONS,
  type Model,
  type Prediction,
  type TargetField,
} from '../../../src/scoring-workers/pmml/models/model.ts';

export interface FamilyModel {
  readonly model: Model;
  readonly problems: Problems;
  /** Scores a record; the prediction is the same object each time. */
  score(record: Readonly<Record<string, unknown>>): Prediction;
  /** Lines of the explanation of the record that was scored last. */
  explain(): string[];
}

/**
 * @param fields `<DataField>` elements
 * @param model The model element with its MiningSchema
 */
export function familyModel(compile: CompileModel, fields: string, model: string): FamilyModel {
  const document = readDocument(
    `<PMML version="4.4"><Header/><DataDictionary>${fields}</DataDictionary>${model}</PMML>`,
  );
  const dictionary = document.child('DataDictionary') as Element;
  const data = new Map<string, DataField>(
    dictionary.childrenOf('DataField').map((element) => [element.required('name'), readDataField(element)]),
  );
  const element = document.children.find((child) => child.child('MiningSchema') !== undefined) as Element;
  const mining = (element.child('MiningSchema') as Element).childrenOf('MiningField').map(readMiningField);
  const slots = new Slots();
  const scope = new Scope({
    slots,
    compile: fieldRef,
    expressionOf: (derived) => derived.children[0] as Element,
    globals: new Map(),
  });
  const targets: TargetField[] = [];
  const inputs: { name: string; type: DataField['type']; slot: number; dictionary: Dictionary | undefined }[] = [];
  for (const field of mining) {
    const known = data.get(field.name);
    if (known === undefined) throw new Error(`${field.name} is not in the DataDictionary`);
    if (isTarget(field))
      targets.push({ name: field.name, type: known.type, optype: field.optype ?? known.optype, data: known });
    const input = {
      name: field.name,
      type: known.type,
      slot: slots.take(),
      dictionary: isNumeric(known.type) ? undefined : new Dictionary(),
    };
    inputs.push(input);
    scope.declare(makeField({ ...input, optype: field.optype ?? known.optype, order: known.valid }));
  }
  const problems = new Problems();
  const compiled = compile({
    element,
    functionName: element.oneOf('functionName', MINING_FUNCTIONS, 'regression'),
    scope,
    target: targets[0],
    targets,
    problems,
    activeFields: mining.filter((field) => !isTarget(field)).map(({ name }) => name),
    expression: (inner, other) => fieldRef(inner, other ?? scope),
    predicate: () => {
      throw new Error('no predicates here');
    },
    nested: () => {
      throw new Error('no models inside here');
    },
  });
  const row = new Row(slots.count);
  return {
    model: compiled,
    problems,
    score(record) {
      row.epoch++;
      for (const { name, type, slot, dictionary: texts } of inputs)
        store(row, slot, record[name] === undefined ? undefined : castInput(record[name], type), texts);
      compiled.evaluate(row);
      return compiled.prediction;
    },
    explain() {
      const lines: string[] = [];
      compiled.explain?.(row, { line: (text) => lines.push(text) });
      return lines;
    },
  };
}

function fieldRef(element: Element, scope: Scope): Expression {
  if (element.name !== 'FieldRef') throw new PmmlError(element, 'only FieldRef here');
  return scope.field(element.required('field'), element);
}

/** A `<MiningSchema>` of a target and active fields. */
export function schema(target: string | undefined, ...active: readonly string[]): string {
  const field = target === undefined ? '' : `<MiningField name="${target}" usageType="target"/>`;
  return `<MiningSchema>${field}${active.map((name) => `<MiningField name="${name}"/>`).join('')}</MiningSchema>`;
}

/** `<DataField>` elements of doubles. */
export function doubles(...names: readonly string[]): string {
  return names.map((name) => `<DataField name="${name}" optype="continuous" dataType="double"/>`).join('');
}

/** A `<DataField>` of texts with declared values. */
export function texts(name: string, ...values: readonly string[]): string {
  return categories(name, 'categorical', ...values);
}

export function categories(name: string, optype: 'categorical' | 'ordinal', ...values: readonly string[]): string {
  return `<DataField name="${name}" optype="${optype}" dataType="string">${values
    .map((value) => `<Value value="${value}"/>`)
    .join('')}</DataField>`;
}
