/** A model of a PMML document by its family's compiler: its prediction, without outputs. */
import { compileTopModel, dataFieldsOf } from '../../../src/scoring-workers/pmml/compile.ts';
import type { Element } from '../../../src/scoring-workers/pmml/document/element.ts';
import { Problems } from '../../../src/scoring-workers/pmml/document/problems.ts';
import { readDocument } from '../../../src/scoring-workers/pmml/document/reader.ts';
import { compileExpression, namesOf } from '../../../src/scoring-workers/pmml/expressions/compile.ts';
import { Row, Slots } from '../../../src/scoring-workers/pmml/fields/row.ts';
import type { CompileModel, Model, Prediction } from '../../../src/scoring-workers/pmml/models/model.ts';
import { COLLECTORS } from '../../../src/scoring-workers/pmml/registry.ts';
import { compilePredicate } from '../../../src/scoring-workers/pmml/predicates/compile.ts';

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
 * @param others families of models inside of it, by their elements
 */
export function familyModel(
  compile: CompileModel,
  fields: string,
  model: string,
  others: Readonly<Record<string, CompileModel>> = {},
): FamilyModel {
  const document = readDocument(
    `<PMML version="4.4"><Header/><DataDictionary>${fields}</DataDictionary>${model}</PMML>`,
    COLLECTORS,
  );
  const element = document.children.find((child) => child.child('MiningSchema') !== undefined) as Element;
  const problems = new Problems();
  const slots = new Slots();
  const top = compileTopModel(element, {
    names: namesOf({ slots }),
    problems,
    data: dataFieldsOf(document.child('DataDictionary') as Element),
    expression: compileExpression,
    predicate: compilePredicate,
    families: new Map([...Object.entries(others), [element.name, compile]]),
  });
  const row = new Row(slots.count);
  return {
    model: top.model,
    problems,
    score(record) {
      row.epoch++;
      for (const input of top.inputs) input.load(row, record[input.name]);
      top.model.evaluate(row);
      return top.model.prediction;
    },
    explain() {
      const lines: string[] = [];
      top.model.explain?.(row, { line: (text) => lines.push(text) });
      return lines;
    },
  };
}

/** A `<MiningSchema>` of a target and active fields, whose invalid values are taken as they are. */
export function schema(target: string | undefined, ...active: readonly string[]): string {
  const field = target === undefined ? '' : `<MiningField name="${target}" usageType="target"/>`;
  return `<MiningSchema>${field}${active
    .map((name) => `<MiningField name="${name}" invalidValueTreatment="asIs"/>`)
    .join('')}</MiningSchema>`;
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
