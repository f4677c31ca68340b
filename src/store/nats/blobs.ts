/**
 * Large content in a JetStream object store: written in the form of NATS' own clients, so that `nats object` shows and
 * reads it, but with code of this project, which holds one piece in memory, reads ranges and says when space is
 * used up. See docs/internals/nats.md.
 */
import { createHash } from 'node:crypto';
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import type { MsgHdrs } from '@nats-io/nats-core';
import { BlobTooLarge, newBlobKey } from '../../ports/blobs.ts';
import type { Blobs, Content, ContentOwner } from '../../ports/blobs.ts';
import { refusedBy } from '../../model/errors.ts';
import { API_ERROR, codeOf } from './api-errors.ts';
import { sleep } from './connection.ts';
import type { NatsConnection } from './connection.ts';

const CHUNK_BYTES = 256 * 1024;
/**
 * The description of an object has the place of one piece in this many. So the start of a range is found without
 * reading all before it.
 */
const CHUNKS_PER_MARK = 16;
const MARKS = 'millrace-marks';
const ATTEMPTS = 4;
const ATTEMPT_TIMEOUT_MS = 3_000;
const RETRY_MS = 200;

/** The description of an object as the object store's clients write it. */
interface ObjectInfo {
  readonly name: string;
  readonly bucket: string;
  readonly nuid: string;
  readonly size: number;
  readonly chunks: number;
  readonly digest: string;
  readonly options: { readonly max_chunk_size: number };
  readonly metadata: Readonly<Record<string, string>>;
  readonly mtime: string;
  readonly deleted?: boolean;
}

export class NatsBlobs implements Blobs {
  readonly #connection: NatsConnection;
  readonly #bucket: string;
  readonly #stream: string;
  readonly #refusal: () => string | undefined;

  private constructor(connection: NatsConnection, bucket: string, refusal: () => string | undefined) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#stream = `OBJ_${bucket}`;
    this.#refusal = refusal;
  }

  /**
   * Makes the bucket when there is none.
   * @param options.maxBytes of all content; without it as much as JetStream has.
   * @param options.refusal name of the limit while nothing may be written (disk full), undefined otherwise.
   */
  static async open(options: {
    connection: NatsConnection;
    prefix: string;
    replicas: number;
    maxBytes?: number;
    refusal?: () => string | undefined;
  }): Promise<NatsBlobs> {
    const bucket = `${options.prefix}_blobs`;
    await options.connection.ensureStream({
      name: `OBJ_${bucket}`,
      subjects: [`$O.${bucket}.C.>`, `$O.${bucket}.M.>`],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: options.replicas,
      max_bytes: options.maxBytes ?? -1,
      allow_rollup_hdrs: true,
      allow_direct: true,
    });
    return new NatsBlobs(options.connection, bucket, options.refusal ?? (() => undefined));
  }

  async put(
    content: Content,
    limitBytes: number,
    owner?: ContentOwner,
  ): Promise<{ readonly key: string; readonly bytes: number }> {
    const key = newBlobKey(owner);
    const hash = createHash('sha256');
    const marks: number[] = [];
    let bytes = 0;
    let chunks = 0;
    try {
      for await (const chunk of chunksOf(content)) {
        const refusal = this.#refusal();
        if (refusal !== undefined) throw refusedBy(refusal);
        bytes += chunk.length;
        if (bytes > limitBytes) throw new BlobTooLarge(`more than ${limitBytes} bytes`);
        hash.update(chunk);
        const seq = await this.#publish(this.#chunkSubject(key), chunk, `${key}-${chunks}`);
        if (chunks % CHUNKS_PER_MARK === 0) marks.push(seq);
        chunks += 1;
      }
      const info: ObjectInfo = {
        name: key,
        bucket: this.#bucket,
        nuid: key,
        size: bytes,
        chunks,
        digest: `SHA-256=${withPadding(hash.digest('base64url'))}`,
        options: { max_chunk_size: CHUNK_BYTES },
        metadata: { [MARKS]: marks.join() },
        mtime: new Date().toISOString(),
      };
      const rollup = headers();
      rollup.set('Nats-Rollup', 'sub');
      await this.#publish(this.#infoSubject(key), Buffer.from(JSON.stringify(info)), `${key}-info`, rollup);
    } catch (error) {
      // What cannot be removed now is found by the sweep: its key is listed.
      if (chunks > 0) await this.remove(key).catch(() => undefined);
      throw error;
    }
    return { key, bytes };
  }

  async read(
    key: string,
    range?: { readonly from: number; readonly through: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!/^[\w-]+$/.test(key)) return undefined;
    const message = await this.#last(this.#infoSubject(key));
    const info = message?.json<ObjectInfo>();
    if (info === undefined || info.deleted === true) return undefined;
    const from = Math.max(0, range?.from ?? 0);
    const through = Math.min(info.size - 1, range?.through ?? info.size - 1);
    return this.#pieces(info, from, through);
  }

  async remove(key: string): Promise<number> {
    if (!/^[\w-]+$/.test(key)) return 0;
    const bytes = (await this.#last(this.#infoSubject(key)))?.json<ObjectInfo>().size ?? 0;
    // The description first: content without one is not read any more, and still listed for the next sweep.
    for (const filter of [this.#infoSubject(key), this.#chunkSubject(key)]) {
      await this.#trying(() => this.#connection.manager.streams.purge(this.#stream, { filter }));
    }
    return bytes;
  }

  /** Of one copy of everything, with what an interrupted `put` has left. */
  async bytes(): Promise<number> {
    return (await this.#connection.manager.streams.info(this.#stream)).state.bytes;
  }

  /** Of whole content and of what an interrupted `put` has left. */
  async *keys(): AsyncIterable<{ readonly key: string; readonly writtenAt: number; readonly bytes: number }> {
    const { state } = await this.#trying(() =>
      this.#connection.manager.streams.info(this.#stream, { subjects_filter: `$O.${this.#bucket}.>` }),
    );
    const seen = new Set<string>();
    for (const subject of Object.keys(state.subjects ?? {})) {
      const [, , kind, name] = subject.split('.');
      const key = kind === 'C' ? name : Buffer.from(name, 'base64url').toString();
      if (seen.has(key)) continue;
      seen.add(key);
      const info = await this.#last(this.#infoSubject(key));
      const last = info ?? (await this.#last(this.#chunkSubject(key)));
      if (last) yield { key, writtenAt: last.time.getTime(), bytes: info?.json<ObjectInfo>().size ?? 0 };
    }
  }

  #chunkSubject(key: string): string {
    return `$O.${this.#bucket}.C.${key}`;
  }

  #infoSubject(key: string): string {
    return `$O.${this.#bucket}.M.${withPadding(Buffer.from(key).toString('base64url'))}`;
  }

  /** One piece after the other, as the reader takes them. */
  async *#pieces(info: ObjectInfo, from: number, through: number): AsyncGenerator<Uint8Array> {
    if (from > through) return;
    const chunkBytes = info.options.max_chunk_size;
    const marks = (info.metadata[MARKS] ?? '').split(',').map(Number);
    const mark = Math.min(marks.length - 1, Math.floor(from / chunkBytes / CHUNKS_PER_MARK));
    let position = mark * CHUNKS_PER_MARK * chunkBytes;
    for (let seq = marks[mark]; position <= through; ) {
      const message = await this.#next(this.#chunkSubject(info.nuid), seq);
      if (!message)
        throw new Error(`the content ${info.name} ends at ${position} of ${info.size} bytes: it was removed meanwhile`);
      const { data } = message;
      const piece = data.subarray(Math.max(0, from - position), Math.min(data.length, through + 1 - position));
      if (piece.length > 0) yield piece;
      position += data.length;
      seq = message.seq + 1;
    }
  }

  /** A replica that lags behind may not know it yet: the leader decides. */
  #next(subject: string, seq: number): Promise<StoredMsg | null> {
    const query = { seq, next_by_subj: subject };
    const { manager } = this.#connection;
    return this.#trying(
      async () =>
        (await manager.direct.getMessage(this.#stream, query)) ??
        (await orNull(manager.streams.getMessage(this.#stream, query))),
    );
  }

  #last(subject: string): Promise<StoredMsg | null> {
    const query = { last_by_subj: subject };
    const { manager } = this.#connection;
    return this.#trying(
      async () =>
        (await manager.direct.getMessage(this.#stream, query)) ??
        (await orNull(manager.streams.getMessage(this.#stream, query))),
    );
  }

  async #publish(subject: string, payload: Uint8Array, msgID: string, messageHeaders?: MsgHdrs): Promise<number> {
    const options = { msgID, timeout: ATTEMPT_TIMEOUT_MS, ...(messageHeaders ? { headers: messageHeaders } : {}) };
    return (await this.#trying(() => this.#connection.jetstream.publish(subject, payload, options))).seq;
  }

  /** @throws PlatformError `blobs/bytes` without space, `blobs/unreachable` after some attempts. */
  async #trying<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await question();
      } catch (error) {
        if (codeOf(error) === API_ERROR.STORE_FAILED) throw refusedBy('blobs/bytes');
        if (attempt === ATTEMPTS) throw refusedBy('blobs/unreachable');
        await sleep(RETRY_MS * attempt);
      }
    }
  }
}

/** Pieces of one size; the last one has the rest. */
async function* chunksOf(content: Content): AsyncGenerator<Uint8Array> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let length = 0;
  for await (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + CHUNK_BYTES - length);
      chunk.set(taken, length);
      length += taken.length;
      at += taken.length;
      if (length < CHUNK_BYTES) continue;
      yield chunk;
      chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      length = 0;
    }
  }
  if (length > 0) yield chunk.subarray(0, length);
}

async function orNull(message: Promise<StoredMsg | null>): Promise<StoredMsg | null> {
  try {
    return await message;
  } catch (error) {
    if (codeOf(error) === API_ERROR.NO_MESSAGE) return null;
    throw error;
  }
}

/** The object store's clients write base64url with `=`. */
const withPadding = (text: string): string => text + '='.repeat((4 - (text.length % 4)) % 4);
