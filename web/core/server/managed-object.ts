/** Managed objects as the console reads them: standard members with types, everything else as it comes. */
import { api, got } from '../api/api.ts';
import { queryText } from '../route.ts';
import type { Query } from '../route.ts';

export interface ManagedObject extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name?: string;
  readonly type?: string;
  readonly owner?: string;
  readonly creationTime?: string;
  readonly lastUpdated?: string;
}

export const PAGE_SIZE = 100;

export interface ObjectQuery {
  readonly query?: string;
  readonly q?: string;
  readonly text?: string;
  readonly ids?: string;
  readonly fragmentType?: string;
  readonly type?: string;
  readonly onlyRoots?: boolean;
}

/** One page of the inventory, without references to children. @param page from 1. @throws ApiError: 422 for a query that is not understood. */
export async function listObjects(
  query: ObjectQuery,
  page: number,
  signal?: AbortSignal,
  pageSize = PAGE_SIZE,
): Promise<readonly ManagedObject[]> {
  const answer = await got(
    api.GET('/inventory/managedObjects', {
      params: { query: { ...query, pageSize, currentPage: page, withChildren: false } as never },
      ...(signal ? { signal } : {}),
    }),
  );
  return (answer as unknown as { managedObjects: ManagedObject[] }).managedObjects;
}

/** Objects of a request for ids alone. */
const IDS_OF_PAGE = 2_000;

/** Ids of all that match. @param count how many those are. @throws ApiError. */
export async function idsOf(query: ObjectQuery, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let page = 1; (page - 1) * IDS_OF_PAGE < count; page += 1)
    for (const { id } of await listObjects(query, page, undefined, IDS_OF_PAGE)) ids.push(id);
  return ids;
}

/** How many objects match. @throws ApiError. */
export async function countObjects(query: ObjectQuery, signal: AbortSignal): Promise<number> {
  return Number(await got(api.GET('/inventory/managedObjects/count', { params: { query: query as never }, signal })));
}

/** Of one object, for "Copy as". */
export const devicePath = (id: string): string => `/inventory/managedObjects/${encodeURIComponent(id)}`;

/** The request of a page of the inventory, for "Copy as". */
export const objectsPath = (query: ObjectQuery, page = 1): string =>
  `/inventory/managedObjects${queryText({ ...(query as Query), pageSize: PAGE_SIZE, currentPage: page, withChildren: 'false' })}`;

/** @throws ApiError: 404 for an object that does not exist. */
export async function readObject(id: string, signal?: AbortSignal): Promise<ManagedObject> {
  const call = api.GET('/inventory/managedObjects/{id}', { params: { path: { id } }, ...(signal ? { signal } : {}) });
  return (await got(call)) as unknown as ManagedObject;
}

/** A member as text, whatever a device has sent: objects and lists as JSON, '' for none. */
export function textOfMember(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Characters that turn the direction of the text around them. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

/** Its name, or its id where it has none. */
export const nameOf = ({ id, name }: ManagedObject): string => textOfMember(name).replace(DIRECTION, '') || id;

/** A text inside of the quotes of a query. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The operations that the device takes. */
export const supportedOperations = (device: Readonly<Record<string, unknown>>): readonly string[] => {
  const told = device['c8y_SupportedOperations'];
  return Array.isArray(told) ? told.map(textOfMember) : [];
};
