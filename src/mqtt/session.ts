/**
 * One session: its subscriptions, the messages on their way to the client, and the QoS 2 packet ids on their way from it
 * (MQTT 3.1.1 section 3.1.2.4, 5.0 section 4.1). It outlives its connections; it knows the one it has through SessionOwner.
 */
import type { DownlinkMessage, SessionStore, StoredMessage, StoredSession } from './application.ts';
import { LIMIT } from './limits.ts';
import type { LimitName, MqttLimits } from './limits.ts';
import { NOT_WAITING } from './timer-wheel.ts';
import type { Timed } from './timer-wheel.ts';
import { hasWildcard, matchesTopic } from './topic.ts';

/** The connection that a session has, as the session sees it. */
export interface SessionOwner {
  /** False before CONNACK, after the end, and while the client does not keep up. */
  readonly canSend: boolean;
  /** Messages of QoS 1 and 2 that may be unacknowledged: the lower of our limit and the client's Receive Maximum. */
  readonly inFlightMax: number;
  /** @returns false when the packet would exceed the client's Maximum Packet Size; then nothing was written. */
  sendPublish(message: DownlinkMessage, qos: number, packetId: number, isDuplicate: boolean): boolean;
  sendPubrel(packetId: number): void;
  /** PUBREC for a message that an earlier connection of the session had received. */
  sendPubrec(packetId: number): void;
  /** Another connection has opened the session. */
  takenOver(): void;
}

/** A will that waits for its delay after its connection has ended. */
export interface WaitingWill {
  /** The client came back: the will is not sent [MQTT-3.1.3-9]. */
  sessionContinues(): void;
  /** The session is over: the will is sent now. */
  sessionEnds(): void;
}

/** What sessions share. */
export interface SessionContext {
  readonly store: SessionStore;
  readonly limits: MqttLimits;
  /** @param session names the session in the log. */
  limitHit(limit: LimitName, reason: string, session: Session): void;
  expired(session: Session): void;
  now(): number;
}

interface Outbound extends StoredMessage {
  readonly packetId: number;
  /** Durable, or of a session that is not stored: it may be sent. */
  isReady: boolean;
  isDuplicate: boolean;
  /** PUBREC was received: PUBREL instead of PUBLISH from now on [MQTT-4.3.3-8]. */
  isReleased: boolean;
  /** Dropped or removed while its addMessage was under way. */
  isGone: boolean;
}

const PACKET_IDS = 65_535;
/** The length of a topic is two bytes in the packet. */
const TOPIC_BYTES_MAX = 65_535;

export class Session implements Timed {
  readonly tenantNumber: number;
  readonly key: string;
  wheelSlot: number = NOT_WAITING;
  owner: SessionOwner | undefined = undefined;
  /** Clears when the store has been read. */
  loading: Promise<void> | undefined = undefined;
  /** The client was told of it, or the store has it: a later CONNECT finds it present. */
  isEstablished = false;
  /** The store has it. */
  isDurable = false;
  hasEnded = false;
  expirySeconds = 0;
  disconnectedAt = 0;
  waitingWill: WaitingWill | undefined = undefined;
  /** QoS 2 packet ids received and not released: the connection that waits for the commit, or null once durable. */
  received: Map<number, SessionOwner | null> | undefined = undefined;
  subscriptions: Map<string, 0 | 1 | 2> | undefined = undefined;
  #waiting: Outbound[] | undefined = undefined;
  #waitingBytes = 0;
  #inFlight: Map<number, Outbound> | undefined = undefined;
  #nextId = 1;
  readonly #context: SessionContext;

  constructor(context: SessionContext, tenantNumber: number, key: string) {
    this.#context = context;
    this.tenantNumber = tenantNumber;
    this.key = key;
  }

  restore(stored: StoredSession): void {
    this.isEstablished = true;
    this.isDurable = true;
    this.expirySeconds = stored.expirySeconds;
    this.disconnectedAt = stored.disconnectedAt;
    if (stored.subscriptions.size > 0) this.subscriptions = new Map(stored.subscriptions);
    for (const packetId of stored.received) (this.received ??= new Map()).set(packetId, null);
    for (const message of [...stored.messages].sort((one, other) => one.id - other.id)) {
      // Whether it was sent before the restart is not known: it might be a duplicate, which is what the flag says.
      this.#push(createOutbound(message, { isReady: true, isDuplicate: true }));
      this.#nextId = message.id + 1;
    }
  }

  get queuedMessages(): number {
    return this.#waiting?.length ?? 0;
  }

  get inFlightMessages(): number {
    return this.#inFlight?.size ?? 0;
  }

  /** Whether a QoS 2 message was handed on and is not durable yet. */
  get hasPendingReceived(): boolean {
    if (this.received === undefined) return false;
    for (const waiter of this.received.values()) if (waiter !== null) return true;
    return false;
  }

  /** Whether a message is not in the store yet. */
  get hasPendingMessages(): boolean {
    return this.#waiting?.some((outbound) => !outbound.isReady) === true;
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
    if (Buffer.byteLength(message.topic) > TOPIC_BYTES_MAX) throw new RangeError(`the topic has more than ${TOPIC_BYTES_MAX} bytes`);
    const granted = this.hasEnded ? -1 : this.grantedQos(message.topic);
    if (granted < 0) return false;
    const qos = Math.min(granted, message.qos) as 0 | 1 | 2;
    if (qos === 0) {
      this.owner?.sendPublish(message, 0, 0, false);
      return true;
    }
    if (this.owner === undefined && this.expirySeconds === 0) return false;
    const outbound = createOutbound({ ...message, id: this.#nextId++, qos },
      { isReady: !this.isDurable, isDuplicate: false });
    this.#push(outbound);
    if (this.isDurable) {
      this.#context.store.addMessage(this.tenantNumber, this.key, outbound).then(() => this.#added(outbound), (error: Error) => {
        // Sent all the same: the client is there, only a restart would lose the message.
        this.#context.limitHit(LIMIT.SESSION_STORE, `a message to the device could not be stored: ${error.message}`, this);
        this.#added(outbound);
      });
    }
    this.#boundQueue();
    this.pump();
    return true;
  }

  /** Sends what waits, as far as the window and the connection allow. */
  pump(): void {
    const owner = this.owner;
    if (owner === undefined || this.#waiting === undefined) return;
    while (this.#waiting.length > 0 && owner.canSend && this.inFlightMessages < owner.inFlightMax) {
      const next = this.#waiting[0];
      // Order is kept: nothing passes a message that is not durable, or whose packet id an old one still has.
      if (!next.isReady || this.#inFlight?.has(next.packetId)) return;
      this.#shift();
      if (!owner.sendPublish(next, next.qos, next.packetId, next.isDuplicate)) {
        // [MQTT-3.1.2-25] As if it had been sent.
        this.#context.limitHit(LIMIT.CLIENT_PACKET_BYTES, 'a message is larger than the Maximum Packet Size of the client', this);
        this.#forget(next);
        continue;
      }
      next.isDuplicate = true;
      (this.#inFlight ??= new Map()).set(next.packetId, next);
    }
    if (this.#waiting.length === 0) this.#waiting = undefined;
  }

  /** After CONNACK: sends again what was not acknowledged, in its order [MQTT-4.4.0-1] [MQTT-4.6.0-1], then what waits. */
  resend(): void {
    const unreleased: Outbound[] = [];
    if (this.#inFlight !== undefined) {
      for (const outbound of this.#inFlight.values()) {
        if (outbound.isReleased) this.owner?.sendPubrel(outbound.packetId);
        else unreleased.push(outbound);
      }
    }
    for (const outbound of unreleased) {
      this.#inFlight?.delete(outbound.packetId);
      this.#waitingBytes += size(outbound);
    }
    if (unreleased.length > 0) this.#waiting = [...unreleased, ...this.#waiting ?? []];
    this.pump();
  }

  /** PUBACK, or PUBREC with an error code: the message is done. */
  acknowledged(packetId: number): void {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound !== undefined && !outbound.isReleased) this.#complete(outbound);
  }

  /** PUBREC. @returns whether PUBREL is the answer; false when the packet id is not in use. */
  receivedByClient(packetId: number): boolean {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound === undefined || outbound.qos !== 2) return false;
    outbound.isReleased = true;
    return true;
  }

  /** PUBCOMP. */
  completed(packetId: number): void {
    const outbound = this.#inFlight?.get(packetId);
    if (outbound !== undefined && outbound.isReleased) this.#complete(outbound);
  }

  due(): number {
    if (this.owner !== undefined || this.hasEnded) return 0;
    const remaining = this.disconnectedAt / 1_000 + this.expirySeconds - this.#context.now() / 1_000;
    if (remaining > 0) return remaining;
    this.#context.expired(this);
    return 0;
  }

  #complete(outbound: Outbound): void {
    this.#inFlight?.delete(outbound.packetId);
    if (this.#inFlight?.size === 0) this.#inFlight = undefined;
    outbound.onAcknowledged?.();
    this.#forget(outbound);
    this.pump();
  }

  #added(outbound: Outbound): void {
    outbound.isReady = true;
    if (!outbound.isGone) this.pump();
  }

  #forget(outbound: Outbound): void {
    outbound.isGone = true;
    if (!this.isDurable) return;
    this.#context.store.removeMessage(this.tenantNumber, this.key, outbound.id).catch((error: Error) => {
      this.#context.limitHit(LIMIT.SESSION_STORE, `an acknowledged message could not be removed: ${error.message}`, this);
    });
  }

  #boundQueue(): void {
    const { queueMessages, queueBytes } = this.#context.limits;
    while (this.#waiting !== undefined && (this.#waiting.length > queueMessages || this.#waitingBytes > queueBytes)) {
      const limit = this.#waiting.length > queueMessages ? LIMIT.QUEUE_MESSAGES : LIMIT.QUEUE_BYTES;
      const maximum = limit === LIMIT.QUEUE_MESSAGES ? queueMessages : queueBytes;
      this.#forget(this.#shift());
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
 * The packet id is a function of the message's id, so a message that is sent again after a restart has the packet id that it
 * had before, and a client that has received it at QoS 2 recognises it.
 */
function createOutbound(message: StoredMessage, state: { isReady: boolean; isDuplicate: boolean }): Outbound {
  return {
    id: message.id, topic: message.topic, payload: message.payload, qos: message.qos, packetId: message.id % PACKET_IDS + 1,
    ...(message.onAcknowledged === undefined ? {} : { onAcknowledged: message.onAcknowledged }),
    isReady: state.isReady, isDuplicate: state.isDuplicate, isReleased: false, isGone: false,
  };
}

function size(outbound: Outbound): number {
  return outbound.topic.length + outbound.payload.length;
}
