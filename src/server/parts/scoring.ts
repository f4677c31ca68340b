/** Scoring: the models of tenants, and the workers that apply them. */
import { join } from 'node:path';
import { VERSION } from '../../config/project.ts';
import { documentReferences } from '../../jobs/files/blob-sweeper.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';
import {
  SCORING_MODELS,
  SCORING_RECORDS,
  SCORING_RESOURCES,
  scoringBlobs,
} from '../../model/entities/scoring/model.ts';
import { JobRunner } from '../../scoring/jobs/runner.ts';
import { RUN_PREFIX, runBlobs } from '../../scoring/jobs/stored.ts';
import { TRAINING_PREFIX, trainingBlobs, Trainings } from '../../scoring/training/trainings.ts';
import { Scoring } from '../../scoring/scoring.ts';
import { defaultThreads, thisMachine } from '../../scoring-workers/threads.ts';
import type { ClockTrust } from '../../operate/clock-trust.ts';
import type { ServerCore } from '../cores/core.ts';
import type { FilesPart } from './files.ts';
import type { Part } from './part.ts';

export interface ScoringPart extends Part {
  readonly scoring: Scoring;
  readonly trainings: Trainings;
}

const SPOOL_DIRECTORY = 'scoring';

export function scoringPart(core: ServerCore, files: FilesPart, clock: ClockTrust): ScoringPart {
  const { config, documents, metrics, log } = core;
  const tenants = (): number[] => core.tenants.numbers;
  core.blobReferences.push(
    documentReferences(documents, tenants, SCORING_MODELS, scoringBlobs),
    documentReferences(documents, tenants, SCORING_RESOURCES, scoringBlobs),
    documentReferences(documents, tenants, SCORING_RECORDS, (text, id) =>
      id.startsWith(RUN_PREFIX) ? runBlobs(text) : id.startsWith(TRAINING_PREFIX) ? trainingBlobs(text) : [],
    ),
  );
  const records = metrics.counter('millrace_scoring_records_total', 'Records that models have scored', []);
  const lost = metrics.counter(
    'millrace_scoring_workers_lost_total',
    'Scoring workers that were lost and replaced',
    [],
  );
  const scoring = new Scoring({
    onScored: (count) => records.inc(count),
    onWorkerLost: () => lost.inc(),
    blobs: files.files,
    documents,
    refusals: metrics,
    log,
    spoolDirectory: join(core.data, SPOOL_DIRECTORY),
    diskRefusal: () => (core.freeBytes < config.diskFreeMinBytes ? 'disk/free-bytes' : undefined),
    isOnlyTenant: () => core.tenants.isOnlyOne,
    threads:
      config.scoringThreads === 0 ? defaultThreads(thisMachine(), config.scoringMemoryMaxBytes) : config.scoringThreads,
    memoryBytesMax: config.scoringMemoryMaxBytes,
    taskMsMax: config.scoringTaskMaxMs,
    version: VERSION,
  });
  const trainings = new Trainings({
    pool: scoring.pool,
    uploadTurns: scoring.uploadTurns,
    blobs: files.files,
    refusals: metrics,
    log,
    isOnlyTenant: () => core.tenants.isOnlyOne,
    deploy: (records, asker, upload, others) => scoring.uploadModel(records, asker, upload, others),
  });
  metrics.gauge('millrace_scoring_batches', 'Batches of records under way', () => scoring.batches.count);
  metrics.gauge(
    'millrace_scoring_spool_bytes',
    'Bytes of results of batches that are not sent yet',
    () => scoring.spoolBytes,
  );
  const runs = metrics.counter('millrace_scoring_job_runs_total', 'Runs of scoring jobs that have ended, by status', [
    'status',
  ]);
  const jobs = new JobRunner({
    onEnded: (status) => runs.inc({ status }),
    retentionDays: config.retentionDefaultDays,
    clock,
    documents,
    commands: core.commands,
    history: core.historyReader,
    ids: core.ids,
    blobs: files.files,
    retiredContents: files.retiredContents,
    score: (asker, model, values) => scoring.scoreValues(asker, model, values),
    refusals: metrics,
    log,
    now: Date.now,
    tenants,
    isMine: (tenant) => core.isMine(tenant, TENANT_KEY),
    isAlone: core.cluster === undefined,
  });
  metrics.gauge('millrace_scoring_tasks_waiting', 'Tasks of models that wait for a worker', () => scoring.waitingCount);
  return {
    scoring,
    trainings,
    recordsChanged: (tenant, changes) => {
      scoring.recordsChanged(tenant, changes);
      jobs.recordsChanged(tenant, changes);
    },
    start: () => jobs.start(),
    stop: async () => {
      await jobs.stop();
      await scoring.stop();
      // A training under way is told to have failed.
      await trainings.stop();
    },
  };
}
