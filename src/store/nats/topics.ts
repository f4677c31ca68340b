/**
 * Topics of Notifications 2.0 on JetStream (docs/internals/notifications.md): a stream for each persistent topic, made
 * with its first subscriber and removed with its last. A message is a chunk, or a part of one that is too large.
 */
import { crc32 } from 'node:zlib';
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { StoredMsg, StreamInfo } from '@nats-io/jetstream';
import { headers, nanos } from '@nats-io/nats-core';
import type { TopicChunk, TopicRef } from '../../model/entities/notifications/topic.ts';
import { TOPIC_SUBSCRIBERS, chunkText, messagesOf, subscriberKey } from '../../model/entities/notifications/topic.ts';
import { persistently } from '../../pacing/persistently.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import type { TopicFacts, TopicLog, TrimBounds, Trimmed } from '../../ports/stores/topic-log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { NOTIFICATION_LIMIT } from '../../realtime/notifications/limits.ts';
import { MESSAGE_BYTES, partsOf } from '../../realtime/notifications/parts.ts';
import { seconds } from './connection.ts';
import { API_ERROR, codeOf } from './api-errors.ts';
import type { NatsConnection } from './connection.ts';

export interface NatsTopicsOptions {
  readonly connection: NatsConnection;
  readonly prefix: string;
  readonly replicas: number;
  /** JetStream removes older chunks by itself. */
  readonly ageMaxMs: number;
  readonly documents: Pick<DocumentReader, 'list'>;
  readonly refusals: Refusals;
  readonly log: Log;
}

/** One attempt to store a chunk. */
const ATTEMPT_TIMEOUT_MS = 2_000;
/** JetStream knows a chunk that is sent again for this long: longer than a shard's take-over takes. */
const DUPLICATE_WINDOW_SECONDS = 120;
/** Between the prefix and the tenant. */
const STREAM_INFIX = '_TOPIC_';
const ID_HEADER = 'Nats-Msg-Id';
const EXPECTED_STREAM_HEADER = 'Nats-Expected-Stream';
/** Room for the headers of a chunk. */
const HEADERS_BYTES_MAX = 1_024;
/** Code of JetStream's API: larger than the stream takes (max_msg_size). */
const TOO_LARGE = 10054;
/** Chunks that are read at once. */
const READ_MAX = 32;
/** A stream's new leader may not know yet what the former one had acknowledged. */
const CATCH_UP_TRIES = 15;
const CATCH_UP_PAUSE_MS = 200;

interface Look {
  readonly info: StreamInfo;
  /** The stream had no more than this sequence, and what it has behind it was stored since. */
  readonly lostBehind?: number;
}

interface PubAck {
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

const GONE: Trimmed = { removed: [], isMore: false, isGone: true };

export class NatsTopics implements TopicLog {
  readonly #options: NatsTopicsOptions;
  /** Streams that have lost chunks and are to be opened again: what they had kept then. */
  readonly #older = new Map<string, number>();

  constructor(options: NatsTopicsOptions) {
    this.#options = options;
  }

  async *kept(): AsyncGenerator<TopicRef> {
    const { connection, prefix } = this.#options;
    const start = `${prefix.toUpperCase()}${STREAM_INFIX}`;
    for await (const name of connection.manager.streams.names(`${prefix}.t.>`)) {
      const found = /^(\d+)_(.+)$/.exec(name.startsWith(start) ? name.slice(start.length) : '');
      if (found !== null) yield { tenant: Number(found[1]), topic: found[2] };
    }
  }

  async open(ref: TopicRef, after: number): Promise<TopicFacts> {
    const { connection, replicas, ageMaxMs, refusals, log } = this.#options;
    const name = this.#stream(ref);
    await connection.ensureStream({
      name,
      subjects: [this.#subject(ref)],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      num_replicas: replicas,
      max_age: nanos(ageMaxMs),
      duplicate_window: seconds(Math.min(DUPLICATE_WINDOW_SECONDS, ageMaxMs / 1_000)),
      allow_direct: true,
    });
    const { info, lostBehind } = await this.#look(name, after);
    const keptThrough = Math.min(
      lostBehind ?? Number.POSITIVE_INFINITY,
      this.#older.get(name) ?? Number.POSITIVE_INFINITY,
    );
    this.#older.delete(name);
    if (keptThrough >= after) return factsOf(info);
    refusals.count(NOTIFICATION_LIMIT.NO_STREAM, { tenant: ref.tenant });
    log.error(
      { ...ref, limit: NOTIFICATION_LIMIT.NO_STREAM, stream: name, keptSeq: keptThrough, readSeq: after },
      'the stream of a topic has lost its newest chunks or all: subscribers get what is kept of it once more',
    );
    return { ...factsOf(info), lost: { keptFrom: info.state.first_seq, keptThrough } };
  }

  /** @param knownSeq of the newest chunk that is known: waits some seconds for a stream that has less. */
  async #look(name: string, knownSeq: number): Promise<Look> {
    const { streams } = this.#options.connection.manager;
    const first = await streams.info(name);
    const lastSeq = first.state.last_seq;
    // Servers before 2.10 do not say when.
    const at = first.ts ?? new Date().toISOString();
    let info = first;
    for (let tries = 1; info.state.last_seq < knownSeq && tries < CATCH_UP_TRIES; tries += 1) {
      await new Promise((resolve) => {
        setTimeout(resolve, CATCH_UP_PAUSE_MS);
      });
      info = await streams.info(name);
    }
    if (info === first && lastSeq >= knownSeq) return { info };
    if (info.state.last_seq < knownSeq) return { info, lostBehind: info.state.last_seq };
    const next = await streams.getMessage(name, { seq: lastSeq + 1 });
    const isNew = next !== null && next.time.getTime() > Date.parse(at);
    return isNew ? { info, lostBehind: lastSeq } : { info };
  }

  async close(ref: TopicRef): Promise<void> {
    this.#older.delete(this.#stream(ref));
    try {
      await this.#options.connection.manager.streams.delete(this.#stream(ref));
    } catch (error) {
      if (codeOf(error) !== API_ERROR.NO_STREAM) throw error;
    }
  }

  async read(ref: TopicRef, after: number, limit: number): Promise<TopicChunk[]> {
    const first = await this.#next(ref, after + 1);
    if (first === undefined) return [];
    const { manager } = this.#options.connection;
    const count = Math.min(limit, READ_MAX) - 1;
    const rest = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        manager.direct.getMessage(this.#stream(ref), { seq: first.seq + 1 + index }),
      ),
    );
    const chunks: TopicChunk[] = [];
    for (const message of [first, ...rest]) {
      // What a replica that lags behind does not know yet is read later, with what is behind it.
      if (message === null) break;
      chunks.push(chunkOf(message));
    }
    return chunks;
  }

  /** Of what JetStream removed by age it is known that it is gone, not when. */
  async trim(ref: TopicRef, { through, excess, lastSeq: knownSeq }: TrimBounds): Promise<Trimmed> {
    const { streams } = this.#options.connection.manager;
    const name = this.#stream(ref);
    let look: Look;
    try {
      look = await this.#look(name, knownSeq);
    } catch (error) {
      if (codeOf(error) !== API_ERROR.NO_STREAM) throw error;
      return GONE;
    }
    const { info, lostBehind } = look;
    if (lostBehind !== undefined) {
      // It may have grown past what was read when it is opened again.
      this.#older.set(name, lostBehind);
      return GONE;
    }
    const { first_seq: firstSeq, last_seq: lastSeq, messages, bytes } = info.state;
    const sizeOfOne = messages === 0 ? 0 : bytes / messages;
    const tooMany = sizeOfOne === 0 ? 0 : Math.ceil(Math.max(0, excess) / sizeOfOne);
    const last = Math.min(lastSeq, Math.max(through, tooMany === 0 ? 0 : firstSeq + tooMany - 1));
    const at = 0;
    const aged = { seq: firstSeq - 1, size: 0, count: Math.max(0, firstSeq - 1 - through), at };
    if (last < firstSeq) return { removed: aged.count > 0 ? [aged] : [], isMore: false, left: factsOf(info) };
    await streams.purge(name, { seq: last + 1 });
    const lost = Math.max(0, last - Math.max(through, firstSeq - 1));
    return {
      removed: [
        ...(aged.count > 0 ? [aged] : []),
        ...(lost > 0 ? [{ seq: last, size: 0, count: lost, at: Number.POSITIVE_INFINITY }] : []),
      ],
      isMore: false,
      left: { lastSeq, size: Math.round(sizeOfOne * (lastSeq - last)), count: lastSeq - last },
    };
  }

  /**
   * Stores a chunk, for as long as it takes. @param chunk its `seq` is its id: stored again it is not there twice.
   * @returns the chunks as they can be read, none when the topic has lost its last subscriber meanwhile.
   */
  async store(ref: TopicRef, chunk: TopicChunk): Promise<TopicChunk[]> {
    const stored: TopicChunk[] = [];
    const parts = partsOf(chunk.messages, () => this.#options.refusals.count(MESSAGE_BYTES, { tenant: ref.tenant }));
    for (const [index, messages] of parts.entries()) {
      const text = chunkText(messages);
      const payload = Buffer.from(`${chunk.at}\n${text}`);
      // After a take-over the same messages may be parted otherwise: another part under this number is another chunk.
      const id = `${chunk.seq}.${index}.${crc32(text)}`;
      const seq = await persistently(
        () => this.#publish(ref, id, payload),
        (error, tries) => {
          if (tries % 10 === 1)
            this.#options.log.warn(
              { ...ref, tries, error: error.message },
              'a topic could not be written; trying again',
            );
        },
      );
      if (seq !== undefined) stored.push({ seq, at: chunk.at, messages });
    }
    return stored;
  }

  /** @returns undefined without a stream, and for what NATS never takes. */
  async #publish(ref: TopicRef, id: string, payload: Uint8Array): Promise<number | undefined> {
    const { connection } = this.#options;
    const name = this.#stream(ref);
    const bytesMax = connection.payloadBytesMax - HEADERS_BYTES_MAX;
    if (payload.length > bytesMax) return this.#lost(ref, payload.length, `max_payload of NATS, ${bytesMax} bytes`);
    const messageHeaders = headers();
    messageHeaders.set(ID_HEADER, id);
    messageHeaders.set(EXPECTED_STREAM_HEADER, name);
    let ack: PubAck;
    try {
      const answer = await connection.core.request(this.#subject(ref), payload, {
        headers: messageHeaders,
        timeout: ATTEMPT_TIMEOUT_MS,
      });
      ack = JSON.parse(answer.string()) as PubAck;
    } catch (error) {
      // No one takes it: the stream is gone, or JetStream is away.
      if (await this.#exists(name)) throw error;
      return this.#withoutStream(ref);
    }
    if (ack.error?.err_code === TOO_LARGE) return this.#lost(ref, payload.length, 'max_msg_size of its stream');
    if (ack.error !== undefined) throw new Error(`JetStream: ${ack.error.description} (${ack.error.err_code})`);
    // 0: a copy is known to the leader and not yet stored by the majority.
    if (ack.seq === undefined || ack.seq === 0) throw new Error('JetStream has not stored it yet');
    return ack.seq;
  }

  /** A chunk that would be refused each time holds up no group. @param bound what the operator of NATS has set. */
  #lost(ref: TopicRef, bytes: number, bound: string): undefined {
    this.#options.refusals.count(MESSAGE_BYTES, { tenant: ref.tenant });
    this.#options.log.error(
      { ...ref, bytes, limit: MESSAGE_BYTES, bound },
      'a chunk of a topic is larger than its bound in NATS: it is lost',
    );
  }

  /** A topic ends with its last subscriber. The stream of one that has any was removed by another than this server. */
  async #withoutStream(ref: TopicRef): Promise<undefined> {
    const { documents, refusals, log } = this.#options;
    const one = await documents.list(TOPIC_SUBSCRIBERS, ref.tenant, subscriberKey(ref.topic, ''), { limit: 1 });
    if (one.length === 0) return;
    refusals.count(NOTIFICATION_LIMIT.NO_STREAM, { tenant: ref.tenant });
    log.error(
      { ...ref, limit: NOTIFICATION_LIMIT.NO_STREAM, stream: this.#stream(ref) },
      'the stream of a topic is gone: a chunk is lost',
    );
  }

  /** @throws when JetStream does not say. */
  async #exists(name: string): Promise<boolean> {
    try {
      await this.#options.connection.manager.streams.info(name);
      return true;
    } catch (error) {
      if (codeOf(error) === API_ERROR.NO_STREAM) return false;
      throw error;
    }
  }

  /** The first message from `seq` on; only the leader may say that there is none. */
  async #next(ref: TopicRef, seq: number): Promise<StoredMsg | undefined> {
    const query = { seq, next_by_subj: this.#subject(ref) };
    const { manager } = this.#options.connection;
    const name = this.#stream(ref);
    try {
      return (
        (await manager.direct.getMessage(name, query)) ?? (await manager.streams.getMessage(name, query)) ?? undefined
      );
    } catch (error) {
      if (codeOf(error) === API_ERROR.NO_STREAM || codeOf(error) === API_ERROR.NO_MESSAGE) return undefined;
      throw error;
    }
  }

  #stream({ tenant, topic }: TopicRef): string {
    return `${this.#options.prefix.toUpperCase()}${STREAM_INFIX}${tenant}_${topic}`;
  }

  #subject({ tenant, topic }: TopicRef): string {
    return `${this.#options.prefix}.t.${tenant}.${topic}`;
  }
}

const factsOf = ({ state }: StreamInfo): TopicFacts => ({
  lastSeq: state.last_seq,
  size: state.bytes,
  count: state.messages,
});

function chunkOf({ seq, data }: StoredMsg): TopicChunk {
  const text = Buffer.from(data).toString();
  const end = text.indexOf('\n');
  return { seq, at: Number(text.slice(0, end)), messages: messagesOf(text.slice(end + 1)) };
}
