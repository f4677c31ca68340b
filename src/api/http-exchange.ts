/**
 * One HTTP request with its answer, above the library's response (see uws.ts): body collection with a limit, answers in one piece or as a
 * stream with back-pressure. After the end of the answer, or of the client, every call is harmless.
 */
import { STATUS_CODES } from 'node:http';
import type { Log } from '../model/log.ts';

/** What is used of the library's request; dead after the handler has returned. */
export interface RawRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  getHeader(lowerCaseName: string): string;
}

/** What is used of the library's response; throws when it is over. */
export interface RawResponse {
  onAborted(handler: () => void): unknown;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(callback: () => void): unknown;
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  write(piece: string | Uint8Array): boolean;
  end(body?: string | Uint8Array): unknown;
  endWithoutBody(reportedLength?: number): unknown;
  close(): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
}

/** The server that an exchange belongs to. */
export interface ExchangeOwner {
  readonly log: Log;
  /** The exchange is over, once. */
  ended(exchange: HttpExchange): void;
  /** Something was thrown. */
  fail(exchange: HttpExchange, error: unknown): void;
  /** Calls back; what is thrown goes to `fail`. */
  guard(exchange: HttpExchange, callback: () => void): void;
}

/** Buffer of a body whose length was not announced, at first. */
const BODY_BYTES_FIRST = 65_536;
/** A header that is announced larger than it arrives must not take its memory at once. */
const BODY_BYTES_PREALLOCATED_MAX = 1_048_576;
const EMPTY_BODY = Buffer.alloc(0);
const STATUS_LINES = new Map(Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]));

/** Called with the body, or with undefined when it is longer than the limit. The buffer belongs to the caller. */
export type BodyCallback = (exchange: HttpExchange, body: Buffer | undefined) => void;

/** One request with its answer. */
export class HttpExchange {
  /** Upper case. */
  readonly method: string;
  /** As sent, percent encoded. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly queryText: string;
  /** The client has gone: nothing can be answered any more. */
  isAborted = false;
  /** The answer has been given, or its stream has ended. */
  isAnswered = false;
  /** Place for the layer above: what it knows about the request. */
  context: unknown = undefined;
  private isStreaming = false;
  private abortCallback: (() => void) | undefined = undefined;
  private writableCallback: (() => void) | undefined = undefined;
  private body: Buffer = EMPTY_BODY;
  private bodyLength = 0;
  private request: RawRequest | undefined;
  private readonly response: RawResponse;
  private readonly server: ExchangeOwner;

  constructor(response: RawResponse, request: RawRequest, server: ExchangeOwner) {
    this.response = response;
    this.request = request;
    this.server = server;
    this.method = request.getCaseSensitiveMethod().toUpperCase();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    response.onAborted(() => this.abort());
  }

  /** @param name lower case. @returns '' when absent. Only while the handler of the request runs. */
  header(name: string): string {
    return this.request === undefined ? '' : this.request.getHeader(name);
  }

  /** For the log. */
  get remoteAddress(): string {
    return this.isOver ? '' : Buffer.from(this.response.getRemoteAddressAsText()).toString();
  }

  get isOver(): boolean {
    return this.isAborted || this.isAnswered;
  }

  /** Registers what to do when the client goes before the answer is complete; at most one. */
  onAborted(callback: () => void): void {
    this.abortCallback = callback;
  }

  /** Ends the access to the request: the library reuses it. Called by the server. */
  detachRequest(): void {
    this.request = undefined;
  }

  /** Collects the body; has to be called while the handler of the request runs. A body above the limit is not kept. */
  readBody(limitBytes: number, done: BodyCallback): void {
    const announced = Number(this.header('content-length'));
    if (announced > limitBytes) {
      // What still arrives is thrown away, so that the client gets to read the answer.
      this.response.onData(() => undefined);
      done(this, undefined);
      return;
    }
    this.response.onData((chunk, isLast) => {
      if (this.isOver || this.bodyLength < 0) return;
      try {
        this.addChunk(chunk, isLast, announced, limitBytes, done);
      } catch (error) {
        this.server.fail(this, error);
      }
    });
  }

  private addChunk(chunk: ArrayBuffer, isLast: boolean, announced: number, limitBytes: number, done: BodyCallback): void {
    const length = this.bodyLength + chunk.byteLength;
    if (length > limitBytes) {
      this.bodyLength = -1;
      this.body = EMPTY_BODY;
      done(this, undefined);
      return;
    }
    if (isLast && this.bodyLength === 0) {
      // The usual case: everything came with one read. The chunk is detached after this call.
      this.bodyLength = -1;
      done(this, chunk.byteLength === 0 ? EMPTY_BODY : Buffer.from(new Uint8Array(chunk)));
      return;
    }
    this.reserve(length, announced, limitBytes);
    this.body.set(new Uint8Array(chunk), this.bodyLength);
    this.bodyLength = length;
    if (!isLast) return;
    const body = this.body.subarray(0, length);
    this.body = EMPTY_BODY;
    this.bodyLength = -1;
    done(this, body);
  }

  private reserve(length: number, announced: number, limitBytes: number): void {
    if (length <= this.body.length) return;
    // The announced length is trusted once a good part of it is there: chunks are then copied exactly once.
    const isTrusted = announced >= length && (announced <= BODY_BYTES_PREALLOCATED_MAX || length > BODY_BYTES_PREALLOCATED_MAX);
    const wanted = isTrusted ? announced : Math.max(BODY_BYTES_FIRST, length * 2);
    const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(wanted, limitBytes)));
    larger.set(this.body.subarray(0, this.bodyLength), 0);
    this.body = larger;
  }

  /** @param headers names and values in turn. */
  respond(status: number, headers: readonly string[], body: string | Uint8Array): void {
    if (this.isOver || this.isStreaming) return;
    this.isAnswered = true;
    this.response.cork(() => {
      this.writeHead(status, headers);
      if (this.method === 'HEAD') this.response.endWithoutBody(Buffer.byteLength(body));
      else if (status === 204 || status === 304) this.response.endWithoutBody();
      else this.response.end(body);
    });
    this.server.ended(this);
  }

  private writeHead(status: number, headers: readonly string[]): void {
    const { response } = this;
    response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    for (let index = 0; index + 1 < headers.length; index += 2) response.writeHeader(headers[index], headers[index + 1]);
  }

  /** Begins an answer in pieces. Nothing leaves the server before the first `write`. */
  startStream(status: number, headers: readonly string[]): void {
    if (this.isOver || this.isStreaming) return;
    if (this.method === 'HEAD') {
      this.respond(status, headers, '');
      return;
    }
    this.isStreaming = true;
    this.response.cork(() => this.writeHead(status, headers));
    this.response.onWritable(() => {
      const callback = this.writableCallback;
      this.writableCallback = undefined;
      if (callback !== undefined) this.server.guard(this, callback);
      return true;
    });
  }

  /** @returns false when the client does not keep up: wait with `onWritable`. The piece itself is taken. */
  write(piece: string | Uint8Array): boolean {
    if (this.isOver || !this.isStreaming || piece.length === 0) return true;
    let isWritten = true;
    this.response.cork(() => {
      isWritten = this.response.write(piece);
    });
    return isWritten;
  }

  /** Registers what to do once a `write` that returned false has left; at most one. */
  onWritable(callback: () => void): void {
    this.writableCallback = callback;
  }

  /** Completes with a last piece, which may be empty. */
  endStream(piece: string | Uint8Array = ''): void {
    if (this.isOver || !this.isStreaming) return;
    this.write(piece);
    this.isAnswered = true;
    this.response.cork(() => {
      this.response.end();
    });
    this.server.ended(this);
  }

  /** Sends all pieces as fast as the client reads, then completes. A source that fails breaks the answer off. */
  async pipe(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
    try {
      for await (const piece of pieces) {
        if (this.isOver) return;
        if (!this.write(piece)) await this.drained();
      }
      this.endStream();
    } catch (error) {
      this.server.log.error({ err: error, path: this.path }, 'an answer was broken off');
      this.destroy();
    }
  }

  private drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isOver) {
        resolve();
        return;
      }
      this.writableCallback = resolve;
      const before = this.abortCallback;
      this.abortCallback = () => {
        resolve();
        before?.();
      };
    });
  }

  /** Closes the connection without a proper end of the answer. */
  destroy(): void {
    if (!this.isOver) this.response.close();
  }

  private abort(): void {
    if (this.isOver) return;
    this.isAborted = true;
    this.body = EMPTY_BODY;
    this.server.ended(this);
    const callback = this.abortCallback;
    this.abortCallback = undefined;
    if (callback !== undefined) this.server.guard(this, callback);
  }
}
