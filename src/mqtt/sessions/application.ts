/**
 * What the MQTT front end needs from the platform (the port of src/mqtt). The front end speaks the protocol: packets,
 * sessions, quality of service, limits. The application gives meaning to topics and makes messages durable.
 */
import type { X509Certificate } from 'node:crypto';
import type { LoginCaller, Principal } from '../../model/access/principal.ts';
import type { MarkChange } from '../../model/sessions/marks.ts';
import type { PublishedMessage } from '../wire/published-message.ts';

/** What became of a PUBLISH that was handed to the application. */
export const PUBLISH_RESULT = {
  /** Taken; the application calls `acknowledge(packetId)` once it is durable. */
  PENDING: 0,
  /** Done: acknowledge at once (ignored topic, nothing to store). */
  DONE: 1,
  /** Not taken: the queues are full or the device is still being opened. Stop reading this connection, keep this and what
   * follows, and offer it again after `resume()`. */
  BUSY: 2,
  /** Refused: disconnect with `link.refusal` as the reason. */
  REFUSED: 3,
} as const;
export type PublishResult = (typeof PUBLISH_RESULT)[keyof typeof PUBLISH_RESULT];

/** A message to the device. `id` grows within a session and names the message in the session store. */
export interface DownlinkMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  /**
   * What a session that is kept remembers when the client has acknowledged the message (PUBACK, PUBCOMP): see
   * model/sessions/marks.ts.
   */
  readonly mark?: string | undefined;
  /** Called when it is dropped from the session's queue, which is full. Not stored. */
  readonly onDropped?: (() => void) | undefined;
}

/** A session, as long as it is in memory, over all its connections. */
export interface ClientSession {
  /** The node that has it in memory, see SessionStore. */
  readonly holder: string;
  /** See StoredSession. */
  readonly partly?: ReadonlyMap<number, ReadonlySet<string>> | undefined;
  /** Shards in which receipts of the session may be, as the store knows (cluster). */
  readonly receiptShards: Set<number>;
  /** The receipts of a QoS 2 message are in these shards. */
  noteReceipts(packetId: number, shards: readonly number[]): void;
  /** Marks of messages that the client has acknowledged, the oldest first. */
  readonly acknowledgedMarks: ReadonlySet<string>;
  /** Whether a message with the mark is on its way to the client, or was acknowledged. */
  hasMark(mark: string): boolean;
  /** The mark will not be asked for any more. */
  forgetMark(mark: string): void;
  /** The client keeps up, and half of the queue is free: what can wait elsewhere should go on only then. */
  readonly hasRoom: boolean;
  /** Calls `listener` once when there is room again, on this connection or a later one; it replaces the one before. */
  whenRoom(listener: () => void): void;
}

/** Why a message is not taken. */
export interface Refusal {
  /** Of MQTT 5. */
  readonly reasonCode: number;
  readonly reason: string;
}

/** What the application may do with a connection. All calls are cheap and may come at any time; after close they write nothing, but
 * `acknowledge` and `rejected` still count: the session's next connection builds on them. */
export interface DeviceConnection {
  readonly principal: Principal;
  /** As sent in CONNECT (may be `d:<serial>:<template>`). */
  readonly clientId: string;
  /** For the log. */
  readonly remoteAddress?: string;
  readonly protocolVersion: 3 | 4 | 5;
  /** The session outlives the connection: QoS 2 packet ids have to be stored with their messages. */
  readonly isPersistent: boolean;
  readonly session?: ClientSession | undefined;
  /**
   * Marks one pending PUBLISH as durable: PUBACK (QoS 1), PUBREC (QoS 2), nothing (QoS 0, packetId 0). Nothing is written
   * until `flush`, but a refusal: MQTT 5 is told its reason, 3.1.1 has none.
   */
  acknowledge(packetId: number, refusal?: Refusal): void;
  /**
   * A pending PUBLISH could not be made durable: the client's repetition is a new message.
   * @param mayBeStored it is not known: the session's next connection asks the store first.
   */
  rejected(packetId: number, mayBeStored?: boolean): void;
  /** Writes what was acknowledged since the last flush, in one write. */
  flush(): void;
  /** The application can take messages again: offers the kept ones and reads on. */
  resume(): void;
  /** Sends to the device if its session has a subscription that matches; QoS is the lower of message and grant. */
  deliver(message: DownlinkMessage): void;
  /** Closes the connection; `reasonCode` is MQTT 5's, `reason` goes to the log, the counter and (5.0) the client. */
  disconnect(reasonCode: number, reason: string): void;
}

/** The application's side of one connection: made at CONNECT, told of everything in order. */
export interface DeviceLink {
  /** Id of the device's managed object; 0 or absent while there is none. */
  readonly source?: number;
  /**
   * Takes one PUBLISH, in the order of arrival.
   * For QoS 2 the application stores `(session, packetId)` in the same durable commit as the message.
   */
  publish(message: PublishedMessage): PublishResult;
  /** End of one socket read: everything of it has been offered. */
  endOfRead(): void;
  /** @returns the granted QoS, or a refusal code >= 0x80 (0x80 in 3.1.1). */
  subscribe(topicFilter: string, qos: 0 | 1 | 2): number;
  /** After SUBACK has been written: now messages may be delivered (pending operations). */
  subscribed(topicFilter: string): void;
  unsubscribe(topicFilter: string): void;
  /** The connection ended; `clean` = DISCONNECT received, else the will was published before this call. */
  closed(clean: boolean): void;
  /** Why the last PUBLISH was REFUSED. */
  readonly refusal?: Refusal;
}

export interface MqttApplication {
  /** @returns undefined for wrong credentials. Synchronous when cached. */
  authenticate(
    userName: string,
    password: string,
    caller: LoginCaller,
  ): Principal | undefined | Promise<Principal | undefined>;
  /**
   * A client without password whose certificates came over TLS. @returns who it is, and the client id that it has to
   * have.
   * @throws `{mqttReason, message}` when the certificate is not trusted.
   */
  authenticateCertificate?(
    certificates: readonly X509Certificate[],
    userName: string,
  ): Promise<{ principal: Principal; deviceId: string }>;
  /**
   * Asked when a login that was checked becomes a connection: whether what was checked still counts. Otherwise it is
   * checked again.
   */
  isCurrent(principal: Principal): boolean;
  /**
   * Whether the user still has all rights of the login. Asked before a will is published. Rejects when that is not
   * known at present.
   */
  stillHolds(principal: Principal): boolean | Promise<boolean>;
  /** The identity under which sessions are kept and taken over, for instance the device's serial without prefix. Throws a
   * PlatformError-like `{mqttReason, message}` when the client id is not allowed. */
  sessionKey(principal: Principal, clientId: string): string;
  /** May the connection open (a user without rights: false, CONNACK 5). Asked after `sessionKey` has taken the client id.
   * A rejection refuses the connection for now. */
  mayConnect(principal: Principal, clientId: string): boolean | Promise<boolean>;
  open(connection: DeviceConnection): DeviceLink;
}

/** A stored downlink message of a persistent session. */
export interface StoredMessage extends DownlinkMessage {
  /** Grows within the session. */
  readonly id: number;
  /** The client has received it (QoS 2): only PUBREL remains to be sent. */
  readonly isReleased?: boolean;
}

export interface StoredSession {
  /** Who had it in memory last. */
  readonly holder?: string;
  /** topic filter -> granted QoS */
  readonly subscriptions: ReadonlyMap<string, 0 | 1 | 2>;
  readonly messages: readonly StoredMessage[];
  /** Packet ids of QoS 2 messages that were received and not yet released. */
  readonly received: readonly number[];
  /** Those of which only some parts were stored, with the names of these (ingest/journal/received-packet.ts). */
  readonly partly?: ReadonlyMap<number, ReadonlySet<string>>;
  /** Shards in which there may be receipts (cluster). */
  readonly receiptShards?: readonly number[];
  /** Marks of messages that the client has acknowledged, the oldest first. */
  readonly acknowledged?: readonly string[];
  /** Seconds that the session lives after its connection ended; 0xFFFFFFFF = for ever. */
  readonly expirySeconds: number;
  /** Time at which the connection ended (ms), 0 while connected. */
  readonly disconnectedAt: number;
}

export interface SessionChange
  extends Pick<StoredSession, 'subscriptions' | 'expirySeconds' | 'disconnectedAt' | 'holder'> {
  readonly after?: string;
}

/**
 * Durable sessions. Every promise resolves when the change is durable. Calls for one session take effect in call order.
 * What refuses a change throws a PlatformError-like `{mqttReason, message}` that names the limit, and has counted it.
 * `tenant` is the tenant's number, `key` the session key, `holder` the node that has the session in memory: changes of any other
 * than the one that saved it last are refused with `mqtt/session-elsewhere` (`isElsewhere`). Nothing is checked without
 * it.
 */
export interface SessionStore {
  /** @param holderAfter names who goes on with the session, of the one that had it; no node does when absent. */
  load(tenant: number, key: string, holderAfter?: (former: string) => string): Promise<StoredSession | undefined>;
  /**
   * Creates or replaces subscriptions and expiry; the rest stays. `holder` has it from now on if it is still of `after`
   * ('': of no node).
   */
  save(tenant: number, key: string, change: SessionChange): Promise<void>;
  remove(tenant: number, key: string, hold?: Pick<SessionChange, 'holder' | 'after'>): Promise<void>;
  /** Adds the message, or replaces it when it is released. */
  addMessage(tenant: number, key: string, message: StoredMessage, holder?: string): Promise<void>;
  removeMessage(tenant: number, key: string, id: number, marks?: MarkChange, holder?: string): Promise<void>;
  /**
   * Forgets a received QoS 2 packet id (PUBREL). The id was added by the application with the message itself.
   * @param shards where its receipts are (cluster); all of the session's when absent.
   */
  release(tenant: number, key: string, packetId: number, shards?: readonly number[], holder?: string): Promise<void>;
}

/** Whether a SessionStore refused a change because the session is in the memory of another node, or has ended. */
export function isElsewhere(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'mqtt/session-elsewhere';
}

/**
 * In a cluster: receipts of QoS 2 messages, which are in the shards of the messages
 * (actors/handlers/sessions/receipts.ts).
 */
export interface SessionReceiptStore {
  /** Resolves when the session knows that there may be receipts in the shard. */
  announce(tenant: number, key: string, shard: number, holder?: string): Promise<void>;
  /**
   * Those in the shards, with everything that their journals have at the time of the call. What a former holder stores
   * there afterwards does not count.
   * @param of who goes on with the session, and who was the first to have it: receipts of anybody before are of an
   * earlier session.
   */
  read(
    tenant: number,
    key: string,
    shards: readonly number[],
    of?: { holder?: string; since?: string },
  ): Promise<Required<Pick<StoredSession, 'received' | 'partly'>>>;
}
