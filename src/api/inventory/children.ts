/** Children and parents of managed objects, of three kinds (docs/spec/inventory.md#children). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LINKED } from '../../actors/handlers/inventory/child-links.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ChildKind, ChildLink, ChildLinks } from '../../model/commands/links.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitElements, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { isReference, referencedId } from '../../model/entities/managed-object.ts';
import type { ApiRequest } from '../request/request.ts';
import { documentPage } from '../../history/page.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { managedObjectUrl, quote, segment } from '../entities/text.ts';
import { CHILD_KINDS, linkedIds } from '../lists/hierarchy.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { addChildrenOf, addInventoryQuery } from './query.ts';
import { CHILD_PARAMETERS, PARENTS_OF_KIND, managedObjectText, managedObjectTexts, referenceText } from './text.ts';
import { INVENTORY_ADMIN, INVENTORY_READ } from '../../model/access/roles.ts';
import { createManagedObject, createdManagedObject, requireReadable } from './managed-objects.ts';
import { limitObjects } from '../../history/access.ts';
import { listReaders } from '../lists/readers.ts';
import { loadManagedObject, mayReach, reachOf, requireOwner } from '../lists/owner.ts';
import { PageBudget } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import type { Page } from '../../model/documents/page.ts';
import { text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from '../../model/entities/body-schemas.ts';

/**
 * Children of one object that are read from the documents and sorted for a page; of more the history knows the page.
 */
const CHILDREN_MAX = 2_000;
/** Parents of one object that a page is cut from. */
const PARENTS_MAX = 100_000;
/** References in one body, which are one command: what it writes is far below what a commit takes. */
const REFERENCES_MAX = 5_000;
const REFERENCES_LIMIT = 'inventory/references';
/** Links that are ended by one command when all are. */
const LINKS_AT_ONCE = 1_000;
/** Texts that are asked for at once; then it is the turn of others, whose store may answer at once. */
const TEXTS_AT_ONCE = 100;

type Form = 'managedObject' | 'managedObjectReference' | 'managedObjectReferenceCollection';

/**
 * What a body is: the vendor type says it, of others its members. With that of an object too, a reference makes none
 * (docs/spec/inventory.md#children).
 */
function formOf(request: ApiRequest): Form {
  const { kind, name } = request.contentType;
  const vendor = kind === 'vendor' ? name : '';
  if (vendor === 'managedobjectreference') return 'managedObjectReference';
  if (vendor === 'managedobjectreferencecollection') return 'managedObjectReferenceCollection';
  const members = request.members();
  if (vendor !== 'managedobject' && members.has('references')) return 'managedObjectReferenceCollection';
  return isReference(members) ? 'managedObjectReference' : 'managedObject';
}

/**
 * Distinct ids in `{"references":[…]}` or in one reference. @throws PlatformError `inventory/too-many-references`,
 * `validation/mandatory-fields`.
 */
function referencedIds(request: ApiRequest, form: Form): string[] {
  const members = request.members();
  if (form !== 'managedObjectReferenceCollection') return [referencedId(members)];
  const references = members.get('references');
  if (references === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'references' });
  const ids = [...new Set(splitElements(references).map((text) => referencedId(splitMembers(text))))];
  if (ids.length <= REFERENCES_MAX) return ids;
  request.refused(REFERENCES_LIMIT);
  throw new PlatformError('inventory/too-many-references', {
    count: ids.length,
    maximum: REFERENCES_MAX,
    limit: REFERENCES_LIMIT,
  });
}

async function post(request: ApiRequest, kind: ChildKind): Promise<Answer> {
  const parent = request.params['id'];
  await loadManagedObject(request, parent);
  await requireOwner(request, parent);
  const form = formOf(request);
  if (form === 'managedObject') {
    return createdManagedObject(
      request,
      await createManagedObject(request, { parent: { id: parent, kind, isRequired: true } }),
      true,
    );
  }
  const children = referencedIds(request, form);
  const collection = `${managedObjectUrl(request, parent)}/${kind}`;
  const references: string[] = [];
  const budget = new PageBudget(request);
  for (const [index, child] of children.entries()) {
    if (index % TEXTS_AT_ONCE === TEXTS_AT_ONCE - 1) await nextTurn();
    const doc = await loadManagedObject(request, child);
    await requireOwner(request, child);
    const reference = referenceText(request, collection, child, stringMember(splitMembers(doc), 'name'));
    budget.take(reference.length);
    references.push(reference);
  }
  await linkChildren(request, { kind, children, parent });
  if (form === 'managedObjectReference')
    return created('managedObjectReference', references[0], `${collection}/${segment(children[0])}`);
  return created(
    'managedObjectReferenceCollection',
    `{"self":${quote(collection)},"references":[${references.join(',')}]}`,
    collection,
  );
}

/** Values of the links, undefined for those that are not there. */
async function linkValues(
  request: ApiRequest,
  { kind, children, parent }: ChildLinks,
): Promise<(string | undefined)[]> {
  return request.platform.documents.getMany(
    'children',
    request.tenant,
    children.map((child) => `${parent}\n${kind}\n${child}`),
  );
}

/**
 * Links all or none of them; those that are linked stay so. What others have asked for meanwhile stays too: each link
 * that is made here is stored with the id of this request until it is asked for again. @throws PlatformError
 * `inventory/cycle`, 404 for what is deleted meanwhile.
 */
async function linkChildren(request: ApiRequest, links: ChildLinks): Promise<void> {
  const before = await linkValues(request, links);
  const children = links.children.filter((_, index) => before[index] !== LINKED);
  if (children.length === 0) return;
  const { kind, parent } = links;
  const fresh: Required<ChildLinks> = { kind, children, parent, maker: `by ${request.platform.ids.next()}` };
  await countRefusal(
    request,
    request.command(
      COMMAND.CHILD_ADD,
      Number(parent),
      children.length === 1 ? { kind, child: children[0], parent } : fresh,
    ),
  );
  // The children decide after the parent; the answer has waited for them.
  const after = await linkValues(request, fresh);
  const refused = after.indexOf(undefined);
  if (refused < 0) return;
  const others = children.filter((_, index) => after[index] === fresh.maker);
  if (others.length > 0) await request.command(COMMAND.CHILD_REMOVE, Number(parent), { ...fresh, children: others });
  for (const id of [parent, children[refused]]) await loadManagedObject(request, id);
  throw new PlatformError('inventory/not-linked', { child: children[refused], parent });
}

/** A hierarchy that is too large for the actor counts here: actors count nothing. */
async function countRefusal<Result>(request: ApiRequest, result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'general/hierarchy-too-large')
      request.refused(String(error.details['limit']));
    throw error;
  }
}

/**
 * Objects linked in one direction, as references with whole objects. Of who may not read all of them, pages may be
 * short and there are no totals (docs/spec/paging.md#totals).
 */
async function list(request: ApiRequest, direction: 'children' | 'parents', kind: ChildKind): Promise<Answer> {
  const { id } = request.params;
  await requireReadable(request, await loadManagedObject(request, id));
  const isOfChildren = direction === 'children';
  const query = isOfChildren ? request.query.text('query') : undefined;
  if (query !== undefined) return queryChildren(request, kind, query);
  const ids = await linkedIds(request, direction, id, kind, isOfChildren ? CHILDREN_MAX + 1 : PARENTS_MAX);
  if (isOfChildren && ids.length > CHILDREN_MAX) return queryChildren(request, kind);
  const page = pageOf(request);
  const texts = new ReferenceTexts(
    request,
    `${managedObjectUrl(request, id)}/${isOfChildren ? kind : PARENTS_OF_KIND[kind]}`,
  );
  const shown = ids.slice(page.offset, page.offset + page.size);
  for (let from = 0; from < shown.length; from += TEXTS_AT_ONCE) {
    const some = shown.slice(from, from + TEXTS_AT_ONCE);
    const documents = await request.platform.documents.getMany('managedObject', request.tenant, some);
    const rows: DocumentRow[] = [];
    for (const [index, linked] of some.entries()) {
      const doc = documents[index] ?? '{}';
      if (await mayReach(request, linked, doc)) rows.push({ entityId: linked, doc });
    }
    await texts.add(rows);
    await nextTurn();
  }
  const total = page.wantsTotal && request.isPrivileged ? ids.length : undefined;
  return texts.answer(page, { total, isFull: ids.length > page.offset + page.size });
}

/** Children that may be read, in the order of their ids; with a query those that fulfil it, in its order. */
async function queryChildren(request: ApiRequest, kind: ChildKind, query?: string): Promise<Answer> {
  const { id } = request.params;
  const page = pageOf(request);
  const filter = new HistoryFilter(request.tenant);
  await addChildrenOf(request, filter, id, kind);
  const order = query === undefined ? 'id' : await addInventoryQuery(request, filter, query);
  limitObjects(filter, reachOf(request));
  const { rows, total, isFull } = await documentPage(listReaders(request), 'managed_objects', filter, order, page);
  const texts = new ReferenceTexts(request, `${managedObjectUrl(request, id)}/${kind}`);
  await texts.add(rows);
  return texts.answer(page, { total, isFull });
}

/** The references of a page. */
class ReferenceTexts {
  readonly #request: ApiRequest;
  readonly #collection: string;
  readonly #items: string[] = [];
  readonly #budget: PageBudget;

  constructor(request: ApiRequest, collection: string) {
    this.#request = request;
    this.#collection = collection;
    this.#budget = new PageBudget(request);
  }

  async add(rows: readonly DocumentRow[]): Promise<void> {
    const objects = await managedObjectTexts(this.#request, rows, this.#budget);
    for (const [index, { entityId }] of rows.entries()) {
      this.#items.push(
        `{"managedObject":${objects[index]},"self":${quote(`${this.#collection}/${segment(entityId)}`)}}`,
      );
    }
  }

  answer(page: Page, { total, isFull }: { readonly total: number | undefined; readonly isFull: boolean }): Answer {
    const collection = { name: 'references', items: this.#items, total, isFull };
    return found('managedObjectReferenceCollection', collectionText(this.#request, page, collection));
  }
}

async function linkOf(request: ApiRequest, kind: ChildKind): Promise<ChildLink> {
  const { id, childId } = request.params;
  // Who may not reach the parent is not told what is linked to it.
  await loadManagedObject(request, id);
  await requireOwner(request, id);
  const isLinked =
    isEntityId(childId) &&
    (await request.platform.documents.get('children', request.tenant, `${id}\n${kind}\n${childId}`)) !== undefined;
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
  if (request.body.length === 0) await unlinkAll(request, parent, kind);
  else {
    const links: ChildLinks = { kind, children: referencedIds(request, formOf(request)), parent };
    const stranger =
      links.children.find((child) => !isEntityId(child)) ??
      links.children[(await linkValues(request, links)).indexOf(undefined)];
    if (stranger !== undefined) throw new PlatformError('inventory/not-a-child', { child: stranger, parent });
    if (links.children.length > 0) await request.command(COMMAND.CHILD_REMOVE, Number(parent), links);
  }
  return NO_CONTENT;
}

async function unlinkAll(request: ApiRequest, parent: string, kind: ChildKind): Promise<void> {
  const prefix = `${parent}\n${kind}\n`;
  for (let after: string | undefined; ; ) {
    const options = after === undefined ? { limit: LINKS_AT_ONCE } : { after, limit: LINKS_AT_ONCE };
    const page = await request.platform.documents.list('children', request.tenant, prefix, options);
    if (page.length === 0) return;
    const links: ChildLinks = { kind, children: page.map(({ id }) => id.slice(prefix.length)), parent };
    await request.command(COMMAND.CHILD_REMOVE, Number(parent), links);
    if (page.length < LINKS_AT_ONCE) return;
    after = page[page.length - 1].id;
  }
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
      query: {
        query: text('Query language, as for lists of managed objects'),
        ...CHILD_PARAMETERS,
        ...PAGE_PARAMETERS,
      },
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
        { status: 201, description: 'Linked', mediaType: 'managedObjectReference', plain: 'addedChildren' },
        { status: 201, description: 'several: the references', mediaType: 'managedObjectReferenceCollection' },
        {
          status: 201,
          description: 'a new object: the object',
          mediaType: 'managedObject',
          schema: 'writtenManagedObject',
        },
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
