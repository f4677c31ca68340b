/**
 * ONNX models of the whole node, computed in processes of their own. A process keeps the models that it has loaded, up
 * to a bound; the least recently used one gives way. docs/internals/scoring.md#onnx
 */
import { fileURLToPath } from 'node:url';
import type { Log } from '../../ports/log.ts';
import type { Turns } from '../../pacing/turns.ts';
import type { PoolUser, Slot } from '../processes/pool.ts';
import { ProcessPool } from '../processes/pool.ts';
import { WorkerProcess } from '../processes/worker-process.ts';
import type { AnswerForm, OnnxDescription, OnnxLoaded, OnnxResults, OnnxTask } from './tasks.ts';

export interface OnnxEngineOptions {
  readonly log: Log;
  readonly turns: Turns;
  /** Processes, and so tasks at once. */
  readonly processes: number;
  /** Of one process, in bytes; loaded models take half of it at most, runs the rest. */
  readonly memoryBytesMax: number;
  /** For one run of a model, and for loading one, in milliseconds. */
  readonly timeMsMax: number;
}

/** A model as the registry keeps it. */
export interface StoredModel {
  /** Another one for each tenant, name and version. */
  readonly key: string;
  /** Of the file. */
  readonly bytes: number;
  /** The file; asked for when a process has to load it. */
  readonly content: () => Promise<AsyncIterable<Uint8Array>>;
}

/** What one process holds. */
interface Loaded {
  /** Bytes of the models that may be used, by key; the least recently used first. */
  readonly models: Map<string, number>;
  /** Keys of models that it is to let go when its task has ended. */
  released: string[];
}

const IDLE_MS_MAX = 600_000;
/** Loading reads, checks and optimises: a file of 500 MB takes its time. */
const LOAD_TIME_FACTOR = 10;

/** By itself onnxruntime tells its vendor what it runs, with an id of the machine that it keeps in a file. */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: '1' };

export class OnnxEngine {
  readonly #options: OnnxEngineOptions;
  readonly #pool: ProcessPool<Loaded>;
  /** Of tasks that wait or run, and whether the model was released meanwhile: it may be loaded only then. */
  readonly #using = new Set<{ readonly key: string; isReleased: boolean }>();

  constructor(options: OnnxEngineOptions) {
    this.#options = options;
    const { turns, processes, memoryBytesMax, log } = options;
    this.#pool = new ProcessPool<Loaded>({
      max: processes,
      turns,
      idleMsMax: IDLE_MS_MAX,
      start: () => {
        const path = fileURLToPath(new URL('./onnx-worker.js', import.meta.url));
        return {
          process: new WorkerProcess(
            { name: 'onnx', path, flags: ['--expose-gc'], environment: NO_TELEMETRY, memoryBytesMax },
            log,
          ),
          state: { models: new Map(), released: [] },
        };
      },
    });
  }

  /** Bytes that all processes have taken for models. */
  get loadedBytes(): number {
    return this.#pool.slots.reduce((sum, { state }) => sum + bytesOf(state), 0);
  }

  /** Of the processes that run, those first that have been idle for longest. */
  get processIds(): readonly number[] {
    return this.#pool.slots.flatMap(({ process }) =>
      process.isAlive && process.pid !== undefined ? [process.pid] : [],
    );
  }

  /**
   * Reads a new model.
   * @throws WorkerFault of kind `model` when it is not one; WorkerEnded when reading it ends the process.
   */
  async describe(user: PoolUser, content: AsyncIterable<Uint8Array>): Promise<OnnxDescription> {
    return this.#pool.use(user, { choose: (idle) => idle.at(-1), mayReplace: false }, (slot) =>
      this.#task(slot, { kind: 'describe' }, { content, signal: user.signal, isLoading: true }),
    );
  }

  /**
   * Computes a model, which is loaded before when no idle process has it.
   * @param body JSON: an object from the names of the inputs to nested arrays.
   * @returns JSON, see `OnnxResults`.
   * @throws WorkerFault of kind `input` when the body does not fit; WorkerEnded.
   */
  async apply(user: PoolUser, model: StoredModel, body: Uint8Array, form: AnswerForm = 'json'): Promise<Uint8Array> {
    const choose = (idle: readonly Slot<Loaded>[]): Slot<Loaded> | undefined =>
      idle.find(({ state }) => state.models.has(model.key));
    const { key } = model;
    const using = { key, isReleased: false };
    // From here on, while it waits too: a release in between frees it behind.
    this.#using.add(using);
    try {
      return await this.#pool.use(user, { choose, mayReplace: false }, async (slot) => {
        try {
          await this.#load(slot, model, user.signal);
          return await this.#task(slot, { kind: 'apply', key, form }, { content: [body], signal: user.signal });
        } finally {
          if (using.isReleased) await this.#free(slot, key);
        }
      });
    } finally {
      this.#using.delete(using);
    }
  }

  /** The model was released while it was used. Never rejects: a process that does not let go ends. */
  async #free(slot: Slot<Loaded>, key: string): Promise<void> {
    const { models, released } = slot.state;
    models.delete(key);
    if (!released.includes(key)) released.push(key);
    try {
      await this.#letGoOrEnd(slot);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a process of ONNX models did not let go of a model; it ends');
      slot.process.kill('stopped');
    }
  }

  /** The model is deactivated, deleted or replaced: its memory is free when the tasks under way have ended. */
  async release(key: string): Promise<void> {
    for (const using of this.#using) if (using.key === key) using.isReleased = true;
    for (const { state } of this.#pool.slots) {
      if (state.models.delete(key)) state.released.push(key);
    }
    await this.#pool.inIdle((slot) => this.#letGoOrEnd(slot));
  }

  /** Without models it has nothing that the next task would miss: its end frees what the allocator keeps. */
  async #letGoOrEnd(slot: Slot<Loaded>): Promise<void> {
    if (slot.state.models.size === 0) slot.process.kill('stopped');
    else await this.#letGo(slot);
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }

  async #load(slot: Slot<Loaded>, model: StoredModel, signal: AbortSignal | undefined): Promise<void> {
    const { models } = slot.state;
    const known = models.get(model.key);
    if (known !== undefined) {
      models.delete(model.key);
      models.set(model.key, known);
      return;
    }
    await this.#makeRoom(slot, model.bytes);
    const { memoryBytes } = await this.#task<OnnxLoaded>(
      slot,
      { kind: 'load', key: model.key },
      { content: await model.content(), signal, isLoading: true },
    );
    models.set(model.key, Math.max(memoryBytes, model.bytes));
  }

  /** Lets go what was released, and the least recently used models beyond the bound. */
  async #makeRoom(slot: Slot<Loaded>, bytes: number): Promise<void> {
    const { models, released } = slot.state;
    let loaded = bytesOf(slot.state);
    for (const [key, ofModel] of models) {
      if (loaded + bytes <= this.#options.memoryBytesMax / 2) break;
      models.delete(key);
      released.push(key);
      loaded -= ofModel;
    }
    await this.#letGo(slot);
  }

  async #letGo(slot: Slot<Loaded>): Promise<void> {
    const keys = slot.state.released;
    if (keys.length === 0) return;
    slot.state.released = [];
    await this.#task(slot, { kind: 'release', keys }, { content: [] });
  }

  async #task<Result extends OnnxResults[keyof OnnxResults]>(
    { process }: Slot<Loaded>,
    task: OnnxTask,
    {
      content,
      signal,
      isLoading = false,
    }: {
      content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
      signal?: AbortSignal | undefined;
      isLoading?: boolean;
    },
  ): Promise<Result> {
    const timeMsMax = this.#options.timeMsMax * (isLoading ? LOAD_TIME_FACTOR : 1);
    return process.run<Result>(task, { timeMsMax, content, signal });
  }
}

function bytesOf({ models }: Loaded): number {
  let sum = 0;
  for (const bytes of models.values()) sum += bytes;
  return sum;
}
