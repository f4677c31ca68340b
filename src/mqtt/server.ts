/** The MQTT server: listens on TCP and TLS, takes WebSockets from the HTTP server, and owns what connections share. */
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Server as TlsServer, TlsOptions } from 'node:tls';
import type { MqttApplication, SessionStore } from './sessions/application.ts';
import { addressText } from '../model/access/client-address.ts';
import type { ExpiryClock } from '../model/sessions/expiry.ts';
import type { ConnectionPage, ConnectionQuery } from '../ports/device-connections.ts';
import type { Log } from '../ports/log.ts';
import type { TrafficTap } from '../ports/traffic.ts';
import { addUser, dependsOn } from '../model/access/principal.ts';
import type { ConnectedUsers } from '../model/access/principal.ts';
import { Shares } from '../pacing/shares.ts';
import { leave, refuse } from './packets/connect.ts';
import { BLOCK, Connection, STATE } from './connections/connection.ts';
import type { ConnectionContext } from './connections/connection.ts';
import { connectionPage } from './connections/page.ts';
import { EarlyBytes } from './transports/early-bytes.ts';
import { DEFAULT_LIMITS, LIMIT } from './wire/limits.ts';
import type { LimitName, MqttLimits } from './wire/limits.ts';
import type { MqttMetrics } from './connections/metrics.ts';
import { dispatchPacket } from './packets/dispatch.ts';
import { PacketDecoder } from './wire/decoder.ts';
import { receivePublish } from './packets/publish.ts';
import { PublishScanner } from './wire/publish-scanner.ts';
import { RateBucket } from './connections/rate-bucket.ts';
import { REASON } from './wire/reason-codes.ts';
import type { Session } from './sessions/session.ts';
import { SessionRegistry } from './sessions/registry.ts';
import type { SessionsElsewhere } from './sessions/registry.ts';
import { readProxyHeader } from './transports/proxy-header.ts';
import { SmallOutputPool } from './transports/small-output.ts';
import { SocketTransport } from './transports/socket.ts';
import { Strangers } from './connections/strangers.ts';
import { TimerWheel } from './sessions/timer-wheel.ts';
import type { Transport } from './transports/transport.ts';

/** At most one line of the log about closed strangers in this time. */
const LOG_SECONDS = 60;
const TICK_MS = 1_000;
/** How often connections over the rate are looked at, while there are any. */
const THROTTLE_MS = 50;
/** Connections over the limit that are kept until their CONNECT can be answered; more are cut off. */
const OVER_LIMIT_CONNECTIONS = 500;
/** Sockets in the listening queue. */
const BACKLOG = 4_096;
/** Time until a TLS handshake must be done; the connect timeout starts after it. */
const TLS_HANDSHAKE_MS = 10_000;
/** Time until a proxy has said who its client is. */
const PROXY_HEADER_MS = 10_000;
/**
 * TLS checks that the client has the key of its certificate; whether the certificate is trusted is for the
 * application to say.
 */
const CLIENT_CERTIFICATES = { requestCert: true, rejectUnauthorized: false } as const;

export interface MqttServerOptions {
  readonly application: MqttApplication;
  readonly store: SessionStore;
  readonly log: Log;
  readonly metrics: MqttMetrics;
  readonly traffic?: TrafficTap;
  readonly limits?: Partial<MqttLimits>;
  /** Of each connection of a tenant, instead of `limits`. */
  readonly rateOf?: (
    tenantNumber: number,
  ) => { readonly messagesPerSecond: number; readonly queueMessages: number | undefined } | undefined;
  /** See pacing/shares.ts; several by default. */
  readonly isOnlyTenant?: () => boolean;
  /** Milliseconds since 1970; Date.now by default. */
  readonly now?: () => number;
  /** By which sessions end; `now` by default. */
  readonly clock?: ExpiryClock;
  /** The other nodes of a cluster. */
  readonly elsewhere?: SessionsElsewhere;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls?: TlsOptions;
  /** Whose connections begin with a header of the PROXY protocol. */
  readonly proxies?: ProxiesOfConnections;
}

/** Tells by whom a connection comes: above 0 from a trusted proxy. */
export interface ProxiesOfConnections {
  hopsOf(connection: { readonly remoteAddress: string }): number;
}

export class MqttServer {
  readonly limits: MqttLimits;
  readonly sessions: SessionRegistry;
  readonly #options: MqttServerOptions;
  readonly #context: ConnectionContext;
  readonly #wheel = new TimerWheel();
  readonly #connections = new Set<Connection>();
  /** Clients that proxies have told of, by addresses and ports of the sockets. */
  readonly #told = new Map<string, string>();
  /** Sockets before the end of their TLS handshakes or headers of proxies, by their addresses and ports. */
  readonly #handshakes = new Map<string, Socket>();
  readonly #strangers: Strangers<Connection | Socket>;
  #loggedTick = -LOG_SECONDS;
  readonly #throttled = new Set<Connection>();
  readonly #listeners: Server[] = [];
  readonly #tlsServers: TlsServer[] = [];
  #ticker: NodeJS.Timeout | undefined = undefined;
  #throttleTicker: NodeJS.Timeout | undefined = undefined;
  /** Sockets of all listeners, in their TLS handshakes too. */
  #socketsCount = 0;
  #isClosing = false;
  #onEmpty: (() => void) | undefined = undefined;

  constructor(options: MqttServerOptions) {
    this.#options = options;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#strangers = new Strangers(
      this.limits.connections,
      (one) => one instanceof Connection && one.transport.isWebSocket === true,
    );
    const now = options.now ?? Date.now;
    const limitHit = (limit: LimitName, reason: string, session: Session): void =>
      this.#limitHit(limit, reason, session);
    const clock = options.clock ?? { isBelieved: true, read: async () => now() };
    this.sessions = new SessionRegistry(
      { store: options.store, limits: this.limits, limitHit, now, clock },
      this.#wheel,
      options.elsewhere,
    );
    this.#context = this.#createContext(now, limitHit);
  }

  /** Open network connections, whether CONNECT has arrived or not. */
  get connectionsCount(): number {
    return this.#connections.size;
  }

  /** Sockets of the listeners, in their TLS handshakes too. */
  get socketsCount(): number {
    return this.#socketsCount;
  }

  /** Bytes held by connections whose CONNECT is not answered. */
  get earlyBytes(): number {
    return this.#context.early.bytes;
  }

  /** Where the first `listen` listens. */
  get address(): AddressInfo | undefined {
    return this.#listeners[0]?.address() as AddressInfo | undefined;
  }

  /** Begins to take connections; may be called again for TLS or another address. @throws the socket's error. */
  async listen(options: ListenOptions): Promise<AddressInfo> {
    const server = this.#createListener(options);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: options.host, port: options.port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        server.on('error', (error) => this.#options.log.error({ err: error }, 'mqtt listener failed'));
        resolve();
      });
    });
    this.#listeners.push(server);
    this.start();
    return server.address() as AddressInfo;
  }

  #createListener({ tls, proxies }: ListenOptions): Server {
    const accept = (socket: Socket): void => this.#acceptSocket(socket);
    const tlsServer =
      tls === undefined
        ? undefined
        : createTlsServer({ handshakeTimeout: TLS_HANDSHAKE_MS, ...CLIENT_CERTIFICATES, ...tls }, accept);
    if (tlsServer !== undefined) this.#tlsServers.push(tlsServer);
    if (proxies === undefined) {
      const server = tlsServer ?? createServer({ noDelay: true, pauseOnConnect: false }, accept);
      return server.on('connection', tlsServer === undefined ? this.#onSocket : this.#onEarlySocket);
    }
    const next = tlsServer === undefined ? accept : (socket: Socket): void => void tlsServer.emit('connection', socket);
    return createServer({ noDelay: true }, (socket) => this.#acceptProxied(socket, proxies, next));
  }

  /** Key and certificate of connections from now on. @throws Error for what TLS does not take. */
  renewTls(pair: Pick<TlsOptions, 'key' | 'cert'>): void {
    for (const server of this.#tlsServers) server.setSecureContext(pair);
  }

  /** Starts the clock; `listen` does it too. A test turns the clock itself with `tick`. */
  start(): void {
    this.#ticker ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** One second has passed: keep alive, timeouts, delayed wills, expired sessions. */
  tick(): void {
    this.#wheel.turn();
  }

  /** Lets those connections read on that the rate allows again. */
  releaseThrottled(): void {
    const now = this.#context.now();
    for (const connection of this.#throttled) {
      if (connection.rate?.hasToken(now) === false) continue;
      this.#throttled.delete(connection);
      connection.unblock(BLOCK.RATE);
    }
    if (this.#throttled.size > 0 || this.#throttleTicker === undefined) return;
    clearInterval(this.#throttleTicker);
    this.#throttleTicker = undefined;
  }

  /**
   * Takes a connection of any transport, for instance a WebSocket of the sub-protocol `mqtt` or `mqttv3.1`.
   * @returns the object whose `received`, `drained` and `transportClosed` the transport calls; undefined when there are
   * too many connections: then the transport was destroyed.
   */
  accept(transport: Transport): Connection | undefined {
    const oldest = transport.isWebSocket === true ? this.#strangers.takeWebSocket(this.#wheel.tick) : undefined;
    if (oldest !== undefined) this.#closeStranger(oldest);
    if (this.#isClosing || !this.#hasRoom()) {
      if (!this.#isClosing) this.#options.metrics.count(LIMIT.CONNECTIONS, { address: transport.remoteAddress });
      const { log } = this.#options;
      if (log.isLevelEnabled('debug'))
        log.debug({ remoteAddress: transport.remoteAddress, limit: LIMIT.CONNECTIONS }, 'mqtt not accepted');
      transport.destroy();
      return undefined;
    }
    const connection = new Connection(this.#context, transport);
    this.#connections.add(connection);
    this.#strangers.arrived(connection, this.#wheel.tick);
    this.#options.metrics.connections(this.#connections.size);
    return connection;
  }

  /**
   * Ends the connections of users that were deleted, disabled or changed: those who still have rights connect again.
   */
  disconnectUsers(tenantNumber: number, userNames: ReadonlySet<string>): void {
    for (const connection of this.#connections) {
      // Before CONNECT is checked there is none.
      const principal = connection.principal as Connection['principal'] | undefined;
      if (principal?.tenantNumber === tenantNumber && userNames.has(principal.userName)) {
        connection.disconnect(REASON.NOT_AUTHORIZED, 'the user was changed or deleted');
      }
    }
  }

  /** Who is connected with a password or token, added to `users` by tenant. */
  addConnectedUsers(users: ConnectedUsers): void {
    for (const connection of this.#connections) {
      const principal = connection.principal as Connection['principal'] | undefined;
      if (principal !== undefined && principal.certificate === undefined) addUser(users, principal);
    }
  }

  /** Open connections of a tenant on this node, which is told in each row. */
  pageOf(tenantNumber: number, query: ConnectionQuery, node: string): ConnectionPage {
    return connectionPage(this.#connections, tenantNumber, query, node);
  }

  /** Ends the connections of devices that came with a certificate of an issuer that is trusted no more. */
  disconnectCertificate(tenantNumber: number, fingerprint: string): void {
    for (const connection of this.#connections) {
      const principal = connection.principal as Connection['principal'] | undefined;
      if (principal?.tenantNumber === tenantNumber && principal.certificate === fingerprint) {
        connection.disconnect(REASON.NOT_AUTHORIZED, 'the trusted certificate was disabled or removed');
      }
    }
  }

  /** Ends the connections that came by certificates that were revoked. */
  disconnectRevoked(tenantNumber: number, serials: ReadonlySet<string>): void {
    for (const connection of this.#connections) {
      const principal = connection.principal as Connection['principal'] | undefined;
      if (
        principal?.tenantNumber === tenantNumber &&
        principal.certificateSerials?.some((serial) => serials.has(serial)) === true
      ) {
        connection.disconnect(REASON.NOT_AUTHORIZED, 'the certificate was revoked');
      }
    }
  }

  /** Ends the connections of a tenant that was suspended or deleted. */
  disconnectTenant(tenantNumber: number): void {
    for (const connection of this.#connections) {
      const principal = connection.principal as Connection['principal'] | undefined;
      if (principal !== undefined && dependsOn(principal, tenantNumber))
        connection.disconnect(REASON.NOT_AUTHORIZED, 'the tenant was suspended or deleted');
    }
  }

  /** Stops: no new connections, DISCONNECT 0x8B (5.0) to the others, then after `graceMs` the rest is cut off. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = this.#listeners.map(
      (listener) =>
        new Promise<void>((resolve) => {
          listener.close(() => resolve());
        }),
    );
    for (const connection of this.#connections)
      connection.close(REASON.SERVER_SHUTTING_DOWN, 'the server is shutting down');
    if (this.#connections.size > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
      const timeout = setTimeout(() => {
        for (const connection of this.#connections) connection.transport.destroy();
      }, graceMs);
      await empty;
      clearTimeout(timeout);
    }
    this.sessions.sendWaitingWills();
    clearInterval(this.#ticker);
    clearInterval(this.#throttleTicker);
    this.#ticker = undefined;
    this.#throttleTicker = undefined;
    await Promise.all([...closed, this.sessions.settled()]);
  }

  /** @param next takes the socket behind the header. */
  #acceptProxied(socket: Socket, proxies: ProxiesOfConnections, next: (socket: Socket) => void): void {
    this.#onEarlySocket(socket);
    if (socket.destroyed) return;
    const remoteAddress = addressText(socket.remoteAddress ?? '');
    if (proxies.hopsOf({ remoteAddress }) === 0) return next(socket);
    // A socket that is closed has none.
    const key = addressesOf(socket);
    readProxyHeader(socket, PROXY_HEADER_MS, (header, fault) => {
      if (header === undefined) {
        if (fault === undefined) return;
        this.#options.metrics.count(LIMIT.PROXY_HEADER, { address: remoteAddress, reason: fault });
        this.#options.log.debug({ remoteAddress, limit: LIMIT.PROXY_HEADER, reason: fault }, 'mqtt not accepted');
        return;
      }
      if (header.address !== undefined) {
        this.#told.set(key, header.address);
        socket.once('close', () => this.#told.delete(key));
      }
      next(socket);
    });
  }

  /** TLS and proxies tell of a connection only after some bytes, but each socket has a descriptor. */
  readonly #onEarlySocket = (socket: Socket): void => {
    if (!this.#hasRoom()) {
      this.#options.metrics.count(LIMIT.CONNECTIONS, { address: addressText(socket.remoteAddress ?? '') });
      socket.destroy();
      return;
    }
    const key = addressesOf(socket);
    this.#handshakes.set(key, socket);
    this.#strangers.arrived(socket, this.#wheel.tick);
    socket.once('close', () => {
      if (this.#handshakes.get(key) === socket) this.#endHandshake(key, socket);
    });
    this.#onSocket(socket);
  };

  #endHandshake(key: string, socket: Socket): void {
    this.#handshakes.delete(key);
    this.#strangers.delete(socket);
  }

  /** Closes a stranger where a new socket needs its place. @returns false when there is none. */
  #hasRoom(): boolean {
    const socketsMax = this.limits.connections + OVER_LIMIT_CONNECTIONS;
    const oldest = this.#strangers.take(this.#wheel.tick, this.#open >= socketsMax);
    if (oldest !== undefined) this.#closeStranger(oldest);
    return this.#open < socketsMax;
  }

  #closeStranger(stranger: Connection | Socket): void {
    const { log, metrics } = this.#options;
    const limit = LIMIT.CONNECTIONS_BEFORE_LOGIN;
    if (this.#wheel.tick - this.#loggedTick >= LOG_SECONDS) {
      this.#loggedTick = this.#wheel.tick;
      log.warn(
        { limit, maximum: this.#strangers.maximumFor(stranger) },
        'mqtt closes connections before login in favour of new ones',
      );
    }
    if (!(stranger instanceof Connection)) {
      metrics.count(limit, { address: addressText(stranger.remoteAddress ?? '') });
      this.#endHandshake(addressesOf(stranger), stranger);
      stranger.destroy();
      return;
    }
    const { transport } = stranger;
    transport.endsAtOnce = true;
    if (stranger.state === STATE.CONNECTING)
      refuse(stranger, REASON.SERVER_BUSY, 'too many connections before login', limit);
    else stranger.close(REASON.SERVER_BUSY, 'too many connections without CONNECT', limit);
    this.#strangers.delete(stranger);
    transport.destroy();
    // A socket is closed at once and says so later. A WebSocket still counts until it is closed.
    if (transport instanceof SocketTransport) stranger.transportClosed();
  }

  /** Connections of all transports, and sockets in their TLS handshakes. */
  get #open(): number {
    return this.#connections.size + this.#handshakes.size;
  }

  readonly #onSocket = (socket: Socket): void => {
    this.#socketsCount += 1;
    socket.once('close', this.#onSocketClosed);
  };

  readonly #onSocketClosed = (): void => {
    this.#socketsCount -= 1;
  };

  #acceptSocket(socket: Socket): void {
    if (socket.destroyed) return;
    // Of most sockets nothing is known: their addresses would be asked of the system in vain.
    const key = this.#handshakes.size > 0 || this.#told.size > 0 ? addressesOf(socket) : '';
    const handshake = this.#handshakes.get(key);
    if (handshake !== undefined) this.#endHandshake(key, handshake);
    const transport = new SocketTransport(socket, this.#told.get(key));
    const connection = this.accept(transport);
    if (connection !== undefined) transport.attach(connection);
  }

  #createContext(now: () => number, limitHit: ConnectionContext['limitHit']): ConnectionContext {
    const { application, store, log, metrics } = this.#options;
    const receivedCounts = [0, 0, 0];
    return {
      application,
      store,
      log,
      metrics,
      traffic: this.#options.traffic,
      now,
      limitHit,
      receivedCounts,
      limits: this.limits,
      shares: new Shares(LIMIT.CONNECTIONS, this.limits.connections, this.#options.isOnlyTenant),
      counted: new Set(),
      connecting: (connection) => this.#strangers.delete(connection),
      waits: (connection, address) => this.#strangers.waits(connection, address),
      known: (connection) => this.#strangers.delete(connection),
      isOverLimit: () => this.#open - this.#strangers.size > this.limits.connections,
      early: new EarlyBytes(this.limits),
      sessions: this.sessions,
      wheel: this.#wheel,
      scanner: new PublishScanner(),
      decoder: new PacketDecoder(),
      outputs: new SmallOutputPool(),
      publish: receivePublish,
      dispatch: dispatchPacket,
      reportReceived: (connection) => {
        const sum = receivedCounts[0] + receivedCounts[1] + receivedCounts[2];
        // Without CONNECT there is none.
        const principal = connection.principal as Connection['principal'] | undefined;
        if (sum > 0 && principal !== undefined) metrics.received?.(principal.tenantNumber, sum);
        for (let qos = 0; qos < receivedCounts.length; qos++) {
          if (receivedCounts[qos] === 0) continue;
          metrics.messages('in', qos, receivedCounts[qos]);
          receivedCounts[qos] = 0;
        }
      },
      rateBucket: (tenantNumber) => {
        const rate = this.#options.rateOf?.(tenantNumber);
        const limits =
          rate === undefined
            ? this.limits
            : {
                ...this.limits,
                rateMessagesPerSecond: rate.messagesPerSecond,
                rateQueueMessages: rate.queueMessages ?? this.limits.rateQueueMessages,
              };
        return limits.rateMessagesPerSecond > 0 ? new RateBucket(limits, now()) : undefined;
      },
      throttle: (connection) => this.#throttle(connection),
      ended: (connection, isClean) => this.#ended(connection, isClean),
      gone: (connection) => this.#gone(connection),
    };
  }

  #throttle(connection: Connection): void {
    this.#throttled.add(connection);
    if (this.#ticker !== undefined)
      this.#throttleTicker ??= setInterval(() => this.releaseThrottled(), THROTTLE_MS).unref();
  }

  /** In this order: will, link, session. A delayed will keeps the link until it is sent or not needed. */
  #ended(connection: Connection, isClean: boolean): void {
    leave(connection);
    if (connection.state === STATE.ENDING && !this.#context.counted.has(connection))
      this.#strangers.refused(connection);
    const { link, session, will } = connection;
    this.#throttled.delete(connection);
    const close = (): void => {
      connection.link = undefined;
    };
    try {
      // The read that ended the connection may have brought messages before: `PUBLISH, DISCONNECT` is one segment as a
      // rule.
      link?.endOfRead();
    } catch (error) {
      this.#options.log.error({ err: error, clientId: connection.clientId }, 'mqtt link failed at the end of a read');
    }
    if (link !== undefined && (isClean || will === undefined)) {
      close();
      connection.will = undefined;
      try {
        link.closed(isClean);
      } catch (error) {
        this.#options.log.error({ err: error, clientId: connection.clientId }, 'mqtt link failed to close');
      }
    } else if (link !== undefined && will !== undefined) {
      const delaySeconds = Math.min(will.delaySeconds, session?.expirySeconds ?? 0);
      if (delaySeconds > 0 && session !== undefined) {
        session.waitingWill = will;
      }
      const onEnd = (): void => {
        close();
        if (session?.waitingWill === will) session.waitingWill = undefined;
      };
      const { application, metrics } = this.#options;
      const { principal } = connection;
      const counted = (mayPublish: boolean): boolean => {
        if (!mayPublish) metrics.count(LIMIT.WILL_RIGHTS, connection.refused('the user may not publish the will'));
        return mayPublish;
      };
      const mayPublish = (): boolean | Promise<boolean> => {
        const answer = application.stillHolds(principal);
        return answer instanceof Promise ? answer.then(counted) : counted(answer);
      };
      will.start(link, delaySeconds, { wheel: this.#wheel, log: this.#options.log, onEnd, mayPublish });
    }
    // A connection that goes while its session is being opened has none yet; `open` finds out.
    if (session === undefined) return;
    this.sessions.detach(session, connection);
  }

  #gone(connection: Connection): void {
    this.#connections.delete(connection);
    this.#strangers.delete(connection);
    if (this.#context.counted.delete(connection))
      this.#context.shares.give(connection.principal.tenantNumber, connection.principal.userName);
    this.#options.metrics.connections(this.#connections.size);
    if (this.#connections.size === 0) this.#onEmpty?.();
  }

  #limitHit(limit: LimitName, reason: string, session: Session): void {
    const { log, metrics } = this.#options;
    metrics.count(limit, { tenant: session.tenantNumber, device: session.name, reason });
    if (log.isLevelEnabled('debug'))
      log.debug({ limit, tenantNumber: session.tenantNumber, session: session.key }, reason);
  }
}

/** The same of a socket and of the TLS socket over it. */
function addressesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
