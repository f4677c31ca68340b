/**
 * Backup of a running server: a consistent copy of documents, journal and history, while devices go on publishing. And
 * the copy of a backup beside the data, which the server starts on when it has stopped.
 */
import { UNATTRIBUTED } from '../../ports/refusals.ts';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { copyDirectory, copyMissing, copySynchronised, makeBackup, sealDirectory, VOLATILE_NAMES } from './files.ts';
import { checkBackup, stageRestore } from './restore-files.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { LmdbEnvironment } from '../../store/lmdb/environment.ts';
import { DOCUMENTS_DIRECTORY, PRIVATE_DIRECTORY_MODE } from '../data-directory.ts';

export const CLICKHOUSE_DIRECTORY = 'clickhouse';
/** What was set aside; only ever grows. */
export const QUARANTINE_NAME = 'quarantine.jsonl';
/** Content never changes: what is missing in the copy is copied. */
export const BLOBS_DIRECTORY = 'blobs';

/** One at a time: a second one would find the engine stopped, and start it under the first. */
export const UNDER_WAY_LIMIT = 'backup/under-way';

export interface RunningBackupsOptions {
  readonly data: string;
  /** Of the program, for the manifest. */
  readonly version: string;
  readonly environment: { readonly root: Pick<LmdbEnvironment['root'], 'backup'> };
  /** The history engine. */
  readonly engine: { start(): Promise<unknown>; stop(): Promise<void> };
  readonly refusals: Refusals;
  readonly log: Log;
  /** What a copy beside the data must leave of the disk. */
  readonly freeBytesMin: number;
}

export class RunningBackups {
  readonly #options: RunningBackupsOptions;
  /** What is being made. */
  #underWay: string | undefined;
  /** A copy waits for the stop: nothing else may come between. */
  #isStaged = false;
  #isEngineStopped = false;

  constructor(options: RunningBackupsOptions) {
    this.#options = options;
  }

  /** The history engine stands still for a copy of its files, and is started again behind it. */
  get isEngineStopped(): boolean {
    return this.#isEngineStopped;
  }

  /**
   * @param to a directory that is empty or absent. @throws Error when a backup is under way, or it cannot be made; then
   * nothing is left of it.
   */
  make(to: string): Promise<{ bytes: number; files: number }> {
    return this.#oneAtATime(`a backup to ${to}`, () => makeBackup(to, this.#options.version, () => this.#copy(to)));
  }

  /**
   * @param from a backup, absolute. @throws Error when another is under way, or the backup is not whole; then nothing
   * is left of the copy.
   */
  stage(from: string): Promise<{ bytes: number; files: number; time: string }> {
    return this.#oneAtATime(`a restore of ${from}`, async () => {
      const manifest = await checkBackup(from);
      const bytes = await stageRestore(this.#options.data, from, manifest, this.#options.freeBytesMin);
      this.#isStaged = true;
      return { bytes, files: manifest.files.length, time: manifest.time };
    });
  }

  async #oneAtATime<Made extends { readonly bytes: number; readonly files: number }>(
    what: string,
    run: () => Promise<Made>,
  ): Promise<Made> {
    if (this.#isStaged) throw new Error('the server stops to start on a restored backup: try again then');
    if (this.#underWay !== undefined) {
      this.#options.refusals.count(UNDER_WAY_LIMIT, UNATTRIBUTED);
      throw new Error(`${this.#underWay} is under way, and one is made at a time: try again when it is done`);
    }
    this.#underWay = what;
    const { log } = this.#options;
    const startMs = performance.now();
    log.info({}, `${what} begins`);
    try {
      const made = await run();
      const durationMs = Math.round(performance.now() - startMs);
      log.info({ files: made.files, bytes: made.bytes, durationMs }, `${what} is complete`);
      return made;
    } catch (error) {
      log.warn({ error: (error as Error).message }, `${what} failed; nothing is left of it`);
      throw error;
    } finally {
      this.#underWay = undefined;
    }
  }

  /**
   * Stops the history engine (queries are answered with 503 meanwhile, ingestion goes on into the journal), copies its
   * directory, then the documents: the journal in
   * them holds all that the copied history does not have yet. The engine starts again in any case. Content is copied
   * before the documents, which may refer to what is deleted meanwhile, and again behind them, for they may refer to
   * what is new. The quarantine comes behind the documents: what they have passed over must be in it.
   */
  async #copy(to: string): Promise<void> {
    const { data, environment, engine } = this.#options;
    const copyBlobs = (): Promise<void> => copyMissing(join(data, BLOBS_DIRECTORY), join(to, BLOBS_DIRECTORY));
    const documents = join(to, DOCUMENTS_DIRECTORY);
    this.#isEngineStopped = true;
    try {
      await engine.stop();
      try {
        await copyDirectory(data, to, [...VOLATILE_NAMES, DOCUMENTS_DIRECTORY, BLOBS_DIRECTORY, QUARANTINE_NAME]);
        await copyBlobs();
        await mkdir(documents, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
        await environment.root.backup(documents, true);
      } finally {
        await engine.start();
      }
    } finally {
      this.#isEngineStopped = false;
    }
    await sealDirectory(documents);
    await copyBlobs();
    if (existsSync(join(data, QUARANTINE_NAME)))
      await copySynchronised(join(data, QUARANTINE_NAME), join(to, QUARANTINE_NAME));
  }
}
