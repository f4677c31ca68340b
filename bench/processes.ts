/**
 * Starts and ends the processes of a run. Each gets a core, a descriptor limit and a process group of its own; whatever
 * happens to the suite, the groups it started are ended, by their ids.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createServer, type AddressInfo } from 'node:net';

/** Descriptors wanted for each process; the hard limit of the machine may be lower. */
const DESCRIPTORS_WANTED = 20_000;
/** How long a process may take to end after SIGTERM before SIGKILL. */
const END_GRACE_MS = 6_000;

const running = new Set<ChildProcess>();

export interface StartOptions {
  command: string;
  args: readonly string[];
  /** As for `taskset -c`: `0`, `1`, `0,1`. */
  core: string;
  env?: NodeJS.ProcessEnv;
  /** Messages over Node's channel (generators and Node peers). */
  channel?: boolean;
  /** Output goes here; without it to the suite's stderr. */
  logFile?: string;
}

/** Starts a process, pinned; it is registered for the end before this returns. */
export function startProcess(options: StartOptions): ChildProcess {
  const line = [...prefix(options.core), options.command, ...options.args];
  const log = options.logFile === undefined ? ('inherit' as const) : openSync(options.logFile, 'a');
  const stdio: StdioOptions = ['ignore', log === 'inherit' ? 2 : log, log];
  if (options.channel === true) stdio.push('ipc');
  const child = spawn(line[0]!, line.slice(1), {
    stdio,
    detached: true,
    env: { ...process.env, ...options.env },
    serialization: 'json',
  });
  if (log !== 'inherit') closeSync(log);
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.once('error', (error) => {
    running.delete(child);
    process.stderr.write(`bench: cannot start ${line.join(' ')}: ${error.message}\n`);
  });
  return child;
}

/** Ends a process and its group: SIGTERM, then SIGKILL after the grace period. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) {
    signalGroup(child, 'SIGKILL');
    return;
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), END_GRACE_MS);
  await ended;
  clearTimeout(timer);
  signalGroup(child, 'SIGKILL');
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Makes every way out of the suite end what it started. */
export function endAllOnExit(): void {
  process.on('exit', () => {
    for (const child of running) signalGroup(child, 'SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
}

/** @returns a TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

/** Core of the servers and core of the generators: 0 and 1, or one for all on a machine with one core. */
export const SERVER_CORE = '0';
export const GENERATOR_CORE = availableParallelism() > 1 ? '1' : '0';

/** @returns the descriptors each started process may open. */
export function descriptorLimit(): number {
  const match = /^Max open files\s+\d+\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  const hard = match === null || match[1] === 'unlimited' ? DESCRIPTORS_WANTED : Number(match[1]);
  return Math.min(hard, DESCRIPTORS_WANTED);
}

function prefix(core: string): string[] {
  const words: string[] = [];
  // If the suite itself is killed, the kernel ends what it started.
  if (existsSync('/usr/bin/setpriv')) words.push('setpriv', '--pdeathsig', 'KILL');
  if (existsSync('/usr/bin/prlimit')) words.push('prlimit', `--nofile=${descriptorLimit()}:`);
  words.push('taskset', '-c', core);
  return words;
}

/** The child leads its process group: its own children (the database engine) are in it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // ESRCH: nothing of the group is left, which is what was wanted
  }
}
