/** Jobs and their runs: how they are created, listed and deleted (docs/spec/scoring.md#jobs). */
import type { RecordChange } from '../../model/commands/records.ts';
import { SCORING_RECORDS } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import { changeRecords, listRecords, readRecord, type RecordReader, retried } from '../../records/records.ts';
import type { Asker } from '../asker.ts';
import { JOBS_MAX, SCORING_LIMIT } from '../limits.ts';
import type { RecordParts } from '../records.ts';
import { type JobConfiguration, nextRun } from './configuration.ts';
import {
  JOB_COUNTER_ID,
  JOB_PREFIX,
  jobRecordId,
  runBlobs,
  runPrefix,
  runRecordId,
  type StoredJob,
  type StoredRun,
} from './stored.ts';

/** Runs that are deleted in one command. */
const RUNS_AT_ONCE = 200;

interface Counter {
  readonly lastId: number;
  readonly count: number;
}

async function readCounter(
  parts: RecordReader,
  tenant: number,
): Promise<{ text: string | undefined; counter: Counter }> {
  const text = await readRecord(parts, tenant, SCORING_RECORDS, JOB_COUNTER_ID);
  return { text, counter: text === undefined ? { lastId: 0, count: 0 } : (JSON.parse(text) as Counter) };
}

const counterChange = (expected: string | undefined, counter: Counter): RecordChange => ({
  collection: SCORING_RECORDS,
  id: JOB_COUNTER_ID,
  expected,
  value: JSON.stringify(counter),
});

/** @throws PlatformError 400 where the tenant has as many jobs as it may */
export function createJob(
  parts: RecordParts,
  { tenant, user }: Asker,
  configuration: JobConfiguration,
  isGroup: boolean,
): Promise<StoredJob> {
  return retried(parts, async () => {
    const { text, counter } = await readCounter(parts, tenant);
    if (counter.count >= JOBS_MAX) {
      parts.refusals.count(SCORING_LIMIT.JOBS, { tenant, user });
      throw new PlatformError('scoring/too-many', { limit: SCORING_LIMIT.JOBS, maximum: JOBS_MAX });
    }
    const jobId = counter.lastId + 1;
    const now = parts.now();
    const job: StoredJob = {
      ...configuration,
      jobId,
      jobCreationDate: new Date(now).toISOString(),
      user,
      isGroup,
      nextAt: nextRun(configuration.jobSchedule, now) ?? null,
      lastNumber: 0,
    };
    const change = {
      collection: SCORING_RECORDS,
      id: jobRecordId(jobId),
      expected: undefined,
      value: JSON.stringify(job),
    };
    const audit = { type: 'Scoring', activity: 'Job created', text: `Job created: ${jobId}, ${job.jobName}`, user };
    await changeRecords(
      parts,
      tenant,
      [change, counterChange(text, { lastId: jobId, count: counter.count + 1 })],
      [audit],
    );
    return job;
  });
}

/** In the order of their ids. */
export async function listJobs(parts: RecordReader, tenant: number): Promise<StoredJob[]> {
  return (await jobTexts(parts, tenant)).map((text) => JSON.parse(text) as StoredJob);
}

/** With those that are being deleted. */
export async function allJobs(parts: RecordReader, tenant: number): Promise<StoredJob[]> {
  const rows = await listRecords(parts, tenant, SCORING_RECORDS, JOB_PREFIX);
  return rows.map(({ value }) => JSON.parse(value) as StoredJob);
}

/** Most texts need not be read for it. */
const isBeingDeleted = (text: string): boolean =>
  text.includes('"isDeleted":true') && (JSON.parse(text) as StoredJob).isDeleted === true;

/** @param text a job's id as it stands in a path @throws PlatformError 404 */
export async function loadJob(parts: RecordReader, tenant: number, text: string): Promise<StoredJob> {
  const value = /^\d{1,12}$/.test(text)
    ? await readRecord(parts, tenant, SCORING_RECORDS, jobRecordId(Number(text)))
    : undefined;
  if (value === undefined || isBeingDeleted(value)) throw new PlatformError('scoring/job-not-found', { name: text });
  return JSON.parse(value) as StoredJob;
}

/** Texts of all jobs, in the order of their ids: a page of them is read. */
export async function jobTexts(parts: RecordReader, tenant: number): Promise<string[]> {
  const rows = await listRecords(parts, tenant, SCORING_RECORDS, JOB_PREFIX);
  return rows.map(({ value }) => value).filter((value) => !isBeingDeleted(value));
}

/** Texts of all runs, the latest first. */
export async function runTexts(parts: RecordReader, tenant: number, jobId: number): Promise<string[]> {
  const rows = await listRecords(parts, tenant, SCORING_RECORDS, runPrefix(jobId));
  return rows.map(({ value }) => value).reverse();
}

export async function findRun(
  parts: RecordReader,
  tenant: number,
  jobId: number,
  number: number,
): Promise<StoredRun | undefined> {
  const text = await readRecord(parts, tenant, SCORING_RECORDS, runRecordId(jobId, number));
  return text === undefined ? undefined : (JSON.parse(text) as StoredRun);
}

/** @param text a run's number as it stands in a path @throws PlatformError 404 */
export async function loadRun(parts: RecordReader, tenant: number, jobId: number, text: string): Promise<StoredRun> {
  const run = /^\d{1,12}$/.test(text) ? await findRun(parts, tenant, jobId, Number(text)) : undefined;
  if (run === undefined) throw new PlatformError('scoring/run-not-found', { name: text });
  return run;
}

/**
 * Deletes the runs of a job, a part at a time, and then the job. It is not shown any more from the beginning on: what a
 * crash interrupts is finished by the node that runs the jobs.
 *
 * @throws PlatformError 404
 */
export async function removeJob(parts: RecordParts, { tenant, user }: Asker, text: string): Promise<void> {
  await finishRemoval(parts, tenant, await markDeleted(parts, tenant, user, text));
}

/** @param job marked as deleted; several may do so at the same time */
export async function finishRemoval(parts: RecordParts, tenant: number, job: StoredJob): Promise<void> {
  const { jobId, jobName, user: creator, deletedBy: user = creator } = job;
  // Again where a run has ended meanwhile.
  const removeSome = async (): Promise<boolean> => {
    const runs = (await listRecords(parts, tenant, SCORING_RECORDS, runPrefix(jobId))).slice(0, RUNS_AT_ONCE);
    if (runs.length > 0) await removeRuns(parts, tenant, runs);
    return runs.length > 0;
  };
  while (await retried(parts, removeSome));
  const audit = { type: 'Scoring', activity: 'Job deleted', text: `Job deleted: ${jobId}, ${jobName}`, user };
  await retried(parts, async () => {
    const id = jobRecordId(jobId);
    const expected = await readRecord(parts, tenant, SCORING_RECORDS, id);
    if (expected === undefined) return;
    const { text: counted, counter } = await readCounter(parts, tenant);
    const change = { collection: SCORING_RECORDS, id, expected, value: undefined };
    await changeRecords(
      parts,
      tenant,
      [change, counterChange(counted, { ...counter, count: counter.count - 1 })],
      [audit],
    );
  });
}

/** A job that is being deleted begins no run any more. */
function markDeleted(parts: RecordParts, tenant: number, user: string, text: string): Promise<StoredJob> {
  return retried(parts, async () => {
    const job = await loadJob(parts, tenant, text);
    const deleted: StoredJob = { ...job, isDeleted: true, deletedBy: user, nextAt: null };
    const id = jobRecordId(job.jobId);
    await changeRecords(parts, tenant, [
      { collection: SCORING_RECORDS, id, expected: JSON.stringify(job), value: JSON.stringify(deleted) },
    ]);
    return deleted;
  });
}

/** Removes records of runs, and then their results. */
export async function removeRuns(
  parts: Pick<RecordParts, 'commands' | 'now' | 'retiredContents'>,
  tenant: number,
  runs: readonly { readonly id: string; readonly value: string }[],
): Promise<void> {
  await changeRecords(
    parts,
    tenant,
    runs.map(({ id, value }) => ({ collection: SCORING_RECORDS, id, expected: value, value: undefined })),
  );
  for (const { value } of runs) for (const blob of runBlobs(value)) parts.retiredContents.retire(blob, bytesOf(value));
}

function bytesOf(value: string): number {
  return ((JSON.parse(value) as StoredRun).pages ?? []).reduce((sum, bytes) => sum + bytes, 0);
}

/** Deletes all jobs, one after the other: what was deleted meanwhile does not count as an error. */
export async function removeJobs(parts: RecordParts, asker: Asker): Promise<void> {
  for (const { jobId } of await listJobs(parts, asker.tenant)) {
    try {
      await removeJob(parts, asker, String(jobId));
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === 'scoring/job-not-found')) throw error;
    }
  }
}
