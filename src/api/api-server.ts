/**
 * The HTTP front end: takes a request through routing, authentication, roles, media types, body and validation to its
 * handler, and its answer back. Everything that all resources have in common is here or in the files that this one
 * uses.
 */
import { randomBytes } from 'node:crypto';
import { secondFactorError } from '../accounts/login/second-factor.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import { ANONYMOUS, type LoginCaller } from '../model/access/principal.ts';
import { ApiRequest, type RequestOwner } from './request/request.ts';
import {
  HeaderAuthentication,
  XSRF_HEADER,
  credentialsText,
  isCookie,
  isFromOwnPage,
  isRememberedPassword,
} from './request/authentication.ts';
import { baseUrlOf, calledAs, hostCalled, type CalledAs } from './http/base-url.ts';
import { APPLICATION_HEADERS } from './request/application-key.ts';
import { BYTES_BEFORE_LOGIN_MAX, BodyBudget } from './http/body-budget.ts';
import { guardOf } from './http/connection-guard.ts';
import { BrokenBody } from './http/body-stream.ts';
import { EarlySockets } from './http/early-sockets.ts';
import { TenantCors } from './request/cors.ts';
import {
  CROSS_SITE_LIMIT,
  crossSiteOrigin,
  isOfOtherOrigin,
  isSimpleType,
  refuseCrossSite,
} from './request/cross-site.ts';
import type { HttpExchange } from './http/exchange.ts';
import type { HttpLibrary } from './http/library.ts';
import { HttpServer } from './http/server.ts';
import { NO_PROXIES, callerAtHead, headerText } from './request/login-caller.ts';
import { STALLED_LIMIT } from './http/paced-answer.ts';
import { JSON_TYPE, parseAccept, parseContentType, vendorType } from './http/media-types.ts';
import { findChildrenOfDevice, isListOfDevice } from './lists/owner.ts';
import type { Platform } from './request/platform.ts';
import { checkContentType, chooseMediaType, headRefusal, mayReach, readJson, readMode } from './request/checks.ts';
import { requireRate } from './request/rate.ts';
import { parseQuery } from './request/schema/query-values.ts';
import type { Route } from './request/route.ts';
import { ANSWERED, type Answer } from './request/answer.ts';
import { Router, allowedMethods, type CompiledRoute } from './request/router.ts';
import type { TrustedProxies } from '../config/trusted-proxies.ts';
import type { Upgraded, WebSocketHandlers } from './http/web-socket.ts';

export class ApiServer implements RequestOwner {
  readonly router: Router;
  /** What all request bodies together may take. */
  readonly bodies: BodyBudget;
  readonly early: EarlySockets;
  private readonly platform: Platform;
  private readonly server: HttpServer;
  private readonly authentication: HeaderAuthentication;
  private readonly cors: TenantCors;

  /** @param routes the whole table, see routes.ts. */
  constructor(platform: Platform, routes: readonly Route[], library: HttpLibrary) {
    this.platform = platform;
    this.router = new Router(routes);
    this.authentication = new HeaderAuthentication({
      authenticator: platform.authenticator,
      tokens: platform.accounts.tokens,
      tenants: platform.tenants,
      now: () => platform.now(),
    });
    this.cors = new TenantCors(platform);
    const {
      bodiesBytesMax,
      bodiesMax,
      bodiesEarlyBytesMax,
      bodiesEarlyMax,
      bodiesPausedMsMax,
      bodyMaxBytes,
      jsonBodyMaxBytes,
      answerStalledMsMax,
      requestsMax,
      answersBytesMax,
    } = platform.config;
    this.bodies = new BodyBudget({
      bytesMax: bodiesBytesMax,
      bodiesMax,
      earlyBytesMax: bodiesEarlyBytesMax,
      earlyBodiesMax: bodiesEarlyMax,
      pausedMsMax: bodiesPausedMsMax,
      largestBytes: Math.max(bodyMaxBytes, jsonBodyMaxBytes),
      refusals: platform.refusals,
      requestsMax,
      answersBytesMax,
    });
    this.early = new EarlySockets(platform);
    this.server = new HttpServer({
      library,
      early: this.early,
      ...guardOf(platform),
      log: platform.log,
      bodies: this.bodies,
      stalledMsMax: answerStalledMsMax,
      onStalled: (exchange) => this.reportStalled(exchange),
      onRequest: (exchange) => this.accept(exchange),
      onFailure: (exchange, error) =>
        this.fail((exchange.context as ApiRequest | undefined) ?? this.requestOf(exchange), error),
    });
  }

  /** Registers a WebSocket route; before `listen`. */
  webSocket(path: string, handlers: WebSocketHandlers): void {
    this.server.webSocket(path, handlers);
  }

  /** @param options.port 0 = any free one. @returns the port. */
  listen(options: { readonly host: string; readonly port: number }): Promise<number> {
    return this.server.listen(options);
  }

  /** Takes no new connections. */
  stopListening(): void {
    this.server.stopListening();
  }

  /** Stops listening, ends WebSockets, lets answers under way finish for `drainMs`, then closes every connection. */
  close(drainMs: number): Promise<void> {
    return this.server.close(drainMs);
  }

  get requestCount(): number {
    return this.server.requestCount;
  }

  /** Open connections that are no WebSockets. */
  get connectionCount(): number {
    return this.server.connectionCount;
  }

  get webSocketCount(): number {
    return this.server.webSocketCount;
  }

  get proxies(): TrustedProxies {
    return this.platform.config.trustedProxies ?? NO_PROXIES;
  }

  private requestOf(exchange: HttpExchange): ApiRequest {
    const request = new ApiRequest(this.platform, exchange, this);
    exchange.context = request;
    if (exchange.method === 'HEAD') request.method = 'GET';
    request.accept = parseAccept(exchange.header('accept'));
    request.origin = exchange.header('origin');
    // Also with a base URL of the configuration: the host names the tenant.
    const hops = this.proxies.hopsOf(exchange);
    // Where the first value counts it is in the first line.
    const called = calledAs(
      (name) => (hops > 0 && hops < Infinity ? exchange.headerValues(name).join(',') : exchange.header(name)),
      hops,
    );
    request.called = called;
    if (request.origin !== '') request.calledHost = hostCalled(called);
    return request;
  }

  private accept(exchange: HttpExchange): void {
    const request = this.requestOf(exchange);
    const refusal = headRefusal(exchange, this.platform);
    if (refusal !== undefined) {
      this.fail(request, refusal);
      return;
    }
    if (exchange.method === 'OPTIONS') {
      exchange.respond(204, this.cors.of(request).preflightHeaders(request.origin), '');
      return;
    }
    if (exchange.method === 'POST') this.overrideMethod(request);
    const match = this.router.find(exchange.path, request.method);
    request.compiled = match?.entry.methods.get(request.method);
    if (match !== undefined) request.params = match.params;
    if (request.compiled !== undefined) this.readHead(request, request.compiled.route);
    const access = request.compiled?.route.access ?? 'user';
    const credentials =
      access === 'public'
        ? ''
        : credentialsText({ authorization: exchange.header('authorization'), cookie: exchange.header('cookie') });
    if (request.method !== 'GET') this.lookForOtherPage(request, credentials);
    if (credentials === '') {
      if (access !== 'public' && access !== 'optional')
        this.challenge(request, new PlatformError('general/no-credentials'));
      else this.authoriseAnonymous(request);
      return;
    }
    if (this.platform.usage !== undefined)
      request.isOfApplication = APPLICATION_HEADERS.some((name) => exchange.header(name) !== '');
    if (isCookie(credentials)) request.xsrfToken = exchange.header(XSRF_HEADER);
    if (this.platform.basicRestrictions?.isAny === true) request.userAgent = exchange.header('user-agent');
    let principal: ReturnType<HeaderAuthentication['authenticate']>;
    try {
      principal = this.authentication.authenticate(
        credentials,
        () => (request.called === undefined ? '' : hostCalled(request.called)),
        () => ({
          tfaToken: exchange.header('tfatoken'),
          handlesSecondFactor: true,
          caller: callerAtHead(request, this.proxies),
        }),
      );
    } catch (error) {
      this.fail(request, error);
      return;
    }
    if (principal instanceof Promise) this.awaitPrincipal(request, principal);
    else this.identified(request, principal);
  }

  /** @param principal undefined when the credentials are wrong, or `refusal` says why they are not taken. */
  private identified(
    request: ApiRequest,
    principal: ApiRequest['principal'] | undefined,
    refusal?: PlatformError,
  ): void {
    if (principal === undefined) {
      const { access, takesEndedCookie } = request.compiled?.route ?? {};
      // A page cannot take an HttpOnly cookie away: what is for everybody is so beside one that has ended, too.
      if (request.xsrfToken !== undefined && (access === 'optional' || takesEndedCookie === true))
        this.authorise(request);
      else this.challenge(request, refusal ?? new PlatformError('security/unauthorized'));
      return;
    }
    if (request.xsrfToken !== undefined && !isFromOwnPage(principal, request.xsrfToken)) {
      if (request.compiled?.route.access !== 'optional') {
        this.challenge(request, new PlatformError('login/no-xsrf-token'));
        return;
      }
      // Bayeux: the other half may come in a message.
      request.principalOfCookie = principal;
      this.authorise(request);
      return;
    }
    if (!this.mayLogIn(principal, request.userAgent)) {
      this.challenge(request, new PlatformError('login/basic-forbidden'));
      return;
    }
    if (principal.secondFactor !== undefined && request.compiled?.route.isForSecondFactor !== true) {
      this.challenge(request, secondFactorError(principal.secondFactor));
      return;
    }
    request.principal = principal;
    if (this.isCrossSite(request)) return;
    try {
      if (this.platform.rates !== undefined) requireRate(request, this.platform.rates.take(principal));
      this.bodies.shares.begin(request.exchange, principal);
    } catch (error) {
      this.fail(request, error);
      return;
    }
    this.authorise(request);
  }

  /** Costs a comparison where a body is JSON, as of devices. */
  private lookForOtherPage(request: ApiRequest, credentials: string): void {
    const { compiled, contentType, exchange } = request;
    if (compiled === undefined || !isSimpleType(contentType)) return;
    if (!isRememberedPassword(credentials) && compiled.route.setsCookies !== true) return;
    request.crossSiteOrigin = crossSiteOrigin((name) => exchange.header(name), this.ownHosts(request.called));
  }

  /** Under which names pages of this server are called: as the client and its proxy tell, and as it is set. */
  private ownHosts(called: CalledAs | undefined): string[] {
    const { baseUrl } = this.platform.config;
    return [
      ...(called === undefined ? [] : [called.host, hostCalled(called)]),
      ...(baseUrl === undefined ? [] : [new URL(baseUrl).host]),
    ];
  }

  /** Answers a request that the page of another site may have made its user's browser send. @returns whether it did. */
  private isCrossSite(request: ApiRequest): boolean {
    const origin = request.crossSiteOrigin;
    if (origin === undefined) return false;
    try {
      refuseCrossSite(origin, this.cors.of(request).isNamed(origin), this.platform.refusals);
      return false;
    } catch (error) {
      this.fail(request, error);
      return true;
    }
  }

  private authoriseAnonymous(request: ApiRequest): void {
    request.isAnonymous = true;
    if (this.isCrossSite(request)) return;
    if (request.compiled?.route.body !== undefined)
      request.exchange.awaitIdentity(BYTES_BEFORE_LOGIN_MAX, callerAtHead(request, this.proxies).address.key);
    this.authorise(request);
  }

  /** The body has to be collected meanwhile, its first part: its data comes once. */
  private awaitPrincipal(request: ApiRequest, principal: Promise<ApiRequest['principal'] | undefined>): void {
    request.wantsXBasic = request.exchange.header('usexbasic').toLowerCase() === 'true';
    if (request.compiled?.route.body !== undefined) {
      request.exchange.awaitIdentity(BYTES_BEFORE_LOGIN_MAX);
      // The check may wait long and holds the request: what counts no more has to be free.
      request.exchange.onAborted(() => request.leave());
      this.readBody(request);
    }
    principal
      .then((found) => {
        if (request.exchange.isOver) return;
        if (found !== undefined) request.exchange.identified();
        this.identified(request, found);
      })
      .catch((error: unknown) => {
        if (request.exchange.isOver) return;
        // Then the credentials have ended with it.
        if (error instanceof PlatformError && error.code === 'login/tenant-suspended')
          this.identified(request, undefined, error);
        else this.fail(request, error);
      });
  }

  /** Who opens a WebSocket; undefined without credentials. */
  identifyUpgrade(
    channel: Upgraded,
    caller: LoginCaller,
  ): { principal: ReturnType<HeaderAuthentication['authenticate']>; isOfCookie: boolean } | undefined {
    const header = (name: string): string => channel.head.headers.get(name) ?? '';
    const called = this.calledBy(channel);
    const credentials = credentialsText({ authorization: header('authorization'), cookie: header('cookie') });
    if (credentials === '') return undefined;
    // No page can set a header of an upgrade: the browser has added them by itself. A page of another origin logs in by
    // its messages.
    const isNamed = (): boolean =>
      this.cors.of({ principal: ANONYMOUS, calledHost: hostCalled(called) }).isNamed(header('origin'));
    if (isOfOtherOrigin(header, this.ownHosts(called)) && !isNamed()) {
      this.platform.refusals.count(CROSS_SITE_LIMIT);
      return undefined;
    }
    try {
      const found = this.authentication.authenticate(
        credentials,
        () => hostCalled(called),
        () => ({ tfaToken: header('tfatoken'), caller }),
      );
      const taken = (principal: ApiRequest['principal'] | undefined): ApiRequest['principal'] | undefined => {
        if (principal !== undefined && !this.mayLogIn(principal, header('user-agent')))
          throw new PlatformError('login/basic-forbidden');
        return principal;
      };
      return {
        principal: found instanceof Promise ? found.then(taken) : taken(found),
        isOfCookie: isCookie(credentials),
      };
    } catch (error) {
      return { principal: Promise.reject(error as Error), isOfCookie: false };
    }
  }

  private calledBy({ head, remoteAddress }: Upgraded): CalledAs {
    return calledAs((name) => head.headers.get(name) ?? '', this.proxies.hopsOf({ remoteAddress }));
  }

  /** Without a session it came with user and password: whether the tenant takes them from this user agent. */
  private mayLogIn({ session, tenantNumber }: ApiRequest['principal'], userAgent: string): boolean {
    return session !== undefined || this.platform.basicRestrictions?.mayUseBasic(tenantNumber, userAgent) !== false;
  }

  /** Start of links for the client of a WebSocket, and the host that was called. */
  calledByUpgrade(channel: Upgraded): { readonly baseUrl: string; readonly host: string } {
    const called = this.calledBy(channel);
    return { baseUrl: baseUrlOf(this.platform.config.baseUrl, called), host: hostCalled(called) };
  }

  private overrideMethod(request: ApiRequest): void {
    const name = request.exchange.header('x-http-method').toUpperCase();
    if (name === 'PUT' || name === 'DELETE') request.method = name;
  }

  private readHead(request: ApiRequest, route: ApiRequest['route']): void {
    const { exchange } = request;
    if (request.method === 'GET') {
      request.skipsFlush = exchange.header('x-millrace-no-flush') === 'true';
    } else {
      request.applicationKey =
        exchange.header('x-platform-application-key') || exchange.header('x-cumulocity-application-key');
      request.isDeviceTraffic = request.applicationKey === '';
      request.contentType = parseContentType(exchange.header('content-type'));
      request.modeName =
        exchange.header('x-platform-processing-mode') || exchange.header('x-cumulocity-processing-mode');
    }
    const shown =
      route.takesCertificate === true && this.proxies.hopsOf(exchange) > 0
        ? this.platform.config.deviceCertificateHeader
        : undefined;
    if (shown !== undefined) request.certificateHeaders = exchange.headerValues(shown);
    if (route.headers !== undefined)
      request.headers = Object.fromEntries(route.headers.map((name) => [name, headerText(exchange, name)]));
  }

  /** Who asks is known: may he? */
  private authorise(request: ApiRequest): void {
    try {
      const { compiled } = request;
      if (compiled === undefined) {
        this.refuseRoute(request);
        return;
      }
      const { route } = compiled;
      if (route.access === 'roles' && !request.isPrivileged) throw new PlatformError('security/forbidden');
      if (!mayReach(request.principal, route)) throw new PlatformError('security/forbidden');
      if (route.body !== undefined) checkContentType(request, route);
      request.isAuthorised = true;
      if (route.body !== undefined && !request.isBodyComplete) this.readBody(request);
      if (route.body === undefined || request.isBodyComplete || request.bodyStream !== undefined) this.run(request);
    } catch (error) {
      this.fail(request, error);
    }
  }

  private refuseRoute(request: ApiRequest): void {
    const { method, path } = request.exchange;
    const entry = this.router.find(path, request.method)?.entry;
    if (entry === undefined) throw new PlatformError('general/unknown-path', { path });
    const allowed = allowedMethods(entry);
    this.answerError(request, new PlatformError('general/method-not-allowed', { method, path, allowed }), [
      'Allow',
      allowed,
    ]);
  }

  /** Nothing happens when it is being read already: `authorise` came later than the first part of it. */
  private readBody(request: ApiRequest): void {
    if (request.isReadingBody) return;
    request.isReadingBody = true;
    if (request.route.body?.form === 'stream') {
      // Back-pressure bounds what waits, also while a password is being checked.
      request.bodyStream = request.exchange.streamBody();
      return;
    }
    request.exchange.readBody(this.bodyBytesMax(request), this.onBody);
  }

  /** Bytes that a body may have. */
  private bodyBytesMax({ route, isAnonymous }: ApiRequest): number {
    const { bodyMaxBytes, jsonBodyMaxBytes } = this.platform.config;
    const limit = route.body?.limit === 'large' ? bodyMaxBytes : jsonBodyMaxBytes;
    return isAnonymous ? Math.min(limit, BYTES_BEFORE_LOGIN_MAX) : limit;
  }

  private readonly onBody = (exchange: HttpExchange, body: Buffer | undefined, refused?: string): void => {
    const request = exchange.context as ApiRequest;
    if (body === undefined) {
      const { refusals } = this.platform;
      if (refused !== undefined) {
        refusals.count(refused);
        this.fail(request, refusedBy(refused));
        return;
      }
      refusals.count('http/body-bytes');
      this.fail(request, new PlatformError('general/payload-too-large', { limit: this.bodyBytesMax(request) }));
      return;
    }
    request.body = body;
    request.isBodyComplete = true;
    if (request.isAuthorised) this.run(request);
  };

  private run(request: ApiRequest): void {
    try {
      const compiled = request.compiled as CompiledRoute;
      const { route } = compiled;
      request.query = parseQuery(request.exchange.queryText);
      compiled.checkQuery?.(request.query);
      chooseMediaType(request, route);
      if (request.modeName !== '') readMode(request);
      if (route.body !== undefined && (route.body.form ?? 'json') === 'json') readJson(request, compiled);
      const answer = isListOfDevice(request)
        ? findChildrenOfDevice(request).then(() => route.handle(request))
        : route.handle(request);
      if (answer === ANSWERED) return;
      if (answer instanceof Promise) {
        answer
          .then((later) => {
            if (later !== ANSWERED) this.answer(request, later);
          })
          .catch((error: unknown) => this.fail(request, error));
        return;
      }
      this.answer(request, answer);
    } catch (error) {
      this.fail(request, error);
    }
  }

  answer(request: ApiRequest, answer: Answer): void {
    const headers: string[] = [];
    let { text } = answer;
    // What a write has done must be told.
    const limit = request.method === 'GET' ? this.bodies.shares.takeAnswer(request.exchange, text.length) : undefined;
    if (limit !== undefined) return this.fail(request, refusedBy(limit));
    if (text !== '' && !request.wantsBody && answer.status < 300) text = '';
    if (text !== '') {
      const type =
        answer.contentType ??
        (request.kind === 'json' ? JSON_TYPE : vendorType(answer.mediaType ?? 'entity', request.accept.isBranded));
      headers.push('Content-Type', type, 'X-Content-Type-Options', 'nosniff');
    }
    if (answer.location !== undefined) headers.push('Location', answer.location);
    if (answer.headers !== undefined) headers.push(...answer.headers);
    this.respond(request, answer.status, headers, text);
  }

  stream(request: ApiRequest, status: number, contentType: string): void {
    request.exchange.startStream(
      status,
      this.beginAnswer(request, ['Content-Type', contentType, 'X-Content-Type-Options', 'nosniff']),
    );
    this.platform.onAnswered?.(request.method, status, undefined);
  }

  async sendContent(
    request: ApiRequest,
    status: number,
    headers: readonly string[],
    totalBytes: number,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const all = this.beginAnswer(request, headers);
    this.platform.onAnswered?.(request.method, status, undefined);
    await request.exchange.respondSized(status, all, totalBytes, pieces);
  }

  /** Counts the request. @returns the headers with those that every answer has, however it is sent. */
  private beginAnswer(request: ApiRequest, headers: readonly string[]): readonly string[] {
    this.count(request);
    const { rateHeaders, origin } = request;
    if (rateHeaders.length === 0 && origin === '') return headers;
    return [...headers, ...rateHeaders, ...(origin === '' ? [] : this.cors.of(request).headers(origin))];
  }

  /** For the statistics of the tenant. */
  private count({ principal, isOfApplication }: ApiRequest): void {
    const { usage } = this.platform;
    if (usage === undefined || principal.tenantNumber === 0) return;
    usage.count(principal.tenantNumber, 'requests');
    if (!isOfApplication) usage.count(principal.tenantNumber, 'device_requests');
  }

  private reportStalled({ method, path }: HttpExchange): void {
    this.platform.refusals.count(STALLED_LIMIT);
    this.platform.log.warn(
      { method, path, limit: STALLED_LIMIT },
      'an answer was broken off: its client takes nothing of it',
    );
  }

  fail(request: ApiRequest, error: unknown): void {
    if (request.exchange.isOver && (error instanceof BrokenBody || error === request.exchange.signal.reason)) return;
    if (error instanceof PlatformError) {
      if (request.bodyStream !== undefined && 'limit' in error) this.platform.refusals.count(String(error.limit));
      // Who obeyed it would have a stored command carried out twice.
      const isToRepeat = error.status === 429 || (error.status === 503 && !error.code.startsWith('commands/'));
      this.answerError(
        request,
        error,
        isToRepeat ? ['Retry-After', String(error.details['retryAfterSeconds'] ?? 1)] : [],
      );
      return;
    }
    const reference = randomBytes(6).toString('hex');
    this.platform.log.error(
      { err: error, reference, method: request.method, path: request.exchange.path },
      'a request failed',
    );
    this.answerError(request, new PlatformError('general/internal', { reference }), []);
  }

  private challenge(request: ApiRequest, error: PlatformError): void {
    const wantsXBasic = request.wantsXBasic || request.exchange.header('usexbasic').toLowerCase() === 'true';
    this.answerError(request, error, ['WWW-Authenticate', `${wantsXBasic ? 'XBasic' : 'Basic'} realm="Millrace"`]);
  }

  private answerError(request: ApiRequest, error: PlatformError, headers: readonly string[]): void {
    if (request.exchange.isOver) return;
    if (error.status === 401 || error.status === 403) this.countRefusal(request, error);
    const type = vendorType('error', request.accept.isBranded);
    const text = JSON.stringify({ error: error.error, message: error.message, info: `${request.baseUrl}/openapi` });
    this.respond(request, error.status, ['Content-Type', type, ...headers], text);
  }

  private countRefusal({ method, exchange }: ApiRequest, { status, code, message }: PlatformError): void {
    const { refusals, log } = this.platform;
    refusals.count(`http/${status}`);
    if (log.isLevelEnabled('debug'))
      log.debug({ method, path: exchange.path, code, reason: message }, 'a request was refused');
  }

  private respond(request: ApiRequest, status: number, headers: string[] | readonly string[], text: string): void {
    // An answer may take its client long to read.
    request.dropBody();
    request.exchange.respond(status, this.beginAnswer(request, headers), text);
    if (this.platform.onAnswered === undefined) return;
    const isHeldBack = request.compiled?.route.isHeldBack === true;
    this.platform.onAnswered(
      request.method,
      status,
      isHeldBack ? undefined : performance.now() - request.exchange.receivedAt,
    );
  }
}
