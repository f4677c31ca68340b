/** Watches the free space of the data directory: writes are refused before anything breaks. */
import { statfs } from 'node:fs/promises';
import type { Log } from '../model/log.ts';

/** Short: others may fill the disk as well. One look costs some 20 µs. */
const CHECK_EVERY_MS = 250;

export class DiskGuard {
  /** Which limit refuses writes now. */
  refusal: 'disk/free-bytes' | undefined;
  freeBytes = Number.POSITIVE_INFINITY;
  readonly #path: string;
  readonly #freeBytesMin: number;
  readonly #log: Log;
  readonly #freeBytesOf: (path: string) => Promise<number>;
  #timer: NodeJS.Timeout | undefined;

  /** @param options.freeBytesOf as the file system says when absent. */
  constructor(options: { path: string; freeBytesMin: number; log: Log; freeBytesOf?: (path: string) => Promise<number> }) {
    this.#path = options.path;
    this.#freeBytesMin = options.freeBytesMin;
    this.#log = options.log;
    this.#freeBytesOf = options.freeBytesOf ?? freeBytesOf;
  }

  async start(): Promise<void> {
    await this.check();
    this.#timer = setInterval(() => { void this.check(); }, CHECK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async check(): Promise<void> {
    try {
      this.freeBytes = await this.#freeBytesOf(this.#path);
    } catch (error) {
      this.#log.error({ path: this.#path, error: (error as Error).message }, 'the free space cannot be read');
      return;
    }
    const before = this.refusal;
    this.refusal = this.freeBytes < this.#freeBytesMin ? 'disk/free-bytes' : undefined;
    if (this.refusal && !before) {
      this.#log.error({ freeBytes: this.freeBytes, limitBytes: this.#freeBytesMin }, 'the disk is nearly full: writes are refused');
    } else if (before && !this.refusal) {
      this.#log.info({ freeBytes: this.freeBytes }, 'the disk has room again: writes are taken');
    }
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
