/**
 * One connected device: what it publishes becomes records of the journal, what concerns it goes down to it
 * (docs/spec/mqtt.md).
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { DeviceCommands, OfferedRecord } from '../../ingest/journal/command-bus.ts';
import type { AcknowledgementSink, RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { ReceivedPacket } from '../../ingest/journal/received-packet.ts';
import { MONTHS_LIMIT, monthsRefusal, type DistantMonths } from '../../ingest/measurements/distant-months.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import type { DeviceErrors } from '../../ports/device-errors.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';
import type { Log } from '../../ports/log.ts';
import type { TrafficTap } from '../../ports/traffic.ts';
import { RECEIVE, RECEIVES_OPERATIONS, receivedBy, xidOfFilter } from '../../smartrest/topics.ts';
import { PUBLISH_RESULT, isElsewhere } from '../sessions/application.ts';
import type { DeviceConnection, DeviceLink, PublishResult, SessionReceiptStore } from '../sessions/application.ts';
import type { PublishedMessage } from '../wire/published-message.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type { Device, OpeningRight } from './device.ts';
import { CustomRoute } from './custom-route.ts';
import { OFFERED, type MeasurementPublisher, type Offered } from './measurement-publisher.ts';
import { MessagePlan, type PlanParts } from './message-plan.ts';
import { TunnelState } from './tunnel.ts';
import { DeviceReplies } from './replies.ts';
import { RETRY_MS, Suspension } from './suspension.ts';

/** Documents that could not be read: the message is planned again after this time. */
const LOAD_RETRY_MS = 200;
/** Longest time for which measurements of distant months hold back the connection. */
const MONTHS_HOLD_MS = 5_000;
/** A device that sends all the time is reported this often: intervals of availability are minutes. */
const HEARD_EVERY_MS = 10_000;
const REASON_NOT_AUTHORIZED = 0x87;
const REASON_QUOTA_EXCEEDED = 0x97;
const REASON_SERVER_BUSY = 0x89;
const REASON_SESSION_TAKEN_OVER = 0x8e;
const REFUSED_FILTER = 0x80;

/** Told when a device comes and goes, and when it begins or ends to receive operations. */
export interface Presence {
  opened(device: Device): void;
  closed(device: Device): void;
  pushChanged(device: Device): void;
}

/** What connections use of the application. */
export interface LinkParts extends PlanParts {
  readonly intake: RecordIntake;
  readonly distantMonths: DistantMonths;
  readonly commands: Pick<DeviceCommands, 'offer'>;
  readonly measurements: MeasurementPublisher;
  /** In a cluster: QoS 2 messages that are of other shards than their sessions. */
  readonly receipts: SessionReceiptStore | undefined;
  readonly errors: DeviceErrors | undefined;
  readonly traffic: TrafficTap | undefined;
  readonly log: Log;
  readonly presence: Presence;
}

export class PlatformDeviceLink implements Device, DeviceLink, AcknowledgementSink {
  refusal: { reasonCode: number; reason: string } | undefined;
  readonly tenantNumber: number;
  readonly serial: string;
  source = 0;
  right: OpeningRight = 'none';
  readonly connection: DeviceConnection;
  readonly acknowledgements: Acknowledgements;
  readonly replies: DeviceReplies;
  createdBy100 = false;
  madeFirst: ReadonlyMap<string, string> | undefined = undefined;
  readonly defaultXId: string;
  readonly #parts: LinkParts;
  readonly #suspension: Suspension;
  /** Most connections have none. */
  #tunnel: TunnelState | undefined;
  /** Documents that were loaded for the message that is offered next. */
  #loaded: Map<string, unknown> | undefined;
  /**
   * The opening was refused that the message on this topic needed, or it has been carried out by what it waited for. It
   * is offered again now and only answered.
   */
  #answered: { readonly topic: string; readonly tell: () => void } | undefined;
  #heardAt = 0;
  /** Subscriptions that receive operations: bits of RECEIVE by topic filter. */
  #operationFilters: Map<string, number> | undefined;
  /** What was last published by a collection with measurements for the hot path. */
  #route: CustomRoute | undefined;

  constructor(connection: DeviceConnection, parts: LinkParts, serial: string) {
    this.connection = connection;
    this.#parts = parts;
    this.serial = serial;
    this.defaultXId = connection.clientId.split(':')[2] ?? '';
    this.acknowledgements = new Acknowledgements(connection);
    this.replies = new DeviceReplies(this, parts);
    this.#suspension = new Suspension(connection);
    this.tenantNumber = connection.principal.tenantNumber;
  }

  // --- from the connection ---

  publish(message: PublishedMessage): PublishResult {
    const { chunk, topicStart, topicEnd, payloadStart, payloadEnd, qos, packetId } = message;
    const limit = this.#parts.intake.refusal;
    if (limit !== undefined) return this.#refuse(limit);
    this.#suspension.accepted();
    const now = this.#parts.now();
    if (now - this.#heardAt >= HEARD_EVERY_MS && this.source !== 0) {
      this.#heardAt = now;
      this.#parts.hooks.onHeard?.(this.tenantNumber, this.source, now);
    }
    const mode = topicEnd - topicStart === 4 ? staticTopicMode(chunk, topicStart) : -1;
    const isOpen = this.source !== 0 && this.right !== 'limited';
    if (mode >= 0 && isOpen && qos < 2) {
      const offered = this.#parts.measurements.publish(message, this, mode as ProcessingMode, now);
      if (offered === OFFERED.TAKEN) return PUBLISH_RESULT.PENDING;
      if (offered === OFFERED.FULL) return this.#stall();
    } else if (this.#route?.isTopic(chunk, topicStart, topicEnd) === true && isOpen && qos < 2) {
      const offered = this.#publishCustom(message, this.#route, now);
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

  #publishCustom(message: PublishedMessage, route: CustomRoute, now: number): Offered {
    if (this.#parts.templates.isFresh(route.known, now))
      return this.#parts.measurements.publishCustom(message, this, route, now);
    this.#route = undefined;
    return OFFERED.OTHER;
  }

  endOfRead(): void {
    /* Groups are committed by themselves after the event loop's poll phase. */
  }

  subscribe(topicFilter: string, qos: 0 | 1 | 2): number {
    // Credentials come to the bootstrap user alone.
    return (receivedBy(topicFilter) & ~RECEIVE.CREDENTIALS) === 0 ? REFUSED_FILTER : qos;
  }

  subscribed(topicFilter: string): void {
    const receives = receivedBy(topicFilter) & RECEIVES_OPERATIONS;
    if (receives === 0) return;
    const filters = (this.#operationFilters ??= new Map<string, number>());
    if (!filters.has(topicFilter)) this.#parts.operations.topicsAdded(this, receives);
    filters.set(topicFilter, receives);
    this.#parts.presence.pushChanged(this);
    if (this.source !== 0) void this.#parts.operations.deliverPending(this);
  }

  unsubscribe(topicFilter: string): void {
    if (this.#operationFilters?.delete(topicFilter) === true) this.#parts.presence.pushChanged(this);
  }

  closed(): void {
    this.#suspension.close();
    this.#tunnel?.close();
    this.replies.close();
    this.#parts.presence.closed(this);
  }

  // --- from the group commit ---

  /** [MQTT-4.6.0-2] PUBACKs come in the order of the PUBLISHes. */
  get isOrdered(): boolean {
    return true;
  }

  durable(packetId: number): void {
    this.acknowledgements.durable(packetId);
  }

  flushDurable(): void {
    this.connection.flush();
  }
  failed(packetId: number, error: Error): void {
    this.connection.rejected(packetId, this.#parts.receipts !== undefined);
    // Not acknowledged: the device sends it again on its next connection.
    const reasonCode = error.message === 'journal/unreachable' ? REASON_SERVER_BUSY : REASON_QUOTA_EXCEEDED;
    this.connection.disconnect(reasonCode, `the journal could not be written: ${error.message}`);
  }

  // --- for the parts of the application ---

  get operationTopics(): number {
    let receives = 0;
    for (const bits of this.#operationFilters?.values() ?? []) receives |= bits;
    return receives;
  }

  get tunnel(): TunnelState {
    return (this.#tunnel ??= new TunnelState());
  }

  receivedXIds(bit: number): readonly (string | undefined)[] {
    const filters = [...(this.#operationFilters ?? [])].filter(([, bits]) => (bits & bit) !== 0);
    return [...new Set(filters.map(([filter]) => xidOfFilter(filter)))];
  }

  get hasReceived(): boolean {
    return this.#operationFilters !== undefined;
  }

  /** The store is being asked for the managed object: messages wait until it is known whether there is one. */
  openWhenKnown(answer: Promise<{ readonly source: number; readonly right: OpeningRight } | undefined>): void {
    const resume = this.#suspension.wait();
    const known = (found: { readonly source: number; readonly right: OpeningRight } | undefined): void => {
      if (found !== undefined) this.opened(found.source, found.right);
      resume();
    };
    // Without an answer the first message finds or creates it.
    answer.then(known, () => known(undefined));
  }

  opened(source: number, right: OpeningRight): void {
    if (this.#suspension.isClosed) return;
    this.source = source;
    this.right = right;
    this.#parts.presence.opened(this);
    if (this.operationTopics !== 0) void this.#parts.operations.deliverPending(this);
  }

  forgetSource(): void {
    this.#parts.presence.closed(this);
    this.source = 0;
  }

  refuseSource(): void {
    this.forgetSource();
    this.connection.disconnect(REASON_NOT_AUTHORIZED, `the serial ${this.serial} belongs to another user`);
  }

  // --- any message but the hot ones ---

  #publishAny(topic: string, payload: Buffer, qos: number, packetId: number): PublishResult {
    if (this.#suspension.isWaiting) return PUBLISH_RESULT.BUSY;
    const refused = this.#answered;
    this.#answered = undefined;
    const plan = refused?.topic === topic ? MessagePlan.ofFault(refused.tell) : this.#plan(topic, payload, packetId);
    if (plan === undefined) return PUBLISH_RESULT.BUSY;
    if (plan.route !== undefined) this.#follow(plan.route, topic);
    if (plan.needsOpening !== undefined) {
      this.#open(plan.needsOpening, topic, plan.tellFault);
      return PUBLISH_RESULT.BUSY;
    }
    if (this.#monthsHold(plan)) {
      this.#answered = refused;
      return PUBLISH_RESULT.BUSY;
    }
    if (plan.refusal !== undefined) {
      this.#finish(plan);
      this.acknowledgements.refuse(packetId, plan.refusal);
      this.#parts.intake.acknowledgeInOrder(this, packetId);
      return PUBLISH_RESULT.PENDING;
    }
    const records: OfferedRecord[] = plan.records.map((planned) => this.acknowledgements.awaited(planned, packetId));
    const received =
      qos === 2 && packetId !== 0 && this.connection.isPersistent ? this.#receivedPacket(packetId) : undefined;
    if (received !== undefined && this.#announce(records, received)) {
      this.#answered = refused;
      return PUBLISH_RESULT.BUSY;
    }
    if (records.length === 0 && received === undefined) {
      this.#finish(plan);
      this.#parts.intake.acknowledgeInOrder(this, packetId);
      return PUBLISH_RESULT.PENDING;
    }
    if (!this.#parts.commands.offer(records, this, packetId, received)) {
      this.#answered = refused;
      return this.#stall();
    }
    this.acknowledgements.expect(plan.records.filter((planned) => planned.onAnswer).length, packetId);
    this.#finish(plan);
    return PUBLISH_RESULT.PENDING;
  }

  /** Objects that were made for its message are so for no other one. */
  #finish(plan: MessagePlan): void {
    plan.finish();
    this.madeFirst = undefined;
  }

  /** Further messages on the topic may take the hot path. */
  #follow({ known, mode }: NonNullable<MessagePlan['route']>, topic: string): void {
    if (known.isCurrent && known.singleRows !== undefined)
      this.#route = new CustomRoute(topic, mode, known, known.singleRows);
  }

  /**
   * Measurements of more distant months than the user has now wait a little; those that would wait long are refused, so
   * that they hold up nothing behind them. @returns whether they wait.
   */
  #monthsHold(plan: MessagePlan): boolean {
    const { distantMonths, now, refusals } = this.#parts;
    const chunks = plan.records.map(({ record }) => record);
    const waitMs = distantMonths.waitMs(this.connection.principal, chunks, now());
    if (waitMs === 0) return false;
    const error = monthsRefusal(waitMs);
    refusals.count(MONTHS_LIMIT, this.replies.refused(error.message));
    if (waitMs > MONTHS_HOLD_MS) {
      plan.refuse(error);
      return false;
    }
    this.#suspension.stall((callback) => void setTimeout(callback, waitMs));
    return true;
  }

  /** @returns undefined when documents have to be waited for; then the message is offered again. */
  #plan(topic: string, payload: Buffer, packetId: number): MessagePlan | undefined {
    const { known } = this.#parts.objects;
    known.loaded = this.#loaded;
    this.#loaded = undefined;
    try {
      return MessagePlan.of(topic, payload, packetId, this, this.#parts);
    } catch (error) {
      if (!(error instanceof NotLoaded)) throw error;
      this.#loaded = known.loaded;
      const resume = this.#suspension.wait();
      error.loaded.then(resume, () => {
        setTimeout(resume, LOAD_RETRY_MS);
      });
      return undefined;
    } finally {
      known.loaded = undefined;
    }
  }

  #receivedPacket(packetId: number): ReceivedPacket {
    return {
      tenant: this.tenantNumber,
      session: this.serial,
      id: packetId,
      holder: this.connection.session?.holder,
      receivedAt: this.#parts.now(),
      stored: this.connection.session?.partly?.get(packetId),
    };
  }

  /** @returns whether the message has to wait until its session knows in which shards it is. */
  #announce(records: readonly OfferedRecord[], { session, id: packetId }: ReceivedPacket): boolean {
    const { receipts } = this.#parts;
    if (receipts === undefined) return false;
    const client = this.connection.session;
    const shards = [...new Set(records.map(({ record }) => record[4]))];
    const missing = shards.filter((shard) => client?.receiptShards.has(shard) !== true);
    if (missing.length === 0) {
      client?.noteReceipts(packetId, shards);
      return false;
    }
    const resume = this.#suspension.wait();
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
        this.#parts.refusals.count('mqtt/receipt-not-announced', this.replies.refused(error.message));
        this.#parts.log.debug(
          { session, error: error.message },
          'the shard of a QoS 2 message could not be noted; trying again',
        );
        setTimeout(resume, RETRY_MS);
      },
    );
    return true;
  }

  /** Does what the message needs first; the connection waits and then offers the message again. */
  #open(opening: NonNullable<MessagePlan['needsOpening']>, topic: string, tellFault: (error: Error) => void): void {
    const resume = this.#suspension.wait();
    const opened = (tell: void | (() => void)): void => {
      if (tell !== undefined) this.#answered = { topic, tell };
      resume();
    };
    opening().then(opened, (error: Error) => {
      if (error instanceof PlatformError && error.status < 500) {
        this.#answered = { topic, tell: () => tellFault(error) };
        resume();
        return;
      }
      tellFault(error);
      setTimeout(resume, RETRY_MS);
    });
  }

  #stall(): PublishResult {
    this.#suspension.stall((callback) => this.#parts.intake.whenFree(callback));
    return PUBLISH_RESULT.BUSY;
  }

  #refuse(limit: string): PublishResult {
    const { refusals, hooks, now } = this.#parts;
    const reason = refusedBy(limit).message;
    refusals.count(limit, this.replies.refused(reason));
    if (this.#suspension.holdsBack(limit, now())) return PUBLISH_RESULT.BUSY;
    this.replies.note('mqtt', limit, reason);
    hooks.onResult?.('refused');
    this.refusal = {
      reasonCode: limit === 'journal/unavailable' ? REASON_SERVER_BUSY : REASON_QUOTA_EXCEEDED,
      reason,
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
