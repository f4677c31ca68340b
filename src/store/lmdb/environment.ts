/** The LMDB environment of one data directory: journal and documents share it, so that one commit can cover both. */
import { open } from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';

export interface LmdbEnvironment {
  readonly root: RootDatabase;
  readonly journal: Database<Buffer, number>;
  readonly documents: Database<string, string>;
  close(): Promise<void>;
}

/** Keys are at most 1,978 bytes in LMDB; longer ids are refused before they get here. */
export const KEY_BYTES_MAX = 1_900;

/**
 * Opens or creates the environment in `path`.
 * @param options.mapSizeBytes address space that the file may grow to; more is mapped when needed.
 */
export function openLmdb(path: string, options: { mapSizeBytes?: number } = {}): LmdbEnvironment {
  const root = open({
    path,
    maxDbs: 4,
    noSubdir: false,
    overlappingSync: false,
    commitDelay: 0,
    eventTurnBatching: true,
    ...(options.mapSizeBytes === undefined ? {} : { mapSize: options.mapSizeBytes }),
  });
  const journal = root.openDB<Buffer, number>({ name: 'journal', encoding: 'binary', keyEncoding: 'ordered-binary' });
  const documents = root.openDB<string, string>({
    name: 'documents',
    encoding: 'string',
    keyEncoding: 'ordered-binary',
  });
  return {
    root,
    journal,
    documents,
    async close() {
      await root.flushed;
      await root.close();
    },
  };
}
