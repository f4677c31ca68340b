/** A topic: its subscribers, and how much it keeps for them. */
import { isVolatileTopic } from '../../model/entities/notifications/subscription.ts';
import type { TopicChunk, TopicPosition, TopicRef } from '../../model/entities/notifications/topic.ts';
import type { LostChunks, TopicFacts } from '../../ports/stores/topic-log.ts';
import type { Subscriber } from './subscriber.ts';

export class Topic {
  readonly ref: TopicRef;
  readonly subscribers = new Map<string, Subscriber>();
  lastSeq: number;
  /** Characters and messages that are kept. */
  size: number;
  count: number;
  /** Something may have become needless since the last look. */
  isDirty = true;
  /** Everything through this sequence was removed before it was acknowledged, and that was told. */
  lostSeq = 0;
  /** Characters that are to go, as the tenant keeps too much. */
  excess = 0;
  readonly #lost: LostChunks | undefined;
  /** Of a volatile topic. */
  #chunks: TopicChunk[] = [];

  constructor(ref: TopicRef, facts: TopicFacts) {
    this.ref = ref;
    this.lastSeq = facts.lastSeq;
    this.size = facts.size;
    this.count = facts.count;
    this.#lost = facts.lost;
  }

  get isVolatile(): boolean {
    return isVolatileTopic(this.ref.topic);
  }

  /** The oldest chunk that a subscriber still needs; behind the newest one when none needs any. */
  get neededFrom(): number {
    let from = this.lastSeq + 1;
    for (const { position } of this.subscribers.values()) from = Math.min(from, position.seq);
    return from;
  }

  /**
   * Where a stored subscriber goes on. A volatile topic keeps nothing for it; where the store has lost chunks that it had
   * read, others may have their sequences, and what is kept may be what it never got.
   */
  positionOf({ seq, index }: TopicPosition): TopicPosition {
    if (this.isVolatile) return { seq: this.lastSeq + 1, index: 0 };
    if (this.#lost === undefined || seq <= this.#lost.keptThrough + 1) return { seq, index };
    return { seq: this.#lost.keptFrom, index: 0 };
  }

  /** A chunk can be read. @param isNext nothing of the topic lies between the last chunk and this one. */
  appended(chunk: TopicChunk, isNext: boolean): void {
    const previous = isNext ? this.lastSeq : Number.POSITIVE_INFINITY;
    if (chunk.seq > this.lastSeq) this.lastSeq = chunk.seq;
    this.count += chunk.messages.length;
    this.size += sizeOf(chunk);
    if (this.isVolatile) this.#chunks.push(chunk);
    this.isDirty = true;
    for (const subscriber of this.subscribers.values()) subscriber.appended(chunk, previous);
  }

  /** Of a volatile topic. */
  chunksBehind(after: number, limit: number): TopicChunk[] {
    const from = this.#chunks.findIndex(({ seq }) => seq > after);
    return from < 0 ? [] : this.#chunks.slice(from, from + limit);
  }

  /**
   * Of a volatile topic: removes what no subscriber needs, then the oldest above the bound. @returns messages that a
   * subscriber still needed.
   */
  shrink(charsMax: number): number {
    const { neededFrom } = this;
    let end = 0;
    let lost = 0;
    for (; end < this.#chunks.length; end += 1) {
      const chunk = this.#chunks[end];
      const isNeeded = chunk.seq >= neededFrom;
      if (isNeeded && this.size <= charsMax) break;
      if (isNeeded) lost += chunk.messages.length;
      this.size -= sizeOf(chunk);
      this.count -= chunk.messages.length;
    }
    if (end > 0) this.#chunks = this.#chunks.slice(end);
    return lost;
  }
}

/** As `chunkText` has it. */
const sizeOf = ({ messages }: TopicChunk): number => messages.reduce((sum, message) => sum + message.length + 1, 0) - 1;
