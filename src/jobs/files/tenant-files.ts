/**
 * Files of tenants over the store of large content, bounded by tenant and user: a tenant may hold up to nine times what
 * is free, of the disk or in a cluster of what JetStream stores, and what the setting allows. A user may hold up to four
 * times what is free there and of the setting, a registered device a quarter. Tenant and user are a part of each key.
 * What is held is counted when it is written and removed, and again from the keys each hour: other nodes of a cluster,
 * and kills, may have changed it.
 */
import { ownerOfKey, ownerText } from '../../ports/blobs.ts';
import type { Blobs, Content, ContentOwner } from '../../ports/blobs.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';

/** Of what is free, times this: who is alone gets 90 (tenant), 80 (user) and 20 (device) hundredths. */
const FREE_FACTORS = { tenant: 9, user: 4, device: 1 / 4 } as const;
const COUNT_EVERY_MS = 3_600_000;
/** A refusal may be out of date: it is counted again then, at most this often. */
const COUNT_AGAIN_MS = 60_000;
/** What a tenant may hold although the disk is full of other data. */
const SMALL_BYTES = 16 * 1024 * 1024;
export const FILES_LIMIT = {
  SETTING: 'files/tenant-bytes',
  SHARE: 'files/tenant-share',
  USER: 'files/of-user',
} as const;

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

/** Users by the end of their keys. */
interface Held {
  bytes: number;
  readonly ofUsers: Map<string, number>;
}

export class TenantFiles implements Blobs {
  readonly #options: TenantFilesOptions;
  #held = new Map<number, Held>();
  readonly #loop = new BackgroundLoop();
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: TenantFilesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      COUNT_EVERY_MS,
      () => this.count(),
      (error) => {
        this.#options.log.warn(
          { error: (error as Error).message, retryMs: COUNT_EVERY_MS },
          'the files of tenants could not be counted',
        );
      },
    );
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Of all tenants. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#held.values()) sum += bytes;
    return sum;
  }

  bytesOf(tenant: number): number {
    return this.#held.get(tenant)?.bytes ?? 0;
  }

  /** Counts all files from their keys. */
  async count(): Promise<void> {
    this.#countedAt = this.#options.now();
    const held = new Map<number, Held>();
    for await (const { key, bytes = 0 } of this.#options.blobs.keys()) {
      if (this.#loop.isStopped) return;
      const owner = ownerOfKey(key);
      if (owner !== undefined) add(held, owner.tenant, owner.text, bytes);
    }
    this.#held = held;
  }

  async put(content: Content, limitBytes: number, owner?: ContentOwner): Promise<{ key: string; bytes: number }> {
    const { blobs, look } = this.#options;
    if (owner === undefined) return blobs.put(content, limitBytes);
    const { tenant } = owner;
    const text = ownerText(owner);
    await look?.(0);
    this.#requireRoom(owner, text);
    let taken = 0;
    const take = async (bytes: number): Promise<void> => {
      await look?.(bytes);
      taken += bytes;
      add(this.#held, tenant, text, bytes);
      this.#requireRoom(owner, text);
    };
    try {
      return await blobs.put(counted(content, take), limitBytes, owner);
    } catch (error) {
      add(this.#held, tenant, text, -taken);
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
    const owner = ownerOfKey(key);
    if (owner !== undefined && typeof bytes === 'number') add(this.#held, owner.tenant, owner.text, -bytes);
  }

  keys(): ReturnType<Blobs['keys']> {
    return this.#options.blobs.keys();
  }

  /** @throws PlatformError `files/too-many-bytes`, `files/too-many-of-user`. */
  #requireRoom({ tenant, user, isDevice }: ContentOwner, text: string): void {
    const { bytesMax, freeBytes, smallBytes = SMALL_BYTES, refusals, now } = this.#options;
    const { bytes: held = 0, ofUsers } = this.#held.get(tenant) ?? {};
    const ofUser = ofUsers?.get(text) ?? 0;
    const factor = isDevice ? FREE_FACTORS.device : FREE_FACTORS.user;
    const leftOfSetting = bytesMax > 0 ? bytesMax - held : Number.POSITIVE_INFINITY;
    const isOverShare = held > smallBytes && held >= freeBytes() * FREE_FACTORS.tenant;
    const isUserOver =
      ofUser > leftOfSetting * factor ||
      (ofUser > (smallBytes * factor) / (1 + factor) && ofUser >= freeBytes() * factor);
    if (leftOfSetting >= 0 && !isOverShare && !isUserOver) return;
    if (now() - this.#countedAt >= COUNT_AGAIN_MS) this.#loop.wake();
    if (leftOfSetting >= 0 && !isOverShare) {
      refusals.count(FILES_LIMIT.USER, { tenant, user });
      throw new PlatformError('files/too-many-of-user', { bytes: ofUser, limit: FILES_LIMIT.USER });
    }
    const limit = leftOfSetting < 0 ? FILES_LIMIT.SETTING : FILES_LIMIT.SHARE;
    refusals.count(limit, { tenant, user });
    throw new PlatformError('files/too-many-bytes', {
      bytes: held,
      limit: leftOfSetting < 0 ? `${limit}, --tenant-files-max-bytes` : limit,
    });
  }
}

/** What was counted before may be out of date, so that less than nothing would be left. */
function add(held: Map<number, Held>, tenant: number, text: string, bytes: number): void {
  let ofTenant = held.get(tenant);
  if (ofTenant === undefined) held.set(tenant, (ofTenant = { bytes: 0, ofUsers: new Map() }));
  const ofUser = Math.max(0, (ofTenant.ofUsers.get(text) ?? 0) + bytes);
  if (ofUser === 0) ofTenant.ofUsers.delete(text);
  else ofTenant.ofUsers.set(text, ofUser);
  ofTenant.bytes = Math.max(0, ofTenant.bytes + bytes);
}

async function* counted(content: Content, take: (bytes: number) => Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await take(piece.length);
    yield piece;
  }
}
