/** The rules that `npm run mutants` takes out are still in the sources where their tables say, and their tests exist. */
import t from 'tap';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './helpers/root.ts';
import { TABLES } from './mutants/tables.ts';

const mutants = TABLES.flatMap((table) => table.mutants);

t.test('each change of a mutant finds its place exactly once', async (t) => {
  for (const { rule, file, changes } of mutants) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const missed = changes.filter(([from]) => text.split(from).length !== 2).map(([from]) => from);
    t.same(missed, [], `${rule} (${file})`);
    t.notOk(changes.some(([from, to]) => from === to), 'and changes something');
  }
});

t.test('each mutant has a test file, and a rule of its own', async (t) => {
  for (const { rule, tests } of mutants) {
    t.ok(tests.length > 0 && tests.every((name) => existsSync(join(ROOT, 'test', `${name}.test.ts`))), `${rule}: ${tests.join(', ')}`);
  }
  t.equal(new Set(mutants.map((mutant) => mutant.rule)).size, mutants.length, 'no rule stands twice');
});
