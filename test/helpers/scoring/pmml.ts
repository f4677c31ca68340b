/** Small PMML documents. */

const SCHEMA = '<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>';

const document = (dictionary: string, model: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header description="A model of a test"/>
  <DataDictionary>
    <DataField name="x" optype="continuous" dataType="double"/>
    ${dictionary}
  </DataDictionary>
  ${model}
</PMML>
`;

/** `y = intercept + 2 x`. */
export const linePmml = (name: string, intercept = 1): string =>
  document(
    '<DataField name="y" optype="continuous" dataType="double"/>',
    `<RegressionModel modelName="${name}" functionName="regression">
    ${SCHEMA}
    <Output><OutputField name="predicted" optype="continuous" dataType="double" feature="predictedValue"/></Output>
    <RegressionTable intercept="${intercept}"><NumericPredictor name="x" coefficient="2"/></RegressionTable>
  </RegressionModel>`,
  );

/** `y = x + 10 * (the x of the record before)`; without a record before it is missing. */
export const lagPmml = (name: string): string =>
  document(
    '<DataField name="y" optype="continuous" dataType="double"/>',
    `<RegressionModel modelName="${name}" functionName="regression">
    ${SCHEMA}
    <LocalTransformations><DerivedField name="before" optype="continuous" dataType="double"><Lag field="x"/></DerivedField></LocalTransformations>
    <RegressionTable intercept="0"><NumericPredictor name="x" coefficient="1"/><NumericPredictor name="before" coefficient="10"/></RegressionTable>
  </RegressionModel>`,
  );

/** `high` where x is above 10, else `low`. */
export const treePmml = (name: string): string =>
  document(
    '<DataField name="y" optype="categorical" dataType="string"><Value value="low"/><Value value="high"/></DataField>',
    `<TreeModel modelName="${name}" functionName="classification">
    ${SCHEMA}
    <Output><OutputField name="predicted" optype="categorical" dataType="string" feature="predictedValue"/></Output>
    <Node score="low"><True/>
      <Node score="low"><SimplePredicate field="x" operator="lessOrEqual" value="10"/></Node>
      <Node score="high"><SimplePredicate field="x" operator="greaterThan" value="10"/></Node>
    </Node>
  </TreeModel>`,
  );

/** A document with an error: its predictor is in no dictionary. */
export const brokenPmml = (name: string): string =>
  linePmml(name).replace('NumericPredictor name="x"', 'NumericPredictor name="z"');
