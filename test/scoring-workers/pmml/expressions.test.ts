/** Expressions and predicates (docs/spec/pmml-expressions.md#expressions). */
import t from 'tap';
import { Trace } from '../../../src/scoring-workers/pmml/explanation.ts';
import { readPmml } from '../../../src/scoring-workers/pmml/read.ts';
import { CASES, caseList } from '../../helpers/pmml/cases.ts';
import { expression, predicate } from '../../helpers/pmml/expressions.ts';

interface Case {
  readonly kind: string;
  readonly xml: string;
  readonly input: Readonly<Record<string, { readonly type: string; readonly value: unknown } | null>>;
  readonly expected: { readonly value?: unknown; readonly error?: true } | null;
}

const SKIP = CASES === undefined ? 'the cases do not lie beside the repository' : false;

/** Fields of the types of the inputs; a collection is of the type of its members. */
const fieldsFor = (input: Case['input']): string =>
  Object.entries(input)
    .map(([name, given]) => {
      const type = given?.type.replace(/\[\]$| records$/, '') ?? 'double';
      return `<DataField name="${name}" optype="${type === 'string' ? 'categorical' : 'continuous'}" dataType="${type}"/>`;
    })
    .join('');

const valuesOf = (input: Case['input']) =>
  Object.fromEntries(Object.entries(input).map(([name, given]) => [name, given?.value]));

function resultOf({ kind, xml, input }: Case): unknown {
  const among = { fields: fieldsFor(input) };
  if (kind === 'predicate') return predicate(xml, among)(valuesOf(input)) ?? undefined;
  const { evaluate } = expression(xml, among);
  const series = Object.entries(input).find(([, given]) => given?.type.endsWith('records') === true);
  if (series === undefined) return evaluate(valuesOf(input));
  const [name, given] = series;
  return (given?.value as unknown[]).map((value) => evaluate({ [name]: value }) ?? null);
}

t.test('elements.json', { skip: SKIP }, async (t) => {
  for (const one of caseList<Case>('elements.json')) {
    if (one.kind !== 'expression' && one.kind !== 'predicate') continue;
    const wanted = one.expected;
    if (wanted?.error === true) t.throws(() => resultOf(one), one.xml);
    else {
      const found = resultOf(one);
      const value = wanted === null ? undefined : wanted.value === 'NaN' ? Number.NaN : wanted.value;
      // A text that stands for a number is one where numbers are computed.
      const isSame = typeof found === 'number' && typeof value === 'string' ? String(found) === value : undefined;
      if (isSame !== undefined) t.ok(isSame, one.xml);
      else if (typeof found === 'number' && typeof value === 'number' && !Number.isNaN(value))
        t.ok(Math.abs(found - value) < 1e-12, `${one.xml}: ${found}, wanted ${value}`);
      else t.strictSame(found, value, one.xml);
    }
  }
});

const NUMBERS =
  '<DataField name="x" optype="continuous" dataType="double"/><DataField name="n" optype="continuous" dataType="integer"/>';
const TEXTS =
  '<DataField name="s" optype="categorical" dataType="string"/>' +
  '<DataField name="o" optype="ordinal" dataType="string"><Value value="low"/><Value value="middle"/><Value value="high"/></DataField>' +
  '<DataField name="b" optype="categorical" dataType="boolean"/><DataField name="d" optype="continuous" dataType="date"/>';
const FIELDS = { fields: NUMBERS + TEXTS };

const value = (xml: string, input: Readonly<Record<string, unknown>> = {}, transformations = '') =>
  expression(xml, { ...FIELDS, transformations }).evaluate(input);

t.test('constants and references', async (t) => {
  t.equal(value('<Constant>3.50</Constant>'), 3.5);
  t.equal(value('<Constant> a </Constant>'), ' a ');
  t.equal(value('<Constant dataType="boolean">true</Constant>'), true);
  t.equal(value('<Constant dataType="double" missing="true"/>'), undefined);
  t.equal(value('<Constant dataType="double">-INF</Constant>'), Number.NEGATIVE_INFINITY);
  t.throws(() => value('<Constant dataType="integer">x</Constant>'), /'x' is not a value of the type integer/);
  t.throws(() => value('<FieldRef field="nothing"/>'), /FieldRef \(line 1\): unknown field 'nothing'/);
  t.equal(value('<FieldRef field="x" mapMissingTo="4"/>'), 4);
  t.equal(value('<FieldRef field="x" mapMissingTo="4"/>', { x: 5 }), 5);
  t.equal(value('<FieldRef field="s" mapMissingTo="none"/>'), 'none');
  t.throws(() => value('<True/>'), /is not an expression/);
});

t.test('norms', async (t) => {
  const line = (attributes: string) =>
    `<NormContinuous field="x" ${attributes}><LinearNorm orig="0" norm="10"/><LinearNorm orig="2" norm="20"/><LinearNorm orig="2" norm="30"/><LinearNorm orig="4" norm="50"/></NormContinuous>`;
  t.equal(value(line(''), { x: 1 }), 15);
  t.equal(value(line(''), { x: 2 }), 30);
  t.equal(value(line(''), { x: 5 }), 60);
  t.equal(value(line('mapMissingTo="-1"')), -1);
  t.equal(value(line('outliers="asExtremeValues"'), { x: -3 }), 10);
  t.equal(value(line('outliers="asMissingValues" mapMissingTo="-1"'), { x: 9 }), -1);
  t.throws(
    () => value('<NormContinuous field="x"><LinearNorm orig="0" norm="1"/></NormContinuous>'),
    /has 1 LinearNorm/,
  );
  const falling = '<LinearNorm orig="0" norm="2"/><LinearNorm orig="-4" norm="0"/>';
  t.equal(value(`<NormContinuous field="x">${falling}</NormContinuous>`, { x: -2 }), 1);
  t.throws(() => value(line('outliers="cut"')), /'outliers' is 'cut'/);
  t.equal(value('<NormDiscrete field="n" value="1.0"/>', { n: 1 }), 1);
  t.equal(value('<NormDiscrete field="b" value="TRUE"/>', { b: true }), 1);
  t.equal(value('<NormDiscrete field="s" value="a"/>'), undefined);
  const thermometer = '<NormDiscrete field="x" value="2" method="thermometer" mapMissingTo="0.5"/>';
  t.same(
    [1, 2, 3, undefined].map((x) => value(thermometer, { x })),
    [0, 1, 1, 0.5],
  );
});

t.test('bins', async (t) => {
  const bin = (name: string, closure: string, left: string, right: string) =>
    `<DiscretizeBin binValue="${name}"><Interval closure="${closure}" ${left} ${right}/></DiscretizeBin>`;
  const bins = (attributes = '') =>
    `<Discretize field="x" ${attributes}>${bin('1', 'openOpen', '', 'rightMargin="0"')}${bin('2', 'closedOpen', 'leftMargin="0"', 'rightMargin="5"')}${bin('3', 'openClosed', 'leftMargin="5"', 'rightMargin="9"')}</Discretize>`;
  t.strictSame(
    [-0.5, 0, 4.9, 5, 5.1, 9, 9.1].map((x) => value(bins(), { x })),
    ['1', '2', '2', undefined, '3', '3', undefined],
  );
  t.equal(value(bins('dataType="integer" defaultValue="7"'), { x: 5 }), 7);
  t.equal(value(bins('dataType="integer" mapMissingTo="8"')), 8);
  t.throws(() => value('<Discretize field="x"><DiscretizeBin binValue="a"/></Discretize>'), /has no Interval/);
});

t.test('tables', async (t) => {
  const rows =
    '<row><t:a>1</t:a><k>x</k><out>10</out></row><row><t:a>1.0</t:a><k>x</k><out>11</out></row><row><t:a>2</t:a><k>x</k><out>12</out></row><row><k>x</k><out>13</out></row>';
  const map = (attributes: string, inner = `<InlineTable xmlns:t="urn:t">${rows}</InlineTable>`) =>
    `<MapValues outputColumn="out" ${attributes}><FieldColumnPair field="n" column="t:a"/><FieldColumnPair field="s" column="k"/>${inner}</MapValues>`;
  t.equal(value(map('dataType="integer"'), { n: 1, s: 'x' }), 10, 'the first of rows that are alike');
  t.equal(value(map(''), { n: 2, s: 'x' }), '12', 'texts without a type');
  t.equal(value(map('defaultValue="0" dataType="double"'), { n: 2, s: 'y' }), 0);
  t.equal(value(map('mapMissingTo="none" defaultValue="0"'), { n: 2 }), 'none');
  t.equal(value(map('defaultValue="0"'), { n: 2 }), undefined);
  const located = map('', '<TableLocator><Extension name="table" value="prices"/></TableLocator>');
  const tables = { prices: { columns: ['a', 'k', 'out'], rows: [['2', 'x', 'two'], ['3']] } };
  t.equal(expression(located, { ...FIELDS, tables }).evaluate({ n: 2, s: 'x' }), 'two');
  t.throws(() => expression(located, FIELDS), /unknown lookup table 'prices'/);
  t.throws(() => value(map('', '')), /neither an InlineTable nor a TableLocator/);
  t.throws(() => value(map('', '<TableLocator/>')), /does not name a table/);
});

const TEXT = { s: 'The quick fox. The lazy dog; the FOX, again (fox)!' };
const index = (attributes: string, term: string, inner = '') =>
  `<TextIndex textField="s" ${attributes}>${inner}<Constant dataType="string">${term}</Constant></TextIndex>`;

t.test('texts', async (t) => {
  t.equal(value(index('', 'fox'), TEXT), 3);
  t.equal(value(index('isCaseSensitive="true"', 'fox'), TEXT), 2);
  t.equal(value(index('localTermWeights="binary"', 'fox'), TEXT), 1);
  t.equal(value(index('localTermWeights="logarithmic"', 'fox'), TEXT), Math.log10(4));
  t.equal(value(index('localTermWeights="augmentedNormalizedTermFrequency"', 'lazy dog'), TEXT), 0.5 * (1 + 1 / 3));
  t.equal(value(index('localTermWeights="augmentedNormalizedTermFrequency"', 'cat'), TEXT), 0);
  t.equal(value(index('', 'fox')), undefined);
  t.equal(value(index('maxLevenshteinDistance="2"', 'fog'), TEXT), 4, 'all that is near: fox and dog');
  t.equal(value(index('maxLevenshteinDistance="2" countHits="bestHits"', 'lazy'), { s: 'laze lazy hazy lazy' }), 2);
  t.equal(value(index('tokenize="false"', 'ox'), { s: 'fox in a box' }), 2);
  t.equal(value(index('x-wordRE="[a-z]+"', 'fox'), { s: 'fox3fox' }), 2);
  t.equal(value(index('wordSeparatorCharacterRE="[,;]"', 'a b'), { s: 'a b,c;a b' }), 2);
  t.throws(() => value(index('wordSeparatorCharacterRE="("', 'a')), /'\(' is not a regular expression/);
  t.throws(() => value('<TextIndex textField="s"/>'), /has no expression for its term/);
});

t.test('normalization of texts', async (t) => {
  const table = (attributes: string, ...rows: readonly (readonly [string, string, string?])[]) =>
    `<TextIndexNormalization ${attributes}><InlineTable>${rows
      .map(
        ([from, to, regex = 'false']) => `<row><string>${from}</string><stem>${to}</stem><regex>${regex}</regex></row>`,
      )
      .join('')}</InlineTable></TextIndexNormalization>`;
  t.equal(value(index('', 'cat', table('', ['cats', 'cat'])), { s: 'Cats, cat; concats' }), 2);
  t.equal(value(index('', 'fish', table('', ['[a-z]+fish', 'fish', 'true'])), { s: 'swordfish catfish' }), 2);
  t.equal(value(index('', 'z', table('recursive="true"', ['b', 'z'], ['a', 'b'])), { s: 'a' }), 1);
  t.equal(value(index('', 'z', table('', ['b', 'z'], ['a', 'b'])), { s: 'a' }), 0);
  t.equal(value(index('', 'color', table('maxLevenshteinDistance="1"', ['colour', 'color'])), { s: 'the colours' }), 1);
  t.equal(value(index('', 'X', table('', ['a', 'b', 'true'], ['b', 'c', 'true'])), { s: 'x' }), 1);
  t.throws(() => value(index('', 'x', table('', ['(', 'b', 'true']))), /'\(' is not a regular expression/);
});

t.test('aggregates of collections', async (t) => {
  const of = (name: string, x: unknown, more = '') => value(`<Aggregate field="x" function="${name}" ${more}/>`, { x });
  t.strictSame(
    ['count', 'sum', 'average', 'min', 'max'].map((name) => of(name, [4, 1, 4])),
    [3, 9, 3, 1, 4],
  );
  t.strictSame(
    expression('<Aggregate field="x" function="multiset" groupField="s"/>', FIELDS).evaluate({ x: [4, 4] }),
    [4, 4],
  );
  t.equal(of('sum', 5), 5);
  t.equal(of('count', undefined), undefined);
  t.throws(() => of('mode', [1]), /'function' is 'mode'/);
  t.throws(() => of('sum', [1], 'sqlWhere="x"'), /'sqlWhere' is not supported/);
});

t.test('lags', async (t) => {
  const lag = (attributes: string, inner = '') => expression(`<Lag field="x" ${attributes}>${inner}</Lag>`, FIELDS);
  const one = lag('');
  t.strictSame(
    [1, 2, 3].map((x) => one.evaluate({ x })),
    [undefined, 1, 2],
  );
  const blocks = lag('', '<BlockIndicator field="s"/>');
  t.strictSame(
    (['a', 'a', 'b', 'b'] as const).map((s, x) => blocks.evaluate({ x, s })),
    [undefined, 0, undefined, 2],
  );
  const aggregated = (name: string) => {
    const { evaluate } = lag(`n="3" aggregate="${name}"`);
    return [2, 4, undefined, 9, 1].map((x) => evaluate({ x })).at(-1);
  };
  t.strictSame(['avg', 'max', 'median', 'min', 'product', 'sum'].map(aggregated), [6.5, 9, 6.5, 4, 36, 13]);
  t.equal(aggregated('stddev'), Math.sqrt(12.5));
  t.equal(expression('<Lag field="x" n="2"/>', FIELDS).evaluate({ x: [5, 6, 7] }), 5, 'of a collection');
  t.throws(() => lag('n="-1"'), /'n' is -1/);
  t.throws(() => lag('aggregate="mode"'), /'aggregate' is 'mode'/);
});

t.test('what stands for missing arguments and results', async (t) => {
  const apply = (attributes: string, name = '+') =>
    `<Apply function="${name}" ${attributes}><FieldRef field="x"/><FieldRef field="n"/></Apply>`;
  t.equal(value(apply('mapMissingTo="0" defaultValue="1"'), { x: 5 }), 0);
  t.equal(value(apply('defaultValue="1"'), { x: 5 }), 1);
  t.equal(value(apply('mapMissingTo="0"'), { x: 5, n: 2 }), 7);
  t.equal(value(apply('mapMissingTo="true"', 'equal'), { x: 5 }), true);
  const conditional = `<Apply function="if" mapMissingTo="9"><FieldRef field="b"/><FieldRef field="x"/><FieldRef field="n"/></Apply>`;
  t.equal(value(conditional, { b: true, x: 1 }), 1, 'the branch that is not taken may be missing');
  t.equal(value(conditional, { b: true, n: 1 }), 9);
  t.equal(value(conditional, { n: 1 }), 9);
  const half = '<Apply function="if" mapMissingTo="9"><FieldRef field="b"/><FieldRef field="x"/></Apply>';
  t.equal(value(half, { b: false, x: 1 }), undefined, 'no branch is no missing argument');
});

t.test('order of ordinal fields, and of the domain', async (t) => {
  const less = '<Apply function="lessThan"><FieldRef field="o"/><Constant>high</Constant></Apply>';
  t.equal(value(less, { o: 'middle' }), true);
  t.equal(value(less, { o: 'high' }), false);
  t.equal(value(less), undefined);
  const valid = '<Apply function="isValid"><FieldRef field="o"/></Apply>';
  t.equal(value(valid, { o: 'low' }), true);
  t.equal(value(valid, { o: 'other' }), false);
  t.equal(value('<Apply function="isNotValid"><FieldRef field="o"/></Apply>', { o: 'other' }), true);
});

const POWER = `<DefineFunction name="POW" dataType="double"><ParameterField name="x" dataType="double"/><ParameterField name="n" dataType="integer"/>
  <DerivedField name="goesOn" dataType="boolean" optype="categorical"><Apply function="greaterThan"><FieldRef field="n"/><Constant>1</Constant></Apply></DerivedField>
  <Apply function="if"><FieldRef field="goesOn"/><Apply function="*"><Apply function="POW"><FieldRef field="x"/><Apply function="-"><FieldRef field="n"/><Constant>1</Constant></Apply></Apply><FieldRef field="x"/></Apply><FieldRef field="x"/></Apply></DefineFunction>`;
const power = '<Apply function="POW"><FieldRef field="x"/><FieldRef field="n"/></Apply>';

t.test('functions of the document', async (t) => {
  t.equal(value(power, { x: 3, n: 4 }, POWER), 81);
  t.equal(value(power, { x: 3 }, POWER), undefined);
  t.throws(() => value(power, { x: 1, n: 10_000_000 }, POWER), /calls lie in each other/);
  const twice =
    '<DefineFunction name="twice"><ParameterField name="p"/><Apply function="+"><FieldRef field="p"/><FieldRef field="p"/></Apply></DefineFunction>';
  const nested = '<Apply function="twice"><Apply function="twice"><FieldRef field="n"/></Apply></Apply>';
  t.equal(value(nested, { n: 3 }, twice), 12);
  t.equal(expression(nested, { ...FIELDS, transformations: twice }).compiled.type, 'integer');
  const text =
    '<DefineFunction name="asText" dataType="string"><ParameterField name="p" dataType="integer"/><FieldRef field="p"/></DefineFunction>';
  t.equal(
    value('<Apply function="asText"><FieldRef field="x"/></Apply>', { x: 2.6 }, text),
    '3',
    'a parameter is of its type',
  );
  t.throws(() => value('<Apply function="asText"/>', {}, text), /'asText' has 0 arguments; it takes 1/);
  const outside = '<DefineFunction name="outside"><ParameterField name="p"/><FieldRef field="x"/></DefineFunction>';
  t.throws(() => value('<Apply function="outside"><Constant>1</Constant></Apply>', {}, outside), /unknown field 'x'/);
});

t.test('work and depth are bounded', async (t) => {
  const doubling = Array.from({ length: 40 }, (_, i) => {
    const inner = i === 0 ? '<FieldRef field="p"/>' : `<Apply function="f${i - 1}"><FieldRef field="p"/></Apply>`;
    return `<DefineFunction name="f${i}"><ParameterField name="p"/><Apply function="+">${inner}${inner}</Apply></DefineFunction>`;
  }).join('');
  t.throws(
    () => value('<Apply function="f39"><FieldRef field="x"/></Apply>', { x: 1 }, doubling),
    /more than 1000000 times/,
  );
  const deep = (depth: number) =>
    `${'<Apply function="abs">'.repeat(depth)}<FieldRef field="x"/>${'</Apply>'.repeat(depth)}`;
  t.equal(value(deep(900), { x: -1 }), 1);
  t.throws(() => value(deep(1_100), { x: -1 }), /over more than 1000 steps/);
  const chain = Array.from(
    { length: 600 },
    (_, i) =>
      `<DerivedField name="d${i}" dataType="double" optype="continuous"><FieldRef field="${i === 0 ? 'x' : `d${i - 1}`}"/></DerivedField>`,
  );
  t.equal(value('<FieldRef field="d200"/>', { x: 2 }, chain.join('')), 2);
  t.throws(() => value('<FieldRef field="d599"/>', { x: 2 }, chain.join('')), /over more than 1000 steps/);
  const all = `<Apply function="sum">${chain.map((_, i) => `<FieldRef field="d${i}"/>`).join('')}</Apply>`;
  t.throws(
    () => value(all, { x: 2 }, chain.join('')),
    /over more than 1000 steps/,
    'fields that are compiled count too',
  );
  const circle =
    '<DerivedField name="p" dataType="double"><FieldRef field="q"/></DerivedField><DerivedField name="q" dataType="double"><FieldRef field="p"/></DerivedField>';
  t.throws(() => value('<FieldRef field="p"/>', {}, circle), /refers to itself/);
  const missing = `${'<Apply function="+" mapMissingTo="1"><Constant>1</Constant>'.repeat(200)}<FieldRef field="x"/>${'</Apply>'.repeat(200)}`;
  t.equal(value(missing), 200, 'each argument is evaluated once');
});

t.test('derived fields and their types', async (t) => {
  const derived = (type: string, inner: string, optype = 'continuous') =>
    `<DerivedField name="f" dataType="${type}" optype="${optype}">${inner}</DerivedField>`;
  const of = (type: string, inner: string, input = {}) => value('<FieldRef field="f"/>', input, derived(type, inner));
  t.equal(of('integer', '<Constant>2.5</Constant>'), 3);
  t.equal(of('string', '<FieldRef field="d"/>', { d: '2020-02-29' }), '2020-02-29');
  t.equal(of('dateDaysSince[1960]', '<FieldRef field="d"/>', { d: '1960-01-31' }), 30);
  t.equal(of('float', '<FieldRef field="x"/>', { x: 0.1 }), Math.fround(0.1));
  t.equal(of('boolean', '<FieldRef field="x"/>', { x: 1 }), true);
  const ranked = derived('string', '<FieldRef field="s"/><Value value="z"/><Value value="a"/>', 'ordinal');
  const less = '<Apply function="lessThan"><FieldRef field="f"/><Constant>a</Constant></Apply>';
  t.equal(value(less, { s: 'z' }, ranked), true, 'values of a derived field have an order');
});

t.test('predicates', async (t) => {
  const known = new Map<string, ReturnType<typeof predicate>>();
  const test = (xml: string, input: Readonly<Record<string, unknown>>, wanted: boolean | null) => {
    const compiled = known.get(xml) ?? predicate(xml, FIELDS);
    known.set(xml, compiled);
    if (compiled(input) !== wanted) t.equal(compiled(input), wanted, `${xml} ${JSON.stringify(input)}`);
  };
  const simple = (field: string, operator: string, value?: string) =>
    `<SimplePredicate field="${field}" operator="${operator}" ${value === undefined ? '' : `value="${value}"`}/>`;
  for (const [operator, ...truths] of [
    ['equal', false, true, false],
    ['notEqual', true, false, true],
    ['lessThan', true, false, false],
    ['lessOrEqual', true, true, false],
    ['greaterThan', false, false, true],
    ['greaterOrEqual', false, true, true],
  ] as const) {
    for (const [i, x] of [1, 2, 3].entries()) test(simple('x', operator, '2'), { x }, truths[i]);
    for (const [i, o] of ['low', 'middle', 'high'].entries()) test(simple('o', operator, 'middle'), { o }, truths[i]);
    for (const [i, s] of ['a', 'b', 'c'].entries()) test(simple('s', operator, 'b'), { s }, truths[i]);
    for (const [i, d] of ['2020-01-01', '2020-01-02', '2020-01-03'].entries())
      test(simple('d', operator, '2020-01-02'), { d }, truths[i]);
    for (const field of ['x', 'o', 's', 'd'])
      test(simple(field, operator, field === 'd' ? '2020-01-02' : '2'), {}, null);
  }
  test(simple('x', 'isMissing'), {}, true);
  test(simple('x', 'isMissing'), { x: [1, 2] }, false);
  test(simple('s', 'isNotMissing'), { s: '' }, true);
  test(simple('b', 'equal', 'true'), { b: false }, false);
  test(simple('n', 'lessThan', '2.5'), { n: 2 }, true);
  test(simple('x', 'equal', 'two'), { x: 2 }, false);
  t.throws(() => predicate(simple('x', 'lessThan', 'two'), FIELDS), /'two', which is not a value of the type double/);
  t.throws(() => predicate(simple('x', 'lessThan'), FIELDS), /has no 'value'/);
  t.throws(() => predicate(simple('x', 'like', '1'), FIELDS), /'operator' is 'like'/);
  const set = (field: string, operator: string, members: string) =>
    `<SimpleSetPredicate field="${field}" booleanOperator="${operator}"><Array type="string">${members}</Array></SimpleSetPredicate>`;
  test(set('s', 'isIn', 'a "b c" "d\\"e"'), { s: 'b c' }, true);
  test(set('s', 'isIn', 'a "b c" "d\\"e"'), { s: 'd"e' }, true);
  test(set('s', 'isNotIn', 'a b'), { s: 'c' }, true);
  test(set('n', 'isIn', '1 2.0 3'), { n: 2 }, true);
  test(set('x', 'isIn', '0.5 -7 1e9'), { x: -7 }, true);
  test(set('x', 'isNotIn', '0.5'), {}, null);
  const compound = (operator: string, ...members: readonly string[]) =>
    `<CompoundPredicate booleanOperator="${operator}">${members.join('')}</CompoundPredicate>`;
  const unknown = simple('x', 'equal', '1');
  const truths = { T: '<True/>', F: '<False/>', U: unknown };
  for (const [operator, members, wanted] of [
    ['and', 'TT', true],
    ['and', 'UF', false],
    ['and', 'UT', null],
    ['or', 'FF', false],
    ['or', 'UT', true],
    ['or', 'UF', null],
    ['xor', 'TT', false],
    ['xor', 'TFF', true],
    ['xor', 'TTT', true],
    ['xor', 'TU', null],
    ['surrogate', 'UFT', false],
    ['surrogate', 'UUT', true],
    ['surrogate', 'UU', null],
  ] as const)
    test(compound(operator, ...[...members].map((letter) => truths[letter as 'T'])), {}, wanted);
  t.throws(() => predicate(compound('and')), /has no predicate/);
  t.throws(() => predicate(compound('nand', '<True/>')), /'booleanOperator' is 'nand'/);
  t.throws(() => predicate('<Constant>1</Constant>'), /is not a predicate/);
});

t.test('predicates of derived fields', async (t) => {
  const test = predicate('<SimplePredicate field="f" operator="greaterThan" value="0.1"/>', {
    ...FIELDS,
    transformations: '<DerivedField name="f" dataType="float" optype="continuous"><FieldRef field="x"/></DerivedField>',
  });
  t.equal(test({ x: 0.1 }), false, 'both are rounded to 32 bits');
  t.equal(test({ x: 0.2 }), true);
  t.equal(test({}), null);
});

t.test('an explanation shows the derived fields that the model uses', async (t) => {
  const derived = (name: string, field: string) =>
    `<DerivedField name="${name}" optype="continuous" dataType="double"><Apply function="*"><FieldRef field="${field}"/><Constant dataType="double">2</Constant></Apply></DerivedField>`;
  const { model } = readPmml([
    `<PMML version="4.4"><Header/><DataDictionary><DataField name="x" optype="continuous" dataType="double"/></DataDictionary>
<RegressionModel functionName="regression"><MiningSchema><MiningField name="x"/></MiningSchema><LocalTransformations>${derived('twice', 'x')}
${derived('four', 'twice')}${derived('unused', 'x')}</LocalTransformations><RegressionTable intercept="0"><NumericPredictor name="four" coefficient="1"/></RegressionTable>
</RegressionModel></PMML>`,
  ]);
  const text = model?.explain({ x: 1.5 }) ?? '';
  t.match(text, '[LocalTransformations]\n[twice] := 3.0 (DOUBLE)\n[four] := 6.0 (DOUBLE)\n\n');
  t.ok(text.indexOf('[MiningSchema]') < text.indexOf('[LocalTransformations]'));
});

t.test('a long explanation says where it is cut', async (t) => {
  const trace = new Trace();
  for (let index = 0; index < 100_010; index++) trace.line('x');
  t.equal(trace.lines.length, 100_001);
  t.equal(trace.lines.at(-1), '… cut');
  const wide = new Trace();
  for (let index = 0; index < 20; index++) wide.line('x'.repeat(1_048_576));
  t.same([wide.lines.length, wide.lines.at(-1)], [9, '… cut']);
});
