/** A request body in pieces, for content that may be larger than the memory that one request gets: reading stops while nobody takes them. */
import { refusedBy } from '../model/errors.ts';
import { BODY_LIMIT } from './body-budget.ts';
import type { BodyBudget } from './body-budget.ts';

/** Bytes waiting above which nothing more is read from the connection; one chunk of the library (up to 512 KiB) may come on top. */
const WAITING_BYTES_MAX = 262_144;

/** The client has gone, or the answer was given before the end of the body: nobody is left to be told. */
export class BrokenBody extends Error {}

export interface BodySource {
  pause(): void;
  resume(): void;
}

/** To be iterated once. */
export class BodyStream implements AsyncIterable<Uint8Array> {
  /** Content-Length; NaN when it was not sent. */
  readonly announcedBytes: number;
  readonly #source: BodySource;
  readonly #bodies: BodyBudget;
  readonly #pieces: Buffer[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #isComplete = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(source: BodySource, bodies: BodyBudget, announcedBytes: number) {
    this.#source = source;
    this.#bodies = bodies;
    this.announcedBytes = announcedBytes;
  }

  /** @param chunk detached after the call: it is copied. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#error !== undefined || this.#isComplete) return;
    this.#isComplete = isLast;
    if (chunk.byteLength > 0) {
      if (!this.#bodies.takeBytes(chunk.byteLength)) {
        this.fail(Object.assign(refusedBy(BODY_LIMIT.BYTES), { limit: BODY_LIMIT.BYTES }));
        return;
      }
      this.#waitingBytes += chunk.byteLength;
      this.#pieces.push(Buffer.from(new Uint8Array(chunk)));
      if (this.#waitingBytes > WAITING_BYTES_MAX && !this.#isPaused && !isLast) {
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
    this.#bodies.giveBytes(this.#waitingBytes);
    this.#waitingBytes = 0;
    this.#resume();
    this.#woken();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#waitingBytes -= piece.length;
        this.#bodies.giveBytes(piece.length);
        if (this.#waitingBytes <= WAITING_BYTES_MAX) this.#resume();
        yield piece;
      } else if (this.#error !== undefined) {
        throw this.#error;
      } else if (this.#isComplete) {
        return;
      } else {
        await new Promise<void>((resolve) => { this.#wake = resolve; });
      }
    }
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #woken(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
