/**
 * `node bin/tap/together.mjs <seconds for a file>`: runs compiled test files that start no process in this one, one
 * after the other, as lines of standard input name them; each is a subtest, behind which comes a line `# ended {"left",
 * "mb", "cpuMs"}`: what of it is still open, which is a failure, the memory of the process, and the CPU time that it took.
 * What all of them load is loaded once.
 */
import { createInterface } from 'node:readline';
import { compiledTestPath } from '../setup.mjs';
import tap from '../../dist-test/node_modules/tap/tap.mjs';

/** What was closed takes some turns to be gone. */
const CLOSE_MS = 20_000;
const CHECK_MS = 5;

const files = new Map();
globalThis[Symbol.for('millrace.testFiles')] = files;

/** What keeps the process alive: kinds and how many of each. */
function openResources() {
  const counts = new Map();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Waits for the end of what was opened since. @returns the kinds of what stays open. */
async function leftOpen(before) {
  for (const deadlineMs = Date.now() + CLOSE_MS; ; ) {
    const left = [...openResources()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind);
    if (left.length === 0 || Date.now() > deadlineMs) return left;
    await new Promise((resolve) => {
      setTimeout(resolve, CHECK_MS);
    });
  }
}

/** Lines of one turn of the event loop go out together: tap writes each by itself, which is a system call. */
const { stdout } = process;
const write = stdout.write.bind(stdout);
stdout.write = (...args) => {
  if (stdout.writableCorked === 0) {
    stdout.cork();
    setImmediate(() => stdout.uncork());
  }
  return write(...args);
};

tap.setTimeout(0);
let work = Promise.resolve();
const input = createInterface({ input: process.stdin });

async function run(file) {
  // So that this one line of input is not under way any more.
  await new Promise((resolve) => {
    setTimeout(resolve);
  });
  const before = openResources();
  const cpuBefore = process.cpuUsage();
  await tap.test(file, { timeout: Number(process.argv[2]) * 1_000 }, async (t) => {
    files.set(file, t);
    await import(compiledTestPath(file));
  });
  files.delete(file);
  // Not as a comment of tap: it would wait for the next test.
  const left = await leftOpen(before);
  const { user, system } = process.cpuUsage(cpuBefore);
  const mb = Math.round(process.memoryUsage().rss / 1_048_576);
  process.stdout.write(`# ended ${JSON.stringify({ left, mb, cpuMs: Math.round((user + system) / 1_000) })}\n`);
}

input.on('line', (file) => {
  work = work.then(() => run(file));
});
input.on('close', () => {
  void work.then(() => tap.end());
});
