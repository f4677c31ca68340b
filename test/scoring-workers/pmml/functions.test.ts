/** Built-in functions (docs/spec/pmml-expressions.md#functions): cases of others, and one of ours for each that those leave out. */
import t from 'tap';
import { BUILT_INS } from '../../../src/scoring-workers/pmml/expressions/functions/table.ts';
import { CASES, caseList } from '../../helpers/pmml/cases.ts';
import { expression } from '../../helpers/pmml/expressions.ts';

interface Typed {
  readonly type: string;
  readonly value: unknown;
}

interface Case {
  readonly function: string;
  readonly args: readonly (Typed | null)[];
  readonly expected: Typed | { readonly error: true } | null;
  readonly tolerance?: number;
}

/** The value of a call whose arguments stand in fields of their types. */
function call(name: string, args: readonly (Typed | null)[]): unknown {
  const fields = args.map(
    (arg, index) => `<DataField name="a${index}" optype="continuous" dataType="${arg?.type ?? 'double'}"/>`,
  );
  const refs = args.map((_, index) => `<FieldRef field="a${index}"/>`);
  const compiled = expression(
    `<Apply function="${name.replaceAll('<', '&lt;')}" invalidValueTreatment="asIs">${refs.join('')}</Apply>`,
    { fields: fields.join('') },
  );
  return compiled.evaluate(Object.fromEntries(args.map((arg, index) => [`a${index}`, arg?.value])));
}

function isLike(found: unknown, wanted: Case['expected'], tolerance = 0): boolean {
  if (wanted === null) return found === undefined;
  if ('error' in wanted) return found === undefined || Number.isNaN(found);
  const { type, value } = wanted;
  if (type === 'string' || type === 'boolean') return found === value;
  const number = Number(value);
  return Object.is(found, number) || Math.abs((found as number) - number) <= tolerance;
}

t.test(
  'functions.json',
  { skip: CASES === undefined ? 'the cases do not lie beside the repository' : false },
  async (t) => {
    for (const one of caseList<Case>('functions.json')) {
      const found = call(one.function, one.args);
      const shown = `${one.function}(${one.args.map((arg) => JSON.stringify(arg?.value ?? null)).join(', ')})`;
      t.ok(
        isLike(found, one.expected, one.tolerance),
        `${shown} is ${String(found)}, wanted ${JSON.stringify(one.expected)}`,
      );
    }
  },
);

const guess = (value: unknown): Typed | null => {
  if (value === null) return null;
  if (typeof value === 'boolean') return { type: 'boolean', value };
  if (typeof value === 'string') return { type: 'string', value };
  return { type: Number.isInteger(value) ? 'integer' : 'double', value };
};

const double = (value: number): Typed => ({ type: 'double', value });
const typed = (type: string, value: unknown): Typed => ({ type, value });

/** [function, arguments, result; null is missing, 'invalid' not valid] */
const OWN: readonly (readonly [string, readonly (Typed | null | unknown)[], unknown])[] = [
  ['-', [4], -4],
  ['+', [double(0.1), double(0.2)], 0.1 + 0.2],
  ['+', [typed('float', 0.1), typed('float', 0.2)], Math.fround(Math.fround(0.1) + Math.fround(0.2))],
  ['/', [7, -2], -3],
  ['/', [double(7), 2], 3.5],
  ['modulo', [double(-7.5), 2], 0.5],
  ['hypot', [3, 4], 5],
  ['expm1', [double(1e-10)], Math.expm1(1e-10)],
  ['ln1p', [double(1e-10)], Math.log1p(1e-10)],
  ['pow', [0, 0], 1],
  ['rint', [double(0.5)], 0],
  ['rint', [double(1.5)], 2],
  ['rint', [double(-2.5)], -2],
  ['round', [double(2.5)], 3],
  ['round', [double(-2.5)], -2],
  ['floor', [double(-1.2)], -2],
  ['ceil', [double(-1.2)], -1],
  ['acos', [double(1)], 0],
  ['atan', [double(1)], Math.PI / 4],
  ['min', [double(2), null, double(-3)], -3],
  ['product', [2, 3, 4], 24],
  ['avg', [1, 2], 1.5],
  ['median', [9, 1, 5], 5],
  ['isValid', ['x'], true],
  ['isNotValid', ['x'], false],
  ['isNotValid', [null], false],
  ['isNotIn', [null, 'a', 'b'], true],
  ['isIn', ['a', null, 'a'], true],
  ['isIn', [double(2), 1, 2], true],
  ['equal', ['5', 5], true],
  ['equal', [5, '5'], true],
  ['equal', [5, 'five'], false],
  ['notEqual', [5, 'five'], true],
  ['lessThan', [5, 'five'], false],
  ['equal', [null, 1], null],
  ['equal', [true, true], true],
  ['lessThan', ['apple', 'pear'], true],
  ['greaterOrEqual', [typed('date', '2020-02-29'), typed('string', '2020-02-28')], true],
  ['and', [true, null], null],
  ['and', [null, false], false],
  ['or', [null, true], true],
  ['or', [null, false], null],
  ['not', [null], null],
  ['if', [null, 1, 2], null],
  ['concat', ['a', null, 1, double(2), true], 'a12.0true'],
  ['concat', [null, null], null],
  ['substring', ['abc', 2, 0], ''],
  ['replace', ['a.b', '\\.', '\\$1'], 'a$1b'],
  ['matches', ['ABC', '(?i)abc'], true],
  ['matches', ['x!', '[\\p{Punct}]$'], true],
  ['matches', ['caf\u00e9', '^\\p{L}+$'], true],
  ['formatNumber', [double(1234.5), '%,10.2f|'], '  1,234.50|'],
  ['formatNumber', [double(1.005), '%.2f'], '1.01'],
  ['formatNumber', [-7, '%05d'], '-0007'],
  ['formatNumber', [7, '%-4d%%'], '7   %'],
  ['formatNumber', [double(12345.678), '%.3e'], '1.235e+04'],
  ['formatNumber', [255, '%X'], 'FF'],
  [
    'formatDatetime',
    [typed('dateTime', '2021-01-03T15:04:05'), '%A %j %I:%M:%S %p %V %G %U %T'],
    'Sunday 003 03:04:05 PM 53 2020 01 15:04:05',
  ],
  ['formatDatetime', [typed('time', '05:06:07'), '%R'], '05:06'],
  ['dateDaysSinceYear', [typed('dateTime', '2000-01-02T23:59:59'), 2000], 1],
  ['dateDaysSinceYear', ['2000-01-02', 2000], 1],
  ['dateDaysSinceYear', [typed('dateDaysSince[1960]', 366), 1960], 366],
  ['dateSecondsSinceYear', [typed('date', '1999-12-31'), 2000], -86_400],
  ['dateSecondsSinceMidnight', [typed('dateTime', '1969-12-31T00:00:10')], 10],
  ['normalIDF', [double(0.5), 3, 2], 3],
  ['stdNormalIDF', [double(0.975)], 1.959963984540054],
];

t.test('functions, one by one', async (t) => {
  for (const [name, args, wanted] of OWN) {
    const given = args.map((arg) => (typeof arg === 'object' && arg !== null ? (arg as Typed) : guess(arg)));
    const found = call(name, given);
    const isEqual =
      typeof wanted === 'number' && typeof found === 'number'
        ? Math.abs(found - wanted) <= 1e-15 * Math.max(1, Math.abs(wanted))
        : found === (wanted ?? undefined);
    t.ok(isEqual, `${name}(${JSON.stringify(given)}) is ${String(found)}, wanted ${String(wanted)}`);
  }
  const tested = new Set([
    ...OWN.map(([name]) => name),
    ...caseList<Case>('functions.json').map((one) => one.function),
  ]);
  if (CASES !== undefined)
    t.strictSame(
      [...BUILT_INS.keys()].filter((name) => !tested.has(name)),
      [],
    );
});

t.test('results that are not valid', async (t) => {
  const withTreatment =
    (treatment: string, function_: string, ...values: readonly string[]) =>
    () =>
      expression(
        `<Apply function="${function_}" ${treatment}>${values.map((value) => `<Constant>${value}</Constant>`).join('')}</Apply>`,
      ).evaluate();
  for (const [name, ...values] of [
    ['/', '1', '0'],
    ['/', '1.5', '0'],
    ['modulo', '1', '0'],
    ['sqrt', '-1'],
    ['ln', '-1'],
    ['acos', '2'],
    ['normalCDF', '1', '2', '0'],
    ['stdNormalIDF', '2'],
  ] as const) {
    t.throws(withTreatment('', name, ...values), /is not valid/, `${name} by default`);
    t.equal(withTreatment('invalidValueTreatment="asMissing"', name, ...values)(), undefined, `${name} as missing`);
    t.equal(withTreatment('invalidValueTreatment="asMissing" defaultValue="7"', name, ...values)(), 7, name);
  }
  t.equal(withTreatment('invalidValueTreatment="asIs"', '/', '1.5', '0')(), Number.POSITIVE_INFINITY);
  t.throws(withTreatment('', '+', 'true', '1'), /'true' is not a number/);
  t.throws(withTreatment('', 'substring', 'abc', '0', '1'), /start 0 and length 1/);
  t.throws(withTreatment('', 'formatNumber', '1.5', '%d'), /'%d' is not a pattern/);
  t.throws(withTreatment('', 'formatDatetime', '2020-01-01', '%!'), /'%!' is not a pattern/);
  t.throws(withTreatment('', 'formatDatetime', 'soon', '%d'), /'soon' is not a date/);
});

t.test('calls that are refused', async (t) => {
  const refused = (xml: string, reason: RegExp) => t.throws(() => expression(xml), reason);
  refused(
    '<Apply function="Ln"><Constant>1</Constant></Apply>',
    /Apply \(line 1\): 'function' is 'Ln', which is neither/,
  );
  refused('<Apply function="ln"/>', /'ln' has 0 arguments; it takes 1/);
  refused('<Apply function="if"><Constant>1</Constant></Apply>', /takes 2 to 3/);
  refused('<Apply function="sum"/>', /takes 1 or more/);
  refused(
    '<Apply function="matches"><Constant>a</Constant><Constant>(</Constant></Apply>',
    /'\(' is not a regular expression/,
  );
  refused(
    '<Apply function="ln" invalidValueTreatment="x"><Constant>1</Constant></Apply>',
    /may be returnInvalid, asIs/,
  );
});
