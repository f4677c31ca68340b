/** Which tests of a file count as run, for the rows that name them. */
import t from 'tap';
import { titlesOf } from './held-by.ts';

t.test('tests that run whenever the file does', async (t) => {
  const rows: [what: string, text: string, titles: string[]][] = [
    ['a plain one', "t.test('one', async () => {});", ['one']],
    ['a test in it', "t.test('one', async (t) => { await t.test('two', () => {}); });", ['one', 'two']],
    ['in a loop', "for (const name of ['a', 'b']) t.test(`of ${name}`, () => {});", ['of a', 'of b']],
    ['in a comment', "// t.test('one', () => {});", []],
    ['in a text', 'const text = "t.test(\'one\')";', []],
    [
      'left out',
      "t.test('one', { skip: true }, () => {}); t.test('two', { todo: 'later' }, () => {}); t.skip('three', () => {});",
      [],
    ],
    [
      'under a condition',
      "if (isThere) t.test('one', () => {}); isThere && t.test('two', () => {}); isThere ? t.test('three', () => {}) : undefined;",
      [],
    ],
    ['in a function that perhaps nobody calls', "function check() { t.test('one', () => {}); }", []],
    ['in one that is left out', "t.test('one', { skip: true }, (t) => { t.test('two', () => {}); });", []],
  ];
  for (const [what, text, titles] of rows) t.same(titlesOf(text), titles, what);
});
