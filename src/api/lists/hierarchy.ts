/** Children and descendants of managed objects, read from the documents (docs/spec/inventory.md#children). */
import type { ChildKind } from '../../model/commands/links.ts';
import { INNER_MAX, agentDevicesCondition } from '../../history/agent-devices.ts';
import { DEVICE_MARKER } from '../../history/objects-below.ts';
import type { ObjectsBelow, SourceSelection } from '../../history/objects-below.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { AGENT_LINKS, isAgent } from '../../model/entities/operation.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import type { HistoryFilter } from '../../history/filter.ts';

export const CHILD_KINDS: readonly ChildKind[] = ['childDevices', 'childAssets', 'childAdditions'];
/**
 * Objects of one hierarchy whose data a DELETE may be about; with more it is refused: a part of them would be taken for
 * all.
 */
const OBJECTS_MAX = 10_000;
/** Objects of a hierarchy that are looked up one by one: beyond them the history store finds them. */
const LISTED_MAX = 1_000;
/** Objects that are read at once. */
const READ_AT_ONCE = 1_000;
/** Lists of children that are read at once. */
const LISTS_AT_ONCE = 100;
const OBJECTS_LIMIT = 'http/hierarchy-objects';

/**
 * Ids at the other end of links, ascending.
 * @param direction `children`: of the parent `id`; `parents`: of the child `id`.
 */
export async function linkedIds(
  request: Pick<ApiRequest, 'platform' | 'tenant'>,
  direction: 'children' | 'parents',
  id: string,
  kind: ChildKind,
  limit: number,
): Promise<string[]> {
  const prefix = `${id}\n${kind}\n`;
  const entries = await request.platform.documents.list(direction, request.tenant, prefix, { limit });
  return entries.map((entry) => entry.id.slice(prefix.length)).sort((left, right) => Number(left) - Number(right));
}

/**
 * @returns `root` itself first, then everything below it by links of `kinds`; undefined with more than `objectsMax`.
 */
export async function descendantsUpTo(
  request: ApiRequest,
  root: string,
  kinds: readonly ChildKind[],
  objectsMax: number,
): Promise<string[] | undefined> {
  const seen = new Set([root]);
  for (let open = [root]; open.length > 0; ) {
    const some = open.splice(0, LISTS_AT_ONCE);
    const lists = await Promise.all(
      some.flatMap((parent) => kinds.map((kind) => linkedIds(request, 'children', parent, kind, objectsMax))),
    );
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
async function withDescendants(request: ApiRequest, root: string, kinds: readonly ChildKind[]): Promise<string[]> {
  const found = await descendantsUpTo(request, root, kinds, OBJECTS_MAX);
  return found ?? tooLarge(request, root, OBJECTS_MAX);
}

function tooLarge(request: ApiRequest, root: string, maximum: number): never {
  request.refused(OBJECTS_LIMIT);
  throw new PlatformError('general/hierarchy-too-large', { id: root, maximum, limit: OBJECTS_LIMIT });
}

/**
 * What `withSourceAssets`, `withSourceDevices` and `withSourceChildren` ask for below the source
 * (docs/spec/alarms.md#lists); undefined for nothing.
 */
function wantedBelow({ query }: ApiRequest): ObjectsBelow['wanted'] | undefined {
  const [assets, devices] = [query.isTrue('withSourceAssets'), query.isTrue('withSourceDevices')];
  if (query.isTrue('withSourceChildren') || (assets && devices)) return 'all';
  return devices ? 'devices' : assets ? 'assets' : undefined;
}

/**
 * The sources that a list of alarms or events is about: one, or with it the devices and assets of its sub-hierarchy.
 */
export async function sourceSelection(request: ApiRequest): Promise<SourceSelection> {
  const source = request.query.text('source');
  const wanted = wantedBelow(request);
  if (source === undefined) return { sources: null };
  if (wanted === undefined || !isEntityId(source)) return { sources: [source] };
  const objects = await descendantsUpTo(request, source, CHILD_KINDS, LISTED_MAX);
  return objects === undefined
    ? { sources: null, below: { root: Number(source), wanted } }
    : { sources: await onlyWanted(request, objects, wanted) };
}

/** The same sources one by one. @returns undefined for all. @throws PlatformError `general/hierarchy-too-large`. */
export async function sourcesOf(request: ApiRequest): Promise<readonly string[] | undefined> {
  const source = request.query.text('source');
  const wanted = wantedBelow(request);
  if (source === undefined) return undefined;
  return wanted === undefined
    ? [source]
    : onlyWanted(request, await withDescendants(request, source, CHILD_KINDS), wanted);
}

/**
 * The first object, and the devices or assets among the others: by what they are, since groups link devices as assets.
 */
async function onlyWanted(
  request: ApiRequest,
  [root, ...others]: readonly string[],
  wanted: ObjectsBelow['wanted'],
): Promise<string[]> {
  if (wanted === 'all') return [root, ...others];
  const found = [root];
  for (let start = 0; start < others.length; start += READ_AT_ONCE) {
    const some = others.slice(start, start + READ_AT_ONCE);
    const texts = await request.platform.documents.getMany('managedObject', request.tenant, some);
    found.push(
      ...some.filter((_, index) => {
        const text = texts[index];
        return text !== undefined && splitMembers(text).has(DEVICE_MARKER) === (wanted === 'devices');
      }),
    );
  }
  return found;
}

/**
 * Whether the parameter `agentId` names an agent: no other has operations of its own and its devices
 * (docs/spec/operations.md#lists).
 */
async function asksForAgent(request: ApiRequest, agent: string): Promise<boolean> {
  const text = isEntityId(agent)
    ? await request.platform.documents.get('managedObject', request.tenant, agent)
    : undefined;
  return text !== undefined && isAgent(splitMembers(text));
}

/**
 * Adds that `source` is the agent or, as the inventory is now, a device or service below it. @throws PlatformError
 * `general/hierarchy-too-large`.
 */
export async function addDevicesOfAgent(request: ApiRequest, filter: HistoryFilter, agent: string): Promise<void> {
  if (!(await asksForAgent(request, agent))) return void filter.none();
  const devices = await descendantsUpTo(request, agent, AGENT_LINKS, LISTED_MAX);
  if (devices !== undefined) return void filter.idIn('source', devices);
  const {
    platform: { documents },
    tenant,
    history,
  } = request;
  const condition = await agentDevicesCondition('source', agent, { tenant, documents, history }, filter);
  filter.add(condition ?? tooLarge(request, agent, INNER_MAX));
}

/** Their ids, the agent first; none for other objects. @throws PlatformError `general/hierarchy-too-large`. */
export const devicesOfAgent = async (request: ApiRequest, agent: string): Promise<string[]> =>
  (await asksForAgent(request, agent)) ? withDescendants(request, agent, AGENT_LINKS) : [];
