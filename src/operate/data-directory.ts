/**
 * Makes the data directory, and those of its copies, readable by their owner only: they hold password hashes and all
 * data.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../store/files/sync-directory.ts';

export const PRIVATE_DIRECTORY_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;

/**
 * @param path absolute. @returns nothing; a directory that is there stays as it is. @throws Error that names the
 * directory and the reason.
 */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await makePrivateDirectory(path);
  } catch (error) {
    throw new Error(
      `the data directory ${path} cannot be made (${(error as Error).message}); choose another with --data`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Parents that are missing are made too, one by one: Node's recursive mkdir tries for ever where nothing can be made,
 * as under /proc.
 * @param path absolute. @returns nothing; a directory that is there stays as it is. @throws the file system's error, or
 * Error.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  const isThere = await stat(path).then(
    (found) => {
      if (!found.isDirectory()) throw new Error(`${path} is not a directory`);
      return true;
    },
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (isThere) return;
  await makePrivateDirectory(dirname(path));
  await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE });
  // A parent that may be entered and not read cannot be synchronised; the file system writes it after some seconds.
  await syncDirectory(dirname(path)).catch(passUnreadable);
}

function passUnreadable(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
}
