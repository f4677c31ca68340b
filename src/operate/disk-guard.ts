/** Watches the free space of a disk: writes are refused before anything breaks. */
import { statfs } from 'node:fs/promises';
import type { Log } from '../ports/log.ts';

/** Short: others may fill the disk as well. One look costs some 20 µs. */
const CHECK_EVERY_MS = 250;

export type DiskLimit = 'disk/free-bytes' | 'clickhouse/free-bytes';

export class DiskGuard {
  /** Which limit refuses writes now. */
  refusal: DiskLimit | undefined;
  freeBytes = Number.POSITIVE_INFINITY;
  readonly #path: string;
  readonly #limit: DiskLimit;
  readonly #everyMs: number;
  readonly #freeBytesMin: number;
  readonly #warnBytes: number;
  #isLow = false;
  readonly #log: Log;
  readonly #freeBytesOf: (path: string) => Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  readonly #unreadToldAt: number;
  /** Looks that failed, one after the other. */
  #unreadCount = 0;

  /**
   * @param options.path a directory on it, or the name of what `freeBytesOf` asks; the log has it.
   * @param options.freeBytesOf as the file system says when absent. Asked again only when it has answered.
   * @param options.warnBytes with less the log warns, once until there is more again; 0 when absent.
   * @param options.everyMs between two looks; 250 when absent.
   * @param options.unreadToldAt this many looks have to fail one after the other until the log says so, once; 1 when
   * absent.
   */
  constructor(options: {
    path: string;
    freeBytesMin: number;
    warnBytes?: number;
    log: Log;
    limit?: DiskLimit;
    everyMs?: number;
    unreadToldAt?: number;
    freeBytesOf?: (path: string) => Promise<number>;
  }) {
    this.#path = options.path;
    this.#limit = options.limit ?? 'disk/free-bytes';
    this.#everyMs = options.everyMs ?? CHECK_EVERY_MS;
    this.#unreadToldAt = options.unreadToldAt ?? 1;
    this.#freeBytesMin = options.freeBytesMin;
    this.#warnBytes = options.warnBytes ?? 0;
    this.#log = options.log;
    this.#freeBytesOf = options.freeBytesOf ?? freeBytesOf;
  }

  async start(): Promise<void> {
    await this.check();
    this.#timer = setInterval(() => {
      void this.check();
    }, this.#everyMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async check(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.freeBytes = await this.#freeBytesOf(this.#path);
      this.#unreadCount = 0;
    } catch (error) {
      this.#unreadCount += 1;
      if (this.#unreadCount === this.#unreadToldAt)
        this.#log.error({ path: this.#path, error: (error as Error).message }, 'the free space cannot be read');
      return;
    } finally {
      this.#isLooking = false;
    }
    const isLow = this.freeBytes < this.#warnBytes;
    if (isLow && !this.#isLow)
      this.#log.warn({ path: this.#path, freeBytes: this.freeBytes, warnBytes: this.#warnBytes }, 'the disk fills up');
    this.#isLow = isLow;
    const before = this.refusal;
    this.refusal = this.freeBytes < this.#freeBytesMin ? this.#limit : undefined;
    if (this.refusal && !before) {
      this.#log.error(
        { path: this.#path, freeBytes: this.freeBytes, limitBytes: this.#freeBytesMin },
        'the disk is nearly full: writes are refused',
      );
    } else if (before && !this.refusal) {
      this.#log.info({ path: this.#path, freeBytes: this.freeBytes }, 'the disk has room again: writes are taken');
    }
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
