/**
 * What a device that takes no `c8y_SoftwareUpdate` gets in its place (docs/spec/software.md#operations): the list that it
 * is to have, through every door.
 */
import type { Collection } from '../commands/collections.ts';
import { splitMembers, stringMember, type Members } from '../documents/json-document.ts';
import { idText } from './entity-id.ts';
import { isOpenOperation } from './operation.ts';
import {
  SOFTWARE_LIST,
  SOFTWARE_UPDATE,
  softwareEntries,
  softwareListText,
  softwareText,
  takesSoftwareUpdate,
  updatedSoftware,
  type SoftwareEntry,
} from './software.ts';

/** What the list is read from: part of DocumentReader (src/ports/document-reader.ts). */
interface ReadDocuments {
  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined>;
}

/** Whether the operation still asks for changes of software. */
export const asksForSoftwareUpdate = (operation: Members): boolean =>
  operation.has(SOFTWARE_UPDATE) && isOpenOperation(stringMember(operation, 'status') ?? '');

/**
 * @returns JSON of the list that the device of an open operation gets in the place of its actions: what is installed
 * now, with the actions carried out. Undefined when it gets the operation as it is.
 */
export async function softwareListInPlace(
  documents: ReadDocuments,
  tenant: number,
  operation: Members,
): Promise<string | undefined> {
  if (!asksForSoftwareUpdate(operation)) return undefined;
  const device = idText(operation.get('deviceId'));
  const text = await documents.get('managedObject', tenant, device);
  if (text === undefined) return undefined;
  const object = splitMembers(text);
  if (takesSoftwareUpdate(object)) return undefined;
  const list = await documents.get('softwareList', tenant, device);
  const beside = list === undefined ? undefined : await documents.get('managedObject', tenant, list);
  const installed =
    operation.get(SOFTWARE_LIST) ?? (beside === undefined ? object : splitMembers(beside)).get(SOFTWARE_LIST);
  return softwareListText(
    updatedSoftware(softwareEntries(installed), softwareEntries(operation.get(SOFTWARE_UPDATE))).map(complete),
  );
}

/** With all members that a package of such a list has. */
const complete = (entry: SoftwareEntry): SoftwareEntry =>
  new Map([
    ...['name', 'version', 'url'].map((name) => [name, JSON.stringify(softwareText(entry, name).trim())] as const),
    ...[...entry].filter(([name]) => !['name', 'version', 'url'].includes(name)),
  ]);

/** The operation with `list` in the place of its `c8y_SoftwareUpdate`. */
export const withSoftwareList = (operation: Members, list: string): Members =>
  new Map(
    [...operation]
      .filter(([name]) => name !== SOFTWARE_LIST)
      .map(([name, value]) => (name === SOFTWARE_UPDATE ? [SOFTWARE_LIST, list] : [name, value])),
  );
