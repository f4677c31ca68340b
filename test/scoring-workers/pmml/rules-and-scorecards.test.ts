/** RuleSetModel and Scorecard (docs/spec/pmml-trees.md). */
import t from 'tap';
import { compileRuleSet } from '../../../src/scoring-workers/pmml/models/rule-set.ts';
import { compileScorecard } from '../../../src/scoring-workers/pmml/models/scorecard.ts';
import { categories, doubles, familyModel, schema, texts } from '../../helpers/pmml/family.ts';

const FIELDS = `${doubles('x', 'y')}${texts('s', 'a', 'b')}`;
const above = (field: string, value: number) =>
  `<SimplePredicate field="${field}" operator="greaterThan" value="${value}"/>`;
const MISSING = '<SimplePredicate field="x" operator="isMissing"/>';

function rules(criterion: string, inner: string, attributes = '', functionName = 'classification') {
  const target = functionName === 'regression' ? doubles('target') : categories('target', 'categorical', 'low', 'high');
  return familyModel(
    compileRuleSet,
    FIELDS + target,
    `<RuleSetModel functionName="${functionName}">${schema('target', 'x', 'y')}<RuleSet ${attributes}>${criterion}${inner}</RuleSet></RuleSetModel>`,
  );
}

const by = (criterion: string) => `<RuleSelectionMethod criterion="${criterion}"/>`;
const rule = (attributes: string, predicate: string, more = '') =>
  `<SimpleRule ${attributes}>${predicate}${more}</SimpleRule>`;
const RULES =
  rule('id="one" score="low" weight="0.5" confidence="0.9"', above('x', 0)) +
  `<CompoundRule>${above('x', 1)}${rule('id="two" score="high" weight="0.8"', above('y', 0))}<CompoundRule><True/>${rule('score="high" weight="0.1"', '<True/>')}</CompoundRule></CompoundRule>` +
  rule('id="four" score="low" weight="0.6" confidence="0.4"', above('x', 2));

t.test('rule sets', async (t) => {
  const shown = (criterion: string, record: Record<string, unknown>, attributes = '') => {
    const { score } = rules(by(criterion), RULES, attributes);
    const { value, entityId, confidences } = score(record);
    return [value, entityId, ...confidences];
  };
  const all = { x: 3, y: 1 };
  t.strictSame(shown('firstHit', all), ['low', 'one', 0.9, Number.NaN]);
  t.strictSame(shown('weightedSum', all), ['low', 'four', (0.5 + 0.6) / 4, (0.8 + 0.1) / 4]);
  t.strictSame(shown('weightedMax', all), ['high', 'two', 0.4, 1], 'the confidence of the rule');
  t.strictSame(shown('weightedMax', { x: 1.5 }), ['low', 'one', 0.9, 1], 'a rule inside of one that is true');
  t.strictSame(shown('weightedMax', { x: 0 }), [undefined, undefined, Number.NaN, Number.NaN]);
  t.strictSame(shown('firstHit', {}, 'defaultScore="high" defaultConfidence="0.2"'), [
    'high',
    undefined,
    Number.NaN,
    0.2,
  ]);
  const tie = rule('score="high" weight="1"', '<True/>') + rule('score="low" weight="1"', '<True/>');
  t.equal(rules(by('weightedSum'), tie).score({}).value, 'low', 'of equal sums the first that the target declares');
  const later = rule('score="low" weight="0.5"', '<True/>') + tie;
  t.equal(rules(by('weightedMax'), later).score({}).value, 'high', 'of equal weights the first rule');
  const several = rules(by('weightedMax') + by('firstHit'), RULES);
  t.equal(several.score(all).value, 'high', 'the first method counts');
  t.strictSame(
    several.model.prediction.ranked?.().map(({ id }) => id),
    ['two', 'four'],
  );
  t.strictSame(several.explain().slice(0, 2), ['[RuleSet]', 'Rule [one] fired with weight [0.5].']);
  const distributed = rules(
    by('firstHit'),
    rule(
      'score="low"',
      '<True/>',
      '<ScoreDistribution value="low" recordCount="3"/><ScoreDistribution value="high" recordCount="1"/>',
    ),
  );
  t.strictSame([...distributed.score({}).probabilities], [0.75, 0.25]);
  t.equal(rules(by('firstHit'), rule('score="2.5"', '<True/>'), '', 'regression').score({}).value, 2.5);
  t.throws(() => rules('', RULES), /RuleSet .* has no RuleSelectionMethod/);
  t.throws(() => rules(by('lastHit'), RULES), /'criterion' is 'lastHit'/);
  t.throws(() => rules(by('firstHit'), '<SimpleRule score="low"/>'), /SimpleRule .* has no predicate/);
  t.throws(() => rules(by('firstHit'), rule('score="few"', '<True/>'), '', 'regression'), /'few' is not a number/);
});

function card(attributes: string, characteristics: string) {
  return familyModel(
    compileScorecard,
    FIELDS + doubles('target'),
    `<Scorecard functionName="regression" ${attributes}>${schema('target', 'x', 'y')}<Characteristics>${characteristics}</Characteristics></Scorecard>`,
  );
}

const attribute = (score: string, predicate: string, more = '') =>
  `<Attribute ${score}>${predicate}${more}</Attribute>`;
const COMPLEX =
  '<ComplexPartialScore><Apply function="*"><FieldRef field="y"/><Constant>2</Constant></Apply></ComplexPartialScore>';
const CHARACTERISTICS =
  `<Characteristic name="first" reasonCode="R1" baselineScore="10">${attribute('partialScore="-5"', MISSING)}${attribute('partialScore="4" reasonCode="A"', above('x', 5))}${attribute('partialScore="10"', above('x', 0))}</Characteristic>` +
  `<Characteristic name="second" reasonCode="R2">${attribute('', above('y', 0), COMPLEX)}${attribute('partialScore="1"', '<True/>')}</Characteristic>`;

t.test('scorecards', async (t) => {
  const below = card('initialScore="100" baselineScore="8"', CHARACTERISTICS);
  const shown = (model: ReturnType<typeof card>, record: Record<string, unknown>) => {
    const { value, reasonCodes } = model.score(record);
    return [value, ...reasonCodes];
  };
  t.strictSame(shown(below, { x: 6, y: 3 }), [110, 'A', 'R2'], 'points below the baseline, most first');
  t.strictSame(shown(below, { x: 1, y: 3 }), [116, 'R2', 'R1'], 'none below is a reason too, more is none');
  t.strictSame(shown(below, { y: 9 }), [113, 'R1']);
  t.strictSame(shown(below, { x: 1 }), [111, 'R2', 'R1']);
  const over = card('baselineScore="8" reasonCodeAlgorithm="pointsAbove"', CHARACTERISTICS);
  t.strictSame(shown(over, { x: 1, y: 9 }), [28, 'R2', 'R1']);
  t.strictSame(shown(card('useReasonCodes="false" baselineScore="8"', CHARACTERISTICS), { x: 1, y: 9 }), [28]);
  t.throws(() => below.score({ x: -1 }), /no attribute of the characteristic 'first' is true/);
  t.strictSame((below.score({ x: 6, y: 3 }), below.explain()), [
    '[Scorecard]',
    'The initial score is [100]',
    'The partial score of the characteristic [first] is [4]',
    'The partial score of the characteristic [second] is [6]',
  ]);
  const missing = `<Characteristic name="c" reasonCode="R" baselineScore="1">${attribute('', '<True/>', COMPLEX)}</Characteristic>`;
  t.strictSame(shown(card('', missing), {}), [undefined], 'a partial score that is missing makes the score missing');
  const shared = CHARACTERISTICS.replace('reasonCode="R2"', 'reasonCode="R1"');
  t.strictSame(shown(card('baselineScore="8"', shared), { x: 1, y: 1 }), [12, 'R1'], 'points of one code are added');
  const equal = ['a', 'b'].map(
    (name) =>
      `<Characteristic name="${name}" baselineScore="1">${attribute(`reasonCode="${name === 'a' ? 'Z' : 'Y'}" partialScore="0"`, above('x', 5))}${attribute(`reasonCode="${name === 'a' ? 'Y' : 'Z'}" partialScore="0"`, '<True/>')}</Characteristic>`,
  );
  t.strictSame(
    shown(card('', equal.join('')), { x: 1 }),
    [0, 'Y', 'Z'],
    'of equal points the code that got them first',
  );
  const warned = card('', CHARACTERISTICS);
  t.match(warned.problems.list[0]?.text, /has no 'baselineScore'/);
  t.strictSame(shown(warned, { x: 6, y: 3 }), [10, 'A']);
  t.equal(card('x-mathContext="float"', missing).score({ y: 0.1 }).value, Math.fround(0.2));
  t.throws(() => card('', ''), /has no Characteristics/);
  t.throws(() => card('', '<Characteristic/>'), /Characteristic .* has no Attribute/);
  t.throws(() => card('', `<Characteristic>${attribute('', '<True/>')}</Characteristic>`), /'partialScore' is missing/);
  t.throws(() => card('reasonCodeAlgorithm="points"', CHARACTERISTICS), /may be pointsAbove, pointsBelow/);
});
