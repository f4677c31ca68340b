/** RegressionModel: linear, polynomial and logistic regression (docs/spec/pmml-equations.md#regression). */
import { type Element, PmmlError, versionOf } from '../../document/element.ts';
import { ensureFields } from '../../fields/numeric-fields.ts';
import type { Row } from '../../fields/row.ts';
import { textOf, type Value } from '../../fields/types.ts';
import { categoryOf, type CompileModel, type Model, type ModelContext, Prediction, type Trace } from '../model.ts';
import { identity } from '../links.ts';
import { isFloat } from '../math-context.ts';
import { NORMALIZATIONS, normalizationOfCategories, normalizationOfNumber, type Rounding } from './normalization.ts';
import { RegressionTable } from './table.ts';

export const compileRegression: CompileModel = (context) => {
  const { element, functionName } = context;
  const elements = element.childrenOf('RegressionTable');
  if (elements.length === 0) throw new PmmlError(element, 'has no RegressionTable');
  // Documents of PMML 2.0 call a logistic regression of several tables a regression.
  if (functionName === 'classification' || elements.length > 1) return classification(context);
  if (functionName !== 'regression')
    throw new PmmlError(element, `'functionName' is '${functionName}'; it may be regression, classification`);
  return regression(context);
};

function regression(context: ModelContext): Model {
  const { element } = context;
  const method = element.oneOf('normalizationMethod', NORMALIZATIONS, 'none');
  const normalize = normalizationOfNumber(method, element);
  const table = new RegressionTable(context, element.child('RegressionTable'), undefined);
  const ensure = ensureFields(table.fields);
  const prediction = new Prediction();
  const round: Rounding = isFloat(element) ? Math.fround : identity;
  const value = isFloat(element) ? (row: Row) => table.floatValue(row) : (row: Row) => table.value(row);
  return {
    prediction,
    bytes: table.bytes,
    evaluate(row) {
      ensure?.(row);
      prediction.setNumber(round(normalize(value(row))));
    },
    explain(row, trace) {
      trace.line('[Regression]');
      trace.line('Processing [RegressionTable]:');
      table.explain(row, trace);
      explainValue(trace, 'Value before normalization', value(row));
      explainValue(trace, 'Value after normalization', prediction.number);
    },
  };
}

function classification(context: ModelContext): Model {
  const { element, target } = context;
  const method = element.oneOf('normalizationMethod', NORMALIZATIONS, isOldLogistic(element) ? 'softmax' : 'none');
  const tables = readTables(context);
  const categories: Value[] = tables.map(({ targetCategory }) => categoryOf(targetCategory ?? '', target));
  const isSingle = isFloat(element);
  const normalize = normalizationOfCategories(
    { method, categories: tables.length, isOrdinal: target?.optype === 'ordinal' },
    isSingle ? Math.fround : identity,
    element,
  );
  const ensure = ensureFields(tables.flatMap(({ fields }) => fields));
  const prediction = new Prediction(categories);
  const { probabilities } = prediction;
  const type = (target?.type ?? 'string').toUpperCase();
  return {
    prediction,
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    evaluate(row) {
      ensure?.(row);
      for (let i = 0; i < tables.length; i++) {
        const table = tables[i] as RegressionTable;
        const value = isSingle ? table.floatValue(row) : table.value(row);
        if (Number.isNaN(value)) {
          prediction.clear();
          return;
        }
        probabilities[i] = value;
      }
      normalize(probabilities);
      prediction.setMostProbable();
    },
    explain(row, trace) {
      trace.line('[Regression]');
      for (const [i, table] of tables.entries()) {
        const category = textOf(categories[i] as Value, target?.type);
        trace.line(`Processing [RegressionTable] [targetCategory: ${category} (${type})]:`);
        table.explain(row, trace);
        explainValue(trace, 'Value before normalization', table.value(row));
      }
      for (const [i, category] of categories.entries())
        explainValue(
          trace,
          `[targetCategory: ${textOf(category, target?.type)} (${type})] Value after normalization`,
          probabilities[i] as number,
        );
    },
  };
}

/** Documents of PMML 2.0 have no `normalizationMethod`: the type of the model says it. */
function isOldLogistic(element: Element): boolean {
  return element.attribute('modelType') === 'logisticRegression' && versionOf(element).startsWith('2');
}

function explainValue(trace: Trace, what: string, value: number): void {
  trace.line(`${what} is [${Number.isNaN(value) ? 'missing' : textOf(value, 'double')}]`);
}

/**
 * The tables of a classification in document order. Where the target declares one category more than there are tables, that
 * one is the reference: its value is 0.
 */
function readTables(context: ModelContext): RegressionTable[] {
  const { element, target } = context;
  const elements = element.childrenOf('RegressionTable');
  const declared = (target?.data?.valid ?? []).map((value) => textOf(value, target?.type));
  const texts = elements.map((table) => {
    const text = table.attribute('targetCategory');
    if (text !== undefined) return textOf(categoryOf(text, target), target?.type);
    // The only table of two categories is that of the second: the first one is the reference.
    const second = declared[1];
    if (elements.length === 1 && declared.length === 2 && second !== undefined) return second;
    throw new PmmlError(table, "the attribute 'targetCategory' is missing");
  });
  const seen = new Set<string>();
  for (const [i, text] of texts.entries()) {
    if (seen.has(text)) throw new PmmlError(elements[i] ?? element, `there is another table of the category '${text}'`);
    seen.add(text);
  }
  const rest = declared.filter((text) => !seen.has(text));
  const tables = elements.map((table, i) => new RegressionTable(context, table, texts[i]));
  const reference = rest[0];
  if (rest.length === 1 && reference !== undefined && declared.length === tables.length + 1)
    tables.push(new RegressionTable(context, undefined, reference));
  if (tables.length < 2)
    throw new PmmlError(element, 'has one RegressionTable; a classification needs one for each category');
  return tables;
}
