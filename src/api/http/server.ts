/**
 * The HTTP and WebSocket server on a library in the shape of uWebSockets.js. What ends the process there cannot happen
 * behind this wrapper: `onAborted` is set first, everything is caught, nothing touches a response that is over, options
 * are checked.
 */
import { addressText } from '../../model/access/client-address.ts';
import type { Log } from '../../ports/log.ts';
import type { BodyBudget } from './body-budget.ts';
import type { EarlySockets } from './early-sockets.ts';
import { CONNECTION_LIMIT } from './connection-guard.ts';
import type { ConnectionGuard, ConnectionLimit } from './connection-guard.ts';
import { HttpExchange, statusLine } from './exchange.ts';
import type { ExchangeOwner } from './exchange.ts';
import type { HttpLibrary, LibraryApp, LibraryResponse, LibraryWebSocket, ListenSocket } from './library.ts';
import { peerAddresses } from './peer-addresses.ts';
import { STALLED_MS_MAX } from './paced-answer.ts';
import { RequestHead } from './request-head.ts';
import { SilentConnections } from './silent-connections.ts';
import type { RawRequest } from './request-head.ts';
import {
  BUFFERED_BYTES_MAX,
  BUFFERED_HARD_FACTOR,
  IDLE_TIMEOUT_SECONDS,
  MAX_PAYLOAD_BYTES,
  agreeProtocol,
  checkHandlers,
  closeReason,
  patternsOf,
} from './web-socket.ts';
import type { UpgradeHead, UpgradeRefusal, WebSocketChannel, WebSocketHandlers } from './web-socket.ts';

/** Refuse to share the port: the library's default lets a second server take every other connection. */
const LISTEN_EXCLUSIVELY = 1;
/** How often a closing server looks whether the last answer has been sent. */
const CLOSE_POLL_MS = 10;
const GOING_AWAY = 1001;
const INTERNAL_ERROR = 1011;

export interface HttpServerOptions {
  readonly library: HttpLibrary;
  readonly log: Log;
  readonly bodies: BodyBudget;
  /** A client that takes nothing of its answer for this time is cut off. Default 60,000. */
  readonly stalledMsMax?: number | undefined;
  readonly onStalled?: (exchange: HttpExchange) => void;
  /** Bounds connections; absent: none. */
  readonly connections?: Pick<ConnectionGuard, 'isFull' | 'isCrowded' | 'isWatched' | 'refuses' | 'gaveWay'>;
  /** WebSockets that give way to a new connection when all places are taken. */
  readonly early?: Pick<EarlySockets, 'giveWay'>;
  /** What a connection is told that is refused, JSON. */
  readonly refusalText?: (limit: ConnectionLimit) => string;
  /** Answers one request, now or later; synchronous, must call `readBody` before it returns if it wants the body. */
  readonly onRequest: (exchange: HttpExchange) => void;
  /** Answers after something was thrown; the exchange is not over. */
  readonly onFailure: (exchange: HttpExchange, error: unknown) => void;
}

export class HttpServer implements ExchangeOwner {
  readonly log: Log;
  readonly bodies: BodyBudget;
  readonly stalledMsMax: number;
  readonly hasStrictParser: boolean;
  readonly isSecure: boolean;
  /** The other listener of the same server, whose connections count together with these. */
  private sibling: HttpServer | undefined = undefined;
  private readonly options: HttpServerOptions;
  private readonly app: LibraryApp;
  private readonly channels = new Set<HttpChannel>();
  /**
   * In uWebSockets.js, while many places are taken. The library tells the end of a connection only to the response that
   * has asked for it last, and a response that outlived its connection would use freed memory. So a request has all of
   * its address forgotten: each of them may be its connection.
   */
  private readonly silent = new SilentConnections<LibraryResponse>();
  private listenSocket: ListenSocket | undefined = undefined;
  private openExchangeCount = 0;
  private httpConnectionCount = 0;
  /** WebSockets that count among the connections of HTTP. */
  private boundChannelCount = 0;
  private port = 0;
  private isClosing = false;

  constructor(options: HttpServerOptions) {
    this.options = options;
    this.log = options.log;
    this.bodies = options.bodies;
    this.stalledMsMax = options.stalledMsMax ?? STALLED_MS_MAX;
    this.hasStrictParser = options.library.hasStrictParser === true;
    this.isSecure = options.library.isSecure === true;
    this.app = options.library.App();
    // Called with 1 and -1. The library does not report the end of a connection that has become a WebSocket, nor that
    // it has become one.
    this.app.filter((response, change) => {
      this.httpConnectionCount += Number(change);
      if (Number(change) > 0 && this.isTooMany(response)) return;
      if (this.log.isLevelEnabled('debug')) this.logHttpConnection(response, Number(change) > 0);
    });
    this.app.any('/*', (response, request) => this.accept(response, request));
  }

  /** Has the bounds of connections hold for both together. */
  pairWith(other: HttpServer): void {
    this.sibling = other;
    other.sibling = this;
  }

  /** Requests without a complete answer. */
  get requestCount(): number {
    return this.openExchangeCount;
  }

  /** Open connections that are no WebSockets, whether a request has arrived on them or not. */
  get connectionCount(): number {
    return this.httpConnectionCount;
  }

  get webSocketCount(): number {
    return this.channels.size;
  }

  /**
   * Registers a WebSocket route; before `listen`. A request without upgrade on the same path goes to `onRequest`.
   * @param path whole, or with `/*` at its end for any rest.
   */
  webSocket(path: string, handlers: WebSocketHandlers): void {
    checkHandlers(path, handlers);
    for (const pattern of patternsOf(path)) this.addWebSocketRoute(pattern, handlers);
  }

  /** @returns whether the connection has been refused. */
  private isTooMany(response: LibraryResponse): boolean {
    const { connections } = this.options;
    if (connections === undefined) return false;
    if (connections.isFull(this.boundCount) && !this.giveWay() && this.sibling?.giveWay() !== true)
      this.options.early?.giveWay();
    const limit = connections.refuses(
      this.boundCount,
      () => addressOf(response),
      () => this.allAddresses(),
    );
    if (limit !== undefined) {
      response.onAborted(() => undefined);
      this.refuse(response, limit);
    } else if (this.app.giveWay === undefined && connections.isWatched(this.boundCount)) this.watch(response);
    return limit !== undefined;
  }

  private watch(response: LibraryResponse): void {
    const address = addressOf(response);
    // The client has gone already.
    if (address === '') return;
    response.onAborted(() => this.silent.delete(response));
    this.silent.arrived(response, address);
  }

  /** To be called with the response of each request before anything else is called on it. */
  private heard(response: LibraryResponse): void {
    if (this.silent.size > 0) this.silent.deleteAddress(addressOf(response));
  }

  /** Connections that count among those of HTTP. */
  private get boundCount(): number {
    return this.ownCount + (this.sibling?.ownCount ?? 0);
  }

  private get ownCount(): number {
    return this.httpConnectionCount + this.boundChannelCount;
  }

  /**
   * Connections in uWebSockets.js that have served a request cannot be closed later: while places are scarce they end
   * with the answer.
   */
  get closesAfterAnswer(): boolean {
    return this.app.giveWay === undefined && this.options.connections?.isCrowded(this.boundCount) === true;
  }

  /**
   * Closes at once the oldest connection without a whole request, or one that waits for its next. @returns whether
   * there was one.
   */
  private giveWay(): boolean {
    const limit = CONNECTION_LIMIT.SILENT;
    let address: string | undefined;
    const close = (response: LibraryResponse): void => {
      address = addressOf(response);
      this.refuse(response, limit);
    };
    if (this.app.giveWay !== undefined) {
      if (!this.app.giveWay(close)) return false;
    } else {
      const oldest = this.silent.take();
      if (oldest === undefined) return false;
      close(oldest);
    }
    if (address !== undefined) this.options.connections?.gaveWay(address);
    return true;
  }

  private refuse(response: LibraryResponse, limit: ConnectionLimit): void {
    const { refusalText } = this.options;
    response.writeStatus('503 Service Unavailable');
    response.writeHeader('Content-Type', 'application/json');
    response.writeHeader('Retry-After', '10');
    response.end(refusalText?.(limit) ?? '', true);
  }

  /** As `addresses`, of both listeners. */
  private allAddresses(): string[] | undefined {
    const [own, others] = [this.addresses(), this.sibling === undefined ? [] : this.sibling.addresses()];
    return own === undefined || others === undefined ? undefined : [...own, ...others];
  }

  /** Of all connections but those that are bound elsewhere; undefined where they are not known. */
  private addresses(): string[] | undefined {
    const texts = this.app.addresses === undefined ? peerAddresses(this.port) : [...this.app.addresses()];
    if (texts === undefined || this.boundChannelCount === this.channels.size) return texts;
    const found = texts.map(addressText);
    const others = new Map<string, number>();
    for (const { isBound, remoteAddress } of this.channels)
      if (!isBound) others.set(remoteAddress, (others.get(remoteAddress) ?? 0) + 1);
    return found.filter((address) => {
      const left = others.get(address) ?? 0;
      if (left > 0) others.set(address, left - 1);
      return left === 0;
    });
  }

  private accept(response: LibraryResponse, request: RawRequest): void {
    this.heard(response);
    const exchange = new HttpExchange(response, request, this);
    this.openExchangeCount += 1;
    try {
      this.options.onRequest(exchange);
    } catch (error) {
      this.fail(exchange, error);
    }
    exchange.detachRequest();
  }

  ended(_exchange: HttpExchange): void {
    this.openExchangeCount -= 1;
  }

  stalled(exchange: HttpExchange): void {
    this.options.onStalled?.(exchange);
  }

  fail(exchange: HttpExchange, error: unknown): void {
    try {
      this.options.onFailure(exchange, error);
    } catch (second) {
      this.log.error({ err: second, path: exchange.path }, 'a request could not be answered');
      exchange.destroy();
    }
  }

  guard(exchange: HttpExchange, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.fail(exchange, error);
    }
  }

  private addWebSocketRoute(pattern: string, handlers: WebSocketHandlers): void {
    const bufferedBytesMax = handlers.bufferedBytesMax ?? BUFFERED_BYTES_MAX;
    this.app.ws<{ channel: HttpChannel }>(pattern, {
      idleTimeout: handlers.idleTimeoutSeconds ?? IDLE_TIMEOUT_SECONDS,
      maxPayloadLength: handlers.maxPayloadBytes ?? MAX_PAYLOAD_BYTES,
      maxBackpressure: Math.min(0x7fffffff, bufferedBytesMax * BUFFERED_HARD_FACTOR),
      closeOnBackpressureLimit: 1,
      compression: this.options.library.DISABLED,
      upgrade: (response, request, context) => {
        this.heard(response);
        response.onAborted(() => undefined);
        if (this.isClosing) {
          response.writeStatus('503 Service Unavailable');
          response.end();
          return;
        }
        const head = upgradeHead(request, handlers, this.isSecure);
        if (head === undefined) {
          response.close();
          return;
        }
        const key = head.headers.get('sec-websocket-key') ?? '';
        const extensions = head.headers.get('sec-websocket-extensions') ?? '';
        const open = (): void =>
          response.upgrade(
            { channel: new HttpChannel(head, bufferedBytesMax, handlers.isBoundElsewhere !== true) },
            key,
            head.protocol,
            extensions,
            context,
          );
        if (handlers.admit === undefined) open();
        else this.admit(response, head, handlers, open);
      },
      open: (socket) => {
        this.httpConnectionCount -= 1;
        const { channel } = socket.getUserData();
        channel.opened(socket);
        this.channels.add(channel);
        if (channel.isBound) this.boundChannelCount += 1;
        if (this.log.isLevelEnabled('debug')) this.logWebSocket(channel, {}, 'WebSocket opened');
        this.guardChannel(channel, () => handlers.open(channel));
      },
      message: (socket, data, binary) => {
        const { channel } = socket.getUserData();
        const copy = Buffer.from(new Uint8Array(data));
        this.guardChannel(channel, () => handlers.message(channel, copy, binary));
      },
      drain: (socket) => {
        const { channel } = socket.getUserData();
        if (channel.bufferedBytes <= bufferedBytesMax) this.guardChannel(channel, () => handlers.drain?.(channel));
      },
      close: (socket, code, reason) => {
        const { channel } = socket.getUserData();
        channel.closed();
        this.channels.delete(channel);
        if (channel.isBound) this.boundChannelCount -= 1;
        const text = Buffer.from(new Uint8Array(reason)).toString();
        if (this.log.isLevelEnabled('debug')) this.logWebSocket(channel, { code, reason: text }, 'WebSocket closed');
        this.guardChannel(channel, () => handlers.close?.(channel, code, text));
      },
    });
  }

  /** Has the route decide whether the request becomes a WebSocket. */
  private admit(response: LibraryResponse, head: UpgradeHead, handlers: WebSocketHandlers, open: () => void): void {
    let isLeft = false;
    const left: (() => void)[] = [];
    response.onAborted(() => {
      isLeft = true;
      for (const callback of left) callback();
    });
    const answer = (refusal: UpgradeRefusal | undefined): void => {
      if (isLeft) return;
      response.cork(() => {
        if (refusal === undefined && !this.isClosing) open();
        else refuseUpgrade(response, refusal ?? STOPPING);
      });
    };
    const client = {
      head,
      remoteAddress: addressOf(response),
      onLeft: (callback: () => void): void => {
        if (isLeft) callback();
        else left.push(callback);
      },
    };
    // A handler that throws is one that rejects.
    const admitted = (async () => handlers.admit?.(client))();
    admitted.then(answer, (error: unknown) => {
      this.log.error({ err: error, path: head.path }, 'a WebSocket could not be opened');
      answer(FAILED);
    });
  }

  /** Of one that is over the library says only that there is one less. */
  private logHttpConnection(response: LibraryResponse, isOpened: boolean): void {
    const counts = { httpConnections: this.httpConnectionCount, webSockets: this.webSocketCount };
    if (!isOpened) {
      this.log.debug(counts, 'http connection closed');
      return;
    }
    this.log.debug({ remoteAddress: addressOf(response), ...counts }, 'http connection opened');
  }

  private logWebSocket(channel: HttpChannel, details: object, message: string): void {
    const { remoteAddress, head } = channel;
    const { httpConnectionCount: httpConnections, webSocketCount: webSockets } = this;
    const protocol = head.protocol === '' ? {} : { protocol: head.protocol };
    this.log.debug({ path: head.path, ...protocol, remoteAddress, ...details, httpConnections, webSockets }, message);
  }

  private guardChannel(channel: HttpChannel, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.log.error({ err: error, path: channel.head.path }, 'a WebSocket handler failed');
      channel.end(INTERNAL_ERROR, 'the server failed');
    }
  }

  /** @param port 0 = any free one. @returns the port. @throws Error when it cannot be taken. */
  listen(options: { readonly host: string; readonly port: number }): Promise<number> {
    return new Promise((resolve, reject) => {
      const taken = (socket: ListenSocket | false): void => {
        if (socket === false) {
          reject(
            new Error(
              `cannot listen on ${options.host}:${options.port}: the port is in use or the address is not of this machine`,
            ),
          );
          return;
        }
        this.listenSocket = socket;
        this.port = this.options.library.us_socket_local_port(socket);
        resolve(this.port);
      };
      this.app.listen(options.host, options.port, LISTEN_EXCLUSIVELY, taken);
    });
  }

  /** Takes no new connections; those that are open go on. */
  stopListening(): void {
    if (this.listenSocket !== undefined) this.options.library.us_listen_socket_close(this.listenSocket);
    this.listenSocket = undefined;
  }

  /** Stops listening, ends WebSockets, lets answers under way finish for `drainMs`, then closes every connection. */
  async close(drainMs: number): Promise<void> {
    if (this.isClosing) return;
    this.isClosing = true;
    this.stopListening();
    for (const channel of [...this.channels]) channel.end(GOING_AWAY, 'the server is stopping');
    const deadline = Date.now() + drainMs;
    while (this.openExchangeCount > 0 && Date.now() < deadline)
      await new Promise((resolve) => {
        setTimeout(resolve, CLOSE_POLL_MS);
      });
    this.app.close();
  }
}

class HttpChannel implements WebSocketChannel {
  readonly head: UpgradeHead;
  remoteAddress = '';
  /** It counts among the connections of HTTP. */
  readonly isBound: boolean;
  private readonly bufferedBytesMax: number;
  private socket: LibraryWebSocket<{ channel: HttpChannel }> | undefined = undefined;

  constructor(head: UpgradeHead, bufferedBytesMax: number, isBound: boolean) {
    this.isBound = isBound;
    this.head = head;
    this.bufferedBytesMax = bufferedBytesMax;
  }

  get isOpen(): boolean {
    return this.socket !== undefined;
  }

  get bufferedBytes(): number {
    return this.socket === undefined ? 0 : this.socket.getBufferedAmount();
  }

  send(data: string | Uint8Array, binary: boolean): boolean {
    const { socket } = this;
    if (socket === undefined) return false;
    socket.send(data, binary);
    return this.bufferedBytes <= this.bufferedBytesMax && this.socket !== undefined;
  }

  cork(callback: () => void): void {
    if (this.socket === undefined) callback();
    else this.socket.cork(callback);
  }

  end(code: number, reason: string): void {
    this.socket?.end(code, closeReason(reason));
  }

  destroy(): void {
    this.socket?.close();
  }

  pause(): boolean {
    if (this.socket?.pause === undefined) return false;
    this.socket.pause();
    return true;
  }

  resume(): void {
    this.socket?.resume?.();
  }

  opened(socket: LibraryWebSocket<{ channel: HttpChannel }>): void {
    this.socket = socket;
    this.remoteAddress = addressOf(socket);
  }

  closed(): void {
    this.socket = undefined;
  }
}

const STOPPING: UpgradeRefusal = { status: 503, text: '' };
const FAILED: UpgradeRefusal = { status: 500, text: '' };

function refuseUpgrade(response: LibraryResponse, { status, text, headers = [] }: UpgradeRefusal): void {
  response.writeStatus(statusLine(status));
  if (text !== '') response.writeHeader('Content-Type', 'application/json');
  for (let index = 0; index + 1 < headers.length; index += 2) response.writeHeader(headers[index], headers[index + 1]);
  // What the client sends behind its request cannot be told from another request.
  response.end(text, true);
}

/** @returns '' when the client has gone. */
function addressOf(other: { getRemoteAddressAsText(): ArrayBuffer }): string {
  return addressText(Buffer.from(other.getRemoteAddressAsText()).toString());
}

/** @returns undefined for a head that may be understood in two ways. */
function upgradeHead(request: RawRequest, handlers: WebSocketHandlers, isSecure: boolean): UpgradeHead | undefined {
  const head = new RequestHead(request);
  if (head.fault !== '') return undefined;
  const headers = head.toMap();
  return {
    path: request.getUrl(),
    queryText: request.getQuery() ?? '',
    headers,
    isSecure,
    protocol: agreeProtocol(headers.get('sec-websocket-protocol') ?? '', handlers.protocols),
  };
}
