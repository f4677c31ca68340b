/**
 * One connected device: what it publishes becomes records of the journal, what concerns it goes down to it
 * (docs/spec/mqtt.md).
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { OfferedRecord } from '../../ingest/journal/command-bus.ts';
import type { AcknowledgementSink } from '../../ingest/journal/record-intake.ts';
import type { ReceivedPacket } from '../../ingest/journal/received-packet.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import { SmartRestError } from '../../smartrest/rows/error.ts';
import { RECEIVES_OPERATIONS, receivedBy } from '../../smartrest/topics.ts';
import { PUBLISH_RESULT, isElsewhere } from '../sessions/application.ts';
import type { DeviceConnection, DeviceLink, DownlinkMessage, PublishResult } from '../sessions/application.ts';
import type { PublishedMessage } from '../wire/published-message.ts';
import type { DeviceApplication, OpeningRight } from './application.ts';
import { MessagePlan } from './message-plan.ts';
import { OFFERED } from './measurement-publisher.ts';

/** Documents that could not be read: the message is planned again after this time. */
const LOAD_RETRY_MS = 200;
/** Journal at its bound: the connection is offered its messages again after this time. */
const RETRY_MS = 50;
/** A device that sends all the time is reported this often: intervals of availability are minutes. */
const HEARD_EVERY_MS = 10_000;
const REASON_NOT_AUTHORIZED = 0x87;
const REASON_QUOTA_EXCEEDED = 0x97;
const REASON_SERVER_BUSY = 0x89;
const REASON_SESSION_TAKEN_OVER = 0x8e;
/** The journal's servers away: devices are held back for this long, then told. */
const UNAVAILABLE_MAX_MS = 10_000;
const REFUSED_FILTER = 0x80;

export class PlatformDeviceLink implements DeviceLink, AcknowledgementSink {
  refusal: { reasonCode: number; reason: string } | undefined;
  readonly tenantNumber: number;
  readonly serial: string;
  /** Managed object; 0 until it is known. */
  source = 0;
  /** By which right it was opened. */
  right: OpeningRight = 'none';
  readonly connection: DeviceConnection;
  readonly #application: DeviceApplication;
  #isOpening = false;
  /** Documents that were loaded for the message that is offered next. */
  #loaded: Map<string, unknown> | undefined;
  /**
   * The opening was refused that the message on this topic needed, which is offered again now: it is answered with the
   * fault.
   */
  #refusedOpening: { readonly topic: string; readonly tell: () => void } | undefined;
  #heardAt = 0;
  #isStalled = false;
  /** When the message that waits was refused first; 0 when none waits. */
  #refusedSince = 0;
  #isClosed = false;
  /** A 100 made the object: the same message, offered again, is not a repetition. */
  createdBy100 = false;
  /** Answers of actors that are still to come; replies to the device wait for them. */
  #answersDue = 0;
  #afterAnswers: (() => void)[] | undefined;
  /** Replies to rows that wait for one that is being looked up. */
  #replies: (() => Promise<void>)[] | undefined;
  /** Packets with answers that are to come, and how many. */
  #unanswered: Map<number, number> | undefined;
  /** Durable packets, oldest first, that wait for answers or behind one that does. */
  #durable: number[] = [];
  /** Subscriptions that receive operations: bits of RECEIVE by topic filter. */
  #operationFilters: Map<string, number> | undefined;

  constructor(connection: DeviceConnection, application: DeviceApplication, serial: string) {
    this.connection = connection;
    this.#application = application;
    this.serial = serial;
    this.tenantNumber = connection.principal.tenantNumber;
  }

  // --- from the connection ---

  publish(message: PublishedMessage): PublishResult {
    const { chunk, topicStart, topicEnd, payloadStart, payloadEnd, qos, packetId } = message;
    const limit = this.#application.intake.refusal;
    if (limit !== undefined) return this.#refuse(limit);
    this.#refusedSince = 0;
    const now = this.#application.now();
    if (now - this.#heardAt >= HEARD_EVERY_MS && this.source !== 0) {
      this.#heardAt = now;
      this.#application.onHeard?.(this.tenantNumber, this.source, now);
    }
    const mode = topicEnd - topicStart === 4 ? staticTopicMode(chunk, topicStart) : -1;
    if (mode >= 0 && this.source !== 0 && qos < 2) {
      const application = this.#application;
      const offered = application.measurements.publish(message, this, mode as ProcessingMode, now);
      if (offered === OFFERED.TAKEN) return PUBLISH_RESULT.PENDING;
      if (offered === OFFERED.FULL) return this.#stall();
    }
    return this.#publishAny(
      chunk.toString('utf8', topicStart, topicEnd),
      chunk.subarray(payloadStart, payloadEnd),
      qos,
      packetId,
    );
  }

  endOfRead(): void {
    /* Groups are committed by themselves after the event loop's poll phase. */
  }

  subscribe(topicFilter: string, qos: 0 | 1 | 2): number {
    return receivedBy(topicFilter) === 0 ? REFUSED_FILTER : qos;
  }

  subscribed(topicFilter: string): void {
    const receives = receivedBy(topicFilter) & RECEIVES_OPERATIONS;
    if (receives === 0) return;
    (this.#operationFilters ??= new Map()).set(topicFilter, receives);
    this.#application.pushChanged(this);
    if (this.source !== 0) void this.#application.operations.deliverPending(this);
  }

  unsubscribe(topicFilter: string): void {
    if (this.#operationFilters?.delete(topicFilter) === true) this.#application.pushChanged(this);
  }

  closed(): void {
    this.#isClosed = true;
    this.#application.closed(this);
  }

  // --- from the group commit ---

  /** [MQTT-4.6.0-2] PUBACKs come in the order of the PUBLISHes. */
  get isOrdered(): boolean {
    return true;
  }

  /**
   * A packet is acknowledged when it is durable and its actors have answered, in the order in which the packets came:
   * devices take the PUBACK as the sign that what they have asked for is there (docs/spec/mqtt.md#acknowledgement).
   */
  durable(packetId: number): void {
    if (this.#durable.length === 0 && !this.#unanswered?.has(packetId)) this.connection.acknowledge(packetId);
    else this.#durable.push(packetId);
  }

  flushDurable(): void {
    this.connection.flush();
  }
  failed(packetId: number, error: Error): void {
    this.connection.rejected(packetId, this.#application.receipts !== undefined);
    // Not acknowledged: the device sends it again on its next connection.
    const reasonCode = error.message === 'journal/unreachable' ? REASON_SERVER_BUSY : REASON_QUOTA_EXCEEDED;
    this.connection.disconnect(reasonCode, `the journal could not be written: ${error.message}`);
  }

  // --- to the device ---

  /** @param qos the most; less when the device subscribed with less. @param kept see DownlinkMessage. */
  sendRow(topic: string, row: string, qos: 0 | 1 | 2 = 2, kept?: Pick<DownlinkMessage, 'mark' | 'onDropped'>): void {
    if (this.#isClosed) return;
    this.connection.deliver({ topic, payload: Buffer.from(row), qos, ...kept });
  }

  sendError(error: Error, messageId: string): void {
    const fault = error instanceof SmartRestError ? error : new SmartRestError(50, messageId, error.message);
    this.#application.refusals.count(`smartrest/error-${fault.code}`);
    this.#application.onResult?.('error');
    this.sendRow('s/e', fault.toRow(), 0);
  }

  /** JSON over MQTT (docs/spec/mqtt-json.md#errors). */
  sendJsonError(error: PlatformError, packetId: number): void {
    this.#application.refusals.count(`json-over-mqtt/${error.code}`);
    this.#application.onResult?.('error');
    this.sendRow('error', JSON.stringify({ error: error.error, message: error.message, messageId: packetId }), 0);
  }

  /** On which topics operations are received, bits of RECEIVE. */
  get operationTopics(): number {
    let receives = 0;
    for (const bits of this.#operationFilters?.values() ?? []) receives |= bits;
    return receives;
  }

  /** Whether it receives operations, or did. */
  get hasReceived(): boolean {
    return this.#operationFilters !== undefined;
  }

  get hasAnswersDue(): boolean {
    return this.#answersDue > 0;
  }

  /** Runs when the actors have answered everything that was sent before. */
  afterAnswers(action: () => void): void {
    if (this.#answersDue === 0) action();
    else (this.#afterAnswers ??= []).push(action);
  }

  get repliesDue(): number {
    return this.#replies?.length ?? 0;
  }

  /** Replies are sent in the order of the rows that ask for them, whatever has to be looked up for one. */
  replyInOrder(reply: () => Promise<void>): void {
    if (this.#replies === undefined) void this.#reply((this.#replies = [reply]));
    else this.#replies.push(reply);
  }

  /** What was asked for until now has been sent. */
  replied(): Promise<void> {
    return new Promise((resolve) => {
      this.replyInOrder(async () => resolve());
    });
  }

  async #reply(replies: (() => Promise<void>)[]): Promise<void> {
    for (let next = replies.shift(); next !== undefined; next = replies.shift()) {
      try {
        await next();
      } catch (error) {
        // The device asks again.
        this.#application.refusals.count('mqtt/reply-failed');
        this.#application.log.warn({ err: error, source: this.source }, 'a device could not be answered');
      }
    }
    this.#replies = undefined;
  }

  /** The store is being asked for the managed object: messages wait until it is known whether there is one. */
  openWhenKnown(answer: Promise<{ readonly source: number; readonly right: OpeningRight } | undefined>): void {
    this.#isOpening = true;
    const known = (found: { readonly source: number; readonly right: OpeningRight } | undefined): void => {
      this.#isOpening = false;
      if (found !== undefined) this.opened(found.source, found.right);
      if (!this.#isClosed) this.connection.resume();
    };
    // It is not known: the first message finds or creates it.
    answer.then(known, () => known(undefined));
  }

  /** The managed object of the device is known (again). */
  opened(source: number, right: OpeningRight): void {
    if (this.#isClosed) return;
    this.source = source;
    this.right = right;
    this.#application.opened(this);
    if (this.operationTopics !== 0) void this.#application.operations.deliverPending(this);
  }

  /** The managed object is gone: the next message finds or creates it again. */
  forgetSource(): void {
    this.#application.closed(this);
    this.source = 0;
  }

  /** The managed object, or the serial of one that is still to come, is not the user's: the connection ends. */
  refuseSource(): void {
    this.forgetSource();
    this.connection.disconnect(REASON_NOT_AUTHORIZED, `the serial ${this.serial} belongs to another user`);
  }

  // --- any message but the hot ones ---

  #publishAny(topic: string, payload: Buffer, qos: number, packetId: number): PublishResult {
    if (this.#isOpening) return PUBLISH_RESULT.BUSY;
    const refused = this.#refusedOpening;
    this.#refusedOpening = undefined;
    const plan = refused?.topic === topic ? MessagePlan.ofFault(refused.tell) : this.#plan(topic, payload, packetId);
    if (plan === undefined) return PUBLISH_RESULT.BUSY;
    if (plan.needsOpening !== undefined) {
      this.#open(plan.needsOpening, topic, plan.tellFault);
      return PUBLISH_RESULT.BUSY;
    }
    const records: OfferedRecord[] = plan.records.map((planned) => this.#awaited(planned, packetId));
    const received =
      qos === 2 && packetId !== 0 && this.connection.isPersistent ? this.#receivedPacket(packetId) : undefined;
    if (received !== undefined && this.#announce(records, received)) {
      this.#refusedOpening = refused;
      return PUBLISH_RESULT.BUSY;
    }
    if (records.length === 0 && received === undefined) {
      plan.finish();
      this.#application.intake.acknowledgeInOrder(this, packetId);
      return PUBLISH_RESULT.PENDING;
    }
    if (!this.#application.commands.offer(records, this, packetId, received)) {
      this.#refusedOpening = refused;
      return this.#stall();
    }
    this.#expectAnswers(plan.records.filter((planned) => planned.onAnswer).length, packetId);
    plan.finish();
    return PUBLISH_RESULT.PENDING;
  }

  /** @returns undefined when documents have to be waited for; then the message is offered again. */
  #plan(topic: string, payload: Buffer, packetId: number): MessagePlan | undefined {
    const { known } = this.#application;
    known.loaded = this.#loaded;
    this.#loaded = undefined;
    try {
      return MessagePlan.of(topic, payload, packetId, this, this.#application);
    } catch (error) {
      if (!(error instanceof NotLoaded)) throw error;
      this.#loaded = known.loaded;
      this.#isOpening = true;
      const resume = (): void => {
        this.#isOpening = false;
        if (!this.#isClosed) this.connection.resume();
      };
      error.loaded.then(resume, () => {
        setTimeout(resume, LOAD_RETRY_MS);
      });
      return undefined;
    } finally {
      known.loaded = undefined;
    }
  }

  #expectAnswers(count: number, packetId: number): void {
    this.#answersDue += count;
    if (count > 0 && packetId !== 0) (this.#unanswered ??= new Map()).set(packetId, count);
  }

  #answered(packetId: number): void {
    this.#answersDue -= 1;
    const due = this.#unanswered?.get(packetId);
    if (due === 1) this.#unanswered?.delete(packetId);
    else if (due !== undefined) this.#unanswered?.set(packetId, due - 1);
    if (this.#durable.length > 0) this.#acknowledgeDurable();
    if (this.#answersDue === 0) for (const action of this.#afterAnswers?.splice(0) ?? []) action();
  }

  #acknowledgeDurable(): void {
    const waiting = this.#durable.findIndex((packetId) => this.#unanswered?.has(packetId));
    for (const packetId of this.#durable.splice(0, waiting < 0 ? this.#durable.length : waiting))
      this.connection.acknowledge(packetId);
    this.connection.flush();
  }

  #awaited(planned: OfferedRecord, packetId: number): OfferedRecord {
    const { record, onAnswer } = planned;
    if (!onAnswer) return planned;
    return {
      record,
      onAnswer: {
        resolve: (answer) => {
          onAnswer.resolve(answer);
          this.#answered(packetId);
        },
        reject: (error) => {
          onAnswer.reject(error);
          this.#answered(packetId);
        },
        // What it would have been told is lost; its messages go on.
        over: () => this.#answered(packetId),
      },
    };
  }

  #receivedPacket(packetId: number): ReceivedPacket {
    return {
      tenant: this.tenantNumber,
      session: this.#application.sessionKey(this.connection.principal, this.connection.clientId),
      id: packetId,
      holder: this.connection.session?.holder,
      receivedAt: this.#application.now(),
      stored: this.connection.session?.partly?.get(packetId),
    };
  }

  /** @returns whether the message has to wait until its session knows in which shards it is. */
  #announce(records: readonly OfferedRecord[], { session, id: packetId }: ReceivedPacket): boolean {
    const { receipts } = this.#application;
    if (receipts === undefined) return false;
    const client = this.connection.session;
    const shards = [...new Set(records.map(({ record }) => record[4]))];
    const missing = shards.filter((shard) => client?.receiptShards.has(shard) !== true);
    if (missing.length === 0) {
      client?.noteReceipts(packetId, shards);
      return false;
    }
    this.#isOpening = true;
    const resume = (): void => {
      this.#isOpening = false;
      if (!this.#isClosed) this.connection.resume();
    };
    Promise.all(missing.map((shard) => receipts.announce(this.tenantNumber, session, shard, client?.holder))).then(
      () => {
        for (const shard of missing) client?.receiptShards.add(shard);
        resume();
      },
      (error: Error) => {
        if (isElsewhere(error)) {
          this.connection.disconnect(REASON_SESSION_TAKEN_OVER, error.message);
          return;
        }
        this.#application.refusals.count('mqtt/receipt-not-announced');
        this.#application.log.debug(
          { session, error: error.message },
          'the shard of a QoS 2 message could not be noted; trying again',
        );
        setTimeout(resume, RETRY_MS);
      },
    );
    return true;
  }

  /** Finds or creates a managed object; the connection waits and then offers the message again. */
  #open(opening: () => Promise<void>, topic: string, tellFault: (error: Error) => void): void {
    this.#isOpening = true;
    const resume = (): void => {
      this.#isOpening = false;
      if (!this.#isClosed) this.connection.resume();
    };
    opening().then(resume, (error: Error) => {
      if (error instanceof PlatformError && error.status < 500) {
        this.#refusedOpening = { topic, tell: () => tellFault(error) };
        resume();
        return;
      }
      tellFault(error);
      setTimeout(resume, RETRY_MS);
    });
  }

  #stall(): PublishResult {
    if (!this.#isStalled) {
      this.#isStalled = true;
      this.#application.intake.whenFree(() => this.#resumeStalled());
    }
    return PUBLISH_RESULT.BUSY;
  }

  #resumeStalled(): void {
    this.#isStalled = false;
    if (!this.#isClosed) this.connection.resume();
  }

  /** The journal's bound holds devices back, and for a while its servers being away; a full disk tells them. */
  #refuse(limit: string): PublishResult {
    this.#application.refusals.count(limit);
    const now = this.#application.now();
    if (this.#refusedSince === 0) this.#refusedSince = now;
    const isAway = limit === 'journal/unavailable';
    if (limit === 'journal/bytes' || (isAway && now - this.#refusedSince < UNAVAILABLE_MAX_MS)) {
      if (!this.#isStalled) {
        this.#isStalled = true;
        setTimeout(() => this.#resumeStalled(), RETRY_MS);
      }
      return PUBLISH_RESULT.BUSY;
    }
    this.#application.onResult?.('refused');
    this.refusal = {
      reasonCode: isAway ? REASON_SERVER_BUSY : REASON_QUOTA_EXCEEDED,
      reason: refusedBy(limit).message,
    };
    return PUBLISH_RESULT.REFUSED;
  }
}

/** Mode of `s/us`, `t/us`, `q/us` or `c/us`; -1 for another topic of four bytes. */
function staticTopicMode(chunk: Buffer, start: number): number {
  if (chunk[start + 1] !== 0x2f || chunk[start + 2] !== 0x75 || chunk[start + 3] !== 0x73) return -1;
  switch (chunk[start]) {
    case 0x73:
      return PROCESSING_MODE.PERSISTENT;
    case 0x74:
      return PROCESSING_MODE.TRANSIENT;
    case 0x71:
      return PROCESSING_MODE.QUIESCENT;
    case 0x63:
      return PROCESSING_MODE.CEP;
    default:
      return -1;
  }
}
