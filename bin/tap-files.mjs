/**
 * `node bin/tap-files.mjs <jobs> <seconds for a file> <test/….test.ts>…`: runs compiled test files with tap, some at a time, as one TAP stream. Unlike
 * `tap run` it gives the files no loader for TypeScript, which takes them more time than most of them run.
 */
import t from 'tap';
import { compiledTestPath, root } from './setup.mjs';

const [jobs, seconds, ...files] = process.argv.slice(2);
const timeout = Number(seconds) * 1000;
t.jobs = Number(jobs);
// Of the whole stream: each file has its own.
t.setTimeout(0);
const env = { ...process.env, TAP_TIMEOUT: seconds, TAP: '1' };
for (const file of files) {
  // Places in messages are those of the sources.
  void t.spawn(process.execPath, ['--enable-source-maps', compiledTestPath(file)], { buffered: true, cwd: root, timeout, env }, file);
}
