/** The sessions of the Bayeux server, with the bounds on their number (docs/spec/realtime.md#sessions). */
import type { Refused } from '../../ports/refusals.ts';
import { refusedOf } from './loss-report.ts';
import { dependsOn } from '../../model/access/principal.ts';
import type { Principal } from '../../model/access/principal.ts';
import { Shares } from '../../pacing/shares.ts';
import type { AgentPresence } from './agent-presence.ts';
import { LIMIT_NAMES } from './limits.ts';
import type { BayeuxLimits } from './limits.ts';
import { AGENT_FAMILY, isTraffic } from './channel.ts';
import type { Channel, TrafficChannel } from './channel.ts';
import { UNKNOWN_CLIENT, errorText } from './message.ts';
import type { Answer } from './message.ts';
import type { BayeuxRouter } from './router.ts';
import type { BayeuxSession } from './session.ts';
import { ObjectSubscriptions } from './object-subscriptions.ts';
import type { ObjectSubscriptionsOptions } from './object-subscriptions.ts';

/** A client that is this late with its next connect counts as gone when its user needs the place. */
const ABANDONED_MS = 10_000;

export class BayeuxSessions {
  readonly #limits: BayeuxLimits;
  readonly #router: BayeuxRouter;
  readonly #onRefused: (limit: string, refused: Refused) => void;
  readonly #presence: AgentPresence;
  readonly #sessions = new Map<string, BayeuxSession>();
  readonly #byUser = new Map<string, Set<BayeuxSession>>();
  readonly #shares: Shares;
  /** Sessions whose clients have not connected yet, the oldest first. */
  readonly #unconnected = new Set<BayeuxSession>();
  /** The sessions of a user, or of one login of his with a token, on a channel, the oldest subscription first. */
  readonly #byUserAndChannel = new Map<string, Set<BayeuxSession>>();

  /** Those of its subscriptions that objects have opened. */
  readonly ofObjects: ObjectSubscriptions<BayeuxSession>;

  constructor(
    options: {
      limits: BayeuxLimits;
      router: BayeuxRouter;
      presence: AgentPresence;
      onRefused: (limit: string, refused: Refused) => void;
    } & Pick<ObjectSubscriptionsOptions<BayeuxSession>, 'access' | 'clock' | 'log'>,
  ) {
    this.ofObjects = new ObjectSubscriptions({ ...options, end: (session) => this.end(session, UNKNOWN_CLIENT) });
    this.#limits = options.limits;
    this.#shares = new Shares(LIMIT_NAMES.sessions, options.limits.sessions);
    this.#router = options.router;
    this.#presence = options.presence;
    this.#onRefused = options.onRefused;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /**
   * Room for another session of the user. Sessions that their clients have left are ended for it: those that never
   * connected first.
   * @returns the limit that keeps the user from it, counted, or undefined when there is room.
   */
  refusal(principal: Principal): { limit: string; maximum: number } | undefined {
    for (;;) {
      const limit = this.#limitOf(principal);
      if (limit === undefined) return undefined;
      const abandoned = this.#abandonedBy(principal, limit);
      if (abandoned === undefined) {
        this.#onRefused(limit, refusedOf(principal));
        return {
          limit,
          maximum: limit === LIMIT_NAMES.sessionsPerUser ? this.#limits.sessionsPerUser : this.#limits.sessions,
        };
      }
      this.#onRefused(LIMIT_NAMES.sessionsAbandoned, refusedOf(abandoned.principal));
      this.end(abandoned, UNKNOWN_CLIENT);
    }
  }

  #limitOf(principal: Principal): string | undefined {
    if ((this.#byUser.get(userKey(principal))?.size ?? 0) >= this.#limits.sessionsPerUser)
      return LIMIT_NAMES.sessionsPerUser;
    return this.#shares.refusal(principal.tenantNumber, principal.userName);
  }

  /** A session that its client has left, of those that `limit` counts. */
  #abandonedBy(principal: Principal, limit: string): BayeuxSession | undefined {
    if (limit === LIMIT_NAMES.sessions) return this.#unconnected.values().next().value;
    if (limit === LIMIT_NAMES.sessionsOfTenant) {
      for (const session of this.#unconnected)
        if (session.principal.tenantNumber === principal.tenantNumber) return session;
      return undefined;
    }
    let longest: BayeuxSession | undefined;
    for (const session of this.#byUser.get(userKey(principal)) ?? []) {
      if (this.#unconnected.has(session)) return session;
      if (session.overdueMs >= ABANDONED_MS && session.overdueMs > (longest?.overdueMs ?? 0)) longest = session;
    }
    return longest;
  }

  /** The session's client has connected. */
  connected(session: BayeuxSession): void {
    this.#unconnected.delete(session);
  }

  add(session: BayeuxSession): void {
    this.#sessions.set(session.clientId, session);
    this.#unconnected.add(session);
    this.#shares.add(session.principal.tenantNumber, session.principal.userName);
    addTo(this.#byUser, userKey(session.principal), session);
  }

  /**
   * @param principal who asks: must be the user of the session. Undefined for a request without credentials: then the
   * session must be one that was authenticated by its handshake message, and its secret client id is what proves it.
   */
  find(clientId: string, principal: Principal | undefined): BayeuxSession | undefined {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return undefined;
    // A client asks again with each connect: a session outlives its token by one connect at most.
    if (session.principal.session !== undefined && session.principal.session.expiresAt <= Date.now()) {
      this.end(session, UNKNOWN_CLIENT);
      return undefined;
    }
    if (principal === undefined) return session.isAuthenticatedByMessage ? session : undefined;
    return userKey(session.principal) === userKey(principal) ? session : undefined;
  }

  /** Whether the session may watch more traffic. @param channels some may be its own already. */
  hasRoomForTraffic(session: BayeuxSession, channels: readonly TrafficChannel[]): boolean {
    const count = channels.filter(({ text }) => !session.channels.has(text)).length;
    return count === 0 || this.#router.hasRoomForTraffic(session.principal.tenantNumber, count);
  }

  /**
   * Subscribes; the oldest of the sessions that count together on the channel ends when there are too many.
   * @param by.isAgent whether the channel is an agent's, and the session its own. @param by.openers the objects that
   * open it, none for a role.
   */
  subscribe(
    session: BayeuxSession,
    channel: Channel,
    { isAgent = false, openers = [] }: { isAgent?: boolean; openers?: readonly string[] } = {},
  ): void {
    if (session.hasEnded || session.channels.has(channel.text)) return;
    session.channels.set(channel.text, channel);
    this.#router.add(session.principal.tenantNumber, channel, session);
    if (!isTraffic(channel)) {
      if (openers.length > 0) this.ofObjects.add(session, channel, openers);
      if (isAgent && channel.id !== undefined) this.#presence.subscribed(session, channel.id);
    }
    const key = channelKey(session, channel);
    addTo(this.#byUserAndChannel, key, session);
    const sessions = this.#byUserAndChannel.get(key) as Set<BayeuxSession>;
    if (sessions.size <= this.#limits.sessionsPerUserAndChannel) return;
    const [oldest] = sessions;
    this.#onRefused(LIMIT_NAMES.sessionsPerUserAndChannel, refusedOf(oldest.principal));
    this.end(oldest, tooManyOnChannel(channel, this.#limits.sessionsPerUserAndChannel));
  }

  unsubscribe(session: BayeuxSession, channelText: string): void {
    const channel = session.channels.get(channelText);
    if (channel === undefined) return;
    session.channels.delete(channelText);
    this.ofObjects.remove(session, channelText);
    this.#router.remove(session.principal.tenantNumber, channel, session);
    if (!isTraffic(channel) && channel.family === AGENT_FAMILY && channel.id !== undefined)
      this.#presence.unsubscribed(session, channel.id);
    removeFrom(this.#byUserAndChannel, channelKey(session, channel), session);
  }

  /** Ends a session; `answer` goes to a connect that is held. */
  end(session: BayeuxSession, answer: Answer): void {
    for (const channelText of [...session.channels.keys()]) this.unsubscribe(session, channelText);
    this.#unconnected.delete(session);
    if (this.#sessions.delete(session.clientId))
      this.#shares.give(session.principal.tenantNumber, session.principal.userName);
    removeFrom(this.#byUser, userKey(session.principal), session);
    session.end(answer);
  }

  endAll(answer: Answer): void {
    for (const session of [...this.#sessions.values()]) this.end(session, answer);
  }

  /** Ends sessions that were opened with a token: of one user, or of all of the tenant. */
  endTokenSessions(tenant: string, userName: string | undefined, answer: Answer): void {
    for (const session of [...this.#sessions.values()]) {
      const { principal } = session;
      const isMeant =
        principal.session !== undefined &&
        principal.tenant === tenant &&
        (userName ?? principal.userName) === principal.userName;
      if (isMeant) this.end(session, answer);
    }
  }

  endDeviceSessions(tenant: number, answer: Answer): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.principal.tenantNumber === tenant && session.principal.ownRoles !== undefined)
        this.end(session, answer);
    }
  }

  /** Whose sessions these are. */
  *principals(): Generator<Principal> {
    for (const session of this.#sessions.values()) yield session.principal;
  }

  /** With those of its microservices in other tenants. */
  endTenant(tenant: number, answer: Answer): void {
    for (const session of [...this.#sessions.values()])
      if (dependsOn(session.principal, tenant)) this.end(session, answer);
  }

  endUser(tenant: string, userName: string, answer: Answer): void {
    const sessions = this.#byUser.get(userKey({ tenant, userName })) ?? [];
    for (const session of [...sessions]) this.end(session, answer);
  }
}

/** `none`: a client that came back would only push out the next. */
function tooManyOnChannel(channel: Channel, maximum: number): Answer {
  const text = `More than ${maximum} sessions of this user or login on the channel: the oldest was closed`;
  return {
    successful: false,
    error: errorText(403, channel.text, text),
    advice: { reconnect: 'none' },
    ext: { limit: LIMIT_NAMES.sessionsPerUserAndChannel, maximum },
  };
}

function userKey(user: { tenant: string; userName: string }): string {
  return `${user.tenant}/${user.userName}`;
}

/** People who share an account are told apart by their logins: each login counts for itself. */
function channelKey({ principal }: BayeuxSession, channel: Channel): string {
  return `${userKey(principal)}\n${principal.session?.id ?? ''}\n${channel.text}`;
}

function addTo(map: Map<string, Set<BayeuxSession>>, key: string, session: BayeuxSession): void {
  const sessions = map.get(key);
  if (sessions === undefined) map.set(key, new Set([session]));
  else sessions.add(session);
}

function removeFrom(map: Map<string, Set<BayeuxSession>>, key: string, session: BayeuxSession): void {
  const sessions = map.get(key);
  sessions?.delete(session);
  if (sessions?.size === 0) map.delete(key);
}
