/** Runs the built command line as a process, the way a person does. `npm test` builds before it runs the tests. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './root.ts';
import { PATIENCE } from './until.ts';

export { scratchDirectory, until } from './until.ts';

export const COMMAND = join(ROOT, 'bin', 'millrace.mjs');

const RUN_TIMEOUT_MS = 60_000 * PATIENCE;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  output(): { stdout: string; stderr: string };
}

/** Passwords are hashed as cheaply as the server lets them be: tests log in thousands of times. */
const CHEAP_PASSWORDS = { MILLRACE_PASSWORD_COST: '14' };

/** Past it a server that stops in order ends with 1: the default takes a machine that is not busy. */
const SHUTDOWN_TIMEOUT_MS = 4_500 * PATIENCE;

/** The environment without what the caller's shell or CI sets for Millrace, tap or the interpreter. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  // A run of the tests may be about one of the HTTP engines.
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(MILLRACE_(?!HTTP_ENGINE$)|TAP|_TAPJS|NODE_OPTIONS$)/.test(name),
  );
  // Tests look into servers without a login.
  return {
    ...Object.fromEntries(kept),
    ...CHEAP_PASSWORDS,
    MILLRACE_METRICS_ACCESS: 'everyone',
    MILLRACE_SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_TIMEOUT_MS),
    ...extra,
  };
}

/** Starts `node <script> <args>`. */
export function start(script: string, args: readonly string[], environment: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [script, ...args], {
    env: cleanEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      done({ code, signal, ...output });
    });
  });
  return { child, ended, output: () => ({ ...output }) };
}

/** Runs `millrace <args>` to its end. */
export function millrace(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  return start(COMMAND, args, environment).ended;
}
