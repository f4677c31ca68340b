/**
 * A process that computes for the server: a model or script in it may end it, natively too, and takes nothing else
 * along. docs/internals/scoring.md#processes
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Log } from '../../ports/log.ts';
import type { FromWorker, TaskMessage, ToWorker } from './protocol.ts';
import { WORKER_MARK, WorkerFault } from './protocol.ts';

export interface WorkerProgram {
  /** For the log: `onnx`, `python`. */
  readonly name: string;
  /** JavaScript of the worker, which calls `serveTasks`. */
  readonly path: string;
  /** For Node itself. */
  readonly flags?: readonly string[];
  /** Variables of its environment, beside those that every worker has. */
  readonly environment?: Readonly<Record<string, string>>;
  /** For the program, as one JSON text. */
  readonly options?: unknown;
  /** What the process may take of memory, in bytes; an allocation beyond it fails in the process. */
  readonly memoryBytesMax: number;
}

/** Why a task has no answer: the process ended by itself, its time was over, the client left, the server stops. */
export type EndReason = 'ended' | 'time' | 'cancelled' | 'stopped';

/** How the log and errors tell it; an end by itself is told with its code or signal. */
const ENDS: Readonly<Partial<Record<EndReason, string>>> = {
  time: 'was ended: its time was over',
  cancelled: 'was ended: its client has left',
  stopped: 'was ended',
};

export class WorkerEnded extends Error {
  readonly reason: EndReason;

  constructor(reason: EndReason, text: string) {
    super(text);
    this.reason = reason;
  }
}

export interface TaskOptions {
  /** Then the process is ended, and `WorkerEnded` with `time` tells it. */
  readonly timeMsMax: number;
  /** The client has left: a task that is not done soon after ends with its process. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes that go before the task. They are sent as the process takes them. */
  readonly content?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What loaders and libraries need. Settings of the server, with their passwords, stay here. */
const ENVIRONMENT = /^(PATH|LD_LIBRARY_PATH|LANG|LC_\w+|TMPDIR)$/;
/** A process costs more to start than most tasks take: clients that leave do not end one each. */
const CANCEL_GRACE_MS = 1_000;
const STDERR_LENGTH_MAX = 2_000;
/** Frees what is let go of, rather than to keep it for the next task. */
const MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' };

/**
 * The shell sets the bounds that only a process can set for itself: no core files, and so much memory that it may write
 * to. Systems without that bound go on without it.
 */
const BOUNDED = 'ulimit -c 0; ulimit -d "$0" 2>/dev/null; exec "$@"';

/** What Node reserves for code from version 24 on in a way that counts as memory, in bytes; it uses some of it only. */
const CODE_RANGE_BYTES = Number(process.versions.node.split('.')[0]) >= 24 ? 512 * 1_048_576 : 0;

interface Running {
  readonly take: (message: FromWorker) => void;
  readonly fail: (error: Error) => void;
}

export class WorkerProcess {
  readonly #program: WorkerProgram;
  readonly #child: ChildProcess;
  readonly #log: Log;
  #running: Running | undefined;
  #reason: EndReason = 'ended';
  #isAlive = true;
  /** It is killed, and has not ended yet. */
  #isEnding = false;

  constructor(program: WorkerProgram, log: Log) {
    this.#program = program;
    this.#log = log;
    const inherited = Object.entries(process.env).filter(([name]) => ENVIRONMENT.test(name));
    const { path, flags = [], environment, options = {}, memoryBytesMax } = program;
    this.#child = spawn(
      '/bin/sh',
      [
        ...['-c', BOUNDED, String(Math.ceil((memoryBytesMax + CODE_RANGE_BYTES) / 1024))],
        ...[process.execPath, ...flags, path, WORKER_MARK, JSON.stringify(options)],
      ],
      {
        cwd: '/',
        env: { ...Object.fromEntries(inherited), ...MALLOC, TZ: 'UTC', ...environment },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
      },
    );
    this.#child.on('message', (message: FromWorker) => this.#running?.take(message));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log.warn({ pid: this.pid, text: text.slice(0, STDERR_LENGTH_MAX) }, `the ${program.name} worker wrote to stderr`);
    });
    this.#child.on('error', (error) => this.#end(`cannot be started: ${error.message}`));
    this.#child.once('exit', (code, signal) => this.#end(`ended with ${signal ?? code}`));
    // An idle worker does not keep the server from ending.
    this.#setIdle(true);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it takes tasks. */
  get isAlive(): boolean {
    return this.#isAlive && !this.#isEnding;
  }

  /**
   * One task, and its result. A second one at the same time is a mistake of the caller.
   * @throws WorkerFault with what the worker says; WorkerEnded when the process ends before it answers.
   */
  async run<Result>(task: unknown, { timeMsMax, signal, content = [] }: TaskOptions): Promise<Result> {
    if (!this.isAlive || this.#running !== undefined)
      throw new WorkerEnded('ended', `the ${this.#program.name} worker takes no task`);
    signal?.throwIfAborted();
    const timer = setTimeout(() => this.kill('time'), timeMsMax);
    let grace: NodeJS.Timeout | undefined;
    const leave = (): void => {
      grace = setTimeout(() => this.kill('cancelled'), CANCEL_GRACE_MS);
    };
    signal?.addEventListener('abort', leave, { once: true });
    this.#setIdle(false);
    const answer = new Promise<FromWorker>((take, fail) => {
      this.#running = { take, fail };
    });
    try {
      // The process may end while it is sent to; that is told by `answer`.
      const sent = this.#send(task, content);
      sent.catch((error: unknown) => this.#running?.fail(error instanceof Error ? error : new Error(String(error))));
      const message = await answer;
      await sent;
      if ('fault' in message && message.isLast) this.kill('stopped');
      if ('fault' in message) throw new WorkerFault(message.fault, message.text);
      return message.result as Result;
    } catch (error) {
      // Half of a content would come before the next task.
      if (!(error instanceof WorkerFault)) this.kill('ended');
      throw error;
    } finally {
      clearTimeout(timer);
      clearTimeout(grace);
      signal?.removeEventListener('abort', leave);
      this.#running = undefined;
      if (this.#isAlive) this.#setIdle(true);
    }
  }

  /** Ends the process at once; its memory is free afterwards. */
  kill(reason: EndReason): void {
    if (!this.isAlive) return;
    this.#isEnding = true;
    this.#reason = reason;
    this.#child.kill('SIGKILL');
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    if (!this.#isAlive) return;
    this.#child.ref();
    await once(this.#child, 'exit');
  }

  async #send(task: unknown, content: NonNullable<TaskOptions['content']>): Promise<void> {
    for await (const part of content) await this.#sendOne({ content: part });
    await this.#sendOne({ task } satisfies TaskMessage);
  }

  /** Waits until the channel has room. A channel that is closed belongs to a process that has ended, which tells why. */
  #sendOne(message: ToWorker): Promise<void> {
    return new Promise((resolve) => {
      this.#child.send(message, () => resolve());
    });
  }

  #end(how: string): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    const text = `the ${this.#program.name} worker ${ENDS[this.#reason] ?? how}`;
    if (this.#reason === 'ended') this.#log.error({ pid: this.pid }, text);
    this.#running?.fail(new WorkerEnded(this.#reason, text));
  }

  #setIdle(isIdle: boolean): void {
    const stderr = this.#child.stderr as unknown as { ref(): void; unref(): void } | null;
    if (isIdle) {
      this.#child.unref();
      this.#child.channel?.unref();
      stderr?.unref();
    } else {
      this.#child.ref();
      this.#child.channel?.ref();
      stderr?.ref();
    }
  }
}
