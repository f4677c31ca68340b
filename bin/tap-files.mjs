/**
 * `node bin/tap-files.mjs <jobs> <seconds for a file> <test/….test.ts>…`: runs compiled test files, some at a time, as one TAP stream: each is a
 * point around what it printed, in the order in which they end. Unlike `tap run`, and `t.spawn`, it gives the files, and the servers that they
 * start, no loader and measures no coverage, which took a third of their CPU time.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { compiledTestPath, root } from './setup.mjs';

/** For a file to end by itself, behind its time. */
const GRACE_MS = 15_000;
const INDENT = '    ';

const [jobs, seconds, ...files] = process.argv.slice(2);
const env = { ...process.env, TAP_TIMEOUT: seconds, TAP: '1' };
const running = new Set();

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    files.length = 0;
    process.exitCode = 1;
  });
}

/** Runs one file. @returns its lines, and what is wrong with how it ended; a file that skips itself has a reason for that. */
async function runFile(file) {
  const startMs = performance.now();
  // Places in messages are those of the sources.
  const child = spawn(process.execPath, ['--enable-source-maps', compiledTestPath(file)], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  const lines = [];
  let failure;
  let plan;
  const kill = () => {
    failure = `did not end within ${Math.round((performance.now() - startMs) / 1_000)} s and was killed`;
    child.kill('SIGKILL');
  };
  const timer = setTimeout(kill, Number(seconds) * 1_000 + GRACE_MS);
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? code}`));
  });
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    plan ??= /^1\.\.(\d+)(?: # *(.*))?$/.exec(line);
  }
  const ending = await ended;
  clearTimeout(timer);
  running.delete(child);
  failure ??= ending ?? (plan === null || plan === undefined ? 'ended without a plan' : undefined);
  const skipped = failure === undefined && plan[1] === '0' ? plan[2]?.replace(/^SKIP\s*/i, '') ?? '' : undefined;
  return { lines, failure, skipped, ms: performance.now() - startMs };
}

let count = 0;
function print(file, { lines, failure, skipped, ms }) {
  count += 1;
  const text = [`# Subtest: ${file}`, ...lines.filter((line) => !line.startsWith('TAP version')).map((line) => INDENT + line)];
  const directive = skipped === undefined ? `# time=${ms.toFixed(2)}ms` : `# SKIP ${skipped}`;
  text.push(`${failure === undefined ? 'ok' : 'not ok'} ${count} - ${file} ${directive}`);
  if (failure !== undefined) {
    process.exitCode = 1;
    text.push('  ---', `  message: ${JSON.stringify(failure)}`, '  ...');
  }
  process.stdout.write(`${text.join('\n')}\n`);
}

async function work() {
  for (let file = files.shift(); file !== undefined; file = files.shift()) print(file, await runFile(file));
}

process.stdout.write('TAP version 14\n');
await Promise.all(Array.from({ length: Number(jobs) }, work));
process.stdout.write(`1..${count}\n`);
