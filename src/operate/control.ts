/**
 * Talks to a running server over the Unix socket in its data directory: one JSON line asked, one JSON line answered.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { CommandError } from './exit-codes.ts';

export const CONTROL_SOCKET_NAME = 'control.sock';

/** Holds the server's process id, as a number or as JSON with `pid`. */
export const LOCK_NAME = 'lock';

/** The largest answer that is read. */
const ANSWER_MAX_BYTES = 1024 * 1024;

/** Long enough for the largest backup; the server answers when it is done. */
const ANSWER_TIMEOUT_MS = 6 * 60 * 60 * 1000;

export interface ControlAnswer {
  readonly ok: boolean;
  readonly error?: string;
  readonly [key: string]: unknown;
}

/**
 * Sends one request to the server that runs on the data directory.
 * @returns its answer, or undefined when nothing listens there.
 * @throws CommandError when the server breaks off or answers without a JSON line.
 */
export function askServer(
  data: string,
  request: object,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<ControlAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: join(data, CONTROL_SOCKET_NAME) });
    let isOpen = false;
    let text = '';
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new CommandError(`the running server did not answer: ${reason}`));
    };
    socket.setEncoding('utf8').setTimeout(timeoutMs, () => fail(`no line within ${timeoutMs} ms`));
    socket.on('connect', () => {
      isOpen = true;
      socket.write(`${JSON.stringify(request)}\n`);
    });
    socket.on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0 && text.length > ANSWER_MAX_BYTES) fail(`its line is longer than ${ANSWER_MAX_BYTES} bytes`);
      if (end < 0) return;
      socket.destroy();
      try {
        resolve(JSON.parse(text.slice(0, end)) as ControlAnswer);
      } catch (error) {
        fail((error as Error).message);
      }
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (isOpen) fail(error.message);
      else if (['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR'].includes(error.code ?? '')) resolve(undefined);
      else reject(new CommandError(`the control socket in ${data} cannot be used: ${error.message}`));
    });
    socket.on('close', () => fail('it closed the connection'));
  });
}

/** True when a server accepts connections on the data directory's control socket. */
export async function isServerRunning(data: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: join(data, CONTROL_SOCKET_NAME) });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/**
 * The live process that the data directory's lock names, when there is one: it holds the directory without a control
 * socket.
 */
export function lockHolder(data: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(join(data, LOCK_NAME), 'utf8').trim();
  } catch {
    return undefined; /* no lock: no process holds it */
  }
  const match = /^(\d+)\b|"pid"\s*:\s*(\d+)/.exec(text);
  const pid = Number(match?.[1] ?? match?.[2] ?? 0);
  if (pid <= 0 || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : undefined;
  }
  // A zombie that has no other thread any more has let go of everything; who started it has not asked for its end yet.
  const state = processState(pid);
  if (state?.isZombie === true && state.threads <= 1) return undefined;
  try {
    // After a restart of the machine or container another program may have the number.
    return basename(readlinkSync(`/proc/${pid}/exe`)).startsWith('node') ? pid : undefined;
  } catch {
    return pid; /* no /proc or another user's process: a live process counts as the holder */
  }
}

/** From /proc; undefined where there is none, or no such process. */
function processState(pid: number): { isZombie: boolean; threads: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isZombie: fields[0] === 'Z' || fields[0] === 'X', threads: Number(fields[17]) };
  } catch {
    return undefined; /* not on this system, or gone */
  }
}

/** Whether the process was killed and is being torn down: it has no program any more, or SIGKILL waits for it. */
export function isEnding(pid: number): boolean {
  const state = processState(pid);
  if (state === undefined || state.isZombie) return state !== undefined;
  try {
    readlinkSync(`/proc/${pid}/exe`);
    const pending = /^SigPnd:\s*[0-9a-f]*([0-9a-f])[0-9a-f]{2}$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return pending !== null && (parseInt(pending[1], 16) & 1) === 1;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
