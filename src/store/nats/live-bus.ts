/**
 * The live bus over all nodes. Listeners of this node are called at once; what others listen to goes out once per turn
 * of the event loop, as one message of NATS core per tenant and area. Nodes tell each other what they listen to, so
 * that nothing is made or sent without a subscriber. It stores nothing: what cannot be sent is dropped, counted and logged.
 */
import type { Subscription } from '@nats-io/nats-core';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { LiveBus, Notification } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { InProcessLiveBus } from '../../realtime/bus/live-bus.ts';
import type { NatsConnection } from './connection.ts';

type Area = Notification['area'];
type Listener = (notification: Notification) => void;

const AREAS: readonly Area[] = ['measurements', 'events', 'alarms', 'managedobjects', 'operations'];
const ACTIONS: readonly Notification['action'][] = ['CREATE', 'UPDATE', 'DELETE'];
/** Beside the number of the action. */
const UNSTORED = 0x80;
const AREA_NUMBERS = new Map<Area, number>(AREAS.map((area, index) => [area, index]));

/** Nodes repeat what they listen to; who is not heard for the longer time listens to nothing. */
const INTEREST_INTERVAL_MS = 1_000;
const INTEREST_EXPIRES_MS = 5_000;
/** A node with more (tenant, area) pairs than this says that it listens to everything. */
const INTEREST_KEYS_MAX = 20_000;
const INTEREST = 'live-interest';
const ASK = 'live-ask';

/** A batch is sent when another notification would make it larger. */
const BATCH_BYTES_MAX = 512 * 1024;
const BATCH_BYTES_FIRST = 4 * 1024;
/** Collected or sent and not yet taken by the server: beyond it notifications are dropped. */
const OUTGOING_BYTES_MAX = 8 * 1024 * 1024;
/** Headers and subject, for the largest message. */
const MESSAGE_SPARE_BYTES = 1_024;
const LOG_INTERVAL_MS = 10_000;
/** In a batch, before each notification: action (and whether it is stored), bytes of the source, bytes of the text. */
const HEAD_BYTES = 1 + 2 + 4;

const DROPPED = 'live-bus/dropped';
const TOO_LARGE = 'live-bus/too-large';

interface Batch {
  bytes: Buffer;
  length: number;
  count: number;
}
interface RemoteNode {
  readonly keys: Set<number>;
  readonly isAll: boolean;
  heardAt: number;
}
interface InterestMessage {
  readonly all?: readonly number[] | '*';
  readonly add?: number;
  readonly remove?: number;
}

const keyOf = (tenant: number, area: Area): number => tenant * 8 + AREA_NUMBERS.get(area)!;

export class NatsLiveBus implements LiveBus {
  readonly #connection: NatsConnection;
  readonly #messages: NodeMessages;
  readonly #prefix: string;
  readonly #log: Log;
  readonly #refusals: Refusals;
  readonly #local: InProcessLiveBus;
  /** Listeners of this node by key, and the subscription at NATS that they share. */
  readonly #counts = new Map<number, { count: number; readonly subscription: Subscription }>();
  readonly #nodes = new Map<string, RemoteNode>();
  /** How many other nodes listen to a key, and how many to everything. */
  readonly #remote = new Map<number, number>();
  #remoteAll = 0;
  readonly #batches = new Map<number, Batch>();
  #isScheduled = false;
  #collectedBytes = 0;
  #unconfirmedBytes = 0;
  #isConfirming = false;
  #droppedCount = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    connection: NatsConnection;
    messages: NodeMessages;
    prefix: string;
    log: Log;
    refusals: Refusals;
  }) {
    this.#connection = options.connection;
    this.#messages = options.messages;
    this.#prefix = options.prefix;
    this.#log = options.log;
    this.#refusals = options.refusals;
    this.#local = new InProcessLiveBus({ log: options.log });
    this.#messages.listen(INTEREST, (payload, from) => this.#takeInterest(payload, from));
    this.#messages.listen(ASK, (_, from) => {
      if (from !== this.#messages.nodeId && !this.#isClosed) this.#messages.send(from, INTEREST, this.#interest());
    });
    const introduce = (): void => {
      if (this.#isClosed) return;
      this.#messages.broadcast(ASK, Buffer.alloc(0));
      this.#messages.broadcast(INTEREST, this.#interest());
    };
    this.#messages.onReconnected(introduce);
    introduce();
    this.#timer = setInterval(() => this.#repeat(), INTEREST_INTERVAL_MS);
  }

  /** On this node or on another. */
  hasSubscribers(tenant: number, area: Area): boolean {
    return this.#local.hasSubscribers(tenant, area) || this.#isRemote(keyOf(tenant, area));
  }

  publish(notification: Notification): void {
    const key = keyOf(notification.tenant, notification.area);
    if (!this.#isRemote(key)) {
      this.#local.publish(notification);
      return;
    }
    const shared = new SharedNotification(notification);
    this.#local.publish(shared);
    this.#collect(key, shared);
  }

  subscribe(tenant: number, area: Area, listener: Listener): () => void {
    const key = keyOf(tenant, area);
    const end = this.#local.subscribe(tenant, area, listener);
    const known = this.#counts.get(key);
    if (known) {
      known.count += 1;
    } else {
      const subscription = this.#connection.core.subscribe(this.#subject(key), {
        callback: (error, message) => {
          if (error) this.#log.error({ err: error, tenant, area }, 'the live bus cannot be received from other nodes');
          else this.#deliver(tenant, area, message.data);
        },
      });
      this.#counts.set(key, { count: 1, subscription });
      this.#announce({ add: key });
    }
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      end();
      this.#unsubscribe(key);
    };
  }

  /** Ends what it has at NATS; listeners of this node still get what this node publishes. */
  close(): void {
    if (this.#isClosed) return;
    this.#announce({ all: [] });
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { subscription } of this.#counts.values()) subscription.unsubscribe();
    this.#counts.clear();
    this.#nodes.clear();
    this.#remote.clear();
    this.#remoteAll = 0;
  }

  #subject(key: number): string {
    return `${this.#prefix}.live.${Math.floor(key / 8)}.${AREAS[key % 8]}`;
  }

  #unsubscribe(key: number): void {
    const known = this.#counts.get(key);
    if (!known) return;
    known.count -= 1;
    if (known.count > 0) return;
    known.subscription.unsubscribe();
    this.#counts.delete(key);
    this.#announce({ remove: key });
  }

  // Who listens

  #isRemote(key: number): boolean {
    return this.#remoteAll > 0 || this.#remote.has(key);
  }

  #announce(message: InterestMessage): void {
    if (!this.#isClosed) this.#messages.broadcast(INTEREST, Buffer.from(JSON.stringify(message)));
  }

  #interest(): Uint8Array {
    const all = this.#counts.size > INTEREST_KEYS_MAX ? '*' : [...this.#counts.keys()];
    return Buffer.from(JSON.stringify({ all } satisfies InterestMessage));
  }

  #repeat(): void {
    this.#messages.broadcast(INTEREST, this.#interest());
    const now = performance.now();
    for (const [nodeId, { heardAt }] of this.#nodes)
      if (now - heardAt > INTEREST_EXPIRES_MS) this.#setNode(nodeId, [], false);
  }

  #takeInterest(payload: Uint8Array, from: string): void {
    if (from === this.#messages.nodeId || this.#isClosed) return;
    let message: InterestMessage;
    try {
      message = JSON.parse(Buffer.from(payload).toString()) as InterestMessage;
    } catch (error) {
      this.#log.warn({ err: error, from }, 'the subscriptions of a node could not be read');
      return;
    }
    if (message.all !== undefined) {
      this.#setNode(from, message.all === '*' ? [] : message.all, message.all === '*');
      return;
    }
    let node = this.#nodes.get(from);
    if (!node) {
      node = { keys: new Set(), isAll: false, heardAt: 0 };
      this.#nodes.set(from, node);
    }
    node.heardAt = performance.now();
    if (message.add !== undefined && !node.keys.has(message.add)) {
      node.keys.add(message.add);
      this.#remote.set(message.add, (this.#remote.get(message.add) ?? 0) + 1);
    }
    if (message.remove !== undefined && node.keys.delete(message.remove)) this.#less(message.remove);
  }

  #setNode(nodeId: string, keys: readonly number[], isAll: boolean): void {
    const known = this.#nodes.get(nodeId);
    if (known) {
      for (const key of known.keys) this.#less(key);
      if (known.isAll) this.#remoteAll -= 1;
    }
    this.#nodes.delete(nodeId);
    if (keys.length === 0 && !isAll) return;
    const node = { keys: new Set(keys), isAll, heardAt: performance.now() };
    this.#nodes.set(nodeId, node);
    for (const key of node.keys) this.#remote.set(key, (this.#remote.get(key) ?? 0) + 1);
    if (isAll) this.#remoteAll += 1;
  }

  #less(key: number): void {
    const count = (this.#remote.get(key) ?? 0) - 1;
    if (count > 0) this.#remote.set(key, count);
    else this.#remote.delete(key);
  }

  // Sending

  #collect(key: number, notification: Notification): void {
    if (!this.#connection.isConnected) {
      this.#drop(DROPPED, notification);
      return;
    }
    const text = notification.text();
    const sourceBytes = Buffer.byteLength(notification.source);
    const textBytes = Buffer.byteLength(text);
    const size = HEAD_BYTES + sourceBytes + textBytes;
    if (size > this.#connection.payloadBytesMax - MESSAGE_SPARE_BYTES || sourceBytes > 0xffff) {
      this.#drop(TOO_LARGE, notification);
      return;
    }
    if (this.#collectedBytes + this.#unconfirmedBytes + size > OUTGOING_BYTES_MAX) {
      this.#drop(DROPPED, notification);
      return;
    }
    let batch = this.#batches.get(key);
    if (batch && batch.length + size > BATCH_BYTES_MAX) {
      this.#send(key, batch);
      batch = undefined;
    }
    if (!batch) {
      batch = { bytes: Buffer.allocUnsafe(Math.max(BATCH_BYTES_FIRST, size)), length: 0, count: 0 };
      this.#batches.set(key, batch);
    }
    if (batch.length + size > batch.bytes.length) grow(batch, size);
    let at = batch.bytes.writeUInt8(
      ACTIONS.indexOf(notification.action) | (notification.isUnstored === true ? UNSTORED : 0),
      batch.length,
    );
    at = batch.bytes.writeUInt16LE(sourceBytes, at);
    at = batch.bytes.writeUInt32LE(textBytes, at);
    at += batch.bytes.write(notification.source, at);
    batch.length = at + batch.bytes.write(text, at);
    batch.count += 1;
    this.#collectedBytes += size;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#sendAll());
  }

  #sendAll(): void {
    this.#isScheduled = false;
    for (const [key, batch] of this.#batches) this.#send(key, batch);
  }

  #send(key: number, batch: Batch): void {
    this.#batches.delete(key);
    this.#collectedBytes -= batch.length;
    if (!this.#connection.isConnected) {
      this.#drop(DROPPED, undefined, batch.count);
      return;
    }
    this.#connection.core.publish(this.#subject(key), batch.bytes.subarray(0, batch.length));
    this.#unconfirmedBytes += batch.length;
    if (!this.#isConfirming) void this.#confirm();
  }

  /** The server answers a PING when it has taken what was sent before: until then it counts as outgoing. */
  async #confirm(): Promise<void> {
    this.#isConfirming = true;
    while (this.#unconfirmedBytes > 0) {
      const bytes = this.#unconfirmedBytes;
      try {
        await this.#connection.core.flush();
        this.#unconfirmedBytes -= bytes;
      } catch {
        // The connection is lost, and what was under way with it.
        this.#unconfirmedBytes = 0;
      }
    }
    this.#isConfirming = false;
  }

  #drop(limit: string, notification: Notification | undefined, count = 1): void {
    for (let index = 0; index < count; index += 1) this.#refusals.count(limit, { tenant: notification?.tenant });
    this.#droppedCount += count;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#log.warn(
      {
        limit,
        dropped: this.#droppedCount,
        tenant: notification?.tenant,
        area: notification?.area,
        isConnected: this.#connection.isConnected,
      },
      'notifications for other nodes are dropped',
    );
    this.#loggedAt = now;
    this.#droppedCount = 0;
  }

  #deliver(tenant: number, area: Area, data: Uint8Array): void {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    for (let at = 0; at < bytes.length; ) {
      if (at + HEAD_BYTES > bytes.length) return this.#noteUnreadable(tenant, area);
      const action = ACTIONS[bytes[at] & ~UNSTORED] as Notification['action'] | undefined;
      const textAt = at + HEAD_BYTES + bytes.readUInt16LE(at + 1);
      const end = textAt + bytes.readUInt32LE(at + 3);
      if (action === undefined || end > bytes.length) return this.#noteUnreadable(tenant, area);
      const source = bytes.toString('utf8', at + HEAD_BYTES, textAt);
      this.#local.publish(
        new ReceivedNotification(
          { tenant, area, action, source, isUnstored: (bytes[at] & UNSTORED) !== 0 },
          bytes.subarray(textAt, end),
        ),
      );
      at = end;
    }
  }

  #noteUnreadable(tenant: number, area: Area): void {
    this.#log.error({ tenant, area }, 'a message of the live bus could not be read: nodes of different versions?');
  }
}

function grow(batch: Batch, size: number): void {
  const larger = Buffer.allocUnsafe(Math.max(batch.bytes.length * 2, batch.length + size));
  batch.bytes.copy(larger, 0, 0, batch.length);
  batch.bytes = larger;
}

/** For listeners here and elsewhere: its text is made once. */
class SharedNotification implements Notification {
  readonly tenant: number;
  readonly area: Area;
  readonly source: string;
  readonly action: Notification['action'];
  readonly isUnstored: boolean;
  readonly #original: Notification;
  #text: string | undefined;

  constructor(original: Notification) {
    this.tenant = original.tenant;
    this.area = original.area;
    this.source = original.source;
    this.action = original.action;
    this.isUnstored = original.isUnstored === true;
    this.#original = original;
  }

  text(): string {
    return (this.#text ??= this.#original.text());
  }
}

class ReceivedNotification implements Notification {
  readonly tenant: number;
  readonly area: Area;
  readonly source: string;
  readonly action: Notification['action'];
  readonly isUnstored: boolean;
  readonly #bytes: Buffer;
  #text: string | undefined;

  constructor(head: Omit<Notification, 'text'>, bytes: Buffer) {
    this.tenant = head.tenant;
    this.area = head.area;
    this.source = head.source;
    this.action = head.action;
    this.isUnstored = head.isUnstored === true;
    this.#bytes = bytes;
  }

  text(): string {
    return (this.#text ??= this.#bytes.toString());
  }
}
