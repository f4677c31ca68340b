/** One connected device: what it publishes becomes records of the journal, what concerns it goes down to it (document 4 section 7). */
import type { AcknowledgementSink } from '../ingest/group-commit.ts';
import type { OfferedRecord } from '../ingest/command-bus.ts';
import { encodeCommand } from '../ingest/command-record.ts';
import { COMMAND } from '../model/command.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import { PROCESSING_MODE } from '../model/processing-mode.ts';
import type { ProcessingMode } from '../model/processing-mode.ts';
import { SmartRestError } from '../smartrest/error.ts';
import { RECEIVES_OPERATIONS, receivedBy } from '../smartrest/topics.ts';
import { PUBLISH_RESULT } from './application.ts';
import type { DeviceConnection, DeviceLink, PublishResult } from './application.ts';
import type { DeviceApplication } from './device-application.ts';
import { MessagePlan } from './message-plan.ts';
import { OFFERED } from './measurement-publisher.ts';

/** Journal at its bound: the connection is offered its messages again after this time. */
const RETRY_MS = 50;
const REASON_QUOTA_EXCEEDED = 0x97;
const REFUSED_FILTER = 0x80;

export class PlatformDeviceLink implements DeviceLink, AcknowledgementSink {
  refusal: { reasonCode: number; reason: string } | undefined;
  readonly tenantNumber: number;
  readonly serial: string;
  /** Managed object; 0 until it is known. */
  source = 0;
  readonly connection: DeviceConnection;
  readonly #application: DeviceApplication;
  #isOpening = false;
  /** The opening was refused that the message on this topic needed, which is offered again now: it is answered with the fault. */
  #refusedOpening: { readonly topic: string; readonly tell: () => void } | undefined;
  #isStalled = false;
  #isClosed = false;
  /** A 100 made the object: the same message, offered again, is not a repetition. */
  createdBy100 = false;
  /** Answers of actors that are still to come; replies to the device wait for them. */
  #answersDue = 0;
  #afterAnswers: (() => void)[] | undefined;
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

  publish(chunk: Buffer, topicStart: number, topicEnd: number, payloadStart: number, payloadEnd: number, qos: number, packetId: number): PublishResult {
    const limit = this.#application.group.refusal;
    if (limit !== undefined) return this.#refuse(limit);
    const mode = topicEnd - topicStart === 4 ? staticTopicMode(chunk, topicStart) : -1;
    if (mode >= 0 && this.source !== 0 && qos < 2) {
      const application = this.#application;
      const offered = application.measurements.publish(chunk, payloadStart, payloadEnd, this, mode as ProcessingMode, application.now(), this, packetId);
      if (offered === OFFERED.TAKEN) return PUBLISH_RESULT.PENDING;
      if (offered === OFFERED.FULL) return this.#stall();
    }
    return this.#publishAny(chunk.toString('utf8', topicStart, topicEnd), chunk.subarray(payloadStart, payloadEnd), qos, packetId);
  }

  endOfRead(): void { /* Groups are committed by themselves after the event loop's poll phase. */ }

  subscribe(topicFilter: string, qos: 0 | 1 | 2): number {
    return receivedBy(topicFilter) === 0 ? REFUSED_FILTER : qos;
  }

  subscribed(topicFilter: string): void {
    const receives = receivedBy(topicFilter) & RECEIVES_OPERATIONS;
    if (receives === 0) return;
    (this.#operationFilters ??= new Map()).set(topicFilter, receives);
    if (this.source !== 0) this.#application.operations.deliverPending(this);
  }

  unsubscribe(topicFilter: string): void {
    this.#operationFilters?.delete(topicFilter);
  }

  closed(): void {
    this.#isClosed = true;
    this.#application.closed(this);
  }

  // --- from the group commit ---

  /**
   * A packet is acknowledged when it is durable and its actors have answered, in the order in which the packets came: devices take the PUBACK
   * as the sign that what they have asked for is there (document 4 section 7.1).
   */
  durable(packetId: number): void {
    if (this.#durable.length === 0 && !this.#unanswered?.has(packetId)) this.connection.acknowledge(packetId);
    else this.#durable.push(packetId);
  }

  flushDurable(): void { this.connection.flush(); }
  failed(packetId: number, error: Error): void {
    this.connection.rejected(packetId);
    // Not acknowledged: the device sends it again on its next connection.
    this.connection.disconnect(REASON_QUOTA_EXCEEDED, `the journal could not be written: ${error.message}`);
  }

  // --- to the device ---

  sendRow(topic: string, row: string, qos: 0 | 1 = 1): void {
    if (!this.#isClosed) this.connection.deliver({ topic, payload: Buffer.from(row), qos });
  }

  sendError(error: Error, messageId: string): void {
    const fault = error instanceof SmartRestError ? error : new SmartRestError(50, messageId, error.message);
    this.#application.refusals.count(`smartrest/error-${fault.code}`);
    this.#application.onResult?.('error');
    this.sendRow('s/e', fault.toRow(), 0);
  }

  /** JSON over MQTT: document 4 section 7.8, topic `error`. */
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

  get hasAnswersDue(): boolean { return this.#answersDue > 0; }

  /** Runs when the actors have answered everything that was sent before. */
  afterAnswers(action: () => void): void {
    if (this.#answersDue === 0) action();
    else (this.#afterAnswers ??= []).push(action);
  }

  /** The managed object of the device is known (again). */
  opened(source: number): void {
    this.source = source;
    this.#application.opened(this);
    if (this.operationTopics !== 0) this.#application.operations.deliverPending(this);
  }

  /** The managed object is gone: the next message finds or creates it again. */
  forgetSource(): void {
    this.#application.closed(this);
    this.source = 0;
  }

  // --- any message but the hot ones ---

  #publishAny(topic: string, payload: Buffer, qos: number, packetId: number): PublishResult {
    if (this.#isOpening) return PUBLISH_RESULT.BUSY;
    const refused = this.#refusedOpening;
    this.#refusedOpening = undefined;
    const plan = refused?.topic === topic ? MessagePlan.ofFault(refused.tell) : MessagePlan.of(topic, payload, packetId, this, this.#application);
    if (plan.needsOpening !== undefined) {
      this.#open(plan.needsOpening, topic, plan.tellFault);
      return PUBLISH_RESULT.BUSY;
    }
    const records: OfferedRecord[] = plan.records.map((planned) => this.#awaited(planned, packetId));
    if (qos === 2 && this.connection.isPersistent) records.unshift({ record: this.#receivedRecord(packetId) });
    if (records.length === 0) {
      plan.finish();
      this.#application.group.acknowledgeInOrder(this, packetId);
      return PUBLISH_RESULT.PENDING;
    }
    if (!this.#application.commands.offer(records, this, packetId)) {
      this.#refusedOpening = refused;
      return this.#stall();
    }
    this.#expectAnswers(plan.records.filter((planned) => planned.onAnswer).length, packetId);
    plan.finish();
    return PUBLISH_RESULT.PENDING;
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
    for (const packetId of this.#durable.splice(0, waiting < 0 ? this.#durable.length : waiting)) this.connection.acknowledge(packetId);
    this.connection.flush();
  }

  #awaited(planned: OfferedRecord, packetId: number): OfferedRecord {
    const { record, onAnswer } = planned;
    if (!onAnswer) return planned;
    return { record, onAnswer: {
      resolve: (answer) => { onAnswer.resolve(answer); this.#answered(packetId); },
      reject: (error) => { onAnswer.reject(error); this.#answered(packetId); },
    } };
  }

  /** The QoS 2 packet id, durable in the same group as the message. */
  #receivedRecord(packetId: number): Buffer {
    const session = this.#application.sessionKey(this.connection.principal, this.connection.clientId);
    return encodeCommand({
      kind: COMMAND.SESSION_RECEIVE, tenant: this.tenantNumber, key: `s:${session}`, mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#application.now(), body: { session, id: packetId },
    });
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
      this.#application.group.whenFree(() => this.#resumeStalled());
    }
    return PUBLISH_RESULT.BUSY;
  }

  #resumeStalled(): void {
    this.#isStalled = false;
    if (!this.#isClosed) this.connection.resume();
  }

  /** The journal's bound holds devices back; a full disk tells them. */
  #refuse(limit: string): PublishResult {
    this.#application.refusals.count(limit);
    if (limit === 'journal/bytes') {
      if (!this.#isStalled) {
        this.#isStalled = true;
        setTimeout(() => this.#resumeStalled(), RETRY_MS);
      }
      return PUBLISH_RESULT.BUSY;
    }
    this.#application.onResult?.('refused');
    this.refusal = { reasonCode: REASON_QUOTA_EXCEEDED, reason: refusedBy(limit).message };
    return PUBLISH_RESULT.REFUSED;
  }
}

/** Mode of `s/us`, `t/us`, `q/us` or `c/us`; -1 for another topic of four bytes. */
function staticTopicMode(chunk: Buffer, start: number): number {
  if (chunk[start + 1] !== 0x2f || chunk[start + 2] !== 0x75 || chunk[start + 3] !== 0x73) return -1;
  switch (chunk[start]) {
    case 0x73: return PROCESSING_MODE.PERSISTENT;
    case 0x74: return PROCESSING_MODE.TRANSIENT;
    case 0x71: return PROCESSING_MODE.QUIESCENT;
    case 0x63: return PROCESSING_MODE.CEP;
    default: return -1;
  }
}
