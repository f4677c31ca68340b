/**
 * The rules that `npm run mutants` takes out are still where they say. A function or method that gets another name
 * needs it in its rules too.
 */
import t from 'tap';
import { typescript } from '../helpers/typescript.ts';
import { ROOT } from '../helpers/root.ts';
import {
  always,
  dropped,
  gives,
  instead,
  never,
  returns,
  swapped,
  taken,
  unawaited,
  valued,
  without,
} from '../mutants/operators.ts';
import type { Operator } from '../mutants/operators.ts';
import { Sources, changed, testFiles } from '../mutants/resolve.ts';
import { RULES } from '../mutants/rules.ts';

t.test('each rule names a symbol of src/ that has what it takes out, and a test', async (t) => {
  const sources = new Sources(ROOT);
  const named = new Set<string>();
  for (const { promise, test, rule, symbol, change } of RULES) {
    if (testFiles(ROOT, test).length === 0)
      t.fail(`no file of test/ is called ${test}; name the test of "${rule}" in test/mutants/rules.ts`);
    if (named.has(`${promise}: ${rule}`)) t.fail(`${promise}: two rules are called "${rule}"`);
    named.add(`${promise}: ${rule}`);
    try {
      sources.without(symbol, change);
    } catch (error) {
      t.fail(`${(error as Error).message}: change the rule "${rule}" (${symbol}) in test/mutants/rules.ts`);
    }
  }
  t.ok(named.size > 100, `${named.size} rules`);
});

t.test(
  'operators go by structure and by names of members, functions and texts, not by those of variables',
  async (t) => {
    const check = (change: Operator, body: string, wanted: string): void => {
      for (const [first, second] of [
        ['one', 'two'],
        ['other', 'x'],
      ]) {
        const text = (inner: string): string =>
          `async function f(${first}) {${inner.replaceAll('one', first).replaceAll('two', second)}}`;
        const source = typescript.createSourceFile('f.ts', text(body), typescript.ScriptTarget.ES2022, true);
        t.equal(changed(source.text, change(source.statements[0], source)), text(wanted));
      }
    };
    check(returns('true'), ' return one.a(); ', ' return true; ');
    check(without('store'), ' await one.store(1).catch(() => 2); ', ' {} ');
    check(without('store'), ' if (!one.store(1)) return; ', ' if (!undefined) return; ');
    check(without('store', 2), ' store(1); store(2); ', ' store(1); {} ');
    check(gives('get', '[]'), ' const two = (await one.get(1)).map(x); ', ' const two = ([]).map(x); ');
    check(instead('every', 'some'), ' return one.every(x); ', ' return one.some(x); ');
    check(unawaited('put'), ' await one.put(); ', ' void one.put(); ');
    check(unawaited('put'), ' one.put().then(x); ', ' (one.put(), Promise.resolve()).then(x); ');
    check(never('isFull'), ' if (one.isFull) return; ', ' if (false) return; ');
    check(
      never('refuse'),
      ' const two = one(); if (two) throw refuse(two); ',
      ' const two = one(); if (false) throw refuse(two); ',
    );
    check(
      always('size', 2),
      ' if (one.size) x(); while (one.size > 1) x(); ',
      ' if (one.size) x(); while (true) x(); ',
    );
    check(dropped('isFull'), ' return one || one.isFull || x; ', ' return one || x; ');
    check(
      swapped('first', 'second'),
      ' one.first(); x(); await one.second(); ',
      ' await one.second(); x(); one.first(); ',
    );
    check(valued('1', 'size'), ' return { size: one }; ', ' return { size: 1 }; ');
    check(valued('1', 'size'), ' one.size = 5; ', ' one.size = 1; ');
    check(taken(1, '0'), ' return one; ', ' one = 0; return one; ');
    t.throws(
      () => check(never('one'), ' if (one) return; ', ''),
      { message: /^0 times a condition of one/ },
      'a variable is no name',
    );
  },
);
