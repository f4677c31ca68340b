/**
 * An HTTP and WebSocket server on `node:http` and `ws` in the shape of uWebSockets.js, for platforms where that does
 * not load. Its parser is strict (never `insecureHTTPParser`): what is not a request is answered 400 and the connection
 * closed.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as TlsServer } from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { HttpLibrary, LibraryApp, LibraryResponse, ListenSocket, WebSocketBehavior } from '../library.ts';
import type { RawRequest } from '../request-head.ts';
import { SilentConnections } from '../silent-connections.ts';
import { SocketRoutes } from '../web-socket.ts';
import { HEAD_BYTES_MAX } from '../uws-limits.ts';
import { Connection } from './connection.ts';
import { NodeRequest, messageClass } from './request.ts';
import { HandshakeResponse, SocketResponse, endSocket } from './response.ts';
import type { NodeResponse } from './response.ts';
import { NodeWebSocket } from './web-socket.ts';

/** Time for a head to arrive, and for the next request of a connection; as with uWebSockets.js. */
const HEAD_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;
/** How often connections are looked at. */
const CHECK_MS = 2_000;
/** uWebSockets.js takes about as many. */
const HEADERS_MAX = 100;
/** A client that does not answer a close frame is cut off. */
const CLOSE_MS = 2_000;

const refusal = (status: string): string => `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
const BAD_REQUEST = refusal('400 Bad Request');
const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: refusal('431 Request Header Fields Too Large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refusal('413 Payload Too Large'),
  ERR_HTTP_REQUEST_TIMEOUT: refusal('408 Request Timeout'),
};

/** Key and certificate of a listener, PEM. */
export interface TlsPair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Connections that send nothing, or not enough for TLS, are closed after this time. */
const HANDSHAKE_MS = 10_000;
/** A device may show a certificate; whether it is trusted is decided at the login. */
const TLS = {
  handshakeTimeout: HANDSHAKE_MS,
  requestCert: true,
  rejectUnauthorized: false,
  // curl -0 offers the older one alone.
  ALPNProtocols: ['http/1.1', 'http/1.0'],
};

/** A socket in its TLS handshake. */
class Handshake {
  readonly socket: Socket;
  readonly ends: string;

  constructor(socket: Socket) {
    this.socket = socket;
    this.ends = endsOf(socket);
  }
}

interface SocketRoute {
  readonly behavior: WebSocketBehavior<unknown>;
  readonly server: WebSocketServer;
}

class NodeHttpApp implements LibraryApp {
  readonly #server: Server | TlsServer;
  /** By the addresses of both ends, which the TLS socket over a socket shares. */
  readonly #handshakes = new Map<string, Handshake>();
  readonly #connections = new Map<Socket, Connection>();
  readonly #silent = new SilentConnections<Connection | Handshake>();
  /** They wait for their next request, the longest first. */
  readonly #idle = new Set<Connection>();
  readonly #webSockets = new Set<NodeWebSocket<unknown>>();
  /** Connections of WebSockets, also of those that are being closed. */
  readonly #streams = new Set<Socket>();
  readonly #routes = new SocketRoutes<SocketRoute>();
  #filter: ((response: LibraryResponse, change: number) => void) | undefined;
  #handler: ((response: LibraryResponse, request: RawRequest) => void) | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  /** The protocol of the WebSocket that is being opened, which happens within one call. */
  #agreed = '';

  /** @param tls has the listener speak TLS. */
  constructor(tls?: TlsPair) {
    const options = {
      IncomingMessage: messageClass((path) => this.#routes.find(path) !== undefined),
      insecureHTTPParser: false,
      requireHostHeader: true,
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: HEAD_MS,
      // Bodies have to go on, however long they are; see Connection.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
      noDelay: true,
    };
    this.#server = tls === undefined ? createServer(options) : createTlsServer({ ...options, ...TLS, ...tls });
    // All of them are needed to tell which are there twice; their bytes are bounded.
    this.#server.maxHeadersCount = 0;
    if (tls === undefined) this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    else {
      this.#server.on('connection', (socket: Socket) => this.#shakeHands(socket));
      this.#server.on('secureConnection', (socket: Socket) => this.#handsShaken(socket));
    }
    const take = (message: IncomingMessage, response: ServerResponse): void =>
      this.#connections.get(message.socket)?.take(message, response);
    this.#server.on('request', take);
    // Expectations that are unknown are passed over, as uWebSockets.js does.
    this.#server.on('checkExpectation', take);
    this.#server.on('upgrade', (message, socket, head) => this.#upgrade(message, socket as Socket, head));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error, socket as Socket));
  }

  /** For new connections; those that are open go on. Only with TLS. */
  renew(pair: TlsPair): void {
    (this.#server as TlsServer).setSecureContext(pair);
  }

  filter(handler: (response: LibraryResponse, change: number) => void): this {
    this.#filter = handler;
    return this;
  }

  /** @param pattern every path: there is one handler. */
  any(_pattern: string, handler: (response: LibraryResponse, request: RawRequest) => void): this {
    this.#handler = handler;
    return this;
  }

  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): this {
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: behavior.maxPayloadLength,
      closeTimeout: CLOSE_MS,
      handleProtocols: () => (this.#agreed === '' ? false : this.#agreed),
    } as ConstructorParameters<typeof WebSocketServer>[0]);
    this.#routes.add(pattern, { behavior: behavior as WebSocketBehavior<unknown>, server });
    return this;
  }

  listen(host: string, port: number, _mode: number, callback: (socket: ListenSocket | false) => void): this {
    const server = this.#server;
    const failed = (): void => callback(false);
    server.once('error', failed);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', failed);
      // A connection that cannot be accepted is the loss of that one.
      server.on('error', () => undefined);
      this.#checkTimer = setInterval(() => this.#check(), CHECK_MS).unref();
      callback(server);
    });
    return this;
  }

  addresses(): string[] {
    const handshakes = [...this.#handshakes.values()].map(({ socket }) => socket);
    return [...this.#connections.keys(), ...this.#streams, ...handshakes].map((socket) => socket.remoteAddress ?? '');
  }

  giveWay(refuse: (response: LibraryResponse) => void): boolean {
    const silent = this.#silent.take();
    const [idle] = this.#idle;
    const connection = silent ?? idle;
    if (connection === undefined) return false;
    if (connection instanceof Handshake) {
      refuse(new HandshakeResponse(connection.socket));
      this.#handshakeEnded(connection);
      return true;
    }
    // A client that has been served would take a text for the answer to its next request.
    if (silent === undefined) connection.socket.destroy();
    else refuse(new SocketResponse(connection.socket));
    this.#closed(connection);
    return true;
  }

  close(): this {
    clearInterval(this.#checkTimer);
    this.#server.close();
    for (const socket of [...this.#connections.keys(), ...this.#streams]) socket.destroy();
    for (const { socket } of this.#handshakes.values()) socket.destroy();
    return this;
  }

  /** A socket counts from its first moment: it has a descriptor. */
  #shakeHands(socket: Socket): void {
    const response = new HandshakeResponse(socket);
    this.#filter?.(response, 1);
    const handshake = new Handshake(socket);
    this.#handshakes.set(handshake.ends, handshake);
    socket.on('close', () => this.#handshakeEnded(handshake));
    if (!response.isOver) this.#silent.arrived(handshake, socket.remoteAddress ?? '');
  }

  #handshakeEnded(handshake: Handshake): void {
    this.#silent.delete(handshake);
    if (this.#handshakes.get(handshake.ends) !== handshake) return;
    this.#handshakes.delete(handshake.ends);
    this.#filter?.(new HandshakeResponse(handshake.socket), -1);
  }

  #handsShaken(socket: Socket): void {
    const handshake = this.#handshakes.get(endsOf(socket));
    if (handshake === undefined) {
      socket.destroy();
      return;
    }
    this.#handshakes.delete(handshake.ends);
    this.#silent.delete(handshake);
    this.#silent.arrived(this.#register(socket), socket.remoteAddress ?? '');
  }

  #register(socket: Socket): Connection {
    const connection: Connection = new Connection(
      socket,
      (response) => this.#handle(response),
      (isIdle) => this.#turned(connection, isIdle),
    );
    this.#connections.set(socket, connection);
    socket.on('close', () => this.#closed(connection));
    return connection;
  }

  #accept(socket: Socket): void {
    const connection = this.#register(socket);
    const response = new SocketResponse(socket);
    this.#filter?.(response, 1);
    connection.isRefused = response.isOver;
    if (!connection.isRefused) this.#silent.arrived(connection, socket.remoteAddress ?? '');
  }

  #turned(connection: Connection, isIdle: boolean): void {
    this.#silent.delete(connection);
    if (isIdle) this.#idle.add(connection);
    else this.#idle.delete(connection);
  }

  #closed(connection: Connection): void {
    this.#turned(connection, false);
    // One that has become a WebSocket is not reported, as with uWebSockets.js.
    if (!this.#connections.delete(connection.socket)) return;
    connection.isRefused = true;
    connection.closed();
    this.#filter?.(new SocketResponse(connection.socket), -1);
  }

  #handle(response: NodeResponse): void {
    const { message } = response;
    const refusedAs = statusOf(message);
    if (refusedAs !== undefined) {
      response.onAborted(() => undefined);
      response.writeStatus(refusedAs).end('', true);
      return;
    }
    this.#handler?.(response, new NodeRequest(message));
  }

  #upgrade(message: IncomingMessage, socket: Socket, head: Buffer): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isRefused || connection.isBusy) {
      socket.destroy();
      return;
    }
    socket.on('error', () => socket.destroy());
    const request = new NodeRequest(message);
    const route = this.#routes.find(request.getUrl());
    const refusedAs = statusOf(message);
    if (route === undefined || refusedAs !== undefined) {
      endSocket(socket, refusal(refusedAs ?? '404 Not Found'));
      return;
    }
    const response = new SocketResponse(socket, (userData, protocol) =>
      this.#open(route, { message, socket, head, userData, protocol }),
    );
    // The connection may break before it is decided.
    socket.on('close', () => response.abort());
    route.behavior.upgrade(response, request, this);
  }

  #open(
    { behavior, server }: SocketRoute,
    {
      message,
      socket,
      head,
      userData,
      protocol,
    }: {
      readonly message: IncomingMessage;
      readonly socket: Socket;
      readonly head: Buffer;
      readonly userData: unknown;
      readonly protocol: string;
    },
  ): void {
    this.#agreed = protocol;
    server.handleUpgrade(message, socket, head, (opened) => {
      const connection = this.#connections.get(socket);
      if (connection !== undefined) this.#turned(connection, false);
      this.#connections.delete(socket);
      this.#streams.add(socket);
      socket.on('close', () => this.#streams.delete(socket));
      this.#webSockets.add(
        new NodeWebSocket({
          socket: opened,
          stream: socket,
          behavior,
          userData,
          onClosed: (closed) => this.#webSockets.delete(closed),
        }),
      );
    });
  }

  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else connection.refuse(REFUSALS[error.code ?? ''] ?? BAD_REQUEST);
  }

  #check(): void {
    const now = performance.now();
    for (const [socket, connection] of this.#connections) if (!connection.isAlive(now)) socket.destroy();
    for (const socket of this.#webSockets) socket.checkIdle(now);
  }
}

/** The same of a socket and of the TLS socket over it. */
const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

/** @returns the status that refuses a head which the parser takes and the API does not. */
function statusOf({
  httpVersionMajor,
  httpVersionMinor,
  headers,
  rawHeaders,
  method,
  url,
}: IncomingMessage): string | undefined {
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return '505 HTTP Version Not Supported';
  if (rawHeaders.length > 2 * HEADERS_MAX) return '431 Request Header Fields Too Large';
  // HTTP/1.0 knows no chunks: who stands in front may have read something else.
  if (httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined) return '400 Bad Request';
  const isPath = /^(?:\/|https?:\/\/)/i.test(url ?? '');
  return isPath || (method === 'OPTIONS' && url === '*') ? undefined : '400 Bad Request';
}

export const nodeHttpLibrary: HttpLibrary = {
  App: () => new NodeHttpApp(),
  // Not the method of `node:http`, which closes idle connections, too.
  us_listen_socket_close: (socket) => {
    NetServer.prototype.close.call(socket as Server);
  },
  us_socket_local_port: (socket) => ((socket as Server).address() as AddressInfo).port,
  DISABLED: 0,
  hasStrictParser: true,
};

/** The same over TLS, with the pair that `renew` was given last. */
export function tlsHttpLibrary(pair: TlsPair): HttpLibrary & { renew(pair: TlsPair): void } {
  const apps: NodeHttpApp[] = [];
  let current = pair;
  return {
    ...nodeHttpLibrary,
    isSecure: true,
    App() {
      const app = new NodeHttpApp(current);
      apps.push(app);
      return app;
    },
    renew(renewed) {
      current = renewed;
      for (const app of apps) app.renew(renewed);
    },
  };
}
