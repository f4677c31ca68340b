/**
 * Topics of Notifications 2.0 between nodes (docs/internals/notifications.md): the owner of a shard stores what its
 * groups bring to topics and tells the home of each topic, the node whose consumers it has; and every node learns of a
 * new subscriber, or a new subscription, before that is answered.
 */
import { shardOf } from '../../ingest/journal/command-record.ts';
import { NOTIFICATION_SUBSCRIPTIONS, isVolatileTopic } from '../../model/entities/notifications/subscription.ts';
import { chunkText, messagesOf, topicKey } from '../../model/entities/notifications/topic.ts';
import type { TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { Forwarding } from '../../realtime/notifications/forwarding.ts';
import { MESSAGE_BYTES, partsOf } from '../../realtime/notifications/parts.ts';
import type { ShardLeases } from '../../ports/cluster/leases.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';

const CHUNK = 'topics.chunk';
const BEGUN = 'topics.begun';
const CHANGED = 'topics.changed';
/** A node that does not answer by then is gone, or reads all of it when it is back. */
const TOLD_TIMEOUT_MS = 2_000;

/** What goes before the text of a chunk. */
interface ChunkHead extends TopicRef {
  readonly seq: number;
  readonly at: number;
}

export interface TopicRelayOptions {
  readonly messages: NodeMessages;
  readonly leases: Pick<ShardLeases, 'owned' | 'ownerOf' | 'members'>;
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly forwarding: () => Pick<Forwarding, 'onForwarded' | 'subscribed' | 'recordsChanged' | 'loaded'>;
  /** Stores a chunk of a persistent topic; resolves with it as it can be read. */
  readonly store: (topic: TopicRef, chunk: TopicChunk) => Promise<readonly TopicChunk[]>;
  readonly refusals: Refusals;
  readonly log: Log;
}

export class TopicRelay {
  readonly #options: TopicRelayOptions;

  constructor(options: TopicRelayOptions) {
    this.#options = options;
    const { messages } = options;
    messages.listen(CHUNK, (payload) => this.#took(payload));
    messages.answer(BEGUN, async (payload) => {
      const { tenant, topic, subscriber } = read<TopicRef & { readonly subscriber: string }>(payload);
      options.forwarding().subscribed({ tenant, topic }, subscriber);
      await options.forwarding().loaded(tenant);
      return NOTHING;
    });
    messages.answer(CHANGED, async (payload) => {
      const { tenant, id } = read<{ readonly tenant: number; readonly id: string }>(payload);
      const value = await options.documents.get(NOTIFICATION_SUBSCRIPTIONS, tenant, id);
      await options.forwarding().loaded(tenant);
      options.forwarding().recordsChanged(tenant, [{ collection: NOTIFICATION_SUBSCRIPTIONS, id, value }]);
      return NOTHING;
    });
  }

  /** The node that serves the consumers of the topic; undefined while there is none. */
  homeOf(topic: TopicRef): string | undefined {
    return this.#options.leases.ownerOf(shardOfTopic(topic));
  }

  isHome(topic: TopicRef): boolean {
    return this.#options.leases.owned.has(shardOfTopic(topic));
  }

  /** Resolves when everything of persistent topics is stored; homes are told. @param chunks those of a topic in order. */
  async store(chunks: readonly (readonly [TopicRef, TopicChunk])[]): Promise<void> {
    const stores = new Map<string, Promise<void>>();
    for (const [topic, chunk] of chunks) {
      const key = topicKey(topic);
      const store = (): Promise<void> => this.#storeOne(topic, chunk);
      stores.set(key, stores.get(key)?.then(store) ?? store());
    }
    await Promise.all(stores.values());
  }

  async #storeOne(topic: TopicRef, chunk: TopicChunk): Promise<void> {
    const stored = isVolatileTopic(topic.topic) ? this.#partsOf(topic, chunk) : await this.#options.store(topic, chunk);
    for (const one of stored) this.#tell(topic, one);
  }

  /** A subscriber of the topic is stored: resolves when the members forward to it. */
  begun(topic: TopicRef, subscriber: string): Promise<void> {
    return this.#ask(BEGUN, { ...topic, subscriber });
  }

  /** A subscription is stored: resolves when the members forward by it. @param id of its record. */
  subscriptionChanged(tenant: number, id: string): Promise<void> {
    return this.#ask(CHANGED, { tenant, id });
  }

  async #ask(subject: string, body: object): Promise<void> {
    const { messages, leases, log } = this.#options;
    const payload = Buffer.from(JSON.stringify(body));
    await Promise.all(
      leases.members
        .filter(({ roles }) => roles.includes('shard'))
        .map(({ nodeId }) =>
          messages.request(nodeId, subject, payload, TOLD_TIMEOUT_MS).catch((error: Error) => {
            log.debug({ node: nodeId, subject, error: error.message }, 'a node was not told; it reads it by itself');
          }),
        ),
    );
  }

  #partsOf(topic: TopicRef, chunk: TopicChunk): TopicChunk[] {
    const parts = partsOf(chunk.messages, () => this.#options.refusals.count(MESSAGE_BYTES, { tenant: topic.tenant }));
    return parts.map((messages) => ({ ...chunk, messages }));
  }

  /** Of a persistent topic, what cannot be told now is read from the store. */
  #tell(topic: TopicRef, chunk: TopicChunk): void {
    const home = this.homeOf(topic);
    const { messages, forwarding } = this.#options;
    if (home === messages.nodeId) forwarding().onForwarded?.(topic, chunk);
    else if (home !== undefined) {
      const head: ChunkHead = { ...topic, seq: chunk.seq, at: chunk.at };
      const payload = Buffer.from(`${JSON.stringify(head)}\n${chunkText(chunk.messages)}`);
      try {
        if (payload.length <= messages.payloadBytesMax) messages.send(home, CHUNK, payload);
        else this.#options.refusals.count(MESSAGE_BYTES, { tenant: topic.tenant });
      } catch (error) {
        this.#options.log.warn(
          { ...topic, home, error: textOf(error) },
          'a chunk of a topic could not be told to its home',
        );
      }
    }
  }

  #took(payload: Uint8Array): void {
    const text = Buffer.from(payload).toString();
    const end = text.indexOf('\n');
    const { tenant, topic, seq, at } = JSON.parse(text.slice(0, end)) as ChunkHead;
    this.#options.forwarding().onForwarded?.({ tenant, topic }, { seq, at, messages: messagesOf(text.slice(end + 1)) });
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const NOTHING = new Uint8Array();
const read = <Body>(payload: Uint8Array): Body => JSON.parse(Buffer.from(payload).toString()) as Body;
const shardOfTopic = ({ tenant, topic }: TopicRef): number => shardOf(tenant, `n:${topic}`);
