/**
 * The engine's process that a killed server has left behind: it ends by itself, but not while a statement runs, and
 * until then no other process can open its data directory. It is killed; nothing that an insert acknowledged is lost by
 * that.
 */
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Log } from '../../ports/log.ts';

/** First argument of each engine's process, by which it is known; its settings, with the directory, are the second. */
export const ENGINE_MARK = 'embedded-clickhouse';

/**
 * Long: a busy machine frees the memory of a killed process late, and the next engine does not start while the files
 * are locked.
 */
const END_LIMIT_MS = 60_000;
const CHECK_MS = 10;

/** Beside the data directory: the process that has it, and the server that started that. */
const ownerPath = (directory: string): string => `${directory}.pid`;

export function rememberOwner(directory: string, pid: number): void {
  writeFileSync(ownerPath(directory), `${pid} ${process.pid} ${startOf(process.pid)}\n`);
}

export function forgetOwner(directory: string): void {
  rmSync(ownerPath(directory), { force: true });
}

/** Ends the engine of a server that is gone. Does nothing where processes cannot be recognised (without /proc). */
export async function endOrphan(directory: string, log: Pick<Log, 'warn'>): Promise<void> {
  const [pid, serverPid, serverStart] = read(ownerPath(directory)).split(' ').map(Number);
  // The number alone says nothing: in a container a server has that of the one before it.
  if (!pid || !serverPid || startOf(serverPid) === serverStart || !isEngine(pid, directory)) return;
  log.warn({ pid }, 'embedded ClickHouse of a server that was killed still runs: killing it');
  const start = startOf(pid);
  process.kill(pid, 'SIGKILL');
  for (const endMs = Date.now() + END_LIMIT_MS; startOf(pid) === start && holdsFiles(pid) && Date.now() < endMs; ) {
    await new Promise((resolve) => {
      setTimeout(resolve, CHECK_MS);
    });
  }
}

/**
 * Whether a process that was killed may still have files open, and locks on them: they are closed after its memory is
 * gone (with it the command line), by the last of its threads; the first thread is a zombie before that.
 */
function holdsFiles(pid: number): boolean {
  return !/^[ZX]$/.test(fieldsOf(pid)[0] ?? 'X') || threadsOf(pid) > 1;
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}

function isEngine(pid: number, directory: string): boolean {
  const command = read(`/proc/${pid}/cmdline`);
  return command.includes(ENGINE_MARK) && command.includes(JSON.stringify(directory));
}

/** When a process started, in clock ticks since the machine did; 0 when there is none. */
export function startOf(pid: number): number {
  return Number(fieldsOf(pid)[19] ?? 0);
}

/**
 * Of /proc/<pid>/stat from the third, the state, on; none without a process. The second, the name, may hold
 * spaces and ends with the last parenthesis.
 */
function fieldsOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
