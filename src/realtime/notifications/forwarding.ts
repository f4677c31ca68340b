/**
 * From what the actors decide to topics (docs/internals/notifications.md): finds out, before a group of the journal is
 * committed, which of its notifications go to which topics, and makes the chunks that are stored with the commit.
 */
import { NOTIFICATION_SUBSCRIPTIONS } from '../../model/entities/notifications/subscription.ts';
import {
  TOPIC_MESSAGES,
  TOPIC_SUBSCRIBERS,
  chunkKey,
  chunkText,
  subscriberOfKey,
  topicKey,
} from '../../model/entities/notifications/topic.ts';
import type { TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import { isVolatileTopic } from '../../model/entities/notifications/subscription.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Notification, RecordNotification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { persistently } from '../../pacing/persistently.ts';
import { NOTIFICATION_LIMIT } from './limits.ts';
import { Forwarded, leastText, messageText, shortenedText } from './message.ts';
import { TenantSubscriptions } from './subscriptions.ts';

/**
 * Characters that the messages of one group have in all topics together: beyond them each says which entity it is, in
 * some hundred characters.
 */
const GROUP_CHARS_MAX = 32 * 1_048_576;
/**
 * Characters of a chunk, beyond which the messages of the next record begin another: what a consumer has read and not
 * sent.
 */
const CHUNK_CHARS_MAX = 49_152;
/** Records read in one step. */
const STEP = 1_000;
/** At most one line in this time about notifications that fail; the others are counted in it. */
const LOG_INTERVAL_MS = 10_000;

/** A record that was changed; `value` undefined: it was deleted. */
export interface ChangedRecord {
  readonly collection: string;
  readonly id: string;
  readonly value: string | undefined;
}

/** What a group brings to topics. */
export interface ForwardedGroup {
  /** To be stored in the group's commit. */
  readonly documents: readonly {
    readonly collection: typeof TOPIC_MESSAGES;
    readonly tenant: number;
    readonly id: string;
    readonly value: string;
  }[];
  /** To be called once they are. */
  committed(): void;
}

export interface ForwardingOptions {
  readonly documents: Pick<DocumentReader, 'list'>;
  readonly hierarchy: { ancestors(tenant: number, id: string): readonly string[] | Promise<readonly string[]> };
  /** Id of a tenant by its number. */
  readonly tenantId: (tenant: number) => string | undefined;
  readonly refusals: Refusals;
  readonly log: Log;
  /** ms since 1970. */
  readonly now: () => number;
  /** Keeps the chunks of persistent topics where the documents do not; resolves when they are stored. */
  readonly store?: (chunks: readonly (readonly [TopicRef, TopicChunk])[]) => Promise<void>;
}

/** A chunk that is being made. */
interface GrowingChunk extends TopicChunk {
  seq: number;
  readonly messages: string[];
  chars: number;
}

interface TenantTopics {
  readonly subscriptions: TenantSubscriptions;
  /** Topics with their subscribers: the others get nothing. */
  readonly topics: Map<string, Set<string>>;
  readonly isActive: (topic: string) => boolean;
  /** While the subscriptions are being read. */
  loading: Promise<void> | undefined;
}

export class Forwarding {
  /** Told of each chunk that can be read. */
  onForwarded: ((topic: TopicRef, chunk: TopicChunk) => void) | undefined;
  /** Notifications that could not be made into messages; the log has the last ones. */
  failuresCount = 0;
  readonly #options: ForwardingOptions;
  readonly #tenants = new Map<number, TenantTopics>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ForwardingOptions) {
    this.#options = options;
  }

  /** Whether any tenant has a topic with a subscriber: asked once for each group. */
  get isActive(): boolean {
    return this.#tenants.size > 0;
  }

  /** Subscriptions in memory. */
  get subscriptionsCount(): number {
    return [...this.#tenants.values()].reduce((sum, { subscriptions }) => sum + subscriptions.size, 0);
  }

  wantsMeasurements(tenant: number, source: number): boolean {
    const found = this.#tenants.get(tenant);
    return found !== undefined && (found.loading !== undefined || found.subscriptions.wantsMeasurements(source));
  }

  wants(tenant: number): boolean {
    return this.#tenants.has(tenant);
  }

  /** Reads who is subscribed to what, of all tenants: at the start, and when changes may have been missed. */
  async load(tenants: Iterable<number>): Promise<void> {
    for (const tenant of tenants) {
      const stored = new Map<string, Set<string>>();
      for await (const { id } of this.#records(tenant, TOPIC_SUBSCRIBERS)) {
        const [topic, subscriber] = subscriberOfKey(id);
        stored.set(topic, (stored.get(topic) ?? new Set()).add(subscriber));
      }
      // Volatile subscribers have records where several nodes forward to them.
      for (const [topic, subscribers] of this.#tenants.get(tenant)?.topics ?? [])
        for (const one of subscribers)
          if ((this.#options.store !== undefined || !isVolatileTopic(topic)) && stored.get(topic)?.has(one) !== true)
            this.unsubscribed({ tenant, topic }, one);
      for (const [topic, subscribers] of stored) for (const one of subscribers) this.subscribed({ tenant, topic }, one);
      const found = this.#tenants.get(tenant);
      if (found !== undefined) await (found.loading ?? this.#read(tenant, found));
    }
  }

  /** A topic has a subscriber: from now on what matches is forwarded to it. */
  subscribed({ tenant, topic }: TopicRef, subscriber: string): void {
    let found = this.#tenants.get(tenant);
    if (found === undefined) {
      const topics = new Map<string, Set<string>>();
      found = {
        subscriptions: new TenantSubscriptions(),
        topics,
        isActive: (name) => topics.has(name),
        loading: undefined,
      };
      this.#tenants.set(tenant, found);
      void this.#read(tenant, found);
    }
    found.topics.set(topic, (found.topics.get(topic) ?? new Set()).add(subscriber));
  }

  unsubscribed({ tenant, topic }: TopicRef, subscriber: string): void {
    const found = this.#tenants.get(tenant);
    const subscribers = found?.topics.get(topic);
    if (found === undefined || subscribers === undefined) return;
    subscribers.delete(subscriber);
    if (subscribers.size === 0) found.topics.delete(topic);
    if (found.topics.size === 0) this.#tenants.delete(tenant);
  }

  /** Topics with a subscriber. */
  *topics(): Generator<TopicRef> {
    for (const [tenant, { topics }] of this.#tenants) for (const topic of topics.keys()) yield { tenant, topic };
  }

  /** Resolves when the subscriptions of the tenant are in memory. */
  async loaded(tenant: number): Promise<void> {
    await this.#tenants.get(tenant)?.loading;
  }

  forgetTenant(tenant: number): void {
    this.#tenants.delete(tenant);
  }

  /** Records were changed: of their actor, after the commit. */
  recordsChanged(tenant: number, changes: readonly ChangedRecord[]): void {
    for (const { collection, id, value } of changes) {
      if (collection === NOTIFICATION_SUBSCRIPTIONS) this.#tenants.get(tenant)?.subscriptions.set(id, value);
      if (collection !== TOPIC_SUBSCRIBERS) continue;
      const [topic, subscriber] = subscriberOfKey(id);
      if (value === undefined) this.unsubscribed({ tenant, topic }, subscriber);
      else this.subscribed({ tenant, topic }, subscriber);
    }
  }

  /**
   * @param told of one group, in the order of its records.
   * @returns undefined when none goes to a topic. A promise never rejects: it waits for what it needs.
   */
  forward(told: readonly RecordNotification[]): ForwardedGroup | undefined | Promise<ForwardedGroup | undefined> {
    const waits: Promise<unknown>[] = [];
    for (const tenant of new Set(told.map(({ notification }) => notification.tenant))) {
      const loading = this.#tenants.get(tenant)?.loading;
      if (loading !== undefined) waits.push(loading);
    }
    if (waits.length > 0) return Promise.all(waits).then(() => this.forward(told));
    const above = new Map<string, readonly string[]>();
    for (const { notification } of told) {
      const { tenant, area, source } = notification;
      const found = this.#tenants.get(tenant);
      if (found?.subscriptions.looksAbove(area) !== true || above.has(source)) continue;
      const ids = this.#answered(() => this.#options.hierarchy.ancestors(tenant, source));
      above.set(source, ids instanceof Promise ? [] : ids);
      if (ids instanceof Promise) waits.push(ids.then((answered) => above.set(source, answered)));
    }
    if (waits.length === 0) return this.#stored(this.#chunks(told, above));
    return Promise.all(waits).then(() => this.#stored(this.#chunks(told, above)));
  }

  /** Those of a topic in order; each has the sequence of its last record. */
  #chunks(
    told: readonly RecordNotification[],
    above: ReadonlyMap<string, readonly string[]>,
  ): (readonly [TopicRef, TopicChunk])[] {
    const chunks: (readonly [TopicRef, GrowingChunk])[] = [];
    const growing = new Map<string, GrowingChunk>();
    const at = this.#options.now();
    let chars = 0;
    for (const { seq, notification } of told) {
      const { tenant, source } = notification;
      const found = this.#tenants.get(tenant);
      if (found === undefined) continue;
      try {
        const forwarded = new Forwarded(notification);
        const matches = found.subscriptions.match(forwarded, above.get(source) ?? [], found.isActive);
        const tenantId = matches.size === 0 ? undefined : this.#options.tenantId(tenant);
        if (tenantId === undefined) continue;
        for (const [topic, { kind, fragments }] of matches) {
          let message = messageText(tenantId, kind, forwarded, fragments);
          if (chars + message.length > GROUP_CHARS_MAX) {
            this.#options.refusals.count(NOTIFICATION_LIMIT.GROUP_BYTES, { tenant: tenantId });
            message = shortenedText(tenantId, kind, forwarded);
            if (chars + message.length > GROUP_CHARS_MAX) message = leastText(tenantId, kind, forwarded);
          }
          chars += message.length;
          const ref = { tenant, topic };
          const key = topicKey(ref);
          let chunk = growing.get(key);
          if (chunk === undefined || (chunk.chars >= CHUNK_CHARS_MAX && chunk.seq !== seq)) {
            chunk = { seq, at, messages: [], chars: 0 };
            growing.set(key, chunk);
            chunks.push([ref, chunk]);
          }
          chunk.seq = seq;
          chunk.chars += message.length;
          chunk.messages.push(message);
        }
      } catch (error) {
        this.#noteFailure(error, notification);
      }
    }
    return chunks;
  }

  #stored(
    chunks: readonly (readonly [TopicRef, TopicChunk])[],
  ): ForwardedGroup | undefined | Promise<ForwardedGroup | undefined> {
    if (chunks.length === 0) return undefined;
    const { store } = this.#options;
    // Who stores them tells where they can be read.
    if (store !== undefined) return store(chunks).then(() => ({ documents: [], committed: () => undefined }));
    const committed = (): void => {
      for (const [ref, chunk] of chunks) this.onForwarded?.(ref, chunk);
    };
    const documents = chunks
      .filter(([{ topic }]) => !isVolatileTopic(topic))
      .map(([{ tenant, topic }, chunk]) => {
        const value = chunkText(chunk.messages);
        return { collection: TOPIC_MESSAGES, tenant, id: chunkKey(topic, chunk, value), value } as const;
      });
    return { documents, committed };
  }

  /** What a group needs is asked for until it is answered: a group without it would miss messages. */
  #answered<Answer>(ask: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const first = ask();
    if (!(first instanceof Promise)) return first;
    return persistently(
      ask,
      (error, tries) => {
        if (tries === 1)
          this.#options.log.warn({ error: error.message }, 'groups of the journal wait for what notifications need');
      },
      first,
    );
  }

  /** At once, where the documents answer at once. */
  #read(tenant: number, found: TenantTopics): Promise<void> | undefined {
    const reading = this.#answered(() => this.#readSubscriptions(tenant, found, undefined, new Set()));
    if (!(reading instanceof Promise)) return undefined;
    found.loading = reading.then(() => {
      found.loading = undefined;
    });
    return found.loading;
  }

  #readSubscriptions(
    tenant: number,
    found: TenantTopics,
    after: string | undefined,
    keys: Set<string>,
  ): Promise<void> | undefined {
    const rows = this.#options.documents.list(NOTIFICATION_SUBSCRIPTIONS, tenant, '', {
      limit: STEP,
      ...(after === undefined ? {} : { after }),
    });
    const read = (page: readonly { readonly id: string; readonly value: string }[]): Promise<void> | undefined => {
      for (const { id, value } of page) {
        keys.add(id);
        found.subscriptions.set(id, value);
      }
      if (page.length >= STEP) return this.#readSubscriptions(tenant, found, page[page.length - 1].id, keys);
      found.subscriptions.retain(keys);
      return undefined;
    };
    return rows instanceof Promise ? rows.then(read) : read(rows);
  }

  async *#records(
    tenant: number,
    collection: typeof TOPIC_SUBSCRIBERS,
  ): AsyncGenerator<{ readonly id: string; readonly value: string }> {
    for (let after: string | undefined; ; ) {
      const page = await this.#options.documents.list(collection, tenant, '', {
        limit: STEP,
        ...(after === undefined ? {} : { after }),
      });
      yield* page;
      if (page.length < STEP) return;
      after = page[page.length - 1].id;
    }
  }

  /** A whole group could not be forwarded: an error of the server. */
  failed(error: unknown): void {
    this.failuresCount += 1;
    this.#options.log.error({ err: error, failures: this.failuresCount }, 'a group could not be forwarded to topics');
  }

  /** A notification that no message can be made of holds up no commit. */
  #noteFailure(error: unknown, { tenant, area, source }: Notification): void {
    this.failuresCount += 1;
    const now = this.#options.now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#options.log.error(
      { err: error, tenant, area, source, failures: this.failuresCount },
      'a notification could not be forwarded to topics',
    );
  }
}
