/** Values of records at the ends of what a type takes, and models with many terms. */
import t from 'tap';
import { castInput, castText, textOf } from '../../../src/scoring-workers/pmml/fields/types.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';

t.test('dates beyond the calendar are not valid, and those of five digits of a year are shown whole', async (t) => {
  const [days, seconds] = [100_000_000, 8_640_000_000_000];
  t.equal(castInput(days, 'date'), days);
  t.equal(castInput(days + 1, 'date'), undefined);
  t.equal(castInput(-seconds, 'dateTime'), -seconds);
  t.equal(castInput(-seconds - 1, 'dateTime'), undefined);
  t.equal(castInput(1e300, 'time'), undefined);
  t.equal(textOf(days, 'date'), '+275760-09-13');
  const year = castText('+010000-01-01', 'date') as number;
  t.equal(textOf(year, 'date'), '+010000-01-01');
  t.equal(textOf(year * 86_400 + 3_661, 'dateTime'), '+010000-01-01T01:01:01');
  t.equal(textOf(year * 86_400 + 3_661, 'time'), '01:01:01');
  t.equal(textOf(1e300, 'dateTime'), '1e+300', 'a computed value');
});

const PMML = (field: string, model: string) =>
  `<PMML version="4.4"><Header/><DataDictionary>${field}<DataField name="y" optype="continuous" dataType="double"/></DataDictionary>${model}</PMML>`;

t.test('a value that is nested deeply refuses the record, not the model', async (t) => {
  const { model } = readPmml([
    PMML(
      '<DataField name="x" optype="continuous" dataType="double"/>',
      '<RegressionModel functionName="regression"><MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x"/></MiningSchema><RegressionTable intercept="1"><NumericPredictor name="x" coefficient="1"/></RegressionTable></RegressionModel>',
    ),
  ]);
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const x: unknown = JSON.parse(`${open.repeat(50_000)}1${close.repeat(50_000)}`);
    t.strictSame({ ...model?.apply({ x }) }, { y: null });
    t.match(model?.explain({ x }), /nested deeper than 64/);
  }
  t.strictSame({ ...model?.apply({ x: 2 }) }, { y: 3 });
});

t.test('a text model of 130,000 terms', async (t) => {
  const terms = Array.from({ length: 130_000 }, (_, index) => `w${index}`).join(' ');
  const compared = (similarity: string) => {
    const { model, problems } = readPmml([
      PMML(
        '<DataField name="text" optype="categorical" dataType="string"/>',
        `<TextModel functionName="classification" numberOfTerms="130000" numberOfDocuments="2"><MiningSchema><MiningField name="text"/></MiningSchema>
          <TextDictionary><Array type="string">${terms}</Array></TextDictionary><TextCorpus><TextDocument id="a"/><TextDocument id="b"/></TextCorpus>
          <DocumentTermMatrix><Matrix nbRows="2" nbCols="2"><Array type="int">1 0</Array><Array type="int">0 1</Array></Matrix></DocumentTermMatrix>
          <TextModelNormalization globalTermWeights="none" documentNormalization="cosine"/><TextModelSimilarity similarityType="${similarity}"/></TextModel>`,
      ),
    ]);
    t.strictSame(problems, []);
    return Object.values(model?.apply({ text: 'W1' }) ?? {});
  };
  t.strictSame(compared('cosine'), ['b']);
  t.strictSame(compared('euclidean'), ['b']);
});
