/**
 * Port of the store for large binary content: inventory binaries, event attachments, application archives. Content is
 * written whole before the command that refers to it is journaled, and never changed; content that nobody refers to is
 * removed by a sweep. Implemented in src/store on files (embedded) and on JetStream's object store (cluster).
 */
import { randomBytes } from 'node:crypto';

const KEY_BYTES = 16;

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A new key: 32 digits, and behind a hyphen the number of the tenant that the content counts for. */
export const newBlobKey = (tenant?: number): string =>
  `${randomBytes(KEY_BYTES).toString('hex')}${tenant === undefined ? '' : `-${tenant}`}`;

export interface Blobs {
  /**
   * Stores the content under a new key, synced when the promise resolves.
   * @param limitBytes more than this makes it fail with `BlobTooLarge` and leaves nothing behind.
   * @param tenant whose files it is one of; absent for the server's own.
   */
  put(content: Content, limitBytes: number, tenant?: number): Promise<{ readonly key: string; readonly bytes: number }>;
  /** Bytes `from` to `through` (inclusive), all when left out. @returns undefined when there is no such content. */
  read(
    key: string,
    range?: { readonly from: number; readonly through: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Forgets the content; nothing happens when it is gone. @returns its bytes where they are known. */
  remove(key: string): Promise<number | void>;
  /**
   * Keys in no order, with the time they were written (ms since 1970), for the sweep, and their bytes where they are
   * known.
   */
  keys(): AsyncIterable<{ readonly key: string; readonly writtenAt: number; readonly bytes?: number }>;
}

/** Content that was replaced or deleted while somebody may be reading it. */
export interface RetiredContents {
  /** Removes the content when downloads that are under way have had their time. */
  retire(key: string, bytes: number): void;
}

export class BlobTooLarge extends Error {}
