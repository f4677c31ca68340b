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
  writeFileSync(ownerPath(directory), `${pid} ${process.pid}\n`);
}

export function forgetOwner(directory: string): void {
  rmSync(ownerPath(directory), { force: true });
}

/** Ends the engine of a server that is gone. Does nothing where processes cannot be recognised (without /proc). */
export async function endOrphan(directory: string, log: Log): Promise<void> {
  const [pid, serverPid] = read(ownerPath(directory)).split(' ').map(Number);
  // In a container a server may have the number of the one before it.
  if (!pid || !serverPid || (serverPid !== process.pid && isAlive(serverPid)) || !isEngine(pid, directory)) return;
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
