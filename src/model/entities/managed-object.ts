/** Managed objects (docs/spec/inventory.md): what of a body is taken, whichever way it came. */
import { dropNulls, joinMembers, splitMembers, stringMember } from '../documents/json-document.ts';
import type { Members } from '../documents/json-document.ts';
import { idText } from './entity-id.ts';
import { PlatformError } from '../errors.ts';
import { newDocument, requireNames } from './body-rules.ts';
import { lastSegment } from '../documents/text-end.ts';

const AREA = 'inventory';

/** Collections of links: resources of their own, ignored in bodies. */
const LINKS = ['childDevices', 'childAssets', 'childAdditions', 'deviceParents', 'assetParents', 'additionParents'];
const NOT_CHANGED = ['id', 'self', 'creationTime', 'lastUpdated', ...LINKS];

/**
 * @returns the document without the owner, and the owner that was sent.
 * @throws PlatformError `validation/invalid-field` for a name that no fragment has.
 */
export function newManagedObject(members: Members): { readonly doc: string; readonly owner: string | undefined } {
  return { doc: newDocument(members, AREA, [...LINKS, 'owner']), owner: stringMember(members, 'owner') };
}

/** @returns the document of a change. @throws PlatformError as `newManagedObject`. */
export function managedObjectChange(members: Members): string {
  const changes: Members = new Map(members);
  for (const name of NOT_CHANGED) changes.delete(name);
  requireNames(changes, AREA);
  return joinMembers(changes);
}

/** Members with the templates of SmartREST 2.0, in both spellings; the first one is written. */
export const TEMPLATES_2 = [
  'com_platform_model_smartrest_csv_CsvSmartRestTemplate',
  'com_cumulocity_model_smartrest_csv_CsvSmartRestTemplate',
] as const;
/** Member with the templates of SmartREST 1.0: `{"rows":"<rows 10 and 11>"}`. */
export const TEMPLATES_1 = 'c8y_SmartRestTemplate';
const TEMPLATES = [...TEMPLATES_2, TEMPLATES_1];

/** Whether the object is a template collection. */
export const hasTemplates = (members: Members): boolean => TEMPLATES.some((name) => members.has(name));

/** Whether merging the changes would set, replace or remove templates. */
export const changesTemplates = (members: Members, changes: Members): boolean =>
  TEMPLATES.some((name) => changes.has(name) && (members.get(name) ?? 'null') !== changes.get(name));

/**
 * Whether a body for a collection of children says which object to link. An empty one, or one of nulls alone, names
 * nothing to link and nothing to create (docs/spec/inventory.md#children).
 */
export function isReference(members: Members): boolean {
  const kept = dropNulls(new Map(members));
  return kept.has('managedObject') || kept.size === 0;
}

/** Id in `{"id":…}` or `{"self":".../<id>"}`. @throws PlatformError `validation/mandatory-fields` without either. */
export function referencedId(reference: Members): string {
  const object = reference.get('managedObject');
  const members: Members = object !== undefined && object.startsWith('{') ? splitMembers(object) : new Map();
  const id = idText(members.get('id'));
  if (id !== '') return id;
  const self = stringMember(members, 'self');
  if (self === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'managedObject.id' });
  return lastSegment(self);
}
