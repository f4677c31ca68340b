/** Topics of Notifications 2.0 on LMDB: chunks are documents that the actors' commits have written. */
import {
  TOPIC_MESSAGES,
  behindChunk,
  chunkPrefix,
  factsOfKey,
  messagesOf,
} from '../../model/entities/notifications/topic.ts';
import type { ChunkFacts, TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import type { TopicFacts, TopicLog, TrimBounds, Trimmed } from '../../ports/stores/topic-log.ts';
import type { LmdbDocuments } from './documents.ts';

/** Chunks that one call removes. */
const TRIMMED_MAX = 5_000;

export class LmdbTopics implements TopicLog {
  readonly #documents: LmdbDocuments;

  constructor(documents: LmdbDocuments) {
    this.#documents = documents;
  }

  *kept(tenants: Iterable<number>): Generator<TopicRef> {
    for (const tenant of tenants)
      for (let after = ''; ; ) {
        // The first chunk of each: behind a line feed comes nothing but digits.
        const [id] = this.#documents.ids(TOPIC_MESSAGES, tenant, '', after);
        if (id === undefined) break;
        const topic = id.slice(0, id.indexOf('\n'));
        yield { tenant, topic };
        after = `${topic}\n:`;
      }
  }

  open(ref: TopicRef): TopicFacts {
    let [lastSeq, size, count] = [0, 0, 0];
    for (const facts of this.#facts(ref)) {
      lastSeq = facts.seq;
      size += facts.size;
      count += facts.count;
    }
    return { lastSeq, size, count };
  }

  /** Its last chunks were trimmed. */
  close(): void {}

  read({ tenant, topic }: TopicRef, after: number, limit: number): TopicChunk[] {
    const options = { after: behindChunk(topic, after), limit };
    return this.#documents.list(TOPIC_MESSAGES, tenant, chunkPrefix(topic), options).map(({ id, value }) => {
      const { seq, at } = factsOfKey(id);
      return { seq, at, messages: messagesOf(value) };
    });
  }

  async trim(ref: TopicRef, { through, before, excess }: TrimBounds): Promise<Trimmed> {
    let left = excess;
    const removed: ChunkFacts[] = [];
    const ids: string[] = [];
    for (const facts of this.#facts(ref)) {
      if ((facts.seq > through && facts.at >= before && left <= 0) || removed.length >= TRIMMED_MAX) break;
      removed.push(facts);
      ids.push(facts.id);
      left -= facts.size;
    }
    if (ids.length === 0) return { removed, isMore: false };
    await this.#documents.commit(
      ids.map((id) => ({ collection: TOPIC_MESSAGES, tenant: ref.tenant, id, value: undefined })),
      undefined,
    );
    return { removed, isMore: removed.length >= TRIMMED_MAX };
  }

  *#facts({ tenant, topic }: TopicRef): Generator<ChunkFacts & { readonly id: string }> {
    for (const id of this.#documents.ids(TOPIC_MESSAGES, tenant, chunkPrefix(topic))) yield { ...factsOfKey(id), id };
  }
}
