/** Makes the data directory: for nobody but its owner, since password hashes and all data lie in it. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Parents that are missing are made too, one by one: Node's recursive mkdir tries for ever where nothing can be made, as under /proc.
 * @param path absolute. @returns nothing; a directory that is there stays as it is. @throws Error that names the directory and the reason.
 */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await make(path);
  } catch (error) {
    throw new Error(`the data directory ${path} cannot be made: ${(error as Error).message}`, { cause: error });
  }
}

async function make(path: string): Promise<void> {
  const isThere = await stat(path).then((found) => {
    if (!found.isDirectory()) throw new Error(`${path} is not a directory`);
    return true;
  }, (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return false;
    throw error;
  });
  if (isThere) return;
  await make(dirname(path));
  await mkdir(path, { mode: 0o700 });
}
