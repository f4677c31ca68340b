/**
 * The engine's process that a killed server has left behind: it ends by itself, but not while a statement runs, and until then nobody else can
 * open its data directory. It is killed; nothing that an insert acknowledged is lost by that.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Log } from '../../model/log.ts';

const END_LIMIT_MS = 5_000;
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
  process.kill(pid, 'SIGKILL');
  for (const endMs = Date.now() + END_LIMIT_MS; isEngine(pid, directory) && Date.now() < endMs;) {
    await new Promise((resolve) => { setTimeout(resolve, CHECK_MS); });
  }
}

/** A process that has ended has no command line any more. */
function isEngine(pid: number, directory: string): boolean {
  const command = read(`/proc/${pid}/cmdline`);
  return command.includes('embedded-clickhouse') && command.includes(JSON.stringify(directory));
}

/** When a process started, in clock ticks since the machine did; 0 when there is none. */
export function startOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // Field 22; the second, the name, may hold spaces and ends with the last parenthesis.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 0);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
