/**
 * Content without references that may still be downloaded: removed after a while. Bounded: with
 * more of it the oldest goes at once. What the end of the process leaves is removed by the sweep (blob-sweeper.ts).
 */
import type { Blobs, RetiredContents } from '../../ports/blobs.ts';
import type { Log } from '../../ports/log.ts';

/** A download may take this long. */
const GRACE_MS = 600_000;
const BYTES_MAX = 256 * 1_048_576;
const CONTENTS_MAX = 20_000;

export interface RetiredBlobsOptions {
  readonly blobs: Pick<Blobs, 'remove'>;
  readonly log: Log;
  readonly graceMs?: number;
  readonly bytesMax?: number;
}

interface Retired {
  readonly key: string;
  readonly bytes: number;
  readonly removeAt: number;
}

export class RetiredBlobs implements RetiredContents {
  readonly #options: RetiredBlobsOptions;
  /** In the order of their times. */
  readonly #waiting = new Set<Retired>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: RetiredBlobsOptions) {
    this.#options = options;
  }

  retire(key: string, bytes: number): void {
    if (this.#isStopped) return;
    const { graceMs = GRACE_MS, bytesMax = BYTES_MAX } = this.#options;
    this.#waiting.add({ key, bytes, removeAt: performance.now() + graceMs });
    this.#bytes += bytes;
    while (this.#bytes > bytesMax || this.#waiting.size > CONTENTS_MAX)
      this.#remove(this.#waiting.values().next().value as Retired);
    this.#timer ??= this.#later(graceMs);
  }

  /** What waits is left to the sweep. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #later(waitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const now = performance.now();
      for (const retired of this.#waiting) {
        if (retired.removeAt > now) break;
        this.#remove(retired);
      }
      const next = this.#waiting.values().next().value;
      this.#timer = next === undefined ? undefined : this.#later(Math.max(1, next.removeAt - now));
    }, waitMs).unref();
  }

  #remove(retired: Retired): void {
    this.#waiting.delete(retired);
    this.#bytes -= retired.bytes;
    this.#options.blobs.remove(retired.key).catch((error: Error) => {
      this.#options.log.warn(
        { key: retired.key, error: error.message },
        'content that is not used any more could not be removed; the sweep does it',
      );
    });
  }
}
