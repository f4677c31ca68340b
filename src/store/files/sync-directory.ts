/**
 * Directory entries survive a power cut once their directory is synchronised: a synchronised file may still have no
 * name after it.
 */
import { open } from 'node:fs/promises';

/** Resolves when the names in the directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
