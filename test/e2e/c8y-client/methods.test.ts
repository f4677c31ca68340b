/**
 * The whole of `@c8y/client`: each of its classes has a test file that calls all of its public methods
 * (helpers/clients/c8y-client-calls.ts records it).
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AlarmService, UserService } from '@c8y/client';
import t from 'tap';
import {
  CLASSES,
  LIBRARY_CLASSES,
  REFUSED,
  leftOut,
  publicMethods,
  undeclaredMethods,
} from '../../helpers/clients/c8y-client-calls.ts';
import { ROOT } from '../../helpers/root.ts';

const HERE = join(ROOT, 'test/e2e/c8y-client');
const covered = Object.values(CLASSES).flat();

t.test('each class of the library is that of one file', async (t) => {
  t.ok(LIBRARY_CLASSES.length > 30, `${LIBRARY_CLASSES.length} classes`);
  t.same([...covered].sort(), LIBRARY_CLASSES.map(({ name }) => name).sort());
});

t.test('each file asks at its end what it has left out', async (t) => {
  const files = readdirSync(HERE)
    .filter((name) => /\.test\.ts$/.test(name))
    .map((name) => name.replace('.test.ts', ''));
  t.same(files.sort(), [...Object.keys(CLASSES), 'methods'].sort());
  for (const file of Object.keys(CLASSES))
    t.match(readFileSync(join(HERE, `${file}.test.ts`), 'utf8'), `t.same(leftOut('${file}'), []);\n});\n`, file);
});

t.test('what is refused is a method of the library, with a reason', async (t) => {
  const methods = new Set(covered.flatMap((name) => publicMethods(name).map((method) => `${name}.${method}`)));
  t.ok(methods.size > 200, `${methods.size} methods`);
  t.same(
    Object.keys(REFUSED).filter((name) => !methods.has(name)),
    [],
  );
  t.same(
    Object.values(REFUSED).filter(({ status, reason }) => status < 400 || reason.length < 20),
    [],
  );
});

t.test('what is there at run time is declared: public, or for the library alone', async (t) => {
  for (const { name } of LIBRARY_CLASSES) t.same(undeclaredMethods(name), [], name);
});

t.test('success is told from failure', async (t) => {
  const answering = (status: number): any => ({ tenant: 't1', fetch: async () => new Response('{}', { status }) });
  const about = (file: string, method: string): string[] =>
    leftOut(file).filter((line) => line.startsWith(`${method} `));
  t.equal(about('data', 'AlarmService.detail').length, 1, 'not called');
  await t.rejects(new AlarmService(answering(500)).detail(1));
  t.match(about('data', 'AlarmService.detail'), [/was not called with success/], 'failed');
  await new AlarmService(answering(200)).detail(1);
  t.same(about('data', 'AlarmService.detail'), []);
  t.match(about('users', 'UserService.verifyTFACode'), [/refused with 404, seen: nothing/]);
  await t.rejects(new UserService(answering(404)).verifyTFACode('1'));
  t.same(about('users', 'UserService.verifyTFACode'), []);
  await t.rejects(new UserService(answering(500)).verifyTFACode('1'));
  t.match(about('users', 'UserService.verifyTFACode'), [/seen: 404, 500/]);
  await new UserService(answering(200)).verifyTFACode('1');
  t.match(about('users', 'UserService.verifyTFACode'), [/succeeds, but is said to be refused/]);
});
