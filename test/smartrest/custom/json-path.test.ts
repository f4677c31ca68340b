import { JSONPath } from 'jsonpath-plus';
import t from 'tap';
import { compileJsonPath, JsonPathError, joinPaths, PATH_STEPS_MAX } from '../../../src/smartrest/custom/json-path.ts';
import { isAt, PATH_RESULTS_MAX, PathBudget, valuesAt } from '../../../src/smartrest/custom/path-values.ts';
import { Random } from '../random.ts';

const find = (path: string, value: unknown): unknown[] => valuesAt(compileJsonPath(path), value, new PathBudget());
const faultOf = (act: () => unknown): string => {
  try {
    act();
    return 'none';
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return error.fault;
  }
};

const VALUE = {
  a: { b: { c: 1 }, 'x.y': 2, "it's": 3, list: [10, 20, 30, 40] },
  customValues: ['a', 'b', 'c'],
  things: [{ type: 'one' }, { type: 'two' }, {}],
  nothing: null,
};

t.test('what paths find (docs/spec/smartrest.md#json-paths)', async (t) => {
  const cases: readonly (readonly [string, unknown[]])[] = [
    ['$', [VALUE]],
    ['$.a.b.c', [1]],
    ['a.b.c', [1]],
    ["$['a']['b'].c", [1]],
    ['a["x.y"]', [2]],
    ["a['it\\'s']", [3]],
    ['a.list[0]', [10]],
    ['a.list.1', [20]],
    ['a.list[4]', []],
    ['a.list.length', []],
    ['customValues[*]', ['a', 'b', 'c']],
    ['customValues.*', ['a', 'b', 'c']],
    ['things[*].type', ['one', 'two']],
    ['$..type', ['one', 'two']],
    ['$..[1]', [20, 'b', { type: 'two' }]],
    ['a.list[1:3]', [20, 30]],
    ['a.list[-2:]', [30, 40]],
    ['a.list[::3]', [10, 40]],
    ['a.list[0, 2]', [10, 30]],
    ["a['x.y',\"it's\"]", [2, 3]],
    ['nothing', [null]],
    ['nothing.more', []],
    ['customValues.a', []],
    ['customValues[0][0]', []],
    ['a.toString', []],
    ['__proto__', []],
    ['*', Object.values(VALUE)],
  ];
  for (const [path, values] of cases) t.same(find(path, VALUE), values, path);
  t.equal(isAt(compileJsonPath('nothing'), VALUE, new PathBudget()), true, 'null is there');
  t.equal(isAt(compileJsonPath('$..type'), VALUE, new PathBudget()), true);
  t.equal(isAt(compileJsonPath('a.c'), VALUE, new PathBudget()), false);
  const joined = joinPaths(compileJsonPath('$.a'), compileJsonPath('$.b.c'));
  t.same(valuesAt(joined, VALUE, new PathBudget()), [1]);
});

t.test('paths that are refused', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'invalid'],
    ['$.', 'invalid'],
    ['$..', 'invalid'],
    ['.a', 'invalid'],
    ['a..', 'invalid'],
    ['a b', 'none'],
    ['a[', 'invalid'],
    ['a[]', 'invalid'],
    ["a['b]", 'invalid'],
    ['a[-1]', 'invalid'],
    ['a[::0]', 'invalid'],
    ['a[1:2:3:4]', 'invalid'],
    ['a^', 'invalid'],
    ['a~', 'invalid'],
    ['@.a', 'invalid'],
    ['a.@string()', 'invalid'],
    ['a[?(@.b)]', 'filter'],
    ['a[(@.length-1)]', 'filter'],
    ['$..a..b', 'invalid'],
    [`a${'.a'.repeat(PATH_STEPS_MAX - 1)}`, 'none'],
    [`a${'.a'.repeat(PATH_STEPS_MAX)}`, 'invalid'],
    ['a'.repeat(1_001), 'invalid'],
  ];
  for (const [path, fault] of cases)
    t.equal(
      faultOf(() => compileJsonPath(path)),
      fault,
      path,
    );
  const long = compileJsonPath(`a${'.a'.repeat(PATH_STEPS_MAX - 1)}`);
  t.equal(
    faultOf(() => joinPaths(compileJsonPath('a'), long)),
    'invalid',
    'a base too many',
  );
});

t.test('bounds of one value', async (t) => {
  const many = { list: Array.from({ length: PATH_RESULTS_MAX + 1 }, (_, index) => index) };
  t.equal(
    faultOf(() => find('list[*]', many)),
    'bound',
  );
  t.equal(find('list[1:]', many).length, PATH_RESULTS_MAX);
  t.equal(isAt(compileJsonPath('list[*]'), many, new PathBudget()), true, 'whether something is there takes one value');
  let deep: unknown = 1;
  for (let depth = 0; depth < 200; depth += 1) deep = { a: deep, b: deep };
  t.equal(
    faultOf(() => find('$..c', deep)),
    'bound',
    'a value of 2^200 members, were it written out',
  );
  const budget = new PathBudget();
  t.equal(
    faultOf(() => {
      for (let turn = 0; turn < 200; turn += 1) valuesAt(compileJsonPath('$..c'), many, budget);
    }),
    'bound',
    'all paths over a value share the budget',
  );
});

t.test('the same as jsonpath-plus finds', async (t) => {
  const random = new Random();
  const names = ['a', 'b', 'c', '0', '1', 'x.y', 'ü'];
  const valueOf = (depth: number): unknown => {
    const kind = random.below(depth > 3 ? 3 : 6);
    if (kind < 3) return random.pick([1, true, null]);
    if (kind === 3) return Array.from({ length: random.below(4) }, () => valueOf(depth + 1));
    return Object.fromEntries(Array.from({ length: random.below(4) }, () => [random.pick(names), valueOf(depth + 1)]));
  };
  const stepOf = (isBelow: boolean): string => {
    switch (random.below(isBelow ? 7 : 6)) {
      case 0:
        return `.${random.pick(['a', 'b', 'c', 'ü'])}`;
      case 1:
        return `['${random.pick(names)}']`;
      case 2:
        return `[${random.below(3)}]`;
      case 3:
        return random.pick(['[*]', '.*']);
      case 4:
        return random.pick(['[0:2]', '[1:]', '[-1:]', '[:]', '[::2]', '[-2:-1]']);
      case 5:
        return '[0,2]';
      default:
        return `..${random.pick(['a', 'b', '*', '[0]', '[*]'])}`;
    }
  };
  for (let round = 0; round < 3_000; round += 1) {
    const value = valueOf(0) as object;
    const below = random.below(4);
    const path = `$${Array.from({ length: 1 + random.below(4) }, (_, index) => stepOf(index === below)).join('')}`;
    const wanted = (JSONPath({ path, json: value, eval: false, wrap: true }) as unknown[] | undefined) ?? [];
    const found = find(path, value);
    if (JSON.stringify(found) === JSON.stringify(wanted)) continue;
    t.same(found, wanted, `seed ${random.seed}: ${path} of ${JSON.stringify(value)}`);
    return;
  }
  t.pass(`seed ${random.seed}`);
});
