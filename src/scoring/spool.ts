/**
 * Results of a batch until all of them are there: in memory, and beyond a bound in a file without a name, which ends
 * with the process. Most clients send all of a batch before they read, so that results sent earlier would block both.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { refusedBy } from '../model/errors.ts';
import type { Shares } from '../pacing/shares.ts';
import type { Refusals } from '../ports/refusals.ts';
import type { Asker } from './asker.ts';

const MEMORY_BYTES_MAX = 1_048_576;
const READ_BYTES = 262_144;

export interface SpoolPlace {
  readonly directory: string;
  /** Of all spools of the node. */
  readonly shares: Shares;
  readonly refusals: Refusals;
  /** Name of the limit while nothing may be written (disk full), undefined otherwise. */
  readonly refusal: () => string | undefined;
}

export class Spool {
  bytes = 0;
  readonly #place: SpoolPlace;
  readonly #asker: Asker;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #file: FileHandle | undefined;

  constructor(place: SpoolPlace, asker: Asker) {
    this.#place = place;
    this.#asker = asker;
  }

  /** @throws PlatformError 503 where the room is used up. */
  async write(piece: Uint8Array): Promise<void> {
    // An empty piece of an answer would be waited for.
    if (piece.length === 0) return;
    const { shares, refusals, refusal } = this.#place;
    const limit = refusal() ?? shares.take(this.#asker.tenant, this.#asker.user, piece.length);
    if (limit !== undefined) {
      refusals.count(limit, this.#asker);
      throw refusedBy(limit);
    }
    this.bytes += piece.length;
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > MEMORY_BYTES_MAX) await this.#spill();
  }

  /** All that was written; the spool may be closed when it was read. */
  async *read(): AsyncGenerator<Uint8Array> {
    if (this.#file === undefined) {
      yield* this.#held;
      return;
    }
    await this.#spill();
    for (let at = 0; at < this.bytes; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, at);
      if (bytesRead === 0) throw new Error('the results of a batch ended too early');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    this.#place.shares.give(this.#asker.tenant, this.#asker.user, this.bytes);
    this.bytes = 0;
    this.#held = [];
    await this.#file?.close();
    this.#file = undefined;
  }

  async #spill(): Promise<void> {
    this.#file ??= await this.#open();
    await this.#file.writev(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
  }

  async #open(): Promise<FileHandle> {
    const { directory } = this.#place;
    await mkdir(directory, { recursive: true });
    const path = join(directory, randomBytes(16).toString('hex'));
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  }
}
