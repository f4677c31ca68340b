/**
 * The query language: what the document's table allows, what is refused and where, and that nothing else can happen.
 */
import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { parseInventoryQuery } from '../../../src/history/inventory-query/parser.ts';
import type { Expression, InventoryQuery } from '../../../src/history/inventory-query/parser.ts';
import { Random } from '../../smartrest/random.ts';

/** Compact notation of a tree. */
function shown(expression: Expression | undefined): string {
  if (expression === undefined) return '-';
  switch (expression.kind) {
    case 'and':
    case 'or':
      return `(${expression.operands.map(shown).join(` ${expression.kind} `)})`;
    case 'not':
      return `!${shown(expression.operand)}`;
    case 'has':
      return `has[${expression.paths.map((path) => path.join('/')).join(' ')}]`;
    case 'comparison': {
      const { literal } = expression;
      const value =
        literal.kind === 'text'
          ? JSON.stringify(literal.pieces.length === 1 ? literal.pieces[0] : literal.pieces)
          : literal.kind === 'null'
            ? 'null'
            : String(literal.value);
      return `${expression.path.join('/')} ${expression.operator} ${value}`;
    }
    default:
      return `${expression.kind}[${expression.ids.join(' ')}]`;
  }
}
const ordered = ({ order }: InventoryQuery): string =>
  order.map(({ path, isDescending }) => `${path.join('/')}${isDescending ? '-' : '+'}`).join(' ');

t.test('filters', async (t) => {
  const check = (query: string, want: string): void => {
    t.equal(shown(parseInventoryQuery(query).filter), want, query);
  };
  // Comparison (docs/spec/queries.md#form).
  check("name eq 'a'", 'name eq "a"');
  for (const operator of ['eq', 'ne', 'gt', 'ge', 'lt', 'le']) check(`a.b ${operator} 1`, `a/b ${operator} 1`);
  check("NAME EQ 'a'", 'NAME eq "a"');
  // Logic: not, and, or.
  check('a eq 1 or b eq 2 and c eq 3', '(a eq 1 or (b eq 2 and c eq 3))');
  check('(a eq 1 or b eq 2) and c eq 3', '((a eq 1 or b eq 2) and c eq 3)');
  check('not(a eq 1) and b eq 2', '(!a eq 1 and b eq 2)');
  check('not a eq 1 or not not b eq 2', '(!a eq 1 or !!b eq 2)');
  check('a eq 1 and b eq 2 and c eq 3', '(a eq 1 and b eq 2 and c eq 3)');
  // Paths.
  check("c8y_Availability.status eq 'UNAVAILABLE'", 'c8y_Availability/status eq "UNAVAILABLE"');
  check('a-b.c:1 eq 1', 'a-b/c:1 eq 1');
  check('not eq 1', 'not eq 1');
  check('has eq 1', 'has eq 1');
  check("'a b.A+' eq 1", 'a b/A+ eq 1');
  // Texts.
  check("a eq 'it''s'", 'a eq "it\'s"');
  check("a eq 'it\\'s'", 'a eq "it\'s"');
  check("a eq '*x*y'", 'a eq ["","x","y"]');
  check("a eq '\\*x\\\\'", 'a eq "*x\\\\"');
  check("a eq ''", 'a eq ""');
  check("a eq 'Pump \\(1\\) \\[x\\] \\{y\\}'", 'a eq "Pump (1) [x] {y}"');
  check("a eq 'a)(,\"$orderby=x'", 'a eq "a)(,\\"$orderby=x"');
  check('type eq c8y_Firmware', 'type eq "c8y_Firmware"');
  check('name eq gateway*', 'name eq ["gateway",""]');
  // Numbers, booleans, null.
  for (const [text, value] of [
    ['5', '5'],
    ['-5', '-5'],
    ['22.5d', '22.5'],
    ['22.5f', '22.5'],
    ['22.5', '22.5'],
    ['1e3', '1000'],
    ['7L', '7'],
  ])
    check(`a gt ${text}`, `a gt ${value}`);
  check('a eq TRUE and b eq false and c eq null', '(a eq true and b eq false and c eq null)');
  check("a eq 'true' or b eq '5'", '(a eq "true" or b eq "5")');
  // Functions.
  check('has(c8y_IsDevice)', 'has[c8y_IsDevice]');
  check('HAS( a.b )', 'has[a/b]');
  check('hasany(a, b.c)', 'has[a b/c]');
  check('bygroupid(4711)', 'bygroupid[4711]');
  check("byGroupId(1,'2')", 'bygroupid[1 2]');
  check('isinhierarchyof(5)', 'isinhierarchyof[5]');
  // Form: both parts optional, blanks and plus separate.
  for (const empty of ['', '  ', '$filter=', '$filter= $orderby=', '+$filter=+']) check(empty, '-');
  check(
    "$filter=(name eq 'gateway*' and has(c8y_IsDevice)) $orderby=name",
    '(name eq ["gateway",""] and has[c8y_IsDevice])',
  );
  check("$filter=name+eq+'a'", 'name eq "a"');
  check('$FILTER = a eq 1', 'a eq 1');
});

t.test('orders', async (t) => {
  const check = (query: string, want: string): void => {
    t.equal(ordered(parseInventoryQuery(query)), want, query);
  };
  check('a eq 1', '');
  check('$orderby=name', 'name+');
  check('$filter=a eq 1 $orderby=creationTime.date desc', 'creationTime/date-');
  check('$filter=a eq 1+$orderby=name asc,id DESC, c8y_X.y', 'name+ id- c8y_X/y+');
  check("a eq '$orderby=x' $orderby=b", 'b+');
});

t.test('queries of real clients', async () => {
  for (const query of [
    'has(com_platform_model_Agent)',
    'not(has(c8y_Connection))',
    "(c8y_Availability.lastMessage le '2024-01-01T00:00:00Z')",
    "(owner eq 'device_abc')",
    'bygroupid(4711)',
    'type eq c8y_DeviceGroup',
    '(c8y_ActiveAlarmsStatus.critical gt 0)',
    "(c8y_Availability.status eq 'UNAVAILABLE')",
    "(id eq '5')",
    '$orderby=creationTime.date desc',
    "$filter=(not(type eq 'c8y_DeviceGroup') and (c8y_SupportedOperations eq 'c8y_Restart')) $orderby=name asc",
    "$filter=((name eq '*a*') or (name eq '*A*')) and not(has(x))",
  ]) {
    parseInventoryQuery(query);
  }
});

t.test('what is not understood is refused with its position', async (t) => {
  const check = (query: string, want: string): void => {
    let message = 'nothing';
    try {
      parseInventoryQuery(query);
    } catch (error) {
      message =
        error instanceof PlatformError && error.code === 'inventory/invalid-query' ? error.message : String(error);
    }
    t.equal(message, `The query could not be understood: ${want}`, query);
  };
  check('a', 'one of eq, ne, gt, ge, lt, le is missing at position 2');
  check('a eq', 'a value is missing at position 5');
  check('a eq 1 b', 'b is not understood at position 8');
  check('a like 1', 'one of eq, ne, gt, ge, lt, le is missing at position 3');
  check('(a eq 1', 'a closing parenthesis is missing at position 8');
  check('a eq 1)', ') is not understood at position 7');
  check("a eq 'x", 'the text has no closing quote at position 6');
  check('a..b eq 1', 'a property without a name at position 1');
  check('foo(a)', 'unknown function foo at position 1');
  check('has()', 'a property is missing at position 5');
  check('has(a,b)', 'has takes one path; hasany takes several at position 1');
  check('a gt true', 'gt takes a text or a number, found true at position 6');
  check('a lt null', 'lt takes a text or a number, found null at position 6');
  check('and', 'one of eq, ne, gt, ge, lt, le is missing at position 4');
  check('a eq 1 and', 'a property is missing at position 11');
  check('not', 'a property is missing at position 4');
  check(`${'('.repeat(60)}a eq 1`, 'more than 50 levels at position 51');
  check(Array.from({ length: 201 }, () => 'a eq 1').join(' or '), 'more than 200 conditions at position 2001');
  check('a eq 1e999', '1e999 is larger than a number may be at position 6');
  check('$orderby=a b', 'a comma is missing at position 12');
  check('$orderby=a,', 'a path is missing at position 12');
  check(`$orderby=${Array.from({ length: 11 }, () => 'a').join(',')}`, 'more than 10 orders at position 30');
  check(
    Array.from({ length: 21 }, () => 'isinhierarchyof(1)').join(' or '),
    'more than 20 times isinhierarchyof, which takes several ids at once at position 441',
  );
  check('x'.repeat(20_001), 'the query has more than 20000 characters at position 20001');
});

t.test('any text is understood or refused', async (t) => {
  const random = new Random();
  const { seed } = random;
  const words = [
    'a',
    'name',
    'eq',
    'gt',
    'and',
    'or',
    'not',
    'has',
    'hasany',
    'bygroupid',
    '(',
    ')',
    ',',
    "'",
    "'x'",
    '5',
    '22.5d',
    'null',
    'true',
    '*',
    '.',
    ' ',
    ' ',
    ' ',
    '+',
    '\\',
    '$orderby=',
    '$filter=',
    'desc',
    'ä',
    '😀',
    '\u0000',
    '\n',
    '"',
    '{',
    '%',
  ];
  let understood = 0;
  for (let turn = 0; turn < 20_000; turn += 1) {
    const query = Array.from({ length: random.below(16) }, () => random.pick(words)).join(
      random.below(2) === 0 ? ' ' : '',
    );
    try {
      parseInventoryQuery(query);
      understood += 1;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'inventory/invalid-query')
        t.fail(`seed ${seed}, ${JSON.stringify(query)}: ${String(error)}`);
    }
  }
  t.ok(understood > 100, `${understood} understood`);
});
