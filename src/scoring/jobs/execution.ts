/** One run of a job: what it scores, with which models, and what comes out (docs/spec/scoring.md#jobs). */
import { devicesOfGroup, GroupError } from '../../history/group-members.ts';
import { valuesOf } from '../../history/measurements/values.ts';
import { type MeasuredColumn, ValueColumns } from '../../model/entities/scoring/measured-values.ts';
import type { StoredModel } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import { type Blobs, BlobTooLarge } from '../../ports/blobs.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { BytesReader, HistoryReader } from '../../ports/history-reader.ts';
import type { ValuesAnswer, ValuesPiece, ValuesTask } from '../../scoring-workers/protocol.ts';
import type { Asker } from '../asker.ts';
import { loadGroup } from '../groups.ts';
import {
  JOB_DEVICE_VALUES_MAX,
  JOB_DEVICES_MAX,
  JOB_HELD_BYTES_MAX,
  JOB_RESULT_BYTES_MAX,
  SCORING_LIMIT,
} from '../limits.ts';
import { loadModel, modelInformation } from '../records.ts';
import { dataWindow, pathOf } from './configuration.ts';
import { giveWay } from './give-way.ts';
import { type Page, PAGE_RECORDS, type PagePart, Pages } from './pages.ts';
import { type Slice, slicesOf } from './slices.ts';
import type { StoredJob, StoredRun } from './stored.ts';

/** Of a path in a message. */
const PATH_SHOWN = 100;
const MESSAGES_MAX = 100;

export interface ExecutionParts {
  readonly documents: DocumentReader;
  readonly history: HistoryReader & BytesReader;
  readonly blobs: Pick<Blobs, 'put'>;
  readonly score: (asker: Asker, model: StoredModel, values: Omit<ValuesTask, 'kind' | 'key'>) => Promise<ValuesAnswer>;
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

const RESULTS_TOO_LARGE = `The results have more than ${JOB_RESULT_BYTES_MAX} bytes (${SCORING_LIMIT.JOB_RESULTS}).`;

const TOO_MUCH_HELD =
  `The results of all models for some thousand records have more than ${JOB_HELD_BYTES_MAX} bytes ` +
  `(${SCORING_LIMIT.JOB_HELD}): use fewer models, or models with shorter results.`;

/** Reasons that the author of the job can do something about. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof Failed) return error.message;
  if (error instanceof BlobTooLarge) return RESULTS_TOO_LARGE;
  if (error instanceof PlatformError && error.status >= 400 && error.status < 500) return error.message;
  return undefined;
}

/** A model may have been uploaded anew since the job was created: its inputs are checked again. */
async function modelsOf(parts: ExecutionParts, tenant: number, job: StoredJob): Promise<StoredModel[]> {
  const names = await namesOf(parts, tenant, job);
  const models = await Promise.all(names.map((name) => loadModel(parts, tenant, 'pmml', name)));
  const inactive = models.find(({ isActive }) => !isActive);
  if (inactive !== undefined) throw new Failed(`Model '${inactive.name}' is not active.`);
  for (const name of names) await requireInputs(parts, tenant, name, job.modelToDeviceMappings);
  return models;
}

/** Inputs of a model that a message names. */
const INPUTS_SHOWN = 50;

/** Every mapping is of an input of the model. @throws PlatformError 400 */
export async function requireInputs(
  parts: Pick<ExecutionParts, 'documents'>,
  tenant: number,
  name: string,
  mappings: StoredJob['modelToDeviceMappings'],
): Promise<void> {
  const text = await modelInformation(parts, tenant, 'pmml', name);
  const { inputFields } = JSON.parse(text) as { inputFields: readonly { name: string }[] };
  const known = new Set(inputFields.map((field) => field.name));
  const unknown = Object.keys(mappings).find((input) => !known.has(input));
  if (unknown === undefined) return;
  const inputs = [...known].slice(0, INPUTS_SHOWN).join(', ');
  throw new PlatformError('scoring/invalid-job', {
    reason: `modelToDeviceMappings names '${unknown}', which is not an input of the model '${name}'; its inputs are ${inputs}.`,
  });
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

/** What is known of a device whose results come in several parts. */
interface OpenDevice {
  readonly deviceId: string;
  /** Inputs that had no value so far. */
  unseen: readonly number[];
  refused: number;
}

class Execution {
  readonly #parts: ExecutionParts;
  readonly #tenant: number;
  readonly #job: StoredJob;
  readonly #models: readonly StoredModel[];
  /** Of the caller, and of this run: no slice begins when the results are too large. */
  readonly #signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #inputs: ValuesTask['inputs'];
  /** The most records that one of the models looks back to. */
  readonly #lookBack: number;
  readonly #messages: string[] = [];
  readonly #pages: number[] = [];
  #records = 0;
  #scoredRecords = 0;
  /** Of all results: what is held for the models of a slice counts before it is written. */
  #resultBytes = 0;
  /** Of those, what is in no page yet. */
  #heldBytes = 0;
  #devices = 0;
  #open: OpenDevice | undefined;
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
    this.#lookBack = models.reduce((most, { lookBack = 0 }) => Math.max(most, lookBack), 0);
    this.#signal = AbortSignal.any([signal, this.#end.signal]);
    this.#inputs = Object.entries(job.modelToDeviceMappings).map(([input, path]) => ({
      input,
      ...(pathOf(path) as MeasuredColumn),
    }));
  }

  async run(devices: readonly string[], at: number): Promise<Outcome> {
    const { blobs } = this.#parts;
    if (devices.length === 0) throw new Failed(`The group ${this.#job.groupOrDeviceId} has no devices.`);
    const results = { tenant: this.#tenant, user: this.#job.user, isDevice: false };
    const { key } = await blobs.put(this.#content(devices, at), JOB_RESULT_BYTES_MAX, results);
    if (this.#untold > 0) this.#messages.push(`${this.#untold} further messages are not shown.`);
    const hasMessages = this.#messages.length > 0;
    return {
      // Of an empty window nothing was refused.
      status: this.#records > 0 && this.#scoredRecords === 0 ? 'Failure' : hasMessages ? 'Warning' : 'Success',
      messages: this.#messages,
      blob: key,
      pages: this.#pages,
      devices: this.#devices,
      models: this.#models.length,
    };
  }

  /** Pages of results, one behind the other, as the devices are scored. */
  async *#content(devices: readonly string[], at: number): AsyncGenerator<Uint8Array> {
    const pages = new Pages();
    let held = 0;
    for await (const part of this.#scored(devices, at)) {
      held += part.models.reduce((sum, { length }) => sum + length, 0);
      const page = pages.add(part);
      if (page === undefined) continue;
      this.#heldBytes -= held;
      held = 0;
      yield* this.#page(page);
    }
    const page = pages.end();
    if (page !== undefined) yield* this.#page(page);
  }

  #page({ pieces, bytes }: Page): readonly Uint8Array[] {
    this.#pages.push(bytes);
    return pieces;
  }

  /** Results in the order of devices and times. Values are read when those before are scored: both at once delay messages. */
  async *#scored(devices: readonly string[], at: number): AsyncGenerator<PagePart> {
    const columns = new ValueColumns(this.#inputs);
    const window = dataWindow(this.#job.jobSchedule, at);
    const query = { tenant: this.#tenant, ...window, columns, valuesMax: JOB_DEVICE_VALUES_MAX, signal: this.#signal };
    for await (const some of valuesOf(this.#parts.history, query, devices)) {
      const found = new Set<string>();
      for await (const answers of this.#answers(slicesOf(some.rows, columns, this.#lookBack)))
        for (const part of partsOf(answers)) {
          found.add(part.deviceId);
          this.#see(part.deviceId, part.pieces);
          yield part;
        }
      this.#close();
      for (const deviceId of some.devices)
        if (!found.has(deviceId)) this.#warn(`Device ${deviceId} has no values of the mapped series.`);
      for (const deviceId of some.cut)
        this.#warn(
          `Device ${deviceId} has more than ${JOB_DEVICE_VALUES_MAX} values; the first are scored (${SCORING_LIMIT.JOB_VALUES}).`,
        );
    }
  }

  /** Answers of all models to each slice, one after the other: a job leaves the other threads to what is waited for. */
  async *#answers(slices: Iterable<Slice>): AsyncGenerator<readonly ValuesAnswer[]> {
    for (const slice of slices) {
      this.#signal.throwIfAborted();
      const before = this.#records;
      this.#records += slice.records;
      const begun = performance.now();
      yield await Promise.all(this.#models.map((model) => this.#score(model, slice, before)));
      await giveWay(performance.now() - begun);
    }
  }

  /** @param scored records of the slices before this one */
  async #score(model: StoredModel, { rows, before }: Slice, scored: number): Promise<ValuesAnswer> {
    const asker: Asker = { tenant: this.#tenant, user: this.#job.user, signal: this.#signal };
    const answer = await this.#parts.score(asker, model, {
      rows,
      inputs: this.#inputs,
      name: model.name,
      timesName: `timestamp_${this.#job.jobId}`,
      before,
      page: { size: PAGE_RECORDS, left: PAGE_RECORDS - (scored % PAGE_RECORDS) },
    });
    this.#resultBytes += answer.output.length;
    this.#heldBytes += answer.output.length;
    if (this.#resultBytes > JOB_RESULT_BYTES_MAX) throw this.#ended(new Failed(RESULTS_TOO_LARGE));
    if (this.#heldBytes > JOB_HELD_BYTES_MAX) throw this.#ended(new Failed(TOO_MUCH_HELD));
    return answer;
  }

  /** Tasks that wait for their turn end with this error. */
  #ended(error: Failed): Failed {
    this.#end.abort(error);
    return error;
  }

  /** What the pieces of all models tell of a device. */
  #see(deviceId: string, pieces: readonly ValuesPiece[]): void {
    if (this.#open?.deviceId !== deviceId) {
      this.#close();
      this.#devices++;
      this.#open = { deviceId, unseen: this.#inputs.map((_, index) => index), refused: 0 };
    }
    for (const { records, refused } of pieces) this.#scoredRecords += records - refused;
    const { unseen } = this.#open as OpenDevice;
    this.#open = {
      deviceId,
      unseen: unseen.filter((index) => pieces[0]?.unseen.includes(index)),
      refused: (this.#open?.refused ?? 0) + pieces.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  /** The results of a device are whole: what was wrong with it is told. */
  #close(): void {
    if (this.#open === undefined) return;
    const { deviceId, unseen, refused } = this.#open;
    this.#open = undefined;
    const paths = Object.values(this.#job.modelToDeviceMappings);
    for (const index of unseen)
      this.#warn(`Device ${deviceId} has no values of ${paths[index]?.slice(0, PATH_SHOWN)}.`);
    if (refused > 0)
      this.#warn(`${refused} records of device ${deviceId} could not be scored: their values are not valid.`);
  }

  #warn(message: string): void {
    if (this.#messages.length < MESSAGES_MAX) this.#messages.push(message);
    else this.#untold++;
  }
}

/** The answers of all models to one slice, piece by piece: they have the same ones. */
function* partsOf(answers: readonly ValuesAnswer[]): Generator<PagePart & { readonly pieces: readonly ValuesPiece[] }> {
  const at = answers.map(() => 0);
  const [first] = answers;
  for (const [index, { deviceId, records }] of (first?.pieces ?? []).entries()) {
    const pieces = answers.map((answer) => answer.pieces[index] as ValuesPiece);
    const models = answers.map(({ output }, model) => {
      const from = at[model] as number;
      at[model] = from + (pieces[model] as ValuesPiece).bytes;
      return output.subarray(from, at[model]);
    });
    yield { deviceId, records, models, pieces };
  }
}
