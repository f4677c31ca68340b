/** JSON text of managed objects with their six collections of links (docs/spec/inventory.md#fields). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isGroup } from '../../actors/handlers/inventory/managed-object.ts';
import { spelledMarker } from '../../model/entities/agent-marker.ts';
import type { ChildKind } from '../../model/commands/links.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { entityText, managedObjectUrl, quote, segment } from '../entities/text.ts';
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

function optionsOf(request: ApiRequest): LinkOptions {
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
export function referenceText(request: ApiRequest, collection: string, id: string, name: string | undefined): string {
  const named = name === undefined ? '' : `,"name":${quote(name)}`;
  const object = `{"id":${quote(id)}${named},"self":${quote(managedObjectUrl(request, id))}}`;
  return `{"managedObject":${object},"self":${quote(`${collection}/${segment(id)}`)}}`;
}

interface Shown {
  readonly names: boolean;
  readonly groupsOnly: boolean;
  readonly budget: PageBudget;
}

async function references(request: ApiRequest, collection: string, ids: readonly string[], { names, groupsOnly, budget }: Shown): Promise<string> {
  const texts: string[] = [];
  const add = (id: string, name: string | undefined): void => {
    const text = referenceText(request, collection, id, name);
    budget.take(text.length);
    texts.push(text);
  };
  if (!names && !groupsOnly) for (const id of ids) add(id, undefined);
  else {
    for (let from = 0; from < ids.length; from += NAMES_AT_ONCE) {
      // A store that answers at once would hold up everybody else.
      if (from > 0) await nextTurn();
      const some = ids.slice(from, from + NAMES_AT_ONCE);
      const documents = await request.platform.documents.getMany('managedObject', request.tenant, some);
      some.forEach((id, index) => {
        const document = documents[index];
        const members = document === undefined ? new Map<string, string>() : splitMembers(document);
        if (!groupsOnly || isGroup(members)) add(id, names ? stringMember(members, 'name') : undefined);
      });
    }
  }
  return texts.join(',');
}

/** Whether of the parents of this kind the groups alone are shown. */
const isOfGroups = ({ parents, groups }: LinkOptions, kind: ChildKind): boolean => !parents && groups && kind === 'childAssets';

/** The six collections of links, JSON text by name. @throws PlatformError `general/page-too-large`. */
export async function linkCollections(request: ApiRequest, id: string, budget = new PageBudget(request)): Promise<Map<string, string>> {
  const options = optionsOf(request);
  const self = managedObjectUrl(request, id);
  const result = new Map<string, string>();
  const limit = options.counts ? COUNT_MAX : REFERENCES_MAX;
  // All lists at once: a store may be far away. Names one collection after the other, which may be large.
  const [children, parents] = await Promise.all([
    Promise.all(CHILD_KINDS.map((kind) => (options.children || options.counts ? linkedIds(request, 'children', id, kind, limit) : []))),
    Promise.all(CHILD_KINDS.map((kind) => (options.parents || isOfGroups(options, kind) ? linkedIds(request, 'parents', id, kind, REFERENCES_MAX) : []))),
  ]);
  for (const [index, kind] of CHILD_KINDS.entries()) {
    const url = `${self}/${kind}`;
    const linked = children[index];
    const shown = options.children ? await references(request, url, linked.slice(0, REFERENCES_MAX), { names: options.names, groupsOnly: false, budget }) : '';
    const count = options.counts ? `"count":${linked.length},` : '';
    result.set(kind, `{${count}"references":[${shown}],"self":${quote(url)}}`);
  }
  for (const [index, kind] of CHILD_KINDS.entries()) {
    const name = PARENTS_OF_KIND[kind];
    const url = `${self}/${name}`;
    const shown = await references(request, url, parents[index], { names: options.names, groupsOnly: isOfGroups(options, kind), budget });
    result.set(name, `{"references":[${shown}],"self":${quote(url)}}`);
  }
  return result;
}

/** Plain JSON says nothing about the spelling: it comes as it was sent. */
function spelled({ accept }: ApiRequest, members: Members): Members {
  return accept.isBranded || accept.order.includes('vendor') ? spelledMarker(members, accept.isBranded) : members;
}

/** @param doc as stored. @param budget of the page that it is on. @throws PlatformError `general/page-too-large`. */
export async function managedObjectText(request: ApiRequest, id: string, doc: string, budget = new PageBudget(request)): Promise<string> {
  budget.take(doc.length);
  return entityText(managedObjectUrl(request, id), id, spelled(request, splitMembers(doc)), await linkCollections(request, id, budget));
}
