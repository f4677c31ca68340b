/**
 * Every limit of the MQTT front end: its default, and the name under which the log, the counter and the client hear of
 * it.
 */
import { SESSION_EXPIRY_NEVER } from '../../model/sessions/expiry.ts';

export interface MqttLimits {
  /**
   * Open connections; more are answered with CONNACK 3 (0x97). One user gets 80, one tenant 90 hundredths, 95 and 99
   * where there is one tenant only (pacing/shares.ts). A process with fewer than 21,000 descriptors takes fewer
   * (operate/descriptors.ts).
   */
  readonly connections: number;
  /** Bytes of one packet, fixed header included; announced as Maximum Packet Size (5.0). */
  readonly packetBytes: number;
  /** Bytes of the payload of one PUBLISH (docs/spec/mqtt.md#connection). */
  readonly payloadBytes: number;
  /** Seconds until CONNECT must have arrived. */
  readonly connectTimeoutSeconds: number;
  /**
   * QoS 1 and 2 messages from one client that are not acknowledged yet; announced as Receive Maximum, enforced for 5.0.
   */
  readonly receiveMaximum: number;
  /** QoS 2 packet ids of one session that are not released yet, all versions. */
  readonly receivedIdentifiers: number;
  /**
   * QoS 1 and 2 messages sent to one client and not acknowledged; the lower of this and the client's Receive Maximum.
   */
  readonly inFlightMessages: number;
  /** Messages that wait in one session; the oldest is dropped. */
  readonly queueMessages: number;
  /** Bytes of topics and payloads that wait in one session; the oldest is dropped. */
  readonly queueBytes: number;
  /** Bytes written to a client that does not read. */
  readonly writeBytes: number;
  /** Seconds for which a client may take nothing of what was written to it. */
  readonly writeStallSeconds: number;
  /** Bytes received and not yet processed (the platform is busy, or CONNECT is being checked). */
  readonly heldBytes: number;
  /** Bytes that one connection holds before its CONNECT is answered; at least one packet. */
  readonly earlyBytes: number;
  /** The same of all connections. */
  readonly earlyBytesAll: number;
  /** Subscriptions of one session. */
  readonly subscriptions: number;
  /** Bytes of one topic filter. */
  readonly topicFilterBytes: number;
  /** Longest life of a session without a connection, in seconds; 0xFFFFFFFF = for ever. */
  readonly sessionExpirySeconds: number;
  /** Sessions without a connection that stay in memory; the others are read from the store when needed. */
  readonly offlineSessions: number;
  /** PUBLISH packets of one connection per second; 0 = no limit. */
  readonly rateMessagesPerSecond: number;
  /** PUBLISH packets that wait because of the rate; more disconnect the client. */
  readonly rateQueueMessages: number;
  /** Bytes that wait because of the rate; more disconnect the client. */
  readonly rateQueueBytes: number;
}

export const DEFAULT_LIMITS: MqttLimits = {
  connections: 18_000,
  packetBytes: 16_384,
  payloadBytes: 16_184,
  connectTimeoutSeconds: 10,
  receiveMaximum: 1_024,
  receivedIdentifiers: 16_384,
  inFlightMessages: 16,
  queueMessages: 1_000,
  queueBytes: 1_048_576,
  writeBytes: 1_048_576,
  writeStallSeconds: 60,
  heldBytes: 262_144,
  earlyBytes: 65_536,
  earlyBytesAll: 33_554_432,
  subscriptions: 100,
  topicFilterBytes: 1_024,
  sessionExpirySeconds: SESSION_EXPIRY_NEVER,
  offlineSessions: 10_000,
  rateMessagesPerSecond: 0,
  rateQueueMessages: 1_000,
  rateQueueBytes: 262_144,
};

/** Bytes of a PUBLISH beside its payload: fixed header, topic, properties. */
const PACKET_OVERHEAD_BYTES = DEFAULT_LIMITS.packetBytes - DEFAULT_LIMITS.payloadBytes;

/**
 * The limits that follow from the longest payload: what waits must have room for one packet, and as much beside it as
 * with the default.
 */
export function limitsOfPayload(
  payloadBytes: number,
): Pick<MqttLimits, 'payloadBytes' | 'packetBytes' | 'heldBytes' | 'earlyBytes' | 'rateQueueBytes'> {
  const packetBytes = payloadBytes + PACKET_OVERHEAD_BYTES;
  const more = Math.max(0, packetBytes - DEFAULT_LIMITS.packetBytes);
  const { heldBytes, earlyBytes, rateQueueBytes } = DEFAULT_LIMITS;
  return {
    payloadBytes,
    packetBytes,
    heldBytes: heldBytes + more,
    earlyBytes: Math.max(earlyBytes, packetBytes),
    rateQueueBytes: rateQueueBytes + more,
  };
}

/** Bytes of one message of a WebSocket beside the longest packet. */
const FRAME_ROOM_BYTES = 65_536;

/** Bytes of one message of a WebSocket, which the HTTP library holds until it is complete. */
export const frameBytesMax = ({ packetBytes, heldBytes }: Pick<MqttLimits, 'packetBytes' | 'heldBytes'>): number =>
  Math.min(heldBytes, packetBytes + FRAME_ROOM_BYTES);

/** Names of the limits, as counted by `Refusals.count` and named in reasons. */
export const LIMIT = {
  CONNECTIONS: 'mqtt/connections',
  CONNECTIONS_BEFORE_LOGIN: 'mqtt/connections-before-login',
  PROXY_HEADER: 'mqtt/proxy-header',
  CONNECTIONS_OF_USER: 'mqtt/connections-of-user',
  CONNECTIONS_OF_TENANT: 'mqtt/connections-of-tenant',
  PACKET_BYTES: 'mqtt/packet-bytes',
  PAYLOAD_BYTES: 'mqtt/payload-bytes',
  CONNECT_TIMEOUT: 'mqtt/connect-timeout',
  KEEP_ALIVE: 'mqtt/keep-alive',
  RECEIVE_MAXIMUM: 'mqtt/receive-maximum',
  RECEIVED_IDENTIFIERS: 'mqtt/received-identifiers',
  QUEUE_MESSAGES: 'mqtt/queue-messages',
  QUEUE_BYTES: 'mqtt/queue-bytes',
  WRITE_BYTES: 'mqtt/write-bytes',
  WRITE_STALL: 'mqtt/write-stall',
  CLIENT_PACKET_BYTES: 'mqtt/client-packet-bytes',
  HELD_BYTES: 'mqtt/held-bytes',
  EARLY_BYTES: 'mqtt/before-login-bytes',
  EARLY_BYTES_ALL: 'mqtt/before-login-bytes-all',
  FRAME_BYTES: 'mqtt/frame-bytes',
  SUBSCRIPTIONS: 'mqtt/subscriptions',
  TOPIC_FILTER_BYTES: 'mqtt/topic-filter-bytes',
  RATE_QUEUE_MESSAGES: 'mqtt/rate-queue-messages',
  RATE_QUEUE_BYTES: 'mqtt/rate-queue-bytes',
  RATE_DELAYED: 'mqtt/rate-delayed',
  SESSION_STORE: 'mqtt/session-store',
  WILL_RIGHTS: 'mqtt/will-rights',
  PROTOCOL: 'mqtt/protocol-error',
  INTERNAL: 'mqtt/internal-error',
} as const;
export type LimitName = (typeof LIMIT)[keyof typeof LIMIT];
