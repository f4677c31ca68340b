/**
 * WebSockets of live data before a handshake. They count as HTTP connections, so strangers who stay silent may not keep
 * their places: each has a time, all have a pool, and the oldest gives way when the places of HTTP run out. One whose
 * credentials are being checked is not closed.
 */
import { BYTES_BEFORE_LOGIN_MAX } from './body-budget.ts';
import type { ConnectionBounds } from './connection-guard.ts';
import type { WebSocketChannel } from './web-socket.ts';

const EARLY_SOCKET_LIMIT = {
  TIME: 'realtime/handshake-time',
  SOCKETS: 'realtime/websockets-before-handshake',
  BYTES: 'realtime/before-handshake-bytes',
} as const;
type EarlySocketLimit = (typeof EARLY_SOCKET_LIMIT)[keyof typeof EARLY_SOCKET_LIMIT];

const HANDSHAKE_MS_MAX = 10_000;
const CHECK_MS = 1_000;
/** Each may have 64 KiB of a message that is not complete in the library, and as much here. */
const SOCKETS_MAX = 256;
/** Where few HTTP connections are allowed. */
const SOCKETS_SHARE = 0.25;
const LOG_INTERVAL_MS = 60_000;
const CLOSE_POLICY = 1008;

/** What the owner of a socket knows about it. */
export interface EarlySocket {
  /** It has shaken hands, or named a session that is its own. */
  readonly hasSession: boolean;
  /** Its credentials are being checked, or a message is being answered. */
  readonly isBusy: boolean;
}

interface Entry {
  readonly socket: EarlySocket;
  readonly since: number;
  bytes: number;
}

export class EarlySockets {
  readonly maximum: number;
  readonly #platform: ConnectionBounds;
  readonly #handshakeMsMax: number;
  /** In order of arrival. */
  readonly #entries = new Map<WebSocketChannel, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #loggedAt = -Infinity;
  #closedCount = 0;

  constructor(platform: ConnectionBounds) {
    this.#platform = platform;
    const { connectionsMax = Infinity, handshakeMsMax = HANDSHAKE_MS_MAX } = platform.config;
    this.#handshakeMsMax = handshakeMsMax;
    this.maximum = Math.min(SOCKETS_MAX, Math.ceil(connectionsMax * SOCKETS_SHARE));
  }

  get size(): number {
    return this.#entries.size;
  }

  arrived(channel: WebSocketChannel, socket: EarlySocket): void {
    if (this.#entries.size >= this.maximum) this.giveWay();
    this.#entries.set(channel, { socket, since: performance.now(), bytes: 0 });
    this.#timer ??= setInterval(() => this.#check(), Math.min(CHECK_MS, this.#handshakeMsMax)).unref();
  }

  /** It has closed. */
  delete(channel: WebSocketChannel): void {
    this.#entries.delete(channel);
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Counts a message. @returns false when more was sent without a handshake than may be: the socket is closed then. */
  takes(channel: WebSocketChannel, bytes: number): boolean {
    const entry = this.#entries.get(channel);
    if (entry === undefined) return true;
    if (entry.socket.hasSession) {
      this.delete(channel);
      return true;
    }
    entry.bytes += bytes;
    if (entry.bytes <= BYTES_BEFORE_LOGIN_MAX) return true;
    const limit = EARLY_SOCKET_LIMIT.BYTES;
    this.#closing(channel, limit);
    channel.end(CLOSE_POLICY, `${limit}: more than ${BYTES_BEFORE_LOGIN_MAX} bytes before the handshake`);
    return false;
  }

  /** Closes the oldest one at once, for a new connection. @returns whether there was one. */
  giveWay(): boolean {
    for (const [channel, { socket }] of this.#entries) {
      if (socket.hasSession) {
        this.delete(channel);
        continue;
      }
      if (socket.isBusy) continue;
      const limit = EARLY_SOCKET_LIMIT.SOCKETS;
      this.#closing(channel, limit);
      // A client that does not answer a close frame keeps its descriptor for 20 s: it is told by a message.
      channel.send(
        `[{"channel":"/meta/unsuccessful","successful":false,"error":"503::${limit}: too many connections without a handshake"}]`,
        false,
      );
      channel.destroy();
      return true;
    }
    return false;
  }

  #check(): void {
    const before = performance.now() - this.#handshakeMsMax;
    for (const [channel, { socket, since }] of this.#entries) {
      if (since > before) return;
      if (socket.hasSession) this.delete(channel);
      if (socket.hasSession || socket.isBusy) continue;
      const limit = EARLY_SOCKET_LIMIT.TIME;
      this.#closing(channel, limit);
      channel.end(CLOSE_POLICY, `${limit}: no handshake within ${this.#handshakeMsMax} ms`);
    }
  }

  /** Counts it and tells the log. */
  #closing(channel: WebSocketChannel, limit: EarlySocketLimit): void {
    const { refusals, log } = this.#platform;
    this.delete(channel);
    refusals.count(limit, { address: channel.remoteAddress });
    this.#closedCount += 1;
    const now = performance.now();
    if (now - this.#loggedAt >= LOG_INTERVAL_MS) {
      this.#loggedAt = now;
      const { maximum } = this;
      log.warn(
        { limit, maximum, closed: this.#closedCount, address: channel.remoteAddress },
        'WebSockets of live data without a handshake are closed',
      );
      this.#closedCount = 0;
    }
  }
}
