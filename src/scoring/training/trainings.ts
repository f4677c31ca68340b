/** Clustering models that are trained here (docs/spec/scoring.md#clustering). */
import { randomInt } from 'node:crypto';
import { SCORING_RECORDS } from '../../model/entities/scoring/model.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { Shares } from '../../pacing/shares.ts';
import { BlobTooLarge, type Blobs } from '../../ports/blobs.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { changeRecords, listRecords, readRecord } from '../../records/records.ts';
import type { ScoringPool } from '../../scoring-workers/pool.ts';
import { clusteringDocument } from '../../scoring-workers/training/clustering-document.ts';
import type { TrainedCluster } from '../../scoring-workers/training/clustering.ts';
import type { Asker } from '../asker.ts';
import { FILE_BYTES_MAX, SCORING_LIMIT, TRAININGS_AT_ONCE, TRAININGS_MAX } from '../limits.ts';
import type { RecordParts } from '../records.ts';
import type { Upload } from '../uploads.ts';

export interface StoredTraining {
  readonly modelName: string;
  readonly status: 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE';
  readonly errorMessage?: string;
  /** ms since 1970: one that is not over by then was interrupted. */
  readonly until: number;
  /** Its clusters as JSON. */
  readonly blob?: string;
  readonly bytes?: number;
}

export const TRAINING_PREFIX = 'training\n';
const trainingId = (name: string): string => `${TRAINING_PREFIX}${name}`;

/** Contents that the text of a training names. */
export const trainingBlobs = (value: string): string[] => {
  const { blob } = JSON.parse(value) as StoredTraining;
  return blob === undefined ? [] : [blob];
};

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Beside the time that the pool gives a training, for what is stored. */
const SPARE_MS = 60_000;
const INTERRUPTED = 'The server ended while the model was trained.';

export interface TrainingOptions {
  readonly pool: Pick<ScoringPool, 'run' | 'trainingMsMax'>;
  readonly blobs: Pick<Blobs, 'put' | 'read'>;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly isOnlyTenant?: () => boolean;
  /** Makes a PMML model of a document that is stored. */
  readonly deploy: (records: RecordParts, asker: Asker, upload: Upload) => Promise<unknown>;
}

export class Trainings {
  readonly #options: TrainingOptions;
  readonly #shares: Shares;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: TrainingOptions) {
    this.#options = options;
    this.#shares = new Shares(SCORING_LIMIT.TRAININGS_AT_ONCE, TRAININGS_AT_ONCE, options.isOnlyTenant);
  }

  /**
   * Begins to train, and returns the name of the model that is to come.
   *
   * @param read reads the body, when there is room for it @param autoDeploy whether the model is there as a PMML model when it succeeds
   * @throws PlatformError 400 for a body without series, 503 at a bound
   */
  async begin(
    records: RecordParts,
    asker: Asker,
    read: () => Promise<Uint8Array>,
    autoDeploy: boolean,
  ): Promise<string> {
    const { pool, refusals } = this.#options;
    const { tenant, user } = asker;
    const limit = this.#shares.take(tenant, user);
    if (limit !== undefined) {
      refusals.count(limit);
      throw refusedBy(limit);
    }
    try {
      const text = await read();
      const checked = await pool.run({ kind: 'series', text });
      if (checked.kind === 'refused')
        throw checked.reason === 'content'
          ? new PlatformError('scoring/invalid-json', {})
          : new PlatformError('scoring/invalid-training', { reason: checked.message });
      const modelName = newName(records.now());
      const started: StoredTraining = {
        modelName,
        status: 'IN_PROGRESS',
        until: records.now() + pool.trainingMsMax + SPARE_MS,
      };
      await this.#makeRoom(records, tenant);
      const value = JSON.stringify(started);
      await changeRecords(records, tenant, [
        { collection: SCORING_RECORDS, id: trainingId(modelName), expected: undefined, value },
      ]);
      const key = `${tenant}\n${modelName}`;
      const done = this.#train(records, { tenant, user }, started, value, text, autoDeploy).finally(() => {
        this.#running.delete(key);
        this.#shares.give(tenant, user);
      });
      this.#running.set(key, done);
      return modelName;
    } catch (error) {
      this.#shares.give(tenant, user);
      throw error;
    }
  }

  /** Resolves when what is under way is stored. */
  async stop(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** The oldest trainings that are over give way to a new one. */
  async #makeRoom(records: RecordParts, tenant: number): Promise<void> {
    const rows = await listRecords(records, tenant, SCORING_RECORDS, TRAINING_PREFIX);
    if (rows.length < TRAININGS_MAX) return;
    const over = rows
      .map((row) => ({ row, training: JSON.parse(row.value) as StoredTraining }))
      .filter(({ training }) => training.status !== 'IN_PROGRESS' || training.until < records.now())
      .sort((a, b) => a.training.until - b.training.until)[0];
    if (over === undefined) {
      this.#options.refusals.count(SCORING_LIMIT.TRAININGS);
      throw new PlatformError('scoring/too-many', { limit: SCORING_LIMIT.TRAININGS, maximum: TRAININGS_MAX });
    }
    const { row, training } = over;
    await changeRecords(records, tenant, [
      { collection: SCORING_RECORDS, id: row.id, expected: row.value, value: undefined },
    ]);
    if (training.blob !== undefined) records.retiredContents.retire(training.blob, training.bytes ?? 0);
  }

  async #train(
    records: RecordParts,
    asker: Asker,
    started: StoredTraining,
    expected: string,
    text: Uint8Array,
    autoDeploy: boolean,
  ): Promise<void> {
    const { log } = this.#options;
    const { modelName } = started;
    const { tenant } = asker;
    let ended: StoredTraining;
    try {
      ended = { ...started, status: 'SUCCESS', ...(await this.#result(records, asker, modelName, text, autoDeploy)) };
    } catch (error) {
      const isOwn = error instanceof PlatformError || error instanceof Refused || error instanceof BlobTooLarge;
      if (!isOwn) log.warn({ err: error, tenant, modelName }, 'a clustering model could not be trained');
      ended = { ...started, status: 'FAILURE', errorMessage: (error as Error).message };
    }
    try {
      const value = JSON.stringify(ended);
      await changeRecords(records, tenant, [
        { collection: SCORING_RECORDS, id: trainingId(modelName), expected, value },
      ]);
    } catch (error) {
      log.warn({ err: error, tenant, modelName }, 'the end of a training could not be stored');
    }
  }

  async #result(
    records: RecordParts,
    asker: Asker,
    modelName: string,
    text: Uint8Array,
    autoDeploy: boolean,
  ): Promise<{ readonly blob: string; readonly bytes: number }> {
    const { pool, blobs, deploy } = this.#options;
    const answer = await pool.run({ kind: 'train', text });
    if (answer.kind === 'refused') throw new Refused(answer.message);
    if (answer.kind !== 'trained') throw new Error(`a scoring worker answered with ${answer.kind}`);
    const owner = { tenant: asker.tenant, user: asker.user, isDevice: false };
    const { key, bytes } = await blobs.put([answer.clusters], FILE_BYTES_MAX, owner);
    if (autoDeploy) {
      const clusters = JSON.parse(Buffer.from(answer.clusters).toString()) as TrainedCluster[];
      const document = Buffer.from(clusteringDocument(modelName, clusters));
      const stored = await blobs.put([document], FILE_BYTES_MAX, owner);
      await deploy(records, asker, { fileName: `${modelName}.pmml`, key: stored.key, bytes: stored.bytes });
    }
    return { blob: key, bytes };
  }

  /** @throws PlatformError 404 */
  async load(records: Pick<RecordParts, 'documents' | 'now'>, tenant: number, name: string): Promise<StoredTraining> {
    const text = name.includes('\n') ? undefined : await readRecord(records, tenant, SCORING_RECORDS, trainingId(name));
    if (text === undefined) throw new PlatformError('scoring/model-not-found', { name });
    const training = JSON.parse(text) as StoredTraining;
    if (training.status !== 'IN_PROGRESS' || records.now() <= training.until) return training;
    return { ...training, status: 'FAILURE', errorMessage: INTERRUPTED };
  }

  /** @throws PlatformError 404 for one that has no result */
  async clusters(
    records: Pick<RecordParts, 'documents' | 'now'>,
    tenant: number,
    name: string,
  ): Promise<TrainedCluster[]> {
    const { blob, status } = await this.load(records, tenant, name);
    const content = blob === undefined || status !== 'SUCCESS' ? undefined : await this.#options.blobs.read(blob);
    if (content === undefined) throw new PlatformError('scoring/model-not-found', { name });
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    return JSON.parse(Buffer.concat(parts).toString()) as TrainedCluster[];
  }
}

/** Series that cannot be clustered. */
class Refused extends Error {}

/** `Clustering_<DD-MM-YYYY>_<HH-mm-ss>_<5 characters>`, in UTC. */
function newName(now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().split('T');
  const [year, month, day] = date.split('-');
  const letters = Array.from({ length: 5 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `Clustering_${day}-${month}-${year}_${time.slice(0, 8).replaceAll(':', '-')}_${letters}`;
}
