/**
 * Works off what tenants have under way as records of the collection `job`: of each tenant the first job that is due, a
 * page at a time, so that none starves another. A job that fails, or waits for something, is left alone for a while,
 * and does not hold up others. A job is there until it is done: what a crash, or a shard that moves, interrupts goes on at
 * its last page.
 */
import { BackgroundLoop } from './background-loop.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { RecordChange } from '../model/commands/records.ts';
import type { Log } from '../ports/log.ts';

/** After it all tenants are looked at again, in case no one has told of a job. */
const PASS_MS = 60_000;
/** After a page that failed, for instance since the server is busy: doubles from first to last. */
const RETRY_FIRST_MS = 1_000;
const RETRY_LAST_MS = 300_000;
/** A job that waits for a store is looked at again. */
const LATER_MS = 500;
/** Jobs that are left alone for now; beyond it all of a tenant are. */
const PAUSED_MAX = 10_000;
/** Jobs of a tenant that are read at a time. */
const LIST_MAX = 50;
/** In the place of an id: all jobs of a tenant. */
const ALL = '';

/** What a page has led to: `later` when it waits for what goes on by itself. */
export type JobPage = 'more' | 'later';

export interface TenantJobsOptions {
  /** Ids of these records begin so. */
  readonly prefix: string;
  /** What a job is, for the log. */
  readonly name: string;
  readonly documents: DocumentReader;
  readonly tenants: () => Iterable<number>;
  /** Whether this process carries out the jobs of a tenant: one of a cluster. */
  readonly isMine: (tenant: number) => boolean;
  /** Does a page of a job and stores how far it is, or removes it. Repeatable. Breaks off when `isStopped` says so. */
  readonly page: (tenant: number, job: Job, isStopped: () => boolean) => Promise<JobPage>;
  /**
   * Asked after a page that failed, `failures` times since it went on last: ends a job that would fail for ever, and
   * tells its tenant. @returns whether it is ended; without it none is.
   */
  readonly giveUp?: (tenant: number, job: Job, error: unknown, failures: number) => Promise<boolean>;
  /** Growing, ms; `performance.now()` when absent. */
  readonly now?: () => number;
  readonly log: Log;
}

export interface Job {
  readonly id: string;
  readonly value: string;
}
/** `failures` since it went on last. */
interface Pause {
  readonly until: number;
  readonly failures: number;
}

export class TenantJobs {
  /** Pages that failed. */
  failuresCount = 0;
  /** Jobs that were ended for it. */
  givenUpCount = 0;
  readonly #options: TenantJobsOptions;
  readonly #loop = new BackgroundLoop();
  readonly #now: () => number;
  /** Tenants that may have jobs. */
  readonly #due = new Set<number>();
  /** Jobs that are left alone, by tenant and id; the id is empty for all of a tenant. */
  readonly #paused = new Map<number, Map<string, Pause>>();
  #pausedCount = 0;
  #passAt = 0;

  constructor(options: TenantJobsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Goes on with what an earlier process left. */
  start(): void {
    this.#loop.repeat(
      RETRY_FIRST_MS,
      async () => {
        if (await this.step()) return 0;
        const nextAt = Math.min(this.#passAt, ...Array.from(this.#paused.values(), dueAt));
        return Math.max(1, nextAt - this.#now());
      },
      (error) => {
        this.#options.log.warn(
          { err: error, retryMs: RETRY_FIRST_MS },
          `${this.#options.name} could not be looked for; trying again`,
        );
      },
    );
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (!changes.some(({ collection, id }) => collection === 'job' && id.startsWith(this.#options.prefix))) return;
    this.#due.add(tenant);
    this.#loop.wake();
  }

  /** Shards have come from another node: any tenant may have a job that is this process's now. */
  lookAtAll(): void {
    this.#passAt = 0;
    this.#loop.wake();
  }

  /**
   * One page of the first due job of each tenant. @returns false when there was none: nothing is to be done before
   * something is due or told.
   */
  async step(): Promise<boolean> {
    const startAt = this.#now();
    if (startAt >= this.#passAt) {
      for (const tenant of this.#options.tenants()) this.#due.add(tenant);
      this.#passAt = startAt + PASS_MS;
    }
    for (const [tenant, jobs] of this.#paused) if (dueAt(jobs) <= startAt) this.#due.add(tenant);
    let isMore = false;
    for (const tenant of [...this.#due]) {
      if (this.#loop.isStopped) return false;
      // Before it is looked at: who is told of meanwhile is looked at again.
      this.#due.delete(tenant);
      if (!(await this.#page(tenant))) continue;
      this.#due.add(tenant);
      isMore = true;
    }
    return isMore;
  }

  /** @returns whether the tenant may have another page to be done at once. */
  async #page(tenant: number): Promise<boolean> {
    const { isMine, page } = this.#options;
    let job: Job | undefined;
    try {
      if (!isMine(tenant)) {
        this.#forget(tenant);
        return false;
      }
      job = await this.#next(tenant);
      if (job === undefined) return false;
      const result = await page(tenant, job, () => this.#loop.isStopped);
      if (result === 'later')
        this.#pause(tenant, job.id, { until: this.#now() + LATER_MS, failures: this.#failuresOf(tenant, job.id) });
      else this.#resume(tenant, job.id);
    } catch (error) {
      await this.#failed(tenant, job, error);
    }
    // Those behind it have their turn.
    return true;
  }

  /** The first job of the tenant that is not paused. Pauses of jobs that are gone are forgotten. */
  async #next(tenant: number): Promise<Job | undefined> {
    const { documents, prefix } = this.#options;
    const paused = this.#paused.get(tenant);
    const now = this.#now();
    if ((paused?.get(ALL)?.until ?? 0) > now) return undefined;
    const seen = new Set<string>();
    for (let after = ''; ; ) {
      const jobs = await documents.list('job', tenant, prefix, { limit: LIST_MAX, ...(after === '' ? {} : { after }) });
      this.#resume(tenant, ALL);
      for (const job of jobs) {
        if ((paused?.get(job.id)?.until ?? 0) <= now) return job;
        seen.add(job.id);
      }
      if (jobs.length < LIST_MAX) break;
      after = jobs[jobs.length - 1].id;
    }
    for (const id of paused?.keys() ?? []) if (!seen.has(id)) this.#resume(tenant, id);
    return undefined;
  }

  #failuresOf(tenant: number, id: string): number {
    return this.#paused.get(tenant)?.get(id)?.failures ?? 0;
  }

  /** @param job undefined when the jobs could not be read. */
  async #failed(tenant: number, job: Job | undefined, error: unknown): Promise<void> {
    this.failuresCount += 1;
    const id = job?.id ?? ALL;
    const failures = this.#failuresOf(tenant, id) + 1;
    if (job !== undefined && (await this.#isGivenUp(tenant, job, error, failures))) return this.#resume(tenant, id);
    const retryMs = Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_LAST_MS);
    this.#pause(tenant, id, { until: this.#now() + retryMs, failures });
    this.#options.log.warn(
      { err: error, tenant, job: id, failures, retryMs },
      `${this.#options.name} could not go on; trying again`,
    );
  }

  async #isGivenUp(tenant: number, job: Job, error: unknown, failures: number): Promise<boolean> {
    const { giveUp, log, name } = this.#options;
    try {
      if ((await giveUp?.(tenant, job, error, failures)) !== true) return false;
    } catch (failure) {
      log.warn({ err: failure, tenant, job: job.id }, `${name} could not be ended`);
      return false;
    }
    this.givenUpCount += 1;
    log.error(
      { err: error, tenant, job: job.id, failures },
      `${name} has failed for good: it is ended, and what it has not done stays undone`,
    );
    return true;
  }

  #pause(tenant: number, id: string, pause: Pause): void {
    const jobs = this.#paused.get(tenant) ?? new Map<string, Pause>();
    const key = jobs.has(id) || this.#pausedCount < PAUSED_MAX ? id : ALL;
    if (!jobs.has(key)) this.#pausedCount += 1;
    jobs.set(key, pause);
    this.#paused.set(tenant, jobs);
  }

  #resume(tenant: number, id: string): void {
    const jobs = this.#paused.get(tenant);
    if (jobs?.delete(id) !== true) return;
    this.#pausedCount -= 1;
    if (jobs.size === 0) this.#paused.delete(tenant);
  }

  #forget(tenant: number): void {
    for (const id of [...(this.#paused.get(tenant)?.keys() ?? [])]) this.#resume(tenant, id);
  }
}

const dueAt = (jobs: ReadonlyMap<string, Pause>): number =>
  Math.min(...Array.from(jobs.values(), ({ until }) => until));
