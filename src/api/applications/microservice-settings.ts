/**
 * Settings of microservices (docs/spec/microservices.md#settings): tenant options of a category, beginning with the
 * defaults of the manifest. A default never takes the place of what a user has stored, and secret values are
 * given to the microservice that the category belongs to, not to another one that names it.
 */
import {
  PLATFORM_CATEGORIES,
  hasValue,
  optionKey,
  readableValue,
  storedOption,
} from '../../accounts/options/options.ts';
import type { StoredOption } from '../../accounts/options/options.ts';
import type { StoredApplication } from '../../model/entities/application.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { ApiRequest } from '../request/request.ts';
import { findByUnique } from '../../accounts/applications/applications.ts';
import { settingsCategory } from './text.ts';
import { manifestSettings } from './microservice-manifest.ts';
import type { ManifestSetting } from './microservice-manifest.ts';
import {
  changeOptions,
  isEditable,
  madeOption,
  optionAudit,
  optionRecords,
  optionsTotal,
} from '../../accounts/options/changes.ts';
import { optionParts, serviceOptions } from '../options/options.ts';
import { requireRoom } from '../../records/totals.ts';
import { listRecords, retried } from '../../records/records.ts';
import type { StoredRecord } from '../../records/records.ts';
import type { StoredSubscription } from '../../model/entities/application.ts';

/**
 * Brings the options of the owner in line with the manifest: its defaults become options where none is stored; those
 * that may not be edited are marked; what the application made for an earlier manifest goes. @throws PlatformError 422
 * when the owner has no room for more options.
 */
export const applySettings = (request: ApiRequest, application: StoredApplication): Promise<void> =>
  retried(request.platform, async () => {
    const changes = await changesOf(request, application);
    if (changes.length === 0) return;
    const names = changes.map(({ id }) => {
      const [category, key] = id.split('\n');
      return { category, key };
    });
    await changeOptions(
      request.platform,
      application.ownerNumber,
      changes,
      optionAudit(request.principal, 'Option changed', names),
    );
  });

/**
 * Before anything is written of the application. @throws PlatformError 422 when the owner has no room for its settings.
 */
export async function requireSettingsFit(request: ApiRequest, application: StoredApplication): Promise<void> {
  await requireRoom(request.platform, optionsTotal(application.ownerNumber), await changesOf(request, application));
}

/** Of an application that exists no more: no other one could change what it has marked. */
export async function removeSettings(
  request: ApiRequest,
  { manifest: _, ...application }: StoredApplication,
): Promise<void> {
  if (application.type === 'MICROSERVICE') await applySettings(request, application);
}

/** What has to be changed for the manifest; without one, all that the application has made goes. */
async function changesOf(request: ApiRequest, application: StoredApplication): Promise<RecordChange[]> {
  const category = settingsCategory(application);
  const settings = manifestSettings(application.manifest).filter(({ defaultValue }) => defaultValue !== undefined);
  const records = await optionRecords(request.platform, application.ownerNumber);
  const texts = new Map(records.map(({ id, value }) => [id, value]));
  const changes = new Map<string, RecordChange>();
  for (const setting of settings) {
    const id = optionKey(category, setting.key);
    const change = await changeOf(request, application, category, setting, texts.get(id));
    if (change !== undefined) changes.set(id, change);
  }
  const wanted = new Set(settings.map(({ key }) => optionKey(category, key)));
  for (const record of records)
    if (!wanted.has(record.id) && (await isLeft(request, application, record)))
      changes.set(record.id, removalOf(record));
  return [...changes.values()];
}

const removalOf = ({ id, value }: StoredRecord): RecordChange => ({
  collection: 'option',
  id,
  expected: value,
  value: undefined,
});

/** Whether the application has made an option, and no user has set or marked it since. */
async function isLeft(
  request: ApiRequest,
  { id: maker }: StoredApplication,
  { id, value }: StoredRecord,
): Promise<boolean> {
  if (!value.includes(`"application":"${maker}"`) || (JSON.parse(value) as StoredOption).application !== maker)
    return false;
  const [category, key] = id.split('\n');
  return isEditable(optionParts(request.platform), { category, key }, undefined);
}

/**
 * @param expected text of the option's record. @returns undefined for an option that stays: one that a user has set
 * or marked, that another application made, or that is so already.
 */
async function changeOf(
  request: ApiRequest,
  application: StoredApplication,
  category: string,
  setting: ManifestSetting,
  expected: string | undefined,
): Promise<RecordChange | undefined> {
  const { cipher } = request.platform;
  const { id: maker, ownerNumber: tenant } = application;
  const { key, defaultValue = '', overwriteOnUpdate, editable: mayEdit } = setting;
  const id = optionKey(category, key);
  const stored = expected === undefined ? undefined : (JSON.parse(expected) as StoredOption);
  const old = stored?.application === maker ? stored : await madeOption(optionParts(request.platform), expected);
  if (old !== undefined && old.application !== maker) return undefined;
  // In the tenant's record the mark is that of an earlier manifest: the management tenant's takes it away from the
  // application.
  if (!(await isEditable(optionParts(request.platform), { category, key }, undefined))) return undefined;
  const isKept =
    old !== undefined &&
    hasValue(old) &&
    (!overwriteOnUpdate || readableValue(cipher, tenant, category, key, old) === defaultValue);
  // The same value, encrypted again, would be another text.
  const { editable: _, ...value } = isKept
    ? old
    : { ...storedOption(cipher, tenant, category, key, defaultValue), application: maker };
  const text = JSON.stringify(mayEdit ? value : { ...value, editable: false });
  return text === expected ? undefined : { collection: 'option', id, expected, value: text };
}

/**
 * Whether the secret options of a tenant in the application's category are meant for it
 * (docs/spec/options.md#secret-values): the category is its context path, and the tenant means this application by it.
 * A tenant's application comes before a subscribed one; a subscribed one keeps the context path that it had when the
 * tenant took it, and the first of several has it.
 */
async function isItsCategory(
  request: ApiRequest,
  { id, contextPath, ownerNumber }: StoredApplication,
  category: string,
  tenant: number,
): Promise<boolean> {
  if (contextPath !== category || PLATFORM_CATEGORIES.has(category)) return false;
  const own = await findByUnique(request.platform, 'contextPath', tenant, contextPath);
  if (own !== undefined || tenant === ownerNumber) return own?.application.id === id;
  const subscriptions = (await listRecords(request.platform, tenant, 'subscription')).map(
    ({ value }) => JSON.parse(value) as StoredSubscription,
  );
  const [first] = subscriptions
    .filter(({ trusted }) => trusted === contextPath)
    .sort((left, right) => (left.since < right.since ? -1 : 1));
  return first?.application === id;
}

/**
 * Values by key, secret ones decrypted and without their prefix: those of the owner, then those of the tenant that the
 * service works for, where the manifest lets it. @param tenant number of that tenant; of the owner for the bootstrap
 * user.
 */
export async function settingsOf(
  request: ApiRequest,
  application: StoredApplication,
  tenant: number,
): Promise<Record<string, string>> {
  const category = settingsCategory(application);
  const settings = new Map(manifestSettings(application.manifest).map((setting) => [shortKey(setting.key), setting]));
  const values: Record<string, string> = {};
  for (const [key, { defaultValue }] of settings) if (defaultValue !== undefined) values[key] = defaultValue;
  const optionsOf = async (number: number): Promise<[string, string][]> =>
    Object.entries(
      await serviceOptions(request, number, category, await isItsCategory(request, application, category, number)),
    );
  const isOwner = tenant === application.ownerNumber;
  for (const [key, value] of await optionsOf(application.ownerNumber)) {
    if (isOwner || settings.get(key)?.inheritFromOwner !== false) values[key] = value;
  }
  if (isOwner) return values;
  for (const [key, value] of await optionsOf(tenant)) {
    // What the manifest does not declare is the owner's, where the owner has set it.
    if (settings.get(key)?.editable ?? !Object.hasOwn(values, key)) values[key] = value;
  }
  return values;
}

const shortKey = (key: string): string => (key.startsWith('credentials.') ? key.slice('credentials.'.length) : key);
