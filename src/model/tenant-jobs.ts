/**
 * Works off what tenants have under way as records of the collection `job`: of each tenant the first job, a page at a time, so that none starves
 * another and what fails for one holds up nobody else. A job is there until it is done: what a crash, or a shard that moves, interrupts goes on
 * at its last page.
 */
import { BackgroundLoop } from './background-loop.ts';
import type { DocumentReader, RecordChange } from './command.ts';
import type { Log } from './log.ts';

/** After it all tenants are looked at again, in case nobody has told of a job. */
const PASS_MS = 60_000;
/** After a page that failed, for instance since the server is busy: for its tenant only. */
const RETRY_MS = 1_000;

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
  readonly page: (tenant: number, job: { readonly id: string; readonly value: string }, isStopped: () => boolean) => Promise<void>;
  readonly log: Log;
}

export class TenantJobs {
  readonly #options: TenantJobsOptions;
  readonly #loop = new BackgroundLoop();
  /** Tenants that may have jobs. */
  readonly #due = new Set<number>();
  /** Tenant -> when it is tried again; `performance.now()`. */
  readonly #retryAt = new Map<number, number>();
  /** Tenant -> id of its job that failed: those behind it come first. */
  readonly #failed = new Map<number, string>();
  #passAt = 0;
  /** Something has come since the last look. */
  #isWanted = false;

  constructor(options: TenantJobsOptions) {
    this.#options = options;
  }

  /** Goes on with what an earlier process left. */
  start(): void {
    this.#loop.start(() => this.#run());
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (!changes.some(({ collection, id }) => collection === 'job' && id.startsWith(this.#options.prefix))) return;
    this.#due.add(tenant);
    this.#isWanted = true;
    this.#loop.wake();
  }

  /** Shards have come from another node: any tenant may have a job that is this process's now. */
  lookAtAll(): void {
    this.#passAt = 0;
    this.#isWanted = true;
    this.#loop.wake();
  }

  /** One page of the first job of each tenant. @returns false when there was none, or all failed. */
  async step(): Promise<boolean> {
    const startAt = performance.now();
    if (startAt >= this.#passAt) {
      for (const tenant of this.#options.tenants()) this.#due.add(tenant);
      this.#passAt = startAt + PASS_MS;
    }
    let isMore = false;
    for (const tenant of [...this.#due]) {
      if (this.#loop.isStopped) return false;
      if ((this.#retryAt.get(tenant) ?? 0) <= performance.now() && await this.#guarded(tenant)) isMore = true;
    }
    return isMore;
  }

  async #guarded(tenant: number): Promise<boolean> {
    // Before it is looked at: who is told of meanwhile is looked at again.
    this.#due.delete(tenant);
    this.#retryAt.delete(tenant);
    try {
      const isMore = await this.#page(tenant);
      if (isMore) this.#due.add(tenant);
      return isMore;
    } catch (error) {
      this.#due.add(tenant);
      this.#retryAt.set(tenant, performance.now() + RETRY_MS);
      this.#options.log.warn({ err: error, tenant, retryMs: RETRY_MS }, `${this.#options.name} could not go on; trying again`);
      return false;
    }
  }

  /** @returns whether the tenant had a job. */
  async #page(tenant: number): Promise<boolean> {
    const { documents, isMine, page, prefix } = this.#options;
    if (!isMine(tenant)) return false;
    const after = this.#failed.get(tenant);
    this.#failed.delete(tenant);
    const [behind] = after === undefined ? [] : await documents.list('job', tenant, prefix, { after, limit: 1 });
    const [job] = behind === undefined ? await documents.list('job', tenant, prefix, { limit: 1 }) : [behind];
    if (job === undefined) return false;
    try {
      await page(tenant, job, () => this.#loop.isStopped);
    } catch (error) {
      this.#failed.set(tenant, job.id);
      throw error;
    }
    if (after !== undefined && behind !== undefined) this.#failed.set(tenant, after);
    return true;
  }

  async #run(): Promise<void> {
    while (!this.#loop.isStopped) {
      this.#isWanted = false;
      const isMore = await this.step();
      if (!isMore && !this.#isWanted) await this.#loop.pause(this.#retryAt.size > 0 ? RETRY_MS : PASS_MS, { isIdle: true });
    }
  }
}
