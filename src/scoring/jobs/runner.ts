/**
 * Runs the jobs of the tenants that this node decides for, when they are due (docs/internals/scoring.md#jobs). That a run
 * begins, and when the job is due next, is one change of records, so a run begins once whichever nodes there are. A run
 * that was under way when its node ended is marked as failed by the node that looks at it next.
 */
import type { Command } from '../../model/commands/command.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { newEvent } from '../../model/entities/event.ts';
import { RETENTION_RULES, RULE_PREFIX, rulesOf } from '../../model/entities/retention.ts';
import { SCORING_RECORDS } from '../../model/entities/scoring/model.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import { PlatformError } from '../../model/errors.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Log } from '../../ports/log.ts';
import {
  changeRecords,
  isChangedMeanwhile,
  listRecords,
  readRecord,
  retried,
  updateRecord,
} from '../../records/records.ts';
import { JOB_RUNS_MAX } from '../limits.ts';
import type { RecordParts } from '../records.ts';
import { shownFault } from '../shown-fault.ts';
import { leftOutTimes, nextRun } from './configuration.ts';
import { type ExecutionParts, executeJob, type Outcome } from './execution.ts';
import { allJobs, finishRemoval, removeRuns } from './jobs.ts';
import { keptSince } from './expiry.ts';
import { RUN_LEASE_MS, RunLease } from './run-lease.ts';
import {
  JOB_PREFIX,
  RUN_EVENT_TYPE,
  jobRecordId,
  runPrefix,
  type RunStatus,
  runRecordId,
  type StoredJob,
  type StoredRun,
} from './stored.ts';

/** Between two looks at what is due. */
const STEP_MS = 500;
/** After it the jobs of all tenants are read again: shards may have come from another node. */
const PASS_MS = 60_000;
/** Runs of this node at the same time, one of a tenant. */
const RUNS_AT_ONCE = 6;
/** Of those that have begun within `NEW_RUN_MS`: some long runs do not hold up all others. */
const NEW_RUNS_AT_ONCE = 2;
const NEW_RUN_MS = 60_000;
/** A longer run fails. */
const RUN_MS_MAX = 3_600_000;
/** Runs after which the oldest ones are looked at. */
const PRUNED_EVERY = 20;
/** Runs that retention rules remove are looked for as often. */
const EXPIRY_MS = 3_600_000;
/** Old runs that are removed in one command. */
const EXPIRED_AT_ONCE = 200;

/** Why a run was ended that might have gone on. */
const reasonOfEnd = (error: unknown): string => {
  const { name, message } = error as Error;
  return name === 'TimeoutError' ? `it took longer than ${RUN_MS_MAX / 1_000} s` : message;
};

export interface JobRunnerOptions extends ExecutionParts, Omit<RecordParts, 'documents'> {
  readonly commands: { request(command: Command): Promise<unknown> };
  readonly ids: IdSource;
  readonly log: Log;
  readonly onEnded: (status: RunStatus) => void;
  /** Of the retention rule that tenants begin with; 0 for none. */
  readonly retentionDays: number;
  /** Nothing is removed by its age while it gives no time. */
  readonly clock: { read(): Promise<number | undefined> };
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  /** Whether this node decides for the records of the tenant. */
  readonly isMine: (tenant: number) => boolean;
  /** There are no other nodes: a run that is not of this process is over. */
  readonly isAlone: boolean;
}

export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #loop = new BackgroundLoop();
  /** When jobs are due, by tenant and job. */
  readonly #due = new Map<number, Map<number, number>>();
  /** Tenants whose jobs have been read since the pass began. */
  readonly #known = new Set<number>();
  /** The tenant whose jobs are being read, and the changes of when they are due that were told meanwhile. */
  #reading: { readonly tenant: number; readonly changed: Map<number, number | null> } | undefined;
  /** Runs under way, by tenant. */
  readonly #running = new Map<
    number,
    {
      readonly jobId: number;
      readonly startedAt: number;
      readonly abort: AbortController;
      readonly done: Promise<void>;
    }
  >();
  #passAt = 0;
  #begunAt = Number.NEGATIVE_INFINITY;
  /** When runs of a tenant were looked at for their age. */
  readonly #expiredAt = new Map<number, number>();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  start(): void {
    this.#loop.repeat(
      STEP_MS,
      () => this.step(),
      (error) => {
        this.#options.log.warn({ err: error }, 'scoring jobs could not be looked at; they are looked at again');
      },
    );
  }

  /** Ends runs that are under way: they are marked as failed. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const { abort } of this.#running.values()) abort.abort(new Error('the server stops'));
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, value } of changes) {
      if (collection !== SCORING_RECORDS || !id.startsWith(JOB_PREFIX)) continue;
      const jobId = Number(id.slice(JOB_PREFIX.length));
      const jobs = this.#due.get(tenant);
      const nextAt = value === undefined ? null : (JSON.parse(value) as StoredJob).nextAt;
      if (this.#reading?.tenant === tenant) this.#reading.changed.set(jobId, nextAt);
      if (nextAt === null) jobs?.delete(jobId);
      else jobs?.set(jobId, nextAt);
      const running = this.#running.get(tenant);
      const isDeleted = value === undefined || (JSON.parse(value) as StoredJob).isDeleted === true;
      if (isDeleted && running?.jobId === jobId) running.abort.abort(new Error('the job was deleted'));
    }
  }

  /** Begins what is due. What fails for one tenant is tried again in the next step, and holds up no other one. */
  async step(): Promise<void> {
    const { tenants, isMine, now, log } = this.#options;
    if (now() >= this.#passAt) {
      this.#known.clear();
      this.#passAt = now() + PASS_MS;
    }
    const mine = new Set([...tenants()].filter((tenant) => isMine(tenant)));
    for (const tenant of this.#due.keys()) if (!mine.has(tenant)) this.#due.delete(tenant);
    const failed: number[] = [];
    let failure: unknown;
    const noteFailure = (tenant: number, error: unknown): void => {
      failed.push(tenant);
      failure ??= error;
    };
    for (const tenant of mine) {
      if (this.#loop.isStopped) return;
      if (this.#known.has(tenant) && this.#due.has(tenant)) continue;
      // To read the jobs of many tenants takes long.
      if (now() >= this.#begunAt + STEP_MS) await this.#beginDue(noteFailure);
      await this.#read(tenant).catch((error: unknown) => noteFailure(tenant, error));
    }
    await this.#beginDue(noteFailure);
    if (failed.length > 0)
      log.warn(
        { err: failure, tenant: failed[0], tenants: failed.length },
        'jobs of tenants could not be read or begun; they are looked at again',
      );
  }

  async #beginDue(noteFailure: (tenant: number, error: unknown) => void): Promise<void> {
    const now = this.#options.now();
    this.#begunAt = now;
    const due: { readonly tenant: number; readonly jobId: number; readonly at: number }[] = [];
    for (const [tenant, jobs] of this.#due) {
      if (this.#running.has(tenant)) continue;
      const [first] = [...jobs].filter(([, at]) => at <= now).sort(([, a], [, b]) => a - b);
      if (first !== undefined) due.push({ tenant, jobId: first[0], at: first[1] });
    }
    // What has been due longest goes first, whichever tenant it is of.
    due.sort((a, b) => a.at - b.at);
    for (const { tenant, jobId } of due) {
      if (this.#loop.isStopped || !this.#hasRoom()) break;
      await this.#begin(tenant, jobId).catch((error: unknown) => noteFailure(tenant, error));
    }
  }

  #hasRoom(): boolean {
    const since = this.#options.now() - NEW_RUN_MS;
    const isNew = [...this.#running.values()].filter(({ startedAt }) => startedAt > since);
    return this.#running.size < RUNS_AT_ONCE && isNew.length < NEW_RUNS_AT_ONCE;
  }

  /** Jobs of a tenant that came to this node; runs of an earlier process are over. */
  async #read(tenant: number): Promise<void> {
    const jobs = await this.#readDue(tenant);
    for (const job of jobs) {
      const { jobId, lastNumber } = job;
      if (job.isDeleted === true) await this.#finishRemoval(tenant, job);
      else if (lastNumber > 0 && this.#running.get(tenant)?.jobId !== jobId) await this.#endForgotten(tenant, job);
    }
    this.#known.add(tenant);
    const now = this.#options.now();
    if (jobs.length === 0 || now < (this.#expiredAt.get(tenant) ?? 0) + EXPIRY_MS) return;
    this.#expiredAt.set(tenant, now);
    const credible = await this.#options.clock.read();
    if (credible !== undefined) await this.#expire(tenant, jobs, credible);
  }

  /** What was told of them while they were being read is newer. */
  async #readDue(tenant: number): Promise<StoredJob[]> {
    const changed = new Map<number, number | null>();
    this.#reading = { tenant, changed };
    try {
      const jobs = await allJobs(this.#options, tenant);
      const all = new Map(jobs.map(({ jobId, nextAt, isDeleted }) => [jobId, isDeleted === true ? null : nextAt]));
      for (const [jobId, nextAt] of changed) all.set(jobId, nextAt);
      const due = new Map<number, number>();
      for (const [jobId, nextAt] of all) if (nextAt !== null) due.set(jobId, nextAt);
      this.#due.set(tenant, due);
      return jobs;
    } finally {
      this.#reading = undefined;
    }
  }

  /** Runs whose events retention rules remove go with their results. */
  async #expire(tenant: number, jobs: readonly StoredJob[], now: number): Promise<void> {
    const { documents, retentionDays } = this.#options;
    const rules = rulesOf(await listRecords({ documents }, tenant, RETENTION_RULES, RULE_PREFIX), retentionDays);
    for (const job of jobs) {
      const since = keptSince(rules, job, now);
      while (since !== undefined) {
        const oldest = await documents.list(SCORING_RECORDS, tenant, runPrefix(job.jobId), { limit: EXPIRED_AT_ONCE });
        const expired = oldest.filter(({ value }) => {
          const { status, startedAt } = JSON.parse(value) as StoredRun;
          return status !== 'Running' && Date.parse(startedAt) < since;
        });
        if (expired.length > 0) await removeRuns(this.#options, tenant, expired);
        if (expired.length < EXPIRED_AT_ONCE) break;
      }
    }
  }

  /** The request that deleted the job was interrupted. */
  async #finishRemoval(tenant: number, job: StoredJob): Promise<void> {
    try {
      await finishRemoval(this.#options, tenant, job);
    } catch (error) {
      const { jobId } = job;
      this.#options.log.warn({ err: error, tenant, jobId }, 'a scoring job could not be deleted; it is tried again');
    }
  }

  /** @returns whether the last run has ended and has its event; the node that had the tenant may still be at work. */
  async #endForgotten(tenant: number, job: StoredJob): Promise<boolean> {
    const { now, isAlone } = this.#options;
    const { jobId, lastNumber } = job;
    const text = await readRecord(this.#options, tenant, SCORING_RECORDS, runRecordId(jobId, lastNumber));
    const run = text === undefined ? undefined : (JSON.parse(text) as StoredRun);
    if (run === undefined) return true;
    if (run.status !== 'Running') return run.eventId === undefined || this.#tellSafely(tenant, job, run);
    const { until = 0 } = run;
    if (!isAlone && now() <= until) {
      this.#passAt = Math.min(this.#passAt, until + 1);
      return false;
    }
    const outcome: Outcome = { status: 'Failure', messages: ['The server ended while the job was running.'] };
    const ended = await this.#end(tenant, job, outcome);
    return ended === undefined || this.#tellSafely(tenant, job, ended);
  }

  /** One change: the job has its next time, and a run that is under way. */
  async #begin(tenant: number, jobId: number): Promise<void> {
    const { now } = this.#options;
    const id = jobRecordId(jobId);
    const expected = await readRecord(this.#options, tenant, SCORING_RECORDS, id);
    const job = expected === undefined ? undefined : (JSON.parse(expected) as StoredJob);
    const startAt = now();
    if (job === undefined || job.nextAt === null || job.nextAt > startAt) {
      this.#due.get(tenant)?.delete(jobId);
      if (job !== undefined && job.nextAt !== null) this.#due.get(tenant)?.set(jobId, job.nextAt);
      return;
    }
    // Whose end or event could not be stored, or is not known yet.
    if (job.lastNumber > 0 && !(await this.#endForgotten(tenant, job))) return;
    const number = job.lastNumber + 1;
    const next: StoredJob = { ...job, lastNumber: number, nextAt: nextRun(job.jobSchedule, startAt) ?? null };
    const leftOut = leftOutTimes(job.jobSchedule, job.nextAt, startAt);
    const run: StoredRun = {
      number,
      isGroup: job.isGroup,
      startedAt: new Date(startAt).toISOString(),
      status: 'Running',
      until: startAt + RUN_LEASE_MS,
      messages: leftOut === undefined ? [] : [leftOut],
    };
    const runText = JSON.stringify(run);
    try {
      await changeRecords(this.#options, tenant, [
        { collection: SCORING_RECORDS, id, expected, value: JSON.stringify(next) },
        { collection: SCORING_RECORDS, id: runRecordId(jobId, number), expected: undefined, value: runText },
      ]);
    } catch (error) {
      if (!isChangedMeanwhile(error)) throw error;
      return;
    }
    this.#launch(tenant, next, job.nextAt);
  }

  #launch(tenant: number, job: StoredJob, at: number): void {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(RUN_MS_MAX)]);
    const done = this.#run(tenant, job, at, signal).finally(() => {
      this.#running.delete(tenant);
      this.#loop.wake();
    });
    this.#running.set(tenant, { jobId: job.jobId, startedAt: this.#options.now(), abort, done });
  }

  async #run(tenant: number, job: StoredJob, at: number, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const { jobId, lastNumber: number } = job;
    const lease = new RunLease(this.#options, tenant, jobId, number);
    let outcome: Outcome;
    try {
      outcome = await executeJob(this.#options, tenant, job, at, signal);
    } catch (error) {
      log.warn({ err: error, tenant, jobId, number }, 'a run of a scoring job failed');
      // What was ended fails in its own way: the reason of the end counts.
      const reason = signal.aborted ? reasonOfEnd(signal.reason) : shownFault(error);
      outcome = { status: 'Failure', messages: [`The run failed: ${reason}.`] };
    }
    await lease.end();
    let ended: StoredRun | undefined;
    try {
      ended = await this.#end(tenant, job, outcome);
      if (number % PRUNED_EVERY === 0) await this.#prune(tenant, jobId);
    } catch (error) {
      log.warn({ err: error, tenant, jobId, number }, 'the end of a run of a scoring job could not be stored');
      return;
    }
    if (ended !== undefined) await this.#tellSafely(tenant, job, ended);
  }

  /**
   * The run has ended whether its event can be created or not; the record has the id of the event until it is.
   * @returns false where it is to be told again
   */
  async #tellSafely(tenant: number, job: StoredJob, run: StoredRun): Promise<boolean> {
    const { log } = this.#options;
    const { jobId, lastNumber: number } = job;
    try {
      try {
        await this.#tell(tenant, job, run);
      } catch (error) {
        if (!(error instanceof PlatformError && error.status < 500)) throw error;
        log.warn({ err: error, tenant, jobId, number }, 'the event of a run of a scoring job was refused');
      }
      await this.#told(tenant, jobId, number);
      return true;
    } catch (error) {
      log.warn(
        { err: error, tenant, jobId, number },
        'the event of a run of a scoring job could not be created; it is tried again',
      );
      return false;
    }
  }

  /** The event of the run is created, or never will be. */
  async #told(tenant: number, jobId: number, number: number): Promise<void> {
    await updateRecord(this.#options, tenant, SCORING_RECORDS, runRecordId(jobId, number), (text) => {
      if (text === undefined) return undefined;
      const { eventId: _, ...run } = JSON.parse(text) as StoredRun;
      return JSON.stringify(run);
    });
  }

  /** @returns undefined where the job was deleted, or another node has ended the run */
  async #end(tenant: number, job: StoredJob, outcome: Outcome): Promise<StoredRun | undefined> {
    const { now, onEnded, retiredContents, ids } = this.#options;
    const { jobId, lastNumber: number, groupOrDeviceId } = job;
    const id = runRecordId(jobId, number);
    const eventId = String(ids.nextBeside(tenant, Number(groupOrDeviceId)));
    // Errors leave the content to the sweep: the change may have been stored.
    const stored = await retried(this.#options, async () => {
      const expected = await readRecord(this.#options, tenant, SCORING_RECORDS, id);
      const run = expected === undefined ? undefined : (JSON.parse(expected) as StoredRun);
      if (run?.status !== 'Running') return undefined;
      const { until: _, ...rest } = run;
      // It has messages from its beginning where times were left out.
      const status = outcome.status === 'Success' && run.messages.length > 0 ? 'Warning' : outcome.status;
      const messages = [...run.messages, ...outcome.messages];
      const endedAt = new Date(now()).toISOString();
      const ended: StoredRun = { ...rest, ...outcome, status, messages, endedAt, eventId };
      await changeRecords(this.#options, tenant, [
        { collection: SCORING_RECORDS, id, expected, value: JSON.stringify(ended) },
      ]);
      return ended;
    });
    if (stored !== undefined) onEnded(stored.status);
    // No record names these results.
    else if (outcome.blob !== undefined)
      retiredContents.retire(
        outcome.blob,
        (outcome.pages ?? []).reduce((sum, bytes) => sum + bytes, 0),
      );
    return stored;
  }

  /** One event of each run, at the device or group that it is for. */
  async #tell(tenant: number, job: StoredJob, { status, endedAt, eventId }: StoredRun): Promise<void> {
    const { commands, now } = this.#options;
    const { jobId, jobName, groupOrDeviceId, lastNumber: number } = job;
    const text = `Scoring job ${jobId} (${jobName}), run ${number}: ${status}`;
    const sent = {
      type: RUN_EVENT_TYPE,
      time: endedAt,
      source: { id: groupOrDeviceId },
      text,
      [RUN_EVENT_TYPE]: { jobId, jobExecutionNumber: number, jobExecutionStatus: status },
    };
    const { source, ...event } = newEvent(splitMembers(JSON.stringify(sent)));
    await commands.request({
      kind: COMMAND.EVENT_CREATE,
      tenant,
      key: Number(source),
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: now(),
      body: { id: eventId, ...event },
    });
  }

  /** The oldest runs beyond the bound go with their results. */
  async #prune(tenant: number, jobId: number): Promise<void> {
    const runs = await listRecords(this.#options, tenant, SCORING_RECORDS, runPrefix(jobId));
    const tooMany = runs.slice(0, Math.max(0, runs.length - JOB_RUNS_MAX));
    if (tooMany.length > 0) await removeRuns(this.#options, tenant, tooMany);
  }
}
