/**
 * The channels (docs/spec/realtime.md#channels) as data: which area of the live bus each shows, which actions, to whom;
 * and the four URLs.
 */
import type { Notification } from '../../ports/live-bus.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { TrafficFilter } from '../../ports/traffic.ts';
import { parseTrafficFilter } from '../traffic/filter.ts';

/** What the URL of a session decides: the form of `data`, and whether `/{agentId}` is a channel. */
export interface UrlForm {
  readonly data: 'array' | 'object';
  readonly hasAgentChannels: boolean;
}

export const BAYEUX_URLS: Readonly<Record<string, UrlForm>> = {
  '/cep/realtime': { data: 'array', hasAgentChannels: false },
  '/notification/realtime': { data: 'object', hasAgentChannels: false },
  '/devicecontrol/notifications': { data: 'array', hasAgentChannels: true },
  '/notification/operations': { data: 'object', hasAgentChannels: true },
};

/** CometD clients append the kind of message, or a slash, to the URL of a long poll, unless told not to. */
const URL_SUFFIXES = ['/', '/handshake', '/connect', '/disconnect', '/subscribe', '/unsubscribe'];

/** @returns the form of a URL's path, with or without a suffix of CometD, or undefined when the path is not ours. */
export function urlFormOf(path: string): UrlForm | undefined {
  const suffix = URL_SUFFIXES.find((one) => path.endsWith(one));
  const base = suffix === undefined ? path : path.slice(0, -suffix.length);
  return Object.hasOwn(BAYEUX_URLS, base) ? BAYEUX_URLS[base] : undefined;
}

/**
 * Channels with one beginning. `source`: of the object itself; `descendants`: of the object and everything below it.
 */
export interface ChannelFamily {
  /** The channel's text up to the id. */
  readonly prefix: string;
  readonly area: Notification['area'];
  readonly actions: ReadonlySet<Notification['action']>;
  readonly scope: 'source' | 'descendants';
  readonly hasWildcard: boolean;
  readonly role: string;
  /** A user who may read the managed object may subscribe without the role. */
  readonly isOpenToReaders: boolean;
}

const ALL_ACTIONS = new Set(['CREATE', 'UPDATE', 'DELETE'] as const);
const CREATE_AND_DELETE = new Set(['CREATE', 'DELETE'] as const);
const CREATE_AND_UPDATE = new Set(['CREATE', 'UPDATE'] as const);

function sourceFamily(
  name: string,
  area: Notification['area'],
  role: string,
  actions: ReadonlySet<Notification['action']> = ALL_ACTIONS,
): ChannelFamily {
  return { prefix: `/${name}/`, area, actions, scope: 'source', hasWildcard: true, role, isOpenToReaders: true };
}

function descendantsFamily(name: string, area: Notification['area'], role: string): ChannelFamily {
  return {
    prefix: `/${name}/`,
    area,
    actions: ALL_ACTIONS,
    scope: 'descendants',
    hasWildcard: false,
    role,
    isOpenToReaders: false,
  };
}

const CHANNEL_FAMILIES: readonly ChannelFamily[] = [
  sourceFamily('measurements', 'measurements', 'ROLE_MEASUREMENT_READ', CREATE_AND_DELETE),
  sourceFamily('events', 'events', 'ROLE_EVENT_READ'),
  descendantsFamily('eventsWithChildren', 'events', 'ROLE_EVENT_READ'),
  sourceFamily('alarms', 'alarms', 'ROLE_ALARM_READ'),
  descendantsFamily('alarmsWithChildren', 'alarms', 'ROLE_ALARM_READ'),
  sourceFamily('managedobjects', 'managedobjects', 'ROLE_INVENTORY_READ'),
  sourceFamily('inventory', 'managedobjects', 'ROLE_INVENTORY_READ'),
  sourceFamily('operations', 'operations', 'ROLE_DEVICE_CONTROL_READ'),
];

/** `/{agentId}`: operations of an agent and of everything below it. */
export const AGENT_FAMILY: ChannelFamily = {
  prefix: '/',
  area: 'operations',
  actions: CREATE_AND_UPDATE,
  scope: 'descendants',
  hasWildcard: false,
  role: 'ROLE_DEVICE_CONTROL_READ',
  isOpenToReaders: true,
};

/**
 * `/millrace/traffic`, `/millrace/traffic/{filter}`: what clients of the tenant say over MQTT (docs/reference/own-requests.md,
 * Traffic). It shows data of all devices, and takes the roles that show each kind.
 */
const TRAFFIC_ROLES: readonly string[] = [
  ...['ROLE_INVENTORY_READ', 'ROLE_MEASUREMENT_READ', 'ROLE_EVENT_READ', 'ROLE_ALARM_READ'],
  'ROLE_DEVICE_CONTROL_READ',
];
const TRAFFIC_PARTS: readonly string[] = ['millrace', 'traffic'];

/** A channel of entities. */
export interface EntityChannel {
  /** As the client wrote it. */
  readonly text: string;
  readonly family: ChannelFamily;
  /** The managed object, or undefined for `*`. */
  readonly id: string | undefined;
}

export interface TrafficChannel {
  readonly text: string;
  readonly traffic: TrafficFilter;
}

/** A channel that can be subscribed to. */
export type Channel = EntityChannel | TrafficChannel;

export const isTraffic = (channel: Channel): channel is TrafficChannel => 'traffic' in channel;

/** The longest id in a channel; ids of managed objects have at most 16 digits. */
const ID_LENGTH_MAX = 64;

const familyByName = new Map(CHANNEL_FAMILIES.map((family) => [family.prefix.slice(1, -1), family]));

/** @returns the channel, or undefined when URLs of this form have no such channel. */
export function parseChannel(text: string, urlForm: UrlForm): Channel | undefined {
  const parts = text.split('/', 5);
  if (parts[0] !== '') return undefined;
  if (TRAFFIC_PARTS.every((part, index) => parts[index + 1] === part)) return trafficChannel(text, parts.slice(3));
  if (parts.length === 2) {
    const isAgent = urlForm.hasAgentChannels && isId(parts[1]);
    return isAgent ? { text, family: AGENT_FAMILY, id: parts[1] } : undefined;
  }
  const family = familyByName.get(parts[1]);
  if (parts.length !== 3 || family === undefined) return undefined;
  if (parts[2] === '*') return family.hasWildcard ? { text, family, id: undefined } : undefined;
  return isId(parts[2]) ? { text, family, id: parts[2] } : undefined;
}

function trafficChannel(text: string, [filter = '', ...more]: readonly string[]): TrafficChannel | undefined {
  const traffic = more.length > 0 ? undefined : parseTrafficFilter(filter);
  return traffic === undefined ? undefined : { text, traffic };
}

/** The roles that open the channel: a user needs all of them. */
export const rolesOf = (channel: Channel): readonly string[] =>
  isTraffic(channel) ? TRAFFIC_ROLES : [channel.family.role];

function isId(text: string): boolean {
  return text.length > 0 && text.length <= ID_LENGTH_MAX && !text.includes('*');
}

/** Says who may read a managed object, or its data, without a global role: its owner, or by an inventory role. */
export interface ObjectAccess {
  mayRead(principal: Principal, managedObjectId: string, area: Notification['area']): boolean | Promise<boolean>;
  /** Ids whose change may take the right to read the object away. */
  watchedFor(principal: Principal, managedObjectId: string): Promise<readonly string[]>;
  /** Whose sessions are the connections of the agent. */
  isOwner(principal: Principal, managedObjectId: string): boolean | Promise<boolean>;
}

/**
 * By what the principal may subscribe (docs/spec/realtime.md#channels).
 * @returns the ids of objects that open the channel, none for a role that does; undefined when nothing does.
 */
export async function openedBy(
  principal: Principal,
  channel: Channel,
  access: ObjectAccess | undefined,
): Promise<readonly string[] | undefined> {
  if (rolesOf(channel).every((role) => principal.roles.has(role))) return [];
  if (isTraffic(channel) || access === undefined || channel.id === undefined || !channel.family.isOpenToReaders)
    return undefined;
  const mayRead = await access.mayRead(principal, channel.id, channel.family.area);
  return mayRead ? access.watchedFor(principal, channel.id) : undefined;
}
