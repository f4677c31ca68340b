/**
 * Software of devices (docs/spec/software.md): the entries of lists, what actions make of a list, and which operation
 * a device takes for a change. Entries keep members that the server does not know.
 */
import { PlatformError } from '../errors.ts';
import { joinMembers, splitElements, splitMembers, type Members } from '../documents/json-document.ts';
import { idText } from './entity-id.ts';

/** The list of a device, and the operation with the whole list that the device is to have. */
export const SOFTWARE_LIST = 'c8y_SoftwareList';
/** The operation with actions. */
export const SOFTWARE_UPDATE = 'c8y_SoftwareUpdate';
/** Fragment of devices whose packages have types. */
export const SOFTWARE_TYPES = 'c8y_SupportedSoftwareTypes';
/** Type of the child addition that has the list of a device with such packages. */
export const INSTALLED_SOFTWARE = 'c8y_InstalledSoftwareList';
/** Packages of a list, and bytes of its text: it is written as a whole with each change. */
export const SOFTWARE_PACKAGES_MAX = 10_000;
export const SOFTWARE_BYTES_MAX = 1024 * 1024;
/** Codes of the errors of these bounds, and names of the limits. */
export const SOFTWARE_LIMITS = ['software/packages', 'software/list-bytes'] as const;
const [PACKAGES_LIMIT, BYTES_LIMIT] = SOFTWARE_LIMITS;
const SUPPORTED_OPERATIONS = 'c8y_SupportedOperations';

/** One package: `name`, `version`, `url`, `softwareType`, of an update also `action`. */
export type SoftwareEntry = Members;

/** The objects of a list as stored. @param text JSON of the list; anything but a list has no entries. */
export function softwareEntries(text: string | undefined): SoftwareEntry[] {
  if (text === undefined || !text.startsWith('[')) return [];
  return splitElements(text)
    .filter((element) => element.startsWith('{'))
    .map(splitMembers);
}

/** A member as text: strings and numbers as they are, everything else `''`. */
export function softwareText(entry: SoftwareEntry, name: string): string {
  const text = entry.get(name);
  return text === undefined || !/^["\d-]/.test(text) ? '' : idText(text);
}

/** The list as JSON text. */
export const softwareListText = (list: readonly SoftwareEntry[]): string => `[${list.map(joinMembers).join(',')}]`;

/** @throws PlatformError `software/packages`, `software/list-bytes`. */
export function requireSoftwareRoom(list: readonly SoftwareEntry[], text: string): void {
  if (list.length > SOFTWARE_PACKAGES_MAX)
    throw new PlatformError(PACKAGES_LIMIT, { count: list.length, maximum: SOFTWARE_PACKAGES_MAX });
  const bytes = Buffer.byteLength(text);
  if (bytes > SOFTWARE_BYTES_MAX) throw new PlatformError(BYTES_LIMIT, { count: bytes, maximum: SOFTWARE_BYTES_MAX });
}

/** A package replaces one of the same name and type. */
const keyOf = (entry: SoftwareEntry): string =>
  `${softwareText(entry, 'name')}\n${softwareText(entry, 'softwareType')}`;

/**
 * The list with `added`, each in the place of those of the same name and type, or at the end. Several versions that are
 * added together stay.
 */
export function withSoftware(list: readonly SoftwareEntry[], added: readonly SoftwareEntry[]): SoftwareEntry[] {
  const byKey = new Map<string, Map<string, SoftwareEntry>>();
  for (const entry of added) {
    const versions = byKey.get(keyOf(entry)) ?? new Map<string, SoftwareEntry>();
    byKey.set(keyOf(entry), versions.set(softwareText(entry, 'version'), entry));
  }
  const placed = new Set<string>();
  const kept = list.flatMap((entry) => {
    const key = keyOf(entry);
    const replacement = byKey.get(key);
    if (replacement === undefined) return [entry];
    if (placed.has(key)) return [];
    placed.add(key);
    return [...replacement.values()];
  });
  return [...kept, ...[...byKey].filter(([key]) => !placed.has(key)).flatMap(([, versions]) => [...versions.values()])];
}

/** The list without `removed`, which are told by name and version; without a version every one of the name goes. */
export function withoutSoftware(list: readonly SoftwareEntry[], removed: readonly SoftwareEntry[]): SoftwareEntry[] {
  const gone = new Set(removed.map((entry) => `${softwareText(entry, 'name')}\n${softwareText(entry, 'version')}`));
  return list.filter((entry) => {
    const name = softwareText(entry, 'name');
    return !gone.has(`${name}\n`) && !gone.has(`${name}\n${softwareText(entry, 'version')}`);
  });
}

/**
 * The list that a device has after an update: name and version tell a package from others, and where both packages name
 * a kind, that too. @param actions entries of `c8y_SoftwareUpdate`, carried out in order; one without a version deletes
 * every version.
 */
export function updatedSoftware(list: readonly SoftwareEntry[], actions: readonly SoftwareEntry[]): SoftwareEntry[] {
  /** By name, version and kind. */
  const names = new Map<string, Map<string, Map<string, SoftwareEntry>>>();
  for (const entry of list) kindsOf(names, entry).set(softwareText(entry, 'softwareType'), entry);
  for (const action of actions) {
    const kind = softwareText(action, 'softwareType');
    if (softwareText(action, 'action') !== 'delete') {
      const kinds = kindsOf(names, action);
      removeKind(kinds, kind);
      kinds.set(kind, new Map([...action].filter(([name]) => name !== 'action')));
      continue;
    }
    const versions = names.get(softwareText(action, 'name'));
    const version = softwareText(action, 'version');
    const kinds = versions?.get(version);
    if (version === '') versions?.clear();
    else if (kinds !== undefined) removeKind(kinds, kind);
  }
  return [...names.values()].flatMap((versions) => [...versions.values()].flatMap((kinds) => [...kinds.values()]));
}

function kindsOf(
  names: Map<string, Map<string, Map<string, SoftwareEntry>>>,
  entry: SoftwareEntry,
): Map<string, SoftwareEntry> {
  const [name, version] = [softwareText(entry, 'name'), softwareText(entry, 'version')];
  const versions = names.get(name) ?? new Map<string, Map<string, SoftwareEntry>>();
  const kinds = versions.get(version) ?? new Map<string, SoftwareEntry>();
  names.set(name, versions.set(version, kinds));
  return kinds;
}

/** Of packages with one name and version those of the kind, and those without one. */
function removeKind(kinds: Map<string, SoftwareEntry>, kind: string): void {
  if (kind === '') return kinds.clear();
  kinds.delete(kind);
  kinds.delete('');
}

/** Whether the device takes actions; another one gets the list that it is to have (docs/spec/software.md#operations). */
export function takesSoftwareUpdate(device: Members): boolean {
  const text = device.get(SUPPORTED_OPERATIONS);
  return text?.startsWith('[') === true && splitElements(text).includes(JSON.stringify(SOFTWARE_UPDATE));
}
