/** Uploads of PMML models and of resources: read in a thread of their own, one after the other in the turns of tenants. */
import type { StoredModel, StoredResource } from '../model/entities/scoring/model.ts';
import { baseName, safeName, stemOf } from '../model/entities/scoring/names.ts';
import type { MessagePort } from 'node:worker_threads';
import { formatTime } from '../model/documents/iso-time.ts';
import { PlatformError } from '../model/errors.ts';
import type { Turns } from '../pacing/turns.ts';
import type { Blobs } from '../ports/blobs.ts';
import { sendContent } from '../scoring-workers/content/source-port.ts';
import { isJavaScript, JAVASCRIPT_BYTES_MAX } from '../scoring-workers/resources/java-script.ts';
import type { ScoringPool } from '../scoring-workers/pool.ts';
import type { ModelInformation } from '../scoring-workers/pmml/engine.ts';
import type { Problem } from '../scoring-workers/pmml/document/problems.ts';
import {
  ANNOTATED_BYTES_MAX,
  type CheckAnswer,
  type CheckTask,
  type ModelUses,
  type RefusedAnswer,
} from '../scoring-workers/protocol.ts';
import type { Asker } from './asker.ts';
import { INFORMATION_BYTES_MAX, MODEL_RESOURCES_MAX, SCORING_LIMIT, UNPACKED_BYTES_MAX } from './limits.ts';
import { createModel, createResource, type Guard, type RecordParts } from './records.ts';
import { openSource, requireNewTables, usedResources } from './sources.ts';

/** A content that is stored, and not yet named by a record. */
export interface Upload {
  readonly fileName: string;
  readonly key: string;
  readonly bytes: number;
}

export interface UploadParts extends RecordParts {
  readonly blobs: Pick<Blobs, 'read' | 'remove'>;
  readonly pool: Pick<ScoringPool, 'run'>;
  /** Of uploads that are read. */
  readonly uploadTurns: Turns;
}

/** A model that is deployed, or the document that says why it is not. */
export type ModelUpload =
  | { readonly model: StoredModel; readonly information: string }
  | { readonly annotated: Uint8Array };

/**
 * Deploys an uploaded PMML model. What is refused leaves no content behind.
 * @param others what is stored in the same change as the model
 * @throws PlatformError 400 for what is not XML or cannot be unpacked, 409 for a name that is taken, 503 at a bound.
 */
export function uploadModel(parts: UploadParts, asker: Asker, upload: Upload, others?: Guard): Promise<ModelUpload> {
  return orRemoved(parts, upload, async () => {
    const { answer, uses } = await checked(parts, asker, upload);
    const { information, modelName, bytes: compiledBytes, lookBack, problems } = answer;
    const name = safeName(modelName ?? stemOf(upload.fileName));
    if (information === undefined) {
      const document = await annotate(parts, asker, upload.key, problems);
      await parts.blobs.remove(upload.key);
      return { annotated: document };
    }
    const model: StoredModel = {
      name,
      blob: upload.key,
      bytes: upload.bytes,
      compiledBytes,
      isActive: true,
      createdAt: parts.now(),
      functionName: information.functionName,
      ...(uses.tables.length === 0 ? {} : { tables: uses.tables }),
      ...(uses.functions.length === 0 ? {} : { functions: uses.functions }),
      ...(lookBack === 0 ? {} : { lookBack }),
    };
    const text = shownFields(information);
    if (Buffer.byteLength(text) > INFORMATION_BYTES_MAX) {
      parts.refusals.count(SCORING_LIMIT.INFORMATION, asker);
      throw new PlatformError('scoring/too-many-bytes', {
        limit: SCORING_LIMIT.INFORMATION,
        maximum: INFORMATION_BYTES_MAX,
      });
    }
    await createModel(parts, asker, 'pmml', model, text, others);
    return { model, information: text };
  });
}

/**
 * The document of a model that is deployed, with its warnings. @throws PlatformError 404 when it was deleted meanwhile.
 */
export async function annotatedModel(parts: UploadParts, asker: Asker, model: StoredModel): Promise<Uint8Array> {
  const upload = { fileName: model.name, key: model.blob, bytes: model.bytes };
  const { tables = [], functions = [] } = model;
  const { problems } = await check(parts, asker, upload, { isUpload: false, isFirst: false }, { tables, functions });
  return annotate(parts, asker, model.blob, problems);
}

async function annotate(
  parts: UploadParts,
  asker: Asker,
  key: string,
  problems: readonly Problem[],
): Promise<Uint8Array> {
  return inTurn(parts.uploadTurns, asker, () =>
    withContent(parts, key, async (port) => {
      const answer = await parts.pool.run({ kind: 'annotate', port, problems }, [port]);
      if (answer.kind === 'refused') throw refusedUpload(parts, asker, '', answer);
      if (answer.kind !== 'document') throw new Error(`a scoring worker answered with ${answer.kind}`);
      return answer.document;
    }),
  );
}

async function withContent<Result>(
  { blobs }: UploadParts,
  key: string,
  work: (port: MessagePort) => Promise<Result>,
): Promise<Result> {
  const pieces = await blobs.read(key);
  if (pieces === undefined) throw new Error(`the uploaded content ${key} is missing`);
  const { port, close } = sendContent(pieces);
  try {
    return await work(port);
  } finally {
    close();
  }
}

/** Reads the model; once more with the lookup tables and functions that it asks for. */
async function checked(
  parts: UploadParts,
  asker: Asker,
  upload: Upload,
): Promise<{ readonly answer: CheckAnswer; readonly uses: ModelUses }> {
  const first = await check(parts, asker, upload, { isUpload: true, isFirst: true });
  const { uses } = first;
  const count = uses.tables.length + uses.functions.length;
  if (count === 0) return { answer: first, uses };
  if (count > MODEL_RESOURCES_MAX)
    throw new PlatformError('scoring/model-refused', {
      name: upload.fileName,
      reason: `it uses ${count} lookup tables and functions; a model may use ${MODEL_RESOURCES_MAX}`,
    });
  return { answer: await check(parts, asker, upload, { isUpload: true, isFirst: false }, uses), uses };
}

async function check(
  parts: UploadParts,
  asker: Asker,
  { key, fileName }: Upload,
  look: Pick<CheckTask, 'isUpload' | 'isFirst'>,
  uses?: ModelUses,
): Promise<CheckAnswer> {
  return inTurn(parts.uploadTurns, asker, async () => {
    const used = await usedResources(parts, asker.tenant, { name: fileName, ...uses });
    const { source, transfer, close } = await openSource(parts, { name: fileName, blob: key }, used);
    try {
      const answer = await parts.pool.run({ kind: 'check', source, ...look }, transfer);
      if (answer.kind === 'refused') throw refusedUpload(parts, asker, fileName, answer);
      if (answer.kind !== 'checked') throw new Error(`a scoring worker answered with ${answer.kind}`);
      return answer;
    } finally {
      close();
    }
  });
}

/**
 * Stores an uploaded resource of PMML models.
 * @throws PlatformError 400 for what is none, 409 for a name that is taken, 503 at a bound.
 */
export function uploadResource(parts: UploadParts, asker: Asker, upload: Upload): Promise<StoredResource> {
  return orRemoved(parts, upload, async () => {
    if (upload.bytes === 0) throw new PlatformError('scoring/empty-input');
    const fileName = safeName(baseName(upload.fileName));
    if (isJavaScript(fileName) && upload.bytes > JAVASCRIPT_BYTES_MAX) {
      const limit = SCORING_LIMIT.SCRIPT_BYTES;
      parts.refusals.count(limit, asker);
      throw new PlatformError('scoring/too-many-bytes', { limit, maximum: JAVASCRIPT_BYTES_MAX });
    }
    const { type, names } = await inspected(parts, asker, fileName, upload);
    const resource: StoredResource = { fileName, blob: upload.key, bytes: upload.bytes, type, names };
    await createResource(parts, asker, 'pmml', resource, () => requireNewTables(parts, asker.tenant, resource));
    return resource;
  });
}

function inspected(
  parts: UploadParts,
  asker: Asker,
  fileName: string,
  { key }: Upload,
): Promise<{ readonly type: string; readonly names: readonly string[] }> {
  return inTurn(parts.uploadTurns, asker, () =>
    withContent(parts, key, async (port) => {
      const answer = await parts.pool.run({ kind: 'inspect', fileName, port }, [port]);
      if (answer.kind === 'refused') throw refusedUpload(parts, asker, fileName, answer);
      if (answer.kind !== 'inspected') throw new Error(`a scoring worker answered with ${answer.kind}`);
      return answer;
    }),
  );
}

/** Does what takes a thread when the asker's turn has come. */
export async function inTurn<Result>(
  turns: Turns,
  { tenant, user, signal }: Asker,
  work: () => Promise<Result>,
): Promise<Result> {
  await turns.begin(tenant, user, signal);
  try {
    return await work();
  } finally {
    turns.end(tenant, user);
  }
}

/** What is refused leaves no content behind. After another error the record may name it: the sweep decides then. */
export async function orRemoved<Result>(
  parts: Pick<UploadParts, 'blobs'>,
  { key }: Upload,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // What cannot be removed now is left to the sweep.
    if (error instanceof PlatformError && error.status < 500) await parts.blobs.remove(key).catch(() => undefined);
    throw error;
  }
}

function refusedUpload(
  { refusals }: UploadParts,
  asker: Asker,
  name: string,
  { reason, message }: RefusedAnswer,
): PlatformError {
  if (reason === 'xml') return new PlatformError('scoring/invalid-xml', { reason: message });
  if (reason === 'too-long') {
    refusals.count(SCORING_LIMIT.UNPACKED, asker);
    return new PlatformError('scoring/too-many-bytes', { limit: SCORING_LIMIT.UNPACKED, maximum: UNPACKED_BYTES_MAX });
  }
  if (reason === 'not-annotated') {
    refusals.count(SCORING_LIMIT.ANNOTATED, asker);
    const limit = `${SCORING_LIMIT.ANNOTATED}: ${ANNOTATED_BYTES_MAX} bytes`;
    return new PlatformError('scoring/invalid-content', {
      reason: `it is too long to be shown with its problems (${limit}); the first: ${message}`,
    });
  }
  if (reason === 'content') return new PlatformError('scoring/invalid-content', { reason: message });
  return new PlatformError('scoring/model-refused', { name, reason: message });
}

/** What `shownModel` needs beside the record. */
function shownFields({ description, inputFields, outputFields }: ModelInformation): string {
  return JSON.stringify({ description, inputFields, outputFields });
}

/** Model information as JSON text (docs/spec/scoring.md#models). @param fields text of `shownFields`. */
export function shownModel({ name, isActive, createdAt }: StoredModel, fields: string): string {
  const { description, inputFields, outputFields } = JSON.parse(fields) as Pick<
    ModelInformation,
    'description' | 'inputFields' | 'outputFields'
  >;
  return JSON.stringify({
    modelName: name,
    description,
    creationDate: formatTime(createdAt),
    isActive,
    inputFields,
    outputFields,
  });
}

/** Names of the outputs in order, the target first: the columns of CSV. @param fields text of `shownFields`. */
export const outputNames = (fields: string): string[] =>
  (JSON.parse(fields) as Pick<ModelInformation, 'outputFields'>).outputFields.map(({ name }) => name);
