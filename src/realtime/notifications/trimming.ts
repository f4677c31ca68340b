/** Removes from persistent topics what every subscriber has behind it, and what a bound takes. */
import type { StoredSubscriber, TopicRef } from '../../model/entities/notifications/topic.ts';
import type { TopicLog } from '../../ports/stores/topic-log.ts';
import { NOTIFICATION_LIMIT } from './limits.ts';
import type { NotificationLimits } from './limits.ts';
import type { Kept } from './subscriber-records.ts';
import type { Subscriber } from './subscriber.ts';
import type { Topic } from './topic.ts';

export interface TrimmingOptions {
  readonly topics: Pick<TopicLog, 'trim'>;
  readonly limits: Pick<NotificationLimits, 'topicChars' | 'topicAgeMs' | 'tenantChars'>;
  readonly keptOf: (subscriber: Subscriber) => Kept | undefined;
  /** Messages went that a subscriber had not acknowledged. */
  readonly onLost: (topic: TopicRef, limit: string, messages: number) => void;
  /** ms since 1970. */
  readonly now: () => number;
}

export class Trimming {
  readonly #options: TrimmingOptions;

  constructor(options: TrimmingOptions) {
    this.#options = options;
  }

  /** @returns `isTrimmed`: nothing is kept of it any more that this call would have removed; `isGone`: as the store. */
  async trim(topic: Topic): Promise<{ readonly isTrimmed: boolean; readonly isGone: boolean }> {
    const { topics, limits, now, onLost } = this.#options;
    topic.isDirty = false;
    const needed = this.#neededFrom(topic);
    const before = now() - limits.topicAgeMs;
    const isLarge = topic.size > limits.topicChars;
    const excess = Math.max(topic.excess, topic.size - limits.topicChars, 0);
    topic.excess = 0;
    const through = Math.max(needed - 1, topic.lostSeq);
    const {
      removed,
      isMore,
      isGone = false,
      left,
    } = await topics.trim(topic.ref, {
      through,
      before,
      excess,
      lastSeq: topic.lastSeq,
    });
    if (isMore) topic.isDirty = true;
    let [byAge, byBytes] = [0, 0];
    for (const { seq, size, count, at } of removed) {
      topic.size -= size;
      topic.count -= count;
      if (seq < needed) continue;
      topic.lostSeq = Math.max(topic.lostSeq, seq);
      if (at < before) byAge += count;
      else byBytes += count;
    }
    for (const subscriber of topic.subscribers.values()) subscriber.skip(topic.lostSeq);
    if (left !== undefined) [topic.size, topic.count] = [left.size, left.count];
    if (byAge > 0) onLost(topic.ref, NOTIFICATION_LIMIT.TOPIC_AGE, byAge);
    if (byBytes > 0)
      onLost(topic.ref, isLarge ? NOTIFICATION_LIMIT.TOPIC_BYTES : NOTIFICATION_LIMIT.TENANT_BYTES, byBytes);
    return { isTrimmed: !isMore, isGone };
  }

  /** Where the topics of a tenant keep too much together, the largest of them gives way. */
  requireTenantBounds(topics: Iterable<Topic>): void {
    const tenants = new Map<number, { size: number; largest: Topic }>();
    for (const topic of topics) {
      if (topic.isVolatile) continue;
      const of = tenants.get(topic.ref.tenant);
      if (of === undefined) tenants.set(topic.ref.tenant, { size: topic.size, largest: topic });
      else {
        of.size += topic.size;
        if (topic.size > of.largest.size) of.largest = topic;
      }
    }
    const { tenantChars } = this.#options.limits;
    for (const { size, largest } of tenants.values()) {
      if (size <= tenantChars) continue;
      largest.excess = size - tenantChars;
      largest.isDirty = true;
    }
  }

  /** The oldest chunk that a subscriber would want after a restart. */
  #neededFrom(topic: Topic): number {
    let from = topic.lastSeq + 1;
    for (const subscriber of topic.subscribers.values()) {
      const stored = this.#options.keptOf(subscriber)?.stored;
      const { seq } = stored === undefined ? subscriber.position : (JSON.parse(stored) as StoredSubscriber);
      from = Math.min(from, seq, subscriber.position.seq);
    }
    return from;
  }
}
