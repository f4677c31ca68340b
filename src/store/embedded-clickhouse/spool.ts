/**
 * Files that hold the bodies of inserts while the engine reads them. Data never reaches the engine inside a statement: the
 * engine cuts inline data at the first empty line and runs the rest as SQL.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, statfsSync } from 'node:fs';
import { unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const MEMORY_FILE_SYSTEM = '/dev/shm';
/** A body goes to memory only when this many times its size is free there. */
const FREE_FACTOR = 2;

export class Spool {
  readonly #memory: string | undefined;
  readonly #disk: string;
  #nextNumber = 0;

  /**
   * Removes what a former process left behind, so open the engine first: its lock shows that no other process is at work.
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

/** One private directory per user and data directory; undefined when it cannot be made or somebody else has the name. */
function makeMemoryDirectory(directory: string): string | undefined {
  const digest = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16);
  const path = join(MEMORY_FILE_SYSTEM, `millrace-${process.getuid?.() ?? 0}-${digest}`);
  try {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { mode: 0o700 });
    return path;
  } catch {
    return undefined;
  }
}

function hasRoom(path: string, sizeBytes: number): boolean {
  const status = statfsSync(path);
  return status.bavail * status.bsize > sizeBytes * FREE_FACTOR;
}
