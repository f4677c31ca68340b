/** Children and descendants of managed objects, read from the documents (document 4 section 2.5). */
import type { ChildKind } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';

/** Objects of one hierarchy that a request may be about; with more it is refused: a part of them would be taken for all. */
const OBJECTS_MAX = 10_000;
const OBJECTS_LIMIT = 'http/hierarchy-objects';

/**
 * Ids at the other end of links, ascending.
 * @param direction `children`: of the parent `id`; `parents`: of the child `id`.
 */
export async function linkedIds(
  request: ApiRequest,
  direction: 'children' | 'parents',
  id: string,
  kind: ChildKind,
  limit: number,
): Promise<string[]> {
  const prefix = `${id}\n${kind}\n`;
  const entries = await request.platform.documents.list(direction, request.tenant, prefix, { limit });
  return entries.map((entry) => entry.id.slice(prefix.length)).sort((left, right) => Number(left) - Number(right));
}

/** @returns `root` itself and everything below it by links of `kinds`. @throws PlatformError `general/hierarchy-too-large`. */
export async function withDescendants(request: ApiRequest, root: string, kinds: readonly ChildKind[]): Promise<string[]> {
  const seen = new Set([root]);
  const open = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const kind of kinds) {
      for (const child of await linkedIds(request, 'children', next, kind, OBJECTS_MAX)) {
        if (seen.has(child)) continue;
        if (seen.size >= OBJECTS_MAX) {
          request.platform.refusals.count(OBJECTS_LIMIT);
          throw new PlatformError('general/hierarchy-too-large', { id: root, maximum: OBJECTS_MAX, limit: OBJECTS_LIMIT });
        }
        seen.add(child);
        open.push(child);
      }
    }
  }
  return [...seen];
}

/**
 * The sources that a list of alarms or events is about: one, or its sub-hierarchy with `withSourceAssets` and `withSourceDevices`.
 * @throws PlatformError `general/hierarchy-too-large`.
 */
export async function sourcesOf(request: ApiRequest): Promise<string[] | undefined> {
  const { query } = request;
  const source = query.text('source');
  if (source === undefined) return undefined;
  const kinds: ChildKind[] = [];
  if (query.isTrue('withSourceAssets')) kinds.push('childAssets');
  if (query.isTrue('withSourceDevices')) kinds.push('childDevices');
  return kinds.length === 0 ? [source] : withDescendants(request, source, kinds);
}
