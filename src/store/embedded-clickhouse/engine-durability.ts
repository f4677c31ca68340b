/**
 * What the embedded engine does not do by itself to keep its acknowledged rows over a power cut; its settings are in
 * engine-config.ts.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../files/sync-directory.ts';

/**
 * Resolves when every name that the engine has given is on disk. The engine synchronises files and the directories of
 * parts, but not the directories in which it makes tables and names mutations: a DELETE that was begun would be
 * forgotten.
 */
export async function syncEngineDirectories(directory: string): Promise<void> {
  const metadata = join(directory, 'metadata');
  const store = join(directory, 'store');
  const paths = [directory, metadata, ...(await subdirectories(metadata)), store];
  for (const prefix of await subdirectories(store)) paths.push(prefix, ...(await subdirectories(prefix)));
  for (const path of paths) await syncDirectory(path).catch(passMissing);
}

/** Directories of tables, so that a part's name is on disk before its insert is acknowledged. */
export class TableDirectories {
  readonly #find: (table: string, database: string) => Promise<string>;
  readonly #known = new Map<string, string>();

  /** @param find the directory of a table now. */
  constructor(find: (table: string, database: string) => Promise<string>) {
    this.#find = find;
  }

  /** Resolves when the names of the table's parts are on disk. @param table as a statement names it. */
  async sync(table: string, database: string): Promise<void> {
    const key = `${database} ${table}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      try {
        await syncDirectory(known);
        return;
      } catch (error) {
        // Dropped and made anew, elsewhere.
        passMissing(error);
      }
    }
    const path = await this.#find(table, database);
    await syncDirectory(path);
    this.#known.set(key, path);
  }
}

async function subdirectories(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    passMissing(error);
    return [];
  });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
}

/** A table that was dropped meanwhile. */
function passMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
