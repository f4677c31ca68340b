/**
 * A request body in pieces, for content that may be larger than the memory that one request gets: reading stops while
 * no reader takes them.
 */
import { refusedBy } from '../../model/errors.ts';
import { BYTES_BEFORE_LOGIN_MAX } from './body-budget.ts';

/**
 * Bytes waiting above which nothing more is read from the connection. uWebSockets.js goes on, 512 KiB at a time, until
 * it has read what the kernel has received (`net.ipv4.tcp_rmem`, seen: 7 MB): `hold` bounds that.
 */
const WAITING_BYTES_MAX = 262_144;

/** The client has gone, or the answer was given before the end of the body: no client is left to be told. */
export class BrokenBody extends Error {}

export interface BodySource {
  pause(): void;
  resume(): void;
  /**
   * Counts bytes that wait. @param bodyBytes what waits with them. @returns the limit that is in the way: then they are
   * not counted.
   */
  hold(bytes: number, bodyBytes: number): string | undefined;
  /** Bytes wait no more. */
  letGo(bytes: number): void;
}

/** To be iterated once. */
export class BodyStream implements AsyncIterable<Uint8Array> {
  /** Content-Length; NaN when it was not sent. */
  readonly announcedBytes: number;
  readonly #source: BodySource;
  readonly #pieces: Buffer[] = [];
  #waitingBytes = 0;
  #waitingBytesMax: number;
  #isPaused = false;
  #isComplete = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  /** @param options.isEarly it is not known who sends it: less of it waits, until `identified`. */
  constructor(source: BodySource, options: { readonly announcedBytes: number; readonly isEarly: boolean }) {
    this.#source = source;
    this.announcedBytes = options.announcedBytes;
    this.#waitingBytesMax = options.isEarly ? BYTES_BEFORE_LOGIN_MAX : WAITING_BYTES_MAX;
  }

  /** The sender is known: more may wait. */
  identified(): void {
    this.#waitingBytesMax = WAITING_BYTES_MAX;
    if (this.#waitingBytes <= WAITING_BYTES_MAX) this.#resume();
  }

  /** @param chunk detached after the call: it is copied. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#error !== undefined || this.#isComplete) return;
    this.#isComplete = isLast;
    if (chunk.byteLength > 0) {
      const limit = this.#source.hold(chunk.byteLength, this.#waitingBytes + chunk.byteLength);
      if (limit !== undefined) {
        this.fail(Object.assign(refusedBy(limit), { limit }));
        return;
      }
      this.#waitingBytes += chunk.byteLength;
      this.#pieces.push(Buffer.from(new Uint8Array(chunk)));
      if (this.#waitingBytes > this.#waitingBytesMax && !this.#isPaused && !isLast) {
        this.#isPaused = true;
        this.#source.pause();
      }
    }
    this.#woken();
  }

  /** Ends the reading: what waits is dropped, what still comes too. */
  fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#pieces.length = 0;
    this.#source.letGo(this.#waitingBytes);
    this.#waitingBytes = 0;
    this.#resume();
    this.#woken();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#waitingBytes -= piece.length;
        this.#source.letGo(piece.length);
        if (this.#waitingBytes <= this.#waitingBytesMax) this.#resume();
        yield piece;
      } else if (this.#error !== undefined) {
        throw this.#error;
      } else if (this.#isComplete) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** The answer begins: behind a whole body the connection is read on, for the next request. */
  answered(): void {
    if (!this.#isPaused || !this.#isComplete) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  /**
   * Not behind the last piece: uWebSockets.js gives a connection that is read on 10 s to send something, and the answer
   * may take longer.
   */
  #resume(): void {
    if (!this.#isPaused || (this.#isComplete && this.#error === undefined)) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #woken(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
