/** The scoring of a node: its workers, whose turn it is, and what models have predicted. */
import { SCORING_MODELS, SCORING_RESOURCES, type StoredModel } from '../model/entities/scoring/model.ts';
import type { RecordChange } from '../model/commands/records.ts';
import { PlatformError } from '../model/errors.ts';
import { Shares } from '../pacing/shares.ts';
import { Turns } from '../pacing/turns.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Log } from '../ports/log.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { RecordReader } from '../records/records.ts';
import type { Measured, Plan } from '../scoring-workers/measurements/plan.ts';
import { ScoringPool, UPLOAD_THREADS } from '../scoring-workers/pool.ts';
import type { ValuesAnswer, ValuesTask } from '../scoring-workers/protocol.ts';
import { Applies } from './applies.ts';
import type { Asker } from './asker.ts';
import { openBatch, type Batch, type BatchInput, type BatchOptions } from './batches.ts';
import { SCORING_LIMIT, SPOOL_BYTES_MAX, UNPACKED_BYTES_MAX } from './limits.ts';
import { ModelRuns, type Pause, predictionKey } from './model-runs.ts';
import { Predictions, type PredictionSummary } from './predictions.ts';
import { type RunningBatch, RunningBatches } from './running-batches.ts';
import { Spool } from './spool.ts';
import { annotatedModel, outputNames, uploadModel, uploadResource, type ModelUpload, type Upload } from './uploads.ts';
import { modelInformation, type Guard, type RecordParts } from './records.ts';
import type { StoredResource } from '../model/entities/scoring/model.ts';

/** What may wait for a worker. */
const TASKS_MAX = { all: 10_000, ofUser: 1_000 };
const UPLOADS_MAX = { all: 200, ofUser: 20 };
/** Who takes turns for bindings: work of users does not hold them up, and they do not hold up users. */
export const BINDINGS = '\nbindings';

export interface ScoringOptions {
  readonly blobs: Pick<Blobs, 'read' | 'remove'>;
  readonly documents: RecordReader['documents'];
  readonly refusals: Refusals;
  readonly log: Log;
  /** Of this node, where results of batches wait. */
  readonly spoolDirectory: string;
  /** Name of the limit while nothing may be written (disk full), undefined otherwise. */
  readonly diskRefusal: () => string | undefined;
  readonly isOnlyTenant?: () => boolean;
  readonly threads: number;
  readonly memoryBytesMax: number;
  readonly taskMsMax: number;
  readonly version: string;
  readonly onScored?: (count: number) => void;
  readonly onWorkerLost?: () => void;
  /** Module of the workers, for tests. */
  readonly thread?: URL;
}

export class Scoring {
  readonly pool: ScoringPool;
  readonly applies: Applies;
  readonly batches: RunningBatches;
  /** Of what is read in the threads for uploads. */
  readonly uploadTurns: Turns;
  readonly #options: ScoringOptions;
  readonly #runs: ModelRuns;
  readonly #turns: Turns;
  readonly #predictions = new Predictions();
  readonly #spools: Shares;

  constructor(options: ScoringOptions) {
    const { refusals, isOnlyTenant, memoryBytesMax, taskMsMax, version, log, thread } = options;
    this.#options = options;
    // A tenant takes all but one; ONNX processes do the same.
    const threads = options.threads + 1;
    this.pool = new ScoringPool({
      threads,
      memoryBytesMax,
      taskMsMax,
      version,
      log,
      refusals,
      contentBytesMax: UNPACKED_BYTES_MAX,
      ...(options.onWorkerLost === undefined ? {} : { onLost: options.onWorkerLost }),
      ...(thread === undefined ? {} : { thread }),
    });
    this.#turns = new Turns({
      refusals,
      running: { all: threads, ofTenant: options.threads },
      waiting: TASKS_MAX,
      limits: { all: SCORING_LIMIT.WAITING, ofUser: SCORING_LIMIT.WAITING_OF_USER },
    });
    this.uploadTurns = new Turns({
      refusals,
      // One tenant's large document does not hold up another tenant's.
      running: { all: UPLOAD_THREADS, ofTenant: 1 },
      waiting: UPLOADS_MAX,
      limits: { all: SCORING_LIMIT.UPLOADS, ofUser: SCORING_LIMIT.UPLOADS_OF_USER },
    });
    const { pool, documents, blobs } = { ...options, pool: this.pool };
    this.#runs = new ModelRuns({ pool, turns: this.#turns, blobs, documents, predictions: this.#predictions });
    this.applies = new Applies(this.#runs, refusals, isOnlyTenant);
    this.batches = new RunningBatches(refusals, isOnlyTenant);
    this.#spools = new Shares(SCORING_LIMIT.SPOOL, SPOOL_BYTES_MAX, isOnlyTenant);
  }

  get waitingCount(): number {
    return this.#turns.waitingCount;
  }

  get spoolBytes(): number {
    return this.#spools.used;
  }

  /** As `uploadModel`. */
  uploadModel(records: RecordParts, asker: Asker, upload: Upload, others?: Guard): Promise<ModelUpload> {
    return uploadModel(this.#uploadParts(records), asker, upload, others);
  }

  /** As `uploadResource`. */
  uploadResource(records: RecordParts, asker: Asker, upload: Upload): Promise<StoredResource> {
    return uploadResource(this.#uploadParts(records), asker, upload);
  }

  /** As `annotatedModel`. */
  annotate(records: RecordParts, asker: Asker, model: StoredModel): Promise<Uint8Array> {
    return annotatedModel(this.#uploadParts(records), asker, model);
  }

  #uploadParts(records: RecordParts): Parameters<typeof uploadModel>[0] {
    const { documents, commands, refusals, retiredContents } = records;
    const { blobs } = this.#options;
    const now = (): number => records.now();
    return {
      documents,
      commands,
      refusals,
      retiredContents,
      now,
      blobs,
      pool: this.pool,
      uploadTurns: this.uploadTurns,
    };
  }

  /** Outputs of one record as JSON; undefined: the text is not a record. @throws PlatformError 400 while it is inactive. */
  async apply(asker: Asker, model: StoredModel, text: string): Promise<string | undefined> {
    requireActive(model);
    const output = await this.applies.apply(asker, model, text);
    this.#options.onScored?.(1);
    return output;
  }

  /** How a record is scored, in lines; undefined: the text is not a record. @throws PlatformError as `apply`. */
  async explain(asker: Asker, model: StoredModel, text: string): Promise<string | undefined> {
    requireActive(model);
    const answer = await this.#runs.run(asker, model, { kind: 'explain', record: text });
    if (answer.kind !== 'text') throw new Error(`a scoring worker answered with ${answer.kind}`);
    return answer.text;
  }

  /** As `openBatch`; its records count for `running`. @throws PlatformError 400 while the model is inactive. */
  async openBatch(
    asker: Asker,
    model: StoredModel,
    input: BatchInput,
    running: RunningBatch,
    options: Omit<BatchOptions, 'version' | 'threadsMax' | 'outputs'> & { readonly threadsMax: number | undefined },
  ): Promise<Batch> {
    requireActive(model);
    const { refusals, version, documents } = this.#options;
    running.modelName = model.name;
    const outputs = outputNames(await modelInformation({ documents }, asker.tenant, 'pmml', model.name));
    // One slice is read while each worker has one.
    const threadsMax = Math.min(options.threadsMax ?? Number.POSITIVE_INFINITY, 2 * this.#runs.threads);
    return openBatch(this.#runs, refusals, asker, model, input, {
      ...options,
      threadsMax,
      version,
      outputs,
      onScored: (count) => {
        running.records += count;
        this.#options.onScored?.(count);
      },
    });
  }

  /**
   * Scores values of measurements for the server's own work, in the turns of the user it works for.
   *
   * @throws PlatformError 400 while the model is inactive or where it cannot be used, 503 at a bound
   */
  async scoreValues(asker: Asker, model: StoredModel, values: Omit<ValuesTask, 'kind' | 'key'>): Promise<ValuesAnswer> {
    requireActive(model);
    const answer = await this.#runs.run(asker, model, { kind: 'values', ...values });
    if (answer.kind !== 'values') throw new Error(`a scoring worker answered with ${answer.kind}`);
    this.#options.onScored?.(answer.count);
    return answer;
  }

  /**
   * Scores measurements of the journal, in turns of their own beside those of the tenant's users.
   *
   * @param records MEASUREMENT records, whole, one behind the other
   * @param room shared memory in which the predictions are where they fit; after a failure a thread may still write to it
   * @throws PlatformError as `score`
   */
  async measure(
    tenant: number,
    model: StoredModel,
    records: Uint8Array,
    plan: Plan,
    room?: Uint8Array,
  ): Promise<Measured> {
    requireActive(model);
    const answer = await this.#runs.run({ tenant, user: BINDINGS }, model, {
      kind: 'measurements',
      records,
      plan,
      room,
    });
    if (answer.kind !== 'measured') throw new Error(`a scoring worker answered with ${answer.kind}`);
    this.#options.onScored?.(answer.scored);
    if (room === undefined || answer.roomBytes === 0) return answer;
    return { ...answer, records: room.subarray(0, answer.roomBytes) };
  }

  /** As `ModelRuns.pauseOf`. */
  pauseOf(tenant: number, model: StoredModel): Pause | undefined {
    return this.#runs.pauseOf(tenant, model);
  }

  spool(asker: Asker): Spool {
    const { spoolDirectory: directory, refusals, diskRefusal: refusal } = this.#options;
    return new Spool({ directory, shares: this.#spools, refusals, refusal }, asker);
  }

  /** What an active model has predicted on this node; undefined: nothing. */
  predictionsOf(tenant: number, model: StoredModel): PredictionSummary | undefined {
    return this.#predictions.of(predictionKey(tenant, model));
  }

  /** Models that are deactivated or deleted leave the memory of the workers. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (changes.some(({ collection }) => collection === SCORING_RESOURCES)) this.#runs.resourcesChanged(tenant);
    for (const { collection, id, expected, value } of changes) {
      if (collection !== SCORING_MODELS || !id.startsWith('pmml\n')) continue;
      if (value !== undefined && (JSON.parse(value) as StoredModel).isActive) continue;
      const former = expected ?? value;
      if (former === undefined) {
        this.pool.drop(tenant, id.slice('pmml\n'.length));
        continue;
      }
      const model = JSON.parse(former) as StoredModel;
      this.#runs.dropped(tenant, model);
      this.#predictions.forget(predictionKey(tenant, model));
    }
  }

  stop(): Promise<void> {
    return this.pool.stop();
  }
}

/** @throws PlatformError 400. */
function requireActive({ name, isActive }: StoredModel): void {
  if (!isActive) throw new PlatformError('scoring/model-inactive', { name });
}
