/**
 * Topics of Notifications 2.0 (docs/internals/notifications.md): what is kept of them, and under which keys.
 *
 * `topicSubscriber`: `<topic>\n<subscriber>` -> `StoredSubscriber`, a record of the tenant; on one node of persistent topics
 * only.
 * `topicMessage` (one node): `<topic>\n<seq>\n<characters>.<messages>.<ms>` -> the messages, one behind the other.
 */

export const TOPIC_SUBSCRIBERS = 'topicSubscriber';
export const TOPIC_MESSAGES = 'topicMessage';

export interface TopicRef {
  /** Number of the tenant. */
  readonly tenant: number;
  /** See topicName of notification-subscription.ts. */
  readonly topic: string;
}

/** What records of a group of the journal brought to a topic; it is kept, read and removed as a whole. */
export interface TopicChunk {
  /** Sequence of the last record in the journal; grows from chunk to chunk of a topic. */
  readonly seq: number;
  /** ms since 1970. */
  readonly at: number;
  /** See messageText of realtime/notifications/message.ts. */
  readonly messages: readonly string[];
}

/** A message of a topic: the chunk, and the place in it. */
export interface TopicPosition {
  readonly seq: number;
  readonly index: number;
}

/** The first message that is not acknowledged; its chunk may have been removed since. */
export interface StoredSubscriber extends TopicPosition {
  /** ms since 1970. */
  readonly since: number;
}

export const topicKey = ({ tenant, topic }: TopicRef): string => `${tenant}/${topic}`;
export const subscriberKey = (topic: string, subscriber: string): string => `${topic}\n${subscriber}`;

/** @returns topic and subscriber of a key of `topicSubscriber`. */
export function subscriberOfKey(key: string): readonly [topic: string, subscriber: string] {
  const end = key.indexOf('\n');
  return [key.slice(0, end), key.slice(end + 1)];
}

const SEQ_DIGITS = 16;
export const chunkPrefix = (topic: string): string => `${topic}\n`;
/** Behind every key of the chunk `seq`, before those of the next one. */
export const behindChunk = (topic: string, seq: number): string =>
  `${topic}\n${String(seq + 1).padStart(SEQ_DIGITS, '0')}`;
export const chunkKey = (topic: string, { seq, at, messages }: TopicChunk, text: string): string =>
  `${topic}\n${String(seq).padStart(SEQ_DIGITS, '0')}\n${text.length}.${messages.length}.${at}`;

/** What the key of a chunk tells. */
export interface ChunkFacts {
  readonly seq: number;
  /** Characters. */
  readonly size: number;
  readonly count: number;
  readonly at: number;
}

export function factsOfKey(key: string): ChunkFacts {
  const [, seq, facts] = key.split('\n');
  const [size, count, at] = facts.split('.').map(Number);
  return { seq: Number(seq), size, count, at };
}

/** A message has four lines, the third empty, none of which has a line feed in it. */
export const chunkText = (messages: readonly string[]): string => messages.join('\n');
/** A client that leaves out one message of each chunk must not keep all chunks: V8's slices hold the whole text. */
const copyOf = (slice: string): string => ` ${slice}`.slice(1);
export function messagesOf(text: string): string[] {
  const messages: string[] = [];
  for (let at = 0; at < text.length; ) {
    const body = text.indexOf('\n\n', at) + 2;
    const end = text.indexOf('\n', body);
    messages.push(copyOf(text.slice(at, end < 0 ? text.length : end)));
    at = end < 0 ? text.length : end + 1;
  }
  return messages;
}
