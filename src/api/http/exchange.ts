/**
 * One HTTP request with its answer, above the library's response (see server.ts): body collection with a limit, answers
 * in one piece or as a stream with back-pressure. After the end of the answer, or of the client, every call is
 * harmless.
 */
import type { X509Certificate } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { addressText } from '../../model/access/client-address.ts';
import type { Log } from '../../ports/log.ts';
import { BODY_LIMIT, type BodyBudget, type BodyLimit, type BodyPool, type BodySender } from './body-budget.ts';
import { receiveBody } from './body-data.ts';
import { BodyStream, BrokenBody } from './body-stream.ts';
import type { RawResponse } from './library.ts';
import { PacedAnswer } from './paced-answer.ts';
import type { StreamEncoder } from './compression.ts';
import { RequestHead, type RawRequest } from './request-head.ts';
import type { ShareHolder } from './request-shares.ts';

/** The server that an exchange belongs to. */
export interface ExchangeOwner {
  readonly log: Log;
  readonly bodies: BodyBudget;
  /** The library refuses every body whose chunks are not as they should be. */
  readonly hasStrictParser: boolean;
  /** Its listener speaks TLS. */
  readonly isSecure: boolean;
  /** Places for connections are scarce: that of a request ends with its answer. */
  readonly closesAfterAnswer: boolean;
  /** A client that takes nothing of its answer for this time is cut off, and `stalled` is called. */
  readonly stalledMsMax: number;
  stalled(exchange: HttpExchange): void;
  /** The exchange is over, once. */
  ended(exchange: HttpExchange): void;
  fail(exchange: HttpExchange, error: unknown): void;
  /** Calls back; an error that is thrown goes to `fail`. */
  guard(exchange: HttpExchange, callback: () => void): void;
}

/**
 * Buffer of a body that comes in pieces, at first. Later ones have twice what has arrived: what is only announced takes
 * no memory.
 */
const BODY_BYTES_FIRST = 4_096;
const EMPTY_BODY = Buffer.alloc(0);
/** Larger answers are sent as fast as the client reads; smaller ones are left to the library. */
const BYTES_AT_ONCE = 65_536;
const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]),
);
/** `404 Not Found` */
export const statusLine = (status: number): string => STATUS_LINES.get(status) ?? String(status);

/**
 * Called with the body, or with undefined when it is longer than the limit, or when `refusedBy` names a limit of all
 * bodies. The buffer belongs to the caller; it counts until the exchange is over.
 */
export type BodyCallback = (exchange: HttpExchange, body: Buffer | undefined, refusedBy?: string) => void;

/** One request with its answer. */
export class HttpExchange implements ShareHolder, BodySender {
  /** Upper case. */
  readonly method: string;
  /** As sent, percent encoded. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly queryText: string;
  /** What makes the end of the request doubtful, or ''. Such a request must be refused. */
  readonly fault: string;
  /** Nothing that the client sends behind this request is answered. */
  readonly isLast: boolean;
  /**
   * The body comes in chunks that the library reads otherwise than RFC 9112: with extensions, trailers, lines that end
   * with LF alone.
   */
  readonly hasLooseChunks: boolean;
  /** The client has gone: nothing can be answered any more. */
  isAborted = false;
  /** The answer has been given, or its stream has ended. */
  isAnswered = false;
  /** When the request had arrived with what was read of its body, `performance.now()`. */
  receivedAt = performance.now();
  /** Place for the layer above: what it knows about the request. */
  context: unknown = undefined;
  /** More of a body is not read before it is known who sends it. */
  private earlyBytesMax = Infinity;
  /** Where the body counts. */
  private pool: BodyPool;
  addressKey = '';
  private bodyDone: BodyCallback = () => undefined;
  /** Runs while the body is not read on. */
  private pauseTimer: NodeJS.Timeout | undefined = undefined;
  /** Of an answer that is sent in pieces. */
  private paced: PacedAnswer | undefined = undefined;
  /** Of a stream that is compressed. */
  private encoder: StreamEncoder | undefined = undefined;
  /** Nothing is held any more. */
  private isEnded = false;
  private abortCallback: (() => void) | undefined = undefined;
  /** Made when it is first asked for. */
  private abortController: AbortController | undefined = undefined;
  private bodyStream: BodyStream | undefined = undefined;
  private body: Buffer = EMPTY_BODY;
  /** Negative when nothing more is collected. */
  private bodyLength = 0;
  /** Taken from the budget of all bodies. */
  heldBytes = 0;
  holder: ShareHolder['holder'] = undefined;
  sharedBodyBytes = 0;
  sharedAnswerBytes = 0;
  sharedBodies = 0;
  isCollecting = false;
  private head: RequestHead | undefined;
  private readonly response: RawResponse;
  private readonly server: ExchangeOwner;

  constructor(response: RawResponse, request: RawRequest, server: ExchangeOwner) {
    this.response = response;
    this.server = server;
    this.pool = server.bodies.known;
    this.method = request.getCaseSensitiveMethod().toUpperCase();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    this.head = new RequestHead(request);
    this.fault = this.head.fault;
    this.hasLooseChunks = !server.hasStrictParser && this.head.get('transfer-encoding') !== '';
    this.isLast =
      server.closesAfterAnswer ||
      this.fault !== '' ||
      this.hasLooseChunks ||
      (!server.hasStrictParser && this.head.hasDoubtfulEnd(this.method));
    response.onAborted(() => this.abort());
  }

  /** @param name lower case. @returns '' when absent. Only while the handler of the request runs. */
  header(name: string): string {
    return this.head?.get(name) ?? '';
  }

  /** @param name lower case. @returns each value of a header that may have been sent more than once; as `header`. */
  headerValues(name: string): string[] {
    return this.head === undefined ? [] : this.head.all(name);
  }

  /** Of the other end of the connection, a client or a proxy; '' when the exchange is over. */
  get remoteAddress(): string {
    return this.isOver ? '' : addressText(Buffer.from(this.response.getRemoteAddressAsText()).toString());
  }

  /** The request came over TLS that ends here. */
  get isSecure(): boolean {
    return this.server.isSecure;
  }

  /** What the client has shown over TLS, its own first. */
  get certificates(): readonly X509Certificate[] {
    return this.isOver ? [] : (this.response.peerCertificates?.() ?? []);
  }

  get isOver(): boolean {
    return this.isAborted || this.isAnswered;
  }

  /** Registers what to do when the client goes before the answer is complete; at most one. */
  onAborted(callback: () => void): void {
    this.abortCallback = callback;
  }

  /** Aborts when the client goes before the answer is complete. */
  get signal(): AbortSignal {
    if (this.abortController === undefined) {
      this.abortController = new AbortController();
      // A handler may run many queries at once.
      setMaxListeners(0, this.abortController.signal);
      if (this.isAborted) this.abortController.abort();
    }
    return this.abortController.signal;
  }

  /** The handler has returned: what it has not read of the head is let go. Called by the server. */
  detachRequest(): void {
    this.head = undefined;
  }

  private announcedBytes(): number {
    return Number(this.header('content-length') || NaN);
  }

  /** Collects the body; has to be called while the handler of the request runs. A body above the limit is not kept. */
  readBody(limitBytes: number, done: BodyCallback): void {
    this.bodyDone = done;
    const announced = this.announcedBytes();
    const isTooEarly = announced <= limitBytes && announced > this.earlyBytesMax && !this.pauseBody(done);
    if (announced > limitBytes || isTooEarly) {
      // What still arrives is thrown away, so that the client gets to read the answer.
      this.response.onData(() => undefined);
      done(this, undefined, isTooEarly ? BODY_LIMIT.BODIES_BEFORE_LOGIN : undefined);
      return;
    }
    const add = (chunk: ArrayBuffer, isLast: boolean): void => {
      if (this.isOver || this.bodyLength < 0) return;
      try {
        this.addChunk(chunk, isLast, announced, limitBytes, done);
      } catch (error) {
        this.server.fail(this, error);
      }
    };
    receiveBody(this.response, this, announced, add);
  }

  /**
   * Hands the body over in pieces; has to be called while the handler of the request runs. The reader bounds its
   * length.
   */
  streamBody(): BodyStream {
    const announced = this.announcedBytes();
    const stream = new BodyStream(
      {
        pause: () => {
          this.response.pause();
        },
        resume: () => {
          if (!this.isOver) this.response.resume();
        },
        hold: (bytes, bodyBytes) => this.hold(bytes, bodyBytes),
        letGo: (bytes) => this.letGo(bytes),
      },
      { announcedBytes: announced, isEarly: this.pool !== this.server.bodies.known },
    );
    this.bodyStream = stream;
    receiveBody(this.response, this, announced, (chunk, isLast) => {
      if (this.isOver) return;
      if (isLast) this.receivedAt = performance.now();
      stream.push(chunk, isLast);
    });
    return stream;
  }

  private addChunk(
    chunk: ArrayBuffer,
    isLast: boolean,
    announced: number,
    limitBytes: number,
    done: BodyCallback,
  ): void {
    if (isLast) this.receivedAt = performance.now();
    const length = this.bodyLength + chunk.byteLength;
    if (length > limitBytes) {
      this.refuseBody(done, undefined);
      return;
    }
    if (isLast && this.bodyLength === 0) {
      // The usual case: everything came with one read. The chunk is detached after this call.
      const limit = this.hold(chunk.byteLength, chunk.byteLength);
      if (limit !== undefined) return this.refuseBody(done, limit);
      this.bodyLength = -1;
      done(this, chunk.byteLength === 0 ? EMPTY_BODY : Buffer.from(new Uint8Array(chunk)));
      return;
    }
    const limit = this.reserve(length, announced, limitBytes);
    if (limit !== undefined) return this.refuseBody(done, limit);
    this.body.set(new Uint8Array(chunk), this.bodyLength);
    this.bodyLength = length;
    if (!isLast) {
      // What had been read when the pause began still comes: less than one buffer of the library.
      if (length > this.earlyBytesMax && !this.pauseBody(done)) this.refuseBody(done, BODY_LIMIT.BODIES_BEFORE_LOGIN);
      return;
    }
    const body = this.body.subarray(0, length);
    this.endBody();
    done(this, body);
  }

  /**
   * It is not known who sends the body: until `identified` it counts among those that are being checked, or among those
   * of strangers, and at most `bytes` of it are read.
   * @param strangerKey address of a client without credentials: its body gives way to others until it is complete.
   */
  awaitIdentity(bytes: number, strangerKey?: string): void {
    const { checked, early } = this.server.bodies;
    this.earlyBytesMax = bytes;
    this.pool = strangerKey === undefined ? checked : early;
    this.addressKey = strangerKey ?? '';
  }

  giveWay(limit: BodyLimit): void {
    this.server.guard(this, () => this.refuseBody(this.bodyDone, limit));
  }

  /** It is known who sends the body: the rest is read. */
  identified(): void {
    const { known } = this.server.bodies;
    this.earlyBytesMax = Infinity;
    if (this.pool !== known) {
      known.moveFrom(this.pool, this.heldBytes, this.isCollecting ? 1 : 0);
      this.pool = known;
      this.bodyStream?.identified();
    }
    this.resumeBody();
  }

  /** @returns false when too many bodies wait. */
  private pauseBody(done: BodyCallback): boolean {
    if (this.pauseTimer !== undefined) return true;
    const { bodies } = this.server;
    if (!bodies.takePause()) return false;
    this.pauseTimer = setTimeout(
      () => this.server.guard(this, () => this.refuseBody(done, BODY_LIMIT.BEFORE_LOGIN)),
      bodies.pausedMsMax,
    );
    this.response.pause();
    return true;
  }

  private resumeBody(): void {
    if (this.pauseTimer === undefined) return;
    clearTimeout(this.pauseTimer);
    this.pauseTimer = undefined;
    this.server.bodies.givePause();
    if (!this.isOver) this.response.resume();
  }

  private refuseBody(done: BodyCallback, limit: string | undefined): void {
    this.endBody();
    done(this, undefined, limit);
  }

  /** Nothing more is collected. */
  private endBody(): void {
    this.body = EMPTY_BODY;
    this.bodyLength = -1;
    if (!this.isCollecting) return;
    this.isCollecting = false;
    this.pool.giveBody(this);
    this.server.bodies.shares.endBody(this);
  }

  /** @returns the limit that is in the way. */
  private hold(bytes: number, bodyBytes: number): string | undefined {
    const limit = this.server.bodies.shares.takeBody(this, bytes, bodyBytes);
    if (limit !== undefined) return limit;
    if (!this.pool.takeBytes(bytes, bodyBytes, this)) return this.pool.bytesLimit;
    this.heldBytes += bytes;
    return undefined;
  }

  /** They count no more; harmless when they have been let go with the request. */
  private letGo(bytes: number): void {
    const held = Math.min(bytes, this.heldBytes);
    this.heldBytes -= held;
    this.pool.giveBytes(held);
    this.server.bodies.shares.giveBody(this, held);
  }

  /** Makes room for `length` bytes. @returns the limit of all bodies that is in the way. */
  private reserve(length: number, announced: number, limitBytes: number): string | undefined {
    if (length <= this.body.length) return undefined;
    const sizeMax = announced >= length ? Math.min(announced, limitBytes) : limitBytes;
    const size = Math.max(
      length,
      Math.min(Math.max(BODY_BYTES_FIRST, Math.min(length * 2, this.earlyBytesMax)), sizeMax),
    );
    if (!this.isCollecting) {
      const refusal =
        this.server.bodies.shares.beginBody(this) ?? (this.pool.takeBody(this) ? undefined : this.pool.bodiesLimit);
      if (refusal !== undefined) return refusal;
      this.isCollecting = true;
    }
    const limit = this.hold(size - this.body.length, size);
    if (limit !== undefined) return limit;
    const larger = Buffer.allocUnsafeSlow(size);
    larger.set(this.body.subarray(0, this.bodyLength), 0);
    this.body = larger;
    return undefined;
  }

  /** The buffer of the body was let go: it counts no more. */
  releaseBody(): void {
    this.endBody();
    this.letGo(this.heldBytes);
  }

  /** The answer is complete, or its client has gone. */
  private end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.resumeBody();
    this.releaseBody();
    this.encoder?.close();
    this.server.bodies.shares.end(this);
    this.server.ended(this);
  }

  /** @param headers names and values in turn. */
  respond(status: number, headers: readonly string[], body: string | Uint8Array): void {
    if (this.isOver || this.paced !== undefined) return;
    this.dropRest();
    this.resumeBody();
    this.bodyStream?.answered();
    this.isAnswered = true;
    this.whenParsed(() => this.sendWhole(status, headers, body));
  }

  private sendWhole(status: number, headers: readonly string[], body: string | Uint8Array): void {
    if (body.length > BYTES_AT_ONCE && this.method !== 'HEAD') {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      void this.beginPaced(status, headers).sendSized(bytes, bytes.length);
      return;
    }
    this.response.cork(() => {
      this.writeHead(status, headers);
      if (status === 204 || status === 304) this.endNothing();
      else if (this.method === 'HEAD') this.endHead(Buffer.byteLength(body));
      else this.response.end(body, this.isLast);
    });
    this.end();
  }

  /** What still arrives is thrown away, so that the client gets to read the answer. */
  private dropRest(): void {
    this.bodyStream?.fail(new BrokenBody('the request was answered before the end of its body'));
  }

  private writeHead(status: number, headers: readonly string[]): void {
    const { response } = this;
    response.writeStatus(statusLine(status));
    for (let index = 0; index + 1 < headers.length; index += 2)
      response.writeHeader(headers[index], headers[index + 1]);
  }

  /** To end the connection, uWebSockets.js wants a length, too. */
  private endNothing(): void {
    if (this.isLast) this.response.endWithoutBody(0, true);
    else this.response.endWithoutBody();
  }

  /** Ends an answer that tells the length of its body and has none. */
  private endHead(bodyBytes: number): void {
    if (this.isLast) {
      this.response.endWithoutBody(bodyBytes, true);
      return;
    }
    this.response.writeHeader('Content-Length', String(bodyBytes));
    this.response.endWithoutBody();
  }

  /**
   * Answers without a body, with its length where that is known; otherwise with what a stream says instead, or clients
   * close the connection.
   */
  private respondHead(status: number, headers: readonly string[], bodyBytes?: number): void {
    this.bodyStream?.answered();
    this.isAnswered = true;
    this.whenParsed(() => {
      this.response.cork(() => {
        this.writeHead(status, headers);
        if (bodyBytes !== undefined) {
          this.endHead(bodyBytes);
          return;
        }
        if (!this.isLast) this.response.writeHeader('Transfer-Encoding', 'chunked');
        this.endNothing();
      });
      this.end();
    });
  }

  /**
   * Completes an answer. That of the last request of a connection waits until the library has looked at all that it has
   * read: it closes a connection on which another request comes before an answer, and hands on one that comes behind
   * it.
   */
  private whenParsed(complete: () => void): void {
    if (!this.isLast) complete();
    else
      setImmediate(() => {
        if (!this.isAborted) this.server.guard(this, complete);
      });
  }

  private beginPaced(status: number, headers: readonly string[]): PacedAnswer {
    const { server } = this;
    this.bodyStream?.answered();
    this.response.cork(() => this.writeHead(status, headers));
    this.paced = new PacedAnswer(this.response, {
      stalledMsMax: server.stalledMsMax,
      isLast: this.isLast,
      onStalled: () => {
        server.stalled(this);
        this.response.close();
      },
      onDone: () => {
        this.isAnswered = true;
        this.end();
      },
      guard: (callback) => server.guard(this, callback),
    });
    return this.paced;
  }

  /** Begins an answer in pieces. Nothing leaves the server before the first of them. */
  startStream(status: number, headers: readonly string[]): void {
    if (this.isOver || this.paced !== undefined) return;
    if (this.method === 'HEAD') this.respondHead(status, headers);
    else this.beginPaced(status, headers);
  }

  /**
   * Writes a small piece at once, however much waits: for single ones that tell the client that the server is
   * there.
   */
  write(piece: string): void {
    if (!this.isOver) this.paced?.write(Buffer.from(piece));
  }

  /** Completes with a last piece, which may be empty. */
  endStream(piece: string | Uint8Array = ''): void {
    if (this.isOver || this.paced === undefined) return;
    this.dropRest();
    this.isAnswered = true;
    const { paced } = this;
    this.whenParsed(() => void paced.end(typeof piece === 'string' ? Buffer.from(piece) : piece));
  }

  /** Has `pipe` encode the pieces; before it, with the header of the coding. The exchange closes the encoder. */
  encodeWith(encoder: StreamEncoder): void {
    if (this.isEnded) encoder.close();
    else this.encoder = encoder;
  }

  /** Sends all pieces as fast as the client reads, then completes. A source that fails breaks the answer off. */
  async pipe(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
    if (this.isOver) return;
    try {
      for await (const piece of pieces) {
        if (this.isOver) return;
        const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
        await this.paced?.send(this.encoder === undefined ? bytes : await this.encoder.encode(bytes));
      }
      this.endStream(await this.encoder?.end());
    } catch (error) {
      this.server.log.error({ err: error, path: this.path }, 'an answer was broken off');
      this.destroy();
    }
  }

  /**
   * Answers with content of a known length as fast as the client reads. A source that fails or is shorter breaks the
   * answer off.
   */
  async respondSized(
    status: number,
    headers: readonly string[],
    totalBytes: number,
    pieces: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    if (this.isOver || this.paced !== undefined) return;
    if (this.isLast) await new Promise(setImmediate);
    if (this.isOver || this.paced !== undefined) return;
    if (this.method === 'HEAD' || totalBytes === 0) {
      this.respondHead(status, headers, totalBytes);
      return;
    }
    const paced = this.beginPaced(status, headers);
    try {
      for await (const piece of pieces) {
        if (this.isOver) return;
        await paced.sendSized(piece, totalBytes);
        if (this.isOver) return;
      }
      throw new Error(`the content has less than ${totalBytes} bytes`);
    } catch (error) {
      this.server.log.error({ err: error, path: this.path }, 'an answer was broken off');
      this.destroy();
    }
  }

  /** Closes the connection without a proper end of the answer. */
  destroy(): void {
    if (!this.isOver) this.response.close();
  }

  private abort(): void {
    if (this.isEnded) return;
    const wasAnswered = this.isAnswered;
    this.isAborted = true;
    this.bodyStream?.fail(new BrokenBody('the client went before the end of the body'));
    this.end();
    this.paced?.stop();
    this.abortController?.abort();
    const callback = this.abortCallback;
    this.abortCallback = undefined;
    // A handler that has given the whole answer looks no further.
    if (callback !== undefined && !wasAnswered) this.server.guard(this, callback);
  }
}
