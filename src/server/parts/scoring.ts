/** Scoring: the models of tenants, and the workers that apply them. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../config/project.ts';
import { documentReferences } from '../../jobs/files/blob-sweeper.ts';
import { SCORING_MODELS, SCORING_RESOURCES, scoringBlobs } from '../../model/entities/scoring/model.ts';
import { Scoring } from '../../scoring/scoring.ts';
import type { ServerCore } from '../cores/core.ts';
import type { FilesPart } from './files.ts';
import type { Part } from './part.ts';

export interface ScoringPart extends Part {
  readonly scoring: Scoring;
}

const SPOOL_DIRECTORY = 'scoring';

export function scoringPart(core: ServerCore, { files }: FilesPart): ScoringPart {
  const { config, documents, metrics, log } = core;
  const tenants = (): number[] => core.tenants.numbers;
  core.blobReferences.push(
    documentReferences(documents, tenants, SCORING_MODELS, scoringBlobs),
    documentReferences(documents, tenants, SCORING_RESOURCES, scoringBlobs),
  );
  const scoring = new Scoring({
    blobs: files,
    documents,
    refusals: metrics,
    log,
    spoolDirectory: join(core.data, SPOOL_DIRECTORY),
    diskRefusal: () => (core.freeBytes < config.diskFreeMinBytes ? 'disk/free-bytes' : undefined),
    isOnlyTenant: () => core.tenants.isOnlyOne,
    threads: config.scoringThreads === 0 ? availableParallelism() : config.scoringThreads,
    memoryBytesMax: config.scoringMemoryMaxBytes,
    taskMsMax: config.scoringTaskMaxMs,
    version: VERSION,
  });
  metrics.gauge(
    'millrace_scoring_records',
    'Records that models have scored since the start',
    () => scoring.scoredCount,
  );
  metrics.gauge('millrace_scoring_tasks_waiting', 'Tasks of models that wait for a worker', () => scoring.waitingCount);
  metrics.gauge('millrace_scoring_batches', 'Batches under way', () => scoring.batchCount);
  metrics.gauge(
    'millrace_scoring_spool_bytes',
    'Bytes of results of batches that are not sent yet',
    () => scoring.spoolBytes,
  );
  metrics.gauge(
    'millrace_scoring_workers_lost',
    'Scoring workers that were lost and replaced',
    () => scoring.pool.lostCount,
  );
  return {
    scoring,
    recordsChanged: (tenant, changes) => scoring.recordsChanged(tenant, changes),
    stop: () => scoring.stop(),
  };
}
