/**
 * Port of the store for large binary content: inventory binaries, event attachments, application archives. Content is written whole before the
 * command that refers to it is journaled, and never changed; content that nobody refers to is removed by a sweep.
 * Implemented in src/store on files (embedded) and on JetStream's object store (cluster).
 */
export interface Blobs {
  /**
   * Stores the content under a new key, synced when the promise resolves.
   * @param limitBytes more than this makes it fail with `BlobTooLarge` and leaves nothing behind.
   */
  put(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, limitBytes: number): Promise<{ readonly key: string; readonly bytes: number }>;
  /** Bytes `from` to `through` (inclusive), all when left out. @returns undefined when there is no such content. */
  read(key: string, range?: { readonly from: number; readonly through: number }): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Forgets the content; nothing happens when it is gone. */
  remove(key: string): Promise<void>;
  /** Keys in no order, with the time they were written (ms since 1970), for the sweep. */
  keys(): AsyncIterable<{ readonly key: string; readonly writtenAt: number }>;
}

/** Content that was replaced or deleted while somebody may be reading it. */
export interface RetiredContents {
  /** Removes the content when downloads that are under way have had their time. */
  retire(key: string, bytes: number): void;
}

export class BlobTooLarge extends Error {}
