/** Composes the HTTP front end: the server below, the phases that each request runs through, and WebSockets. */
import type { TrustedProxies } from '../config/trusted-proxies.ts';
import { BodyBudget } from './http/body-budget.ts';
import type { Compression } from './http/compression.ts';
import { guardOf } from './http/connection-guard.ts';
import { EarlySockets } from './http/early-sockets.ts';
import type { HttpLibrary } from './http/library.ts';
import { HttpServer } from './http/server.ts';
import type { HttpServerOptions } from './http/server.ts';
import type { WebSocketHandlers } from './http/web-socket.ts';
import { RequestAnswers } from './request/answers.ts';
import { HeaderAuthentication } from './request/authentication.ts';
import { TenantCors } from './request/cors.ts';
import { NO_PROXIES } from './request/login-caller.ts';
import type { InnerRequester } from './request/inner-request.ts';
import { InnerRequests } from './request/phases/inner-requests.ts';
import { enter } from './request/phases/head.ts';
import type { Parts, Passage } from './request/phases/passage.ts';
import { proceed } from './request/phases/pipeline.ts';
import type { Platform } from './request/platform.ts';
import type { Route } from './request/route.ts';
import { Router } from './request/router.ts';
import { UnknownParameters } from './request/unknown-parameters.ts';
import { Upgrades } from './request/upgrades.ts';

export class ApiServer {
  readonly router: Router;
  /** What all request bodies together may take. */
  readonly bodies: BodyBudget;
  readonly early: EarlySockets;
  readonly upgrades: Upgrades;
  readonly compression: Compression;
  readonly proxies: TrustedProxies;
  /** Asks the route table without a connection. */
  readonly inner: InnerRequester;
  private readonly server: HttpServer;
  private readonly options: HttpServerOptions;
  private readonly webSockets: (readonly [path: string, handlers: WebSocketHandlers])[] = [];
  /** That with TLS. */
  private secure: HttpServer | undefined = undefined;

  /** @param routes the whole table, see routes.ts. */
  constructor(platform: Platform, routes: readonly Route[], library: HttpLibrary) {
    const { config } = platform;
    this.router = new Router(routes);
    this.proxies = config.trustedProxies ?? NO_PROXIES;
    this.bodies = new BodyBudget({
      bytesMax: config.bodiesBytesMax,
      bodiesMax: config.bodiesMax,
      earlyBytesMax: config.bodiesEarlyBytesMax,
      earlyBodiesMax: config.bodiesEarlyMax,
      pausedMsMax: config.bodiesPausedMsMax,
      largestBytes: Math.max(config.bodyMaxBytes, config.jsonBodyMaxBytes),
      refusals: platform.refusals,
      requestsMax: config.requestsMax,
      answersBytesMax: config.answersBytesMax,
    });
    const authentication = new HeaderAuthentication({
      authenticator: platform.authenticator,
      tokens: platform.accounts.tokens,
      tenants: platform.tenants,
      now: () => platform.now(),
    });
    const cors = new TenantCors(platform);
    const { router, proxies, bodies } = this;
    const unknownParameters = new UnknownParameters(platform.log, (route) => platform.onUnknownParameter?.(route));
    this.inner = new InnerRequests({ platform, router, unknownParameters });
    const answers = new RequestAnswers(platform, cors, bodies.shares, this.inner);
    this.compression = answers.compression;
    const parts: Parts = {
      platform,
      router,
      authentication,
      cors,
      bodies,
      answers,
      proxies,
      unknownParameters,
      proceed,
    };
    this.upgrades = new Upgrades(platform, parts);
    this.early = new EarlySockets(platform);
    this.options = {
      library,
      early: this.early,
      ...guardOf(platform),
      log: platform.log,
      bodies,
      stalledMsMax: config.answerStalledMsMax,
      onStalled: (exchange) => answers.stalled(exchange),
      onRequest: (exchange) => proceed(enter(exchange, parts)),
      onFailure: (exchange, error) => {
        const { request } = (exchange.context as Passage | undefined) ?? enter(exchange, parts);
        answers.fail(request, error);
      },
    };
    this.server = new HttpServer(this.options);
  }

  /** Registers a WebSocket route; before `listen`. */
  webSocket(path: string, handlers: WebSocketHandlers): void {
    this.server.webSocket(path, handlers);
    this.webSockets.push([path, handlers]);
  }

  /**
   * Listens with TLS, too; once. @param library whose listeners have TLS. @param address.port 0 = any free one.
   * @returns the port.
   */
  listenSecurely(library: HttpLibrary, address: { readonly host: string; readonly port: number }): Promise<number> {
    const secure = new HttpServer({ ...this.options, library });
    this.secure = secure;
    secure.pairWith(this.server);
    for (const [path, handlers] of this.webSockets) secure.webSocket(path, handlers);
    return secure.listen(address);
  }

  /** @param options.port 0 = any free one. @returns the port. */
  listen(options: { readonly host: string; readonly port: number }): Promise<number> {
    return this.server.listen(options);
  }

  /** Takes no new connections. */
  stopListening(): void {
    this.server.stopListening();
    this.secure?.stopListening();
  }

  /** Stops listening, ends WebSockets, lets answers under way finish for `drainMs`, then closes every connection. */
  async close(drainMs: number): Promise<void> {
    await Promise.all([this.server.close(drainMs), this.secure?.close(drainMs)]);
  }

  get requestCount(): number {
    return this.server.requestCount + (this.secure?.requestCount ?? 0);
  }

  /** Open connections without WebSockets. */
  get connectionCount(): number {
    return this.server.connectionCount + (this.secure?.connectionCount ?? 0);
  }

  get webSocketCount(): number {
    return this.server.webSocketCount + (this.secure?.webSocketCount ?? 0);
  }
}
