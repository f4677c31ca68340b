/** Clustering models that are trained here (docs/spec/scoring.md#clustering). */
import { randomInt } from 'node:crypto';
import type { RecordChange } from '../../model/commands/records.ts';
import { SCORING_RECORDS } from '../../model/entities/scoring/model.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { Shares } from '../../pacing/shares.ts';
import { Turns } from '../../pacing/turns.ts';
import { BlobTooLarge, type Blobs } from '../../ports/blobs.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { changeRecords, isChangedMeanwhile, listRecords, readRecord, retried } from '../../records/records.ts';
import { type ScoringPool, TRAINING_THREADS } from '../../scoring-workers/pool.ts';
import { clusteringDocument } from '../../scoring-workers/training/clustering-document.ts';
import type { TrainedCluster } from '../../scoring-workers/training/clustering.ts';
import type { Asker } from '../asker.ts';
import { FILE_BYTES_MAX, SCORING_LIMIT, TRAININGS_AT_ONCE, TRAININGS_MAX } from '../limits.ts';
import type { Guard, RecordParts } from '../records.ts';
import { shownFault } from '../shown-fault.ts';
import { inTurn, type ModelUpload, type Upload } from '../uploads.ts';

export interface StoredTraining {
  readonly modelName: string;
  readonly status: 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE';
  readonly errorMessage?: string;
  /** ms since 1970: one that is not over by then was interrupted. The node that trains moves it on. */
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
/** A training whose node has not moved its time on for this long was interrupted. */
const LEASE_MS = 60_000;
const RENEWED_EVERY_MS = 20_000;
const INTERRUPTED = 'The server ended while the model was trained.';

export interface TrainingOptions {
  readonly pool: Pick<ScoringPool, 'run'>;
  /** Series are looked at in the threads for uploads: a training does not hold up the answer of another one. */
  readonly uploadTurns: Turns;
  readonly blobs: Pick<Blobs, 'put' | 'read'>;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly isOnlyTenant?: () => boolean;
  /** Makes a PMML model of a document that is stored. @param others what is stored in the same change */
  readonly deploy: (records: RecordParts, asker: Asker, upload: Upload, others: Guard) => Promise<ModelUpload>;
}

export class Trainings {
  readonly #options: TrainingOptions;
  readonly #shares: Shares;
  readonly #turns: Turns;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: TrainingOptions) {
    this.#options = options;
    this.#shares = new Shares(SCORING_LIMIT.TRAININGS_AT_ONCE, TRAININGS_AT_ONCE, options.isOnlyTenant);
    const limit = SCORING_LIMIT.TRAININGS_AT_ONCE;
    this.#turns = new Turns({
      refusals: options.refusals,
      // One tenant's long training does not hold up another tenant's.
      running: { all: TRAINING_THREADS, ofTenant: 1 },
      // The shares hold back what is more.
      waiting: { all: TRAININGS_AT_ONCE, ofUser: TRAININGS_AT_ONCE },
      limits: { all: limit, ofUser: limit },
    });
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
    const { pool, refusals, uploadTurns } = this.#options;
    const { tenant, user } = asker;
    const limit = this.#shares.take(tenant, user);
    if (limit !== undefined) {
      refusals.count(limit, { tenant, user });
      throw refusedBy(limit);
    }
    try {
      const text = await read();
      const checked = await inTurn(uploadTurns, asker, () => pool.run({ kind: 'series', text }));
      if (checked.kind === 'refused')
        throw checked.reason === 'content'
          ? new PlatformError('scoring/invalid-json', {})
          : new PlatformError('scoring/invalid-training', { reason: checked.message });
      const modelName = newName(records.now());
      const started: StoredTraining = {
        modelName,
        status: 'IN_PROGRESS',
        until: records.now() + LEASE_MS,
      };
      await retried(records, () => this.#makeRoom(records, tenant));
      const value = JSON.stringify(started);
      await changeRecords(records, tenant, [
        { collection: SCORING_RECORDS, id: trainingId(modelName), expected: undefined, value },
      ]);
      const key = `${tenant}\n${modelName}`;
      const renewal = setInterval(() => void this.#renew(records, tenant, modelName), RENEWED_EVERY_MS);
      const done = this.#train(records, { tenant, user }, started, text, autoDeploy).finally(() => {
        clearInterval(renewal);
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
      this.#options.refusals.count(SCORING_LIMIT.TRAININGS, { tenant });
      throw new PlatformError('scoring/too-many', { limit: SCORING_LIMIT.TRAININGS, maximum: TRAININGS_MAX });
    }
    const { row, training } = over;
    await changeRecords(records, tenant, [
      { collection: SCORING_RECORDS, id: row.id, expected: row.value, value: undefined },
    ]);
    if (training.blob !== undefined) records.retiredContents.retire(training.blob, training.bytes ?? 0);
  }

  /** Its result and that it succeeded are one change, and so is the model that it deploys. */
  async #train(
    records: RecordParts,
    asker: Asker,
    started: StoredTraining,
    text: Uint8Array,
    autoDeploy: boolean,
  ): Promise<void> {
    const { log } = this.#options;
    const { modelName } = started;
    const { tenant } = asker;
    try {
      await this.#succeed(records, asker, started, text, autoDeploy);
      return;
    } catch (error) {
      const isOwn = error instanceof PlatformError || error instanceof Refused || error instanceof BlobTooLarge;
      if (!isOwn) log.warn({ err: error, tenant, modelName }, 'a clustering model could not be trained');
      const errorMessage = error instanceof Refused ? error.message : shownFault(error);
      const failed: StoredTraining = { ...started, status: 'FAILURE', errorMessage };
      await this.#end(records, tenant, failed).catch((failure: unknown) =>
        log.warn({ err: failure, tenant, modelName }, 'the end of a training could not be stored'),
      );
    }
  }

  async #succeed(
    records: RecordParts,
    asker: Asker,
    started: StoredTraining,
    text: Uint8Array,
    autoDeploy: boolean,
  ): Promise<void> {
    const { pool, blobs, deploy } = this.#options;
    const { modelName } = started;
    const { tenant, user } = asker;
    const answer = await inTurn(this.#turns, asker, () => pool.run({ kind: 'train', text }));
    if (answer.kind === 'refused') throw new Refused(answer.message);
    if (answer.kind !== 'trained') throw new Error(`a scoring worker answered with ${answer.kind}`);
    const owner = { tenant, user, isDevice: false };
    const { key: blob, bytes } = await blobs.put([answer.clusters], FILE_BYTES_MAX, owner);
    const ended: StoredTraining = { ...started, status: 'SUCCESS', blob, bytes };
    // What fails from here on leaves the content to the sweep: it is not known whether the change was stored.
    if (!autoDeploy) return this.#end(records, tenant, ended);
    const clusters = JSON.parse(Buffer.from(answer.clusters).toString()) as TrainedCluster[];
    const document = Buffer.from(clusteringDocument(modelName, clusters));
    const stored = await blobs.put([document], FILE_BYTES_MAX, owner);
    const upload = { fileName: `${modelName}.pmml`, key: stored.key, bytes: stored.bytes };
    const made = await deploy(records, asker, upload, async () => [await endOf(records, tenant, ended)]);
    if ('annotated' in made) throw new Refused('The server does not take the model that it has trained.');
  }

  #end(records: RecordParts, tenant: number, ended: StoredTraining): Promise<void> {
    return retried(records, async () => changeRecords(records, tenant, [await endOf(records, tenant, ended)]));
  }

  /** The node is still at work. */
  async #renew(records: RecordParts, tenant: number, modelName: string): Promise<void> {
    const id = trainingId(modelName);
    try {
      const expected = await readRecord(records, tenant, SCORING_RECORDS, id);
      const training = expected === undefined ? undefined : (JSON.parse(expected) as StoredTraining);
      // One whose time is over is shown as failed, which is final.
      if (training?.status !== 'IN_PROGRESS' || records.now() > training.until) return;
      const value = JSON.stringify({ ...training, until: records.now() + LEASE_MS });
      await changeRecords(records, tenant, [{ collection: SCORING_RECORDS, id, expected, value }]);
    } catch (error) {
      // It has ended in this moment.
      if (isChangedMeanwhile(error)) return;
      this.#options.log.warn({ err: error, tenant, modelName }, 'the time of a training could not be moved on');
    }
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

/** The change that ends a training. @throws Refused for a success that comes late, Error where it has ended, or was deleted */
async function endOf(records: RecordParts, tenant: number, ended: StoredTraining): Promise<RecordChange> {
  const id = trainingId(ended.modelName);
  const expected = await readRecord(records, tenant, SCORING_RECORDS, id);
  const training = expected === undefined ? undefined : (JSON.parse(expected) as StoredTraining);
  if (training?.status !== 'IN_PROGRESS') throw new Error(`the training ${ended.modelName} has ended already`);
  // It was shown as failed meanwhile, which is final.
  if (ended.status === 'SUCCESS' && records.now() > training.until) throw new Refused(INTERRUPTED);
  return { collection: SCORING_RECORDS, id, expected, value: JSON.stringify(ended) };
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
