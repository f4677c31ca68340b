/** Children and descendants of managed objects, read from the documents (document 4 section 2.5). */
import type { ChildKind } from '../model/command.ts';
import { INNER_MAX, agentDevicesCondition } from '../inventory/agent-devices.ts';
import { PlatformError } from '../model/errors.ts';
import { splitMembers } from '../model/json-document.ts';
import { AGENT_LINKS, isAgent } from '../model/operation.ts';
import type { ApiRequest } from './api-request.ts';
import { isEntityId } from './entity-id.ts';
import type { HistoryFilter } from './history-filter.ts';

/** Objects of one hierarchy that a request may be about; with more it is refused: a part of them would be taken for all. */
const OBJECTS_MAX = 10_000;
/** Devices of an agent that are looked up one by one: beyond them the history store finds them. */
const AGENT_DEVICES_MAX = 1_000;
/** Lists of children that are read at once. */
const LISTS_AT_ONCE = 100;
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

/** @returns `root` itself first, then everything below it by links of `kinds`; undefined with more than `objectsMax`. */
export async function descendantsUpTo(request: ApiRequest, root: string, kinds: readonly ChildKind[], objectsMax: number): Promise<string[] | undefined> {
  const seen = new Set([root]);
  for (let open = [root]; open.length > 0;) {
    const some = open.splice(0, LISTS_AT_ONCE);
    const lists = await Promise.all(some.flatMap((parent) => kinds.map((kind) => linkedIds(request, 'children', parent, kind, objectsMax))));
    for (const child of lists.flat()) {
      if (seen.has(child)) continue;
      if (seen.size >= objectsMax) return undefined;
      seen.add(child);
      open.push(child);
    }
  }
  return [...seen];
}

/** The same for a request that is about all of them. @throws PlatformError `general/hierarchy-too-large`. */
export async function withDescendants(request: ApiRequest, root: string, kinds: readonly ChildKind[]): Promise<string[]> {
  const found = await descendantsUpTo(request, root, kinds, OBJECTS_MAX);
  return found ?? tooLarge(request, root, OBJECTS_MAX);
}

function tooLarge(request: ApiRequest, root: string, maximum: number): never {
  request.platform.refusals.count(OBJECTS_LIMIT);
  throw new PlatformError('general/hierarchy-too-large', { id: root, maximum, limit: OBJECTS_LIMIT });
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

/** Whether the parameter `agentId` names an agent: no other has operations of its own and its devices (document 4 section 5.1). */
async function asksForAgent(request: ApiRequest, agent: string): Promise<boolean> {
  const text = isEntityId(agent) ? await request.platform.documents.get('managedObject', request.tenant, agent) : undefined;
  return text !== undefined && isAgent(splitMembers(text));
}

/** Adds that `source` is the agent or, as the inventory is now, a device or service below it. @throws PlatformError `general/hierarchy-too-large`. */
export async function addDevicesOfAgent(request: ApiRequest, filter: HistoryFilter, agent: string): Promise<void> {
  if (!await asksForAgent(request, agent)) return void filter.none();
  const devices = await descendantsUpTo(request, agent, AGENT_LINKS, AGENT_DEVICES_MAX);
  if (devices !== undefined) return void filter.idIn('source', devices);
  const { platform: { documents }, tenant, history } = request;
  const condition = await agentDevicesCondition('source', agent, { tenant, documents, history }, filter);
  filter.add(condition ?? tooLarge(request, agent, INNER_MAX));
}

/** Their ids, the agent first; none for what is no agent. @throws PlatformError `general/hierarchy-too-large`. */
export const devicesOfAgent = async (request: ApiRequest, agent: string): Promise<string[]> =>
  (await asksForAgent(request, agent) ? withDescendants(request, agent, AGENT_LINKS) : []);
