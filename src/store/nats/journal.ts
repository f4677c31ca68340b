/**
 * The cluster's journal on JetStream: one stream for all shards, a subject and one message per group. See docs/internals/nats.md.
 */
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { StoredMsg, StreamState } from '@nats-io/jetstream';
import { headers, PermissionViolationError } from '@nats-io/nats-core';
import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { GROUP_BYTES_MAX } from '../../model/commands/group-bounds.ts';
import { GROUP_RECORDS_MAX, JournalUnavailable } from '../../ports/cluster/journal.ts';
import type { ShardFollower, ShardGroup, ShardJournal } from '../../ports/cluster/journal.ts';
import { SHARD_COUNT } from '../../ingest/journal/command-record.ts';
import type { Log } from '../../ports/log.ts';
import { API_ERROR, codeOf } from './api-errors.ts';
import { API_TIMEOUT_MS, seconds, sleep } from './connection.ts';
import type { NatsConnection } from './connection.ts';
import { FOLLOW_BYTES_MIN, NatsFollower } from './follower.ts';
import type { FollowedMessage } from './follower.ts';

export interface NatsJournalOptions {
  readonly connection: NatsConnection;
  /** Begins the stream's name and its subjects, so that several clusters share one NATS. */
  readonly prefix: string;
  /** Of this node; written into each group. */
  readonly nodeId: string;
  readonly replicas: number;
  /** JetStream refuses more than this, over all shards. */
  readonly maxBytes: number;
  readonly log: Log;
  /** How long an append is repeated before it fails. */
  readonly appendTimeoutMs?: number;
  /** A shard is trimmed at most so often; what comes in between is done then. */
  readonly trimIntervalMs?: number;
}

const APPEND_TIMEOUT_MS = 10_000;
/** One attempt of an append; longer than a healthy cluster needs under load, shorter than an election. */
const ATTEMPT_TIMEOUT_MS = 2_000;
const RETRY_MS = 100;
/** JetStream remembers ids of messages this long: longer than any append is repeated. */
const DUPLICATE_WINDOW_SECONDS = 120;
const SIZE_INTERVAL_MS = 1_000;
/**
 * A purge by subject reads all that is kept of the stream: about 2 ms of the server with 50 MB, 0.5 s with 2 GB
 * (docs/internals/nats.md).
 */
const TRIM_INTERVAL_MS = 5_000;
/** Groups that a follower asks for at once; 64 followers with large groups stay below 100 MiB. */
const FOLLOW_BATCH = 16;

const GATEWAY_HEADER = 'Millrace-Gateway';
const RECORDS_HEADER = 'Millrace-Records';
const ID_HEADER = 'Nats-Msg-Id';
const EXPECTED_STREAM_HEADER = 'Nats-Expected-Stream';

/** Codes of JetStream's API: account or server is full. */
const RESOURCE_CODES: ReadonlySet<number> = new Set([10002, 10023, 10028, 10047]);

interface PubAck {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/**
 * The stream takes so much more than the setting: nodes see its size once a second and push back by then, and what
 * frees the journal (retention, follow-ups) still has room.
 */
export const JOURNAL_SPARE_BYTES = 256 * 1_048_576;
/** Limits that `JournalUnavailable.message` and `unavailable` name. */
const LIMIT = {
  BYTES: 'journal/bytes',
  STORAGE: 'journal/storage',
  PERMISSION: 'journal/permission',
  UNREACHABLE: 'journal/unreachable',
} as const;

export class NatsJournal implements ShardJournal {
  sizeBytes = 0;
  /**
   * ms since 1970, by JetStream's clock: of the newest batch when the journal was opened; undefined when there was
   * none.
   */
  timeAtOpening: number | undefined;
  readonly #options: NatsJournalOptions;
  readonly #connection: NatsConnection;
  readonly #stream: string;
  readonly #timer: NodeJS.Timeout;
  #refusedBy: string | undefined;
  /** The user of NATS may not write to the journal. Asked for at the start, and each second until he may. */
  #isForbidden = false;
  #isAnswering = true;
  /** `performance.now()` of the newest group that JetStream has stored: by then it answered. */
  #storedAt = Number.NEGATIVE_INFINITY;
  #isRefreshing = false;
  /** By shard: when it was trimmed last, and the stream's sequence up to which it is wanted since. */
  readonly #trimmedAt = new Map<number, number>();
  readonly #trims = new Map<number, number>();
  #isTrimming = false;

  private constructor(options: NatsJournalOptions) {
    this.#options = options;
    this.#connection = options.connection;
    this.#stream = `${options.prefix.toUpperCase()}_JOURNAL`;
    this.#timer = setInterval(() => {
      void this.#refresh();
      void this.#trimDue();
    }, SIZE_INTERVAL_MS);
  }

  /** Makes the stream when there is none, and changes its bounds and replicas to the settings. */
  static async open(options: NatsJournalOptions): Promise<NatsJournal> {
    await options.connection.ensureStream({
      name: `${options.prefix.toUpperCase()}_JOURNAL`,
      subjects: [`${options.prefix}.j.*`],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: options.replicas,
      max_bytes: options.maxBytes,
      duplicate_window: seconds(DUPLICATE_WINDOW_SECONDS),
      allow_direct: true,
      deny_delete: true,
    });
    const journal = new NatsJournal(options);
    const state = await journal.#refresh();
    if (state !== undefined && state.messages > 0) journal.timeAtOpening = Date.parse(state.last_ts);
    await journal.#askPermission();
    return journal;
  }

  get unavailable(): string | undefined {
    if (!this.#connection.isConnected || !this.#isAnswering) return LIMIT.UNREACHABLE;
    return this.#isForbidden ? LIMIT.PERMISSION : this.#refusedBy;
  }

  async append(shard: number, groupId: string, records: Buffer, recordCount: number): Promise<number> {
    if (recordCount < 1 || recordCount > GROUP_RECORDS_MAX || records.length > GROUP_BYTES_MAX) {
      throw new RangeError(
        `a group of ${recordCount} records with ${records.length} bytes; it takes ${GROUP_RECORDS_MAX} with ${GROUP_BYTES_MAX}`,
      );
    }
    const subject = this.#subject(shard);
    const messageHeaders = headers();
    messageHeaders.set(ID_HEADER, groupId);
    messageHeaders.set(GATEWAY_HEADER, this.#options.nodeId);
    messageHeaders.set(RECORDS_HEADER, String(recordCount));
    const deadline = performance.now() + (this.#options.appendTimeoutMs ?? APPEND_TIMEOUT_MS);
    let reason: unknown;
    for (let leftMs = deadline - performance.now(); leftMs > 0; leftMs = deadline - performance.now()) {
      try {
        const seq = this.#connection.isConnected
          ? await this.#publish(subject, records, messageHeaders, Math.min(leftMs, ATTEMPT_TIMEOUT_MS))
          : 0;
        if (seq > 0) {
          this.#storedAt = performance.now();
          this.#isAnswering = true;
          return seq * GROUP_RECORDS_MAX;
        }
      } catch (error) {
        if (error instanceof JournalUnavailable) {
          this.#refusedBy = error.message;
          throw error;
        }
        if (isPermission(error)) {
          this.#isForbidden = true;
          throw new JournalUnavailable(LIMIT.PERMISSION, { cause: error });
        }
        reason = error;
      }
      await this.#connectedOr(Math.min(RETRY_MS, leftMs));
    }
    throw new JournalUnavailable(LIMIT.UNREACHABLE, { cause: reason });
  }

  follow(
    shard: number,
    afterSeq: number,
    onGroup: (group: ShardGroup) => void | Promise<void>,
    onError: (error: Error) => void,
  ): ShardFollower {
    return new NatsFollower(this.#connection, {
      stream: this.#stream,
      filter: this.#subject(shard),
      // The message that holds `afterSeq` is asked for as well: only its header tells whether it ends there.
      after: Math.max(0, Math.floor(afterSeq / GROUP_RECORDS_MAX) - 1),
      batch: FOLLOW_BATCH,
      batchBytes: FOLLOW_BYTES_MIN,
      name: `${this.#options.nodeId}-${shard}`,
      onMessage: (message) => {
        const group = groupOf(shard, message);
        return group.lastSeq > afterSeq ? onGroup(group) : undefined;
      },
      onError,
      onHeld: (lastSeq, heldSeq) =>
        this.#options.log.warn(
          { shard, lastSeq, heldSeq },
          'a consumer of the journal kept messages back; it is replaced',
        ),
    });
  }

  async read(shard: number, seq: number): Promise<ShardGroup | undefined> {
    for (let from = Math.max(1, Math.floor(seq / GROUP_RECORDS_MAX)); ; ) {
      const message = await this.#nextOf(this.#subject(shard), from);
      if (!message) return undefined;
      const group = groupOf(shard, { seq: message.seq, data: message.data, headers: message.header });
      if (group.lastSeq >= seq) return group;
      from = message.seq + 1;
    }
  }

  async lastSeq(shard: number): Promise<number> {
    const message = await this.#ask(() =>
      this.#connection.manager.streams.getMessage(this.#stream, { last_by_subj: this.#subject(shard) }),
    );
    return message ? message.seq * GROUP_RECORDS_MAX + recordsOf(message.header) - 1 : 0;
  }

  /**
   * The group that holds `seq` stays, so that the newest of a shard is always there for `lastSeq`. Done when it
   * resolves, or within the interval when the shard was trimmed just now.
   */
  async trim(shard: number, seq: number): Promise<void> {
    const subject = this.#subject(shard);
    const holder = Math.floor(seq / GROUP_RECORDS_MAX);
    // JetStream takes 0 and 1 for everything.
    if (holder <= 1) return;
    const now = performance.now();
    if (
      now - (this.#trimmedAt.get(shard) ?? Number.NEGATIVE_INFINITY) <
      (this.#options.trimIntervalMs ?? TRIM_INTERVAL_MS)
    ) {
      this.#trims.set(shard, Math.max(holder, this.#trims.get(shard) ?? 0));
      return;
    }
    this.#trimmedAt.set(shard, now);
    await this.#ask(() => this.#connection.manager.streams.purge(this.#stream, { filter: subject, seq: holder }));
  }

  /** Ends the refreshing of `sizeBytes` and trims that were put off. Followers are stopped by who began them. */
  close(): void {
    clearInterval(this.#timer);
  }

  #subject(shard: number): string {
    if (!(shard >= 0 && shard < SHARD_COUNT)) throw new RangeError(`unknown shard ${shard}`);
    return `${this.#options.prefix}.j.${shard}`;
  }

  /**
   * One attempt. @returns the stream's sequence, or 0 when the group is on its way: a former copy is known but not yet
   * stored by all.
   * @throws JournalUnavailable when JetStream refuses; anything else: it is unknown whether it is stored.
   */
  async #publish(subject: string, records: Buffer, messageHeaders: MsgHdrs, timeoutMs: number): Promise<number> {
    const answer = await this.#request(subject, records, messageHeaders, timeoutMs);
    const ack = JSON.parse(answer.string()) as PubAck;
    if (ack.error === undefined) return ack.seq ?? 0;
    const { err_code: code = 0, description = '' } = ack.error;
    const cause = new Error(`JetStream: ${description} (${code})`);
    if (code === API_ERROR.STORE_FAILED && description.includes('maximum bytes'))
      throw new JournalUnavailable(LIMIT.BYTES, { cause });
    if (RESOURCE_CODES.has(code) || (code === API_ERROR.STORE_FAILED && /resource|space/.test(description))) {
      this.#options.log.error({ err: cause }, 'JetStream has no storage left for the journal');
      throw new JournalUnavailable(LIMIT.STORAGE, { cause });
    }
    throw cause;
  }

  /** A request that does not wait for its time to be over when the connection was lost meanwhile. */
  #request(subject: string, payload: Uint8Array, messageHeaders: MsgHdrs, timeout: number): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const endReconnected = this.#connection.onReconnected(() => {
        reject(new Error('the connection to NATS was lost'));
      });
      this.#connection.core
        .request(subject, payload, { headers: messageHeaders, timeout })
        .then(resolve, reject)
        .finally(endReconnected);
    });
  }

  /** Resolves after `ms`; without a connection as soon as it is back. */
  async #connectedOr(ms: number): Promise<void> {
    let endReconnected: (() => void) | undefined;
    await Promise.race([
      sleep(ms),
      new Promise<void>((resolve) => {
        endReconnected = this.#connection.onReconnected(resolve);
      }),
    ]);
    endReconnected?.();
  }

  /**
   * By direct get from any replica; one that lags behind knows nothing of the newest, so that only the leader may say
   * that there is none.
   */
  async #nextOf(subject: string, seq: number): Promise<StoredMsg | undefined> {
    const query = { seq, next_by_subj: subject };
    const message = await this.#ask(() => this.#connection.manager.direct.getMessage(this.#stream, query));
    return message ?? this.#ask(() => this.#connection.manager.streams.getMessage(this.#stream, query));
  }

  /** @throws JournalUnavailable when JetStream does not answer within the time of an append. */
  async #ask<Answer>(question: () => Promise<Answer | null>): Promise<Answer | undefined> {
    const deadline = performance.now() + (this.#options.appendTimeoutMs ?? APPEND_TIMEOUT_MS);
    for (;;) {
      try {
        return (await question()) ?? undefined;
      } catch (error) {
        if (codeOf(error) === API_ERROR.NO_MESSAGE) return undefined;
        if (performance.now() + RETRY_MS > deadline) throw new JournalUnavailable(LIMIT.UNREACHABLE, { cause: error });
        await sleep(RETRY_MS);
      }
    }
  }

  /** The trims that were put off and whose time has come, one after the other. */
  async #trimDue(): Promise<void> {
    if (this.#isTrimming || !this.#connection.isConnected) return;
    this.#isTrimming = true;
    const intervalMs = this.#options.trimIntervalMs ?? TRIM_INTERVAL_MS;
    for (const [shard, holder] of [...this.#trims]) {
      if (performance.now() - this.#trimmedAt.get(shard)! < intervalMs) continue;
      this.#trims.delete(shard);
      await this.trim(shard, holder * GROUP_RECORDS_MAX).catch((error: unknown) => {
        this.#options.log.warn({ err: error, shard }, 'the journal of a shard could not be trimmed');
      });
    }
    this.#isTrimming = false;
  }

  /** Stores nothing: JetStream refuses what names another stream than the one of the subject. */
  async #askPermission(): Promise<void> {
    const messageHeaders = headers();
    messageHeaders.set(EXPECTED_STREAM_HEADER, `no-${this.#stream}`);
    try {
      await this.#connection.core.request(this.#subject(0), '', {
        headers: messageHeaders,
        timeout: ATTEMPT_TIMEOUT_MS,
      });
      this.#isForbidden = false;
    } catch (error) {
      // Anything else says nothing about it.
      if (!isPermission(error)) return;
      if (!this.#isForbidden)
        this.#options.log.error({ err: error }, 'the user of NATS may not write to the journal: see millrace doctor');
      this.#isForbidden = true;
    }
  }

  async #refresh(): Promise<StreamState | undefined> {
    if (this.#isRefreshing || !this.#connection.isConnected) return undefined;
    this.#isRefreshing = true;
    const askedAt = performance.now();
    // A limit that was hit is believed until the next refresh; the append after it finds out whether it is still so.
    this.#refusedBy = undefined;
    try {
      const { state } = await this.#connection.manager.streams.info(this.#stream);
      this.sizeBytes = state.bytes;
      this.#isAnswering = true;
      if (this.#isForbidden) await this.#askPermission();
      return state;
    } catch (error) {
      // The answer is late, and groups are stored all the same.
      if (this.#storedAt > askedAt) return undefined;
      if (this.#isAnswering)
        this.#options.log.warn({ err: error, timeoutMs: API_TIMEOUT_MS }, 'JetStream does not answer');
      this.#isAnswering = false;
      return undefined;
    } finally {
      this.#isRefreshing = false;
    }
  }
}

/** A request wraps it. */
const isPermission = (error: unknown): boolean =>
  error instanceof PermissionViolationError ||
  (error instanceof Error && error.cause instanceof PermissionViolationError);

function recordsOf(messageHeaders: MsgHdrs | undefined): number {
  const count = Number(messageHeaders?.get(RECORDS_HEADER));
  if (!(count >= 1 && count <= GROUP_RECORDS_MAX))
    throw new Error("a message in the journal's stream is not a group: another program writes to its subjects");
  return count;
}

function groupOf(
  shard: number,
  { seq, data, headers: messageHeaders }: Pick<FollowedMessage, 'seq' | 'data' | 'headers'>,
): ShardGroup {
  const firstSeq = seq * GROUP_RECORDS_MAX;
  return {
    shard,
    firstSeq,
    lastSeq: firstSeq + recordsOf(messageHeaders) - 1,
    gateway: messageHeaders!.get(GATEWAY_HEADER),
    records: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  };
}
