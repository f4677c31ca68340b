/**
 * The meta messages: what each answers (docs/spec/realtime.md#messages). Both transports hand their messages in here.
 */
import type { Refused } from '../../ports/refusals.ts';
import { refusedOf } from './loss-report.ts';
import type { LoginCaller, Principal } from '../../model/access/principal.ts';
import { authenticateToken, tfaTokenOf, tokenOf, xsrfTokenOf } from './authentication.ts';
import type { MessageAuthenticators } from './authentication.ts';
import { LIMIT_NAMES } from './limits.ts';
import type { BayeuxLimits } from './limits.ts';
import { AGENT_FAMILY, isTraffic, openedBy, parseChannel, rolesOf } from './channel.ts';
import type { Channel, ObjectAccess, UrlForm } from './channel.ts';
import { answerText, collectionsOf, errorText, textOf, UNKNOWN_CLIENT } from './message.ts';
import type { Answer, Request } from './message.ts';
import type { BayeuxSession, ConnectTransport } from './session.ts';
import type { BayeuxSessions } from './sessions.ts';

/** Who sends messages: the connection's credentials and URL. A WebSocket keeps the principal of its handshake. */
export interface Requester {
  /** Undefined without credentials: only `ext` in a message can help then. */
  principal: Principal | undefined;
  readonly urlForm: UrlForm;
  /** Under which it sees the server, for links; without it live data have none. */
  readonly baseUrl?: string | undefined;
  /** As the client or its proxy called the server: it names the tenant of a user in `ext` who names none. */
  readonly host?: string;
  /** Header User-Agent. */
  readonly userAgent?: string;
  /** The client, where a message brings user and password. */
  readonly caller?: LoginCaller;
  /**
   * Whom the cookie of the connection names, until a message proves that a page of ours opened it
   * (docs/spec/realtime.md#authentication).
   */
  ofCookie?: Principal | undefined;
  /** A session was opened for it, or it has named one that is its own. */
  hasSession?: boolean;
  /** Checks the credentials of the connection again. A request brings them each time: it has none. */
  readonly renew?: () => Promise<Pick<Requester, 'principal' | 'ofCookie'>>;
}

/** Where a connect is to be answered. */
export interface ConnectPlace {
  readonly transport: ConnectTransport;
  readonly mayHold: boolean;
  readonly isClosed: () => boolean;
}

export type SessionRequester = Pick<Requester, 'urlForm' | 'baseUrl'> & {
  readonly principal: Principal;
  readonly isAuthenticatedByMessage: boolean;
};
export type SessionFactory = (handshake: Request, requester: SessionRequester) => BayeuxSession;

export interface ProtocolOptions {
  readonly sessions: BayeuxSessions;
  readonly createSession: SessionFactory;
  readonly authenticators: MessageAuthenticators;
  readonly access: ObjectAccess | undefined;
  readonly limits: BayeuxLimits;
  readonly onRefused: (limit: string, refused: Refused) => void;
}

/** SmartREST's rows are messages before they come here (src/smartrest/one/live-rows.ts). */
const CONNECTION_TYPES = ['long-polling', 'smartrest-long-polling', 'websocket'];

/** How often the credentials of a handshake are checked whose user changes each time meanwhile. */
const CHECKS_MAX = 3;
/** The next handshake is checked again. */
const CHANGED_MEANWHILE: Answer = {
  successful: false,
  error: '401::The user was changed meanwhile',
  advice: { interval: 0, reconnect: 'handshake' },
};
const UNAUTHORIZED: Answer = { successful: false, error: '401::Unauthorized', advice: { reconnect: 'none' } };

export class BayeuxProtocol {
  readonly #options: ProtocolOptions;
  /** Connections whose principal came from a message: a later message may bring another. */
  readonly #byMessage = new WeakSet<Requester>();

  constructor(options: ProtocolOptions) {
    this.#options = options;
  }

  /** @returns the answer to a message that is not a connect. */
  async answer(request: Request, requester: Requester): Promise<string> {
    switch (request.channel) {
      case '/meta/handshake':
        return answerText(request, await this.#handshake(request, requester));
      case '/meta/subscribe':
        return answerText(request, await this.#subscribe(request, requester));
      case '/meta/unsubscribe':
        return answerText(request, await this.#unsubscribe(request, requester));
      case '/meta/disconnect':
        return answerText(request, await this.#disconnect(request, requester));
      default:
        return answerText(request, refusePublication(request));
    }
  }

  /**
   * Takes a connect: the session answers it through the transport.
   * @returns the answer when the session does not exist.
   */
  async connect(request: Request, requester: Requester, place: ConnectPlace): Promise<string | undefined> {
    const session = await this.#find(request, requester);
    if (session === undefined) return answerText(request, UNKNOWN_CLIENT);
    const refusal = this.#addCollections(session, request);
    if (refusal !== undefined) return answerText(request, refusal);
    // Rows without templates would be none: nothing is worth waiting for.
    const mayHold = place.mayHold && (collectionsOf(request) === undefined || session.collections.size > 0);
    // Looking for the session may have waited: a connect of a client that has gone would swallow what waits for it.
    if (!place.isClosed()) session.connect(request, place.transport, mayHold);
    return undefined;
  }

  async #handshake(request: Request, requester: Requester): Promise<Answer> {
    const identified = await this.#identify(request, requester);
    if ('successful' in identified) return identified;
    const { principal, isAuthenticatedByMessage } = identified;
    const { urlForm, baseUrl } = requester;
    const refusal = this.#options.sessions.refusal(principal);
    if (refusal !== undefined) {
      return { successful: false, error: '403::Handshake denied', advice: { reconnect: 'none' }, ext: refusal };
    }
    const session = this.#options.createSession(request, { principal, urlForm, baseUrl, isAuthenticatedByMessage });
    this.#options.sessions.add(session);
    requester.hasSession = true;
    const tooMany = this.#addCollections(session, request);
    if (tooMany !== undefined) {
      this.#options.sessions.end(session, tooMany);
      return tooMany;
    }
    return {
      clientId: session.clientId,
      version: '1.0',
      minimumVersion: '1.0',
      supportedConnectionTypes: CONNECTION_TYPES,
      ext: { ack: true },
      successful: true,
      data: null,
    };
  }

  /**
   * A session begins with what its user may do now: a WebSocket may be older than a change, and a change while
   * credentials were being checked has found no session to end. @returns the answer when there is none.
   */
  async #identify(
    request: Request,
    requester: Requester,
  ): Promise<Answer | Pick<SessionRequester, 'principal' | 'isAuthenticatedByMessage'>> {
    for (let tries = 1; tries <= CHECKS_MAX; tries += 1) {
      const isAuthenticatedByMessage = await this.#authenticate(request, requester);
      if (requester.principal === undefined) return UNAUTHORIZED;
      const principal = this.#options.authenticators.authenticator.current(requester.principal);
      if (principal !== undefined) {
        requester.principal = principal;
        return { principal, isAuthenticatedByMessage };
      }
      if (requester.renew === undefined && !isAuthenticatedByMessage) break;
      const renewed = await requester.renew?.();
      requester.principal = renewed?.principal;
      if (renewed !== undefined) requester.ofCookie = renewed.ofCookie;
    }
    return CHANGED_MEANWHILE;
  }

  /**
   * The credentials of the connection come first; `ext` is for connections without any.
   * @returns whether the requester's principal comes from a message, this or an earlier one.
   */
  async #authenticate(request: Request, requester: Requester): Promise<boolean> {
    const token = tokenOf(request);
    const isByMessage = this.#byMessage.has(requester);
    const { ofCookie } = requester;
    if (
      requester.principal === undefined &&
      ofCookie?.session !== undefined &&
      xsrfTokenOf(request) === ofCookie.session.xsrfToken
    ) {
      this.#byMessage.add(requester);
      requester.principal = ofCookie;
      return true;
    }
    if (token === undefined || (requester.principal !== undefined && !isByMessage)) return isByMessage;
    this.#byMessage.add(requester);
    const { host = '', userAgent = '', caller } = requester;
    requester.principal = await authenticateToken(
      { token, tfaToken: tfaTokenOf(request), host, userAgent, caller },
      this.#options.authenticators,
    );
    return true;
  }

  async #find(request: Request, requester: Requester): Promise<BayeuxSession | undefined> {
    if (requester.principal === undefined) await this.#authenticate(request, requester);
    const session = this.#options.sessions.find(textOf(request.clientId), requester.principal);
    if (session !== undefined) requester.hasSession = true;
    return session;
  }

  async #subscribe(request: Request, requester: Requester): Promise<Answer> {
    const session = await this.#find(request, requester);
    if (session === undefined) return { ...UNKNOWN_CLIENT, subscription: request.subscription };
    const { clientId } = session;
    const texts = subscriptionsOf(request);
    const refuse = (error: string): Answer => ({
      clientId,
      subscription: request.subscription,
      successful: false,
      error,
    });
    if (texts === undefined) return refuse('400::A subscription is a channel or an array of channels');
    const maximum = this.#options.limits.subscriptionsPerSession;
    if (session.channels.size + texts.length > maximum) {
      this.#options.onRefused(LIMIT_NAMES.subscriptions, refusedOf(session.principal));
      return refuse(
        errorText(403, texts[0], `More than ${maximum} subscriptions of a session (${LIMIT_NAMES.subscriptions})`),
      );
    }
    const { access } = this.#options;
    const channels: { channel: Channel; isAgent: boolean; openers: readonly string[] }[] = [];
    for (const text of texts) {
      const channel = parseChannel(text, session.urlForm);
      if (channel === undefined) return refuse(errorText(404, text, 'This URL has no such channel'));
      const openers = await openedBy(session.principal, channel, access);
      if (openers === undefined) {
        return refuse(errorText(403, text, `Access is denied: it takes ${rolesOf(channel).join(', ')}`));
      }
      const { principal } = session;
      channels.push({
        channel,
        openers,
        isAgent:
          !isTraffic(channel) &&
          channel.family === AGENT_FAMILY &&
          (await access?.isOwner(principal, channel.id as string)) === true,
      });
    }
    // The checks may have waited: the session may have ended meanwhile.
    if (session.hasEnded) return { ...UNKNOWN_CLIENT, subscription: request.subscription };
    const refusal = this.#addCollections(session, request);
    if (refusal !== undefined) return { ...refusal, subscription: request.subscription };
    const watched = channels.map(({ channel }) => channel).filter(isTraffic);
    if (!this.#options.sessions.hasRoomForTraffic(session, watched)) {
      this.#options.onRefused(LIMIT_NAMES.trafficWatchers, refusedOf(session.principal));
      const text = `The tenant or the server has too many watchers of traffic (${LIMIT_NAMES.trafficWatchers})`;
      return refuse(errorText(403, watched[0].text, text));
    }
    for (const { channel, isAgent, openers } of channels)
      this.#options.sessions.subscribe(session, channel, { isAgent, openers });
    return { clientId, subscription: request.subscription, successful: true };
  }

  /** @returns the answer to a message that names more collections than a session has; then none is added. */
  #addCollections(session: BayeuxSession, request: Request): Answer | undefined {
    const { clientId, collections } = session;
    const added = (collectionsOf(request) ?? []).filter((xid) => !collections.has(xid));
    const maximum = this.#options.limits.collectionsPerSession;
    if (collections.size + new Set(added).size > maximum) {
      this.#options.onRefused(LIMIT_NAMES.collections, refusedOf(session.principal));
      const text = `More than ${maximum} collections of a session (${LIMIT_NAMES.collections})`;
      return { clientId, successful: false, error: errorText(403, added[0], text), advice: { reconnect: 'none' } };
    }
    for (const xid of added) collections.add(xid);
    return undefined;
  }

  async #unsubscribe(request: Request, requester: Requester): Promise<Answer> {
    const session = await this.#find(request, requester);
    if (session === undefined) return { ...UNKNOWN_CLIENT, subscription: request.subscription };
    const answer = { clientId: session.clientId, subscription: request.subscription };
    const texts = subscriptionsOf(request);
    if (texts === undefined)
      return { ...answer, successful: false, error: '400::A subscription is a channel or an array of channels' };
    for (const text of texts) this.#options.sessions.unsubscribe(session, text);
    return { ...answer, successful: true };
  }

  async #disconnect(request: Request, requester: Requester): Promise<Answer> {
    const session = await this.#find(request, requester);
    // No advice: a client that leaves shall not be asked to come back.
    if (session === undefined) return { successful: false, error: '402::Unknown client' };
    this.#options.sessions.end(session, { successful: true, advice: { reconnect: 'none' } });
    return { clientId: session.clientId, successful: true };
  }
}

function refusePublication(request: Request): Answer {
  const channel = textOf(request.channel);
  if (channel === '') return { successful: false, error: '400::A message has a channel' };
  if (channel.startsWith('/meta/'))
    return { successful: false, error: errorText(400, channel, 'Unknown meta channel') };
  return {
    successful: false,
    error: errorText(403, channel, 'Clients do not publish here: use the REST interface or MQTT'),
  };
}

/** @returns the channels of a subscribe or unsubscribe, at least one, or undefined. */
function subscriptionsOf(request: Request): string[] | undefined {
  const { subscription } = request;
  const texts: unknown[] = Array.isArray(subscription) ? [...new Set(subscription)] : [subscription];
  const isValid = texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '');
  return isValid ? (texts as string[]) : undefined;
}
