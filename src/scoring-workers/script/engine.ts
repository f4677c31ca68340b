/**
 * Python scripts of the whole node, each in an interpreter that has run scripts of one tenant only. Interpreters stay
 * warm, and one more waits for the next tenant where there is room. docs/internals/scoring.md#python
 */
import type { Log } from '../../ports/log.ts';
import type { Turns } from '../../pacing/turns.ts';
import type { PoolUser, Slot } from '../processes/pool.ts';
import { ProcessPool } from '../processes/pool.ts';
import { WorkerEnded, WorkerProcess } from '../processes/worker-process.ts';
import type { WorkerProgram } from '../processes/worker-process.ts';
import { WorkerFault } from '../processes/protocol.ts';
import type { ScriptTask, Stage } from './tasks.ts';

export interface ScriptEngineOptions {
  readonly log: Log;
  readonly turns: Turns;
  /** `pyodideProgram` or `systemProgram`. */
  readonly program: WorkerProgram;
  /** Interpreters, and so scripts at once. */
  readonly processes: number;
  /** For one run of a script, in milliseconds. */
  readonly timeMsMax: number;
}

/** A script as the registry keeps it. */
export interface Script {
  readonly name: string;
  readonly source: string;
}

interface Interpreter {
  /** Whose scripts it has run; undefined before the first. */
  tenant: number | undefined;
  isReady: boolean;
}

const IDLE_MS_MAX = 600_000;
/** An interpreter that starts on a busy machine takes its time, which is not the script's. */
const START_MS_MAX = 120_000;
const CHECK_MS_MAX = 30_000;
/** A script that the interpreter has nothing to say about. */
const EMPTY: ScriptTask = { kind: 'check', source: 'def process(content): pass', name: 'start.py' };

export class ScriptEngine {
  readonly #options: ScriptEngineOptions;
  readonly #pool: ProcessPool<Interpreter>;

  constructor(options: ScriptEngineOptions) {
    this.#options = options;
    const { turns, processes, program, log } = options;
    this.#pool = new ProcessPool<Interpreter>({
      max: processes,
      turns,
      idleMsMax: IDLE_MS_MAX,
      start: () => ({ process: new WorkerProcess(program, log), state: { tenant: undefined, isReady: false } }),
    });
  }

  get processesCount(): number {
    return this.#pool.slots.filter(({ process }) => process.isAlive).length;
  }

  /**
   * Looks at a new script, which is not run.
   * @returns the modules that it imports and the engine lacks, by name.
   * @throws WorkerFault of kind `model` when it is not Python, or has no function `process`.
   */
  async check(user: PoolUser, script: Script): Promise<readonly string[]> {
    return this.#run(user, { kind: 'check', ...script }, CHECK_MS_MAX);
  }

  /**
   * Runs a script.
   * @param content of `pre` the body of the request, of `post` the outputs of a model in the form `script`.
   * @returns JSON of what `process` returned; of `pre` an object.
   * @throws WorkerFault of kind `input` when the script fails, `memory` when it takes too much; WorkerEnded.
   */
  async run(user: PoolUser, script: Script, stage: Stage, content: Uint8Array): Promise<Uint8Array> {
    return this.#run(user, { kind: 'run', stage, ...script }, this.#options.timeMsMax, content);
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }

  async #run<Result>(user: PoolUser, task: ScriptTask, timeMsMax: number, content?: Uint8Array): Promise<Result> {
    const choose = (idle: readonly Slot<Interpreter>[]): Slot<Interpreter> | undefined =>
      idle.findLast(({ state }) => state.tenant === user.tenant) ??
      idle.find(({ state }) => state.tenant === undefined);
    return this.#pool.use(user, { choose, mayReplace: true }, async ({ process, state }) => {
      if (state.tenant === undefined) {
        state.tenant = user.tenant;
        this.#pool.warm();
      }
      if (!state.isReady) await process.run(EMPTY, { timeMsMax: START_MS_MAX, signal: user.signal });
      state.isReady = true;
      const given = content === undefined ? [] : [content];
      try {
        return await process.run<Result>(task, { timeMsMax, signal: user.signal, content: given });
      } catch (error) {
        if (error instanceof WorkerEnded && error.reason === 'time')
          throw new WorkerFault('time', `The script '${task.name}' was ended: it needed more than ${timeMsMax} ms.`);
        throw error;
      }
    });
  }
}
