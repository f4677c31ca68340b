/** One run of a job: what it scores, with which models, and what comes out (docs/spec/scoring.md#jobs). */
import { devicesOfGroup, GroupError } from '../../history/group-members.ts';
import { type DeviceColumns, deviceColumns, type MeasuredColumn } from '../../history/measurements/columns.ts';
import type { StoredModel } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import { type Blobs, BlobTooLarge } from '../../ports/blobs.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Asker } from '../asker.ts';
import { loadGroup } from '../groups.ts';
import { JOB_DEVICE_VALUES_MAX, JOB_DEVICES_MAX, JOB_RESULT_BYTES_MAX, SCORING_LIMIT } from '../limits.ts';
import { loadModel } from '../records.ts';
import { dataWindow, pathOf } from './configuration.ts';
import { Pages } from './pages.ts';
import type { StoredJob, StoredRun } from './stored.ts';

/** Records that one task of a worker scores, and whose results are held at once. */
const RECORDS_AT_ONCE = 2_000;
/** Of a path in a message. */
const PATH_SHOWN = 100;
const MESSAGES_MAX = 100;

export interface ExecutionParts {
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  readonly blobs: Pick<Blobs, 'put'>;
  /** Scores records, elements of a JSON array. @returns theirs in the same form */
  readonly score: (asker: Asker, model: StoredModel, input: Uint8Array) => Promise<Uint8Array>;
}

export type Outcome = Pick<StoredRun, 'status' | 'messages' | 'blob' | 'pages' | 'devices' | 'models'>;

/** A run that cannot be done: why, for its author. */
class Failed extends Error {}

/**
 * @param at when the run was due, ms since 1970
 * @throws where a store or the workers fail: the caller marks the run
 */
export async function executeJob(
  parts: ExecutionParts,
  tenant: number,
  job: StoredJob,
  at: number,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const models = await modelsOf(parts, tenant, job);
    const devices = await devicesOf(parts, tenant, job);
    return await new Execution(parts, tenant, job, models, signal).run(devices, at);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { status: 'Failure', messages: [reason] };
  }
}

/** Reasons that the author of the job can do something about. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof Failed) return error.message;
  if (error instanceof BlobTooLarge)
    return `The results have more than ${JOB_RESULT_BYTES_MAX} bytes (${SCORING_LIMIT.JOB_RESULTS}).`;
  if (error instanceof PlatformError && error.status >= 400 && error.status < 500) return error.message;
  return undefined;
}

async function modelsOf(parts: ExecutionParts, tenant: number, job: StoredJob): Promise<StoredModel[]> {
  const names = await namesOf(parts, tenant, job);
  const models = await Promise.all(names.map((name) => loadModel(parts, tenant, 'pmml', name)));
  const inactive = models.find(({ isActive }) => !isActive);
  if (inactive !== undefined) throw new Failed(`Model '${inactive.name}' is not active.`);
  return models;
}

/** Names of the models: of a group its primary one, or all. A model goes before a group of the same name. */
export async function namesOf(
  parts: Pick<ExecutionParts, 'documents'>,
  tenant: number,
  { modelOrGroup, applyAllModels }: Pick<StoredJob, 'modelOrGroup' | 'applyAllModels'>,
): Promise<readonly string[]> {
  try {
    await loadModel(parts, tenant, 'pmml', modelOrGroup);
    return [modelOrGroup];
  } catch (error) {
    if (!(error instanceof PlatformError && error.code === 'scoring/model-not-found')) throw error;
  }
  try {
    const { models, primaryModel } = await loadGroup(parts, tenant, modelOrGroup);
    return applyAllModels ? models : [primaryModel];
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'scoring/group-not-found')
      throw new PlatformError('scoring/model-not-found', { name: modelOrGroup });
    throw error;
  }
}

async function devicesOf({ documents, history }: ExecutionParts, tenant: number, job: StoredJob): Promise<string[]> {
  const { groupOrDeviceId, isGroup } = job;
  const gone = `Device or group with id ${groupOrDeviceId} does not exist or it is invalid`;
  if (!isGroup) {
    if ((await documents.get('managedObject', tenant, groupOrDeviceId)) === undefined) throw new Failed(gone);
    return [groupOrDeviceId];
  }
  try {
    return await devicesOfGroup({ tenant, documents, history }, groupOrDeviceId, JOB_DEVICES_MAX);
  } catch (error) {
    if (error instanceof GroupError)
      throw new Failed(
        error.message === 'does not exist'
          ? gone
          : `The group ${groupOrDeviceId} ${error.message} (${SCORING_LIMIT.JOB_DEVICES}).`,
      );
    throw error;
  }
}

class Execution {
  readonly #parts: ExecutionParts;
  readonly #tenant: number;
  readonly #job: StoredJob;
  readonly #models: readonly StoredModel[];
  readonly #signal: AbortSignal;
  readonly #messages: string[] = [];
  readonly #pages: number[] = [];
  #devices = 0;
  #untold = 0;

  constructor(
    parts: ExecutionParts,
    tenant: number,
    job: StoredJob,
    models: readonly StoredModel[],
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#job = job;
    this.#models = models;
    this.#signal = signal;
  }

  async run(devices: readonly string[], at: number): Promise<Outcome> {
    const { blobs } = this.#parts;
    const results = { tenant: this.#tenant, user: this.#job.user, isDevice: false };
    const { key } = await blobs.put(this.#content(devices, at), JOB_RESULT_BYTES_MAX, results);
    if (this.#untold > 0) this.#messages.push(`${this.#untold} further messages are not shown.`);
    const hasMessages = this.#messages.length > 0;
    return {
      status: !hasMessages ? 'Success' : this.#devices > 0 ? 'Warning' : 'Failure',
      messages: this.#messages,
      blob: key,
      pages: this.#pages,
      devices: this.#devices,
      models: this.#models.length,
    };
  }

  /** Pages of results, one behind the other, as the devices are scored. */
  async *#content(devices: readonly string[], at: number): AsyncGenerator<Uint8Array> {
    const pages = new Pages(this.#job.jobId);
    const window = dataWindow(this.#job.jobSchedule, at);
    const columns = Object.values(this.#job.modelToDeviceMappings).map((path) => pathOf(path) as MeasuredColumn);
    const query = { tenant: this.#tenant, ...window, columns, valuesMax: JOB_DEVICE_VALUES_MAX };
    for await (const values of deviceColumns(this.#parts.history, query, devices)) {
      this.#signal.throwIfAborted();
      this.#warnOf(values);
      if (values.times.length === 0) continue;
      this.#devices++;
      let refused = 0;
      for (let from = 0; from < values.times.length; from += RECORDS_AT_ONCE) {
        const times = values.times.slice(from, from + RECORDS_AT_ONCE);
        const models = [];
        for (const model of this.#models) {
          const outputs = await this.#score(model, values, from);
          refused += outputs.filter(isRefused).length;
          models.push({ modelName: model.name, outputs });
        }
        for (const page of pages.add({ deviceId: values.deviceId, times, models })) yield this.#page(page);
      }
      if (refused > 0)
        this.#warn(`${refused} records of device ${values.deviceId} could not be scored: their values are not valid.`);
    }
    for (const page of pages.end()) yield this.#page(page);
  }

  #page(text: string): Uint8Array {
    const bytes = Buffer.from(text);
    this.#pages.push(bytes.length);
    return bytes;
  }

  #warnOf({ deviceId, times, columns, isCut }: DeviceColumns): void {
    if (isCut)
      this.#warn(
        `Device ${deviceId} has more than ${JOB_DEVICE_VALUES_MAX} values; the first are scored (${SCORING_LIMIT.JOB_VALUES}).`,
      );
    if (times.length === 0) {
      this.#warn(`Device ${deviceId} has no values of the mapped series.`);
      return;
    }
    const paths = Object.values(this.#job.modelToDeviceMappings);
    columns.forEach((column, i) => {
      if (column.every(Number.isNaN))
        this.#warn(`Device ${deviceId} has no values of ${paths[i]?.slice(0, PATH_SHOWN)}.`);
    });
  }

  #warn(message: string): void {
    if (this.#messages.length < MESSAGES_MAX) this.#messages.push(message);
    else this.#untold++;
  }

  async #score(model: StoredModel, values: DeviceColumns, from: number): Promise<Readonly<Record<string, unknown>>[]> {
    const asker: Asker = { tenant: this.#tenant, user: this.#job.user, signal: this.#signal };
    const input = recordsText(Object.keys(this.#job.modelToDeviceMappings), values, from, RECORDS_AT_ONCE);
    const output = await this.#parts.score(asker, model, Buffer.from(input));
    return JSON.parse(`[${Buffer.from(output).toString()}]`) as Readonly<Record<string, unknown>>[];
  }
}

/** All outputs of a record that a model refuses are missing. */
function isRefused(output: Readonly<Record<string, unknown>>): boolean {
  return Object.values(output).every((value) => value === null);
}

/** Records as JSON with commas between them; inputs without a value are left out. */
function recordsText(names: readonly string[], { times, columns }: DeviceColumns, from: number, count: number): string {
  const heads = names.map((name) => `${JSON.stringify(name)}:`);
  const records: string[] = [];
  for (let at = from; at < Math.min(times.length, from + count); at++) {
    let members = '';
    for (let i = 0; i < heads.length; i++) {
      const value = (columns[i] as Float64Array)[at] as number;
      if (!Number.isNaN(value)) members += `${members === '' ? '' : ','}${heads[i]}${value}`;
    }
    records.push(`{${members}}`);
  }
  return records.join(',');
}
