import t from 'tap';
import { parseExact } from '../../../src/smartrest/custom/exact-numbers.ts';
import { JsonPathError } from '../../../src/smartrest/custom/json-path.ts';
import { PathBudget } from '../../../src/smartrest/custom/path-values.ts';
import { compileResponseTemplate, type ResponseDialect } from '../../../src/smartrest/custom/response-template.ts';

const rows = (
  [base, condition, ...patterns]: readonly string[],
  value: unknown,
  dialect: ResponseDialect = '2.0',
): string[][] =>
  compileResponseTemplate({ messageId: '1', base, condition, patterns }, dialect).rowsOf(value, new PathBudget());

const faultOf = (template: readonly string[], dialect: ResponseDialect, value: unknown = {}): string => {
  try {
    rows(template, value, dialect);
    return 'none';
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return error.message;
  }
};

t.test(
  '2.0: one row; the base is in front of the patterns only (docs/spec/smartrest.md#response-templates)',
  async (t) => {
    const operation = { c8y_Custom: { val1: '1', val2: 2, customValues: ['a', 'b', 'c'] }, status: 'PENDING' };
    const patterns = ['val1', 'val2', 'customValues[*]'];
    t.same(rows(['c8y_Custom', '', ...patterns], operation), [['1', '2', 'a', 'b', 'c']]);
    t.same(rows(['', '', ...patterns], operation), [['', '', '']], 'unresolved patterns are empty');
    t.same(rows(['c8y_Custom', 'c8y_Custom.val3', 'val1'], operation), [], 'the condition does not hold');
    t.same(rows(['$.c8y_Custom', '$.c8y_Custom', '$.val1', '$.status'], operation), [['1', '']]);
    t.same(rows(['c8y_Custom', 'val1', 'val1'], operation), [], 'the condition is looked up in the whole object');
  },
);

t.test('values as texts', async (t) => {
  const value = { text: 'a,"b"\n', number: 21.5, yes: true, nothing: null, object: { a: [1] }, list: [{ b: 1 }, 2] };
  t.same(rows(['', '', 'text', 'number', 'yes', 'nothing', 'object', 'list'], value), [
    ['a,"b"\n', '21.5', 'true', '', '{"a":[1]}', '[{"b":1},2]'],
  ]);
});

t.test('numbers keep their digits', async (t) => {
  const text =
    '{"id":"7","whole":123456789012345678901234567890,"part":[-1.50,0.1,1e3,2],"x":{"n":1.0 },"text":"9 1e3, 1.0,12345678901234567890"}';
  t.same(rows(['', '', 'whole', 'part[*]', 'part', 'x', 'text'], parseExact(text)), [
    [
      ...['123456789012345678901234567890', '-1.50', '0.1', '1e3', '2', '[-1.50,0.1,1e3,2]', '{"n":1.0}'],
      '9 1e3, 1.0,12345678901234567890',
    ],
  ]);
  t.same(rows(['', '', 'a', 'b'], parseExact('{"a":0.0000005,"b":-0}')), [['0.0000005', '-0']]);
  t.same(rows(['', '', 'a'], parseExact('{"a":"\u0081b","c":1.0}')), [['\u0081b']], 'the mark in a text is left');
  t.throws(() => parseExact('"1.0,'), SyntaxError);
});

t.test('1.0: a row for each element of the base', async (t) => {
  const page = {
    managedObjects: [{ id: '1', c8y_IsDevice: {} }, { id: '2' }, { id: '3', c8y_IsDevice: {}, name: 'x' }],
  };
  t.same(rows(['$.managedObjects', '$.c8y_IsDevice', '$.id', '$.name'], page, '1.0'), [
    ['1', ''],
    ['3', 'x'],
  ]);
  t.same(rows(['', '', '$.id'], { id: '7' }, '1.0'), [['7']]);
  t.same(rows(['$.absent', '', '$.id'], { id: '7' }, '1.0'), []);
});

t.test('templates that are refused', async (t) => {
  t.match(faultOf(['', '', 'list[*].a'], '1.0'), /list of objects is not allowed for SmartRest: list\[\*\]\.a/);
  t.match(faultOf(['', '$..a', 'a'], '1.0'), /list of objects/);
  t.equal(faultOf(['', '$..a', 'list[*].a'], '2.0'), 'none');
  t.match(faultOf(['', '', 'a[?(@.b)]'], '2.0'), /Filters \(\?\).*a\[\?\(@\.b\)\] at character 3/);
  const nested = { a: Array.from({ length: 100 }, () => ({ b: 'x'.repeat(20_000) })) };
  t.match(faultOf(['', '', '$', '$.a'], '2.0', nested), /finds more than 1048576 characters/);
});

t.test('rows of one message share a budget', async (t) => {
  const budget = new PathBudget();
  const text = JSON.stringify({ a: 'x'.repeat(3 << 20) });
  t.ok(budget.parse(text), 'one document, however long');
  t.equal(budget.isSpent, false);
  t.throws(() => budget.parse(text), { message: /finds too much/ });
  t.equal(budget.isSpent, true);
  t.throws(() => budget.parse('1'), { message: /finds too much/ });
});
