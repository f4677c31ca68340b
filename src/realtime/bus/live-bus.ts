/**
 * The live bus inside one process: from the actors, which publish what they decided, to subscribers. It stores
 * nothing and knows the subscribers as functions only.
 */
import type { LiveBus, Notification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';

type Area = Notification['area'];
type Listener = (notification: Notification) => void;

/** At most one line in this time about listeners that throw; the others are counted in it. */
const LOG_INTERVAL_MS = 10_000;

/**
 * The listeners of one tenant: one immutable list per area, replaced when it changes, so that publishing needs no copy.
 */
interface TenantListeners {
  measurements: readonly Listener[];
  events: readonly Listener[];
  alarms: readonly Listener[];
  managedobjects: readonly Listener[];
  operations: readonly Listener[];
}

export class InProcessLiveBus implements LiveBus {
  readonly #tenants = new Map<number, TenantListeners>();
  readonly #log: Log;
  readonly #now: () => number;
  #failureCount = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: { log: Log; now?: () => number }) {
    this.#log = options.log;
    this.#now = options.now ?? Date.now;
  }

  /** One lookup in a map: publishers ask before each message. */
  hasSubscribers(tenant: number, area: Area): boolean {
    const listeners = this.#tenants.get(tenant);
    return listeners !== undefined && listeners[area].length > 0;
  }

  /**
   * Calls the listeners of the notification's tenant and area, in the order of their subscription, before it returns.
   * A listener that throws keeps no other from being called and never reaches the publisher.
   */
  publish(notification: Notification): void {
    const listeners = this.#tenants.get(notification.tenant);
    if (listeners === undefined) return;
    const list = listeners[notification.area];
    for (let index = 0; index < list.length; index += 1) {
      try {
        list[index](notification);
      } catch (error) {
        this.#noteFailure(error, notification);
      }
    }
  }

  /** @returns a function that ends the subscription; calling it again does nothing. */
  subscribe(tenant: number, area: Area, listener: Listener): () => void {
    let listeners = this.#tenants.get(tenant);
    if (listeners === undefined) {
      listeners = { measurements: [], events: [], alarms: [], managedobjects: [], operations: [] };
      this.#tenants.set(tenant, listeners);
    }
    // A function of its own, so that subscribing one listener twice makes two subscriptions.
    const own: Listener = (notification) => listener(notification);
    listeners[area] = [...listeners[area], own];
    return () => this.#unsubscribe(tenant, area, own);
  }

  #unsubscribe(tenant: number, area: Area, listener: Listener): void {
    const listeners = this.#tenants.get(tenant);
    if (listeners === undefined) return;
    listeners[area] = listeners[area].filter((one) => one !== listener);
    const isEmpty = Object.values(listeners).every((list: readonly Listener[]) => list.length === 0);
    if (isEmpty) this.#tenants.delete(tenant);
  }

  #noteFailure(error: unknown, notification: Notification): void {
    this.#failureCount += 1;
    const now = this.#now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#log.error(
      { err: error, tenant: notification.tenant, area: notification.area, failures: this.#failureCount },
      'a listener of the live bus failed',
    );
    this.#loggedAt = now;
    this.#failureCount = 0;
  }
}
