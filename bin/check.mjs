/**
 * `npm run check`: types, and every test file that starts no process. A file that has passed runs again when it,
 * something that it imports, a package or the interpreter has changed, or when that cannot be told
 * (bin/test-graph.mjs). Ends with the line `N passed, N failed`.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { buildTests, checkFormat, checkNode, checkTypes, ensureInstalled, ensureNative, root } from './setup.mjs';
import { digestOf, startsNoProcess } from './test-graph.mjs';
import { TestRun } from './test-run.mjs';

/** Looks at what only a build makes; `npm test` has one. */
const OF_BUILD = new Set(['test/web/size.test.ts']);
const PASSED_PATH = join(root, '.tap', 'passed.json');

/** Digests of files that have passed, by name. */
function readPassed() {
  try {
    return JSON.parse(readFileSync(PASSED_PATH, 'utf8'));
  } catch {
    // The first time, or written by half: everything runs.
    return {};
  }
}

checkNode();
await ensureInstalled();
const run = new TestRun();
run.step('build', (await buildTests()) && (await ensureNative()));
const names = readdirSync(join(root, 'test'), { recursive: true }).filter((name) => name.endsWith('.test.ts'));
const files = names
  .map((name) => `test/${name.replaceAll('\\', '/')}`)
  .filter((name) => startsNoProcess(name) && !OF_BUILD.has(name))
  .sort();
const digests = new Map(files.map((file) => [file, digestOf(file)]));
const before = readPassed();
const isUnchanged = (file) => digests.get(file) !== undefined && before[file] === digests.get(file);
const passed = Object.fromEntries(files.filter(isUnchanged).map((file) => [file, digests.get(file)]));
const wanted = files.filter((file) => !isUnchanged(file));
await Promise.all([
  checkFormat().then((isGood) => run.step('format', isGood)),
  checkTypes().then((isGood) => run.step('type check', isGood)),
  // Two more than there are cores: files of clusters wait a third of their time.
  run.together(wanted, availableParallelism() + 2, (file) => {
    passed[file] = digests.get(file);
  }),
]);
mkdirSync(dirname(PASSED_PATH), { recursive: true });
writeFileSync(PASSED_PATH, JSON.stringify(passed));
if (wanted.length < files.length)
  console.log(`${files.length - wanted.length} of ${files.length} files passed before and have not changed`);
run.finish();
