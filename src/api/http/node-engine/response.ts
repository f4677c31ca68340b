/**
 * An answer on `node:http` in the shape of uWebSockets.js. As there, the end of the answer is the end of the response:
 * `node:http` sends the rest.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { X509Certificate } from 'node:crypto';
import { peerChain } from '../../../accounts/certificates/peer-chain.ts';
import type { LibraryResponse } from '../library.ts';

/** Written at once by `tryEnd`; the socket keeps at most one of them. */
const SLICE_BYTES = 65_536;
const NOT_ASCII = /[^\x00-\x7f]/;
/** What would begin another header. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/g;
const NO_BYTES = new ArrayBuffer(0);

export const textBytes = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text)).buffer;
const copyOf = (chunk: Uint8Array): ArrayBuffer => new Uint8Array(chunk).buffer;

export class NodeResponse implements LibraryResponse {
  readonly message: IncomingMessage;
  /** The whole body has been read or none is wanted. */
  isBodyComplete = false;
  /** The handler has asked not to be given more of the body. */
  isPaused = false;
  /** Of the body, since the last look. */
  bodyBytes = 0;
  /** The answer is complete, or the client has gone. */
  isOver = false;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  #status = 200;
  #statusText = 'OK';
  readonly #headers: string[] = [];
  #hasNonAsciiHeader = false;
  #hasLength = false;
  #offset = 0;
  #onAborted: (() => void) | undefined;
  #onWritable: ((offset: number) => boolean) | undefined;
  /** Something is to be told when the socket has handed over what it keeps. */
  #isWaiting = false;
  readonly #flushed = (): void => {
    if (!this.#isWaiting || this.isOver || this.#socket.writableLength > 0) return;
    this.#isWaiting = false;
    this.#onWritable?.(this.#offset);
  };

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.message = message;
    this.#response = response;
    this.#socket = message.socket;
  }

  /** The head has left: nothing else can be answered. */
  get isBegun(): boolean {
    return this.#response.headersSent;
  }

  onAborted(handler: () => void): this {
    this.#onAborted = handler;
    return this;
  }

  /** The connection has ended before the answer. */
  abort(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onAborted?.();
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): this {
    const { message } = this;
    let missing = Number(message.headers['content-length'] ?? NaN);
    message.on('data', (chunk: Buffer) => {
      this.bodyBytes += chunk.length;
      missing -= chunk.length;
      if (missing === 0) this.isBodyComplete = true;
      handler(copyOf(chunk), missing === 0);
    });
    message.on('end', () => {
      if (missing === 0 && this.isBodyComplete) return;
      this.isBodyComplete = true;
      handler(NO_BYTES, true);
    });
    return this;
  }

  pause(): this {
    this.isPaused = true;
    this.message.pause();
    return this;
  }

  resume(): this {
    this.isPaused = false;
    this.message.resume();
    return this;
  }

  cork(callback: () => void): this {
    callback();
    return this;
  }

  writeStatus(status: string): this {
    this.#status = Number(status.slice(0, 3));
    this.#statusText = status.slice(4);
    return this;
  }

  writeHeader(name: string, value: string): this {
    const lowerCaseName = name.toLowerCase();
    // HTTP/1.0 has no chunks; `node:http` closes the connection instead.
    if (lowerCaseName === 'transfer-encoding' && this.message.httpVersionMinor === 0) return this;
    if (lowerCaseName === 'content-length') this.#hasLength = true;
    let safe = value.replace(CONTROL, ' ');
    if (NOT_ASCII.test(safe)) {
      safe = Buffer.from(safe, 'utf8').toString('latin1');
      this.#hasNonAsciiHeader = true;
    }
    this.#headers.push(name, safe);
    return this;
  }

  #begin(contentLength?: number, closeConnection = false): void {
    if (this.#response.headersSent) return;
    if (contentLength !== undefined && !this.#hasLength) this.#headers.push('Content-Length', String(contentLength));
    if (closeConnection) this.#headers.push('Connection', 'close');
    this.#response.writeHead(this.#status, this.#statusText, this.#headers);
  }

  /** @returns whether the kernel has taken everything. */
  #flush(): boolean {
    // `node:http` keeps what is written until the end of the turn.
    this.#socket.uncork();
    if (this.#socket.writableLength === 0) return true;
    this.#isWaiting = true;
    return false;
  }

  write(piece: string | Uint8Array): boolean {
    if (this.isOver) return true;
    this.#begin();
    this.#response.write(typeof piece === 'string' ? Buffer.from(piece) : piece, this.#flushed);
    this.#offset += piece.length;
    return this.#flush();
  }

  end(body: string | Uint8Array = '', closeConnection = false): this {
    if (this.isOver) return this;
    const isWhole = !this.#response.headersSent;
    const hasBody = this.#status !== 204 && this.#status !== 304;
    if (isWhole) this.#begin(hasBody ? Buffer.byteLength(body) : undefined, closeConnection);
    this.isOver = true;
    if (body.length === 0) this.#response.end();
    else this.#response.end(this.#hasNonAsciiHeader && typeof body === 'string' ? Buffer.from(body) : body);
    return this;
  }

  endWithoutBody(reportedLength?: number, closeConnection = false): this {
    if (this.isOver) return this;
    this.#begin(this.#status === 204 || this.#status === 304 ? undefined : reportedLength, closeConnection);
    this.isOver = true;
    this.#response.end();
    return this;
  }

  /** Nothing counts as sent before the kernel has it, so that a client that takes nothing is seen. */
  tryEnd(piece: Uint8Array, totalBytes: number, closeConnection = false): [boolean, boolean] {
    if (this.isOver) return [true, true];
    this.#begin(totalBytes, closeConnection);
    let isTaken = this.#flush();
    for (let from = 0; isTaken && from < piece.length; from += SLICE_BYTES) {
      const slice = piece.subarray(from, from + SLICE_BYTES);
      this.#response.write(slice, this.#flushed);
      this.#offset += slice.length;
      isTaken = this.#flush();
    }
    if (!isTaken || this.#offset < totalBytes) return [isTaken, false];
    this.isOver = true;
    this.#response.end();
    return [true, true];
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#onWritable = handler;
    return this;
  }

  getWriteOffset(): number {
    return this.#offset;
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return textBytes(this.#socket.remoteAddress ?? '');
  }

  peerCertificates(): readonly X509Certificate[] {
    return this.#socket instanceof TLSSocket ? peerChain(this.#socket) : [];
  }

  close(): this {
    this.#socket.destroy();
    this.abort();
    return this;
  }

  upgrade(): void {
    throw new Error('only a request that asks for it becomes a WebSocket');
  }
}

/**
 * What is answered on a connection itself: to one that is refused, or to a request that does not become a WebSocket.
 */
export class SocketResponse implements LibraryResponse {
  /** The connection has been answered, closed or handed over. */
  isOver = false;
  readonly #socket: Socket;
  readonly #onUpgrade: ((userData: unknown, protocol: string) => void) | undefined;
  #onAborted: (() => void) | undefined;
  #head = '';

  constructor(socket: Socket, onUpgrade?: (userData: unknown, protocol: string) => void) {
    this.#socket = socket;
    this.#onUpgrade = onUpgrade;
  }

  writeStatus(status: string): this {
    this.#head = `HTTP/1.1 ${status}\r\n`;
    return this;
  }

  writeHeader(name: string, value: string): this {
    this.#head += `${name}: ${value.replace(CONTROL, ' ')}\r\n`;
    return this;
  }

  end(body: string | Uint8Array = ''): this {
    this.isOver = true;
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    endSocket(
      this.#socket,
      `${this.#head}Connection: close\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return this;
  }

  endWithoutBody(): this {
    return this.end();
  }

  close(): this {
    this.isOver = true;
    this.#socket.destroy();
    return this;
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return textBytes(this.#socket.remoteAddress ?? '');
  }

  upgrade(userData: unknown, _key: string, protocol: string): void {
    this.isOver = true;
    this.#onUpgrade?.(userData, protocol);
  }

  onAborted(handler: () => void): this {
    this.#onAborted = handler;
    return this;
  }

  /** The client has left. */
  abort(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onAborted?.();
  }

  onData(): this {
    return this;
  }
  onWritable(): this {
    return this;
  }
  pause(): this {
    return this;
  }
  resume(): this {
    return this;
  }
  write(): boolean {
    return true;
  }
  tryEnd(): [boolean, boolean] {
    return [true, true];
  }
  getWriteOffset(): number {
    return 0;
  }

  cork(callback: () => void): this {
    callback();
    return this;
  }
}

/** What is answered in a TLS handshake: the end of the connection, since a text cannot be read. */
export class HandshakeResponse extends SocketResponse {
  override end(): this {
    return this.close();
  }
}

/** Sends a last text and closes; what the client still sends is not read. */
export function endSocket(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  socket.end(text);
  socket.destroySoon();
}
