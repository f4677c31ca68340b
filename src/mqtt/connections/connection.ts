/**
 * One connection, from the transport's bytes to the application's link and back. Packets are handled in order; when
 * they cannot be (CONNECT is being checked, the platform is busy, the client does not read), what has arrived is held
 * and reading stops. What a packet means is in the file of its type.
 */
import { AcknowledgementTimes } from './acknowledgement-times.ts';
import type { DeviceConnection, DeviceLink, DownlinkMessage, Refusal } from '../sessions/application.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refused } from '../../ports/refusals.ts';
import type { SharedContext } from './context.ts';
import { earlyConnack } from '../transports/early-bytes.ts';
import { encodeDisconnect, encodePublish, encodeRefusal } from '../wire/encoder.ts';
import { LENGTH_INCOMPLETE, LENGTH_MALFORMED, PACKET_TYPE, packetLength } from '../wire/fixed-header.ts';
import { HeldBytes } from '../transports/held-bytes.ts';
import { LIMIT } from '../wire/limits.ts';
import { PacketError } from '../wire/packet-error.ts';
import { SCAN } from '../wire/publish-scanner.ts';
import type { RateBucket } from './rate-bucket.ts';
import { REASON } from '../wire/reason-codes.ts';
import { scanError } from '../wire/scan-error.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionOwner } from '../sessions/owner.ts';
import type { SmallOutput } from '../transports/small-output.ts';
import { NOT_WAITING, type Timed } from '../sessions/timer-wheel.ts';
import type { Transport, TransportListener } from '../transports/transport.ts';
import type { Will } from '../sessions/will.ts';

export const STATE = {
  AWAITING_CONNECT: 0,
  /** CONNECT has arrived and is being checked. */
  CONNECTING: 1,
  OPEN: 2,
  /** Everything is written; the transport is closing. */
  ENDING: 3,
  GONE: 4,
} as const;
export type State = (typeof STATE)[keyof typeof STATE];

/** Why packets are not handled at present; bits. */
export const BLOCK = { CONNECTING: 1, BUSY: 2, RATE: 4, SLOW: 8 } as const;

/** What all connections of a server share. */
export type ConnectionContext = SharedContext<Connection>;

/** First byte of CONNECT [MQTT-3.1.0-1]. */
const CONNECT_BYTE = 0x10;
/** Seconds until a client that was told to go is cut off. */
const END_SECONDS = 5;
/** Seconds for which the check of CONNECT may take. */
const CONNECTING_SECONDS = 60;

export class Connection implements DeviceConnection, SessionOwner, Timed, TransportListener {
  principal: Principal = undefined as unknown as Principal;
  clientId = '';
  /** As CONNECT names it, until it is accepted. */
  claimedUser: string | undefined = undefined;
  protocolVersion: 3 | 4 | 5 = 4;
  wheelSlot: number = NOT_WAITING;
  state: State = STATE.AWAITING_CONNECT;
  link: DeviceLink | undefined = undefined;
  session: Session | undefined = undefined;
  will: Will | undefined = undefined;
  rate: RateBucket | undefined = undefined;
  keepAliveSeconds = 0;
  inFlightMax = 0;
  /** Longest packet that the client takes (5.0). */
  clientPacketBytesMax = Infinity;
  /** When CONNECT was accepted, ms since 1970. */
  connectedAt = 0;
  /** QoS 1 messages from the client that are not acknowledged. */
  unacknowledged = 0;
  readonly context: ConnectionContext;
  readonly transport: Transport;
  #blocked = 0;
  #isPaused = false;
  #isProcessing = false;
  #isResumable = false;
  #held: HeldBytes | undefined = undefined;
  /** Counted in `context.early` while it is not known who connects. */
  #earlyBytes = 0;
  #output: SmallOutput | undefined = undefined;
  #backlogBytes = 0;
  /** When what is being handled was received, `performance.now()`; 0 until it is asked for. */
  #receivedAt = 0;
  /** The same of the held bytes, but for a packet that is not complete. */
  #heldAt = 0;
  #acknowledgementTimes: AcknowledgementTimes | undefined = undefined;
  #heardTick = 0;
  #slowTick = 0;

  constructor(context: ConnectionContext, transport: Transport) {
    this.context = context;
    this.transport = transport;
    context.wheel.schedule(this, context.limits.connectTimeoutSeconds);
  }

  get isOverLimit(): boolean {
    return this.context.isOverLimit();
  }

  get canSend(): boolean {
    return this.state === STATE.OPEN && (this.#blocked & BLOCK.SLOW) === 0;
  }

  /** The session outlives the connection: QoS 2 packet ids have to be stored. */
  get isPersistent(): boolean {
    return this.session?.isDurable === true;
  }

  received(chunk: Buffer): void {
    if (this.state >= STATE.ENDING) return;
    this.#heardTick = this.context.wheel.tick;
    if (this.#isProcessing || this.#blocked !== 0) {
      if (this.#held === undefined || this.#heldAt === 0) this.#heldAt = performance.now();
      this.#hold(chunk, 0);
    } else {
      this.#receivedAt = 0;
      this.#process(chunk);
    }
  }

  drained(): void {
    if (this.state >= STATE.ENDING || (this.#blocked & BLOCK.SLOW) === 0) return;
    this.#backlogBytes = 0;
    this.unblock(BLOCK.SLOW);
    this.session?.pump();
  }

  transportClosed(): void {
    if (this.state === STATE.GONE) return;
    const hasEnded = this.state === STATE.ENDING;
    this.state = STATE.GONE;
    this.context.wheel.cancel(this);
    if (!hasEnded) {
      this.#logEnd(REASON.UNSPECIFIED, 'the network connection was closed', undefined);
      this.#ended(false);
    }
    this.context.gone(this);
  }

  acknowledge(packetId: number, refusal?: Refusal): void {
    if (packetId === 0) return;
    if (refusal !== undefined && this.protocolVersion === 5) return this.#refuse(packetId, refusal);
    const received = this.session?.received;
    if (received !== undefined && received.has(packetId)) {
      const waiter = received.get(packetId);
      received.set(packetId, null);
      // The client may have come back and sent the message again before it was durable.
      if (waiter !== this) waiter?.sendPubrec(packetId);
      else if (this.state === STATE.OPEN) this.#addAwaited(PACKET_TYPE.PUBREC, packetId);
      return;
    }
    if (this.unacknowledged > 0) this.unacknowledged--;
    if (this.state === STATE.OPEN) this.#addAwaited(PACKET_TYPE.PUBACK, packetId);
  }

  /** The packet identifier of a refused message is free again [MQTT-4.3.3-4]. */
  #refuse(packetId: number, refusal: Refusal): void {
    const { session } = this;
    const isQos2 = session?.received?.has(packetId) === true;
    if (isQos2) session.forgetReceived(packetId);
    else if (this.unacknowledged > 0) this.unacknowledged--;
    if (this.state !== STATE.OPEN) return;
    const type = isQos2 ? PACKET_TYPE.PUBREC : PACKET_TYPE.PUBACK;
    this.write(encodeRefusal(type, packetId, refusal, this.clientPacketBytesMax));
    this.#acknowledgementTimes?.acknowledged();
    this.#acknowledgementTimes?.written(this.context.metrics);
  }

  /** A PUBLISH is offered: the time from its receipt until its acknowledgement is written is measured. */
  awaitAcknowledgement(): void {
    if (this.#receivedAt === 0) this.#receivedAt = performance.now();
    (this.#acknowledgementTimes ??= new AcknowledgementTimes()).add(this.#receivedAt);
  }

  /** The PUBLISH that was offered last was not taken. */
  forgetAwaited(): void {
    this.#acknowledgementTimes?.removeLast();
  }

  rejected(packetId: number, mayBeStored = false): void {
    this.session?.rejected(packetId, this, mayBeStored);
  }

  flush(): void {
    const output = this.#output;
    if (output === undefined) return;
    this.#output = undefined;
    const length = output.length;
    const isOpen = length > 0 && this.state < STATE.ENDING;
    const keepsUp = isOpen ? output.writeTo(this.transport) : true;
    this.context.outputs.giveBack(output);
    if (!isOpen) return;
    this.#acknowledgementTimes?.written(this.context.metrics);
    this.#afterWrite(keepsUp, length);
  }

  resume(): void {
    if (this.state >= STATE.ENDING) this.will?.resume();
    else this.unblock(BLOCK.BUSY);
  }

  deliver(message: DownlinkMessage): void {
    // The link of a will that waits is still open: what it is given goes to the session's queue.
    if (this.link !== undefined) this.session?.deliver(message);
  }

  disconnect(reasonCode: number, reason: string): void {
    // After the end only the will is left that could be refused.
    if (this.state >= STATE.ENDING) {
      this.will?.abandon();
      return;
    }
    this.close(reasonCode, reason, `mqtt/reason-0x${reasonCode.toString(16).padStart(2, '0')}`);
  }

  get isOver(): boolean {
    return this.state >= STATE.ENDING;
  }

  takenOver(): void {
    this.close(REASON.SESSION_TAKEN_OVER, 'another connection has opened the session');
  }

  sendPublish(message: DownlinkMessage, qos: number, packetId: number, isDuplicate: boolean): boolean {
    if (this.state !== STATE.OPEN) return true;
    const packet = encodePublish(message, { version: this.protocolVersion, qos, packetId, isDuplicate });
    if (packet.length > this.clientPacketBytesMax) return false;
    const isOver = this.#backlogBytes + packet.length > this.context.limits.writeBytes;
    if (isOver && qos === 0 && (this.#blocked & BLOCK.SLOW) !== 0 && this.session!.expirySeconds > 0) {
      this.context.limitHit(LIMIT.WRITE_BYTES, 'a QoS 0 message was dropped, the client does not read', this.session!);
      return true;
    }
    this.context.metrics.messages('out', qos, 1);
    const { traffic } = this.context;
    if (traffic?.isWatched === true)
      traffic.message('out', this, { topic: message.topic, payload: message.payload, qos });
    this.write(packet);
    return true;
  }

  sendPubrel(packetId: number): void {
    this.#send(PACKET_TYPE.PUBREL, packetId);
  }
  sendPubrec(packetId: number): void {
    this.#send(PACKET_TYPE.PUBREC, packetId);
  }
  sendPubcomp(packetId: number): void {
    this.#send(PACKET_TYPE.PUBCOMP, packetId);
  }

  /** Adds to the next flush. */
  addAcknowledgement(type: number, packetId: number): void {
    this.#room(4).acknowledgement(type, packetId);
  }

  addAcknowledgementWithReason(type: number, packetId: number, code: number): void {
    this.#room(5).acknowledgementWithReason(type, packetId, code);
  }

  addEmptyPacket(type: number): void {
    this.#room(2).empty(type);
  }

  /** Writes at once, behind what waits for a flush. @param bytes belong to the transport from now on. */
  write(bytes: Buffer): void {
    this.flush();
    if (this.state < STATE.ENDING) this.#afterWrite(this.transport.write(bytes), bytes.length);
  }

  /** Handles no packets until `unblock`; what arrives is held. */
  block(bit: number): void {
    this.#blocked |= bit;
  }

  unblock(bit: number): void {
    if ((this.#blocked & bit) === 0) return;
    this.#blocked &= ~bit;
    if (this.#blocked !== 0 || this.state >= STATE.ENDING) return;
    if (this.#isProcessing) {
      this.#isResumable = true;
      return;
    }
    this.#processHeld();
  }

  get remoteAddress(): string {
    return this.transport.remoteAddress;
  }

  /** CONNECT is not answered. */
  get isEarly(): boolean {
    return this.state < STATE.OPEN;
  }

  /** CONNACK was written: packets are handled from now on. */
  opened(): void {
    this.#countEarly();
    const { wheel } = this.context;
    this.#heardTick = wheel.tick;
    wheel.cancel(this);
    if (this.keepAliveSeconds > 0) wheel.schedule(this, this.#silenceMax());
    this.unblock(BLOCK.CONNECTING);
  }

  /** Ends the connection for a fault or a limit: the will is sent. Does nothing after the end. */
  close(reasonCode: number, reason: string, limit?: string): void {
    if (this.state >= STATE.ENDING) return;
    if (limit !== undefined) this.#tellRefused(limit, reason);
    this.flush();
    // Writing may have hit the limit of a client that does not read.
    if ((this.state as State) >= STATE.ENDING) return;
    if (this.state === STATE.OPEN && this.protocolVersion === 5) {
      const named = limit === undefined ? reason : `${reason} (${limit})`;
      this.transport.write(encodeDisconnect(reasonCode, named, this.clientPacketBytesMax));
    }
    this.#logEnd(reasonCode, reason, limit);
    this.end(false);
  }

  #tellRefused(limit: string, reason: string): void {
    const { traffic, metrics } = this.context;
    metrics.count(limit, this.refused(reason));
    // Before CONNECT is checked the tenant is not known.
    if (traffic?.isWatched === true && (this.principal as Principal | undefined) !== undefined)
      traffic.error(this, { code: limit, message: reason });
  }

  /** For the log. The user is known from CONNACK on. */
  refused(reason: string): Refused {
    const { tenant, userName: user = this.claimedUser } = (this.principal as Principal | undefined) ?? {};
    return { tenant, user, device: this.clientId, address: this.remoteAddress, reason };
  }

  /** Ends the connection without a word. @param isClean DISCONNECT was received: no will. */
  end(isClean: boolean): void {
    if (this.state >= STATE.ENDING) return;
    this.flush();
    this.state = STATE.ENDING;
    this.context.wheel.schedule(this, END_SECONDS);
    this.transport.end();
    this.#ended(isClean);
  }

  /** A fault in handling a packet: the client's (PacketError) or ours. */
  fail(error: unknown): void {
    if (error instanceof PacketError) {
      this.close(error.reasonCode, error.message, error.limit ?? LIMIT.PROTOCOL);
      return;
    }
    this.context.log.error(
      { err: error, clientId: this.clientId, remoteAddress: this.transport.remoteAddress },
      'mqtt packet failed',
    );
    this.close(REASON.UNSPECIFIED, 'internal error', LIMIT.INTERNAL);
  }

  due(): number {
    const { tick } = this.context.wheel;
    const { limits } = this.context;
    if (this.state === STATE.ENDING) {
      this.transport.destroy();
    } else if (this.state === STATE.AWAITING_CONNECT) {
      this.close(REASON.UNSPECIFIED, `no CONNECT within ${limits.connectTimeoutSeconds} s`, LIMIT.CONNECT_TIMEOUT);
    } else if (this.state === STATE.CONNECTING) {
      this.close(
        REASON.SERVER_BUSY,
        `CONNECT could not be checked within ${CONNECTING_SECONDS} s`,
        LIMIT.CONNECT_TIMEOUT,
      );
    } else if ((this.#blocked & BLOCK.SLOW) !== 0) {
      const remaining = limits.writeStallSeconds - (tick - this.#slowTick);
      if (remaining > 0) return remaining;
      this.close(
        REASON.QUOTA_EXCEEDED,
        `the client has read nothing for ${limits.writeStallSeconds} s`,
        LIMIT.WRITE_STALL,
      );
    } else if (this.keepAliveSeconds > 0) {
      // While we do not read, silence is ours.
      if (this.#blocked !== 0) return this.#silenceMax();
      const remaining = this.#silenceMax() - (tick - this.#heardTick);
      if (remaining > 0) return remaining;
      this.close(
        REASON.KEEP_ALIVE_TIMEOUT,
        `no packet within 1.5 times the keep alive of ${this.keepAliveSeconds} s`,
        LIMIT.KEEP_ALIVE,
      );
    }
    return 0;
  }

  /** CONNECT arrived: the check has a time limit of its own. */
  connecting(): void {
    this.state = STATE.CONNECTING;
    this.context.connecting(this);
    this.block(BLOCK.CONNECTING);
    this.context.wheel.schedule(this, CONNECTING_SECONDS);
  }

  /** Bytes that wait to be handled; for the rate limit and for tests. */
  get heldBytes(): number {
    return this.#held?.length ?? 0;
  }

  /** [MQTT-3.1.2-24] 1.5 times, and one tick because the wheel is that coarse. */
  #silenceMax(): number {
    return Math.ceil(this.keepAliveSeconds * 1.5) + 1;
  }

  #send(type: number, packetId: number): void {
    if (this.state !== STATE.OPEN) return;
    this.addAcknowledgement(type, packetId);
    this.flush();
  }

  #addAwaited(type: number, packetId: number): void {
    this.addAcknowledgement(type, packetId);
    this.#acknowledgementTimes?.acknowledged();
  }

  #process(chunk: Buffer): void {
    this.#isProcessing = true;
    try {
      let offset = 0;
      const held = this.#held;
      if (held !== undefined) {
        offset = held.complete(chunk, this.context.limits.packetBytes);
        const bytes = held.view();
        if (this.#run(bytes, 0) === bytes.length) this.#held = undefined;
      }
      if (this.#held === undefined) offset = this.#run(chunk, offset);
      if (this.#blocked !== 0 && this.#heldAt === 0)
        this.#heldAt = this.#receivedAt === 0 ? performance.now() : this.#receivedAt;
      if (offset < chunk.length && this.state < STATE.ENDING) this.#hold(chunk, offset);
      else if (this.state < STATE.ENDING && this.#held !== undefined) this.#pauseIfBlocked();
      this.link?.endOfRead();
      this.context.reportReceived(this);
      this.flush();
    } catch (error) {
      this.fail(error);
    }
    this.#isProcessing = false;
    if (this.#earlyBytes > 0) this.#countEarly();
    if (this.#isResumable) {
      this.#isResumable = false;
      if (this.#blocked === 0) this.#processHeld();
    }
  }

  /** @returns the offset of the first byte that was not handled: an incomplete packet, or the one that blocked. */
  #run(chunk: Buffer, start: number): number {
    const { scanner, limits } = this.context;
    const end = chunk.length;
    let offset = start;
    while (offset < end && this.#blocked === 0 && this.state < STATE.ENDING) {
      const first = chunk[offset];
      if (first >> 4 === PACKET_TYPE.PUBLISH && this.state === STATE.OPEN) {
        const result = scanner.scan(chunk, offset, end, this.protocolVersion === 5, limits.packetBytes);
        if (result === SCAN.PUBLISH) {
          const next = scanner.payloadEnd;
          if (!this.context.publish(this, chunk, offset)) return offset;
          offset = next;
          continue;
        }
        if (result === SCAN.INCOMPLETE) return offset;
        throw scanError(result, limits.packetBytes);
      }
      if (this.state === STATE.AWAITING_CONNECT && first !== CONNECT_BYTE) {
        throw new PacketError(REASON.PROTOCOL_ERROR, 'the first packet is not CONNECT');
      }
      const length = packetLength(chunk, offset, end);
      if (length === LENGTH_INCOMPLETE) return offset;
      if (length === LENGTH_MALFORMED) throw scanError(SCAN.MALFORMED, 0);
      if (length > limits.packetBytes) throw scanError(SCAN.TOO_LARGE, limits.packetBytes);
      if (offset + length > end) return offset;
      this.context.dispatch(this, chunk, offset, offset + length);
      offset += length;
    }
    return offset;
  }

  #processHeld(): void {
    this.#heardTick = this.context.wheel.tick;
    const held = this.#held;
    const heldAt = this.#heldAt;
    this.#heldAt = 0;
    if (held !== undefined) {
      this.#held = undefined;
      this.#receivedAt = heldAt;
      this.#process(held.view());
    }
    if (this.#isPaused && this.#blocked === 0 && this.state < STATE.ENDING) {
      this.#isPaused = false;
      this.transport.resume();
    }
  }

  /** Keeps a copy of `chunk[start, end)`. */
  #hold(chunk: Buffer, start: number): void {
    if (this.#held === undefined) this.#held = new HeldBytes(chunk, start);
    else this.#held.append(chunk, start, chunk.length);
    if (this.isEarly) this.#holdEarly(this.#held.length);
    else if ((this.#blocked & BLOCK.RATE) !== 0) {
      const limit = this.rate?.queueLimitHit(this.#held.view());
      if (limit !== undefined)
        this.close(REASON.MESSAGE_RATE_TOO_HIGH, 'the queue of messages over the rate is full', limit);
    } else if (this.#held.length > this.context.limits.heldBytes) {
      this.close(
        REASON.QUOTA_EXCEEDED,
        `more than ${this.context.limits.heldBytes} bytes wait to be handled`,
        LIMIT.HELD_BYTES,
      );
    }
    this.#pauseIfBlocked();
  }

  #countEarly(): void {
    const bytes = this.isEarly ? (this.#held?.bytes.length ?? 0) : 0;
    this.context.early.bytes += bytes - this.#earlyBytes;
    this.#earlyBytes = bytes;
  }

  #holdEarly(length: number): void {
    this.#countEarly();
    const refusal = this.context.early.refusal(length);
    if (refusal === undefined) return;
    // Only a CONNECT has an answer.
    if (this.state === STATE.CONNECTING) this.write(earlyConnack(refusal, this));
    this.close(REASON.QUOTA_EXCEEDED, refusal.reason, refusal.limit);
  }

  /** Over the rate reading goes on: its own queue is bounded, and the client is told when it is full. */
  #pauseIfBlocked(): void {
    if ((this.#blocked & ~BLOCK.RATE) === 0 || this.#isPaused || this.state >= STATE.ENDING) return;
    this.#isPaused = true;
    this.transport.pause();
  }

  #room(count: number): SmallOutput {
    let output = (this.#output ??= this.context.outputs.take());
    if (!output.hasRoom(count)) {
      this.flush();
      output = this.#output ??= this.context.outputs.take();
    }
    return output;
  }

  #afterWrite(keepsUp: boolean, count: number): void {
    if (keepsUp && (this.#blocked & BLOCK.SLOW) === 0) return;
    const { limits, wheel } = this.context;
    if ((this.#blocked & BLOCK.SLOW) === 0) {
      this.block(BLOCK.SLOW);
      this.#backlogBytes = 0;
      this.#slowTick = wheel.tick;
      if (this.state === STATE.OPEN) wheel.schedule(this, limits.writeStallSeconds);
      this.#pauseIfBlocked();
    }
    this.#backlogBytes += count;
    if (this.#backlogBytes <= limits.writeBytes) return;
    this.close(
      REASON.QUOTA_EXCEEDED,
      `the client does not read and ${limits.writeBytes} bytes wait for it`,
      LIMIT.WRITE_BYTES,
    );
  }

  #ended(isClean: boolean): void {
    this.#held = undefined;
    this.#countEarly();
    if (this.#output !== undefined) this.context.outputs.giveBack(this.#output);
    this.#output = undefined;
    this.context.ended(this, isClean);
  }

  #logEnd(reasonCode: number, reason: string, limit: string | undefined): void {
    const { log } = this.context;
    if (!log.isLevelEnabled('debug')) return;
    const { clientId, principal, transport } = this;
    log.debug(
      { clientId, tenant: principal?.tenant, remoteAddress: transport.remoteAddress, reasonCode, reason, limit },
      'mqtt connection ended',
    );
  }
}
