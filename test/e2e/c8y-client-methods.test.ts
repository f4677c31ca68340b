/** The whole of `@c8y/client`: each of its classes has a test file that calls all of its public methods (helpers/c8y-client-calls.ts records it). */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CLASSES, LIBRARY_CLASSES, REFUSED, publicMethods, undeclaredMethods } from '../helpers/c8y-client-calls.ts';
import { ROOT } from '../helpers/root.ts';

const HERE = join(ROOT, 'test/e2e');
const covered = Object.values(CLASSES).flat();

t.test('each class of the library is that of one file', async (t) => {
  t.ok(LIBRARY_CLASSES.length > 30, `${LIBRARY_CLASSES.length} classes`);
  t.same([...covered].sort(), LIBRARY_CLASSES.map(({ name }) => name).sort());
});

t.test('each file asks at its end what it has left out', async (t) => {
  const files = readdirSync(HERE).filter((name) => /^c8y-client.*\.test\.ts$/.test(name)).map((name) => name.replace('.test.ts', ''));
  t.same(files.sort(), [...Object.keys(CLASSES), 'c8y-client-methods'].sort());
  for (const file of Object.keys(CLASSES)) t.match(readFileSync(join(HERE, `${file}.test.ts`), 'utf8'), `t.same(leftOut('${file}'), []);\n});\n`, file);
});

t.test('what is refused is a method of the library, with a reason', async (t) => {
  const methods = new Set(covered.flatMap((name) => publicMethods(name).map((method) => `${name}.${method}`)));
  t.ok(methods.size > 200, `${methods.size} methods`);
  t.same(Object.keys(REFUSED).filter((name) => !methods.has(name)), []);
  t.same(Object.values(REFUSED).filter(({ status, reason }) => status < 400 || reason.length < 20), []);
});

t.test('what is there at run time is declared: public, or for the library alone', async (t) => {
  for (const { name } of LIBRARY_CLASSES) t.same(undeclaredMethods(name), [], name);
});
