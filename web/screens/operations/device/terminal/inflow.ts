/** What the device wrote and the screen has not read yet: a flood is read in slices and dropped beyond a bound, so that it never freezes the page. */
import type { Screen } from './screen.ts';

/** Bytes that wait; of more the oldest are dropped and counted. */
export const WAITING_BYTES_MAX = 4 * 1_024 * 1_024;
/** Between two slices the clock is read. */
export const SLICE_BYTES = 256;
/** Of a frame, besides drawing. */
export const BUDGET_MS = 10;
/** Ends a sequence that has begun, lines and corners instead of letters, colours, and a line. */
const GROUND = '\u0018\u001b(B\u000f\u001b[m\r';
const LINE_FEED = 10;
const ESCAPE = 27;

export class Inflow {
  /** Bytes that the screen never gets. */
  dropped = 0;
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #ring = new Uint8Array(WAITING_BYTES_MAX);
  /** Bytes since the start. */
  #written = 0;
  #read = 0;
  #hasGap = false;
  #decoder = new TextDecoder();

  /** @param now - milliseconds */
  constructor(screen: Screen, now = () => performance.now()) {
    [this.#screen, this.#now] = [screen, now];
  }

  push(bytes: Uint8Array): void {
    let at = this.#written;
    for (const byte of bytes) this.#ring[at++ % WAITING_BYTES_MAX] = byte;
    this.#written = at;
    const over = at - this.#read - WAITING_BYTES_MAX;
    if (over > 0) this.#drop(over);
  }

  /** The screen reads until the budget is spent, one slice at least. @returns whether bytes still wait */
  work(): boolean {
    const endMs = this.#now() + BUDGET_MS;
    if (this.#hasGap) this.#beginAgain();
    do {
      const slice = this.#slice();
      this.#screen.write(this.#decoder.decode(slice, { stream: true }));
      this.#read += slice.length;
    } while (this.#read < this.#written && this.#now() < endMs);
    return this.#read < this.#written;
  }

  clear(): void {
    this.#read = this.#written;
  }

  #slice(): Uint8Array {
    const at = this.#read % WAITING_BYTES_MAX;
    return this.#ring.subarray(at, at + Math.min(SLICE_BYTES, this.#written - this.#read));
  }

  #drop(count: number): void {
    this.#read += count;
    this.dropped += count;
    this.#hasGap = true;
  }

  /** Half a sequence or letter is neither left before the gap nor read behind it: text begins with a line or a sequence. */
  #beginAgain(): void {
    this.#decoder = new TextDecoder();
    this.#screen.write(GROUND);
    this.#drop(
      Math.max(
        this.#slice().findIndex((byte) => byte === LINE_FEED || byte === ESCAPE),
        0,
      ),
    );
    this.#hasGap = false;
  }
}
