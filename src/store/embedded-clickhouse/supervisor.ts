/**
 * Starts the process of the embedded ClickHouse and starts it again when it ends, always on the port that the first
 * start found, so that a client made from `url` works on after a restart.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../ports/log.ts';
import type { ChildOptions, ParentMessage, StartMessage } from './child.ts';
import { Heartbeat } from './heartbeat.ts';
import { ENGINE_MARK, endOrphan, forgetOwner, rememberOwner } from './orphan.ts';

export type EmbeddedState = 'starting' | 'ready' | 'unresponsive' | 'down' | 'stopped';

export interface EmbeddedClickHouseOptions {
  /** Data directory; made when it is not there. One process at a time. */
  readonly directory: string;
  readonly log: Log;
  /** JavaScript of the child. Default: child.js beside this file. */
  readonly childPath?: string;
  /** Sessions for reads. Default 3. */
  readonly readSessions?: number;
  /** Requests that may wait for a session, of reads and of writes each; more are answered 503. Default 256. */
  readonly waitingMax?: number;
  /** Threads of one statement. Default 1. */
  readonly threads?: number;
  /** Memory of the whole engine, bytes; a statement may take half. Default 2 GiB. */
  readonly memoryBytesMax?: number;
  /** Body of one request, bytes. Default 256 MiB. */
  readonly bodyBytesMax?: number;
  readonly onState?: (state: EmbeddedState) => void;
  /**
   * Seconds without a sign of life until the process counts as unresponsive, and until it is killed and started again.
   * Default 5 and 120.
   */
  readonly silentAfterSeconds?: number;
  readonly deadAfterSeconds?: number;
}

/**
 * A start takes 0.1-0.4 s with little data. With thousands of parts on a slow disk it takes minutes, and a process that
 * is killed meanwhile begins anew.
 */
const START_LIMIT_MS = 900_000;
/** The log says this often that a start still goes on. */
const START_NOTICE_MS = 30_000;
/** Short: killing it loses nothing, and the server has to stop within 5 s. */
const STOP_LIMIT_MS = 1_500;
const BACK_OFF_FIRST_MS = 100;
const BACK_OFF_MAX_MS = 10_000;
/** Above what planning a large export may hold up the child's own thread. */
const SILENT_AFTER_SECONDS = 5;
const DEAD_AFTER_SECONDS = 120;
/** A child that lived this long was healthy: the next back-off starts from the first step. */
const HEALTHY_AFTER_MS = 30_000;
/** Threads of libuv: each statement that runs holds one, and writing the files of inserts needs some as well. */
const SPARE_THREADS = 5;
/**
 * Of this process's environment, for the child's loader and libraries. Settings of Millrace, with their passwords, and
 * what else an operator has there stay here: the engine can read files, and so the environment of its process.
 */
const ENVIRONMENT = /^(PATH|HOME|TMPDIR|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|GLIBC_TUNABLES|(JE_)?MALLOC_\w+)$/;
/**
 * Of jemalloc, the engine's allocator, unless the environment sets it: free memory goes back to the system after 30 s, in
 * place of about 2. Else the first query behind a rest faulted 56 MB in again, which a virtual machine may take 25 µs a
 * page for: a search by name among a million devices took 200 to 480 ms, and takes 50 to 140 (2026-11-27).
 */
const ALLOCATOR = { JE_MALLOC_CONF: 'dirty_decay_ms:30000' };
const STDERR_LINE_LENGTH_MAX = 2_000;

export class EmbeddedClickHouse {
  readonly #options: EmbeddedClickHouseOptions;
  #child: ChildProcess | undefined;
  readonly #password = randomBytes(24).toString('hex');
  #port = 0;
  #state: EmbeddedState = 'stopped';
  #isStopping = false;
  #restartsCount = 0;
  #backOffMs = BACK_OFF_FIRST_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EmbeddedClickHouseOptions) {
    this.#options = options;
  }

  /** With the credentials in it: not for logs. The same over all restarts. */
  get url(): string {
    return `http://default:${this.#password}@127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get state(): EmbeddedState {
    return this.#state;
  }

  /** The process that runs now; undefined between two. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get restartsCount(): number {
    return this.#restartsCount;
  }

  /**
   * @returns the URL, when requests are taken. Rejects when the first start fails; later ones are repeated for ever.
   */
  async start(): Promise<string> {
    if (this.#state !== 'stopped') throw new Error('the embedded ClickHouse was started already');
    this.#isStopping = false;
    try {
      await endOrphan(this.#options.directory, this.#options.log);
      await this.#startChild();
    } catch (error) {
      this.#setState('stopped');
      throw error;
    }
    return this.url;
  }

  /** Lets requests under way finish, up to a limit; then the process is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      const killer = setTimeout(() => {
        this.#options.log.warn(
          { pid: child.pid, limitMs: STOP_LIMIT_MS },
          'embedded ClickHouse does not stop: killing it',
        );
        child.kill('SIGKILL');
      }, STOP_LIMIT_MS);
      child.kill('SIGTERM');
      await exited;
      clearTimeout(killer);
    }
    this.#child = undefined;
    this.#setState('stopped');
    // Last: a disk that fails lets it throw.
    forgetOwner(this.#options.directory);
  }

  #setState(state: EmbeddedState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state);
  }

  #fork(): ChildProcess {
    const { directory, childPath, readSessions = 3, waitingMax = 256, threads = 1 } = this.#options;
    const childOptions: ChildOptions = {
      directory,
      readSessions,
      waitingMax,
      threads,
      port: this.#port,
      memoryBytesMax: this.#options.memoryBytesMax ?? 2 ** 31,
      bodyBytesMax: this.#options.bodyBytesMax ?? 2 ** 28,
    };
    const inherited = Object.entries(process.env).filter(([name]) => ENVIRONMENT.test(name));
    const child = fork(
      childPath ?? fileURLToPath(new URL('./child.js', import.meta.url)),
      [ENGINE_MARK, JSON.stringify(childOptions)],
      {
        env: {
          ...ALLOCATOR,
          ...Object.fromEntries(inherited),
          TZ: 'UTC',
          UV_THREADPOOL_SIZE: String(readSessions + SPARE_THREADS),
        },
        execArgv: [],
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      },
    );
    child.send({ password: this.#password } satisfies ParentMessage, () => {
      /* One that has ended says why by its exit. */
    });
    return child;
  }

  async #startChild(): Promise<void> {
    this.#setState('starting');
    const startedAt = Date.now();
    const child = this.#fork();
    this.#child = child;
    if (child.pid !== undefined) rememberOwner(this.#options.directory, child.pid);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#options.log.warn(
        { pid: child.pid, text: text.slice(0, STDERR_LINE_LENGTH_MAX) },
        'embedded ClickHouse wrote to stderr',
      );
    });
    child.on('error', (error) =>
      this.#options.log.error({ error: error.message }, 'embedded ClickHouse: process error'),
    );
    const message = await firstMessage(child, this.#options.log);
    if ('failure' in message) {
      child.kill('SIGKILL');
      this.#child = undefined;
      throw new Error(`embedded ClickHouse did not start in ${this.#options.directory}: ${message.failure}`);
    }
    this.#port = message.port;
    const heartbeat = this.#watch(child);
    child.once('exit', (code, signal) => {
      heartbeat.stop();
      this.#onExit(child, startedAt, { code, signal });
    });
    this.#options.log.info(
      { pid: child.pid, port: this.#port, durationMs: Date.now() - startedAt },
      'embedded ClickHouse is ready',
    );
    this.#setState('ready');
    if (this.#isStopping) child.kill('SIGTERM');
  }

  #watch(child: ChildProcess): Heartbeat {
    const {
      log,
      silentAfterSeconds: silentAfter = SILENT_AFTER_SECONDS,
      deadAfterSeconds: deadAfter = DEAD_AFTER_SECONDS,
    } = this.#options;
    return new Heartbeat(
      child,
      { silentAfter, deadAfter },
      {
        onSilent: () => {
          log.error({ pid: child.pid, silentAfterSeconds: silentAfter }, 'embedded ClickHouse gives no sign of life');
          if (this.#child === child && this.#state === 'ready') this.#setState('unresponsive');
        },
        onAnswer: () => {
          log.info({ pid: child.pid }, 'embedded ClickHouse answers again');
          if (this.#child === child && this.#state === 'unresponsive') this.#setState('ready');
        },
        onDead: () => {
          log.error(
            { pid: child.pid, deadAfterSeconds: deadAfter },
            'embedded ClickHouse gives no sign of life: killing it',
          );
          child.kill('SIGKILL');
        },
      },
    );
  }

  #onExit(child: ChildProcess, startedAt: number, reason: { code: number | null; signal: string | null }): void {
    if (this.#child === child) this.#child = undefined;
    if (this.#isStopping) return;
    this.#options.log.error({ pid: child.pid, ...reason }, 'embedded ClickHouse ended');
    if (Date.now() - startedAt > HEALTHY_AFTER_MS) this.#backOffMs = BACK_OFF_FIRST_MS;
    this.#restartLater();
  }

  #restartLater(): void {
    this.#setState('down');
    const delayMs = this.#backOffMs;
    this.#backOffMs = Math.min(this.#backOffMs * 2, BACK_OFF_MAX_MS);
    this.#timer = setTimeout(() => {
      this.#restartsCount++;
      this.#startChild().catch((error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        if (this.#isStopping) return;
        this.#options.log.error(
          { error: text, nextTryMs: this.#backOffMs },
          'embedded ClickHouse could not be restarted',
        );
        this.#restartLater();
      });
    }, delayMs);
  }
}

/** What the child says first; a failure of our own making when it says nothing. */
function firstMessage(child: ChildProcess, log: Log): Promise<StartMessage> {
  return new Promise((resolve) => {
    const notice = setInterval(
      () => log.warn({ pid: child.pid, limitMs: START_LIMIT_MS }, 'embedded ClickHouse still loads its parts'),
      START_NOTICE_MS,
    );
    const fail = (failure: string): void => settle({ failure, errorCode: '' });
    const onMessage = (message: unknown): void => settle(message as StartMessage);
    const onExit = (code: number | null, signal: string | null): void =>
      fail(`the process ended with ${code ?? signal}`);
    const onError = (error: Error): void => fail(error.message);
    const timer = setTimeout(() => fail(`no answer in ${START_LIMIT_MS} ms`), START_LIMIT_MS);
    function settle(message: StartMessage): void {
      clearTimeout(timer);
      clearInterval(notice);
      child.off('message', onMessage).off('exit', onExit).off('error', onError);
      resolve(message);
    }
    child.once('message', onMessage).once('exit', onExit).once('error', onError);
  });
}
