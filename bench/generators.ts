/** The suite's side of a generator process: start it, hand it a job, follow its marks, take its result. */
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endProcess, GENERATOR_CORE, startProcess } from './processes.ts';
import type { Answer, Job } from './generator/job.ts';

const ENTRY = fileURLToPath(new URL('./generator/main.js', import.meta.url));
/** No job takes longer than its own times and this. */
const SLACK_MS = 180_000;

/** Called at the edges of the measured window; the generator does not wait for them. */
export interface Marks {
  connected?: () => void;
  windowStart?: () => void;
  windowEnd?: () => void;
}

export class Generator {
  private readonly child: ChildProcess;
  private readonly settled: Promise<unknown>;
  private readonly connection: Promise<void>;

  constructor(job: Job, marks: Marks = {}) {
    this.child = startProcess({ command: process.execPath, args: [ENTRY], core: GENERATOR_CORE, channel: true });
    let connected = (): void => {};
    this.connection = new Promise((resolve) => {
      connected = resolve;
    });
    const limitMs = SLACK_MS + ('measureMs' in job ? job.measureMs : 0);
    this.settled = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the generator (${job.kind}) did not finish in time`)), limitMs);
      timer.unref();
      this.child.once('exit', (code, signal) =>
        reject(new Error(`the generator (${job.kind}) ended: ${signal ?? code}`)),
      );
      this.child.on('message', (message) => {
        const answer = message as Answer;
        if (answer.kind === 'connected') {
          connected();
          marks.connected?.();
        } else if (answer.kind === 'window-start') marks.windowStart?.();
        else if (answer.kind === 'window-end') marks.windowEnd?.();
        else if (answer.kind === 'failed') reject(new Error(`the generator (${job.kind}): ${answer.message}`));
        else resolve(answer.result);
      });
    });
    this.settled.catch(() => connected()); // whoever waits for the connections learns the failure from result()
    this.child.send(job);
  }

  /** @returns when the connections are open, or the job has failed. */
  connected(): Promise<void> {
    return this.connection;
  }

  /** Lets a job that holds something go. */
  finish(): void {
    if (this.child.connected) this.child.send({ kind: 'finish' });
  }

  /** @returns the job's figures; the process has ended by then. @throws what made the job fail. */
  async result<Result>(): Promise<Result> {
    try {
      return (await this.settled) as Result;
    } finally {
      this.finish();
      await endProcess(this.child);
    }
  }

  /** Ends the process at once, whatever it does. */
  async kill(): Promise<void> {
    await endProcess(this.child, 'SIGKILL');
  }
}

/** Runs a job from start to end. */
export function generate<Result>(job: Job, marks: Marks = {}): Promise<Result> {
  return new Generator(job, marks).result<Result>();
}
