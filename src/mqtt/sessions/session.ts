/**
 * One session: its subscriptions, the messages on their way to the client, and the QoS 2 packet ids on their way from
 * it (MQTT 3.1.1 section 3.1.2.4, 5.0 section 4.1). It outlives its connections; it knows the one it has through
 * SessionOwner.
 */
import { holderAfter } from '../../model/sessions/holder.ts';
import type { ExpiryClock } from '../../model/sessions/expiry.ts';
import { changedMarks } from '../../model/sessions/marks.ts';
import type { MarkChange } from '../../model/sessions/marks.ts';
import { isElsewhere } from './application.ts';
import type { ClientSession, DownlinkMessage, SessionStore, StoredMessage, StoredSession } from './application.ts';
import { LIMIT } from '../wire/limits.ts';
import type { LimitName, MqttLimits } from '../wire/limits.ts';
import { REASON } from '../wire/reason-codes.ts';
import { NOT_WAITING } from './timer-wheel.ts';
import type { SessionOwner, WaitingWill } from './owner.ts';
import type { Timed } from './timer-wheel.ts';
import { hasWildcard, matchesTopic } from '../wire/topic.ts';

/** What a client builds on, and so has to become durable. */
export interface StoreChange {
  /** When it has left memory the change is dropped: what the store has goes on elsewhere. */
  readonly session: Session;
  /** For the log, as in: ... could not be stored. */
  readonly what: string;
  /** May be called again after a rejection, also when the change was carried out all the same. */
  attempt(): Promise<void>;
  /** It is durable. */
  done(): void;
}

/** What sessions share. */
export interface SessionContext {
  readonly store: SessionStore;
  /** Tries a change until the store takes it (store-changes.ts). */
  readonly changes: { carryOut(change: StoreChange): void };
  readonly limits: MqttLimits;
  /** @param session names the session in the log. */
  limitHit(limit: LimitName, reason: string, session: Session): void;
  expired(session: Session): void;
  /** It has gone on at another node, or has ended: what is here is old. */
  lost(session: Session): void;
  now(): number;
  /** By which sessions end. */
  readonly clock: ExpiryClock;
}

interface Outbound extends StoredMessage {
  readonly packetId: number;
  /** Durable, or of a session that is not stored: it may be sent. */
  isReady: boolean;
  isDuplicate: boolean;
  /** PUBREC was received: never PUBLISH again [MQTT-4.3.3-8]. */
  isReceived: boolean;
  /** That is durable, or the session is not stored: PUBREL may be sent. */
  isReleased: boolean;
  /** Dropped or removed while its addMessage was under way. */
  isGone: boolean;
}

/** A session whose time may be over is asked again after this time while the clock is not believed. */
const CLOCK_RETRY_SECONDS = 30;
const NO_MARKS: ReadonlySet<string> = new Set();
const PACKET_IDS = 65_535;
/** The length of a topic is two bytes in the packet. */
const TOPIC_BYTES_MAX = 65_535;

export class Session implements ClientSession, Timed {
  readonly tenantNumber: number;
  readonly key: string;
  wheelSlot: number = NOT_WAITING;
  owner: SessionOwner | undefined = undefined;
  /** The owner while it opens the session: it finds out itself whether what is here is old. */
  opening: SessionOwner | undefined = undefined;
  /** A reader has found out that it is old while it was opened. */
  isLost = false;
  /** Clears when the store has been read. */
  loading: Promise<void> | undefined = undefined;
  /** The client was told of it, or the store has it: a later CONNECT finds it present. */
  isEstablished = false;
  /** The store has it. */
  isDurable = false;
  /** The last save is under way. */
  saving: Promise<void> | undefined = undefined;
  /** The last save has ended, and the store took it. */
  isSaved = false;
  hasEnded = false;
  expirySeconds = 0;
  disconnectedAt = 0;
  waitingWill: WaitingWill | undefined = undefined;
  /** QoS 2 packet ids received and not released: the connection that waits for the commit, or null once durable. */
  received: Map<number, SessionOwner | null> | undefined = undefined;
  /** QoS 2 packet ids of which parts of the message are stored, and which; see StoredSession. */
  partly: Map<number, ReadonlySet<string>> | undefined = undefined;
  /**
   * Shards in which the store looks for receipts of the session (cluster), and those of packets that were received
   * here.
   */
  readonly receiptShards = new Set<number>();
  #shardsOf: Map<number, readonly number[]> | undefined = undefined;
  /** The store may have received packet ids that are not known here. */
  isUncertain = false;
  subscriptions: Map<string, 0 | 1 | 2> | undefined = undefined;
  #waiting: Outbound[] | undefined = undefined;
  #waitingBytes = 0;
  #onRoom: (() => void) | undefined = undefined;
  #inFlight: Map<number, Outbound> | undefined = undefined;
  /** QoS 2 packet ids whose PUBREL is on its way to the store, and the connection that waits for PUBCOMP. */
  #releasing: Map<number, SessionOwner | undefined> | undefined = undefined;
  /** See ClientSession. */
  #acknowledgedMarks: Set<string> | undefined = undefined;
  /** Those of the store that the next removal of a message takes along. */
  #forgottenMarks: Set<string> | undefined = undefined;
  /** Removals of messages on their way to the store. */
  #removals = 0;
  #nextId = 1;
  /** Of this object among all that have the session in memory, on any node, one after the other. */
  readonly name: string;
  /** Follows on `heldBy`. */
  holder: string;
  /** The holder whose state this one goes on from: itself once it has saved. '' = there was no session. */
  heldBy = '';
  readonly #context: SessionContext;

  constructor(context: SessionContext, { tenantNumber, key, name }: Pick<Session, 'tenantNumber' | 'key' | 'name'>) {
    this.#context = context;
    this.tenantNumber = tenantNumber;
    this.key = key;
    this.name = name;
    this.holder = holderAfter('', name, context.now());
  }

  /** @returns the holder after `former`, which this object is from now on. */
  follow(former: string): string {
    this.heldBy = former;
    this.holder = holderAfter(former, this.name, this.#context.now());
    return this.holder;
  }

  restore(stored: StoredSession): void {
    this.isEstablished = true;
    this.isDurable = true;
    this.expirySeconds = stored.expirySeconds;
    this.disconnectedAt = stored.disconnectedAt;
    if (stored.subscriptions.size > 0) this.subscriptions = new Map(stored.subscriptions);
    this.restoreReceived(stored);
    if (stored.acknowledged !== undefined && stored.acknowledged.length > 0)
      this.#acknowledgedMarks = new Set(stored.acknowledged);
    for (const message of [...stored.messages].sort((one, other) => one.id - other.id)) {
      // Whether it was sent before the restart is not known: it might be a duplicate, which is what the flag says.
      const outbound = createOutbound(message, { isReady: true, isDuplicate: true });
      if (outbound.isReleased) (this.#inFlight ??= new Map()).set(outbound.packetId, outbound);
      else this.#push(outbound);
      this.#nextId = message.id + 1;
    }
  }

  /** Packet ids that the store has; those that are under way stay so. */
  restoreReceived({
    received,
    partly,
    receiptShards = [],
  }: Pick<StoredSession, 'received' | 'partly' | 'receiptShards'>): void {
    for (const shard of receiptShards) this.receiptShards.add(shard);
    for (const packetId of received)
      if (!this.received?.has(packetId) && !this.isReleasing(packetId))
        (this.received ??= new Map()).set(packetId, null);
    this.partly = partly === undefined || partly.size === 0 ? undefined : new Map(partly);
  }

  /** The receipts of a packet are in these shards and in no others. */
  noteReceipts(packetId: number, shards: readonly number[]): void {
    (this.#shardsOf ??= new Map()).set(packetId, shards);
  }

  /** See DeviceConnection. @param waiter the connection that the message came over. */
  rejected(packetId: number, waiter: SessionOwner, mayBeStored: boolean): void {
    const waiting = this.received?.get(packetId);
    if (waiting === undefined || waiting === null) return;
    this.received!.delete(packetId);
    if (mayBeStored) this.isUncertain = true;
    // The client has come back and sent it again meanwhile: it would wait for ever.
    if (waiting !== waiter)
      waiting.disconnect(REASON.SERVER_BUSY, 'a message of an earlier connection could not be stored');
  }

  get queuedMessages(): number {
    return this.#waiting?.length ?? 0;
  }

  get inFlightMessages(): number {
    return this.#inFlight?.size ?? 0;
  }

  /** QoS 2 packet ids that the client may not use for another message. */
  get takenIdentifiers(): number {
    return (this.received?.size ?? 0) + (this.#releasing?.size ?? 0);
  }

  /** PUBREL has come for the packet id and is not durable yet. */
  isReleasing(packetId: number): boolean {
    return this.#releasing?.has(packetId) === true;
  }

  /** Whether a QoS 2 message was handed on, or its PUBREL has come, and that is not durable yet. */
  get hasPendingReceived(): boolean {
    if (this.#releasing !== undefined) return true;
    if (this.received === undefined) return false;
    for (const waiter of this.received.values()) if (waiter !== null) return true;
    return false;
  }

  /** Whether the store does not know yet what became of a message. */
  get hasPendingMessages(): boolean {
    if (this.#removals > 0 || this.#waiting?.some((outbound) => !outbound.isReady) === true) return true;
    if (this.#inFlight === undefined) return false;
    for (const { isReceived, isReleased } of this.#inFlight.values()) if (isReceived && !isReleased) return true;
    return false;
  }

  get acknowledgedMarks(): ReadonlySet<string> {
    return this.#acknowledgedMarks ?? NO_MARKS;
  }

  hasMark(mark: string): boolean {
    if (
      this.#acknowledgedMarks?.has(mark) === true ||
      this.#waiting?.some((outbound) => outbound.mark === mark) === true
    )
      return true;
    for (const outbound of this.#inFlight?.values() ?? []) if (outbound.mark === mark) return true;
    return false;
  }

  forgetMark(mark: string): void {
    if (this.#acknowledgedMarks?.delete(mark) !== true) return;
    if (this.#acknowledgedMarks.size === 0) this.#acknowledgedMarks = undefined;
    (this.#forgottenMarks ??= new Set()).add(mark);
  }

  get hasRoom(): boolean {
    const { queueMessages, queueBytes } = this.#context.limits;
    return (
      this.owner?.canSend === true && this.queuedMessages * 2 <= queueMessages && this.#waitingBytes * 2 <= queueBytes
    );
  }

  whenRoom(listener: () => void): void {
    this.#onRoom = listener;
  }

  /** @returns the highest QoS granted for the topic [MQTT-3.3.5-1], or -1 without a subscription that matches. */
  grantedQos(topic: string): number {
    if (this.subscriptions === undefined) return -1;
    let granted: number = this.subscriptions.get(topic) ?? -1;
    for (const [filter, qos] of this.subscriptions) {
      if (qos > granted && hasWildcard(filter) && matchesTopic(filter, topic)) granted = qos;
    }
    return granted;
  }

  /**
   * Sends or queues one message, in the order of the calls. QoS 0 is lost without a connection that keeps up.
   * @param message belongs to the session from now on.
   * @returns whether a subscription matches.
   * @throws RangeError for a topic that no packet can carry.
   */
  deliver(message: DownlinkMessage): boolean {
    // Checked here, because what is sent later has no caller that could be told.
    if (Buffer.byteLength(message.topic) > TOPIC_BYTES_MAX)
      throw new RangeError(`the topic has more than ${TOPIC_BYTES_MAX} bytes`);
    const granted = this.hasEnded ? -1 : this.grantedQos(message.topic);
    if (granted < 0) return false;
    const qos = Math.min(granted, message.qos) as 0 | 1 | 2;
    if (qos === 0) {
      this.owner?.sendPublish(message, 0, 0, false);
      return true;
    }
    if (this.owner === undefined && this.expirySeconds === 0) return false;
    const outbound = createOutbound(
      { ...message, id: this.#nextId++, qos },
      { isReady: !this.isDurable, isDuplicate: false },
    );
    this.#push(outbound);
    if (this.isDurable) {
      this.#context.store.addMessage(this.tenantNumber, this.key, outbound, this.holder).then(
        () => this.#added(outbound),
        (error: Error) => {
          if (isElsewhere(error)) return this.#context.lost(this);
          // Sent all the same: the client is there, only a restart would lose the message.
          this.#context.limitHit(
            LIMIT.SESSION_STORE,
            `a message to the device could not be stored: ${error.message}`,
            this,
          );
          this.#added(outbound);
        },
      );
    }
    this.#boundQueue();
    this.pump();
    return true;
  }

  /** Sends what waits, as far as the window and the connection allow. */
  pump(): void {
    this.#sendWaiting();
    const onRoom = this.#onRoom;
    if (onRoom === undefined || !this.hasRoom) return;
    this.#onRoom = undefined;
    onRoom();
  }

  #sendWaiting(): void {
    const owner = this.owner;
    if (owner === undefined || this.#waiting === undefined) return;
    while (this.#waiting.length > 0 && owner.canSend && this.inFlightMessages < owner.inFlightMax) {
      const next = this.#waiting[0];
      // Order is kept: nothing passes a message that is not durable, or whose packet id an old one still has.
      if (!next.isReady || this.#inFlight?.has(next.packetId)) return;
      this.#shift();
      if (!owner.sendPublish(next, next.qos, next.packetId, next.isDuplicate)) {
        // [MQTT-3.1.2-25] As if it had been sent.
        this.#context.limitHit(
          LIMIT.CLIENT_PACKET_BYTES,
          'a message is larger than the Maximum Packet Size of the client',
          this,
        );
        this.#forget(next);
        continue;
      }
      next.isDuplicate = true;
      (this.#inFlight ??= new Map()).set(next.packetId, next);
    }
    if (this.#waiting.length === 0) this.#waiting = undefined;
  }

  /**
   * After CONNACK: sends again what was not acknowledged, in its order [MQTT-4.4.0-1] [MQTT-4.6.0-1], then what waits.
   */
  resend(): void {
    const unreceived: Outbound[] = [];
    if (this.#inFlight !== undefined) {
      for (const outbound of this.#inFlight.values()) {
        if (outbound.isReleased) this.owner?.sendPubrel(outbound.packetId);
        else if (!outbound.isReceived) unreceived.push(outbound);
      }
    }
    for (const outbound of unreceived) {
      this.#inFlight?.delete(outbound.packetId);
      this.#waitingBytes += size(outbound);
    }
    if (unreceived.length > 0) this.#waiting = [...unreceived, ...(this.#waiting ?? [])];
    this.pump();
  }

  /** PUBACK, or PUBREC with an error code: the message is done. */
  acknowledged(packetId: number): void {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound !== undefined && !outbound.isReceived) this.#complete(outbound);
  }

  /**
   * PUBREC. @returns whether PUBREL is the answer (`release`), or the session sends it when a restart cannot bring
   * PUBLISH back (`wait`), or the packet id is not in use (`unknown`).
   */
  receivedByClient(packetId: number): 'release' | 'wait' | 'unknown' {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound === undefined || outbound.qos !== 2) return 'unknown';
    if (outbound.isReleased || !this.isDurable) {
      outbound.isReceived = true;
      outbound.isReleased = true;
      return 'release';
    }
    if (!outbound.isReceived) {
      outbound.isReceived = true;
      // With all that it has: the store may have refused the message before.
      const stored: StoredMessage = {
        id: outbound.id,
        topic: outbound.topic,
        payload: outbound.payload,
        qos: 2,
        isReleased: true,
        mark: outbound.mark,
      };
      this.#context.changes.carryOut({
        session: this,
        what: 'that the client has received a message',
        attempt: () => this.#context.store.addMessage(this.tenantNumber, this.key, stored, this.holder),
        done: () => {
          outbound.isReleased = true;
          this.owner?.sendPubrel(packetId);
        },
      });
    }
    return 'wait';
  }

  /**
   * PUBREL for an id of `received` or `partly`, or for one whose release is under way. The id is taken until that is
   * durable: a restart must not bring it back when the client uses it again.
   * @param asker is given PUBCOMP when it is durable.
   * @returns true when it is released already: a session that is not stored.
   */
  release(packetId: number, asker?: SessionOwner): boolean {
    if (this.isReleasing(packetId)) {
      this.#releasing!.set(packetId, asker);
      return false;
    }
    this.partly?.delete(packetId);
    this.forgetReceived(packetId);
    if (!this.isDurable) return true;
    (this.#releasing ??= new Map()).set(packetId, asker);
    const shards = this.#shardsOf?.get(packetId);
    this.#shardsOf?.delete(packetId);
    this.#context.changes.carryOut({
      session: this,
      what: `the release of the packet identifier ${packetId}`,
      attempt: () => this.#context.store.release(this.tenantNumber, this.key, packetId, shards, this.holder),
      done: () => this.#released(packetId),
    });
    return false;
  }

  /** A QoS 2 message was refused: nothing of it is stored. */
  forgetReceived(packetId: number): void {
    this.received?.delete(packetId);
    if (this.received?.size === 0) this.received = undefined;
  }

  /** PUBCOMP. */
  completed(packetId: number): void {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound !== undefined && outbound.isReleased) this.#complete(outbound);
  }

  due(): number {
    if (this.owner !== undefined || this.hasEnded) return 0;
    if (!this.#context.clock.isBelieved) return CLOCK_RETRY_SECONDS;
    const now = this.#context.now();
    if (this.disconnectedAt === 0) this.disconnectedAt = now;
    const remaining = this.disconnectedAt / 1_000 + this.expirySeconds - now / 1_000;
    if (remaining > 0) return remaining;
    this.#context.expired(this);
    return 0;
  }

  #released(packetId: number): void {
    const asker = this.#releasing?.get(packetId);
    this.#releasing?.delete(packetId);
    if (this.#releasing?.size === 0) this.#releasing = undefined;
    asker?.sendPubcomp(packetId);
    this.owner?.resume();
  }

  #complete(outbound: Outbound): void {
    this.#inFlight?.delete(outbound.packetId);
    if (this.#inFlight?.size === 0) this.#inFlight = undefined;
    if (outbound.mark !== undefined)
      this.#acknowledgedMarks = new Set(changedMarks(this.acknowledgedMarks, { acknowledged: outbound.mark }));
    this.#forget(outbound, outbound.mark);
    this.pump();
  }

  #added(outbound: Outbound): void {
    outbound.isReady = true;
    if (!outbound.isGone) this.pump();
  }

  /** @param acknowledged its mark when the client has acknowledged it. */
  #forget(outbound: Outbound, acknowledged?: string): void {
    outbound.isGone = true;
    if (!this.isDurable) return;
    const { store, changes, limits } = this.#context;
    const marks = this.#markChange(acknowledged);
    const attempt = (): Promise<void> =>
      store.removeMessage(this.tenantNumber, this.key, outbound.id, marks, this.holder);
    if (this.#removals >= limits.queueMessages) {
      // Not tried again: this many wait only while the store refuses, and then the newest were never stored.
      attempt().catch((error: Error) => {
        if (isElsewhere(error)) return this.#context.lost(this);
        this.#context.limitHit(
          LIMIT.SESSION_STORE,
          `an acknowledged message could not be removed: ${error.message}`,
          this,
        );
      });
      return;
    }
    this.#removals++;
    changes.carryOut({
      session: this,
      what: 'the removal of an acknowledged message',
      attempt,
      done: () => {
        this.#removals--;
      },
    });
  }

  #markChange(acknowledged: string | undefined): MarkChange | undefined {
    const over = this.#forgottenMarks;
    if (acknowledged === undefined && over === undefined) return undefined;
    this.#forgottenMarks = undefined;
    return { acknowledged, ...(over === undefined ? {} : { over: [...over] }) };
  }

  #boundQueue(): void {
    const { queueMessages, queueBytes } = this.#context.limits;
    while (this.#waiting !== undefined && (this.#waiting.length > queueMessages || this.#waitingBytes > queueBytes)) {
      const limit = this.#waiting.length > queueMessages ? LIMIT.QUEUE_MESSAGES : LIMIT.QUEUE_BYTES;
      const maximum = limit === LIMIT.QUEUE_MESSAGES ? queueMessages : queueBytes;
      const dropped = this.#shift();
      this.#forget(dropped);
      dropped.onDropped?.();
      this.#context.limitHit(limit, `the oldest message to the device was dropped, more than ${maximum} waited`, this);
      if (this.#waiting.length === 0) return;
    }
  }

  #push(outbound: Outbound): void {
    (this.#waiting ??= []).push(outbound);
    this.#waitingBytes += size(outbound);
  }

  #shift(): Outbound {
    const outbound = this.#waiting!.shift()!;
    this.#waitingBytes -= size(outbound);
    return outbound;
  }
}

/**
 * The packet id is a function of the message's id, so a message that is sent again after a restart has the packet id
 * that it had before, and a client that has received it at QoS 2 recognises it.
 */
function createOutbound(message: StoredMessage, state: { isReady: boolean; isDuplicate: boolean }): Outbound {
  return {
    id: message.id,
    topic: message.topic,
    payload: message.payload,
    qos: message.qos,
    packetId: (message.id % PACKET_IDS) + 1,
    mark: message.mark,
    onDropped: message.onDropped,
    isReady: state.isReady,
    isDuplicate: state.isDuplicate,
    isReceived: message.isReleased === true,
    isReleased: message.isReleased === true,
    isGone: false,
  };
}

function size(outbound: Outbound): number {
  return outbound.topic.length + outbound.payload.length;
}
