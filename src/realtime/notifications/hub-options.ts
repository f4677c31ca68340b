/** What the hub of topics uses of its node. */
import type { TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { TopicLog } from '../../ports/stores/topic-log.ts';
import type { NotificationLimits } from './limits.ts';
import type { PositionChange } from './subscriber-records.ts';

/** Whom the actors' side forwards to. */
export interface ForwardedTopics {
  onForwarded: ((topic: TopicRef, chunk: TopicChunk) => void) | undefined;
  topics(): Iterable<TopicRef>;
  subscribed(topic: TopicRef, subscriber: string): void;
  unsubscribed(topic: TopicRef, subscriber: string): void;
  loaded(tenant: number): Promise<void>;
  forgetTenant(tenant: number): void;
}

export interface NotificationHubOptions {
  readonly forwarding: ForwardedTopics;
  readonly topics: TopicLog;
  /** Whether this node serves the consumers of the topic; without it, it serves all. */
  readonly isHome?: (topic: TopicRef) => boolean;
  readonly documents: Pick<DocumentReader, 'get' | 'list'>;
  /** Stores records with compare and set; rejects with PlatformError `general/changed-meanwhile`. */
  readonly change: (tenant: number, changes: readonly PositionChange[]) => Promise<void>;
  /** Id of a tenant by its number, for the log. */
  readonly tenantId: (tenant: number) => string;
  /** A subscriber is stored: resolves when every node forwards to its topic. */
  readonly begun?: (topic: TopicRef, subscriber: string) => Promise<void>;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly isOnlyTenant?: () => boolean;
  readonly limits?: Partial<NotificationLimits>;
  /** ms since 1970, and of a clock that never jumps. */
  readonly now: () => number;
  readonly clock: () => number;
}
