/** Children of a managed object: 100 at a time, added and removed as links; the objects themselves stay. */
import { queryText } from '../route.ts';
import { sendRaw } from '../api/send.ts';
import { PAGE_SIZE } from './managed-object.ts';
import type { ManagedObject } from './managed-object.ts';

export const CHILD_KINDS = ['childDevices', 'childAssets', 'childAdditions'] as const;
export type ChildKind = (typeof CHILD_KINDS)[number];

interface References {
  readonly references: readonly { readonly managedObject: ManagedObject }[];
  readonly statistics?: { readonly totalElements?: number };
}

const pathOf = (parent: string, kind: ChildKind): string =>
  `/inventory/managedObjects/${encodeURIComponent(parent)}/${kind}`;

export interface ChildPage {
  /** Of the inventory's language, or ''. */
  readonly query?: string;
  /** From 1. */
  readonly page?: number;
  readonly size?: number;
}

/** The request of a page of children, for "Copy as" too. */
export const childrenPath = (
  parent: string,
  kind: ChildKind,
  { query = '', page = 1, size = PAGE_SIZE }: ChildPage,
): string =>
  pathOf(parent, kind) + queryText({ query: query === '' ? undefined : query, pageSize: size, currentPage: page });

/** @throws ApiError. */
export async function listChildren(
  parent: string,
  kind: ChildKind,
  of: ChildPage,
  signal?: AbortSignal,
): Promise<readonly ManagedObject[]> {
  const answer = await sendRaw(childrenPath(parent, kind, of), signal ? { signal } : {});
  return ((await answer.json()) as References).references.map(({ managedObject }) => managedObject);
}

/** How many match. @throws ApiError. */
export async function countChildren(
  parent: string,
  kind: ChildKind,
  query: string,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const parameters = { ...(query === '' ? {} : { query }), pageSize: 1, withTotalElements: 'true' };
  const answer = await sendRaw(`${pathOf(parent, kind)}${queryText(parameters)}`, signal ? { signal } : {});
  return ((await answer.json()) as References).statistics?.totalElements ?? undefined;
}

const references = (ids: readonly string[]): string =>
  JSON.stringify({ references: ids.map((id) => ({ managedObject: { id } })) });

const JSON_HEADERS = {
  'Content-Type': 'application/vnd.com.nsn.cumulocity.managedObjectReferenceCollection+json',
  Accept: 'application/json',
};

/** Links of one request. */
const LINKS_OF_REQUEST = 1_000;

async function changeLinks(method: 'POST' | 'DELETE', path: string, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += LINKS_OF_REQUEST)
    await sendRaw(path, { method, headers: JSON_HEADERS, body: references(ids.slice(at, at + LINKS_OF_REQUEST)) });
}

/** Links them. @throws ApiError: 422 for a cycle. */
export const addChildren = (parent: string, kind: ChildKind, ids: readonly string[]): Promise<void> =>
  changeLinks('POST', pathOf(parent, kind), ids);

/** Takes the links away. @throws ApiError. */
export const removeChildren = (parent: string, kind: ChildKind, ids: readonly string[]): Promise<void> =>
  changeLinks('DELETE', pathOf(parent, kind), ids);

const PARENTS: Readonly<Record<ChildKind, string>> = {
  childDevices: 'deviceParents',
  childAssets: 'assetParents',
  childAdditions: 'additionParents',
};
/** Ids of one request: its URL stays below 1,000 characters. */
const IDS_OF_REQUEST = 50;

/** Those of the objects that are children of the parent now. @throws ApiError. */
export async function childrenAmong(
  parent: string,
  kind: ChildKind,
  ids: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let at = 0; at < ids.length; at += IDS_OF_REQUEST) {
    const query = { ids: ids.slice(at, at + IDS_OF_REQUEST).join(','), withParents: 'true', withChildren: 'false' };
    const path = `/inventory/managedObjects${queryText({ ...query, pageSize: IDS_OF_REQUEST })}`;
    const { managedObjects } = (await (await sendRaw(path)).json()) as { managedObjects: readonly ManagedObject[] };
    for (const object of managedObjects) {
      const parents = (object[PARENTS[kind]] as References | undefined)?.references ?? [];
      if (parents.some(({ managedObject }) => managedObject.id === parent)) found.push(object.id);
    }
  }
  return found;
}
