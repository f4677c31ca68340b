/** What built test files import, and what follows: which start no process, and when one need not run again. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { compiledTestPath, root } from './setup.mjs';

/** A text that may name a file beside this one: imports of all kinds, and the files of threads. */
const NEIGHBOURS = /["'](\.{1,2}\/[^"'?\n]+\.js)(?:\?[^"'\n]*)?["']/g;
const STARTS_PROCESSES = /["'](?:(?:node:)?child_process|node:cluster)["']/;
/** The file of a thread, which is a neighbour. */
const NEIGHBOUR_URL = /new URL\(\s*["']\.{1,2}\/[^"'\n]+\.js["'],\s*import\.meta\.url\s*\)/g;
/** Such a test may read any file of the repository, and so may a tool of it. */
const READS_REPOSITORY = /\bimport\.meta\b|["'][^"'\n]*\/helpers\/root\.js["']/;

const OF_EVERY_TEST = [
  'package-lock.json',
  'package.json',
  'bin/tap/together.mjs',
  'bin/tap/instance.mjs',
  'dist-test/node_modules/tap/tap.mjs',
];

const files = new Map();

/** One built file: its text, the files that it names, and what else follows from the text. */
function fileAt(path) {
  let file = files.get(path);
  if (file === undefined) {
    const text = readFileSync(path, 'utf8');
    const neighbours = [...text.matchAll(NEIGHBOURS)]
      .map(([, name]) => join(dirname(path), name))
      .filter((one) => existsSync(one));
    const isOfTests = relative(root, path).startsWith(join('dist-test', 'test'));
    file = {
      neighbours,
      startsProcesses: STARTS_PROCESSES.test(text),
      readsRepository: isOfTests && READS_REPOSITORY.test(text.replaceAll(NEIGHBOUR_URL, '')),
      digest: createHash('sha256').update(text).digest('hex'),
    };
    files.set(path, file);
  }
  return file;
}

/** Built files that a test file is made of, itself among them. */
function partsOf(testFile) {
  const found = new Set([compiledTestPath(testFile)]);
  for (const path of found) for (const other of fileAt(path).neighbours) found.add(other);
  return [...found].sort();
}

/** True when neither the file nor what it imports can start a process: it can share one with others. */
export const startsNoProcess = (testFile) => !partsOf(testFile).some((path) => fileAt(path).startsProcesses);

let common;
/** Of what concerns every test: the interpreter, packages, the way in which tests run. */
function commonDigest() {
  const hash = createHash('sha256').update(`${process.version} ${process.env.MILLRACE_HTTP_ENGINE ?? ''}\n`);
  for (const path of OF_EVERY_TEST) hash.update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

/** Another where the outcome of the file may be another; undefined where that cannot be told. */
export function digestOf(testFile) {
  const parts = partsOf(testFile);
  if (parts.some((path) => fileAt(path).readsRepository)) return undefined;
  const hash = createHash('sha256').update((common ??= commonDigest()));
  for (const path of parts) hash.update(`${path} ${fileAt(path).digest}\n`);
  return hash.digest('hex');
}
