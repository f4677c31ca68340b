/** A WebSocket of `ws` in the shape of uWebSockets.js. */
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import type { LibraryWebSocket, WebSocketBehavior } from '../library.ts';
import { textBytes } from './response.ts';

const CLOSED_WITHOUT_FRAME = 1006;
/** As uWebSockets.js names it; see src/mqtt/web-socket-transport.ts. */
const TOO_BIG = 'Received too big message';
const TOO_BIG_CODE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
/** Before the end of the idle time a ping asks whether the client is there. */
const PING_LEAD_MS = 4_000;

export class NodeWebSocket<UserData> implements LibraryWebSocket<UserData> {
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  readonly #behavior: WebSocketBehavior<UserData>;
  readonly #userData: UserData;
  readonly #onClosed: (socket: NodeWebSocket<UserData>) => void;
  #isOpen = true;
  #isBuffered = false;
  #isPinged = false;
  #heardAt = performance.now();
  /** One function for all messages. */
  readonly #flushed = (): void => {
    if (!this.#isOpen || !this.#isBuffered) return;
    this.#isBuffered = this.#socket.bufferedAmount > 0;
    this.#behavior.drain(this);
  };

  /** Calls `open` of the behaviour before it returns. @param onClosed called once, before `close` of the behaviour. */
  constructor(options: {
    readonly socket: WebSocket;
    readonly stream: Socket;
    readonly behavior: WebSocketBehavior<UserData>;
    readonly userData: UserData;
    readonly onClosed: (socket: NodeWebSocket<UserData>) => void;
  }) {
    this.#socket = options.socket;
    this.#stream = options.stream;
    this.#behavior = options.behavior;
    this.#userData = options.userData;
    this.#onClosed = options.onClosed;
    const heard = (): void => {
      this.#heardAt = performance.now();
      this.#isPinged = false;
    };
    let failure = '';
    this.#socket.on('message', (data, isBinary) => {
      heard();
      if (this.#isOpen) this.#behavior.message(this, bytesOf(data), isBinary);
    });
    this.#socket.on('ping', heard);
    this.#socket.on('pong', heard);
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === TOO_BIG_CODE) failure = TOO_BIG;
      this.#closed(CLOSED_WITHOUT_FRAME, failure);
    });
    this.#socket.on('close', (code, reason) => this.#closed(code, reason.toString()));
    this.#behavior.open(this);
  }

  getUserData(): UserData {
    return this.#userData;
  }

  getBufferedAmount(): number {
    return this.#isOpen ? this.#socket.bufferedAmount : 0;
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return textBytes(this.#stream.remoteAddress ?? '');
  }

  send(data: string | Uint8Array, isBinary: boolean): void {
    if (!this.#isOpen) return;
    const { maxBackpressure } = this.#behavior;
    if (this.#socket.bufferedAmount + data.length > maxBackpressure && this.#socket.bufferedAmount > 0) {
      this.close();
      return;
    }
    // The socket keeps what the kernel does not take, and the sender's buffer may be used again after this call.
    this.#socket.send(
      typeof data === 'string' ? data : Buffer.from(data),
      { binary: isBinary, compress: false },
      this.#flushed,
    );
    if (this.#socket.bufferedAmount > 0) this.#isBuffered = true;
  }

  cork(callback: () => void): void {
    this.#stream.cork();
    try {
      callback();
    } finally {
      this.#stream.uncork();
    }
  }

  end(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#socket.close(code, reason);
    this.#closed(code, reason);
  }

  /** Ends the connection without a frame. */
  close(): void {
    if (!this.#isOpen) return;
    this.#socket.terminate();
    this.#closed(CLOSED_WITHOUT_FRAME, '');
  }

  pause(): void {
    if (this.#isOpen) this.#socket.pause();
  }

  resume(): void {
    if (!this.#isOpen) return;
    this.#heardAt = performance.now();
    this.#socket.resume();
  }

  /**
   * To be called now and then: sends a ping to a client that is silent, and ends the connection when the idle time is
   * over.
   */
  checkIdle(now: number): void {
    const idleMs = this.#behavior.idleTimeout * 1_000;
    // A client that is not read cannot answer a ping.
    if (!this.#isOpen || idleMs === 0 || this.#socket.isPaused) return;
    const silentMs = now - this.#heardAt;
    if (silentMs >= idleMs) this.close();
    else if (silentMs >= idleMs - PING_LEAD_MS && !this.#isPinged) {
      this.#isPinged = true;
      this.#socket.ping();
    }
  }

  #closed(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onClosed(this);
    this.#behavior.close(this, code, textBytes(reason));
  }
}

function bytesOf(data: RawData): ArrayBuffer {
  if (data instanceof ArrayBuffer) return data;
  return new Uint8Array(Array.isArray(data) ? Buffer.concat(data) : data).buffer;
}
