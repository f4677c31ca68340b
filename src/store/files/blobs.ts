/**
 * Large binary content as files of the data directory: `<two digits>/<key>`. Content is written beside, synced and
 * renamed, so that a file with a key is whole; what a crash left half-written is removed at the next start.
 */
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BlobTooLarge, newBlobKey } from '../../ports/blobs.ts';
import type { Blobs, Content, ContentOwner } from '../../ports/blobs.ts';
import { refusedBy } from '../../model/errors.ts';
import { syncDirectory } from './sync-directory.ts';

const KEY = /^[0-9a-f]{32}(-\d+(-[0-9a-f]{16})?)?$/;
/** Directory of what is being written. */
const UNFINISHED = 'unfinished';
const READ_BYTES = 262_144;
/**
 * What the disk has not got yet: behind 100 MB at once the journal's next write took 100 ms in place of 1 (ext4,
 * 2026-11-27).
 */
const UNSYNCED_BYTES_MAX = 4 * 1_048_576;

export interface FileBlobsOptions {
  /** Name of the limit while nothing may be written (disk full), undefined otherwise. */
  readonly refusal?: () => string | undefined;
  /** For tests. */
  readonly synchronise?: typeof syncDirectory;
}

export class FileBlobs implements Blobs {
  readonly #directory: string;
  readonly #refusal: () => string | undefined;
  readonly #synchronise: typeof syncDirectory;
  /**
   * Directories whose own names are being synchronised, at most one for each two digits: each file in one waits for
   * that.
   */
  readonly #made = new Map<string, Promise<void>>();

  /** Resolves when the last part that was begun is on the disk. */
  #syncing: Promise<void> = Promise.resolve();

  private constructor(directory: string, { refusal = () => undefined, synchronise = syncDirectory }: FileBlobsOptions) {
    this.#directory = directory;
    this.#refusal = refusal;
    this.#synchronise = synchronise;
  }

  static async open(directory: string, options: FileBlobsOptions = {}): Promise<FileBlobs> {
    await rm(join(directory, UNFINISHED), { recursive: true, force: true });
    await mkdir(join(directory, UNFINISHED), { recursive: true });
    await syncDirectory(dirname(directory));
    return new FileBlobs(directory, options);
  }

  /** One content at a time: with a slow disk they would take all threads of the process for files, and the journal's. */
  #synced(file: FileHandle): Promise<void> {
    const synced = this.#syncing.then(() => file.datasync());
    // Its own content tells how it ended.
    this.#syncing = synced.catch(() => undefined);
    return synced;
  }

  /** @throws PlatformError while writes are refused; whatever `content` throws. */
  async put(content: Content, limitBytes: number, owner?: ContentOwner): Promise<{ key: string; bytes: number }> {
    const key = newBlobKey(owner);
    const unfinished = join(this.#directory, UNFINISHED, key);
    try {
      const bytes = await this.#write(unfinished, content, limitBytes);
      const directory = join(this.#directory, key.slice(0, 2));
      await this.#make(directory);
      await rename(unfinished, join(directory, key));
      await this.#synchronise(directory);
      return { key, bytes };
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async #make(directory: string): Promise<void> {
    if (!this.#made.has(directory)) {
      const making = mkdir(directory, { recursive: true })
        .then((created) => (created === undefined ? undefined : this.#synchronise(this.#directory)))
        .finally(() => this.#made.delete(directory));
      this.#made.set(directory, making);
    }
    await this.#made.get(directory);
  }

  async #write(path: string, content: Content, limitBytes: number): Promise<number> {
    let bytes = 0;
    let unsynced = 0;
    const file = await open(path, 'wx');
    try {
      for await (const piece of content) {
        const refusal = this.#refusal();
        if (refusal !== undefined) throw refusedBy(refusal);
        bytes += piece.length;
        if (bytes > limitBytes) throw new BlobTooLarge(`the content has more than ${limitBytes} bytes`);
        await writeAll(file, piece);
        unsynced += piece.length;
        if (unsynced < UNSYNCED_BYTES_MAX) continue;
        await this.#synced(file);
        unsynced = 0;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return bytes;
  }

  async read(
    key: string,
    range?: { readonly from: number; readonly through: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!KEY.test(key)) return undefined;
    const path = this.#path(key);
    if ((await statOf(path)) === undefined) return undefined;
    return pieces(path, range?.from ?? 0, range?.through ?? Infinity);
  }

  async remove(key: string): Promise<number> {
    if (!KEY.test(key)) return 0;
    const found = await statOf(this.#path(key));
    await rm(this.#path(key), { force: true });
    return found?.size ?? 0;
  }

  async *keys(): AsyncIterable<{ key: string; writtenAt: number; bytes: number }> {
    for (const directory of await readdir(this.#directory)) {
      if (!/^[0-9a-f]{2}$/.test(directory)) continue;
      for (const key of await readdir(join(this.#directory, directory))) {
        if (!KEY.test(key)) continue;
        const found = await statOf(this.#path(key));
        if (found !== undefined) yield { key, writtenAt: found.mtimeMs, bytes: found.size };
      }
    }
  }

  #path(key: string): string {
    return join(this.#directory, key.slice(0, 2), key);
  }
}

async function statOf(path: string): Promise<{ mtimeMs: number; size: number } | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) at += (await file.write(piece, at, piece.length - at)).bytesWritten;
}

/** Opened when it is first asked for, so that content that is never read leaves no file open. */
async function* pieces(path: string, from: number, through: number): AsyncIterable<Uint8Array> {
  const file = await open(path, 'r');
  try {
    for (let at = from; at <= through; ) {
      // Not used again: who gets it may keep it.
      const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, through - at + 1));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
