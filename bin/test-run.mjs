/** Runs built test files, prints what came of each, and counts. All that they said is in `.tap/last-run.tap`. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledTestPath, root } from './setup.mjs';
import { TapCount } from './tap/count.mjs';

/**
 * For a whole file, the only limit of its tests but for deadlines of conditions; long, because four files run at the
 * same time on slow machines.
 */
const FILE_SECONDS = 900;
/** For a file to end by itself, behind its time. */
const GRACE_MS = 30_000;
/** What the helpers say when they skip; see test/helpers/tools.ts. */
const MISSING_PROGRAM = /is not installed/;
/** Files that share a process leave garbage behind: with more of it the next ones get a new process. */
const TOGETHER_MB_MAX = 1_000;
const INDENT = '    ';
/** Files that wait for clocks of HTTP libraries, and take hardly any CPU time meanwhile. */
const WAITING_FILES = ['api/http/slow-readers', 'api/http/request-smuggling', 'api/http/http-wrapper'].map(
  (name) => `test/${name}.test.ts`,
);
/**
 * Functions are optimized later than V8 would: most of a test's run so few times that compiling them took a sixth of
 * all CPU time. Node 20 has the option, 24 has not.
 */
const LATER = '--interrupt-budget=1000000';
/** V8 takes four threads beside each process, whatever there is: with one a run takes an eighth less CPU time. */
const ONE_HELPER = '--v8-pool-size=1';
/** What was compiled stays: files that share a process come back to it. */
const KEPT = '--no-flush-bytecode';
/** Garbage is collected by the thread that waits for it, and young objects have room to die before: some 10 % less. */
const COLLECTION = ['--single-threaded-gc', '--min-semi-space-size=64', '--max-semi-space-size=64'];
/** By interpreter. */
const optionsOf = new Map();

/** @param node path of the interpreter. @returns its options for tests, and for the nodes that they share. */
export function optionsFor(node) {
  if (!optionsOf.has(node)) {
    const hasLater = spawnSync(node, [LATER, '-e', '0'], { stdio: 'ignore' }).status === 0;
    // Places in messages are those of the sources.
    optionsOf.set(node, ['--enable-source-maps', ONE_HELPER, KEPT, ...COLLECTION, ...(hasLater ? [LATER] : [])]);
  }
  return optionsOf.get(node);
}

/** Those that take longest: what ends last shall be short. */
const EARLY_FILES = [
  'cluster/faults',
  'cluster/large-groups',
  'cluster/projector',
  'ingest/projector',
  'api/http/cut-requests',
  'api/openapi/openapi',
  'api/openapi/openapi-linter',
  // These wait, too.
  'api/http/http-engine',
  'store/nats/follower',
].map((name) => `test/${name}.test.ts`);
/** What is named here and may have got another name. */
export const namedFiles = [...WAITING_FILES, ...EARLY_FILES];
/** Of each failed file, said again at the end: where only the end of what was printed is kept, it tells enough. */
const AGAIN_LINES_MAX = 20;

/** Of the CPU times in /proc, on every Linux that Node runs on. */
const MS_OF_TICK = 10;
/** Places of `cutime` and `cstime` in /proc/self/stat behind the name of the program. */
const CHILDREN_TIMES = [13, 14];

/** @returns ms of CPU time of ended children, with what they waited for themselves; undefined where /proc is absent. */
export function childrenCpuMs() {
  try {
    const text = readFileSync('/proc/self/stat', 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return CHILDREN_TIMES.reduce((sum, index) => sum + Number(fields[index]) * MS_OF_TICK, 0);
  } catch {
    // Not Linux.
    return undefined;
  }
}

export const TURNS = 4;

/** The commit says whose turn it is, so that a run can be repeated. MILLRACE_TEST_TURN=0 to 3 chooses. */
function turnOf() {
  const chosen = Number(process.env.MILLRACE_TEST_TURN ?? Number.NaN);
  if (Number.isInteger(chosen) && chosen >= 0 && chosen < TURNS) return chosen;
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    return Number.parseInt(commit.toString().slice(0, 4), 16) % TURNS;
  } catch {
    return 0; // Not a clone, or no git.
  }
}

export const turn = turnOf();
const isCi = process.env.CI === 'true';
export const isOnly = process.argv.includes('--only');
const environment = {
  ...process.env,
  TAP: '1',
  TAP_TIMEOUT: String(FILE_SECONDS),
  ...(isOnly ? { TAP_ONLY: '1' } : {}),
  // As test/helpers/rounds.ts reads them.
  MILLRACE_TEST_TURN: String(turn),
  ...(process.argv.includes('--everywhere') ? { MILLRACE_TEST_ROUNDS: 'many' } : {}),
};

/** The lines of failed points, with their diagnostics. */
function failedLines(lines) {
  const found = [];
  let diagnosticIndent = -1;
  let isFailure = false;
  for (const line of lines) {
    const indent = line.length - line.trimStart().length;
    if (diagnosticIndent >= 0) {
      if (isFailure) found.push(line);
      if (line.trim() === '...' && indent === diagnosticIndent) diagnosticIndent = -1;
    } else if (line.trim() === '---') {
      diagnosticIndent = indent;
      if (isFailure) found.push(line);
    } else {
      isFailure = line.trimStart().startsWith('not ok') && !/# TODO/i.test(line);
      if (isFailure) found.push(line);
    }
  }
  return found;
}

export class TestRun {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** What failed, for the end. */
  #failures = [];
  #report;
  #children = new Set();
  /** Of all children that have ended. */
  #seenCpuMs = 0;

  constructor() {
    mkdirSync(join(root, '.tap'), { recursive: true });
    this.#report = createWriteStream(join(root, '.tap', 'last-run.tap'));
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.on(signal, () => {
        for (const child of this.#children) child.kill(signal);
        console.log(`ended by ${signal}`);
        process.exit(1);
      });
    }
  }

  /** Something beside test files, which counts as one. */
  step(name, isGood) {
    this[isGood ? 'passed' : 'failed'] += 1;
    console.log(`${isGood ? 'ok    ' : 'FAILED'} ${name}`);
  }

  /** What cannot be run; on CI that is a failure. @param isMissing something that CI has is not there. */
  skip(name, reason, isMissing) {
    const isFailure = isCi && isMissing;
    this[isFailure ? 'failed' : 'skipped'] += 1;
    console.log(
      `${isFailure ? 'FAILED (skipped on CI)' : 'skipped'} ${name}: ${reason === '' ? 'no reason given' : reason}`,
    );
  }

  /**
   * Runs files, each in a process of its own, some at a time, in their order.
   * @param items `{file, title, hosts, node, env}`: what stands behind the name, of which hosts (`Hosts` of bin/test.mjs)
   * the file needs one, and the path of another Node.
   */
  async apart(items, jobs) {
    const queue = [...items];
    const work = async () => {
      for (;;) {
        const index = queue.findIndex(({ hosts }) => hosts === undefined || hosts.busy < hosts.count);
        if (index < 0) return;
        const [item] = queue.splice(index, 1);
        const { hosts } = item;
        if (hosts !== undefined) hosts.busy += 1;
        this.#show(item, await this.#runApart(item));
        if (hosts !== undefined) hosts.busy -= 1;
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
  }

  /**
   * Runs files that start no process in a few processes (tap/together.mjs), and those that mostly wait in one more.
   * @param onPassed called with each file of which nothing failed, and nothing was skipped for a missing program.
   */
  async together(files, processes, onPassed = () => undefined) {
    const waiting = WAITING_FILES.filter((name) => files.includes(name));
    const early = EARLY_FILES.filter((name) => files.includes(name));
    const queue = [...early, ...files.filter((name) => !early.includes(name) && !waiting.includes(name))];
    const show = (file, result) => {
      if (this.#show({ file }, result)) onPassed(file);
    };
    const work = async (names) => {
      while (names.length > 0) await this.#runTogether(names, show);
    };
    await Promise.all([work(waiting), ...Array.from({ length: Math.min(processes, queue.length) }, () => work(queue))]);
  }

  /** Ends the run with its one line. */
  finish() {
    this.#report.end();
    for (const text of this.#failures) console.log(text);
    console.log(`${this.passed} passed, ${this.failed} failed${this.skipped === 0 ? '' : `, ${this.skipped} skipped`}`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }

  #spawn(args, env, stdin, node = process.execPath) {
    this.#seenCpuMs = childrenCpuMs() ?? 0;
    const child = spawn(node, [...optionsFor(node), ...args], {
      cwd: root,
      env: { ...environment, ...env },
      stdio: [stdin, 'pipe', 'inherit'],
    });
    this.#children.add(child);
    // At once: what the next child took is not its own.
    child.once('exit', () => {
      const cpuMs = childrenCpuMs();
      if (cpuMs === undefined) return;
      child.cpuMs = cpuMs - this.#seenCpuMs;
      this.#seenCpuMs = cpuMs;
    });
    const ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? code}`));
    }).finally(() => this.#children.delete(child));
    return { child, ended };
  }

  /** @returns its lines, and what is wrong with how it ended. */
  async #runApart({ file, hosts, node, env: itsOwn }) {
    const startMs = performance.now();
    const took = () => performance.now() - startMs;
    let env;
    try {
      env = { ...itsOwn, ...(await hosts?.environment()) };
    } catch (error) {
      return { lines: [], failure: error.message, ms: took() };
    }
    const { child, ended } = this.#spawn([compiledTestPath(file)], env, 'ignore', node);
    const lines = [];
    let failure;
    let hasPlan = false;
    const timer = setTimeout(
      () => {
        failure = `did not end within ${Math.round(took() / 1_000)} s and was killed`;
        child.kill('SIGKILL');
      },
      FILE_SECONDS * 1_000 + GRACE_MS,
    );
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      hasPlan ||= /^1\.\.\d/.test(line);
    }
    failure ??= (await ended) ?? (hasPlan ? undefined : 'ended without a plan');
    clearTimeout(timer);
    return { lines, failure, ms: took(), cpuMs: child.cpuMs };
  }

  /** One process, until the queue is empty or a file ends it. */
  async #runTogether(queue, show) {
    const { child, ended: exit } = this.#spawn(['bin/tap/together.mjs', String(FILE_SECONDS)], {}, 'pipe');
    child.stdin.on('error', () => undefined);
    let file;
    /** As the file alone would have written them, and what tap says of it as a whole. */
    let lines = [];
    let outer = [];
    let startMs = 0;
    let failure;
    let timer;
    const next = (mb = 0) => {
      file = mb > TOGETHER_MB_MAX ? undefined : queue.shift();
      startMs = performance.now();
      clearTimeout(timer);
      const kill = () => {
        failure = file === undefined ? undefined : 'did not end in time, and was killed';
        child.kill('SIGKILL');
      };
      timer = setTimeout(kill, file === undefined ? GRACE_MS : FILE_SECONDS * 1_000 + GRACE_MS);
      if (file === undefined) child.stdin.end();
      else child.stdin.write(`${file}\n`);
    };
    const end = (why, cpuMs) => {
      show(file, { lines, failure: why, ms: performance.now() - startMs, cpuMs });
      lines = [];
      outer = [];
    };
    next();
    for await (const line of createInterface({ input: child.stdout })) {
      const ended = /^# ended (.*)$/.exec(line);
      if (ended !== null) {
        const { left, mb, cpuMs } = JSON.parse(ended[1]);
        const failed = outer.findIndex((one) => one.startsWith('not ok'));
        if (left.length > 0) end(`has left something open: ${left.join(', ')}`, cpuMs);
        else end(failed < 0 ? undefined : outer.slice(failed).join('\n'), cpuMs);
        next(mb);
      } else if (line.startsWith(INDENT)) lines.push(line.slice(INDENT.length));
      else outer.push(line);
    }
    const ending = await exit;
    clearTimeout(timer);
    if (file !== undefined) end(failure ?? `ended its process: ${ending ?? 'with 0'}`);
  }

  /** @returns true when nothing failed, and nothing that a program was missing for was skipped. */
  #show({ file, title = '' }, { lines, failure, ms, cpuMs }) {
    const count = new TapCount();
    for (const line of lines) count.line(line);
    if (failure !== undefined && count.failed === 0) {
      count.failed = 1;
      lines.push(`not ok - ${failure}`);
    }
    const skipsAll = count.passed + count.failed + count.skipped === 0;
    const reason = skipsAll
      ? (lines.map((line) => /^1\.\.0(?: # *(?:SKIP *)?(.*))?$/i.exec(line)).find((match) => match !== null)?.[1] ?? '')
      : '';
    const skips = skipsAll ? [{ name: file, reason }] : count.skips;
    const isGood = count.failed === 0;
    const ending = `${isGood ? 'ok' : 'not ok'} - ${file}${title} # time=${ms.toFixed(0)}ms`;
    this.#report.write([`# Subtest: ${file}${title}`, ...lines.map((line) => INDENT + line), ending, ''].join('\n'));
    if (!isGood) {
      const said = failedLines(lines).map((line) => INDENT + line);
      console.log(said.join('\n'));
      this.#failures.push([`failed: ${file}${title}`, ...said.slice(0, AGAIN_LINES_MAX)].join('\n'));
    }
    const numbers = [
      [count.passed, 'passed'],
      [count.failed, 'failed'],
      [skips.length, 'skipped'],
    ].filter(([number]) => number > 0);
    console.log(
      `${isGood ? 'ok    ' : 'FAILED'} ${file}${title}  ${numbers.map((part) => part.join(' ')).join(', ')}  ${(ms / 1_000).toFixed(1)} s${cpuMs === undefined ? '' : ` (CPU ${(cpuMs / 1_000).toFixed(1)} s)`}`,
    );
    this.passed += count.passed;
    this.failed += count.failed;
    for (const skip of skips) this.skip(skip.name, skip.reason, MISSING_PROGRAM.test(skip.reason));
    return isGood && !skips.some(({ reason }) => MISSING_PROGRAM.test(reason));
  }
}
