/**
 * Models and resources as records of a tenant (docs/internals/scoring.md#state): their content is durable in the blobs
 * before a record names it, and is removed after the record is.
 */
import type { AuditEntry, RecordChange } from '../model/commands/records.ts';
import type { RecordCollection } from '../model/commands/collections.ts';
import {
  SCORING_MODELS,
  SCORING_RECORDS,
  SCORING_RESOURCES,
  SCORING_TOTAL_ID,
  informationId,
  modelId,
  type ModelKind,
  type StoredModel,
  type StoredResource,
} from '../model/entities/scoring/model.ts';
import { PlatformError, type ErrorCode } from '../model/errors.ts';
import type { RetiredContents } from '../ports/blobs.ts';
import { listRecords, readRecord, retried } from '../records/records.ts';
import type { Counting, RecordReader, RecordWriter } from '../records/records.ts';
import { NO_SUM, changeWithin, type KeptTotal } from '../records/totals.ts';
import type { Asker } from './asker.ts';
import { MODELS_BYTES_MAX, MODELS_MAX, RESOURCES_BYTES_MAX, RESOURCES_MAX, SCORING_LIMIT } from './limits.ts';

export interface RecordParts extends RecordReader, RecordWriter, Counting {
  readonly retiredContents: RetiredContents;
}

/** What both kinds of records have. */
interface Content {
  readonly blob: string;
  readonly bytes: number;
}

interface Shelf {
  readonly collection: RecordCollection;
  readonly word: string;
  readonly notFound: ErrorCode;
  readonly exists: ErrorCode;
  readonly bounds: KeptTotal['bounds'];
}

const MODELS: Shelf = {
  collection: SCORING_MODELS,
  word: 'Model',
  notFound: 'scoring/model-not-found',
  exists: 'scoring/model-exists',
  bounds: {
    count: { maximum: MODELS_MAX, limit: SCORING_LIMIT.MODELS, error: 'scoring/too-many' },
    bytes: { maximum: MODELS_BYTES_MAX, limit: SCORING_LIMIT.MODEL_BYTES, error: 'scoring/too-large' },
  },
};
const RESOURCES: Shelf = {
  collection: SCORING_RESOURCES,
  word: 'Resource file',
  notFound: 'scoring/resource-not-found',
  exists: 'scoring/resource-exists',
  bounds: {
    count: { maximum: RESOURCES_MAX, limit: SCORING_LIMIT.RESOURCES, error: 'scoring/too-many' },
    bytes: { maximum: RESOURCES_BYTES_MAX, limit: SCORING_LIMIT.RESOURCE_BYTES, error: 'scoring/too-large' },
  },
};

const totalOf = ({ collection, bounds }: Shelf, tenant: number): KeptTotal => ({
  tenant,
  collection,
  id: SCORING_TOTAL_ID,
  bounds,
  sumOf: ({ id, value }) =>
    id === SCORING_TOTAL_ID ? NO_SUM : { count: 1, bytes: (JSON.parse(value) as Content).bytes },
  records: (ports) => listRecords(ports, tenant, collection),
});

const auditOf = (
  { word }: Shelf,
  { user }: Asker,
  what: 'created' | 'deleted' | 'activated' | 'deactivated',
  name: string,
): AuditEntry => ({ type: 'Scoring', activity: `${word} ${what}`, text: `${word} ${what}: ${name}`, user });

const nameOf = (id: string): string => id.slice(id.indexOf('\n') + 1);

/** Names in alphabetical order of their characters. */
async function listNames(parts: RecordReader, shelf: Shelf, tenant: number, kind: ModelKind): Promise<string[]> {
  const rows = await listRecords(parts, tenant, shelf.collection, `${kind}\n`);
  return rows.map(({ id }) => nameOf(id));
}

async function load<Stored>(
  parts: RecordReader,
  shelf: Shelf,
  tenant: number,
  kind: ModelKind,
  name: string,
): Promise<Stored> {
  const text = name.includes('\n') ? undefined : await readRecord(parts, tenant, shelf.collection, modelId(kind, name));
  if (text === undefined) throw new PlatformError(shelf.notFound, { name });
  return JSON.parse(text) as Stored;
}

/** Changes of other records that are stored with one, or guard it; asked for with each try. */
export type Guard = () => Promise<readonly RecordChange[]>;

/** Stores what is new. @throws PlatformError 409, or at a bound. */
async function create(
  parts: RecordParts,
  shelf: Shelf,
  asker: Asker,
  name: string,
  changes: readonly RecordChange[],
  others?: Guard,
): Promise<void> {
  const { tenant } = asker;
  await retried(parts, async () => {
    for (const { collection, id } of changes)
      if ((await readRecord(parts, tenant, collection, id)) !== undefined)
        throw new PlatformError(shelf.exists, { name });
    const all = [...changes, ...((await others?.()) ?? [])];
    await changeWithin(parts, totalOf(shelf, tenant), all, [auditOf(shelf, asker, 'created', name)]);
  });
}

/** Removes a record and what belongs to it, then its content. @throws PlatformError 404. */
async function remove(
  parts: RecordParts,
  shelf: Shelf,
  asker: Asker,
  kind: ModelKind,
  name: string,
  guard?: Guard,
): Promise<void> {
  const { tenant } = asker;
  const { collection } = shelf;
  const { blob, bytes } = await retried(parts, async () => {
    const stored = await load<Content>(parts, shelf, tenant, kind, name);
    const changes: RecordChange[] = [
      ...((await guard?.()) ?? []),
      { collection, id: modelId(kind, name), expected: JSON.stringify(stored), value: undefined },
    ];
    const id = informationId(kind, name);
    const expected = shelf === MODELS ? await readRecord(parts, tenant, SCORING_RECORDS, id) : undefined;
    if (expected !== undefined) changes.push({ collection: SCORING_RECORDS, id, expected, value: undefined });
    await changeWithin(parts, totalOf(shelf, tenant), changes, [auditOf(shelf, asker, 'deleted', name)]);
    return stored;
  });
  parts.retiredContents.retire(blob, bytes);
}

/** All of a kind, one after the other: what was deleted meanwhile does not count as an error. */
async function removeAll(
  parts: RecordParts,
  shelf: Shelf,
  asker: Asker,
  kind: ModelKind,
  guardOf?: (name: string) => Guard,
): Promise<void> {
  for (const name of await listNames(parts, shelf, asker.tenant, kind)) {
    try {
      await remove(parts, shelf, asker, kind, name, guardOf?.(name));
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === shelf.notFound)) throw error;
    }
  }
}

export const listModels = (parts: RecordReader, tenant: number, kind: ModelKind): Promise<string[]> =>
  listNames(parts, MODELS, tenant, kind);

/** @throws PlatformError 404. */
export const loadModel = (parts: RecordReader, tenant: number, kind: ModelKind, name: string): Promise<StoredModel> =>
  load(parts, MODELS, tenant, kind, name);

/** JSON text that `createModel` was given. @throws PlatformError 404. */
export async function modelInformation(
  parts: RecordReader,
  tenant: number,
  kind: ModelKind,
  name: string,
): Promise<string> {
  const text = name.includes('\n')
    ? undefined
    : await readRecord(parts, tenant, SCORING_RECORDS, informationId(kind, name));
  if (text === undefined) throw new PlatformError('scoring/model-not-found', { name });
  return text;
}

/**
 * @param information JSON text that shows the model's fields; at most 512 KiB.
 * @param others what is stored in the same change
 * @throws PlatformError 409 for a name that is taken, 400 at a bound.
 */
export async function createModel(
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  model: StoredModel,
  information: string,
  others?: Guard,
): Promise<void> {
  const collection = SCORING_MODELS;
  const { name } = model;
  const changes = [
    { collection, id: modelId(kind, name), expected: undefined, value: JSON.stringify(model) },
    { collection: SCORING_RECORDS, id: informationId(kind, name), expected: undefined, value: information },
  ];
  await create(parts, MODELS, asker, name, changes, others);
}

/** @throws PlatformError 404. @returns the model as it is now. */
export function activateModel(
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  name: string,
  isActive: boolean,
): Promise<StoredModel> {
  const { tenant } = asker;
  return retried(parts, async () => {
    const stored = await loadModel(parts, tenant, kind, name);
    if (stored.isActive === isActive) return stored;
    const next = { ...stored, isActive, ...(isActive ? { activatedAt: parts.now() } : {}) };
    const change = {
      collection: SCORING_MODELS,
      id: modelId(kind, name),
      expected: JSON.stringify(stored),
      value: JSON.stringify(next),
    };
    const audit = auditOf(MODELS, asker, isActive ? 'activated' : 'deactivated', name);
    await changeWithin(parts, totalOf(MODELS, tenant), [change], [audit]);
    return next;
  });
}

/** @throws PlatformError 404, and what the guard throws. */
export const removeModel = (
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  name: string,
  guard?: Guard,
): Promise<void> => remove(parts, MODELS, asker, kind, name, guard);
export const removeModels = (
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  guardOf?: (name: string) => Guard,
): Promise<void> => removeAll(parts, MODELS, asker, kind, guardOf);

/** In the order of their names. */
export async function listResources(parts: RecordReader, tenant: number, kind: ModelKind): Promise<StoredResource[]> {
  const rows = await listRecords(parts, tenant, SCORING_RESOURCES, `${kind}\n`);
  return rows.map(({ value }) => JSON.parse(value) as StoredResource);
}

/** @throws PlatformError 404. */
export const loadResource = (
  parts: RecordReader,
  tenant: number,
  kind: ModelKind,
  fileName: string,
): Promise<StoredResource> => load(parts, RESOURCES, tenant, kind, fileName);

/**
 * @param others what is stored in the same change, or guards it
 * @throws PlatformError 409 for a name that is taken, 400 at a bound, and what the guard throws
 */
export async function createResource(
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  resource: StoredResource,
  others?: Guard,
): Promise<void> {
  const { fileName } = resource;
  const id = modelId(kind, fileName);
  const value = JSON.stringify(resource);
  const changes = [{ collection: SCORING_RESOURCES, id, expected: undefined, value }];
  await create(parts, RESOURCES, asker, fileName, changes, others);
}

/** @throws PlatformError 404, and what the guard throws. */
export const removeResource = (
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  fileName: string,
  guard?: Guard,
): Promise<void> => remove(parts, RESOURCES, asker, kind, fileName, guard);
/** @throws PlatformError what a guard throws: those before it are deleted then. */
export const removeResources = (
  parts: RecordParts,
  asker: Asker,
  kind: ModelKind,
  guardOf?: (name: string) => Guard,
): Promise<void> => removeAll(parts, RESOURCES, asker, kind, guardOf);
