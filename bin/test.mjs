/**
 * `npm test [-- <part of a file name> | --only]…`: installs what is missing, builds, checks the types and compiles the tests, runs
 * test/**\/*.test.ts with tap and ends with the line `N passed, N failed` (`, N skipped`). The build and the type check count
 * as one each, and so does a file that ended without a result. On CI a test skipped for a missing program is a failure.
 * Afterwards the files of test/e2e that start a server run again with a cluster of three nodes in its place, on a second version of Node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildTests, checkNode, checkTypes, compiledTestPath, ensureBuilt, ensureInstalled, ensurePrograms, hasProgram, root, say } from './setup.mjs';
import { ensureSecondNode } from './second-node.mjs';
import { TapCount } from './tap-count.mjs';

const PROGRAMS = {
  'redis-server': 'redis-server', 'nats-server': 'nats-server', mosquitto: 'mosquitto', mosquitto_pub: 'mosquitto-clients',
  chromium: 'chromium', curl: 'curl',
};

/** What the helpers say when they skip; see test/helpers/tools.ts. */
const MISSING_PROGRAM = /is not installed/;

/** What runs a second time against a cluster, and what that needs; see CONTRIBUTING.md. */
const isClusterFile = (name) => name.startsWith('test/e2e/') && readFileSync(join(root, name), 'utf8').includes('helpers/running-server.ts');
const CLUSTER_PROGRAMS = ['redis-server', 'nats-server'];
const CLUSTER_NODES = 3;
/** Processes with nodes, and so files at a time. */
const CLUSTER_JOBS = 2;
const HOST_START_MS = 60_000;
const HOST_STOP_MS = 20_000;

/** For a whole file, in seconds; long, because files that start servers run at the same time on two cores. */
const TIMEOUT_SECONDS = 240;
/** Files at a time: two more than cores, because what kills and waits leaves them idle. */
const JOBS = 4;

const isCi = process.env.CI === 'true';
const isOnly = process.argv.includes('--only');

/** Always the same, and no folder by itself: files that need a whole machine do not meet each other. */
function inMixedOrder(one, other) {
  const [first, second] = [one, other].map((name) => createHash('sha256').update(name).digest('hex'));
  return first < second ? -1 : 1;
}

function testFiles(filters) {
  const files = readdirSync(join(root, 'test'), { recursive: true }).filter((name) => name.endsWith('.test.ts'));
  return files.map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => filters.length === 0 || filters.some((filter) => name.includes(filter))).sort(inMixedOrder);
}

/** Prints the failed points of one file with their diagnostics. */
function printFailures(lines) {
  let diagnosticIndent = -1;
  let isFailure = false;
  for (const line of lines) {
    const indent = line.length - line.trimStart().length;
    if (diagnosticIndent >= 0) {
      if (isFailure) console.log(line);
      if (line.trim() === '...' && indent === diagnosticIndent) diagnosticIndent = -1;
    } else if (line.trim() === '---') {
      diagnosticIndent = indent;
      if (isFailure) console.log(line);
    } else {
      isFailure = line.trimStart().startsWith('not ok') && !/# TODO/i.test(line);
      if (isFailure) console.log(line);
    }
  }
}

/** Runs tap and counts; resolves to the count, with a failure for each file that tap lost. */
async function runTap(files, { environment = {}, jobs = JOBS, title = '', report: reportName = 'last-run' } = {}) {
  mkdirSync(join(root, '.tap'), { recursive: true });
  const report = createWriteStream(join(root, '.tap', `${reportName}.tap`));
  const left = new Set(files);
  const failedFiles = [];
  /** By file: names of the points that failed, the innermost. */
  const failedPoints = new Map();
  let points = [];
  let lines = [];
  let before = { passed: 0, failed: 0, skipped: 0 };
  const count = new TapCount((point) => {
    if (point.depth !== 0) {
      if (!point.ok && point.isCounted && point.directive !== 'TODO') points.push(point.name);
      return;
    }
    left.delete(point.name);
    if (!point.ok) {
      printFailures(lines);
      failedFiles.push(point.name);
      failedPoints.set(point.name, points);
    }
    points = [];
    const parts = ['passed', 'failed', 'skipped'].map((key) => [count[key] - before[key], key]).filter(([number]) => number > 0);
    const seconds = point.ms === undefined ? '' : `  ${(point.ms / 1000).toFixed(1)} s`;
    console.log(`${point.ok ? 'ok    ' : 'FAILED'} ${point.name}${title}  ${parts.map((part) => part.join(' ')).join(', ')}${seconds}`);
    before = { passed: count.passed, failed: count.failed, skipped: count.skipped };
    lines = [];
  });
  const args = [join(root, 'bin', 'tap-files.mjs'), String(jobs), String(TIMEOUT_SECONDS), ...files];
  const child = spawn(process.execPath, args, {
    cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...(isOnly ? { TAP_ONLY: '1' } : {}), ...environment },
  });
  let ending;
  const end = (signal) => {
    ending = signal;
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end);
  const ended = new Promise((resolve) => { child.on('close', (code, signal) => resolve(signal === null ? code : signal)); });
  for await (const line of createInterface({ input: child.stdout })) {
    report.write(`${line}\n`);
    lines.push(line);
    count.line(line);
  }
  const code = await ended;
  report.end();
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end);
  // Whoever ends the run wants no further files, and no second tries.
  if (ending !== undefined) {
    console.log(`ended by ${ending}`);
    process.exit(1);
  }
  for (const name of left) {
    console.log(`FAILED ${name}${title}  ended without a result`);
    count.failed += 1;
  }
  if (code !== 0 && count.failed === 0) {
    console.log(`FAILED tap ended with ${code}; see .tap/${reportName}.tap`);
    count.failed += 1;
  }
  return Object.assign(count, { failedFiles: [...failedFiles, ...left], failedPoints });
}

checkNode();
// Beside the packages and the build: chromium alone takes a minute.
const programs = ensurePrograms(PROGRAMS);
await ensureInstalled();
const given = process.argv.slice(2).filter((argument) => argument !== '--only');
const flags = given.filter((argument) => argument.startsWith('-'));
if (flags.length > 0) {
  say(`${flags.join(' ')}: there is only --only, everything else is a part of a file name`);
  process.exit(2);
}
const files = testFiles(given);
if (files.length === 0) say(`no test file is named like ${given.join(' ')}`);
const steps = { build: await ensureBuilt() && await buildTests(), 'type check': await checkTypes() };
await programs;
const total = { passed: 0, failed: files.length === 0 ? 1 : 0, skipped: 0 };
for (const [name, isGood] of Object.entries(steps)) {
  total[isGood ? 'passed' : 'failed'] += 1;
  console.log(`${isGood ? 'ok    ' : 'FAILED'} ${name}`);
}

/** Files that were run a second time, whose first run counts no more: a test that fails now and then is seen. */
const secondTries = [];

/** Runs files and adds up what came of them. */
async function runAll(names, options = {}) {
  const count = await runTap(names, options);
  if (options.isRepeated && count.failed > 0 && count.failedFiles.length > 0) {
    console.log(`once more: ${count.failedFiles.join(', ')}`);
    const again = await runTap(count.failedFiles, { ...options, jobs: 1, title: `${options.title} (second try)`, report: `${options.report}-again` });
    for (const name of count.failedFiles) {
      const result = again.failedFiles.includes(name) ? 'failed again' : 'passed then';
      secondTries.push(`${name}${options.title} ${result}; at first failed: ${(count.failedPoints.get(name) ?? ['ended without a result']).join('; ')}`);
    }
    count.failed = again.failed;
  }
  for (const key of ['passed', 'failed', 'skipped']) total[key] += count[key];
  for (const { name, reason } of count.skips) {
    const isFailure = isCi && MISSING_PROGRAM.test(reason);
    if (isFailure) {
      total.skipped -= 1;
      total.failed += 1;
    }
    console.log(`${isFailure ? 'FAILED (skipped on CI)' : 'skipped'} ${name}: ${reason === '' ? 'no reason given' : reason}`);
  }
}

const clusterFiles = files.filter(isClusterFile);
// Beside the tests: it is a download.
const settingUpNode = clusterFiles.length > 0 ? ensureSecondNode() : undefined;
if (files.length > 0) await runAll(files);
const secondNode = await settingUpNode;
if (secondNode?.reason !== undefined) {
  total[isCi ? 'failed' : 'skipped'] += 1;
  console.log(`${isCi ? 'FAILED (skipped on CI)' : 'skipped'} the cluster on a second Node, it runs on ${process.versions.node}: ${secondNode.reason}`);
}
const clusterNode = secondNode?.version ?? process.versions.node;

/** A process that runs nodes for tests (test/helpers/node-host.ts), with its port; it ends when its standard input does. */
async function startHost() {
  const args = ['--enable-source-maps', compiledTestPath('test/helpers/node-host.ts')];
  const env = { ...process.env, MILLRACE_TEST_CLUSTER: String(CLUSTER_NODES) };
  const child = spawn(secondNode?.path ?? process.execPath, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'], env });
  child.stdin.on('error', () => undefined);
  // Where this process ends without `stop`, standard input ends too, and the host ends its servers.
  const ended = new Promise((resolve) => { child.once('exit', resolve); });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(Number(chunk.toString())));
    setTimeout(() => reject(new Error(`a host of nodes has not started within ${HOST_START_MS} ms`)), HOST_START_MS).unref();
    void ended.then((code) => reject(new Error(`a host of nodes ended with ${code} while it started`)));
  });
  const stop = async () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), HOST_STOP_MS);
    const code = await ended;
    clearTimeout(timer);
    return code;
  };
  return { port, stop };
}

const missing = CLUSTER_PROGRAMS.filter((name) => !hasProgram(name));
if (clusterFiles.length > 0 && missing.length > 0) {
  total[isCi ? 'failed' : 'skipped'] += clusterFiles.length;
  for (const name of clusterFiles) console.log(`${isCi ? 'FAILED (skipped on CI)' : 'skipped'} ${name} (cluster): ${missing[0]} is not installed`);
} else if (clusterFiles.length > 0) {
  const starting = await Promise.allSettled(Array.from({ length: Math.min(CLUSTER_JOBS, clusterFiles.length) }, startHost));
  const hosts = starting.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of starting) {
    if (one.status === 'fulfilled') continue;
    console.log(`FAILED ${one.reason.message}`);
    total.failed += 1;
  }
  if (hosts.length > 0) await runAll(clusterFiles, {
    environment: { MILLRACE_TEST_CLUSTER: String(CLUSTER_NODES), MILLRACE_TEST_NODE_HOSTS: hosts.map(({ port }) => port).join(',') },
    // Other nodes follow what was changed within a second, and most tests were written for a server that follows at once.
    jobs: hosts.length, title: ` (cluster, Node ${clusterNode.split('.')[0]})`, report: 'last-run-cluster', isRepeated: true,
  });
  for (const code of await Promise.all(hosts.map(({ stop }) => stop()))) {
    if (code === 0) continue;
    console.log(`FAILED a host of nodes ended with ${code}`);
    total.failed += 1;
  }
}
if (secondTries.length > 0) {
  console.log(`${secondTries.length} ${secondTries.length === 1 ? 'file' : 'files'} needed a second try:`);
  for (const line of secondTries) console.log(`  ${line}`);
}
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped === 0 ? '' : `, ${total.skipped} skipped`}`);
process.exitCode = total.failed === 0 ? 0 : 1;
