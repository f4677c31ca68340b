/**
 * The Bayeux server: live data for browsers, applications and agents (docs/spec/realtime.md). The HTTP server hands in
 * requests (`handle`) and WebSockets (`open`) of the URLs in `BAYEUX_URLS`; the live bus hands in notifications.
 */
import type { Refused } from '../../ports/refusals.ts';
import { refusedOf } from './loss-report.ts';
import { randomBytes } from 'node:crypto';
import type { LiveBus } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { TrafficWatching } from '../../ports/traffic.ts';
import { addUser } from '../../model/access/principal.ts';
import type { Authenticator, ConnectedUsers } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { AgentPresence } from './agent-presence.ts';
import type { HierarchyPort } from './ancestor-lookup.ts';
import type { MessageAuthenticators, TokenAuthenticator } from './authentication.ts';
import { BAYEUX_URLS } from './channel.ts';
import type { ObjectAccess } from './channel.ts';
import { BAYEUX_LIMITS } from './limits.ts';
import type { BayeuxLimits } from './limits.ts';
import { answerLongPoll } from './long-polling.ts';
import type { LongPollResponder } from './long-polling.ts';
import { parseRequests, RequestRefused, UNKNOWN_CLIENT } from './message.ts';
import type { Request } from './message.ts';
import { BayeuxProtocol } from './protocol.ts';
import type { Requester, SessionRequester } from './protocol.ts';
import { QueueBudget } from './queue.ts';
import { BayeuxRouter, type AgentSoftware } from './router.ts';
import { BayeuxSession } from './session.ts';
import { BayeuxSessions } from './sessions.ts';
import { BayeuxSocket } from './web-socket.ts';
import type { BayeuxChannel } from './web-socket.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { LossReport } from './loss-report.ts';
import type { RealtimeMetrics } from './loss-report.ts';
import type { PollsElsewhere } from './polls-elsewhere.ts';

export interface BayeuxOptions {
  readonly bus: LiveBus;
  readonly hierarchy: HierarchyPort;
  readonly software?: AgentSoftware;
  readonly traffic?: TrafficWatching;
  readonly authenticator: Authenticator;
  readonly log: Log;
  readonly refusals: Refusals;
  /** For tokens in `ext` that are no user and password. */
  readonly tokenAuthenticator?: TokenAuthenticator;
  readonly placeOf?: MessageAuthenticators['placeOf'];
  readonly mayUseBasic?: MessageAuthenticators['mayUseBasic'];
  /** Lets owners subscribe to their objects; without it roles alone decide. */
  readonly access?: ObjectAccess;
  readonly metrics?: RealtimeMetrics;
  readonly limits?: Partial<BayeuxLimits>;
  readonly clock?: Clock;
  /** A new client id: secret, 128 random bits. */
  readonly createClientId?: () => string;
  /** Sessions on other nodes; absent on a single one. */
  readonly elsewhere?: PollsElsewhere | undefined;
}

/** A stopping server: sessions do not survive it. */
const STOPPING = {
  successful: false,
  error: '503::The server is stopping',
  advice: { interval: 5_000, reconnect: 'handshake' },
} as const;

export class BayeuxServer {
  /** The paths that `handle` and `open` serve; `urlFormOf` knows the longer ones of CometD too. */
  readonly urls = BAYEUX_URLS;
  /** Agents that are connected here for their operations. */
  readonly presence = new AgentPresence();
  readonly #log: Log;
  readonly #limits: BayeuxLimits;
  readonly #clock: Clock;
  readonly #report: LossReport;
  readonly #budget: QueueBudget;
  readonly #sessions: BayeuxSessions;
  readonly #protocol: BayeuxProtocol;
  readonly #metrics: RealtimeMetrics | undefined;
  readonly #createClientId: () => string;
  readonly #elsewhere: PollsElsewhere | undefined;
  #ready: BayeuxSession[] = [];

  constructor(options: BayeuxOptions) {
    this.#log = options.log;
    this.#limits = { ...BAYEUX_LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#metrics = options.metrics;
    const { elsewhere } = options;
    this.#elsewhere = elsewhere;
    this.#createClientId =
      options.createClientId ?? (() => randomBytes(16).toString('hex') + (elsewhere?.clientIdEnd ?? ''));
    const { refusals, metrics, log } = options;
    this.#report = new LossReport({ refusals, metrics, log, now: () => this.#clock.now() });
    this.#budget = new QueueBudget(this.#limits.queueBytesAll);
    const onRefused = (limit: string, refused: Refused): void => this.#report.refused(limit, refused);
    const router = new BayeuxRouter({
      bus: options.bus,
      hierarchy: options.hierarchy,
      software: options.software,
      traffic: options.traffic,
      limits: this.#limits,
      clock: this.#clock,
      log,
    });
    this.#sessions = new BayeuxSessions({
      limits: this.#limits,
      router,
      presence: this.presence,
      onRefused,
      access: options.access,
      clock: this.#clock,
      log,
    });
    this.#protocol = new BayeuxProtocol({
      sessions: this.#sessions,
      limits: this.#limits,
      access: options.access,
      onRefused,
      authenticators: {
        authenticator: options.authenticator,
        tokenAuthenticator: options.tokenAuthenticator,
        placeOf: options.placeOf,
        mayUseBasic: options.mayUseBasic,
      },
      createSession: (handshake, requester) => this.#createSession(handshake, requester),
    });
    elsewhere?.start((text, requester, responder) => this.#answer(this.#parse(text, requester), requester, responder));
  }

  get sessionCount(): number {
    return this.#sessions.count;
  }

  get queuedMessageCount(): number {
    return this.#budget.messageCount;
  }

  get queuedBytes(): number {
    return this.#budget.usedBytes;
  }

  /**
   * Answers one POST. The answer comes later, perhaps much later.
   * @throws PlatformError 400 or 413 when the text is not a Bayeux request; the responder is unused then.
   */
  handle(text: string, requester: Requester, responder: LongPollResponder): void {
    const requests = this.#parse(text, requester);
    if (this.#elsewhere?.relay({ text, requests, requester }, responder) !== true)
      this.#answer(requests, requester, responder);
  }

  /** Takes a WebSocket. The caller tells the result of each text frame, of drains and of the end. */
  open(channel: BayeuxChannel, requester: Requester): BayeuxSocket {
    return new BayeuxSocket({
      channel,
      requester: { ...requester },
      protocol: this.#protocol,
      limits: this.#limits,
      log: this.#log,
      onRefused: (limit, refused) => this.#report.refused(limit, refused),
      elsewhere: this.#elsewhere,
    });
  }

  /** Ends the sessions of a user who was changed or removed: clients have to shake hands, and be checked, again. */
  endUser(tenant: string, userName: string): void {
    this.#sessions.endUser(tenant, userName, UNKNOWN_CLIENT);
  }

  /** Ends sessions whose token was ended by a logout: of one user, or of all of the tenant. */
  endTokenSessions(tenant: string, userName: string | undefined): void {
    this.#sessions.endTokenSessions(tenant, userName, UNKNOWN_CLIENT);
  }

  /** An object was changed or deleted: sessions that it has opened something to may end. */
  objectChanged(id: number): void {
    this.#sessions.ofObjects.objectChanged(String(id));
  }

  /** Links between objects have ended, or changes of objects may have been missed. */
  checkObjects(): void {
    this.#sessions.ofObjects.checkAll();
  }

  /** Ends sessions of registered devices: what their roles count for has changed. */
  endDeviceSessions(tenant: number): void {
    this.#sessions.endDeviceSessions(tenant, UNKNOWN_CLIENT);
  }

  /** Whose sessions these are, added to `users` by tenant. */
  addConnectedUsers(users: ConnectedUsers): void {
    for (const principal of this.#sessions.principals()) addUser(users, principal);
  }

  /** Ends the sessions of a tenant that was suspended or deleted. */
  endTenant(tenant: number): void {
    this.#sessions.endTenant(tenant, UNKNOWN_CLIENT);
  }

  /** Answers every held connect and ends all sessions. */
  close(): void {
    this.#elsewhere?.close();
    this.#sessions.endAll(STOPPING);
  }

  #parse(text: string, requester: Requester): Request[] {
    try {
      return parseRequests(text, this.#limits);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      if (error.limit !== undefined) this.#report.refused(error.limit, refusedOf(requester.principal));
      throw error.error;
    }
  }

  #answer(requests: readonly Request[], requester: Requester, responder: LongPollResponder): void {
    void answerLongPoll(requests, requester, responder, this.#protocol, this.#log);
  }

  #createSession(handshake: Request, requester: SessionRequester): BayeuxSession {
    return new BayeuxSession({
      ...requester,
      handshake,
      clientId: this.#createClientId(),
      limits: this.#limits,
      clock: this.#clock,
      budget: this.#budget,
      onLost: (limit) => this.#report.lost(limit, refusedOf(requester.principal)),
      onDelivered: (count) => this.#metrics?.delivered(count),
      onReady: (session) => this.#flushLater(session),
      onExpired: (session) => this.#sessions.end(session, UNKNOWN_CLIENT),
      onPresence: (session) => {
        this.#sessions.connected(session);
        this.presence.presenceChanged(session);
      },
    });
  }

  /** One flush for all sessions that got something in this turn of the event loop. */
  #flushLater(session: BayeuxSession): void {
    this.#ready.push(session);
    if (this.#ready.length === 1) this.#clock.setImmediate(() => this.#flush());
  }

  #flush(): void {
    const ready = this.#ready;
    this.#ready = [];
    for (const session of ready) {
      session.isReady = false;
      try {
        session.flush();
      } catch (error) {
        this.#log.error({ err: error, user: session.principal.userName }, 'a Bayeux session could not be written to');
        this.#sessions.end(session, UNKNOWN_CLIENT);
      }
    }
  }
}
