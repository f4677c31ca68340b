/**
 * `npm run mutants [-- <part of a promise, a rule, a symbol or a test>…]`: takes the rules of test/mutants/rules.ts out
 * of the sources, one at a time, and runs the test that must fail then. First the same tests run as they are, and must
 * pass. Each worker has a copy of the repository; the working tree is not touched. Ends with `N rules: N held, N not`,
 * and with exit code 1 when a test did not notice that its rule was gone.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  buildTests,
  checkNode,
  checkTypes,
  compiledTestPath,
  ensureBuilt,
  ensureInstalled,
  root,
  say,
} from './setup.mjs';

const WORKERS = Number(process.env.MILLRACE_MUTANT_WORKERS ?? 2);
const TIMEOUT_SECONDS = 240;
/** Paths in the repository; tap of the tests is in a node_modules of dist-test/. */
const NOT_COPIED = new Set(['node_modules', '.git', '.tap', 'data', join('bench', 'results')]);

/** As in tsconfig.json, for one file alone. */
const COMPILER_OPTIONS = {
  target: 'ES2022',
  module: 'ESNext',
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

const compiled = (tree, file) =>
  ['dist', 'dist-test'].map((folder) => join(tree, folder, file.replace(/\.ts$/, '.js')));

/** A copy of the repository as it is built. */
function copyTree() {
  const tree = mkdtempSync(join(tmpdir(), 'millrace-mutants-'));
  cpSync(root, tree, { recursive: true, filter: (path) => !NOT_COPIED.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  // A file for a file, so that a change of one of them is one of the server.
  const start = join('src', 'server', 'start.js');
  cpSync(join(tree, 'dist-test', start), join(tree, 'dist', start));
  return tree;
}

/** Of tests that run. */
const groups = new Set();

/**
 * Runs the compiled form of a test file in a copy; resolves to the first failed point, or undefined when all passed.
 */
function runTest(tree, test) {
  return new Promise((resolve) => {
    const file = join(tree, compiledTestPath(test).slice(root.length));
    const env = { ...process.env, TAP: '1', TAP_BAIL: '1', TAP_TIMEOUT: String(TIMEOUT_SECONDS) };
    // A group of its own, so that nothing that the test started is left.
    const child = spawn(process.execPath, [file], {
      cwd: tree,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    });
    groups.add(child.pid);
    const end = () => {
      groups.delete(child.pid);
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;
      }
    };
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const timer = setTimeout(end, (TIMEOUT_SECONDS + 20) * 1000);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      end();
      const isSkipped = /^1\.\.0|# SKIP .*is not installed/m.test(output);
      if (code === 0) return resolve(isSkipped ? { isSkipped } : undefined);
      const failed = /^ *not ok \d* ?-? ?(.*)$/m.exec(output);
      if (failed === null) return resolve({ point: `ended with ${signal ?? code}` });
      const title = output
        .slice(0, failed.index)
        .match(/# Subtest: .*/g)
        ?.at(-1)
        ?.slice(11);
      return resolve({
        point: [title, failed[1].replace(/ \{$/, '')].filter((text) => text !== undefined).join(' > '),
      });
    });
  });
}

/** The source without the rule, compiled; throws what is wrong with the change. */
function mutate(typescript, sources, { symbol, change }) {
  const { file, text } = sources.without(symbol, change);
  const { outputText, diagnostics } = typescript.transpileModule(text, {
    compilerOptions: COMPILER_OPTIONS,
    reportDiagnostics: true,
  });
  if (diagnostics.length > 0)
    throw new Error(`${file}: ${typescript.flattenDiagnosticMessageText(diagnostics[0].messageText, '\n')}`);
  return { file, outputText };
}

/** Takes tasks from a list, some at a time. */
async function share(trees, tasks, work) {
  const left = [...tasks];
  await Promise.all(
    trees.map(async (tree) => {
      for (let task = left.shift(); task !== undefined; task = left.shift()) await work(tree, task);
    }),
  );
}

checkNode();
await ensureInstalled();
if (!(await ensureBuilt()) || !(await buildTests()) || !(await checkTypes())) {
  say('the build failed');
  process.exit(1);
}
const { default: typescript } = await import('typescript');
const builtOf = (name) => import(pathToFileURL(compiledTestPath(`test/mutants/${name}.ts`)).href);
const [{ RULES }, { Sources, testFiles }] = await Promise.all([builtOf('rules'), builtOf('resolve')]);
const sources = new Sources(root);
const parts = process.argv.slice(2);
const isChosen = ({ promise, test, rule, symbol }) =>
  parts.length === 0 || parts.some((part) => [promise, test, rule, symbol].some((text) => text.includes(part)));
const chosen = RULES.filter(isChosen).map((rule) => ({ ...rule, tests: testFiles(root, rule.test) }));
const trees = Array.from({ length: WORKERS }, copyTree);
process.on('exit', () => {
  for (const pid of groups) process.kill(-pid, 'SIGKILL');
  for (const tree of trees) rmSync(tree, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const broken = new Set();
await share(trees, new Set(chosen.flatMap(({ tests }) => tests)), async (tree, test) => {
  const failed = await runTest(tree, test);
  if (failed === undefined) return;
  broken.add(test);
  console.log(`NOT RUN  ${test}: ${failed.isSkipped ? 'skipped' : `fails without a change: ${failed.point}`}`);
});

let held = 0;
await share(trees, chosen, async (tree, mutant) => {
  const { rule, symbol, tests } = mutant;
  const startMs = Date.now();
  let originals = [];
  let found;
  try {
    const { file, outputText } = mutate(typescript, sources, mutant);
    originals = compiled(tree, file).map((path) => [path, readFileSync(path)]);
    for (const [path] of originals) writeFileSync(path, outputText);
    for (const test of tests.filter((one) => !broken.has(one))) {
      const failed = await runTest(tree, test);
      if (failed === undefined) continue;
      found = `${test}: ${failed.point}`;
      break;
    }
  } catch (error) {
    console.log(`WRONG    ${rule} (${symbol}): ${error.message}`);
    return;
  } finally {
    for (const [path, original] of originals) writeFileSync(path, original);
  }
  const seconds = ((Date.now() - startMs) / 1000).toFixed(1);
  if (found === undefined) {
    console.log(`NOT HELD ${rule} (${symbol}; ${tests.join(', ')}; ${seconds} s)`);
  } else {
    held += 1;
    console.log(`held     ${rule} (${symbol})\n           ${found} (${seconds} s)`);
  }
});
console.log(`${chosen.length} rules: ${held} held, ${chosen.length - held} not`);
process.exitCode = held === chosen.length && chosen.length > 0 ? 0 : 1;
