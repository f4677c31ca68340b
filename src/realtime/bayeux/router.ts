/** From the live bus to the sessions: which sessions are subscribed to a channel on which a notification appears. */
import { compact, splitMembers, type Members } from '../../model/documents/json-document.ts';
import { SOFTWARE_UPDATE } from '../../model/entities/software.ts';
import { asksForSoftwareUpdate } from '../../model/entities/software-in-place.ts';
import type { LiveBus, Notification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { TrafficWatching } from '../../ports/traffic.ts';
import { AncestorLookup } from './ancestor-lookup.ts';
import type { HierarchyPort } from './ancestor-lookup.ts';
import { LIMIT_NAMES } from './limits.ts';
import type { BayeuxLimits } from './limits.ts';
import { AGENT_FAMILY, isTraffic } from './channel.ts';
import type { Channel, ChannelFamily } from './channel.ts';
import { OutgoingMessage, OutgoingNotification } from './message.ts';
import type { Outgoing } from './message.ts';
import type { Clock } from './clock.ts';
import { TrafficRoutes } from './traffic-routes.ts';

/** What the router needs of a session. */
export interface Subscriber {
  enqueue(message: Outgoing): void;
  noteLost(limit: string): void;
}

export interface RouterOptions {
  readonly bus: LiveBus;
  readonly hierarchy: HierarchyPort;
  /** What agents get in the place of changes of software; absent: operations as they are. */
  readonly software?: AgentSoftware | undefined;
  /** MQTT traffic; without it no session may watch. */
  readonly traffic?: TrafficWatching | undefined;
  readonly limits: BayeuxLimits;
  readonly clock: Clock;
  readonly log: Log;
}

/** Knows which list a device is to have when it takes no `c8y_SoftwareUpdate` (docs/spec/software.md#operations). */
export interface AgentSoftware {
  /** @returns JSON of the list; undefined for a device that takes actions. */
  listInPlace(tenant: number, operation: Members): Promise<string | undefined>;
}

/** The subscribers of one family of channels in one tenant. */
interface FamilyRoutes {
  readonly family: ChannelFamily;
  readonly byId: Map<string, Set<Subscriber>>;
  readonly all: Set<Subscriber>;
}

/**
 * Everything of one tenant and area. It exists, with one subscription to the bus, while a session is subscribed.
 */
interface AreaRoutes {
  readonly families: Map<ChannelFamily, FamilyRoutes>;
  readonly ancestors: AncestorLookup;
  readonly endSubscription: () => void;
}

const NOBODY: ReadonlySet<Subscriber> = new Set();

export class BayeuxRouter {
  readonly #options: RouterOptions;
  readonly #areas = new Map<string, AreaRoutes>();
  readonly #traffic: TrafficRoutes | undefined;
  /** Numbers the messages: their `id`. */
  #messageCount = 0;

  constructor(options: RouterOptions) {
    this.#options = options;
    const { traffic } = options;
    this.#traffic = traffic === undefined ? undefined : new TrafficRoutes(traffic, () => (this.#messageCount += 1));
  }

  hasRoomForTraffic(tenant: number, count: number): boolean {
    return this.#options.traffic?.hasRoom(tenant, count) === true;
  }

  add(tenant: number, channel: Channel, subscriber: Subscriber): void {
    if (isTraffic(channel)) {
      this.#traffic?.add(tenant, channel, subscriber);
      return;
    }
    const { family } = channel;
    const key = `${tenant} ${family.area}`;
    let area = this.#areas.get(key);
    if (area === undefined) {
      area = this.#openArea(tenant, family.area);
      this.#areas.set(key, area);
    }
    let routes = area.families.get(family);
    if (routes === undefined) {
      routes = { family, byId: new Map(), all: new Set() };
      area.families.set(family, routes);
    }
    if (channel.id === undefined) {
      routes.all.add(subscriber);
      return;
    }
    const subscribers = routes.byId.get(channel.id);
    if (subscribers === undefined) routes.byId.set(channel.id, new Set([subscriber]));
    else subscribers.add(subscriber);
  }

  remove(tenant: number, channel: Channel, subscriber: Subscriber): void {
    if (isTraffic(channel)) {
      this.#traffic?.remove(channel, subscriber);
      return;
    }
    const { family } = channel;
    const key = `${tenant} ${family.area}`;
    const area = this.#areas.get(key);
    const routes = area?.families.get(family);
    if (area === undefined || routes === undefined) return;
    if (channel.id === undefined) {
      routes.all.delete(subscriber);
    } else {
      const subscribers = routes.byId.get(channel.id);
      subscribers?.delete(subscriber);
      if (subscribers?.size === 0) routes.byId.delete(channel.id);
    }
    if (routes.all.size > 0 || routes.byId.size > 0) return;
    area.families.delete(family);
    if (area.families.size > 0) return;
    area.endSubscription();
    this.#areas.delete(key);
  }

  #openArea(tenant: number, areaName: Notification['area']): AreaRoutes {
    const { bus, hierarchy, software, limits, clock, log } = this.#options;
    const families = new Map<ChannelFamily, FamilyRoutes>();
    const ancestors = new AncestorLookup({
      hierarchy,
      tenant,
      clock,
      log,
      maximumMessages: limits.hierarchyMessages,
      maximumBytes: limits.hierarchyBytes,
      prepare:
        software === undefined || areaName !== AGENT_FAMILY.area
          ? undefined
          : (outgoing) => prepareForAgent(software, outgoing),
      deliver: (outgoing, ids) => this.#routeToDescendants(families, outgoing, ids),
      onLost: () => noteLostByHierarchy(families),
    });
    const endSubscription = bus.subscribe(tenant, areaName, (notification) =>
      this.#route(families, ancestors, notification),
    );
    return { families, ancestors, endSubscription };
  }

  /** Called by the publisher: nothing is encoded without a receiver. */
  #route(families: Map<ChannelFamily, FamilyRoutes>, ancestors: AncestorLookup, notification: Notification): void {
    const outgoing = new OutgoingNotification(notification);
    let needsAncestors = false;
    for (const routes of families.values()) {
      if (!routes.family.actions.has(notification.action)) continue;
      if (routes.family.scope === 'descendants') needsAncestors = true;
      else this.#routeToSource(routes, outgoing);
    }
    if (needsAncestors) ancestors.route(outgoing);
  }

  /** A session that is subscribed to the object and to all gets the message once. */
  #routeToSource(routes: FamilyRoutes, outgoing: OutgoingNotification): void {
    const { source } = outgoing.notification;
    const subscribers = routes.byId.get(source) ?? NOBODY;
    if (subscribers.size === 0 && routes.all.size === 0) return;
    const message = this.#message(outgoing, routes.family, source);
    for (const subscriber of subscribers) subscriber.enqueue(message);
    for (const subscriber of routes.all) {
      if (!subscribers.has(subscriber)) subscriber.enqueue(message);
    }
  }

  #routeToDescendants(
    families: Map<ChannelFamily, FamilyRoutes>,
    outgoing: OutgoingNotification,
    ids: readonly string[],
  ): void {
    for (const routes of families.values()) {
      const { family } = routes;
      if (family.scope !== 'descendants' || !family.actions.has(outgoing.notification.action)) continue;
      for (const id of ids) {
        const subscribers = routes.byId.get(id);
        if (subscribers === undefined) continue;
        const message = this.#message(outgoing, family, id);
        for (const subscriber of subscribers) subscriber.enqueue(message);
      }
    }
  }

  #message(outgoing: OutgoingNotification, family: ChannelFamily, id: string): OutgoingMessage {
    this.#messageCount += 1;
    return new OutgoingMessage(outgoing, {
      channel: family.prefix + id,
      id: this.#messageCount,
      agentId: family === AGENT_FAMILY ? id : undefined,
    });
  }
}

function prepareForAgent(software: AgentSoftware, outgoing: OutgoingNotification): Promise<void> | undefined {
  const { notification } = outgoing;
  if (notification.action === 'DELETE') return undefined;
  const text = notification.text();
  // Most operations ask for something else.
  if (!text.includes(SOFTWARE_UPDATE)) return undefined;
  const operation = splitMembers(compact(text));
  if (!asksForSoftwareUpdate(operation)) return undefined;
  return software.listInPlace(notification.tenant, operation).then((list) => {
    outgoing.softwareList = list;
  });
}

/** Whose channel it was is unknown: everyone who might have got it is told. */
function noteLostByHierarchy(families: Map<ChannelFamily, FamilyRoutes>): void {
  for (const routes of families.values()) {
    if (routes.family.scope !== 'descendants') continue;
    for (const subscribers of routes.byId.values()) {
      for (const subscriber of subscribers) subscriber.noteLost(LIMIT_NAMES.hierarchy);
    }
  }
}
