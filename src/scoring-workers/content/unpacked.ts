/**
 * A content as its sender packed it (plain, gzip, the first file of a ZIP archive, the server's own form of a model), as
 * the plain content in pieces. What packs it is seen by its first bytes, whatever its name is.
 */
import { Readable, pipeline } from 'node:stream';
import { createGunzip, createInflateRaw } from 'node:zlib';
import { ByteReader, ContentError, ContentTooLong } from './byte-reader.ts';

export type Packing = 'plain' | 'gzip' | 'zip' | 'serialized';

/** What a packed content is. */
export interface Unpacked {
  readonly packing: Packing;
  /** Name of the file in the archive, as it is written there; undefined where nothing says one. */
  readonly fileName: string | undefined;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** First line of a serialised model: behind the mark the version of the server that wrote it. */
export const SERIALIZED_MARK = 'millrace-model ';
const MARK_BYTES_MAX = 64;
const GZIP = [0x1f, 0x8b];
const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** A ZIP archive without entries begins with the end of its list. */
const EMPTY_ZIP = [0x50, 0x4b, 0x05, 0x06];
const LOCAL_HEADER_BYTES = 30;
const DEFLATED = 8;
const IS_ENCRYPTED = 1;
const HAS_LENGTH_BEHIND = 8;
/** Directories and the like before the file that counts. */
const SKIPPED_ENTRIES_MAX = 1_000;
const PIECE_BYTES = 131_072;

export interface UnpackRules {
  /** Unpacked: a small archive may inflate to a thousand times its length. */
  readonly bytesMax: number;
  /** Of this server: a serialised model of another one is refused. Undefined: all are taken, of what is stored. */
  readonly version?: string;
}

/** @throws ContentError for what cannot be unpacked, at once or while the pieces are read. */
export async function unpacked(content: AsyncIterable<Uint8Array>, rules: UnpackRules): Promise<Unpacked> {
  const reader = new ByteReader(content);
  const head = await reader.peek(MARK_BYTES_MAX);
  if (beginsWith(head, ZIP) || beginsWith(head, EMPTY_ZIP)) return firstFile(reader, rules);
  if (beginsWith(head, GZIP))
    return {
      packing: 'gzip',
      fileName: undefined,
      pieces: bounded(through(reader.rest(), createGunzip(SIZES)), rules),
    };
  if (head.toString('latin1', 0, SERIALIZED_MARK.length) === SERIALIZED_MARK) {
    const end = head.indexOf(0x0a);
    const version = head.toString('latin1', SERIALIZED_MARK.length, Math.max(end, 0));
    if (end === -1 || (rules.version !== undefined && version !== rules.version))
      throw new ContentError(`it was serialised by version '${version}'; this server has version ${rules.version}`);
    await reader.take(end + 1);
    return {
      packing: 'serialized',
      fileName: undefined,
      pieces: bounded(through(reader.rest(), createGunzip(SIZES)), rules),
    };
  }
  return { packing: 'plain', fileName: undefined, pieces: bounded(reader.rest(), rules) };
}

const SIZES = { chunkSize: PIECE_BYTES };
const beginsWith = (head: Buffer, bytes: readonly number[]): boolean =>
  bytes.every((byte, index) => head[index] === byte);

/** The first file of an archive that is read from its beginning: its list of entries is at its end, and not needed. */
async function firstFile(reader: ByteReader, rules: UnpackRules): Promise<Unpacked> {
  for (let skipped = 0; skipped <= SKIPPED_ENTRIES_MAX; skipped += 1) {
    const signature = await reader.peek(4);
    if (!beginsWith(signature, ZIP)) throw new ContentError('the archive has no file');
    const header = await reader.take(LOCAL_HEADER_BYTES);
    const flags = header.readUInt16LE(6);
    const method = header.readUInt16LE(8);
    const compressedBytes = header.readUInt32LE(18);
    const fileName = (await reader.take(header.readUInt16LE(26))).toString('utf8');
    await reader.take(header.readUInt16LE(28));
    if ((flags & IS_ENCRYPTED) !== 0) throw new ContentError(`${fileName} is encrypted`);
    const hasLength = (flags & HAS_LENGTH_BEHIND) === 0;
    if (method !== DEFLATED && (method !== 0 || !hasLength))
      throw new ContentError(
        `${fileName} is packed by the method ${method}, or in a form that cannot be read in order`,
      );
    if (isNoFile(fileName)) {
      if (!hasLength) throw new ContentError(`the length of ${fileName} stands behind it`);
      for await (const _ of reader.span(compressedBytes));
      continue;
    }
    const packed = hasLength ? reader.span(compressedBytes) : reader.rest();
    const pieces = method === DEFLATED ? through(packed, createInflateRaw(SIZES)) : packed;
    return { packing: 'zip', fileName, pieces: bounded(pieces, rules) };
  }
  throw new ContentError(`no file is among the first ${SKIPPED_ENTRIES_MAX} entries of the archive`);
}

/** Directories, and what some systems put beside the files. */
const isNoFile = (name: string): boolean => name.endsWith('/') || name.startsWith('__MACOSX/');

async function* through(
  pieces: AsyncIterable<Uint8Array>,
  unpacker: ReturnType<typeof createGunzip>,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(pieces);
  // Errors of both reach the iteration.
  pipeline(source, unpacker, () => undefined);
  try {
    yield* unpacker as AsyncIterable<Uint8Array>;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw code.startsWith('Z_') ? new ContentError(message) : error;
  } finally {
    source.destroy();
  }
}

async function* bounded(pieces: AsyncIterable<Uint8Array>, { bytesMax }: UnpackRules): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new ContentTooLong(bytesMax);
    yield piece;
  }
}
