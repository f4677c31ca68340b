/**
 * What the embedded engine does not do by itself to keep its acknowledged rows over a power cut; its settings are in
 * engine-config.ts.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../files/sync-directory.ts';

/**
 * A directory that was changed this long before it was synchronised has nothing newer in it: clocks of file systems go in
 * steps of some milliseconds.
 */
const SETTLED_MS = 1_000;

/**
 * The engine synchronises files and the directories of parts, but not the directories in which it makes tables and names
 * mutations: a DELETE that was begun would be forgotten.
 */
export class EngineDirectories {
  readonly #root: string;
  /** By path, when the directory was last changed before it was synchronised, in ms. */
  #synced = new Map<string, number>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Resolves when every name that the engine has given is on disk; directories that have not changed since are passed over. */
  async sync(): Promise<void> {
    const metadata = join(this.#root, 'metadata');
    const store = join(this.#root, 'store');
    const paths = [this.#root, metadata, ...subdirectories(metadata), store];
    for (const prefix of subdirectories(store)) paths.push(prefix, ...subdirectories(prefix));
    const synced = new Map<string, number>();
    for (const path of paths) {
      const changedMs = await this.#syncOne(path);
      if (changedMs !== undefined) synced.set(path, changedMs);
    }
    this.#synced = synced;
  }

  /** @returns when it was changed; undefined where it is missing, or was changed so lately that it is to be synchronised again. */
  async #syncOne(path: string): Promise<number | undefined> {
    try {
      // In this thread: it is in memory, and handing it to another costs ten times as much.
      const { mtimeMs } = statSync(path);
      if (this.#synced.get(path) === mtimeMs) return mtimeMs;
      const isSettled = mtimeMs < Date.now() - SETTLED_MS;
      await syncDirectory(path);
      return isSettled ? mtimeMs : undefined;
    } catch (error) {
      passMissing(error);
      return undefined;
    }
  }
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

function subdirectories(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch (error) {
    passMissing(error);
    return [];
  }
}

/** A table that was dropped meanwhile. */
function passMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
