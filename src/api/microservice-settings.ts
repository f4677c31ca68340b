/**
 * Settings of microservices (document 1 `currentApplication/settings`, document 4 section 6.7): tenant options of a category, beginning with the
 * defaults of the manifest.
 */
import { optionKey, storedOption } from '../accounts/options.ts';
import type { StoredOption } from '../accounts/options.ts';
import type { StoredApplication } from '../model/application.ts';
import type { RecordChange } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { manifestFields, manifestSettings } from './microservice-manifest.ts';
import type { ManifestSetting } from './microservice-manifest.ts';
import { serviceOptions } from './options.ts';
import { changeRecords, readRecord } from './records.ts';

/** How often a change is tried when somebody else was faster each time. */
const TRIES_MAX = 8;

export const settingsCategory = ({ manifest, contextPath, name }: StoredApplication): string =>
  manifestFields(manifest).settingsCategory ?? contextPath ?? name;

/** A new manifest: its settings become options of the owner; those that may not be edited are marked. */
export async function applySettings(request: ApiRequest, application: StoredApplication): Promise<void> {
  const settings = manifestSettings(application.manifest).filter(({ defaultValue }) => defaultValue !== undefined);
  const category = settingsCategory(application);
  for (let tries = 1; ; tries += 1) {
    const changes: RecordChange[] = [];
    for (const setting of settings) changes.push(...await changeOf(request, application.ownerNumber, category, setting));
    if (changes.length === 0) return;
    try {
      await changeRecords(request, application.ownerNumber, changes);
      return;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'general/changed-meanwhile' || tries >= TRIES_MAX) throw error;
    }
  }
}

async function changeOf(request: ApiRequest, tenant: number, category: string, setting: ManifestSetting): Promise<RecordChange[]> {
  const { key, defaultValue = '', overwriteOnUpdate, editable } = setting;
  const id = optionKey(category, key);
  const expected = await readRecord(request, tenant, 'option', id);
  const { editable: _, ...old } = expected === undefined ? {} as StoredOption : JSON.parse(expected) as StoredOption;
  const value = expected === undefined || overwriteOnUpdate ? storedOption(request.platform.cipher, tenant, category, key, defaultValue) : old;
  return [{ collection: 'option', id, expected, value: JSON.stringify(editable ? value : { ...value, editable: false }) }];
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
  const ofOwner = await serviceOptions(request, application.ownerNumber, category);
  const isOwner = tenant === application.ownerNumber;
  for (const [key, value] of Object.entries(ofOwner)) if (isOwner || settings.get(key)?.inheritFromOwner !== false) values[key] = value;
  if (isOwner) return values;
  for (const [key, value] of Object.entries(await serviceOptions(request, tenant, category))) {
    if (settings.get(key)?.editable !== false) values[key] = value;
  }
  return values;
}

const shortKey = (key: string): string => (key.startsWith('credentials.') ? key.slice('credentials.'.length) : key);
