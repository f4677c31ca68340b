/**
 * The subscriptions of one tenant in memory, by what they are about: which topics a notification goes to. It exists
 * while one of the tenant's topics has a subscriber.
 */
import { ALL_APIS, isSubscriptionKey, topicName, typesOf } from '../../model/entities/notifications/subscription.ts';
import type { NotificationSubscription } from '../../model/entities/notifications/subscription.ts';
import type { Notification } from '../../ports/live-bus.ts';
import type { Forwarded } from './message.ts';

type Area = Notification['area'];

const AREAS: readonly Area[] = ['measurements', 'events', 'alarms', 'managedobjects', 'operations'];
const WITH_CHILDREN = 'WithChildren';

/** A subscription, read for matching. */
interface Entry {
  readonly topic: string;
  readonly source: string | undefined;
  readonly areas: ReadonlySet<string>;
  /** Areas of what is below the source. */
  readonly areasBelow: ReadonlySet<string>;
  readonly types: ReadonlySet<string> | undefined;
  readonly fragments: ReadonlySet<string> | undefined;
}

/** How a notification goes to a topic. `fragments` undefined: with all of them. */
export interface Match {
  readonly kind: string;
  readonly fragments: ReadonlySet<string> | undefined;
}

function entryOf(one: NotificationSubscription): Entry {
  const { apis = [ALL_APIS], typeFilter } = one.subscriptionFilter ?? {};
  const isAll = apis.includes(ALL_APIS);
  return {
    topic: topicName(one.subscription, one.nonPersistent),
    source: one.source,
    areas: new Set(isAll ? AREAS : apis.filter((api) => !api.endsWith(WITH_CHILDREN))),
    areasBelow: new Set(
      apis.filter((api) => api.endsWith(WITH_CHILDREN)).map((api) => api.slice(0, -WITH_CHILDREN.length)),
    ),
    types: typeFilter === undefined ? undefined : typesOf(typeFilter),
    fragments: one.fragmentsToCopy === undefined ? undefined : new Set(one.fragmentsToCopy),
  };
}

export class TenantSubscriptions {
  readonly #byKey = new Map<string, Entry>();
  /** Of the context `mo`, by the managed object. */
  readonly #bySource = new Map<string, Set<Entry>>();
  readonly #ofTenant = new Set<Entry>();
  /** Objects whose measurements are subscribed to, and how often. */
  readonly #measured = new Map<number, number>();
  #ofTenantMeasured = 0;
  #belowCount = 0;

  get size(): number {
    return this.#byKey.size;
  }

  /** A record of `notificationSubscription` is this now. @param value undefined: it was deleted. */
  set(key: string, value: string | undefined): void {
    if (!isSubscriptionKey(key)) return;
    const old = this.#byKey.get(key);
    if (old !== undefined) this.#change(old, -1);
    this.#byKey.delete(key);
    if (value === undefined) return;
    const entry = entryOf(JSON.parse(value) as NotificationSubscription);
    this.#byKey.set(key, entry);
    this.#change(entry, 1);
  }

  /** Keeps those with these keys. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#byKey.keys()) if (!keys.has(key)) this.set(key, undefined);
  }

  /** Asked for each measurement. */
  wantsMeasurements(source: number): boolean {
    return this.#ofTenantMeasured > 0 || this.#measured.has(source);
  }

  /** Whether a notification of the area may match because of what is above its source. */
  looksAbove(area: Area): boolean {
    return this.#belowCount > 0 && (area === 'alarms' || area === 'events');
  }

  /**
   * @param above ids of what is above the source. @param isActive whether the topic has a subscriber.
   * @returns each topic once, even when several of its subscriptions match.
   */
  match(forwarded: Forwarded, above: readonly string[], isActive: (topic: string) => boolean): Map<string, Match> {
    const { area, source } = forwarded.notification;
    const found = new Map<string, Match>();
    const look = (entry: Entry, kind: string): void => {
      if (!isActive(entry.topic)) return;
      if (entry.types !== undefined && !entry.types.has(forwarded.type)) return;
      found.set(entry.topic, both(found.get(entry.topic), kind, entry.fragments));
    };
    for (const entry of this.#bySource.get(source) ?? NONE) {
      if (entry.areas.has(area)) look(entry, area);
      else if (entry.areasBelow.has(area)) look(entry, area + WITH_CHILDREN);
    }
    for (const entry of this.#ofTenant) if (entry.areas.has(area)) look(entry, area);
    for (const id of above)
      for (const entry of this.#bySource.get(id) ?? NONE)
        if (entry.areasBelow.has(area)) look(entry, area + WITH_CHILDREN);
    return found;
  }

  #change(entry: Entry, by: 1 | -1): void {
    const { source, areas, areasBelow } = entry;
    const isMeasured = areas.has('measurements');
    if (areasBelow.size > 0) this.#belowCount += by;
    if (source === undefined) {
      if (by > 0) this.#ofTenant.add(entry);
      else this.#ofTenant.delete(entry);
      if (isMeasured) this.#ofTenantMeasured += by;
      return;
    }
    const entries = this.#bySource.get(source) ?? new Set<Entry>();
    if (by > 0) entries.add(entry);
    else entries.delete(entry);
    if (entries.size > 0) this.#bySource.set(source, entries);
    else this.#bySource.delete(source);
    if (!isMeasured) return;
    const count = (this.#measured.get(Number(source)) ?? 0) + by;
    if (count > 0) this.#measured.set(Number(source), count);
    else this.#measured.delete(Number(source));
  }
}

const NONE: ReadonlySet<Entry> = new Set();

/** The first kind stays; all fragments when one subscription wants all, otherwise those that either wants. */
function both(first: Match | undefined, kind: string, fragments: ReadonlySet<string> | undefined): Match {
  if (first === undefined) return { kind, fragments };
  if (first.fragments === undefined || fragments === undefined) return { kind: first.kind, fragments: undefined };
  return { kind: first.kind, fragments: new Set([...first.fragments, ...fragments]) };
}
