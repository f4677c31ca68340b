/**
 * Files of tenants over the store of large content, bounded by tenant: a tenant may hold up to nine times what is free,
 * of the disk or in a cluster of what JetStream stores, and what the setting allows. The tenant is a part of each key.
 * What is held is counted when it is written and removed, and again from the keys each hour: other nodes of a cluster,
 * and kills, may have changed it.
 */
import type { Blobs, Content } from '../../ports/blobs.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';

const FREE_FACTOR = 9;
const COUNT_EVERY_MS = 3_600_000;
/** A refusal may be out of date: it is counted again then, at most this often. */
const COUNT_AGAIN_MS = 60_000;
/** What a tenant may hold although the disk is full of other data. */
const SMALL_BYTES = 16 * 1024 * 1024;
export const FILES_LIMIT = { SETTING: 'files/tenant-bytes', SHARE: 'files/tenant-share' } as const;

export interface TenantFilesOptions {
  readonly blobs: Blobs;
  /** Of one tenant; 0 sets no bound. */
  readonly bytesMax: number;
  /** Bytes that files may still take; Infinity when it is not known. */
  readonly freeBytes: () => number;
  /** Brings `freeBytes` up to date; undefined when it is. `bytes` are about to be written. */
  readonly look?: (bytes: number) => Promise<void> | undefined;
  /** What a tenant may hold although nothing is free; 16 MiB by default. 0 where others than files fail for it. */
  readonly smallBytes?: number;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Milliseconds, growing. */
  readonly now: () => number;
}

export class TenantFiles implements Blobs {
  readonly #options: TenantFilesOptions;
  #bytes = new Map<number, number>();
  readonly #loop = new BackgroundLoop();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: TenantFilesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.start(() => this.#run());
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Of all tenants. */
  get bytes(): number {
    let sum = 0;
    for (const bytes of this.#bytes.values()) sum += bytes;
    return sum;
  }

  bytesOf(tenant: number): number {
    return this.#bytes.get(tenant) ?? 0;
  }

  /** Counts all files from their keys. */
  async count(): Promise<void> {
    this.#countedAt = this.#options.now();
    const bytes = new Map<number, number>();
    for await (const { key, bytes: size = 0 } of this.#options.blobs.keys()) {
      if (this.#loop.isStopped) return;
      const tenant = tenantOf(key);
      if (tenant !== undefined) bytes.set(tenant, (bytes.get(tenant) ?? 0) + size);
    }
    this.#bytes = bytes;
  }

  async #run(): Promise<void> {
    while (!this.#loop.isStopped) {
      await this.count().catch((error: Error) => {
        this.#options.log.warn(
          { error: error.message, retryMs: COUNT_EVERY_MS },
          'the files of tenants could not be counted',
        );
      });
      await this.#loop.pause(COUNT_EVERY_MS, { isIdle: true });
    }
  }

  async put(content: Content, limitBytes: number, tenant?: number): Promise<{ key: string; bytes: number }> {
    const { blobs, look } = this.#options;
    if (tenant === undefined) return blobs.put(content, limitBytes);
    await look?.(0);
    this.#requireRoom(tenant);
    let taken = 0;
    const take = async (bytes: number): Promise<void> => {
      await look?.(bytes);
      taken += bytes;
      this.#add(tenant, bytes);
      this.#requireRoom(tenant);
    };
    try {
      return await blobs.put(counted(content, take), limitBytes, tenant);
    } catch (error) {
      this.#add(tenant, -taken);
      throw error;
    }
  }

  read(
    key: string,
    range?: { readonly from: number; readonly through: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#options.blobs.read(key, range);
  }

  async remove(key: string): Promise<void> {
    const bytes = await this.#options.blobs.remove(key);
    const tenant = tenantOf(key);
    if (tenant !== undefined && typeof bytes === 'number') this.#add(tenant, -bytes);
  }

  keys(): ReturnType<Blobs['keys']> {
    return this.#options.blobs.keys();
  }

  #add(tenant: number, bytes: number): void {
    this.#bytes.set(tenant, Math.max(0, this.bytesOf(tenant) + bytes));
  }

  /** @throws PlatformError `files/too-many-bytes`. */
  #requireRoom(tenant: number): void {
    const { bytesMax, freeBytes, smallBytes = SMALL_BYTES, refusals, now } = this.#options;
    const held = this.bytesOf(tenant);
    const isOverSetting = bytesMax > 0 && held > bytesMax;
    if (!isOverSetting && (held <= smallBytes || held < freeBytes() * FREE_FACTOR)) return;
    const limit = isOverSetting ? FILES_LIMIT.SETTING : FILES_LIMIT.SHARE;
    refusals.count(limit);
    if (now() - this.#countedAt >= COUNT_AGAIN_MS) this.#loop.wake();
    throw new PlatformError('files/too-many-bytes', {
      bytes: held,
      limit: isOverSetting ? `${limit}, --tenant-files-max-bytes` : limit,
    });
  }
}

const tenantOf = (key: string): number | undefined => {
  const at = key.indexOf('-');
  return at < 0 ? undefined : Number(key.slice(at + 1));
};

async function* counted(content: Content, take: (bytes: number) => Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await take(piece.length);
    yield piece;
  }
}
