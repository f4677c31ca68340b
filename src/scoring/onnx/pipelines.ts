/** Pipelines of scripts around ONNX models, as records of a tenant (docs/spec/scoring.md#pipelines). */
import type { RecordChange } from '../../model/commands/records.ts';
import { SCORING_RECORDS, SCORING_RESOURCES, modelId } from '../../model/entities/scoring/model.ts';
import {
  PIPELINES_TOTAL_ID,
  PIPELINE_PREFIX,
  pipelineId,
  scriptsOf,
  type StoredPipeline,
} from '../../model/entities/scoring/pipeline.ts';
import { PlatformError } from '../../model/errors.ts';
import { listRecords, readRecord, retried } from '../../records/records.ts';
import type { RecordReader } from '../../records/records.ts';
import { NO_SUM, changeWithin, sumOfRecord, type KeptTotal } from '../../records/totals.ts';
import type { Asker } from '../asker.ts';
import { loadModel, loadResource, type RecordParts } from '../records.ts';
import { ONNX_LIMIT, PIPELINES_BYTES_MAX, PIPELINES_MAX } from './limits.ts';

const totalOf = (tenant: number): KeptTotal => ({
  tenant,
  collection: SCORING_RECORDS,
  id: PIPELINES_TOTAL_ID,
  bounds: {
    count: { maximum: PIPELINES_MAX, limit: ONNX_LIMIT.PIPELINES, error: 'scoring/too-many' },
    bytes: { maximum: PIPELINES_BYTES_MAX, limit: ONNX_LIMIT.PIPELINE_BYTES, error: 'scoring/too-large' },
  },
  sumOf: (record) => (record.id.startsWith(PIPELINE_PREFIX) ? sumOfRecord(record) : NO_SUM),
  records: (ports) => listRecords(ports, tenant, SCORING_RECORDS, PIPELINE_PREFIX),
});

/** In the order of their names. */
export async function listPipelines(parts: RecordReader, tenant: number): Promise<StoredPipeline[]> {
  const rows = await listRecords(parts, tenant, SCORING_RECORDS, PIPELINE_PREFIX);
  return rows.map(({ value }) => JSON.parse(value) as StoredPipeline);
}

/** @throws PlatformError 404. */
export async function loadPipeline(parts: RecordReader, tenant: number, name: string): Promise<StoredPipeline> {
  const text = name.includes('\n') ? undefined : await readRecord(parts, tenant, SCORING_RECORDS, pipelineId(name));
  if (text === undefined) throw new PlatformError('scoring/pipeline-not-found', { name });
  return JSON.parse(text) as StoredPipeline;
}

/** @throws PlatformError 404 for a model or a script that is not there, 409, 400 at a bound. */
export async function createPipeline(parts: RecordParts, asker: Asker, pipeline: StoredPipeline): Promise<void> {
  const { tenant } = asker;
  const { pipelineName: name } = pipeline;
  await retried(parts, async () => {
    if ((await readRecord(parts, tenant, SCORING_RECORDS, pipelineId(name))) !== undefined)
      throw new PlatformError('scoring/pipeline-exists', { name });
    await loadModel(parts, tenant, 'onnx', pipeline.modelName);
    const kept = await Promise.all(scriptsOf(pipeline).map((script) => keptScript(parts, tenant, script)));
    await store(parts, asker, name, { value: JSON.stringify(pipeline) }, kept);
  });
}

/** @throws PlatformError 404. */
export async function removePipeline(parts: RecordParts, asker: Asker, name: string): Promise<void> {
  await retried(parts, async () => {
    const pipeline = await loadPipeline(parts, asker.tenant, name);
    await store(parts, asker, name, { expected: JSON.stringify(pipeline) });
  });
}

/** All of them, one after the other: what was deleted meanwhile does not count as an error. */
export async function removePipelines(parts: RecordParts, asker: Asker): Promise<void> {
  for (const { pipelineName } of await listPipelines(parts, asker.tenant)) {
    try {
      await removePipeline(parts, asker, pipelineName);
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === 'scoring/pipeline-not-found')) throw error;
    }
  }
}

/**
 * For the deletion of a script: no pipeline is made meanwhile that needs it. As each changes the sum over all, that is
 * what has to stay. @throws PlatformError as `requireUnused`.
 */
export async function unusedGuard(
  parts: RecordReader,
  tenant: number,
  script: string,
): Promise<readonly RecordChange[]> {
  const sum = await readRecord(parts, tenant, SCORING_RECORDS, PIPELINES_TOTAL_ID);
  await requireUnused(parts, tenant, [script]);
  return [{ collection: SCORING_RECORDS, id: PIPELINES_TOTAL_ID, expected: sum, value: sum }];
}

/** @throws PlatformError 500 that names the pipelines which need one of the scripts. */
export async function requireUnused(parts: RecordReader, tenant: number, scripts: readonly string[]): Promise<void> {
  const pipelines = await listPipelines(parts, tenant);
  for (const name of scripts) {
    const users = pipelines.filter((pipeline) => scriptsOf(pipeline).includes(name));
    if (users.length === 0) continue;
    const names = users.map(({ pipelineName }) => `'${pipelineName}'`).join(', ');
    throw new PlatformError('scoring/resource-in-use', { name, pipelines: names });
  }
}

/** A script that is not deleted before the pipeline is stored. @throws PlatformError 404. */
async function keptScript(parts: RecordReader, tenant: number, name: string): Promise<RecordChange> {
  const stored = JSON.stringify(await loadResource(parts, tenant, 'onnx', name));
  return { collection: SCORING_RESOURCES, id: modelId('onnx', name), expected: stored, value: stored };
}

async function store(
  parts: RecordParts,
  { tenant, user }: Asker,
  name: string,
  { expected, value }: { readonly expected?: string; readonly value?: string },
  kept: readonly RecordChange[] = [],
): Promise<void> {
  const activity = `Pipeline ${value === undefined ? 'deleted' : 'created'}`;
  const change = { collection: SCORING_RECORDS, id: pipelineId(name), expected, value };
  await changeWithin(
    parts,
    totalOf(tenant),
    [change, ...kept],
    [{ type: 'Scoring', activity, text: `${activity}: ${name}`, user }],
  );
}
