/** The bounds and times of the Bayeux server. Every count has its refusal, named in the second table. */

export interface BayeuxLimits {
  /** Sessions of all users; one user gets 80, one tenant 90 hundredths at most (pacing/shares.ts). */
  readonly sessions: number;
  readonly sessionsPerUser: number;
  /**
   * Sessions of one user that are subscribed to one channel, of users with tokens those of one login; one more ends the
   * oldest (docs/spec/realtime.md#sessions).
   */
  readonly sessionsPerUserAndChannel: number;
  readonly subscriptionsPerSession: number;
  /** Collections of templates that make the rows of one session (SmartREST 1.0). */
  readonly collectionsPerSession: number;
  /** Messages that wait in one session. */
  readonly queueMessages: number;
  /** Bytes that wait in one session. */
  readonly queueBytes: number;
  /** Bytes that wait in all sessions; the nearer it is, the less one session may keep. */
  readonly queueBytesAll: number;
  /** Notifications of one tenant and area that wait for the hierarchy port. */
  readonly hierarchyMessages: number;
  readonly hierarchyBytes: number;
  /** Bytes of one request body or WebSocket message. */
  readonly requestBytes: number;
  /** Messages in one request. */
  readonly batchMessages: number;
  /** WebSocket messages that wait while an earlier one is handled; one more ends the connection. */
  readonly webSocketPending: number;
  /** With more than this in the WebSocket's buffer nothing is delivered until it has drained. */
  readonly webSocketBufferedBytes: number;
  /** With more than this (answers to a client that does not read) the connection is ended. */
  readonly webSocketBufferedBytesMax: number;
  /** Deliveries in one WebSocket frame. */
  readonly frameBytes: number;
  /** How long a connect is held when the client names no time. */
  readonly timeoutMs: number;
  readonly timeoutMsMax: number;
  /** The longest pause between two connects that a client may ask for. */
  readonly intervalMsMax: number;
  /** How long a session lives, and its messages wait, without a connect, beyond its interval. */
  readonly sessionExpiryMs: number;
  /** A held long poll gets a blank this often. */
  readonly keepAliveMs: number;
}

export const BAYEUX_LIMITS: BayeuxLimits = {
  sessions: 10_000,
  sessionsPerUser: 200,
  sessionsPerUserAndChannel: 10,
  subscriptionsPerSession: 1_000,
  collectionsPerSession: 20,
  queueMessages: 1_000,
  queueBytes: 1_048_576,
  queueBytesAll: 134_217_728,
  hierarchyMessages: 10_000,
  hierarchyBytes: 8_388_608,
  requestBytes: 262_144,
  batchMessages: 100,
  webSocketPending: 64,
  webSocketBufferedBytes: 262_144,
  webSocketBufferedBytesMax: 4_194_304,
  frameBytes: 65_536,
  timeoutMs: 5_400_000,
  timeoutMsMax: 7_200_000,
  intervalMsMax: 600_000,
  sessionExpiryMs: 60_000,
  keepAliveMs: 600_000,
};

/** The names under which refusals and losses are counted, logged and told to the client. */
export const LIMIT_NAMES = {
  sessions: 'realtime/sessions',
  sessionsOfUser: 'realtime/sessions-of-user',
  sessionsOfTenant: 'realtime/sessions-of-tenant',
  sessionsAbandoned: 'realtime/sessions-abandoned',
  sessionsPerUser: 'realtime/sessions-per-user',
  sessionsPerUserAndChannel: 'realtime/sessions-per-user-and-channel',
  subscriptions: 'realtime/subscriptions',
  trafficWatchers: 'realtime/traffic-watchers',
  collections: 'realtime/collections',
  queueMessages: 'realtime/queue-messages',
  queueBytes: 'realtime/queue-bytes',
  queueBytesAll: 'realtime/queue-bytes-all',
  hierarchy: 'realtime/hierarchy-queue',
  requestBytes: 'realtime/request-bytes',
  batchMessages: 'realtime/batch-messages',
  webSocketPending: 'realtime/websocket-pending',
  webSocketBuffer: 'realtime/websocket-buffer',
} as const;
