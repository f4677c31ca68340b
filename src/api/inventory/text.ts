/** JSON text of managed objects with their six collections of links (docs/spec/inventory.md#fields). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isGroup } from '../../actors/handlers/inventory/managed-object.ts';
import { withBothMarkers } from '../../model/entities/agent-marker.ts';
import type { ChildKind } from '../../model/commands/links.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { entityText, managedObjectUrl, quote, segment, textOfStored, type ViewRequest } from '../entities/text.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { CHILD_KINDS, linkedIds } from '../lists/hierarchy.ts';
import { PageBudget } from '../request/page-budget.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { flag } from '../request/schema/query-parameters.ts';

/** Kind of child -> the collection of its parents. */
export const PARENTS_OF_KIND: Readonly<Record<ChildKind, string>> = {
  childDevices: 'deviceParents',
  childAssets: 'assetParents',
  childAdditions: 'additionParents',
};
/** References in one collection inside of an object; all of them are in the collection's own resource. */
const REFERENCES_MAX = 2000;
/** Objects whose links are read at once; fewer where all links are counted. */
const OBJECTS_AT_ONCE = 100;
const COUNTED_AT_ONCE = 5;
/** Objects that are read at once for their names: each may be large, and their names are all that is kept. */
const NAMES_AT_ONCE = 50;
/** Links that are counted. */
const COUNT_MAX = 100_000;

export const CHILD_PARAMETERS: QueryParameters = {
  withChildren: flag('false: references to children are left out'),
  withChildrenCount: flag('Adds the number of children to their collections'),
  withParents: flag('Fills the references to parents'),
  skipChildrenNames: flag('References without names'),
  withGroups: flag('Fills assetParents with the parents that are groups; withParents fills it with all'),
};

/** Which links an answer shows. */
interface LinkOptions {
  readonly children: boolean;
  readonly counts: boolean;
  readonly parents: boolean;
  readonly groups: boolean;
  readonly names: boolean;
}

/** What is known of objects that were made just now: they have no children. */
interface Known {
  readonly isNew?: boolean;
}

function optionsOf(request: ViewRequest): LinkOptions {
  const { query } = request;
  return {
    children: !query.isFalse('withChildren'),
    counts: query.isTrue('withChildrenCount'),
    parents: query.isTrue('withParents'),
    groups: query.isTrue('withGroups'),
    names: !query.isTrue('skipChildrenNames'),
  };
}

/** One reference: `{"managedObject":{"id","name","self"},"self"}`. */
export function referenceText(request: ViewRequest, collection: string, id: string, name: string | undefined): string {
  const named = name === undefined ? '' : `,"name":${quote(name)}`;
  const object = `{"id":${quote(id)}${named},"self":${quote(managedObjectUrl(request, id))}}`;
  return `{"managedObject":${object},"self":${quote(`${collection}/${segment(id)}`)}}`;
}

/** One collection of links of one object. */
interface LinkCollection {
  readonly url: string;
  readonly ids: readonly string[];
  /** How many there are, where that is asked for. */
  readonly count?: number;
  readonly names: boolean;
  readonly groupsOnly: boolean;
  /** The references that are shown. */
  readonly texts: string[];
}

/**
 * The references of many collections, in order. Names of many objects are read at once, whatever collections they are
 * in.
 */
async function addReferences(
  request: ViewRequest,
  collections: Iterable<LinkCollection>,
  budget: PageBudget,
): Promise<void> {
  const add = ({ url, texts }: LinkCollection, id: string, name: string | undefined): void => {
    const text = referenceText(request, url, id, name);
    budget.take(text.length);
    texts.push(text);
  };
  let waiting: { readonly collection: LinkCollection; readonly id: string }[] = [];
  const addWaiting = async (): Promise<void> => {
    const some = waiting;
    waiting = [];
    const documents = await request.platform.documents.getMany(
      'managedObject',
      request.tenant,
      some.map(({ id }) => id),
    );
    some.forEach(({ collection, id }, index) => {
      const document = documents[index];
      const members = document === undefined ? new Map<string, string>() : splitMembers(document);
      if (!collection.groupsOnly || isGroup(members))
        add(collection, id, collection.names ? stringMember(members, 'name') : undefined);
    });
  };
  for (const collection of collections) {
    for (const id of collection.ids) {
      if (!collection.names && !collection.groupsOnly) {
        add(collection, id, undefined);
        continue;
      }
      waiting.push({ collection, id });
      if (waiting.length < NAMES_AT_ONCE) continue;
      await addWaiting();
      // A store that answers at once would hold up the other requests.
      await nextTurn();
    }
  }
  if (waiting.length > 0) await addWaiting();
}

/** Whether of the parents of this kind the groups alone are shown. */
const isOfGroups = ({ parents, groups }: LinkOptions, kind: ChildKind): boolean =>
  !parents && groups && kind === 'childAssets';

/**
 * What is linked to one object: of each kind the children, then the parents. All lists at once: a store may be far
 * away.
 */
async function linksOf(
  request: ViewRequest,
  id: string,
  options: LinkOptions,
  { isNew = false }: Known,
): Promise<ReadonlyMap<string, LinkCollection>> {
  const self = managedObjectUrl(request, id);
  const limit = options.counts ? COUNT_MAX : REFERENCES_MAX;
  const [children, parents] = await Promise.all([
    Promise.all(
      CHILD_KINDS.map((kind) =>
        !isNew && (options.children || options.counts) ? linkedIds(request, 'children', id, kind, limit) : [],
      ),
    ),
    Promise.all(
      CHILD_KINDS.map((kind) =>
        options.parents || isOfGroups(options, kind) ? linkedIds(request, 'parents', id, kind, REFERENCES_MAX) : [],
      ),
    ),
  ]);
  const { names } = options;
  const links = new Map<string, LinkCollection>();
  for (const [index, kind] of CHILD_KINDS.entries()) {
    const ids = options.children ? children[index].slice(0, REFERENCES_MAX) : [];
    const counted = options.counts ? { count: children[index].length } : {};
    links.set(kind, { url: `${self}/${kind}`, ids, ...counted, names, groupsOnly: false, texts: [] });
  }
  for (const [index, kind] of CHILD_KINDS.entries()) {
    const name = PARENTS_OF_KIND[kind];
    links.set(name, {
      url: `${self}/${name}`,
      ids: parents[index],
      names,
      groupsOnly: isOfGroups(options, kind),
      texts: [],
    });
  }
  return links;
}

/**
 * The six collections of links of each object, JSON text by name. The links of many objects are read at once: over
 * Redis a page takes some round trips, not some for each object. @throws PlatformError `general/page-too-large`.
 */
export async function linkCollections(
  request: ViewRequest,
  ids: readonly string[],
  budget = new PageBudget(request),
  known: Known = {},
): Promise<ReadonlyMap<string, string>[]> {
  const options = optionsOf(request);
  const objectsAtOnce = options.counts ? COUNTED_AT_ONCE : OBJECTS_AT_ONCE;
  const found: ReadonlyMap<string, string>[] = [];
  for (let from = 0; from < ids.length; from += objectsAtOnce) {
    if (from > 0) await nextTurn();
    const links = await Promise.all(
      ids.slice(from, from + objectsAtOnce).map((id) => linksOf(request, id, options, known)),
    );
    await addReferences(
      request,
      links.flatMap((collections) => [...collections.values()]),
      budget,
    );
    for (const collections of links) {
      found.push(
        new Map(
          [...collections].map(([name, { url, count, texts }]) => [name, collectionText(quote(url), texts, count)]),
        ),
      );
    }
  }
  return found;
}

/** @param url as JSON text. */
const collectionText = (url: string, references: readonly string[], count?: number): string =>
  `{${count === undefined ? '' : `"count":${count},`}"references":[${references.join(',')}],"self":${url}}`;

/** Names that an answer replaces or writes twice. */
const LOOKED_AT = /"(?:self|com_(?:platform|cumulocity)_model_Agent|child[DA][a-z]+|[a-z]+Parents)":/;

/** @param doc as stored. @param collections of links, JSON text by name. */
function objectText(self: string, id: string, doc: string, collections: ReadonlyMap<string, string>): string {
  let added = '';
  for (const [name, value] of collections) added += `,${quote(name)}:${value}`;
  return (
    textOfStored(self, id, doc, added, LOOKED_AT) ??
    entityText(self, id, withBothMarkers(splitMembers(doc)), collections)
  );
}

/** The collections of links of an object that was made just now, where no parents are asked for. */
function emptyCollections(self: string, { counts }: LinkOptions): ReadonlyMap<string, string> {
  const collections = new Map<string, string>();
  const url = quote(`${self}/`).slice(0, -1);
  for (const kind of CHILD_KINDS) collections.set(kind, collectionText(`${url}${kind}"`, [], counts ? 0 : undefined));
  for (const name of Object.values(PARENTS_OF_KIND)) collections.set(name, collectionText(`${url}${name}"`, []));
  return collections;
}

/** @param doc as stored. */
export async function managedObjectText(
  request: ViewRequest,
  id: string,
  doc: string,
  known: Known = {},
): Promise<string> {
  const options = optionsOf(request);
  if (known.isNew === true && !options.parents && !options.groups) {
    const self = managedObjectUrl(request, id);
    return objectText(self, id, doc, emptyCollections(self, options));
  }
  const [text] = await managedObjectTexts(request, [{ entityId: id, doc }], new PageBudget(request), known);
  return text;
}

/**
 * @param rows documents as stored. @param budget of the page that they are on. @throws PlatformError
 * `general/page-too-large`.
 */
export async function managedObjectTexts(
  request: ViewRequest,
  rows: readonly DocumentRow[],
  budget = new PageBudget(request),
  known: Known = {},
): Promise<string[]> {
  for (const { doc } of rows) budget.take(doc.length);
  const links = await linkCollections(
    request,
    rows.map(({ entityId }) => entityId),
    budget,
    known,
  );
  return rows.map(({ entityId, doc }, index) =>
    objectText(managedObjectUrl(request, entityId), entityId, doc, links[index]),
  );
}
