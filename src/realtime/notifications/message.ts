/** The text of a message of a topic (docs/spec/notifications.md#frames), but for its acknowledgement id. */
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Notification } from '../../ports/live-bus.ts';
import { BASE_PLACE, linkedEntity } from '../bayeux/live-links.ts';

type Area = Notification['area'];

/** Members that stay whatever `fragmentsToCopy` names. */
const STANDARD: Readonly<Record<Area, ReadonlySet<string>>> = {
  measurements: new Set(['id', 'self', 'source', 'type', 'time']),
  events: new Set(['id', 'self', 'source', 'type', 'time', 'text', 'creationTime', 'lastUpdated']),
  alarms: new Set([
    'id',
    'self',
    'source',
    'type',
    'time',
    'text',
    'status',
    'severity',
    'count',
    'firstOccurrenceTime',
    'creationTime',
    'lastUpdated',
  ]),
  managedobjects: new Set(['id', 'self', 'type', 'name', 'owner', 'creationTime', 'lastUpdated']),
  operations: new Set([
    'id',
    'self',
    'deviceId',
    'deviceName',
    'agentId',
    'bulkOperationId',
    'status',
    'failureReason',
    'creationTime',
  ]),
};

/** A notification on its way to topics; its entity is linked once for all of them. */
export class Forwarded {
  readonly notification: Notification;
  #entity: string | undefined;
  #members: readonly (readonly [string, string])[] | undefined;
  #shortened: string | undefined;
  #least: string | undefined;
  #type: string | undefined;

  constructor(notification: Notification) {
    this.notification = notification;
  }

  /** The type that filters are held against; '' without one. */
  get type(): string {
    return (this.#type ??= this.#readType());
  }

  #readType(): string {
    const { action, type, text } = this.notification;
    if (type !== undefined || action === 'DELETE') return type ?? '';
    return stringMember(splitMembers(text()), 'type') ?? '';
  }

  /** One line of JSON: the entity as REST shows it, its links with BASE_PLACE in the place of the base URL. */
  entity(fragments: ReadonlySet<string> | undefined): string {
    const { notification } = this;
    if (notification.action === 'DELETE') return `{"id":${notification.text()}}`;
    this.#entity ??= linkedEntity(notification, notification.text(), BASE_PLACE);
    if (fragments === undefined) return this.#entity;
    this.#members ??= [...splitMembers(this.#entity)];
    const standard = STANDARD[notification.area];
    return joinMembers(this.#members.filter(([name]) => standard.has(name) || fragments.has(name)));
  }

  /** The entity of `shortened`. */
  shortenedEntity(): string {
    if (this.notification.action === 'DELETE') return this.entity(undefined);
    return (this.#shortened ??= shortenedEntity(this.entity(undefined), this.notification.area));
  }

  /** What says which entity it is, and no more. */
  leastEntity(): string {
    if (this.notification.action === 'DELETE') return this.entity(undefined);
    return (this.#least ??= joinMembers(leastOf([...splitMembers(this.entity(undefined))])));
  }
}

/** @param kind of docs/spec/notifications.md#frames, for instance `alarmsWithChildren`. */
export function messageText(
  tenant: string,
  kind: string,
  forwarded: Forwarded,
  fragments: ReadonlySet<string> | undefined,
): string {
  return headText(tenant, kind, forwarded) + forwarded.entity(fragments);
}

/** As `messageText`, shortened. */
export const shortenedText = (tenant: string, kind: string, forwarded: Forwarded): string =>
  headText(tenant, kind, forwarded) + forwarded.shortenedEntity();

/** As `messageText`, with `id`, `self` and `source` alone. */
export const leastText = (tenant: string, kind: string, forwarded: Forwarded): string =>
  headText(tenant, kind, forwarded) + forwarded.leastEntity();

const headText = (tenant: string, kind: string, { notification: { source, action } }: Forwarded): string =>
  `/${tenant}/${kind}/${source}\n${action}\n\n`;

/** Characters of the standard members of a message that is shortened; above it only those stay that say what changed. */
const SHORTENED_CHARS_MAX = 65_536;
/** Written by the server alone, and short. */
const LEAST: ReadonlySet<string> = new Set(['id', 'self', 'source', 'deviceId']);

/**
 * The message for one that is too large to be kept: with the standard members of its entity alone, and when these are
 * too large, too, with `id`, `self` and `source`.
 */
export function shortened(message: string): string {
  const body = message.lastIndexOf('\n') + 1;
  const area = message.slice(0, message.indexOf('\n')).split('/')[2].replace('WithChildren', '') as Area;
  return message.slice(0, body) + shortenedEntity(message.slice(body), area);
}

function shortenedEntity(entity: string, area: Area): string {
  const members = [...splitMembers(entity)].filter(([name]) => STANDARD[area].has(name));
  const chars = members.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return joinMembers(chars <= SHORTENED_CHARS_MAX ? members : leastOf(members));
}

/** A frame whose message is shortened. */
export function shortenedFrame(frame: string): string {
  const end = frame.indexOf('\n') + 1;
  return frame.slice(0, end) + shortened(frame.slice(end));
}

/** A source keeps its own `id` and `self`: its name may be long. */
const leastOf = (members: readonly (readonly [string, string])[]): [string, string][] =>
  members
    .filter(([name]) => LEAST.has(name))
    .map(([name, value]) => [
      name,
      name === 'source' && value.startsWith('{') ? joinMembers(leastOf([...splitMembers(value)])) : value,
    ]);

/** The managed object that a message is about: whose messages keep their order. */
export function sourceOfMessage(message: string): string {
  const end = message.indexOf('\n');
  return message.slice(message.lastIndexOf('/', end) + 1, end);
}

/** @param baseUrl of the links, as the consumer called the server. */
export const frameText = (id: string, message: string, baseUrl: string): string =>
  `${id}\n${message.replaceAll(BASE_PLACE, baseUrl)}`;
