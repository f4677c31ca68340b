/** Bounds of consumers of Notifications 2.0 (docs/reference/limits.md). */

export interface NotificationLimits {
  /** Messages that a consumer has not acknowledged. */
  readonly windowMessages: number;
  /** Their characters, of one consumer, and of all of the node in shares of tenants and subscribers. */
  readonly windowChars: number;
  readonly windowCharsOfAll: number;
  /** What is not acknowledged for this long is sent again. */
  readonly redeliveryMs: number;
  /**
   * A client that acknowledges nothing for this long gives way to the others: of a shared subscriber, and of any while
   * the characters of all are short.
   */
  readonly stalledMs: number;
  /** A volatile subscriber without a client for this long is removed: none may come back to it. */
  readonly abandonedMs: number;
  /** Connections of the node, in shares of tenants and subscribers. */
  readonly connections: number;
  readonly connectionsOfSubscriber: number;
  /** Subscribers of a tenant. */
  readonly subscribers: number;
  /** Characters that a volatile topic keeps for its consumers, and all of the node. */
  readonly volatileChars: number;
  readonly volatileCharsOfAll: number;
  /** Characters and ms that a persistent topic keeps; characters that those of a tenant keep. */
  readonly topicChars: number;
  readonly topicAgeMs: number;
  readonly tenantChars: number;
}

export const NOTIFICATION_LIMITS: NotificationLimits = {
  windowMessages: 1_000,
  windowChars: 1_048_576,
  windowCharsOfAll: 64 * 1_048_576,
  redeliveryMs: 60_000,
  stalledMs: 120_000,
  abandonedMs: 60_000,
  connections: 5_000,
  connectionsOfSubscriber: 100,
  subscribers: 1_000,
  volatileChars: 4 * 1_048_576,
  volatileCharsOfAll: 64 * 1_048_576,
  topicChars: 100_000_000,
  topicAgeMs: 7 * 86_400_000,
  tenantChars: 1_073_741_824,
};

/** Names that tell the client, the log and `/metrics` which bound it was. */
export const NOTIFICATION_LIMIT = {
  CONNECTIONS: 'notifications/connections',
  OF_SUBSCRIBER: 'notifications/connections-of-subscriber',
  SUBSCRIBERS: 'notifications/subscribers',
  WINDOW: 'notifications/window',
  GROUP_BYTES: 'notifications/group-bytes',
  STALLED: 'notifications/stalled',
  TOPIC_BYTES: 'notifications/topic-bytes',
  TENANT_BYTES: 'notifications/tenant-bytes',
  TOPIC_AGE: 'notifications/topic-age',
  VOLATILE: 'notifications/volatile-bytes',
  NO_STREAM: 'notifications/no-stream',
} as const;
