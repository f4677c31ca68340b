/** Backup of a running server: a consistent copy of documents, journal and history, while devices go on publishing. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { copyDirectory, copyMissing, copySynchronised, isEmptyOrAbsent, synchronise, VOLATILE_NAMES, writeManifest } from '../cli/backup-files.ts';
import type { LmdbEnvironment } from '../store/lmdb-environment.ts';
import type { EmbeddedClickHouse } from '../store/embedded-clickhouse/supervisor.ts';

/** Directories of the data directory that are copied by means of their own. */
export const DOCUMENTS_DIRECTORY = 'documents';
export const CLICKHOUSE_DIRECTORY = 'clickhouse';
/** What was set aside; only ever grows. */
export const QUARANTINE_NAME = 'quarantine.jsonl';
/** Content never changes: what is missing in the copy is copied. */
export const BLOBS_DIRECTORY = 'blobs';

/**
 * Stops the history engine (queries are answered with 503 meanwhile, ingestion goes on into the journal), copies its
 * directory, then the documents: the journal in
 * them holds all that the copied history does not have yet. The engine starts again in any case. Content is copied before the documents, which
 * may refer to what is deleted meanwhile, and again behind them, for they may refer to what is new. The quarantine comes behind the documents:
 * what they have passed over must be in it.
 */
export async function backupRunning(options: { data: string; to: string; version: string; environment: LmdbEnvironment;
  engine: EmbeddedClickHouse }): Promise<{ bytes: number; files: number }> {
  const { data, to, environment, engine } = options;
  if (!await isEmptyOrAbsent(to)) throw new Error(`the directory ${to} is not empty; a backup takes an empty or absent one`);
  await mkdir(to, { recursive: true });
  await engine.stop();
  const copyBlobs = (): Promise<void> => copyMissing(join(data, BLOBS_DIRECTORY), join(to, BLOBS_DIRECTORY));
  try {
    await copyDirectory(data, to, [...VOLATILE_NAMES, DOCUMENTS_DIRECTORY, BLOBS_DIRECTORY, QUARANTINE_NAME]);
    await copyBlobs();
    await mkdir(join(to, DOCUMENTS_DIRECTORY), { recursive: true });
    await environment.root.backup(join(to, DOCUMENTS_DIRECTORY), true);
  } finally {
    await engine.start();
  }
  await copyBlobs();
  if (existsSync(join(data, QUARANTINE_NAME))) await copySynchronised(join(data, QUARANTINE_NAME), join(to, QUARANTINE_NAME));
  await synchronise(to);
  const manifest = await writeManifest(to, { version: options.version, timeMs: Date.now(), checksums: true });
  return { bytes: manifest.files.reduce((sum, file) => sum + file.sizeBytes, 0), files: manifest.files.length };
}
