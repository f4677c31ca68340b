/** A subscriber of a topic of Notifications 2.0 and what it has behind it. */
export interface Backlog {
  readonly topic: string;
  readonly subscriber: string;
  readonly isShared: boolean;
  readonly connectionsCount: number;
  readonly unacknowledgedCount: number;
  /** The topic has messages that the subscriber was not sent, or has not acknowledged. */
  readonly isBehind: boolean;
  /** What the topic keeps for the slowest of its subscribers. */
  readonly topicMessages: number;
  readonly topicChars: number;
}
