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

/** @param query of the inventory's language, or ''. @param page from 1. @throws ApiError. */
export async function listChildren(
  parent: string,
  kind: ChildKind,
  { query = '', page = 1 }: { readonly query?: string; readonly page?: number },
  signal?: AbortSignal,
): Promise<readonly ManagedObject[]> {
  const parameters = { ...(query === '' ? {} : { query }), pageSize: PAGE_SIZE, currentPage: page };
  const answer = await sendRaw(`${pathOf(parent, kind)}${queryText(parameters)}`, signal ? { signal } : {});
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
  return ((await answer.json()) as References).statistics?.totalElements;
}

const references = (ids: readonly string[]): string =>
  JSON.stringify({ references: ids.map((id) => ({ managedObject: { id } })) });

const JSON_HEADERS = {
  'Content-Type': 'application/vnd.com.nsn.cumulocity.managedObjectReferenceCollection+json',
  Accept: 'application/json',
};

/** Links them. @throws ApiError: 422 for a cycle. */
export async function addChildren(parent: string, kind: ChildKind, ids: readonly string[]): Promise<void> {
  await sendRaw(pathOf(parent, kind), { method: 'POST', headers: JSON_HEADERS, body: references(ids) });
}

/** Takes the links away. @throws ApiError. */
export async function removeChildren(parent: string, kind: ChildKind, ids: readonly string[]): Promise<void> {
  await sendRaw(pathOf(parent, kind), { method: 'DELETE', headers: JSON_HEADERS, body: references(ids) });
}
