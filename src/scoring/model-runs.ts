/** Tasks of models, in the turns of tenants and users: the worker that has not got the model is sent it. */
import { LRUCache } from 'lru-cache';
import type { StoredModel } from '../model/entities/scoring/model.ts';
import { formatTime } from '../model/documents/iso-time.ts';
import { PlatformError } from '../model/errors.ts';
import { upTo } from '../pacing/lru-bound.ts';
import type { Turns } from '../pacing/turns.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { RecordReader } from '../records/records.ts';
import { markedName, newMark } from '../scoring-workers/functions/watch.ts';
import { POOL_LIMIT, type ScoringPool } from '../scoring-workers/pool.ts';
import type {
  Answer,
  ApplyTask,
  BatchTask,
  ExplainTask,
  FailedAnswer,
  MeasurementsTask,
  MissingAnswer,
  PredictionCounts,
  RefusedAnswer,
  ValuesTask,
} from '../scoring-workers/protocol.ts';
import type { Asker } from './asker.ts';
import { LATE_TASKS_MAX, Pauses } from './pauses.ts';
import type { Predictions } from './predictions.ts';
import { openSource, usedResources, type UsedResource } from './sources.ts';

type ModelTask = ApplyTask | BatchTask | ExplainTask | MeasurementsTask | ValuesTask;
/** Without the model, which the run adds. */
export type RunTask = {
  [Kind in ModelTask['kind']]: Omit<Extract<ModelTask, { kind: Kind }>, 'key' | 'source'>;
}[ModelTask['kind']];
export type RunAnswer = Exclude<Answer, RefusedAnswer | MissingAnswer | FailedAnswer>;

export interface ModelRunsOptions {
  readonly pool: Pick<ScoringPool, 'run' | 'threads' | 'drop'>;
  readonly turns: Turns;
  readonly blobs: Pick<Blobs, 'read'>;
  readonly documents: RecordReader['documents'];
  readonly predictions: Predictions;
  /** ms since 1970. */
  readonly now?: () => number;
}

export interface Pause {
  /** ms since 1970. */
  readonly until: number;
  /** What a task is refused with meanwhile. */
  readonly error: PlatformError;
}

/** Models that were deactivated or deleted last, and are remembered. */
const DROPPED_MAX = 1_000;

/** Models of which the files are remembered that they use. */
const FILES_KNOWN_MAX = 256;
/** A node of a cluster may miss what it is told of a change: it looks again after this. */
const FILES_KNOWN_MS = 10_000;

/** Of a model from its activation on. */
export const predictionKey = (tenant: number, { blob, activatedAt = 0 }: StoredModel): string =>
  `${tenant}\n${blob}\n${activatedAt}`;

export class ModelRuns {
  readonly threads: number;
  readonly #options: ModelRunsOptions;
  readonly #pauses: Pauses;
  /** By their keys: a batch or a record that waits has them still. */
  readonly #dropped = new LRUCache<string, true>(upTo(DROPPED_MAX));
  /** By tenant and content of the model, until a resource of the tenant changes. */
  readonly #files = new LRUCache<string, Promise<readonly UsedResource[]>>({
    ...upTo(FILES_KNOWN_MAX),
    ttl: FILES_KNOWN_MS,
  });

  constructor(options: ModelRunsOptions) {
    this.#options = options;
    this.threads = options.pool.threads;
    this.#pauses = new Pauses(options.now ?? Date.now);
  }

  /**
   * @throws PlatformError 400 for a model that cannot be used any more, 404 for one that was deleted meanwhile, 503 at
   * a bound or when the worker is lost.
   */
  async run(asker: Asker, model: StoredModel, task: RunTask): Promise<RunAnswer> {
    const { pool } = this.#options;
    const pause = this.pauseOf(asker.tenant, model);
    if (pause !== undefined) throw pause.error;
    try {
      return await this.#inTurn(asker, model, task);
    } finally {
      if (this.#dropped.has(predictionKey(asker.tenant, model))) pool.drop(asker.tenant, model.name);
    }
  }

  /** A model is deactivated or deleted: tasks may still load it, so that it leaves the memory once more behind each. */
  dropped(tenant: number, model: StoredModel): void {
    this.#dropped.set(predictionKey(tenant, model), true);
    this.#options.pool.drop(tenant, model.name);
  }

  /** A resource of the tenant was made or deleted. */
  resourcesChanged(tenant: number): void {
    for (const key of [...this.#files.keys()]) if (key.startsWith(`${tenant}\n`)) this.#files.delete(key);
  }

  #filesOf(tenant: number, model: StoredModel): Promise<readonly UsedResource[]> {
    const key = `${tenant}\n${model.blob}`;
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    const files = usedResources(this.#options, tenant, model, true);
    this.#files.set(key, files);
    files.catch((error: unknown) => {
      // A refusal stays until a resource changes, a store that is away does not.
      const isRefusal = error instanceof PlatformError && error.code === 'scoring/model-refused';
      if (!isRefusal && this.#files.peek(key) === files) this.#files.delete(key);
    });
    return files;
  }

  async #inTurn(asker: Asker, model: StoredModel, task: RunTask): Promise<RunAnswer> {
    const { turns, predictions } = this.#options;
    await turns.begin(asker.tenant, asker.user, asker.signal);
    try {
      const answer = await this.#answer(asker, model, task);
      if (answer.kind === 'refused')
        throw new PlatformError('scoring/model-refused', { name: model.name, reason: answer.message });
      if ('predictions' in answer) this.#count(predictions, asker, model, answer.predictions);
      return answer;
    } finally {
      turns.end(asker.tenant, asker.user);
    }
  }

  /** Of a model whose tasks ran out of time again and again. */
  pauseOf(tenant: number, model: StoredModel): Pause | undefined {
    const until = this.#pauses.untilOf(predictionKey(tenant, model));
    if (until === undefined) return undefined;
    const reason =
      `${LATE_TASKS_MAX} of its tasks within an hour ran out of time (${POOL_LIMIT.TIME}); ` +
      `it pauses on this node until ${formatTime(until)}, or until it is activated anew`;
    return { until, error: new PlatformError('scoring/model-refused', { name: model.name, reason }) };
  }

  /** As `#scored`; counts what runs out of time, and tells the function that did. */
  async #answer(asker: Asker, model: StoredModel, task: RunTask): Promise<RunAnswer | RefusedAnswer> {
    const mark = (model.functions ?? []).length === 0 ? undefined : newMark();
    try {
      return await this.#scored(asker, model, mark === undefined ? task : { ...task, mark });
    } catch (error) {
      if (!isOutOfTime(error)) throw error;
      this.#pauses.add(predictionKey(asker.tenant, model));
      const running = mark === undefined ? undefined : markedName(mark);
      if (running === undefined) throw error;
      const reason = `the function ${running} does not end in the time of a task (${POOL_LIMIT.TIME})`;
      throw new PlatformError('scoring/model-refused', { name: model.name, reason });
    }
  }

  async #scored(asker: Asker, model: StoredModel, task: RunTask): Promise<RunAnswer | RefusedAnswer> {
    const { pool } = this.#options;
    const used = await this.#filesOf(asker.tenant, model);
    // With the keys of its files: every thread, of every node, computes with the same ones.
    const version = [model.blob, ...used.map(({ blob }) => blob)].join('\n');
    const key = { tenant: asker.tenant, name: model.name, version };
    const answer = await pool.run({ ...task, key });
    if (answer.kind !== 'missing') return answer;
    const source = await openSource(this.#options, model, used);
    try {
      const again = await pool.run({ ...task, key, source: source.source }, source.transfer);
      if (again.kind === 'missing') throw new Error(`a scoring worker did not take the model ${model.name}`);
      return again;
    } finally {
      source.close();
    }
  }

  #count(predictions: Predictions, asker: Asker, model: StoredModel, counts: PredictionCounts): void {
    predictions.add(predictionKey(asker.tenant, model), counts);
  }
}

/** The limit may have its remedy behind it. */
const isOutOfTime = (error: unknown): boolean =>
  error instanceof PlatformError && String(error.details['limit']).split(' ', 1)[0] === POOL_LIMIT.TIME;
