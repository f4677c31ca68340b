/**
 * Files that hold the bodies of inserts while the engine reads them. Data never reaches the engine inside a statement:
 * the engine cuts inline data at the first empty line and runs the rest as SQL.
 */
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { startOf } from './orphan.ts';

const MEMORY_FILE_SYSTEM = '/dev/shm';
/** A body goes to memory only when this many times its size is free there. */
const FREE_FACTOR = 2;
/** In the directory in memory: the process that uses it. */
const OWNER_NAME = 'owner';
/** A directory that names no process is removed when nothing was written to it for this long. */
const UNOWNED_MS = 24 * 3_600_000;

export class Spool {
  readonly #memory: string | undefined;
  readonly #disk: string;
  #nextNumber = 0;

  /**
   * Removes what a former process left behind, so open the engine first: its lock shows that no other process is at
   * work.
   * @param directory the data directory
   */
  constructor(directory: string) {
    this.#disk = join(resolve(directory), 'millrace-spool');
    rmSync(this.#disk, { recursive: true, force: true });
    mkdirSync(this.#disk, { mode: 0o700 });
    this.#memory = makeMemoryDirectory(directory);
  }

  /** Writes a body; the caller must `remove` the path that is returned. */
  async write(body: Uint8Array): Promise<string> {
    const name = String(this.#nextNumber++);
    if (this.#memory !== undefined && hasRoom(this.#memory, body.length)) {
      const path = join(this.#memory, name);
      try {
        await writeFile(path, body, { mode: 0o600 });
        return path;
      } catch {
        // The file system filled up since it was asked; the disk has the better error if it is full as well.
        await this.remove(path);
      }
    }
    const path = join(this.#disk, name);
    await writeFile(path, body, { mode: 0o600 });
    return path;
  }

  async remove(path: string): Promise<void> {
    // A file that is gone is what we want; one that cannot be removed goes at the next start.
    await unlink(path).catch(() => undefined);
  }

  close(): void {
    if (this.#memory !== undefined) rmSync(this.#memory, { recursive: true, force: true });
    rmSync(this.#disk, { recursive: true, force: true });
  }
}

/**
 * One private directory per user and data directory; undefined when it cannot be made or another user has the name.
 */
function makeMemoryDirectory(directory: string): string | undefined {
  const digest = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16);
  const path = join(MEMORY_FILE_SYSTEM, namePrefix() + digest);
  try {
    removeForsaken(MEMORY_FILE_SYSTEM);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { mode: 0o700 });
    writeFileSync(join(path, OWNER_NAME), ownerText(process.pid), { mode: 0o600, flag: 'wx' });
    return path;
  } catch {
    return undefined;
  }
}

const namePrefix = (): string => `millrace-${process.getuid?.() ?? 0}-`;

/** Process, its start (a number is given to another process later), and the namespace in which the number means it. */
const ownerText = (pid: number): string => `${pid} ${startOf(pid)} ${readlinkSync('/proc/self/ns/pid')}\n`;

/**
 * Removes this user's directories of processes that were killed: memory that would stay in use. Those of other
 * containers that share the file system are left alone.
 * @param now milliseconds since 1970.
 */
export function removeForsaken(fileSystem: string, now = Date.now()): void {
  for (const name of readdirSync(fileSystem)) {
    if (!name.startsWith(namePrefix())) continue;
    const path = join(fileSystem, name);
    try {
      if (isForsaken(path, now)) rmSync(path, { recursive: true, force: true });
    } catch (error) {
      // Its own process, or another one like this, was faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

function isForsaken(path: string, now: number): boolean {
  let owner: string;
  try {
    owner = readFileSync(join(path, OWNER_NAME), 'utf8');
  } catch {
    return now - statSync(path).mtimeMs > UNOWNED_MS;
  }
  const [pid, start, namespace] = owner.trim().split(' ');
  return namespace === readlinkSync('/proc/self/ns/pid') && String(startOf(Number(pid))) !== start;
}

/** False also when the directory was removed: the disk is there. */
function hasRoom(path: string, sizeBytes: number): boolean {
  try {
    const status = statfsSync(path);
    return status.bavail * status.bsize > sizeBytes * FREE_FACTOR;
  } catch {
    return false;
  }
}
