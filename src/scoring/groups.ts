/** Groups of models with one signature (docs/spec/scoring.md#groups). */
import type { RecordChange } from '../model/commands/records.ts';
import { GROUP_PREFIX, groupId, type StoredGroup } from '../model/entities/scoring/group.ts';
import { modelId, SCORING_MODELS, SCORING_RECORDS, SCORING_TOTAL_ID } from '../model/entities/scoring/model.ts';
import { PlatformError } from '../model/errors.ts';
import { listRecords, readRecord, retried } from '../records/records.ts';
import type { RecordReader } from '../records/records.ts';
import { NO_SUM, changeWithin, sumOfRecord, type KeptTotal } from '../records/totals.ts';
import type { ModelInformation } from '../scoring-workers/pmml/engine.ts';
import type { Asker } from './asker.ts';
import { GROUPS_BYTES_MAX, GROUPS_MAX, SCORING_LIMIT } from './limits.ts';
import { modelInformation, type RecordParts } from './records.ts';

/** Groups that a model is in: `member\n<model>` → name of its group, so that two requests cannot put it into two. */
const memberId = (model: string): string => `member\n${model}`;

const totalOf = (tenant: number): KeptTotal => ({
  tenant,
  collection: SCORING_RECORDS,
  id: SCORING_TOTAL_ID,
  bounds: {
    count: { maximum: GROUPS_MAX, limit: SCORING_LIMIT.GROUPS, error: 'scoring/too-many' },
    bytes: { maximum: GROUPS_BYTES_MAX, limit: SCORING_LIMIT.GROUP_BYTES, error: 'scoring/too-large' },
  },
  sumOf: (record) => (record.id.startsWith(GROUP_PREFIX) ? sumOfRecord(record) : NO_SUM),
  records: (ports) => listRecords(ports, tenant, SCORING_RECORDS, GROUP_PREFIX),
});

/** In the order of their names. */
export async function listGroups(parts: RecordReader, tenant: number): Promise<StoredGroup[]> {
  const rows = await listRecords(parts, tenant, SCORING_RECORDS, GROUP_PREFIX);
  return rows.map(({ value }) => JSON.parse(value) as StoredGroup);
}

/** @throws PlatformError 404. */
export async function loadGroup(parts: RecordReader, tenant: number, name: string): Promise<StoredGroup> {
  const text = await readRecord(parts, tenant, SCORING_RECORDS, groupId(name));
  if (text === undefined) throw new PlatformError('scoring/group-not-found', { name });
  return JSON.parse(text) as StoredGroup;
}

/** Name of the group that a model is in. */
const groupOf = (parts: RecordReader, tenant: number, model: string): Promise<string | undefined> =>
  readRecord(parts, tenant, SCORING_RECORDS, memberId(model));

/** @throws PlatformError 404 for a model that is not there, 400 for one of another signature or group, 409. */
export async function createGroup(parts: RecordParts, asker: Asker, group: StoredGroup): Promise<void> {
  const { groupName: name } = group;
  await retried(parts, async () => {
    if ((await readRecord(parts, asker.tenant, SCORING_RECORDS, groupId(name))) !== undefined)
      throw new PlatformError('scoring/group-exists', { name });
    await store(parts, asker, undefined, group);
  });
}

/** Replaces the group of this name. @throws PlatformError 404, 400 as `createGroup`. */
export async function replaceGroup(parts: RecordParts, asker: Asker, group: StoredGroup): Promise<void> {
  await retried(parts, async () => {
    await store(parts, asker, await loadGroup(parts, asker.tenant, group.groupName), group);
  });
}

/** @throws PlatformError 404. */
export async function removeGroup(parts: RecordParts, asker: Asker, name: string): Promise<void> {
  await retried(parts, async () => {
    await store(parts, asker, await loadGroup(parts, asker.tenant, name), undefined);
  });
}

export async function removeGroups(parts: RecordParts, asker: Asker): Promise<void> {
  for (const { groupName } of await listGroups(parts, asker.tenant)) {
    try {
      await removeGroup(parts, asker, groupName);
    } catch (error) {
      if (!(error instanceof PlatformError && error.code === 'scoring/group-not-found')) throw error;
    }
  }
}

/** For the deletion of a model: it leaves its group, and no group takes it meanwhile. */
export async function leftGroup(parts: RecordParts, asker: Asker, model: string): Promise<readonly RecordChange[]> {
  await leaveGroup(parts, asker, model);
  return [{ collection: SCORING_RECORDS, id: memberId(model), expected: undefined, value: undefined }];
}

/** The group ends with its last model. */
async function leaveGroup(parts: RecordParts, asker: Asker, model: string): Promise<void> {
  await retried(parts, async () => {
    const name = await groupOf(parts, asker.tenant, model);
    if (name === undefined) return;
    const group = await loadGroup(parts, asker.tenant, name);
    const models = group.models.filter((one) => one !== model);
    const [first] = models;
    const primaryModel = group.primaryModel === model ? first : group.primaryModel;
    await store(parts, asker, group, first === undefined ? undefined : { ...group, models, primaryModel });
  });
}

async function store(
  parts: RecordParts,
  asker: Asker,
  old: StoredGroup | undefined,
  next: StoredGroup | undefined,
): Promise<void> {
  const { tenant, user } = asker;
  const name = (next ?? old)?.groupName ?? '';
  const changes: RecordChange[] = [
    {
      collection: SCORING_RECORDS,
      id: groupId(name),
      expected: old && JSON.stringify(old),
      value: next && JSON.stringify(next),
    },
  ];
  for (const model of next?.models ?? []) {
    if (old?.models.includes(model) === true) continue;
    if ((await groupOf(parts, tenant, model)) !== undefined)
      throw new PlatformError('scoring/group-member', { name: model });
    changes.push({ collection: SCORING_RECORDS, id: memberId(model), expected: undefined, value: name });
    changes.push(await keptModel(parts, tenant, model));
  }
  for (const model of old?.models ?? [])
    if (next?.models.includes(model) !== true)
      changes.push({ collection: SCORING_RECORDS, id: memberId(model), expected: name, value: undefined });
  // Fewer models have the signature that all of them had.
  const isNew = next !== undefined && next.models.some((model) => old?.models.includes(model) !== true);
  if (isNew) await requireOneSignature(parts, tenant, next.models);
  if (old !== undefined && next !== undefined && changes.length === 1 && changes[0].expected === changes[0].value)
    return;
  const what = old === undefined ? 'created' : next === undefined ? 'deleted' : 'updated';
  const audit = { type: 'Scoring', activity: `Model group ${what}`, text: `Model group ${what}: ${name}`, user };
  await changeWithin(parts, totalOf(tenant), changes, [audit]);
}

/** A model that is not deleted before the group is stored. @throws PlatformError 404. */
async function keptModel(parts: RecordReader, tenant: number, name: string): Promise<RecordChange> {
  const [collection, id] = [SCORING_MODELS, modelId('pmml', name)];
  const stored = await readRecord(parts, tenant, collection, id);
  if (stored === undefined) throw new PlatformError('scoring/model-not-found', { name });
  return { collection, id, expected: stored, value: stored };
}

/** @throws PlatformError 404 for a model that is not there, 400 where inputs or outputs differ. */
async function requireOneSignature(parts: RecordReader, tenant: number, models: readonly string[]): Promise<void> {
  const [first = ''] = models;
  let wanted: string | undefined;
  for (const name of models) {
    const signature = signatureOf(await modelInformation(parts, tenant, 'pmml', name));
    wanted ??= signature;
    if (signature !== wanted) throw new PlatformError('scoring/group-signature', { name, first });
  }
}

/** Names and types of inputs and outputs, whatever their order is. */
function signatureOf(text: string): string {
  const { inputFields, outputFields } = JSON.parse(text) as Pick<ModelInformation, 'inputFields' | 'outputFields'>;
  const sorted = (fields: ModelInformation['inputFields']): string[] =>
    fields.map(({ name, type }) => JSON.stringify([name, type])).sort();
  return JSON.stringify([sorted(inputFields), sorted(outputFields)]);
}
