/**
 * Records of subscribers (docs/internals/notifications.md): how far each has come is written down once in a second,
 * many in one command.
 */
import { TOPIC_SUBSCRIBERS, subscriberKey, subscriberOfKey } from '../../model/entities/notifications/topic.ts';
import type { StoredSubscriber, TopicRef } from '../../model/entities/notifications/topic.ts';
import { PlatformError } from '../../model/errors.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import type { Subscriber } from './subscriber.ts';
import type { Topic } from './topic.ts';

/** Positions of one command. */
const POSITIONS_MAX = 100;
/** Records read in one step. */
const STEP = 1_000;

/** A record of subscribers, as in records.ts. */
export interface PositionChange {
  readonly collection: typeof TOPIC_SUBSCRIBERS;
  readonly id: string;
  readonly expected: string | undefined;
  readonly value: string | undefined;
}

/** What is known of a stored subscriber. */
export interface Kept {
  readonly subscriber: Subscriber;
  readonly since: number;
  /** The record as it is stored; undefined until it is, and for volatile topics. */
  stored: string | undefined;
  /** While its record is being made or removed. */
  changing: Promise<void> | undefined;
}

/** Of the removal of a subscriber whose position another writer moves each time. */
const REMOVAL_TRIES_MAX = 10;

export interface SubscriberRecordsOptions {
  readonly documents: Pick<DocumentReader, 'get' | 'list'>;
  /** Stores records with compare and set; rejects with PlatformError `general/changed-meanwhile`. */
  readonly change: (tenant: number, changes: readonly PositionChange[]) => Promise<void>;
  /** The record of the subscriber is gone: another process has removed it. */
  readonly onGone: (topic: Topic, subscriber: Subscriber) => void;
  readonly log: Log;
}

/** A subscriber as it is stored, and its record. */
interface Listed extends StoredSubscriber {
  readonly name: string;
  readonly stored: string;
}

/** A position that is to be written. */
interface Moved {
  readonly topic: Topic;
  readonly kept: Kept;
  readonly id: string;
  readonly value: string;
}

export class SubscriberRecords {
  readonly #options: SubscriberRecordsOptions;

  constructor(options: SubscriberRecordsOptions) {
    this.#options = options;
  }

  /** All subscribers of the topic, by name. */
  async list({ tenant, topic }: TopicRef): Promise<Listed[]> {
    const rows: Listed[] = [];
    for (let after: string | undefined; ; ) {
      const page = await this.#options.documents.list(TOPIC_SUBSCRIBERS, tenant, subscriberKey(topic, ''), {
        limit: STEP,
        ...(after === undefined ? {} : { after }),
      });
      for (const { id, value } of page)
        rows.push({ name: subscriberOfKey(id)[1], stored: value, ...(JSON.parse(value) as StoredSubscriber) });
      if (page.length < STEP) return rows;
      after = page[page.length - 1].id;
    }
  }

  /** Stores a subscriber that is new. */
  async create({ tenant, topic }: TopicRef, kept: Kept): Promise<void> {
    const value = recordOf(kept);
    const id = subscriberKey(topic, kept.subscriber.name);
    await this.#options.change(tenant, [{ collection: TOPIC_SUBSCRIBERS, id, expected: undefined, value }]);
    kept.stored = value;
  }

  /**
   * Never rejects: positions that cannot be written now are written at the next look, those of other tenants all the
   * same. @param keptOf what is known of a subscriber.
   */
  async write(topics: Iterable<Topic>, keptOf: (subscriber: Subscriber) => Kept | undefined): Promise<void> {
    const changed = new Map<number, Moved[]>();
    for (const topic of topics) {
      if (topic.isVolatile) continue;
      for (const subscriber of topic.subscribers.values()) {
        const kept = keptOf(subscriber);
        if (kept?.stored === undefined || kept.changing !== undefined) continue;
        const value = recordOf(kept);
        if (value === kept.stored) continue;
        const of = changed.get(topic.ref.tenant) ?? [];
        changed.set(topic.ref.tenant, of);
        of.push({ topic, kept, id: subscriberKey(topic.ref.topic, subscriber.name), value });
      }
    }
    for (const [tenant, all] of changed)
      for (let at = 0; at < all.length; at += POSITIONS_MAX)
        await this.#move(tenant, all.slice(at, at + POSITIONS_MAX)).catch((error: Error) => {
          this.#options.log.warn(
            { tenant, error: error.message },
            'positions of subscribers could not be written; trying again',
          );
        });
  }

  async remove({ tenant, topic }: TopicRef, kept: Kept): Promise<void> {
    const id = subscriberKey(topic, kept.subscriber.name);
    for (let tries = 1; kept.stored !== undefined; tries += 1) {
      try {
        await this.#options.change(tenant, [
          { collection: TOPIC_SUBSCRIBERS, id, expected: kept.stored, value: undefined },
        ]);
        return;
      } catch (error) {
        const isChanged = error instanceof PlatformError && error.code === 'general/changed-meanwhile';
        if (!isChanged || tries >= REMOVAL_TRIES_MAX) throw error;
        // Its position was written down meanwhile.
        kept.stored = await this.#options.documents.get(TOPIC_SUBSCRIBERS, tenant, id);
      }
    }
  }

  async #move(tenant: number, some: readonly Moved[]): Promise<void> {
    try {
      await this.#options.change(
        tenant,
        some.map(({ id, kept, value }) => ({ collection: TOPIC_SUBSCRIBERS, id, expected: kept.stored, value })),
      );
      for (const { topic, kept, value } of some) {
        kept.stored = value;
        topic.isDirty = true;
      }
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'general/changed-meanwhile') throw error;
      // Some record is not as it was read: each is read again, and written at the next look.
      for (const { topic, kept, id } of some) {
        const stored = await this.#options.documents.get(TOPIC_SUBSCRIBERS, tenant, id);
        if (stored === undefined) this.#options.onGone(topic, kept.subscriber);
        else kept.stored = stored;
      }
      this.#options.log.debug({ tenant, error: error.message }, 'positions of subscribers were changed meanwhile');
    }
  }
}

function recordOf({ subscriber, since }: Kept): string {
  const { seq, index } = subscriber.position;
  const value: StoredSubscriber = { seq, index, since };
  return JSON.stringify(value);
}
