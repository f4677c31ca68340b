/**
 * `<data>/lock`: one server uses a data directory at a time. Held from before anything is opened until everything is
 * closed.
 */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isEnding, isServerRunning, LOCK_NAME, lockHolder } from './control.ts';

/** How long a process that was killed may take to be gone: its memory is given back first. */
const ENDING_MS_MAX = 10_000;
/** How long it may take until it can be seen that a process was killed. */
const GRACE_MS = 250;
const LOOK_EVERY_MS = 50;

export class DataLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * @throws Error that names the process which holds the directory. A lock whose process is gone counts for nothing;
   * one that was killed is waited for.
   */
  static async take(data: string): Promise<DataLock> {
    const path = join(data, LOCK_NAME);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const holder = await holderOf(data);
      if (holder !== undefined || (await isServerRunning(data))) {
        throw new Error(
          `another server${holder === undefined ? '' : ` (process ${holder})`} uses the data directory ${data}; ` +
            'stop it, or choose another directory with --data',
        );
      }
      try {
        const file = await open(path, 'wx');
        await file.writeFile(`${process.pid}\n`);
        await file.close();
        return new DataLock(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
          throw new Error(
            `the data directory ${data} cannot be written to (${(error as Error).message}); choose another with --data`,
            { cause: error },
          );
        await rm(path, { force: true });
      }
    }
    throw new Error(`another server takes the data directory ${data} at this moment`);
  }

  async release(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

/** The process that holds the directory and goes on doing so. */
async function holderOf(data: string): Promise<number | undefined> {
  const sinceAt = performance.now();
  for (;;) {
    const holder = lockHolder(data);
    if (holder === undefined || performance.now() - sinceAt >= (isEnding(holder) ? ENDING_MS_MAX : GRACE_MS))
      return holder;
    await sleep(LOOK_EVERY_MS);
  }
}
