/** ONNX models, scripts and pipelines of a node: uploads, and what is computed with them. */
import { SCORING_MODELS, SCRIPT, type StoredModel, type StoredResource } from '../../model/entities/scoring/model.ts';
import { baseName, safeName, stemOf } from '../../model/entities/scoring/names.ts';
import type { StoredPipeline } from '../../model/entities/scoring/pipeline.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { Shares } from '../../pacing/shares.ts';
import { Turns } from '../../pacing/turns.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { RecordReader } from '../../records/records.ts';
import { OnnxEngine, type StoredModel as EngineModel } from '../../scoring-workers/onnx/engine.ts';
import type { AnswerForm, OnnxDescription } from '../../scoring-workers/onnx/tasks.ts';
import { WorkerFault } from '../../scoring-workers/processes/protocol.ts';
import type { WorkerProgram } from '../../scoring-workers/processes/worker-process.ts';
import { ScriptEngine, type Script } from '../../scoring-workers/script/engine.ts';
import type { Asker } from '../asker.ts';
import { INFORMATION_BYTES_MAX, SCORING_LIMIT } from '../limits.ts';
import { createModel, createResource, loadModel, loadResource, type RecordParts } from '../records.ts';
import { orRemoved, type Upload } from '../uploads.ts';
import { told } from './faults.ts';
import { INPUTS_BYTES_MAX, INPUT_BYTES_MAX, ONNX_LIMIT, SCRIPT_BYTES_MAX, WAITING_MAX } from './limits.ts';

export interface OnnxScoringOptions {
  readonly blobs: Pick<Blobs, 'read' | 'remove'>;
  readonly documents: RecordReader['documents'];
  readonly refusals: Refusals;
  readonly log: Log;
  readonly isOnlyTenant?: () => boolean;
  /** Processes for models, and interpreters for scripts. */
  readonly processes: number;
  readonly interpreters: number;
  /** Of one process for models, in bytes. */
  readonly memoryBytesMax: number;
  /** For one run of a model and of a script, in milliseconds. */
  readonly modelMsMax: number;
  readonly scriptMsMax: number;
  /** Of the interpreters; absent: scripts are not run here. @throws Error where something that it needs is missing. */
  readonly python?: () => WorkerProgram;
}

/** A model as it is shown, beside its name and state. */
export interface OnnxUpload {
  readonly model: StoredModel;
  readonly description: OnnxDescription;
}

export class OnnxScoring {
  readonly #options: OnnxScoringOptions;
  readonly #models: OnnxEngine;
  #scripts: ScriptEngine | undefined;
  /** Bytes of requests that are held until they are computed. */
  readonly #inputs: Shares;

  constructor(options: OnnxScoringOptions) {
    this.#options = options;
    const { refusals, log, processes, memoryBytesMax, modelMsMax: timeMsMax, isOnlyTenant } = options;
    const limits = { all: ONNX_LIMIT.WAITING, ofUser: ONNX_LIMIT.WAITING_OF_USER };
    const turns = new Turns({ refusals, running: runningOf(processes), waiting: WAITING_MAX, limits });
    this.#models = new OnnxEngine({ log, turns, processes, memoryBytesMax, timeMsMax });
    this.#inputs = new Shares(ONNX_LIMIT.INPUTS, INPUTS_BYTES_MAX, isOnlyTenant);
  }

  get inputBytes(): number {
    return this.#inputs.used;
  }

  /** Processes that run, of models and of scripts. */
  get processesCount(): number {
    return this.#models.processIds.length + (this.#scripts?.processesCount ?? 0);
  }

  get loadedBytes(): number {
    return this.#models.loadedBytes;
  }

  /**
   * Deploys an uploaded model. What is refused leaves no content behind.
   * @throws PlatformError 400 `Invalid onnx format.` for what is not a model, 409 for a name that is taken, 503.
   */
  uploadModel(records: RecordParts, asker: Asker, upload: Upload): Promise<OnnxUpload> {
    return orRemoved(this.#options, upload, async () => {
      const description = await this.#described(asker, upload);
      const model: StoredModel = {
        name: safeName(description.name || stemOf(upload.fileName)),
        blob: upload.key,
        bytes: upload.bytes,
        compiledBytes: upload.bytes,
        isActive: true,
        createdAt: records.now(),
      };
      const information = JSON.stringify(description);
      if (Buffer.byteLength(information) > INFORMATION_BYTES_MAX) {
        this.#options.refusals.count(SCORING_LIMIT.INFORMATION, asker);
        throw new PlatformError('scoring/too-many-bytes', {
          limit: SCORING_LIMIT.INFORMATION,
          maximum: INFORMATION_BYTES_MAX,
        });
      }
      await createModel(records, asker, 'onnx', model, information);
      return { model, description };
    });
  }

  /**
   * Stores an uploaded script, which is not run.
   * @throws PlatformError 400 `Invalid python format.`, or for imports that the engine lacks; 409; 503.
   */
  uploadScript(records: RecordParts, asker: Asker, upload: Upload): Promise<StoredResource> {
    return orRemoved(this.#options, upload, async () => {
      if (upload.bytes > SCRIPT_BYTES_MAX) {
        this.#options.refusals.count(SCORING_LIMIT.SCRIPT_BYTES, asker);
        throw new PlatformError('scoring/too-many-bytes', {
          limit: SCORING_LIMIT.SCRIPT_BYTES,
          maximum: SCRIPT_BYTES_MAX,
        });
      }
      if (baseName(upload.fileName) === '')
        throw new PlatformError('scoring/bad-field', { name: 'file', value: '', limit: 'the name of the script' });
      const fileName = safeName(baseName(upload.fileName));
      const source = await this.#source(upload.key);
      const missing = await this.#checked(asker, { name: fileName, source });
      if (missing.length > 0)
        throw new PlatformError('scoring/missing-modules', { name: fileName, modules: missing.join(', ') });
      const resource = { fileName, blob: upload.key, bytes: upload.bytes, type: SCRIPT, names: [] };
      await createResource(records, asker, 'onnx', resource);
      return resource;
    });
  }

  /** Outputs of a model as JSON. @throws PlatformError 400 for a body that does not fit, or an inactive model; 503. */
  apply(
    asker: Asker,
    model: StoredModel,
    content: AsyncIterable<Uint8Array>,
    form: Exclude<AnswerForm, 'script'> = 'json',
  ): Promise<Uint8Array> {
    return this.#withInput(asker, content, (body) => this.#apply(asker, model, body, form));
  }

  /**
   * What the scripts and the model of a pipeline make of a content, as JSON.
   * @throws PlatformError 404 for a part that was deleted, 400 where one fails, 503.
   */
  applyPipeline(
    records: RecordReader,
    asker: Asker,
    { preProcessing, modelName, postProcessing }: StoredPipeline,
    content: AsyncIterable<Uint8Array>,
  ): Promise<Uint8Array> {
    return this.#withInput(asker, content, async (input) => {
      if (input.length === 0) throw new PlatformError('scoring/empty-input');
      const { tenant } = asker;
      const model = await loadModel(records, tenant, 'onnx', modelName);
      const pre = preProcessing && (await this.#script(records, tenant, preProcessing));
      const post = postProcessing && (await this.#script(records, tenant, postProcessing));
      const body = pre ? await this.#run(asker, pre, 'pre', input) : input;
      const outputs = await this.#apply(asker, model, body, post ? 'script' : 'json');
      return post ? this.#run(asker, post, 'post', outputs) : outputs;
    });
  }

  /** Models that are deactivated or deleted leave the memory of the processes. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, expected, value } of changes) {
      if (collection !== SCORING_MODELS || !id.startsWith('onnx\n')) continue;
      if (value !== undefined && (JSON.parse(value) as StoredModel).isActive) continue;
      const former = expected ?? value;
      if (former === undefined) continue;
      this.#models.release(keyOf(tenant, JSON.parse(former) as StoredModel)).catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'an ONNX model was not released: its process keeps it until it is idle');
      });
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#models.stop(), this.#scripts?.stop()]);
  }

  async #described(asker: Asker, { key }: Upload): Promise<OnnxDescription> {
    try {
      const content = await this.#content(key);
      return await this.#models.describe(asker, content);
    } catch (error) {
      if (error instanceof WorkerFault && error.kind === 'model')
        throw new PlatformError('scoring/invalid-onnx', { reason: error.message });
      return told(this.#options.refusals, asker, () => Promise.reject(error));
    }
  }

  async #checked(asker: Asker, script: Script): Promise<readonly string[]> {
    try {
      return await this.#python().check(asker, script);
    } catch (error) {
      if (error instanceof WorkerFault && error.kind === 'model')
        throw new PlatformError('scoring/invalid-python', { reason: error.message });
      return told(this.#options.refusals, asker, () => Promise.reject(error));
    }
  }

  async #apply(asker: Asker, model: StoredModel, body: Uint8Array, form: AnswerForm): Promise<Uint8Array> {
    const { name, isActive, blob, bytes } = model;
    if (!isActive) throw new PlatformError('scoring/model-inactive', { name });
    const stored: EngineModel = { key: keyOf(asker.tenant, model), bytes, content: () => this.#content(blob) };
    return told(this.#options.refusals, asker, () => this.#models.apply(asker, stored, body, form));
  }

  #run(asker: Asker, script: Script, stage: 'pre' | 'post', content: Uint8Array): Promise<Uint8Array> {
    return told(this.#options.refusals, asker, () => this.#python().run(asker, script, stage, content));
  }

  /** The interpreters, which begin with the first script. @throws PlatformError 400 where there are none. */
  #python(): ScriptEngine {
    if (this.#scripts !== undefined) return this.#scripts;
    const { python, refusals, log, interpreters, scriptMsMax: timeMsMax } = this.#options;
    if (python === undefined) throw new PlatformError('scoring/no-python', { reason: '--scoring-python is off' });
    const limits = { all: ONNX_LIMIT.SCRIPTS_WAITING, ofUser: ONNX_LIMIT.SCRIPTS_WAITING_OF_USER };
    const turns = new Turns({ refusals, running: runningOf(interpreters), waiting: WAITING_MAX, limits });
    let program: WorkerProgram;
    try {
      program = python();
    } catch (error) {
      throw new PlatformError('scoring/no-python', { reason: error instanceof Error ? error.message : String(error) });
    }
    this.#scripts = new ScriptEngine({ log, turns, program, processes: interpreters, timeMsMax });
    return this.#scripts;
  }

  async #script(records: RecordReader, tenant: number, name: string): Promise<Script> {
    const { blob } = await loadResource(records, tenant, 'onnx', name);
    return { name, source: await this.#source(blob) };
  }

  async #source(blob: string): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of await this.#content(blob)) pieces.push(piece);
    return Buffer.concat(pieces).toString('utf8');
  }

  /** @throws Error for a content that is gone, as after a deletion meanwhile. */
  async #content(blob: string): Promise<AsyncIterable<Uint8Array>> {
    const content = await this.#options.blobs.read(blob);
    if (content === undefined) throw new Error(`the content ${blob} is missing`);
    return content;
  }

  /** @throws PlatformError 413 for one that is too long, 503 while the node holds too much. */
  async #withInput<Result>(
    { tenant, user }: Asker,
    content: AsyncIterable<Uint8Array>,
    work: (input: Uint8Array) => Promise<Result>,
  ): Promise<Result> {
    const { refusals } = this.#options;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const piece of content) {
        if (bytes + piece.length > INPUT_BYTES_MAX) {
          refusals.count(ONNX_LIMIT.INPUT, { tenant, user });
          throw new PlatformError('general/payload-too-large', { limit: INPUT_BYTES_MAX });
        }
        const limit = this.#inputs.take(tenant, user, piece.length);
        if (limit !== undefined) {
          refusals.count(limit, { tenant, user });
          throw refusedBy(limit);
        }
        bytes += piece.length;
        pieces.push(piece);
      }
      return await work(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    } finally {
      this.#inputs.give(tenant, user, bytes);
    }
  }
}

/** Where there are several processes, one is left for other tenants: loading a model takes minutes at most. */
const runningOf = (processes: number): { readonly all: number; readonly ofTenant: number } => ({
  all: processes,
  ofTenant: Math.max(1, processes - 1),
});

/** A model never changes under one key of its content. */
const keyOf = (tenant: number, { name, blob }: StoredModel): string => `${tenant}\n${name}\n${blob}`;
