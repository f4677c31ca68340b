/**
 * Follows the messages of a JetStream stream with one filter: each once, in order, a few in memory at most, whatever is
 * restarted in between. An ephemeral pull consumer kept in the server's memory; when anything about it is doubtful (a
 * gap, silence, a new connection, a stream that has more than it gives) it is replaced by another one that begins
 * behind the last message seen.
 */
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
import type { ConsumerConfig } from '@nats-io/jetstream';
import { createInbox, nanos } from '@nats-io/nats-core';
import type { Msg, MsgHdrs, Subscription } from '@nats-io/nats-core';
import { randomBytes } from 'node:crypto';
import { seconds } from './connection.ts';
import type { NatsConnection } from './connection.ts';

export interface FollowedMessage {
  readonly subject: string;
  /** Sequence in the stream. */
  readonly seq: number;
  /** Owned by the receiver. */
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  /** Messages behind this one that are there already. */
  readonly pending: number;
}

export interface FollowOptions {
  readonly stream: string;
  readonly filter: string;
  /**
   * Begins behind this sequence; `last-per-subject`: with the newest message of each subject, and again so whenever it
   * is replaced.
   */
  readonly after: number | 'last-per-subject';
  /** Messages and bytes asked for at once; up to half as many again wait here. One message always fits. */
  readonly batch: number;
  readonly batchBytes: number;
  /** One call after the other. A rejection stops the follower and is given to `onError`. */
  readonly onMessage: (message: FollowedMessage) => void | Promise<void>;
  readonly onError: (error: Error) => void;
  /** `last-per-subject`: everything that was there has been given. */
  readonly onSnapshot?: () => void;
  /**
   * Called when a consumer said that it was alive and kept messages back. @param lastSeq the last one given. @param
   * heldSeq the newest that the stream has.
   */
  readonly onHeld?: (lastSeq: number, heldSeq: number) => void;
  /** ms without a message, after which it asks the stream for the newest one. Default 10,000. */
  readonly lookMs?: number;
  readonly name: string;
}

/** Larger than any message, so that each can be delivered within a request's bytes. */
export const FOLLOW_BYTES_MIN = 1_200 * 1024;
/** The server says so often that it is still there; without a word for the second time the consumer is replaced. */
const HEARTBEAT_MS = 1_000;
const SILENCE_MAX_MS = 3_500;
const LOOK_MS = 10_000;
const REQUEST_EXPIRES_MS = 30_000;
/** The server removes a consumer without requests after this time: one that a killed process left. */
const INACTIVE_SECONDS = 60;
const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 1_000;

export class NatsFollower {
  readonly #connection: NatsConnection;
  readonly #options: FollowOptions;
  readonly #pullRequest: Uint8Array;
  readonly #name: string;
  readonly #timer: NodeJS.Timeout;
  readonly #endReconnected: () => void;
  #queue: FollowedMessage[] = [];
  #isPumping = false;
  #isStopped = false;
  #pumped: (() => void)[] = [];
  #lastSeq: number;
  /** Grows with each consumer: what a former one sends is left out. */
  #serial = 0;
  #consumer: string | undefined;
  #subscription: Subscription | undefined;
  #delivered = 0;
  /** Messages asked for that have not come. */
  #outstanding = 0;
  #heardAt = 0;
  /** The last message, or the last look for one. */
  #givenAt = performance.now();
  /** The newest message that the stream had then. */
  #heldSeq = 0;
  #retryMs = RETRY_MIN_MS;
  #retry: NodeJS.Timeout | undefined;

  constructor(connection: NatsConnection, options: FollowOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#lastSeq = options.after === 'last-per-subject' ? 0 : options.after;
    this.#name = `${options.name}-${randomBytes(6).toString('hex')}`;
    this.#pullRequest = Buffer.from(
      JSON.stringify({
        batch: options.batch,
        max_bytes: Math.max(options.batchBytes, FOLLOW_BYTES_MIN),
        expires: nanos(REQUEST_EXPIRES_MS),
        idle_heartbeat: nanos(HEARTBEAT_MS),
      }),
    );
    this.#timer = setInterval(() => this.#checkSilence(), HEARTBEAT_MS);
    this.#endReconnected = connection.onReconnected(() => this.#replace(0));
    this.#replace(0);
  }

  /** Begins anew with `last-per-subject`: what was missed is seen. */
  again(): void {
    if (!this.#isStopped) this.#replace(0);
  }

  /** Resolves when no call of `onMessage` is under way or will come. */
  async stop(): Promise<void> {
    this.#end();
    if (this.#isPumping)
      await new Promise<void>((resolve) => {
        this.#pumped.push(resolve);
      });
  }

  #end(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#queue = [];
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#endReconnected();
    this.#forgetConsumer();
  }

  #forgetConsumer(): void {
    this.#serial += 1;
    this.#outstanding = 0;
    this.#heldSeq = 0;
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    if (this.#consumer !== undefined && this.#connection.isConnected) {
      // The server removes it by itself when no requests come.
      this.#connection.manager.consumers.delete(this.#options.stream, this.#consumer).catch(() => undefined);
    }
    this.#consumer = undefined;
  }

  /** A new consumer behind the last message that was queued, after `delayMs`. */
  #replace(delayMs: number): void {
    this.#forgetConsumer();
    clearTimeout(this.#retry);
    this.#heardAt = performance.now();
    if (this.#isStopped) return;
    this.#retry = setTimeout(() => {
      void this.#create(this.#serial);
    }, delayMs);
  }

  async #create(serial: number): Promise<void> {
    if (!this.#connection.isConnected) return;
    const { stream } = this.#options;
    const name = `${this.#name}-${serial}`;
    try {
      const info = await this.#connection.manager.consumers.add(stream, this.#config(name));
      if (serial !== this.#serial) {
        // Replaced meanwhile. When this fails, the server removes it for want of requests.
        this.#connection.manager.consumers.delete(stream, name).catch(() => undefined);
        return;
      }
      this.#consumer = name;
      this.#delivered = 0;
      this.#retryMs = RETRY_MIN_MS;
      this.#subscription = this.#connection.core.subscribe(createInbox(), {
        callback: (error, message) => this.#take(error, message, serial),
      });
      this.#pull();
      if (info.num_pending === 0) this.#options.onSnapshot?.();
    } catch {
      // No leader, not reachable, too slow: again, until it works or the follower is stopped.
      if (serial === this.#serial) this.#retryLater();
    }
  }

  #retryLater(): void {
    this.#replace(this.#retryMs);
    this.#retryMs = Math.min(RETRY_MAX_MS, this.#retryMs * 2);
  }

  #config(name: string): Partial<ConsumerConfig> {
    const isSnapshot = this.#options.after === 'last-per-subject';
    return {
      name,
      filter_subject: this.#options.filter,
      ack_policy: AckPolicy.None,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: seconds(INACTIVE_SECONDS),
      ...(isSnapshot
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#lastSeq + 1 }),
    };
  }

  #pull(): void {
    this.#outstanding = this.#options.batch;
    this.#heardAt = performance.now();
    this.#connection.core.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${this.#options.stream}.${this.#consumer}`,
      this.#pullRequest,
      { reply: this.#subscription!.getSubject() },
    );
  }

  #take(error: Error | null, message: Msg, serial: number): void {
    if (serial !== this.#serial) return;
    if (error) {
      this.#retryLater();
      return;
    }
    this.#heardAt = performance.now();
    const { reply } = message;
    if (reply === undefined || !reply.startsWith('$JS.ACK.')) {
      this.#takeStatus(message.headers?.code ?? 0);
      return;
    }
    const parts = reply.split('.');
    // `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>`, or with domain
    // and account before.
    const base = parts.length > 9 ? 4 : 2;
    const seq = Number(parts[base + 3]);
    if (Number(parts[base + 4]) !== this.#delivered + 1) {
      this.#replace(0);
      return;
    }
    this.#delivered += 1;
    this.#givenAt = performance.now();
    this.#outstanding -= 1;
    this.#lastSeq = seq;
    this.#queue.push({
      subject: message.subject,
      seq,
      data: message.data,
      headers: message.headers,
      pending: Number(parts[base + 6]),
    });
    if (!this.#isPumping) void this.#pump();
  }

  /** 100 is a heartbeat; 404, 408 and 409 end the request; 503: the consumer is deleted. */
  #takeStatus(code: number): void {
    if (code === 100) return;
    if (code === 503) {
      this.#retryLater();
      return;
    }
    this.#outstanding = 0;
    this.#pullWhenLow();
  }

  #pullWhenLow(): void {
    const isLow = this.#queue.length <= this.#options.batch / 2;
    if (isLow && this.#outstanding <= 0 && this.#consumer !== undefined && this.#connection.isConnected) this.#pull();
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.#queue.length > 0) {
        const message = this.#queue.shift()!;
        const isDone = this.#options.onMessage(message);
        if (isDone !== undefined) await isDone;
        if (this.#isStopped) break;
        if (message.pending === 0) this.#options.onSnapshot?.();
        this.#pullWhenLow();
      }
    } catch (error) {
      if (!this.#isStopped) {
        this.#end();
        this.#options.onError(error instanceof Error ? error : new Error(String(error)));
      }
    } finally {
      this.#isPumping = false;
      const pumped = this.#pumped;
      this.#pumped = [];
      for (const resolve of pumped) resolve();
    }
  }

  #checkSilence(): void {
    if (!this.#connection.isConnected || this.#consumer === undefined || this.#outstanding <= 0) return;
    const now = performance.now();
    if (now - this.#heardAt > SILENCE_MAX_MS) this.#replace(0);
    else if (this.#heldSeq > this.#lastSeq) {
      this.#options.onHeld?.(this.#lastSeq, this.#heldSeq);
      this.#replace(0);
    } else if (now - this.#givenAt > (this.#options.lookMs ?? LOOK_MS)) {
      this.#givenAt = now;
      void this.#lookBehind(this.#serial);
    }
  }

  /**
   * Heartbeats say that a consumer is there, not that it gives all. Of several subjects the newest message tells nothing;
   * those are read anew now and then.
   */
  async #lookBehind(serial: number): Promise<void> {
    const { stream, filter, after } = this.#options;
    if (after === 'last-per-subject') return;
    try {
      const newest = await this.#connection.manager.streams.getMessage(stream, { last_by_subj: filter });
      // It may be on its way: the next check tells.
      if (serial === this.#serial && newest !== null) this.#heldSeq = newest.seq;
    } catch {
      // The subject is empty, or no server answers: it looks again later.
    }
  }
}
