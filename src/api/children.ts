/** Children and parents of managed objects, of three kinds (document 1 Inventory and assets; document 4 section 2.5). */
import { COMMAND } from '../model/command.ts';
import type { ChildKind, ChildLink } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { splitElements, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { documentPage } from './document-page.ts';
import { isEntityId } from './entity-id.ts';
import { idText, managedObjectUrl, quote, segment } from './entity-text.ts';
import { CHILD_KINDS, linkedIds } from './hierarchy.ts';
import { HistoryFilter } from './history-filter.ts';
import { addChildrenOf, addInventoryQuery } from './inventory-query.ts';
import { CHILD_PARAMETERS, PARENTS_OF_KIND, managedObjectText, referenceText } from './managed-object-text.ts';
import { INVENTORY_ADMIN, INVENTORY_READ, createManagedObject, createdManagedObject, loadManagedObject, requireReadable } from './managed-objects.ts';
import { mayReach, requireOwner } from './owner.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import { text } from './query-parameters.ts';
import { NO_CONTENT, created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import * as schemas from './schemas.ts';

/** Links of one object that a page is cut from. */
const LINKS_MAX = 100_000;

/** Id in `{"id":…}` or `{"self":".../<id>"}`. @throws PlatformError `validation/mandatory-fields` without either. */
function referencedId(reference: Members): string {
  const object = reference.get('managedObject');
  const members: Members = object !== undefined && object.startsWith('{') ? splitMembers(object) : new Map();
  const id = idText(members.get('id'));
  if (id !== '') return id;
  const self = stringMember(members, 'self');
  if (self === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'managedObject.id' });
  return self.replace(/\/+$/, '').split('/').pop() ?? '';
}

/** Ids in `{"references":[…]}` or in one reference. */
function referencedIds(members: Members): string[] {
  const references = members.get('references');
  return references === undefined ? [referencedId(members)] : splitElements(references).map((text) => referencedId(splitMembers(text)));
}

async function post(request: ApiRequest, kind: ChildKind): Promise<Answer> {
  const parent = request.params['id'];
  await loadManagedObject(request, parent);
  await requireOwner(request, parent);
  const members = request.members();
  const collection = `${managedObjectUrl(request, parent)}/${kind}`;
  if (!members.has('managedObject') && !members.has('references')) {
    return createdManagedObject(request, await createManagedObject(request, { parent: { id: parent, kind } }), true);
  }
  const children = referencedIds(members);
  for (const child of children) {
    await loadManagedObject(request, child);
    await requireOwner(request, child);
  }
  const references: string[] = [];
  for (const child of children) {
    const link: ChildLink = { kind, child, parent };
    const { doc } = await request.command<{ doc: string }>(COMMAND.CHILD_ADD, Number(parent), link);
    references.push(referenceText(request, collection, child, stringMember(splitMembers(doc), 'name')));
  }
  if (!members.has('references')) return created('managedObjectReference', references[0], `${collection}/${segment(children[0])}`);
  return created('managedObjectReferenceCollection', `{"self":${quote(collection)},"references":[${references.join(',')}]}`, collection);
}

/**
 * Objects linked in one direction, as references with whole objects. Of who may not read all of them, pages may be short and there are no totals
 * (document 4 section 0.4).
 */
async function list(request: ApiRequest, direction: 'children' | 'parents', kind: ChildKind): Promise<Answer> {
  const { id } = request.params;
  await requireReadable(request, await loadManagedObject(request, id));
  const page = pageOf(request);
  const query = direction === 'children' ? request.query.text('query') : undefined;
  if (query !== undefined) return queryChildren(request, kind, query);
  const ids = await linkedIds(request, direction, id, kind, LINKS_MAX);
  const shown = ids.slice(page.offset, page.offset + page.size);
  const documents = await request.platform.documents.getMany('managedObject', request.tenant, shown);
  const collection = `${managedObjectUrl(request, id)}/${direction === 'children' ? kind : PARENTS_OF_KIND[kind]}`;
  const items: string[] = [];
  for (const [index, linked] of shown.entries()) {
    const doc = documents[index] ?? '{}';
    if (!(await mayReach(request, linked, doc))) continue;
    const object = await managedObjectText(request, linked, doc);
    items.push(`{"managedObject":${object},"self":${quote(`${collection}/${segment(linked)}`)}}`);
  }
  const total = page.wantsTotal && request.isPrivileged ? ids.length : undefined;
  const isFull = ids.length > page.offset + page.size;
  return found('managedObjectReferenceCollection', collectionText(request, page, { name: 'references', items, total, isFull }));
}

/** Children that fulfil a query and may be read, in its order. */
async function queryChildren(request: ApiRequest, kind: ChildKind, query: string): Promise<Answer> {
  const { id } = request.params;
  const page = pageOf(request);
  const filter = new HistoryFilter(request.tenant);
  await addChildrenOf(request, filter, id, kind);
  const order = await addInventoryQuery(request, filter, query);
  const { rows, total, isFull } = await documentPage(request, 'managed_objects', filter.accessibleObjects(request), order, page);
  const collection = `${managedObjectUrl(request, id)}/${kind}`;
  const items: string[] = [];
  for (const { entityId, doc } of rows) {
    const object = await managedObjectText(request, entityId, doc);
    items.push(`{"managedObject":${object},"self":${quote(`${collection}/${segment(entityId)}`)}}`);
  }
  return found('managedObjectReferenceCollection', collectionText(request, page, { name: 'references', items, total, isFull }));
}

async function linkOf(request: ApiRequest, kind: ChildKind): Promise<ChildLink> {
  const { id, childId } = request.params;
  // Who may not reach the parent is not told what is linked to it.
  await loadManagedObject(request, id);
  await requireOwner(request, id);
  const isLinked =
    isEntityId(childId) && (await request.platform.documents.get('children', request.tenant, `${id}\n${kind}\n${childId}`)) !== undefined;
  if (!isLinked) throw new PlatformError('inventory/not-a-child', { child: childId, parent: id });
  return { kind, child: childId, parent: id };
}

async function get(request: ApiRequest, kind: ChildKind): Promise<Answer> {
  const { child, parent } = await linkOf(request, kind);
  const doc = await loadManagedObject(request, child);
  await requireReadable(request, doc);
  const text = await managedObjectText(request, child, doc);
  const self = `${managedObjectUrl(request, parent)}/${kind}/${segment(child)}`;
  return found('managedObjectReference', `{"managedObject":${text},"self":${quote(self)}}`);
}

async function remove(request: ApiRequest, kind: ChildKind): Promise<Answer> {
  const link = await linkOf(request, kind);
  await request.command(COMMAND.CHILD_REMOVE, Number(link.parent), link);
  return NO_CONTENT;
}

/** Unlinks those in the body, or all without a body. */
async function removeAll(request: ApiRequest, kind: ChildKind): Promise<Answer> {
  const parent = request.params['id'];
  await loadManagedObject(request, parent);
  await requireOwner(request, parent);
  const linked = await linkedIds(request, 'children', parent, kind, LINKS_MAX);
  const children = request.body.length === 0 ? linked : referencedIds(request.members());
  const stranger = children.find((child) => !linked.includes(child));
  if (stranger !== undefined) throw new PlatformError('inventory/not-a-child', { child: stranger, parent });
  for (const child of children) {
    const link: ChildLink = { kind, child, parent };
    await request.command(COMMAND.CHILD_REMOVE, Number(parent), link);
  }
  return NO_CONTENT;
}

function routesOf(kind: ChildKind): Route[] {
  const area = 'inventory';
  const collection = `/inventory/managedObjects/{id}/${kind}`;
  const mediaTypes = ['managedObjectReference', 'managedObjectReferenceCollection', 'managedObject'];
  const body = { schema: schemas.ChildReference, mediaTypes, example: { managedObject: { id: '251' } } };
  const page = [{ status: 200, description: 'A page of references', mediaType: 'managedObjectReferenceCollection' }];
  return [
    {
      method: 'GET',
      path: collection,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: `List ${kind}`,
      query: { query: text('Query language, as for lists of managed objects'), ...CHILD_PARAMETERS, ...PAGE_PARAMETERS },
      answers: page,
      handle: (request) => list(request, 'children', kind),
    },
    {
      method: 'POST',
      path: collection,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary: `Add to ${kind}, or create an object there`,
      body,
      answers: [
        { status: 201, description: 'Linked', mediaType: 'managedObjectReference' },
        { status: 201, description: 'several: the references', mediaType: 'managedObjectReferenceCollection' },
        { status: 201, description: 'a new object: the object', mediaType: 'managedObject' },
      ],
      handle: (request) => post(request, kind),
    },
    {
      method: 'DELETE',
      path: collection,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary: `Unlink ${kind}`,
      body: { ...body, isOptional: true },
      answers: [{ status: 204, description: 'Unlinked' }],
      handle: (request) => removeAll(request, kind),
    },
    {
      method: 'GET',
      path: `${collection}/{childId}`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: `Read one of ${kind}`,
      query: CHILD_PARAMETERS,
      answers: [{ status: 200, description: 'The reference', mediaType: 'managedObjectReference' }],
      handle: (request) => get(request, kind),
    },
    {
      method: 'DELETE',
      path: `${collection}/{childId}`,
      area,
      access: 'owner',
      roles: INVENTORY_ADMIN,
      summary: `Unlink one of ${kind}`,
      answers: [{ status: 204, description: 'Unlinked' }],
      handle: (request) => remove(request, kind),
    },
    {
      method: 'GET',
      path: `/inventory/managedObjects/{id}/${PARENTS_OF_KIND[kind]}`,
      area,
      access: 'owner',
      roles: INVENTORY_READ,
      summary: `Parents by ${kind}`,
      query: { ...CHILD_PARAMETERS, ...PAGE_PARAMETERS },
      answers: page,
      handle: (request) => list(request, 'parents', kind),
    },
  ];
}

export function childRoutes(): Route[] {
  return CHILD_KINDS.flatMap(routesOf);
}
