/**
 * The topics of a node and who consumes them (docs/internals/notifications.md): opens and ends the connections of
 * consumers, writes down how far subscribers have come, and removes what no subscriber needs or a bound takes.
 */
import { isVolatileTopic } from '../../model/entities/notifications/subscription.ts';
import { TOPIC_SUBSCRIBERS, subscriberKey, topicKey } from '../../model/entities/notifications/topic.ts';
import type { TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Backlog } from '../../ports/backlogs.ts';
import type { TopicFacts } from '../../ports/stores/topic-log.ts';
import { Shares } from '../../pacing/shares.ts';
import { backlogsOf, hubCounts } from './backlogs.ts';
import type { HubCounts } from './backlogs.ts';
import { Consumer, NO_SOCKET, WindowShare } from './consumer.ts';
import type { ConsumerChannel, ConsumerSocket } from './consumer.ts';
import type { NotificationHubOptions } from './hub-options.ts';
import { NOTIFICATION_LIMIT, NOTIFICATION_LIMITS } from './limits.ts';
import type { NotificationLimits } from './limits.ts';
import { SubscriberRecords } from './subscriber-records.ts';
import type { Kept } from './subscriber-records.ts';
import { Subscriber } from './subscriber.ts';
import { Topic } from './topic.ts';
import { Trimming } from './trimming.ts';

/** Positions are written down, and needless chunks removed, at most this much later. */
const TICK_MS = 1_000;
/** Looks at what was not acknowledged. */
const REPEAT_EVERY_TICKS = 5;
/** Looks at the age of topics on which nothing happens. */
const AGE_EVERY_TICKS = 60;
/** Looks for topics that are kept without a subscriber. */
const KEPT_EVERY_TICKS = 3_600;
/** Topics that are loaded or trimmed at once: on one node what these remove is one commit. */
const TOGETHER = 50;

export const CLOSE = { NORMAL: 1000, GOING_AWAY: 1001, POLICY: 1008, RESTART: 1012, TRY_AGAIN: 1013 } as const;
const UNSUBSCRIBE_TEXT = 'unsubscribe_subscriber';

/** Who a connection is for. */
export interface ConsumerIdentity extends TopicRef {
  readonly subscriber: string;
  readonly isShared: boolean;
  /** Of several clients of a shared subscriber; undefined: it has no name. */
  readonly consumer: string | undefined;
}

export class NotificationHub {
  readonly limits: NotificationLimits;
  acknowledgedCount = 0;
  /** Clients that were connected to their subscriber, whose backlog exists from then on. */
  connectedCount = 0;
  readonly #options: NotificationHubOptions;
  readonly #topics = new Map<string, Topic>();
  readonly #loading = new Map<string, Promise<Topic>>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #kept = new Map<Subscriber, Kept>();
  readonly #records: SubscriberRecords;
  readonly #trimming: Trimming;
  readonly #connections: Shares;
  /** Characters that the consumers of the node have not acknowledged. */
  readonly #window: Shares;
  readonly #sockets = new Set<{
    readonly identity: ConsumerIdentity;
    readonly end: (code: number, reason: string) => void;
  }>();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  #ticks = 0;
  #isAgeLookDue = false;
  #keptLookAt = KEPT_EVERY_TICKS;
  #anonymousCount = 0;
  #volatileCount = 0;
  /** Of subscribers that have gone. */
  #deliveredBefore = 0;
  #repeatedBefore = 0;

  constructor(options: NotificationHubOptions) {
    this.#options = options;
    this.limits = { ...NOTIFICATION_LIMITS, ...options.limits };
    this.#connections = new Shares(NOTIFICATION_LIMIT.CONNECTIONS, this.limits.connections, options.isOnlyTenant);
    this.#window = new Shares(NOTIFICATION_LIMIT.WINDOW, this.limits.windowCharsOfAll, options.isOnlyTenant);
    const keptOf = (subscriber: Subscriber): Kept | undefined => this.#kept.get(subscriber);
    const { documents, change, log, topics, now } = options;
    const onGone = (topic: Topic, subscriber: Subscriber): void => this.#drop(topic, subscriber);
    this.#records = new SubscriberRecords({ documents, change, onGone, log });
    this.#trimming = new Trimming({
      topics,
      limits: this.limits,
      keptOf,
      onLost: (ref, limit, messages) => this.#lost(ref, limit, messages),
      now,
    });
    options.forwarding.onForwarded = (ref, chunk) => this.#appended(ref, chunk);
  }

  /** Loads the persistent topics that are this node's. */
  async start(tenants: Iterable<number>): Promise<void> {
    await this.#loadHomes();
    // A crash may have come between the end of the last subscriber and that of what was kept for it.
    if (this.#options.isHome === undefined)
      for await (const ref of this.#options.topics.kept(tenants)) await this.#load(ref);
    this.#timer = setInterval(() => void this.tick(), TICK_MS).unref();
  }

  /** Writes down the positions. Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const { end } of [...this.#sockets]) end(CLOSE.GOING_AWAY, 'the server is stopping');
    this.#work = this.#work.then(() => this.#writePositions());
    await this.#work;
  }

  get counts(): HubCounts {
    return hubCounts(this.#topics, this.#kept, {
      connections: this.#sockets.size,
      delivered: this.#deliveredBefore,
      repeated: this.#repeatedBefore,
    });
  }

  /** Of a tenant's consumers on this node, the largest topics first. */
  backlogs(tenant: number, limit: number): Backlog[] {
    return backlogsOf(this.#topics.values(), tenant, limit);
  }

  /** Why a consumer may not connect now, before its connection is answered; counted. */
  refusal(identity: ConsumerIdentity): PlatformError | undefined {
    const { tenant, subscriber: name, isShared } = identity;
    const subscriber = this.#topics.get(topicKey(identity))?.subscribers.get(name);
    if (subscriber !== undefined && !subscriber.takesAnother(isShared))
      return new PlatformError('notifications/connected', { subscriber: name });
    const limit =
      subscriber !== undefined && subscriber.consumersBeside(identity.consumer) >= this.limits.connectionsOfSubscriber
        ? NOTIFICATION_LIMIT.OF_SUBSCRIBER
        : subscriber === undefined && this.#subscribersOf(tenant) >= this.limits.subscribers
          ? NOTIFICATION_LIMIT.SUBSCRIBERS
          : this.#connections.refusal(tenant, userOf(identity));
    return limit === undefined ? undefined : this.#refused(tenant, limit);
  }

  #refused(tenant: number, limit: string): PlatformError {
    this.#options.refusals.count(limit, { tenant: this.#options.tenantId(tenant) });
    return new PlatformError('notifications/bound', { limit });
  }

  /** A consumer has connected. `refusal` was asked before; others may have taken the room since: then it is ended. */
  open(identity: ConsumerIdentity, channel: ConsumerChannel, baseUrl: string): ConsumerSocket {
    const { tenant } = identity;
    const user = userOf(identity);
    const limit = this.#connections.take(tenant, user);
    if (limit !== undefined) {
      channel.end(CLOSE.TRY_AGAIN, this.#refused(tenant, limit).message);
      return NO_SOCKET;
    }
    let consumer: Consumer | undefined;
    let subscriber: Subscriber | undefined;
    let isClosed = false;
    const socket = { identity, end: (code: number, reason: string): void => channel.end(code, reason) };
    this.#sockets.add(socket);
    const closed = (): void => {
      if (isClosed) return;
      isClosed = true;
      this.#sockets.delete(socket);
      this.#connections.give(tenant, user);
      if (consumer !== undefined && subscriber !== undefined) this.#left(identity, subscriber, consumer);
    };
    this.#anonymousCount += 1;
    const made = new Consumer({
      name: identity.consumer ?? `#${this.#anonymousCount}`,
      channel,
      baseUrl,
      limits: this.limits,
      share: new WindowShare(this.#window, tenant, user),
    });
    const connect = (found: Subscriber): void => {
      if (isClosed) return;
      if (!found.takesAnother(identity.isShared)) {
        channel.end(CLOSE.POLICY, new PlatformError('notifications/connected', { subscriber: found.name }).message);
        return;
      }
      if (found.consumersBeside(identity.consumer) >= this.limits.connectionsOfSubscriber)
        throw this.#refused(tenant, NOTIFICATION_LIMIT.OF_SUBSCRIBER);
      const former = found.consumers.find(({ name }) => name === identity.consumer);
      [subscriber, consumer] = [found, made];
      this.connectedCount += 1;
      found.isShared = identity.isShared;
      found.add(made);
      // The former connection ends last: a volatile subscriber is removed with its last client.
      former?.end(CLOSE.NORMAL, 'connected again');
    };
    this.#subscriber(identity)
      .then(connect)
      .catch((error: Error) => {
        this.#options.log.warn(
          { error: error.message, tenant, topic: identity.topic },
          'a consumer of notifications could not be connected',
        );
        channel.end(CLOSE.TRY_AGAIN, error instanceof PlatformError ? error.message : 'the server failed');
      });
    return {
      message: (text) => {
        if (text === UNSUBSCRIBE_TEXT) this.#unsubscribeOf(identity, channel);
        else if (subscriber?.acknowledge(text) === true) {
          this.acknowledgedCount += 1;
          subscriber.pump();
        }
      },
      drained: () => {
        made.drained();
        subscriber?.pump();
      },
      closed,
    };
  }

  /** Removes a subscriber with its backlog, and ends its connections. @returns whether there was one. */
  async unsubscribe(ref: TopicRef, name: string): Promise<boolean> {
    if (!(await this.#mayHave(ref, name))) return false;
    const topic = await this.#load(ref);
    const subscriber = topic.subscribers.get(name);
    const kept = subscriber === undefined ? undefined : this.#kept.get(subscriber);
    if (subscriber === undefined || kept === undefined) return false;
    const removal = this.#removeSubscriber(topic, kept);
    this.#end(ref, name, CLOSE.NORMAL, 'unsubscribed');
    return removal;
  }

  /** Looks without making anything: the topic of a subscriber that is not known is not loaded. */
  async #mayHave(ref: TopicRef, name: string): Promise<boolean> {
    const key = topicKey(ref);
    if (this.#topics.has(key) || this.#loading.has(key)) return true;
    const id = subscriberKey(ref.topic, name);
    return (await this.#options.documents.get(TOPIC_SUBSCRIBERS, ref.tenant, id)) !== undefined;
  }

  /** Who connects meanwhile waits for it, and begins anew. @returns false when another removal was first. */
  #removeSubscriber({ ref, subscribers }: Topic, kept: Kept): Promise<boolean> {
    const { subscriber } = kept;
    const removal = settled(kept.changing ?? Promise.resolve()).then(async () => {
      if (subscribers.get(subscriber.name) !== subscriber) return false;
      await this.#records.remove(ref, kept);
      const topic = this.#topics.get(topicKey(ref));
      if (topic !== undefined) this.#drop(topic, subscriber);
      return true;
    });
    const changing = settled(removal).then(() => {
      if (kept.changing === changing) kept.changing = undefined;
    });
    kept.changing = changing;
    return removal;
  }

  /** Its subscribers go with its records. */
  forgetTenant(tenant: number): void {
    this.endTenant(tenant);
    for (const topic of [...this.#topics.values()])
      if (topic.ref.tenant === tenant) for (const one of [...topic.subscribers.values()]) this.#drop(topic, one);
    this.#options.forwarding.forgetTenant(tenant);
  }

  /** Ends the connections of a tenant that may not be used any more. */
  endTenant(tenant: number): void {
    for (const { identity, end } of [...this.#sockets])
      if (identity.tenant === tenant) end(CLOSE.POLICY, 'the tenant was suspended or deleted');
  }

  #appended(ref: TopicRef, chunk: TopicChunk): void {
    const topic = this.#topics.get(topicKey(ref));
    if (topic === undefined) return;
    if (this.#options.isHome === undefined) topic.appended(chunk, true);
    else if (topic.isVolatile) topic.appended({ ...chunk, seq: topic.lastSeq + 1 }, true);
    else topic.appended(chunk, chunk.seq === topic.lastSeq + 1);
    if (topic.isVolatile) this.#shrink(topic);
  }

  #end({ tenant, topic }: TopicRef, name: string, code: number, reason: string): void {
    for (const { identity, end } of [...this.#sockets])
      if (identity.tenant === tenant && identity.topic === topic && identity.subscriber === name) end(code, reason);
  }

  #unsubscribeOf(identity: ConsumerIdentity, channel: ConsumerChannel): void {
    this.unsubscribe(identity, identity.subscriber).catch((error: Error) => {
      this.#options.log.warn({ error: error.message, topic: identity.topic }, 'a subscriber could not be removed');
      channel.end(CLOSE.TRY_AGAIN, 'the subscriber could not be removed: try again');
    });
  }

  #subscribersOf(tenant: number): number {
    let count = 0;
    for (const { ref, subscribers } of this.#topics.values()) if (ref.tenant === tenant) count += subscribers.size;
    return count;
  }

  /** The subscriber, made and stored when it connects for the first time: its backlog begins now. */
  async #subscriber(identity: ConsumerIdentity): Promise<Subscriber> {
    const { tenant, topic: topicName, subscriber: name, isShared } = identity;
    const ref: TopicRef = { tenant, topic: topicName };
    for (;;) {
      const topic = await this.#load(ref);
      const known = topic.subscribers.get(name);
      const changing = known === undefined ? undefined : this.#kept.get(known)?.changing;
      if (changing !== undefined) {
        await changing;
        continue;
      }
      if (known !== undefined) return known;
      if (this.#subscribersOf(tenant) >= this.limits.subscribers)
        throw this.#refused(tenant, NOTIFICATION_LIMIT.SUBSCRIBERS);
      const kept = this.#add(topic, {
        name,
        isShared,
        position: { seq: topic.lastSeq + 1, index: 0 },
        since: this.#options.now(),
        stored: undefined,
      });
      this.#options.forwarding.subscribed(ref, name);
      kept.changing = this.#begin(ref, name, kept).finally(() => {
        kept.changing = undefined;
      });
      try {
        await kept.changing;
        return kept.subscriber;
      } catch (error) {
        this.#drop(topic, kept.subscriber);
        throw error;
      }
    }
  }

  async #begin(ref: TopicRef, name: string, kept: Kept): Promise<void> {
    await this.#options.forwarding.loaded(ref.tenant);
    if (!this.#isStored(ref)) return;
    await this.#records.create(ref, kept);
    await this.#options.begun?.(ref, name);
  }

  /** Volatile subscribers have records where other nodes have to know of them. */
  #isStored({ topic }: TopicRef): boolean {
    return !isVolatileTopic(topic) || this.#options.isHome !== undefined;
  }

  #isHome(ref: TopicRef): boolean {
    return this.#options.isHome?.(ref) !== false;
  }

  async #loadHomes(): Promise<void> {
    await inLots([...this.#options.forwarding.topics()], async (ref) => {
      if (!this.#topics.has(topicKey(ref)) && this.#isHome(ref)) await this.#isDone(ref, () => this.#load(ref));
    });
  }

  /** The topic with all its subscribers. */
  async #load(ref: TopicRef): Promise<Topic> {
    const key = topicKey(ref);
    const known = this.#topics.get(key);
    if (known !== undefined) return known;
    const closing = this.#closing.get(key) ?? Promise.resolve();
    const loading =
      this.#loading.get(key) ?? closing.then(() => this.#read(ref)).finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }

  async #read(ref: TopicRef): Promise<Topic> {
    const rows = await this.#records.list(ref);
    const after = rows.reduce((highest, { seq }) => Math.max(highest, seq - 1), 0);
    const facts: TopicFacts = isVolatileTopic(ref.topic)
      ? { lastSeq: 0, size: 0, count: 0 }
      : await this.#options.topics.open(ref, after);
    const topic = this.#topic(ref, facts);
    for (const { name, stored, since, ...position } of rows) {
      this.#add(topic, { name, isShared: false, position: topic.positionOf(position), since, stored });
      this.#options.forwarding.subscribed(ref, name);
    }
    return topic;
  }

  #topic(ref: TopicRef, facts: TopicFacts): Topic {
    const topic = new Topic(ref, facts);
    this.#topics.set(topicKey(ref), topic);
    if (topic.isVolatile) this.#volatileCount += 1;
    return topic;
  }

  #add(topic: Topic, one: Pick<Kept, 'since' | 'stored'> & Pick<Subscriber, 'name' | 'isShared' | 'position'>): Kept {
    const { ref } = topic;
    const subscriber = new Subscriber({
      name: one.name,
      isShared: one.isShared,
      position: one.position,
      read: (after, limit) =>
        topic.isVolatile ? topic.chunksBehind(after, limit) : this.#options.topics.read(ref, after, limit),
      onReadFailed: (error) => this.#options.log.warn({ error: error.message, ...ref }, 'a topic could not be read'),
      now: this.#options.clock,
    });
    const kept: Kept = { subscriber, since: one.since, stored: one.stored, changing: undefined };
    topic.subscribers.set(one.name, subscriber);
    this.#kept.set(subscriber, kept);
    return kept;
  }

  #drop(topic: Topic, subscriber: Subscriber): void {
    if (topic.subscribers.get(subscriber.name) !== subscriber) return;
    topic.subscribers.delete(subscriber.name);
    this.#uncount(subscriber);
    this.#options.forwarding.unsubscribed(topic.ref, subscriber.name);
    topic.isDirty = true;
    if (topic.isVolatile && topic.subscribers.size === 0) this.#remove(topic);
  }

  #uncount(subscriber: Subscriber): void {
    this.#kept.delete(subscriber);
    this.#deliveredBefore += subscriber.deliveredCount;
    this.#repeatedBefore += subscriber.repeatedCount;
  }

  #remove(topic: Topic): void {
    if (this.#topics.get(topicKey(topic.ref)) !== topic) return;
    this.#topics.delete(topicKey(topic.ref));
    if (topic.isVolatile) this.#volatileCount -= 1;
  }

  /** A volatile subscriber without a client has no backlog. */
  #left(ref: TopicRef, subscriber: Subscriber, consumer: Consumer): void {
    subscriber.remove(consumer);
    const topic = this.#topics.get(topicKey(ref));
    if (topic?.isVolatile === true && subscriber.consumers.length === 0) this.#removeVolatile(topic, subscriber);
  }

  #removeVolatile(topic: Topic, subscriber: Subscriber): void {
    const { ref } = topic;
    const kept = this.#kept.get(subscriber);
    if (kept === undefined) return;
    this.#removeSubscriber(topic, kept).catch((error: Error) => {
      this.#options.log.warn({ error: error.message, ...ref }, 'a volatile subscriber could not be removed');
    });
  }

  /** Called once a second. Resolves when positions are written and topics are trimmed; never rejects. */
  tick(): Promise<void> {
    this.#ticks += 1;
    if (this.#ticks % AGE_EVERY_TICKS === 0) this.#isAgeLookDue = true;
    const now = this.#options.clock();
    for (const topic of [...this.#topics.values()]) {
      if (!this.#isHome(topic.ref)) {
        this.#leave(topic, 'another node serves the topic now');
        continue;
      }
      if (topic.isVolatile && topic.subscribers.size === 0) {
        this.#remove(topic);
        continue;
      }
      if (topic.isVolatile) this.#shrink(topic);
      for (const subscriber of [...topic.subscribers.values()]) {
        if (this.#ticks % REPEAT_EVERY_TICKS === 0) {
          subscriber.repeat(now - this.limits.redeliveryMs);
          this.#endStalled(topic, subscriber, now);
          if (topic.isVolatile) this.#endAbandoned(topic, subscriber, now);
        }
        // A topic that could not be read, or a chunk that was not told; otherwise room of all consumers together.
        if (this.#ticks % REPEAT_EVERY_TICKS === 0) subscriber.look();
        else if (this.#options.isHome === undefined) subscriber.pump();
      }
    }
    // One that takes longer than a second is not overtaken.
    if (!this.#isWorking) this.#work = this.#lookAfter();
    return this.#work;
  }

  async #lookAfter(): Promise<void> {
    this.#isWorking = true;
    try {
      await this.#loadHomes();
      await this.#writePositions();
      await this.#trimAll();
      await this.#lookForKept();
    } finally {
      this.#isWorking = false;
    }
  }

  /** Of a cluster, where homes change: what is kept without a subscriber is closed when the topic is trimmed. */
  async #lookForKept(): Promise<void> {
    if (this.#options.isHome === undefined || this.#ticks < this.#keptLookAt) return;
    this.#keptLookAt = this.#ticks + KEPT_EVERY_TICKS;
    try {
      // The store knows the tenants by itself.
      for await (const ref of this.#options.topics.kept([]))
        if (!this.#topics.has(topicKey(ref)) && this.#isHome(ref)) await this.#isDone(ref, () => this.#load(ref));
    } catch (error) {
      this.#options.log.warn({ error: (error as Error).message }, 'topics that are kept could not be looked for');
    }
  }

  /** Work on one topic; its failure is not that of the others. @returns whether it was done. */
  async #isDone(ref: TopicRef, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#options.log.warn(
        { error: (error as Error).message, ...ref },
        'a topic could not be looked after; trying again',
      );
      return false;
    }
  }

  /** Clients connect again, here or at another node, to what the records of its subscribers say. */
  #leave(topic: Topic, reason: string): void {
    this.#remove(topic);
    for (const { identity, end } of [...this.#sockets])
      if (topicKey(identity) === topicKey(topic.ref)) end(CLOSE.RESTART, reason);
    for (const subscriber of topic.subscribers.values()) this.#uncount(subscriber);
  }

  /** Its last client never came, or went with another process or home of the topic. */
  #endAbandoned(topic: Topic, subscriber: Subscriber, now: number): void {
    const isWaiting = this.#kept.get(subscriber)?.changing === undefined;
    if (isWaiting && subscriber.consumers.length === 0 && subscriber.leftAt < now - this.limits.abandonedMs)
      this.#removeVolatile(topic, subscriber);
  }

  #endStalled(topic: Topic, subscriber: Subscriber, now: number): void {
    for (const consumer of subscriber.stalled(now - this.limits.stalledMs)) {
      // One that is alone holds up itself, unless others wait for its part of the window.
      if (subscriber.consumers.length === 1 && !consumer.isWindowTight) continue;
      this.#options.refusals.count(NOTIFICATION_LIMIT.STALLED, {
        tenant: this.#options.tenantId(topic.ref.tenant),
        reason: `the subscriber ${subscriber.name}`,
      });
      consumer.end(CLOSE.POLICY, `${NOTIFICATION_LIMIT.STALLED}: nothing acknowledged for ${this.limits.stalledMs} ms`);
    }
  }

  #writePositions(): Promise<void> {
    return this.#records.write(this.#topics.values(), (subscriber) => this.#kept.get(subscriber));
  }

  #shrink(topic: Topic): void {
    const { volatileChars, volatileCharsOfAll } = this.limits;
    const lost = topic.shrink(Math.min(volatileChars, volatileCharsOfAll / Math.max(1, this.#volatileCount)));
    if (lost > 0) this.#lost(topic.ref, NOTIFICATION_LIMIT.VOLATILE, lost);
  }

  #lost({ tenant, topic }: TopicRef, limit: string, messages: number): void {
    this.#options.refusals.count(limit, { tenant: this.#options.tenantId(tenant) });
    this.#options.log.warn(
      { tenant, topic, limit, messages },
      'messages of a topic were removed before they were acknowledged',
    );
  }

  async #trimAll(): Promise<void> {
    const isAgeLook = this.#isAgeLookDue;
    this.#isAgeLookDue = false;
    this.#trimming.requireTenantBounds(this.#topics.values());
    const due = [...this.#topics.values()].filter((one) => !one.isVolatile && (one.isDirty || isAgeLook));
    await inLots(due, async (topic) => {
      if (!(await this.#isDone(topic.ref, () => this.#trim(topic)))) topic.isDirty = true;
    });
  }

  async #trim(topic: Topic): Promise<void> {
    const { isTrimmed, isGone } = await this.#trimming.trim(topic);
    if (topic.subscribers.size > 0) {
      // Loaded at the next look.
      if (isGone) this.#leave(topic, 'the topic is read anew');
      return;
    }
    if (!isTrimmed) return;
    this.#remove(topic);
    await this.#close(topic.ref);
  }

  /** One that gets a subscriber meanwhile is opened afterwards. */
  async #close(ref: TopicRef): Promise<void> {
    const key = topicKey(ref);
    const closing = Promise.resolve(this.#options.topics.close(ref)).finally(() => this.#closing.delete(key));
    // Who opens it waits for the end alone; the failure is told to the caller.
    this.#closing.set(key, settled(closing));
    await closing;
  }
}

/** Whose share a connection is of. */
const userOf = ({ topic, subscriber }: ConsumerIdentity): string => subscriberKey(topic, subscriber);

/** Resolves when the work has ended, well or not: its failure is told elsewhere. */
const settled = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => undefined,
    () => undefined,
  );

async function inLots<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += TOGETHER) await Promise.all(items.slice(at, at + TOGETHER).map(work));
}
