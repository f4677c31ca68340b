/**
 * The threads that score (Piscina): one pool scores, another one reads uploads, which may take minutes and must not hold
 * up scoring. Threads begin with the first task. A thread that is lost (out of memory, out of
 * time) is replaced; its task is refused with 503.
 */
import { UNATTRIBUTED } from '../ports/refusals.ts';
import { BroadcastChannel } from 'node:worker_threads';
import type { TransferListItem } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { PlatformError, refusedBy } from '../model/errors.ts';
import type { Log } from '../ports/log.ts';
import type { Refusals } from '../ports/refusals.ts';
import { LoadedBytes } from './loaded-bytes.ts';
import type { Answer, ChannelMessage, DropMessage, Task, WorkerSettings } from './protocol.ts';

export const POOL_LIMIT = {
  TIME: 'scoring/task-time',
  MEMORY: 'scoring/worker-memory',
  LOST: 'scoring/worker-lost',
} as const;
/** Beside the models, for parsing and for the records under way. */
const HEAP_SPARE_BYTES = 512 * 1_048_576;
/** A document that is parsed, against the compiled model of it. */
const HEAP_FACTOR = 3;
const MIB = 1_048_576;
/** A thread without work for this long ends; what it had compiled is compiled again. */
const IDLE_MS = 300_000;
const UPLOAD_IDLE_MS = 10_000;
/** Times that the reading of an upload, or a training, may take, against another task. */
const UPLOAD_TIMES = 5;
/** Threads that read uploads: the second one works while another tenant's upload is read. */
export const UPLOAD_THREADS = 2;
/** Threads that train, as those for uploads. */
export const TRAINING_THREADS = 2;
const THREADS: Readonly<Record<Exclude<PoolName, 'scoring'>, number>> = {
  uploads: UPLOAD_THREADS,
  training: TRAINING_THREADS,
};

export interface PoolOptions {
  /** Threads that score. */
  readonly threads: number;
  /** Bytes of compiled models of all threads together. */
  readonly memoryBytesMax: number;
  /** Bytes of one content, unpacked. */
  readonly contentBytesMax: number;
  /** A task that takes longer is ended with its thread. */
  readonly taskMsMax: number;
  readonly version: string;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly onLost?: () => void;
  /** Module of the threads, for tests. */
  readonly thread?: URL;
}

type PoolName = 'scoring' | 'uploads' | 'training';
/** Those of the threads for uploads. */
const UPLOAD_TASKS: ReadonlySet<Task['kind']> = new Set<Task['kind']>(['check', 'annotate', 'inspect', 'series']);

export class ScoringPool {
  readonly threads: number;
  /** Bytes of compiled models that one thread keeps. */
  readonly modelBytesMax: number;
  /** A task that takes longer is ended with its thread. Another one, in tests. */
  taskMsMax: number;
  readonly #options: PoolOptions;
  readonly #pools = new Map<PoolName, Promise<Piscina>>();
  readonly #channelName: string;
  readonly #loaded = new LoadedBytes();
  /** Of the pool that scores, once it has begun. */
  #scoring: Piscina | undefined;
  #channel: BroadcastChannel | undefined;
  #isStopped = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.threads = options.threads;
    this.taskMsMax = options.taskMsMax;
    this.modelBytesMax = Math.floor(options.memoryBytesMax / options.threads);
    this.#channelName = `millrace-scoring-${process.pid}-${(poolCount += 1)}`;
  }

  /**
   * Does a task in a thread. Uploads are read in the threads for them. The time of the task begins now: call it when a
   * thread is free (`Turns`). @param transfer what is handed over instead of copied. @throws PlatformError 503 when the
   * thread is lost or the pool has stopped, Error when it failed.
   */
  async run(
    task: Task,
    transfer: readonly TransferListItem[] = [],
  ): Promise<Exclude<Answer, { readonly kind: 'failed' }>> {
    const name: PoolName = UPLOAD_TASKS.has(task.kind) ? 'uploads' : task.kind === 'train' ? 'training' : 'scoring';
    if (this.#isStopped) throw stopped();
    const ms = this.taskMsMax * (name === 'scoring' ? 1 : UPLOAD_TIMES);
    const signal = AbortSignal.timeout(ms);
    let answer: Answer;
    try {
      const pool = await this.#pool(name);
      answer = (await pool.run(task, { transferList: [...transfer], signal })) as Answer;
    } catch (error) {
      throw this.#lost(error as NodeJS.ErrnoException, signal.aborted, ms);
    }
    if (answer.kind === 'failed') throw new Error(`a scoring worker failed: ${answer.message}`);
    return answer;
  }

  /** Frees models in every thread. @param name undefined: all of the tenant. */
  drop(tenant: number, name?: string): void {
    const message: DropMessage = { kind: 'drop', tenant, name };
    this.#channel?.postMessage(message);
  }

  /** Bytes that the compiled models of a tenant take now, in all threads. */
  loadedBytes(tenant: number): number {
    return this.#loaded.of(tenant, this.#alive());
  }

  #alive(): number[] {
    return (this.#scoring?.threads ?? []).map(({ threadId }) => threadId);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#channel?.close();
    await Promise.all([...this.#pools.values()].map(async (pool) => (await pool).destroy()));
  }

  #lost(error: NodeJS.ErrnoException, isOutOfTime: boolean, ms: number): Error {
    if (this.#isStopped) return stopped();
    this.#options.onLost?.();
    const limit = isOutOfTime
      ? POOL_LIMIT.TIME
      : error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? POOL_LIMIT.MEMORY
        : POOL_LIMIT.LOST;
    const { log, refusals } = this.#options;
    refusals.count(limit, UNATTRIBUTED);
    log.warn(
      { err: error, limit, ...(isOutOfTime ? { ms } : {}) },
      'a scoring worker was lost; another one takes its place',
    );
    return refusedBy(limit);
  }

  #pool(name: PoolName): Promise<Piscina> {
    let pool = this.#pools.get(name);
    if (pool === undefined) this.#pools.set(name, (pool = this.#start(name)));
    return pool;
  }

  async #start(name: PoolName): Promise<Piscina> {
    const { log, version, contentBytesMax, thread = new URL('./worker/thread.js', import.meta.url) } = this.#options;
    // Loaded with the first task: most servers score nothing.
    const { Piscina } = await import('piscina');
    if (this.#channel === undefined) {
      this.#channel = new BroadcastChannel(this.#channelName);
      this.#channel.onmessage = (event) => {
        const { data: message } = event as { readonly data: ChannelMessage };
        if (message.kind === 'loaded') this.#loaded.take(message, this.#alive());
      };
      this.#channel.unref();
    }
    const settings: WorkerSettings = {
      modelBytesMax: this.modelBytesMax,
      contentBytesMax,
      version,
      channel: this.#channelName,
    };
    const pool = new Piscina({
      filename: thread.href,
      minThreads: 0,
      maxThreads: name === 'scoring' ? this.threads : THREADS[name],
      idleTimeout: name === 'scoring' ? IDLE_MS : UPLOAD_IDLE_MS,
      // A thread that waits without its event loop would not hear which models are to be freed.
      atomics: 'disabled',
      recordTiming: false,
      execArgv: [],
      env: {},
      workerData: settings,
      resourceLimits: {
        maxOldGenerationSizeMb: Math.ceil((this.modelBytesMax * HEAP_FACTOR + HEAP_SPARE_BYTES) / MIB),
      },
    });
    if (name === 'scoring') this.#scoring = pool;
    // Of threads without a task: the next task starts another one.
    pool.on('error', (error: Error) => log.warn({ err: error }, 'an idle scoring worker was lost'));
    return pool;
  }
}

let poolCount = 0;

const stopped = (): Error => new PlatformError('general/busy', { limit: POOL_LIMIT.LOST });
