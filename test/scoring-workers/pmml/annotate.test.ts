import t from 'tap';
import { annotate } from '../../../src/scoring-workers/pmml/document/annotate.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';

t.test('problems stand as comments before their elements, in a document of one line too', async (t) => {
  const source =
    '<?xml version="1.0"?><PMML version="4.4"><Header/><!-- 😀 --><DataDictionary><DataField name="x" optype="continuous" dataType="double"/></DataDictionary><RegressionModel functionName="regression"><MiningSchema><MiningField name="x"/></MiningSchema><RegressionTable intercept="1"><NumericPredictor name="--y" coefficient="1"/></RegressionTable></RegressionModel></PMML>';
  const { model, problems } = readPmml([source]);
  t.equal(model, undefined);
  t.equal(
    annotate(source, problems, 'Millrace'),
    source
      .replace('?><PMML', '?>\n<!-- PMML processed by Millrace (Version : 4.4) -->\n<PMML')
      .replace('<NumericPredictor', "<!-- ERROR: NumericPredictor (line 1): unknown field '- -y' --><NumericPredictor"),
  );
});

t.test('a document that is no XML has no annotated form', async (t) => {
  t.throws(() => readPmml(['<PMML']), { name: 'XmlError' });
  t.throws(() => readPmml(['<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><PMML version="4.4">&e;</PMML>']), {
    name: 'XmlError',
  });
  t.throws(() => readPmml([`${'<a>'.repeat(3_000)}`]), {
    name: 'XmlError',
    message: 'elements are nested deeper than 2000',
  });
});
