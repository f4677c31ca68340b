/** Port of what persistent topics keep: chunks in order, removed from the oldest on. */
import type { ChunkFacts, TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';

export interface LostChunks {
  /** The oldest sequence that the store may have now. */
  readonly keptFrom: number;
  /** Chunks behind this sequence were lost; others may have their sequences now. */
  readonly keptThrough: number;
}

export interface TopicFacts {
  /** Sequence of the newest chunk, 0 without any. */
  readonly lastSeq: number;
  /** Characters of all chunks. */
  readonly size: number;
  /** Messages. */
  readonly count: number;
  /** Only where the store has lost chunks that it had, its newest ones or all. */
  readonly lost?: LostChunks;
}

/** Which chunks are to go: each of the three alone is reason enough. */
export interface TrimBounds {
  /** No subscriber needs what is at or before it. */
  readonly through: number;
  /** ms since 1970: older ones go. */
  readonly before: number;
  /** Characters above the topic's bound: the oldest go until as many are removed. */
  readonly excess: number;
  /** Sequence of the newest chunk that is known: a store that has less has lost some. */
  readonly lastSeq: number;
}

export interface Trimmed {
  /** Oldest first. */
  readonly removed: readonly ChunkFacts[];
  /** As many as one call removes: there may be more. */
  readonly isMore: boolean;
  /** The store has lost the topic, or its newest chunks: nothing was removed, it is to be opened again. */
  readonly isGone?: boolean;
  /** What is kept now, where the store says it. */
  readonly left?: TopicFacts;
}

export interface TopicLog {
  /** Persistent topics that something is kept of; a store that knows of all tenants tells those of all. */
  kept(tenants: Iterable<number>): Iterable<TopicRef> | AsyncIterable<TopicRef>;
  /** Makes room for a topic, where that is to be made. @param after sequence of the newest chunk that was ever read of it. */
  open(topic: TopicRef, after: number): TopicFacts | Promise<TopicFacts>;
  /** The topic has no subscriber any more: nothing of it is kept. */
  close(topic: TopicRef): Promise<void> | void;
  /** Chunks behind `after`, oldest first, at most `limit`. */
  read(topic: TopicRef, after: number, limit: number): TopicChunk[] | Promise<TopicChunk[]>;
  trim(topic: TopicRef, bounds: TrimBounds): Promise<Trimmed>;
}
