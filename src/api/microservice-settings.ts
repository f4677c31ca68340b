/**
 * Settings of microservices (document 1 `currentApplication/settings`, document 4 section 6.7): tenant options of a category, beginning with the
 * defaults of the manifest. A default never takes the place of what somebody else has stored, and secret values are given to the microservice
 * that the category belongs to, not to another one that names it.
 */
import { PLATFORM_CATEGORIES, hasValue, optionKey, plainValue, storedOption } from '../accounts/options.ts';
import type { StoredOption } from '../accounts/options.ts';
import type { StoredApplication } from '../model/application.ts';
import type { RecordChange } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { findByUnique } from './application-records.ts';
import { settingsCategory } from './application-text.ts';
import { manifestSettings } from './microservice-manifest.ts';
import type { ManifestSetting } from './microservice-manifest.ts';
import { isEditable, optionAudit, requireRoom, serviceOptions } from './options.ts';
import { changeRecords, listRecords, readRecord } from './records.ts';
import type { StoredSubscription } from './subscriptions.ts';

/** How often a change is tried when somebody else was faster each time. */
const TRIES_MAX = 8;

/**
 * A new manifest: its defaults become options of the owner where none is stored; those that may not be edited are marked.
 * @throws PlatformError 422 when the owner has no room for more options.
 */
export async function applySettings(request: ApiRequest, application: StoredApplication): Promise<void> {
  const { ownerNumber } = application;
  const settings = manifestSettings(application.manifest).filter(({ defaultValue }) => defaultValue !== undefined);
  const category = settingsCategory(application);
  for (let tries = 1; ; tries += 1) {
    const changes = new Map<string, RecordChange>();
    for (const setting of settings) {
      const change = await changeOf(request, application, category, setting);
      if (change !== undefined) changes.set(setting.key, change);
    }
    if (changes.size === 0) return;
    await requireRoom(request, ownerNumber, [...changes.values()].filter(({ expected }) => expected === undefined).length);
    const names = Array.from(changes.keys(), (key) => ({ category, key }));
    try {
      await changeRecords(request, ownerNumber, [...changes.values()], [optionAudit(request, 'Option changed', names)]);
      return;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'general/changed-meanwhile' || tries >= TRIES_MAX) throw error;
    }
  }
}

/** @returns undefined for an option that stays: one that somebody has set or marked, that another application made, or that is so already. */
async function changeOf(request: ApiRequest, application: StoredApplication, category: string, setting: ManifestSetting): Promise<RecordChange | undefined> {
  const { cipher } = request.platform;
  const { id: maker, ownerNumber: tenant } = application;
  const { key, defaultValue = '', overwriteOnUpdate, editable: mayEdit } = setting;
  const id = optionKey(category, key);
  const expected = await readRecord(request, tenant, 'option', id);
  const old = expected === undefined ? undefined : JSON.parse(expected) as StoredOption;
  if (old !== undefined && old.application !== maker) return undefined;
  // Of the own record the mark is that of an earlier manifest: the management tenant's takes it away from the application.
  if (!await isEditable(request, { category, key }, undefined)) return undefined;
  const isKept = old !== undefined && hasValue(old) && (!overwriteOnUpdate || plainValue(cipher, tenant, category, key, old) === defaultValue);
  // The same value, encrypted again, would be another text.
  const { editable: _, ...value } = isKept ? old : { ...storedOption(cipher, tenant, category, key, defaultValue), application: maker };
  const text = JSON.stringify(mayEdit ? value : { ...value, editable: false });
  return text === expected ? undefined : { collection: 'option', id, expected, value: text };
}

/**
 * Whether the secret options of a tenant in the application's category are meant for it (document 4 section 6.1): the category is its context
 * path, and the tenant means this application by it. An own application comes before a subscribed one; a subscribed one keeps the context path
 * that it had when the tenant took it, and the first of several has it.
 */
async function isItsCategory(request: ApiRequest, { id, contextPath, ownerNumber }: StoredApplication, category: string, tenant: number): Promise<boolean> {
  if (contextPath !== category || PLATFORM_CATEGORIES.has(category)) return false;
  const own = await findByUnique(request, 'contextPath', tenant, contextPath);
  if (own !== undefined || tenant === ownerNumber) return own?.application.id === id;
  const subscriptions = (await listRecords(request, tenant, 'subscription')).map(({ value }) => JSON.parse(value) as StoredSubscription);
  const [first] = subscriptions.filter(({ trusted }) => trusted === contextPath).sort((left, right) => (left.since < right.since ? -1 : 1));
  return first?.application === id;
}

/**
 * Values by key, secret ones decrypted and without their prefix: those of the owner, then those of the tenant that the service works for, where
 * the manifest lets it. @param tenant number of that tenant; of the owner for the bootstrap user.
 */
export async function settingsOf(request: ApiRequest, application: StoredApplication, tenant: number): Promise<Record<string, string>> {
  const category = settingsCategory(application);
  const settings = new Map(manifestSettings(application.manifest).map((setting) => [shortKey(setting.key), setting]));
  const values: Record<string, string> = {};
  for (const [key, { defaultValue }] of settings) if (defaultValue !== undefined) values[key] = defaultValue;
  const optionsOf = async (number: number): Promise<[string, string][]> =>
    Object.entries(await serviceOptions(request, number, category, await isItsCategory(request, application, category, number)));
  const isOwner = tenant === application.ownerNumber;
  for (const [key, value] of await optionsOf(application.ownerNumber)) {
    if (isOwner || settings.get(key)?.inheritFromOwner !== false) values[key] = value;
  }
  if (isOwner) return values;
  for (const [key, value] of await optionsOf(tenant)) if (settings.get(key)?.editable !== false) values[key] = value;
  return values;
}

const shortKey = (key: string): string => (key.startsWith('credentials.') ? key.slice('credentials.'.length) : key);
