/**
 * Makes the data directory, and those of its copies, readable by their owner only: they hold password hashes and all
 * data.
 */
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../store/files/sync-directory.ts';

/** In the data directory: journal and state. */
export const DOCUMENTS_DIRECTORY = 'documents';
/** What a volume's file system puts into an empty one. */
export const VOLUME_NAME = 'lost+found';
export const PRIVATE_DIRECTORY_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;
/** For the umask of a server: its files and directories are for its user only. */
export const PRIVATE_UMASK = 0o077;
const OTHERS = 0o007;
const ALL_BITS = 0o7777;

/**
 * One that is there, as volumes and units of systemd have it, is closed to other users where it is empty or has data of a
 * server: its group stays as the operator has set it. Any other directory stays as it is: it may be shared, like /tmp.
 * @param path absolute. @throws Error that names the directory and the reason.
 */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await makePrivateDirectory(path);
    await closeToOthers(path);
  } catch (error) {
    throw new Error(
      `the data directory ${path} cannot be made (${(error as Error).message}); choose another with --data`,
      {
        cause: error,
      },
    );
  }
}

async function closeToOthers(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return;
  const names = await readdir(path);
  if (names.some((name) => name !== VOLUME_NAME) && !names.includes(DOCUMENTS_DIRECTORY)) return;
  await chmod(path, mode & ~OTHERS & ALL_BITS).catch((error: NodeJS.ErrnoException) => {
    // Of another owner, or a file system without modes: what the server makes in it is private by its umask.
    if (error.code !== 'EPERM' && error.code !== 'ENOTSUP') throw error;
  });
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
