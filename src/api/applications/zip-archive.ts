/**
 * ZIP archives in the blobs: a list of entries that was checked (bounded, no path outside, no links), and the content
 * of one entry. Nothing is unpacked to the disk.
 */
import { Readable, pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import yauzl from 'yauzl';
import type { Entry } from 'yauzl';
import type { Blobs } from '../../ports/blobs.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';

export interface ArchiveEntry {
  readonly name: string;
  readonly compressedBytes: number;
  readonly bytes: number;
  readonly isDeflated: boolean;
  readonly crc32: number;
  /** Of its local header. */
  readonly offset: number;
}

/** Files by path; without directories. */
export type Archive = ReadonlyMap<string, ArchiveEntry>;

export interface ArchiveSource {
  readonly blobs: Blobs;
  readonly key: string;
  readonly bytes: number;
}

export interface ArchiveLimits {
  /** Of all entries together, inflated. */
  readonly bytesMax: number;
  /** What the limit is called in counters. */
  readonly bytesLimit: string;
  readonly refusals: Refusals;
}

const ENTRIES_MAX = 10_000;
const ENTRIES_LIMIT = 'applications/archive-entries';
/** Inflated to stored: what is above it is made to fill memory or disk. Deflate reaches 1,032. */
const RATIO_MAX = 200;
const RATIO_LIMIT = 'applications/archive-ratio';
/** Small archives may have any ratio. */
const RATIO_FREE_BYTES = 10 * 1_048_576;
/** What each entry says about its own length. */
const ENTRY_BYTES_LIMIT = 'applications/archive-entry-bytes';
const NAME_LENGTH_MAX = 1_024;
const STORED = 0;
const DEFLATED = 8;
/** File type in the mode of an entry. */
const MODE_TYPE = 0o170000;
const MODE_FILE = 0o100000;
const MODE_DIRECTORY = 0o040000;
const LOCAL_HEADER_BYTES = 30;
const LOCAL_HEADER_SIGNATURE = 0x04034b50;
/** Read at once: the list of entries is taken apart in small pieces. */
const WINDOW_BYTES = 262_144;
/** Inflated at once: more than zlib's 16 KiB, as images are long. */
const PIECE_BYTES = 131_072;

export const badArchive = (reason: string): PlatformError => new PlatformError('applications/bad-archive', { reason });

async function readBytes({ blobs, key }: ArchiveSource, from: number, count: number): Promise<Buffer> {
  const pieces = await blobs.read(key, { from, through: from + count - 1 });
  if (pieces === undefined) throw new Error(`the content ${key} of an archive is missing`);
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
}

class BlobReader extends yauzl.RandomAccessReader {
  readonly #source: ArchiveSource;
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(source: ArchiveSource) {
    super();
    this.#source = source;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    // Out of the promise: what the callback throws is not an error of reading.
    this.#fill(position, length).then(
      (found) => {
        if (found.copy(buffer, offset) < length) setImmediate(callback, new Error('unexpected end of the file'));
        else setImmediate(callback, null);
      },
      (error: Error) => {
        setImmediate(callback, error);
      },
    );
  }

  async #fill(position: number, length: number): Promise<Buffer> {
    if (position < this.#start || position + length > this.#start + this.#window.length) {
      const count = Math.min(Math.max(length, WINDOW_BYTES), this.#source.bytes - position);
      this.#window = position < 0 || count <= 0 ? Buffer.alloc(0) : await readBytes(this.#source, position, count);
      this.#start = position;
    }
    return this.#window.subarray(position - this.#start, position - this.#start + length);
  }
}

/** @throws PlatformError `applications/bad-archive` for everything but a harmless ZIP within the limits. */
export async function openArchive(source: ArchiveSource, limits: ArchiveLimits): Promise<Archive> {
  const entries = new Map<string, ArchiveEntry>();
  let [bytes, stored] = [0, 0];
  const refuse = (limit: string, reason: string): never => {
    limits.refusals.count(limit, { reason });
    throw badArchive(`${reason} (${limit})`);
  };
  try {
    const zip = await yauzl.fromRandomAccessReaderPromise(new BlobReader(source), source.bytes, {
      lazyEntries: true,
      autoClose: false,
      strictFileNames: true,
    });
    if (zip.entryCount > ENTRIES_MAX)
      refuse(ENTRIES_LIMIT, `it has ${zip.entryCount} entries, more than ${ENTRIES_MAX}`);
    for await (const entry of zip.eachEntry()) {
      requireHarmless(entry);
      const name = entry.fileName;
      if (entries.size >= ENTRIES_MAX) refuse(ENTRIES_LIMIT, `it has more than ${ENTRIES_MAX} entries`);
      if (entries.has(name)) throw badArchive(`it has ${name} twice`);
      bytes += entry.uncompressedSize;
      stored += entry.compressedSize;
      if (bytes > limits.bytesMax) refuse(limits.bytesLimit, `its content has more than ${limits.bytesMax} bytes`);
      if (bytes > RATIO_FREE_BYTES && bytes > stored * RATIO_MAX)
        refuse(RATIO_LIMIT, `its content is more than ${RATIO_MAX} times as long as the archive`);
      // Entries that share their content make a small archive large.
      if (stored > source.bytes) throw badArchive('its entries overlap');
      if (name.endsWith('/')) continue;
      entries.set(name, {
        name,
        compressedBytes: entry.compressedSize,
        bytes: entry.uncompressedSize,
        isDeflated: entry.compressionMethod === DEFLATED,
        crc32: entry.crc32,
        offset: entry.relativeOffsetOfLocalHeader,
      });
    }
  } catch (error) {
    // What yauzl finds: no ZIP, paths outside, encryption, sizes that do not fit.
    throw error instanceof PlatformError ? error : badArchive((error as Error).message);
  }
  return entries;
}

/**
 * @throws PlatformError for links, devices, encrypted content, and names that are none; yauzl refuses absolute paths
 * and `..`.
 */
function requireHarmless(entry: Entry): void {
  const name = entry.fileName;
  const type = (entry.externalFileAttributes >>> 16) & MODE_TYPE;
  if (type !== 0 && type !== MODE_FILE && type !== MODE_DIRECTORY)
    throw badArchive(`${name} is a link or another special file`);
  if (entry.isEncrypted()) throw badArchive(`${name} is encrypted`);
  const { compressionMethod: method } = entry;
  if (method !== STORED && method !== DEFLATED) throw badArchive(`${name} has the compression method ${method}`);
  const isBad =
    name.length > NAME_LENGTH_MAX ||
    /[\p{Cc}\p{Cs}]/u.test(name) ||
    name.split('/').some((part) => part === '.' || part === '..');
  if (isBad) throw badArchive(`${name.slice(0, NAME_LENGTH_MAX)} is not a file name`);
}

/** Content of an entry as it is stored. @throws Error when it is not where the list of entries says. */
export async function rawContent(
  source: ArchiveSource,
  entry: ArchiveEntry,
): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>> {
  const header = await readBytes(source, entry.offset, LOCAL_HEADER_BYTES);
  const isThere = header.length === LOCAL_HEADER_BYTES && header.readUInt32LE(0) === LOCAL_HEADER_SIGNATURE;
  if (!isThere) throw new Error(`${entry.name} is not where the archive says`);
  if (entry.compressedBytes === 0) return [];
  const start = entry.offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  const pieces = await source.blobs.read(source.key, { from: start, through: start + entry.compressedBytes - 1 });
  if (pieces === undefined) throw new Error(`the content ${source.key} of an archive is missing`);
  return pieces;
}

/** An entry inflates to more than its list says: made to get around the limits. */
class LongerEntry extends Error {
  constructor({ name, bytes }: ArchiveEntry) {
    super(`${name} has more than the ${bytes} bytes that the archive says (${ENTRY_BYTES_LIMIT})`);
  }
}

/** @throws Error when the content is not what the list of entries says. */
export async function* entryContent(source: ArchiveSource, entry: ArchiveEntry): AsyncIterable<Uint8Array> {
  const pieces = await rawContent(source, entry);
  let [bytes, sum] = [0, 0];
  for await (const piece of entry.isDeflated ? inflated(pieces) : pieces) {
    bytes += piece.length;
    if (bytes > entry.bytes) throw new LongerEntry(entry);
    sum = crc32(piece, sum);
    yield piece;
  }
  if (bytes !== entry.bytes || sum !== entry.crc32)
    throw new Error('its length or its checksum is not the one that the archive says');
}

function inflated(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  // Who iterates is told of every error.
  pipeline(Readable.from(pieces), inflate, () => undefined);
  return inflate as AsyncIterable<Uint8Array>;
}

/** @throws PlatformError `applications/bad-archive` when it is longer than `bytesMax` or damaged. */
export async function readEntry(source: ArchiveSource, entry: ArchiveEntry, bytesMax: number): Promise<Buffer> {
  if (entry.bytes > bytesMax) throw badArchive(`${entry.name} has more than ${bytesMax} bytes`);
  const pieces: Uint8Array[] = [];
  await readThrough(source, entry, {
    onPiece: (piece) => {
      pieces.push(piece);
    },
  });
  return Buffer.concat(pieces);
}

/**
 * Reads all of an entry, piece by piece. @throws PlatformError `applications/bad-archive` when it is damaged, or longer
 * than its list says.
 */
export async function readThrough(
  source: ArchiveSource,
  entry: ArchiveEntry,
  { refusals, onPiece }: { readonly refusals?: Refusals; readonly onPiece?: (piece: Uint8Array) => void } = {},
): Promise<void> {
  try {
    for await (const piece of entryContent(source, entry)) onPiece?.(piece);
  } catch (error) {
    if (error instanceof LongerEntry) refusals?.count(ENTRY_BYTES_LIMIT, { reason: error.message });
    throw badArchive(
      error instanceof LongerEntry ? error.message : `${entry.name} is damaged: ${(error as Error).message}`,
    );
  }
}
