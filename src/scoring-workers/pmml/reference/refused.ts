/** Parts of documents that are refused: small documents, whose reason the engine tells itself. */
import { readPmml } from '../read.ts';

const FIELDS = '<DataField name="x" dataType="double"/><DataField name="s" dataType="string"/><DataField name="y"/>';
const SCHEMA =
  '<MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x"/><MiningField name="s"/></MiningSchema>';

const model = (name: string, attributes: string, content: string): string =>
  `<${name} functionName="regression" ${attributes}>${SCHEMA}${content}</${name}>`;

const derived = (expression: string): string =>
  model(
    'RegressionModel',
    '',
    `<LocalTransformations><DerivedField name="d" dataType="double">${expression}</DerivedField></LocalTransformations><RegressionTable intercept="0"><NumericPredictor name="d" coefficient="1"/></RegressionTable>`,
  );

const timeSeries = (bestFit: string, content: string): string =>
  `<TimeSeriesModel functionName="timeSeries" bestFit="${bestFit}"><MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x"/></MiningSchema>${content}</TimeSeriesModel>`;

const REFUSED: readonly (readonly [what: string, model: string])[] = [
  ['a model element that the standard does not have', model('MagicModel', '', '')],
  ['a function that is not known', derived('<Apply function="magic"><FieldRef field="x"/></Apply>')],
  ['a field that is not known', derived('<FieldRef field="z"/>')],
  ['a derived field that refers to itself', derived('<FieldRef field="d"/>')],
  ['`Aggregate` with `sqlWhere`', derived('<Aggregate field="x" function="sum" sqlWhere="x > 1"/>')],
  [
    'a lookup table that is not uploaded',
    derived('<MapValues outputColumn="o"><FieldColumnPair field="s" column="i"/><TableLocator name="t"/></MapValues>'),
  ],
  ['a time series that the standard does not define', timeSeries('SeasonalTrendDecomposition', '')],
  [
    'a regressor of another model',
    timeSeries(
      'ARIMA',
      '<ARIMA><NonseasonalComponent/><DynamicRegressor field="x" futureValuesMethod="otherModel"/></ARIMA>',
    ),
  ],
  [
    '`simplemax` of a regression',
    model('RegressionModel', 'normalizationMethod="simplemax"', '<RegressionTable intercept="0"/>'),
  ],
  [
    'an unknown word of an enumeration',
    model('TreeModel', 'missingValueStrategy="guess"', '<Node score="1"><True/></Node>'),
  ],
];

/** What is refused, and the reason as the annotated document tells it. */
export function refusals(): readonly { readonly what: string; readonly reason: string }[] {
  return REFUSED.map(([what, element]) => {
    const document = `<PMML version="4.4"><Header/><DataDictionary>${FIELDS}</DataDictionary>${element}</PMML>`;
    const { problems } = readPmml([document]);
    const problem = problems.find(({ severity }) => severity === 'error');
    if (problem === undefined) throw new Error(`${what} is not refused`);
    return { what, reason: `${problem.element}: ${problem.text}` };
  });
}
