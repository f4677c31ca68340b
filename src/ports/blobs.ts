/**
 * Port of the store for large binary content: inventory binaries, event attachments, application archives. Content is
 * written whole before the command that refers to it is journaled, and never changed; content without a reference is
 * removed by a sweep. Implemented in src/store on files (embedded) and on JetStream's object store (cluster).
 */
import { createHash, randomBytes } from 'node:crypto';

const KEY_BYTES = 16;
/** Digits of the digest of a user's name: names have characters that no file name may have. */
const USER_DIGITS = 16;

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Whose content it is. */
export interface ContentOwner {
  readonly tenant: number;
  /** Who sent it. */
  readonly user: string;
  /** Whether that is a registered device. */
  readonly isDevice: boolean;
}

/** The owner as the keys of the content end: the number of the tenant, a hyphen, a digest of the user's name. */
export const ownerText = ({ tenant, user }: ContentOwner): string =>
  `${tenant}-${createHash('sha256').update(user).digest('hex').slice(0, USER_DIGITS)}`;

/** A new key: 32 digits, and behind a hyphen whose content it is. Earlier versions wrote the tenant alone there. */
export const newBlobKey = (owner?: ContentOwner): string =>
  `${randomBytes(KEY_BYTES).toString('hex')}${owner === undefined ? '' : `-${ownerText(owner)}`}`;

/** The end of a key that says whose it is; undefined for the server's own content. */
export function ownerOfKey(key: string): { readonly tenant: number; readonly text: string } | undefined {
  const at = key.indexOf('-');
  if (at < 0) return undefined;
  const text = key.slice(at + 1);
  return { tenant: Number.parseInt(text, 10), text };
}

export interface Blobs {
  /**
   * Stores the content under a new key, synced when the promise resolves.
   * @param limitBytes more than this makes it fail with `BlobTooLarge` and leaves nothing behind.
   * @param owner whose file it is; absent for the server's own.
   */
  put(
    content: Content,
    limitBytes: number,
    owner?: ContentOwner,
  ): Promise<{ readonly key: string; readonly bytes: number }>;
  /** Bytes `from` to `through` (inclusive), all when left out. @returns undefined when the content does not exist. */
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

/** Content that was replaced or deleted while a client may be reading it. */
export interface RetiredContents {
  /** Removes the content when downloads that are under way have had their time. */
  retire(key: string, bytes: number): void;
}

export class BlobTooLarge extends Error {}
