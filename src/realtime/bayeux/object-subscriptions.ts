/**
 * Subscriptions that no role has opened but an object: its owner, or a permission at it or above it. They are checked
 * again when the object changes or links between objects end. A session with one that is open no more ends: its client
 * shakes hands again, and is refused what it has lost.
 */
import type { Log } from '../../ports/log.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { EntityChannel, ObjectAccess } from './channel.ts';
import type { Clock } from './clock.ts';

/**
 * Between two rounds of checks: an object that changes all the time, or the end of many links, costs one round in this
 * time.
 */
const PAUSE_MS = 250;

/** What this needs of a session. */
export interface ObjectSubscriber {
  readonly principal: Principal;
  readonly hasEnded: boolean;
}

interface Subscription<Session extends ObjectSubscriber> {
  readonly session: Session;
  readonly channel: EntityChannel;
  /** Ids whose change may close it: the object, and for a registered device what was above it. */
  readonly watched: readonly string[];
}

export interface ObjectSubscriptionsOptions<Session extends ObjectSubscriber> {
  readonly access: ObjectAccess | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends a session. */
  readonly end: (session: Session) => void;
}

export class ObjectSubscriptions<Session extends ObjectSubscriber> {
  readonly #options: ObjectSubscriptionsOptions<Session>;
  /** Bounded by the subscriptions of all sessions. */
  readonly #bySession = new Map<Session, Map<string, Subscription<Session>>>();
  readonly #byObject = new Map<string, Set<Subscription<Session>>>();
  readonly #due = new Set<Subscription<Session>>();
  #isChecking = false;

  constructor(options: ObjectSubscriptionsOptions<Session>) {
    this.#options = options;
  }

  /**
   * To be called once the session gets the channel's messages: what has changed since `watched` was found is looked
   * for.
   */
  add(session: Session, channel: EntityChannel, watched: readonly string[]): void {
    if (session.hasEnded) return;
    this.remove(session, channel.text);
    const subscription = { session, channel, watched };
    let ofSession = this.#bySession.get(session);
    if (ofSession === undefined) this.#bySession.set(session, (ofSession = new Map()));
    ofSession.set(channel.text, subscription);
    for (const id of watched) {
      const ofObject = this.#byObject.get(id);
      if (ofObject === undefined) this.#byObject.set(id, new Set([subscription]));
      else ofObject.add(subscription);
    }
    this.#check([subscription]);
  }

  remove(session: Session, channelText: string): void {
    const ofSession = this.#bySession.get(session);
    const subscription = ofSession?.get(channelText);
    if (ofSession === undefined || subscription === undefined) return;
    ofSession.delete(channelText);
    if (ofSession.size === 0) this.#bySession.delete(session);
    this.#due.delete(subscription);
    for (const id of subscription.watched) {
      const ofObject = this.#byObject.get(id);
      ofObject?.delete(subscription);
      if (ofObject?.size === 0) this.#byObject.delete(id);
    }
  }

  /** An object was changed or deleted. */
  objectChanged(id: string): void {
    const found = this.#byObject.get(id);
    if (found !== undefined) this.#check(found);
  }

  /** Links between objects have ended, or changes may have been missed. */
  checkAll(): void {
    for (const ofSession of this.#bySession.values()) this.#check(ofSession.values());
  }

  #check(subscriptions: Iterable<Subscription<Session>>): void {
    for (const subscription of subscriptions) this.#due.add(subscription);
    if (!this.#isChecking && this.#due.size > 0) void this.#checkDue();
  }

  async #checkDue(): Promise<void> {
    this.#isChecking = true;
    const due = [...this.#due];
    this.#due.clear();
    for (const subscription of due) {
      try {
        if (!(await this.#isOpen(subscription))) this.#options.end(subscription.session);
      } catch (error) {
        this.#options.log.debug(
          { error: (error as Error).message, channel: subscription.channel.text },
          'a subscription could not be checked; trying again',
        );
        if (!subscription.session.hasEnded) this.#due.add(subscription);
      }
    }
    this.#options.clock.setTimeout(() => {
      this.#isChecking = false;
      this.#check([]);
    }, PAUSE_MS);
  }

  /** Also when it was removed meanwhile. */
  async #isOpen({ session, channel }: Subscription<Session>): Promise<boolean> {
    const { access } = this.#options;
    if (session.hasEnded || this.#bySession.get(session)?.has(channel.text) !== true) return true;
    return (
      access === undefined ||
      channel.id === undefined ||
      access.mayRead(session.principal, channel.id, channel.family.area)
    );
  }
}
