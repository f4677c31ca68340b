/**
 * The threads that hash passwords (thread.ts). A thread begins with its first task, and does not keep the process from
 * ending.
 */
import { Worker } from 'node:worker_threads';
import type { ScryptCost } from '../../model/access/password-hash.ts';
import type { HashAnswer, HashTask } from './thread.ts';

/** Computes keys; as many at once as there are threads. Callers bound what they give it. */
export interface KeyDerivation {
  /** @returns the key. Rejects when it cannot be computed, for instance without memory for it. */
  derive(password: string, salt: Uint8Array, cost: ScryptCost, keyBytes: number): Promise<Uint8Array>;
  stop(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  fail: ((error: Error) => void) | undefined;
  take: ((answer: HashAnswer) => void) | undefined;
}
interface Waiting {
  readonly task: HashTask;
  readonly take: (answer: HashAnswer) => void;
  readonly fail: (error: Error) => void;
}

export class PasswordThreads implements KeyDerivation {
  readonly #count: number;
  readonly #idle: Thread[] = [];
  readonly #busy = new Set<Thread>();
  readonly #waiting: Waiting[] = [];
  #isStopped = false;

  constructor(count: number) {
    this.#count = count;
  }

  async derive(password: string, salt: Uint8Array, { ln, r, p }: ScryptCost, keyBytes: number): Promise<Uint8Array> {
    const task: HashTask = { password, salt, keyBytes, ln, r, p };
    const answer = await new Promise<HashAnswer>((take, fail) => {
      this.#waiting.push({ task, take, fail });
      this.#begin();
    });
    if ('failure' in answer) throw new Error(`a password could not be hashed: ${answer.failure}`);
    return answer.key;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { fail } of this.#waiting.splice(0)) fail(new Error('the server is stopping'));
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map(({ worker }) => worker.terminate()));
  }

  #begin(): void {
    if (this.#waiting.length === 0) return;
    if (this.#isStopped) {
      this.#waiting.shift()?.fail(new Error('the server is stopping'));
      return;
    }
    const thread = this.#idle.pop() ?? (this.#busy.size < this.#count ? this.#start() : undefined);
    if (thread === undefined) return;
    const { task, take, fail } = this.#waiting.shift() as Waiting;
    thread.take = take;
    thread.fail = fail;
    this.#busy.add(thread);
    thread.worker.ref();
    thread.worker.postMessage(task);
  }

  #start(): Thread {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { execArgv: [], env: {} });
    const thread: Thread = { worker, fail: undefined, take: undefined };
    worker.on('message', (answer: HashAnswer) => {
      const { take } = thread;
      this.#busy.delete(thread);
      this.#idle.push(thread);
      worker.unref();
      take?.(answer);
      this.#begin();
    });
    let reason = new Error('the thread that hashes passwords ended');
    worker.on('error', (error) => {
      reason = error;
    });
    worker.on('exit', () => {
      const index = this.#idle.indexOf(thread);
      if (index >= 0) this.#idle.splice(index, 1);
      if (!this.#busy.delete(thread)) return;
      thread.fail?.(reason);
      // The next task starts another one.
      this.#begin();
    });
    return thread;
  }
}
